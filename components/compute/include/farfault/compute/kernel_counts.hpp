// SPDX-License-Identifier: Apache-2.0
// Reports of a kernel's counts from its SMs through the dispatchers to the host: the increase of the counters
// of SmStats since the last report (KernelCounts in messages/kernels.hpp).
//
// Guarantees: an increase of any size is reported exactly. Reports are complete: the message that a block, or
// the kernel, has ended carries the number of report messages; a missing one at the kernel's end aborts the
// program.
// Cost: for each counter up to the last one that has increased, one byte per seven bits of its increase, at
// least one; 34 bytes per message; no allocation.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "farfault/compute/sm.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

// All counters, in the order of the members, which identifies them in reports.
using SmCounters = std::array<std::uint64_t, sizeof(SmStats) / sizeof(std::uint64_t)>;
static_assert(Bytes<SmStats> && sizeof(SmCounters) == sizeof(SmStats) && SmCounters{}.size() < 256);

// Calls send(message) for each message of a report of the increase from `before` to `now`; returns their
// number.
template <class Send>
std::uint32_t report_growth(std::uint32_t kernel, SmStats const& before, SmStats const& now, Send&& send) {
  auto const old = std::bit_cast<SmCounters>(before);
  auto const all = std::bit_cast<SmCounters>(now);
  std::uint32_t messages = 0;
  KernelCounts m{kernel};
  auto end = all.size();  // after the last counter that has increased
  while (end != 0 && all[end - 1] == old[end - 1]) --end;
  for (std::size_t i = 0; i < end; ++i) {
    auto growth = all[i] - old[i];
    if (m.count + (std::bit_width(growth | 1) + 6) / 7 > KernelCounts::kBytes) {
      send(std::as_const(m));
      ++messages;
      m = KernelCounts{kernel, static_cast<std::uint8_t>(i)};
    }
    for (; growth >= 128; growth >>= 7) m.bytes[m.count++] = static_cast<std::uint8_t>(growth | 128);
    m.bytes[m.count++] = static_cast<std::uint8_t>(growth);
  }
  send(std::as_const(m));
  return messages + 1;
}

inline void add_counts(SmStats& sum, SmStats const& more) {
  auto all = std::bit_cast<SmCounters>(sum);
  auto const each = std::bit_cast<SmCounters>(more);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] += each[i];
  sum = std::bit_cast<SmStats>(all);
}

// The sums of the reports on each stream's running kernel.
class KernelSums {
 public:
  KernelSums() = default;
  explicit KernelSums(std::uint32_t streams) : sums_(streams), missing_(streams) {}

  void add(std::uint32_t stream, KernelCounts const& m) {
    auto& sums = sums_[stream];
    std::size_t counter = m.first;
    std::uint64_t growth = 0;
    for (unsigned i = 0, shift = 0; i < m.count; ++i) {
      growth |= std::uint64_t{m.bytes[i] & 127U} << shift;
      shift += 7;
      if (m.bytes[i] >= 128) continue;
      sums[counter++] += growth;
      growth = 0;
      shift = 0;
    }
    --missing_[stream];
  }
  // Announces the number of messages, which may have arrived already.
  void expect(std::uint32_t stream, std::uint32_t messages) { missing_[stream] += messages; }

  // At the kernel's end: returns its counts and resets them for the next kernel.
  SmStats take(std::uint32_t stream) {
    FF_CHECK(missing_[stream] == 0, "a kernel ended with a missing report of its counts");
    return std::bit_cast<SmStats>(std::exchange(sums_[stream], SmCounters{}));
  }

  auto members() { return std::tie(sums_, missing_); }

 private:
  std::vector<SmCounters> sums_;       // by stream
  std::vector<std::int64_t> missing_;  // by stream: messages expected minus messages received
};

}  // namespace farfault
