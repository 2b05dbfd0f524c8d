// SPDX-License-Identifier: Apache-2.0
#include "farfault/engine/units.hpp"

#include <array>
#include <cstddef>
#include <limits>
#include <span>

#include "farfault/engine/error.hpp"

namespace farfault {
namespace {

__extension__ using Wide = unsigned __int128;

// A unit is `scale / divisor` base units; the divisor serves bits, 8 per byte.
struct Unit {
  std::string_view name;
  std::uint64_t scale;
  std::uint64_t divisor = 1;
};

constexpr std::uint64_t kKilo = 1000, kMega = 1'000'000, kGiga = 1'000'000'000, kTera = 1'000'000'000'000;
constexpr std::uint64_t kKibi = 1ULL << 10, kMebi = 1ULL << 20, kGibi = 1ULL << 30, kTebi = 1ULL << 40;

constexpr std::array kDurations = {Unit{"ps", 1},     Unit{"ns", kKilo}, Unit{"us", kMega},
                                   Unit{"ms", kGiga}, Unit{"s", kTera},  Unit{"\u00b5s", kMega}};
constexpr std::array kSizes = {Unit{"B", 1},       Unit{"KiB", kKibi}, Unit{"kB", kKilo},
                               Unit{"MiB", kMebi}, Unit{"MB", kMega},  Unit{"GiB", kGibi},
                               Unit{"GB", kGiga},  Unit{"TiB", kTebi}, Unit{"TB", kTera}};
constexpr std::array kRates = {Unit{"B/s", 1},           Unit{"KiB/s", kKibi},     Unit{"kB/s", kKilo},
                               Unit{"MiB/s", kMebi},     Unit{"MB/s", kMega},      Unit{"GiB/s", kGibi},
                               Unit{"GB/s", kGiga},      Unit{"TiB/s", kTebi},     Unit{"TB/s", kTera},
                               Unit{"bit/s", 1, 8},      Unit{"kbit/s", kKilo, 8}, Unit{"Mbit/s", kMega, 8},
                               Unit{"Gbit/s", kGiga, 8}, Unit{"Tbit/s", kTera, 8}};
constexpr std::array kFrequencies = {Unit{"Hz", 1}, Unit{"kHz", kKilo}, Unit{"MHz", kMega},
                                     Unit{"GHz", kGiga}, Unit{"THz", kTera}};

struct Quantity {
  std::string_view what;     // "a time"
  std::string_view example;  // "5 us"
  std::string_view finest;   // "a picosecond"
  std::span<Unit const> units;
  std::uint64_t most;  // in base units
};

constexpr auto kMaxTime = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
constexpr Quantity kDuration{"a time", "5 us", "a picosecond", kDurations, kMaxTime};
constexpr Quantity kByteSize{"a size", "64 KiB", "a byte", kSizes, kMax};
constexpr Quantity kBandwidth{"a bandwidth", "64 GB/s", "a byte per second", kRates, kMax};
constexpr Quantity kFrequency{"a frequency", "1500 MHz", "a hertz", kFrequencies, kMax};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
  return s;
}

[[noreturn]] void fail(std::string_view text, std::string const& why) {
  throw UnitError("'" + shown(text) + "' " + why);
}

std::string names_of(Quantity const& q) {
  std::string list;
  for (auto const& unit : q.units)
    if (unit.name[0] > 0) list += (list.empty() ? "" : ", ") + std::string(unit.name);
  return list;
}

// The shortest of the exact whole-number forms; of two equally short forms, the earlier unit of the list.
std::string render(std::uint64_t value, Quantity const& q) {
  std::string best;
  for (auto const& unit : q.units) {
    if (unit.divisor != 1 || value % unit.scale != 0 || (value == 0 && unit.scale != 1)) continue;
    auto const form = std::to_string(value / unit.scale) + " " + std::string(unit.name);
    if (best.empty() || form.size() < best.size()) best = form;
  }
  return best;
}

// Decimal text of a quantity to whole base units, exactly: no floating point is used.
std::uint64_t parse(std::string_view text, Quantity const& q) {
  auto const whole = trimmed(text);
  constexpr int kDigits = 20;  // of a 64-bit number; with a scale of 10^12, well inside 128 bits
  Wide mantissa = 0, power = 1;
  int digits = 0;
  bool any = false, fraction = false;
  std::size_t i = 0;
  for (; i < whole.size(); ++i) {
    char const c = whole[i];
    if (c == '.' && any && !fraction) {
      fraction = true;
      any = false;  // a digit must follow
      continue;
    }
    if (!is_digit(c)) break;
    any = true;
    if (mantissa != 0 || c != '0') ++digits;
    if (digits > kDigits || (fraction && power > kTera)) fail(whole, "has too many digits");
    mantissa = mantissa * 10 + static_cast<unsigned>(c - '0');
    if (fraction) power *= 10;
  }
  auto const expected = "is not " + std::string(q.what) + " such as '" + std::string(q.example) + "'";
  if (!any) fail(whole, expected);
  auto const name = trimmed(whole.substr(i));
  if (name.empty())
    fail(whole, "has no unit; write " + std::string(q.what) + " such as '" + std::string(q.example) + "'");
  for (auto const& unit : q.units) {
    if (unit.name != name) continue;
    auto const scaled = mantissa * unit.scale;
    auto const divisor = power * unit.divisor;
    if (scaled / divisor > q.most) fail(whole, "is above the maximum, " + render(q.most, q));
    if (scaled % divisor != 0) fail(whole, "is not a whole multiple of " + std::string(q.finest));
    return static_cast<std::uint64_t>(scaled / divisor);
  }
  if (name.substr(0, 2) == "KB") fail(whole, "is ambiguous: kB means 1000 bytes and KiB 1024");
  fail(whole, expected + " (units: " + names_of(q) + ")");
}

}  // namespace

Duration parse_duration(std::string_view text) {
  return Duration{static_cast<std::int64_t>(parse(text, kDuration))};
}
ByteSize parse_bytes(std::string_view text) {
  return {parse(text, kByteSize)};
}
Bandwidth parse_bandwidth(std::string_view text) {
  return {parse(text, kBandwidth)};
}
Frequency parse_frequency(std::string_view text) {
  return {parse(text, kFrequency)};
}

std::string to_text(Duration d) {
  auto const ps = picoseconds(d);
  // Negated as unsigned, which is defined for the most negative value.
  return ps < 0 ? "-" + render(0 - static_cast<std::uint64_t>(ps), kDuration)
                : render(static_cast<std::uint64_t>(ps), kDuration);
}
std::string to_text(ByteSize b) {
  return render(b.bytes, kByteSize);
}
std::string to_text(Bandwidth b) {
  return render(b.bytes_per_second, kBandwidth);
}
std::string to_text(Frequency f) {
  return render(f.hertz, kFrequency);
}

}  // namespace farfault
