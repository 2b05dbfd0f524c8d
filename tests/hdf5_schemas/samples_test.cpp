// SPDX-License-Identifier: Apache-2.0
#include "writing/samples.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace samples_test {

using farfault::results::Samples;

namespace {

using Values = std::vector<std::uint64_t>;

constexpr std::size_t kWidth = 100;

// A seventh of the values changes from each sample to the next.
Values values(std::uint64_t sample) {
  Values v(kWidth);
  for (std::uint64_t i = 0; i < kWidth; ++i) v[i] = (sample + i) / 7;
  return v;
}

Samples filled(std::uint64_t samples) {
  Samples all(kWidth);
  for (std::uint64_t s = 0; s < samples; ++s) all.add(static_cast<std::int64_t>(10 * s), values(s));
  return all;
}

}  // namespace

TEST_CASE("blocks of ascending ranges have the values of all samples") {
  for (std::size_t const width : {1U, 33U, 64U, 100U}) {
    CAPTURE(width);
    auto all = filled(20);
    for (std::size_t offset = 0; offset < kWidth; offset += width) {
      auto const n = std::min(width, kWidth - offset);
      auto const block = all.block(offset, n);
      REQUIRE(block.size() == 20 * n);
      for (std::uint64_t s = 0; s < 20; ++s) {
        auto const whole = values(s);
        CHECK(std::equal(block.data() + s * n, block.data() + (s + 1) * n, whole.data() + offset));
      }
    }
  }
}

TEST_CASE("every n-th sample of a block is followed by the last sample, unless that is one of them") {
  for (std::size_t const every : {1U, 2U, 3U, 16U, 40U})
    for (std::size_t const first : {0U, 1U, 5U, 19U, 20U, 30U}) {
      CAPTURE(every);
      CAPTURE(first);
      Values expected;
      std::size_t last = 20;
      for (auto s = first; s < 20; s += every) {
        expected.push_back(values(s)[7]);
        last = s;
      }
      if (last != 19) expected.push_back(values(19)[7]);
      auto all = filled(20);
      all.block(0, 7, first, every);
      CHECK(all.block(7, 1, first, every) == expected);
    }
  Samples none(kWidth);
  CHECK(none.block(0, 10, 3, 16).empty());
}

TEST_CASE("samples that do not change take their times only") {
  Samples still(kWidth);
  still.add(0, values(0));
  auto const one = still.bytes();
  for (std::int64_t s = 1; s <= 1000; ++s) still.add(s, values(0));
  CHECK(still.bytes() == one + 1000 * 24);
  CHECK(still.whole_bytes() == 1001 * kWidth * 8);
  CHECK(still.block(kWidth - 1, 1) == Values(1001, (kWidth - 1) / 7));
}

TEST_CASE("cleared samples are empty, and the next one is whole again") {
  auto all = filled(3);
  all.clear();
  CHECK(all.times().empty());
  CHECK(all.bytes() == 0);
  CHECK(all.block(0, kWidth).empty());
  all.add(7, values(5));
  CHECK(all.times() == std::vector<std::int64_t>{7});
  CHECK(all.block(0, kWidth) == values(5));
}

}  // namespace samples_test
