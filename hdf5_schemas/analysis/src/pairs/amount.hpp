// SPDX-License-Identifier: Apache-2.0
// Private: integers that cannot overflow, and their ratios, for sums that must be exact.
//
// - Addition and subtraction are exact, except that a result outside the range is the nearest limit. Only a
//   damaged file has such values.
// - Products and quotients round once, to the nearest integer, halves away from zero. They are
//   antisymmetric: the negative value has the negative result.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace farfault::analysis {

class Amount {
 public:
  constexpr Amount() = default;
  constexpr explicit Amount(std::int64_t value) : value_(value < -kMost ? -kMost : value) {}

  static constexpr Amount of(std::uint64_t value) {
    return value > std::uint64_t{kMost} ? Amount(kMost) : Amount(static_cast<std::int64_t>(value));
  }
  constexpr std::int64_t value() const { return value_; }
  constexpr std::uint64_t size() const { return static_cast<std::uint64_t>(value_ < 0 ? -value_ : value_); }
  // -1, 0 or 1
  constexpr int sign() const { return value_ < 0 ? -1 : value_ > 0 ? 1 : 0; }

  constexpr Amount operator-() const { return Amount(-value_); }
  constexpr Amount operator+(Amount other) const {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(value_, other.value_, &sum)) return Amount(value_ < 0 ? -kMost : kMost);
    return Amount(sum);
  }
  constexpr Amount operator-(Amount other) const { return *this + -other; }
  constexpr Amount& operator+=(Amount other) { return *this = *this + other; }
  constexpr Amount& operator-=(Amount other) { return *this = *this - other; }
  constexpr auto operator<=>(Amount const&) const = default;

 private:
  static constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::int64_t value_ = 0;  // from -kMost to kMost
};

// Two amounts of a run, neither of them negative: time per access, accesses per instruction.
struct Ratio {
  Amount over;
  Amount under;
};

// 0 for a ratio without a denominator.
constexpr Amount scaled(Amount value, Ratio by) {
  __extension__ using Wide = unsigned __int128;
  if (by.under.sign() <= 0) return {};
  Wide const under = by.under.size();
  Wide const product = Wide{value.size()} * by.over.size();
  Wide const quotient = product / under + (product % under >= under - under / 2 ? Wide{1} : Wide{0});
  auto const size = quotient > std::numeric_limits<std::uint64_t>::max()
                        ? Amount::of(std::numeric_limits<std::uint64_t>::max())
                        : Amount::of(static_cast<std::uint64_t>(quotient));
  return value.sign() < 0 ? -size : size;
}

// The mean of `value` scaled by both ratios.
constexpr Amount at_mean(Amount value, Ratio a, Ratio b) {
  auto const sum = scaled(value, a) + scaled(value, b);
  auto const half = Amount::of(sum.size() / 2 + sum.size() % 2);
  return sum.sign() < 0 ? -half : half;
}

// The real number of a ratio; 0 without a denominator.
inline double number_of(Ratio r) {
  return r.under.sign() == 0 ? 0.0
                             : static_cast<double>(r.over.value()) / static_cast<double>(r.under.value());
}

}  // namespace farfault::analysis
