// SPDX-License-Identifier: Apache-2.0
#include "random_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"

namespace farfault::cli {
namespace {

// The finalizer of SplitMix64.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// ratio to the power of bits / 2^32, by only square roots and products: both are correctly rounded on every
// machine.
double power(double ratio, std::uint64_t bits) {
  double result = 1;
  for (int bit = 63; bit >= 32; --bit) {
    ratio = std::sqrt(ratio);
    if ((bits >> bit & 1) != 0) result *= ratio;
  }
  return result;
}

double share_of(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

// The reason why the range is invalid, as the end of "...: the range ".
template <class Value>
std::string why_no_range(Value low, Value high, RandomRange::Scale scale) {
  if (!(low <= high)) return "begins above its end";
  if (scale != RandomRange::Scale::linear && !(low > Value{0}))
    return "must begin above 0 on a logarithmic scale";
  return {};
}

}  // namespace

std::uint64_t draw_bits(std::uint64_t seed, std::uint64_t sample, std::string_view key) {
  return mixed(mixed(mixed(seed) ^ sample) ^ fnv1a(key));
}

std::uint64_t below(std::uint64_t n, std::uint64_t bits) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(bits) * n) >> 64);
}

RandomRange::End RandomRange::end_of_text(std::string_view text) {
  auto const attempt = [&](auto parse, Quantity quantity, auto units) -> std::optional<End> {
    try {
      return End{quantity, units(parse(text)), 0};
    } catch (UnitError const&) {
      return std::nullopt;
    }
  };
  if (auto e = attempt(parse_bytes, Quantity::bytes, [](ByteSize b) { return b.bytes; })) return *e;
  if (auto e = attempt(parse_duration, Quantity::duration,
                       [](Duration d) { return static_cast<std::uint64_t>(picoseconds(d)); }))
    return *e;
  if (auto e = attempt(parse_bandwidth, Quantity::bandwidth, [](Bandwidth b) { return b.bytes_per_second; }))
    return *e;
  if (auto e = attempt(parse_frequency, Quantity::frequency, [](Frequency f) { return f.hertz; })) return *e;
  throw UserError("'" + shown(text) + "' is not a quantity, such as \"64 KiB\", \"5 us\" or \"16 GB/s\"");
}

RandomRange::RandomRange(End low, End high, Scale scale, End step)
    : low_(low), high_(high), step_(step), scale_(scale) {
  // 1 to 2.5
  if (low_.quantity == Quantity::count && high_.quantity == Quantity::number)
    low_ = end_of_number(static_cast<double>(low_.units));
  if (low_.quantity == Quantity::number && high_.quantity == Quantity::count)
    high_ = end_of_number(static_cast<double>(high_.units));
  if (low_.quantity != high_.quantity)
    throw UserError("the ends of the range have different kinds of values");
  bool const real = low_.quantity == Quantity::number;
  if (real && (!std::isfinite(low_.real) || !std::isfinite(high_.real)))
    throw UserError("the ends of a range must be finite numbers");
  auto const why =
      real ? why_no_range(low_.real, high_.real, scale_) : why_no_range(low_.units, high_.units, scale_);
  if (!why.empty()) throw UserError("the range " + why);
  if (scale_ == Scale::powers_of_two) {
    if (real || !std::has_single_bit(low_.units) || !std::has_single_bit(high_.units))
      throw UserError("the ends of a range of powers of two must be powers of two");
  }
  if (step_.units == 0 && step_.real == 0) return;
  if (scale_ != Scale::linear || real || step_.quantity != low_.quantity)
    throw UserError(
        "a step requires a linear range of whole numbers or quantities, and a value of the same kind");
}

std::uint64_t RandomRange::units(std::uint64_t bits) const {
  if (scale_ == Scale::powers_of_two) {
    auto const first = std::countr_zero(low_.units), last = std::countr_zero(high_.units);
    return low_.units << below(static_cast<std::uint64_t>(last - first) + 1, bits);
  }
  if (scale_ == Scale::log) {
    auto const low = static_cast<double>(low_.units), high = static_cast<double>(high_.units);
    // From half a unit below to half a unit above, so that the ends are as probable as their neighbours.
    auto const value = (low - 0.5) * power((high + 0.5) / (low - 0.5), bits);
    if (value >= high) return high_.units;
    return std::max(low_.units, static_cast<std::uint64_t>(value + 0.5));
  }
  auto const step = std::max<std::uint64_t>(step_.units, 1);
  auto const steps = (high_.units - low_.units) / step;
  return low_.units + (steps + 1 == 0 ? bits : below(steps + 1, bits)) * step;
}

double RandomRange::number(std::uint64_t bits) const {
  if (scale_ == Scale::log) return low_.real * power(high_.real / low_.real, bits);
  return low_.real + (high_.real - low_.real) * share_of(bits);
}

std::string RandomRange::value(std::uint64_t bits) const {
  if (quantity() == Quantity::number) {
    // Six digits, as in typical hand-written values, if the result stays in the range.
    auto const exact = std::clamp(number(bits), low_.real, high_.real);
    auto text = fmt::format("{:.6g}", exact);
    if (auto const rounded = std::strtod(text.c_str(), nullptr); rounded < low_.real || rounded > high_.real)
      text = fmt::format("{}", exact);
    if (text.find_first_of(".en") == std::string::npos) text += ".0";
    return text;
  }
  auto const n = units(bits);
  switch (quantity()) {
    case Quantity::bytes:
      return to_text(ByteSize{n});
    case Quantity::duration:
      return to_text(Duration{static_cast<std::int64_t>(n)});
    case Quantity::bandwidth:
      return to_text(Bandwidth{n});
    case Quantity::frequency:
      return to_text(Frequency{n});
    default:
      return std::to_string(n);
  }
}

}  // namespace farfault::cli
