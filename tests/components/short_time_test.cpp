// SPDX-License-Identifier: Apache-2.0
#include "farfault/parts/short_time.hpp"

#include <doctest/doctest.h>

namespace farfault {
namespace {

constexpr std::int64_t kWrap = std::int64_t{1} << 48;  // ps

Time at(std::int64_t ps) {
  return Time{Duration{ps}};
}

TEST_CASE("a short time takes 6 bytes") {
  CHECK(sizeof(ShortTime) == 6);
  CHECK(alignof(ShortTime) == 2);
}

TEST_CASE("a short time is exact to the picosecond near the time that is said, before and after it") {
  for (auto const t : {std::int64_t{0}, std::int64_t{1}, std::int64_t{0xffff}, std::int64_t{0x12345},
                       std::int64_t{0x1'2345'6789}, std::int64_t{0xabcd'ef01'2345}, kWrap - 1, kWrap,
                       kWrap + 7, 5 * kWrap + 0x1234'5678'9abc}) {
    ShortTime const stored(at(t));
    for (auto const away : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1'000'000'000}, kWrap / 2 - 1}) {
      CHECK(stored.near(at(t + away)) == at(t));
      if (away <= t) CHECK(stored.near(at(t - away)) == at(t));
    }
  }
}

TEST_CASE("a short time seen from further away than half of its range is taken for another one") {
  ShortTime const stored(at(1000));
  CHECK(stored.near(at(1000 + kWrap)) == at(1000 + kWrap));
}

TEST_CASE("short times are equal where the times are, and differ by a picosecond") {
  CHECK(ShortTime(at(0x1'0000'0001)) == ShortTime(at(0x1'0000'0001)));
  CHECK(ShortTime(at(0x1'0000'0001)) != ShortTime(at(0x1'0000'0002)));
  CHECK(ShortTime(at(1)) != ShortTime(at((std::int64_t{1} << 32) + 1)));
}

}  // namespace
}  // namespace farfault
