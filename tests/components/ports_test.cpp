// SPDX-License-Identifier: Apache-2.0
#include "farfault/parts/ports.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace ports_test {

using namespace farfault;

TEST_CASE("ports: an access begins when the first port is free, as with a list of all ports") {
  for (std::uint32_t const number : {1U, 2U, 3U, 7U}) {
    CAPTURE(number);
    Ports ports(number);
    std::vector<Time> reference(number);
    std::mt19937 random(number);
    Time now{};
    for (int i = 0; i < 10'000; ++i) {
      now += Duration(random() % 300);
      auto const first = std::min_element(reference.begin(), reference.end());
      REQUIRE(ports.free_at() == *first);
      *first = std::max(*first, now) + Duration(1 + random() % 1000);
      ports.take(*first);
    }
    CHECK(ports.number() == number);
  }
}

}  // namespace ports_test
