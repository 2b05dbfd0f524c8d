// SPDX-License-Identifier: Apache-2.0
// Quantities of a machine description: bytes, bandwidth, frequency. Each converts to and from its text form
// ("16 GiB", "64GB/s", "1 GHz", "10us") in one place, used by configuration, help and results.
//
// Text: decimal prefixes (k, M, G, T) are powers of 1000 and binary ones (Ki, Mi, Gi, Ti) powers of 1024; a
// space before the unit is allowed, a missing unit is not. Errors: parse_* throw UnitError, whose text
// states the expected form.
#pragma once

#include <compare>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "farfault/engine/time.hpp"

namespace farfault {

struct ByteSize {
  std::uint64_t bytes = 0;
  auto operator<=>(ByteSize const&) const = default;
};

struct Frequency {
  std::uint64_t hertz = 0;
  auto operator<=>(Frequency const&) const = default;
  constexpr Clock clock() const { return Clock{hertz}; }
};

struct Bandwidth {
  std::uint64_t bytes_per_second = 0;
  auto operator<=>(Bandwidth const&) const = default;

  // Time for which `bytes` occupy a resource of this bandwidth, rounded up to a picosecond.
  constexpr Duration time_for(std::uint64_t bytes) const {
    constexpr std::uint64_t kFits = std::uint64_t{1} << 23;  // with a second's picoseconds, in 63 bits
    if (bytes <= kFits && bytes_per_second < kFits * 1'000'000'000'000) [[likely]]
      return Duration{
          static_cast<std::int64_t>((bytes * 1'000'000'000'000 + bytes_per_second - 1) / bytes_per_second)};
    __extension__ using Wide = unsigned __int128;
    auto const ps = (static_cast<Wide>(bytes) * 1'000'000'000'000 + bytes_per_second - 1) / bytes_per_second;
    return Duration{static_cast<std::int64_t>(ps)};
  }
};

class UnitError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

Duration parse_duration(std::string_view text);
ByteSize parse_bytes(std::string_view text);
Bandwidth parse_bandwidth(std::string_view text);
Frequency parse_frequency(std::string_view text);

// The shortest exact form: to_text(parse_x(s)) parses back to the same quantity.
std::string to_text(Duration d);
std::string to_text(ByteSize b);
std::string to_text(Bandwidth b);
std::string to_text(Frequency f);

}  // namespace farfault
