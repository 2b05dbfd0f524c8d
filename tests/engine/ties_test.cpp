// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "thread_ranks.hpp"
#include "tied_model.hpp"
#include "uneven_model.hpp"

namespace ties_test {

using namespace farfault;

TEST_CASE("a model made of ties has one digest for every placement") {
  auto const reference = tied::digest(1, {}, 300);
  for (std::uint32_t const partitions : {1U, 2U, 3U, 8U})
    for (std::uint32_t const threads : {1U, 2U})
      for (bool const merge : {false, true})
        for (bool const sparse : {false, true})
          CHECK(tied::digest(partitions, {threads, merge, sparse}, 300) == reference);
}

TEST_CASE("a model whose links all differ has one digest for every placement on one rank") {
  auto const reference = uneven::digest(1, {}, Time{100us}, *make_single_transport());
  for (std::uint32_t const partitions : {1U, 2U, 3U, 8U})
    for (std::uint32_t const threads : {1U, 2U})
      for (bool const merge : {false, true})
        for (bool const sparse : {false, true}) {
          EngineOptions const options{threads, merge, sparse};
          CHECK(uneven::digest(partitions, options, Time{100us}, *make_single_transport()) == reference);
        }
}

TEST_CASE("a model whose links all differ has one digest for every placement on several ranks") {
  auto const reference = uneven::digest(1, {}, Time{3us}, *make_single_transport());
  for (std::uint32_t const partitions : {1U, 3U, 8U})
    for (std::uint32_t const ranks : {2U, 3U})
      for (bool const sparse : {false, true}) {
        EngineOptions const options{.threads = 1, .merge_lanes = false, .run_sparse_merged = sparse};
        run_on_ranks(ranks, [&](Transport& transport) {
          auto const digest = uneven::digest(partitions, options, Time{3us}, transport);
          if (transport.rank() == 0) CHECK(digest == reference);
        });
      }
}

}  // namespace ties_test
