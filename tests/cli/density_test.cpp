// SPDX-License-Identifier: Apache-2.0
#include "run/density.hpp"

#include <doctest/doctest.h>

namespace density_test {

using farfault::cli::instead_of;
using farfault::cli::RankDensity;
using farfault::cli::text_of;

TEST_CASE("ranks: a run is sparse with at least 10,000 exchanges and less than 32 events per exchange") {
  CHECK(RankDensity{2, 319'999, 10'000}.sparse());
  CHECK_FALSE(RankDensity{2, 320'000, 10'000}.sparse());
  CHECK_FALSE(RankDensity{2, 0, 9'999}.sparse());
  CHECK(RankDensity{2, 0, 10'000}.sparse());
  CHECK(RankDensity{64, 2'530'000, 784'844}.sparse());
  auto const most = ~std::uint64_t{0};
  CHECK_FALSE(RankDensity{2, most, 10'000}.sparse());
  CHECK(RankDensity{2, most / 33, most / 33}.sparse());
}

TEST_CASE("ranks: a run with one rank or without exchanges is never sparse") {
  CHECK_FALSE(RankDensity{1, 1'000, 100'000}.sparse());
  CHECK_FALSE(RankDensity{}.sparse());
  CHECK(RankDensity{2, 1'000, 0}.events_per_exchange() == 0);
}

TEST_CASE("ranks: sparseness does not depend on elapsed time") {
  for (double const waited : {0.0, 0.5, 1.0}) {
    CHECK(RankDensity{2, 50'000, 20'000, waited}.sparse());
    CHECK_FALSE(RankDensity{2, 5'000'000, 20'000, waited}.sparse());
  }
}

TEST_CASE(
    "ranks: the warning has the exchanges, events per exchange, share of waiting, and the alternative") {
  RankDensity const d{2, 2'530'000, 784'844, 0.97};
  CHECK(text_of(d) == "784844 exchanges of 3.2 events each, 97.0% of the time waiting");
  CHECK(instead_of(d, 1) == "one rank with threads is faster (no mpirun, --threads 2)");
  CHECK(instead_of(d, 4) == "one rank with threads is faster (no mpirun, --threads 8)");
}

}  // namespace density_test
