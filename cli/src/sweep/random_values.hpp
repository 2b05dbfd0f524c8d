// SPDX-License-Identifier: Apache-2.0
// Private: random values of a study's parameters.
//
// A draw is a function of the study's seed, the number of the sample and the key alone: more samples or more
// keys leave those that there were as they were. It takes no function of the C library whose last digit
// depends on the machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "farfault/engine/units.hpp"

namespace farfault::cli {

// 64 bits that depend on all three.
std::uint64_t draw_bits(std::uint64_t seed, std::uint64_t sample, std::string_view key);

// One of 0 to n - 1.
std::uint64_t below(std::uint64_t n, std::uint64_t bits);

class RandomRange {
 public:
  enum class Scale : std::uint8_t { linear, log, powers_of_two };
  enum class Quantity : std::uint8_t { count, number, bytes, duration, bandwidth, frequency };

  // Of an end or a step as it is written: what it is, in whole base units or, of a number, as it is. Throws
  // UserError where it is no quantity.
  struct End {
    Quantity quantity = Quantity::count;
    std::uint64_t units = 0;
    double real = 0;
  };
  static End end_of_text(std::string_view text);
  static End end_of_count(std::uint64_t count) { return {Quantity::count, count, 0}; }
  static End end_of_number(double number) { return {Quantity::number, 0, number}; }

  // `step`: of a linear scale, above `low`; units 0: any value. Throws UserError, a sentence without file and
  // line.
  RandomRange(End low, End high, Scale scale, End step);

  Quantity quantity() const { return low_.quantity; }
  // Of 64 random bits, as it is written into a configuration, without quotes.
  std::string value(std::uint64_t bits) const;

 private:
  double number(std::uint64_t bits) const;
  std::uint64_t units(std::uint64_t bits) const;

  End low_, high_, step_;
  Scale scale_;
};

}  // namespace farfault::cli
