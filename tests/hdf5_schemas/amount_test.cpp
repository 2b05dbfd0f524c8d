// SPDX-License-Identifier: Apache-2.0
// Integers, ratios and attributions of explanations.
#include "pairs/amount.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <limits>

#include "pairs/spread.hpp"

namespace amount_test {

using namespace farfault::analysis;

namespace {

constexpr auto kMost = std::numeric_limits<std::int64_t>::max();

Ratio ratio(std::int64_t over, std::int64_t under) {
  return {Amount(over), Amount(under)};
}

// The values after the attribution, and what remains of the effect.
std::array<std::int64_t, 4> spread_over(std::array<std::int64_t, 3> values, std::int64_t effect,
                                        bool own_cause = false) {
  std::array<ModelPart, 3> parts{
      {{"a", {}, Amount(values[0])}, {"b", {}, Amount(values[1])}, {"c", {}, Amount(values[2])}}};
  Amount rest(effect);
  spread(parts, rest, own_cause);
  return {parts[0].ps.value(), parts[1].ps.value(), parts[2].ps.value(), rest.value()};
}

}  // namespace

TEST_CASE("amount: sums beyond the range are the limit, and others are exact") {
  CHECK((Amount(kMost) + Amount(1)).value() == kMost);
  CHECK((Amount(-kMost) - Amount(1)).value() == -kMost);
  CHECK((Amount(kMost) + Amount(-kMost)).value() == 0);
  CHECK((-Amount(std::numeric_limits<std::int64_t>::min())).value() == kMost);
  CHECK(Amount::of(std::numeric_limits<std::uint64_t>::max()).value() == kMost);
  CHECK(Amount(-7).size() == 7);
}

TEST_CASE("amount: a scaled amount is the nearest integer, halves away from zero") {
  CHECK(scaled(Amount(5), ratio(1, 2)).value() == 3);
  CHECK(scaled(Amount(-5), ratio(1, 2)).value() == -3);
  CHECK(scaled(Amount(7), ratio(1, 3)).value() == 2);
  CHECK(scaled(Amount(8), ratio(1, 3)).value() == 3);
  CHECK(scaled(Amount(8), ratio(5, 0)).value() == 0);
  CHECK(scaled(Amount(kMost), ratio(kMost, kMost)).value() == kMost);
  CHECK(scaled(Amount(kMost), ratio(kMost, 1)).value() == kMost);
  CHECK(scaled(Amount(-kMost), ratio(kMost, 1)).value() == -kMost);
}

TEST_CASE("amount: the mean of two ratios is antisymmetric in the amount and symmetric in the ratios") {
  CHECK(at_mean(Amount(10), ratio(1, 2), ratio(2, 1)).value() == 13);  // 5 and 20
  for (std::int64_t value = -20; value <= 20; ++value) {
    auto const there = at_mean(Amount(value), ratio(3, 7), ratio(5, 11));
    CHECK(at_mean(Amount(-value), ratio(5, 11), ratio(3, 7)).value() == -there.value());
  }
}

TEST_CASE("spread: an effect of the opposite sign reduces the parts with the sign of their sum") {
  CHECK(spread_over({60, 40, -10}, -50) == std::array<std::int64_t, 4>{30, 20, -10, 0});
  // The rounding is at the largest part.
  CHECK(spread_over({5, 3, 3}, -4) == std::array<std::int64_t, 4>{3, 2, 2, 0});
}

TEST_CASE("spread: an effect of the opposite sign that is larger than these parts leaves the others") {
  CHECK(spread_over({60, 40, -10}, -150) == std::array<std::int64_t, 4>{0, 0, -10, -50});
  CHECK(spread_over({60, 40, -10}, -95) == std::array<std::int64_t, 4>{3, 2, -10, 0});
}

TEST_CASE("spread: an effect of the same sign is attributed unless it is a cause of its own or too large") {
  CHECK(spread_over({60, 40, -10}, 50) == std::array<std::int64_t, 4>{90, 60, -10, 0});
  CHECK(spread_over({60, 40, -10}, 50, true) == std::array<std::int64_t, 4>{60, 40, -10, 50});
  CHECK(spread_over({60, 40, -10}, 404) == std::array<std::int64_t, 4>{60, 40, -10, 404});
}

TEST_CASE("spread: an effect without parts remains") {
  CHECK(spread_over({0, 0, 0}, 5) == std::array<std::int64_t, 4>{0, 0, 0, 5});
  CHECK(spread_over({5, -5, 0}, 5) == std::array<std::int64_t, 4>{5, -5, 0, 5});
}

}  // namespace amount_test
