// SPDX-License-Identifier: Apache-2.0
// Private: random values of a study's parameters.
//
// A draw is a function of the study's seed, the sample number and the key alone: additional samples or keys
// leave earlier values unchanged. It calls no function of the C library whose last digit depends on the
// machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "farfault/engine/units.hpp"

namespace farfault::cli {

// 64 bits that depend on all three arguments.
std::uint64_t draw_bits(std::uint64_t seed, std::uint64_t sample, std::string_view key);

// A number from 0 to n - 1.
std::uint64_t below(std::uint64_t n, std::uint64_t bits);

class RandomRange {
 public:
  enum class Scale : std::uint8_t { linear, log, powers_of_two };
  enum class Quantity : std::uint8_t { count, number, bytes, duration, bandwidth, frequency };

  // An end or a step of a range: its quantity, and its value in whole base units (quantity `number`:
  // unchanged). Throws UserError for an invalid quantity.
  struct End {
    Quantity quantity = Quantity::count;
    std::uint64_t units = 0;
    double real = 0;
  };
  static End end_of_text(std::string_view text);
  static End end_of_count(std::uint64_t count) { return {Quantity::count, count, 0}; }
  static End end_of_number(double number) { return {Quantity::number, 0, number}; }

  // `step`: spacing on a linear scale, from `low` on; units 0: any value. Throws UserError, a sentence
  // without file and line.
  RandomRange(End low, End high, Scale scale, End step);

  Quantity quantity() const { return low_.quantity; }
  // The value for 64 random bits, in the syntax of a configuration, without quotes.
  std::string value(std::uint64_t bits) const;

 private:
  double number(std::uint64_t bits) const;
  std::uint64_t units(std::uint64_t bits) const;

  End low_, high_, step_;
  Scale scale_;
};

}  // namespace farfault::cli
