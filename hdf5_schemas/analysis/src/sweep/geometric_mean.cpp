// SPDX-License-Identifier: Apache-2.0
#include "geometric_mean.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tuple>

namespace farfault::analysis {
namespace {

// fraction * 2^exponent, with a fraction from 0.5 to 1: products neither overflow nor underflow.
struct Scaled {
  double fraction = 0.5;
  std::int64_t exponent = 1;

  explicit Scaled(double value = 1) { assign(value, 0); }
  Scaled& operator*=(Scaled const& other) {
    assign(fraction * other.fraction, exponent + other.exponent);
    return *this;
  }
  bool operator<(Scaled const& other) const {
    return std::tie(exponent, fraction) < std::tie(other.exponent, other.fraction);
  }

 private:
  void assign(double value, std::int64_t more) {
    int own = 0;
    fraction = std::frexp(value, &own);
    exponent = own + more;
  }
};

Scaled power(double base, std::size_t n) {
  Scaled result, square(base);
  for (; n != 0; n >>= 1) {
    if ((n & 1) != 0) result *= square;
    square *= square;
  }
  return result;
}

}  // namespace

double geometric_mean(std::span<double const> values) {
  if (values.size() == 1) return values[0];
  Scaled product;
  for (auto const value : values) product *= Scaled(value);
  auto const n = static_cast<std::int64_t>(values.size());
  // product = rest * 2^(n * whole), and the root of the rest is from 0.5 to 2.
  auto whole = product.exponent / n;
  if (product.exponent % n < 0) --whole;
  auto rest = product;
  rest.exponent -= whole * n;
  double low = 0.5, high = 2;
  while (true) {  // the root is above `low` and at most `high`
    auto const middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    if (power(middle, values.size()) < rest)
      low = middle;
    else
      high = middle;
  }
  auto const [smallest, largest] = std::ranges::minmax(values);
  return std::clamp(std::ldexp(high, static_cast<int>(whole)), smallest, largest);  // rounding
}

}  // namespace farfault::analysis
