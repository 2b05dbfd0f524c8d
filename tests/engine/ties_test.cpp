#include <doctest/doctest.h>

#include "tied_model.hpp"

using namespace farfault;

TEST_CASE("a model made of ties has one digest for every placement") {
  auto const reference = tied::digest(1, {}, 300);
  for (std::uint32_t const partitions : {1U, 2U, 3U, 8U})
    for (std::uint32_t const threads : {1U, 2U})
      for (bool const merge : {false, true})
        for (bool const sparse : {false, true})
          CHECK(tied::digest(partitions, {threads, merge, sparse}, 300) == reference);
}
