// SPDX-License-Identifier: Apache-2.0
// State of an SM's load/store unit: transactions, L1 TLB, L1 cache and credits.
#pragma once

#include <cstdint>
#include <vector>

#include "farfault/compute/stalled_warps.hpp"
#include "farfault/engine/time.hpp"
#include "farfault/memory/cache.hpp"
#include "farfault/parts/mshr.hpp"
#include "farfault/protocols/messages.hpp"
#include "farfault/translation/translation_client.hpp"

namespace farfault {

// A transaction in the load/store unit: its address is virtual until translated.
struct LsuItem {
  std::uint64_t address = 0;
  Time since{};  // in its current stage (sm_stats.hpp)
  Time issued{};
  std::uint16_t context = 0;  // of its warp
  Access access = Access::read;
  std::uint8_t bytes = 0;
  std::uint8_t space = 0;
  std::uint8_t application = 0;
  std::uint8_t stream = 0;
  std::uint8_t has_faulted = 0;  // it has been kept for a faulted page (fault_translations)
};

// A load that waits for its line, in 16 bytes because there are many.
struct LoadWaiter {
  Time issued{};
  std::uint64_t waited_and_context =
      0;  // ps from its issue until it began to wait; 16 bits: its warp's context

  LoadWaiter() = default;
  LoadWaiter(Time issued_at, Time since, std::uint16_t context)
      : issued(issued_at),
        waited_and_context(static_cast<std::uint64_t>(picoseconds(since - issued_at)) << 16U | context) {}
  Time since() const { return issued + Duration{static_cast<std::int64_t>(waited_and_context >> 16U)}; }
  std::uint16_t context() const { return static_cast<std::uint16_t>(waited_and_context); }
};

// When a warp can use line `i` of a train that arrives now: after the line has arrived, and therefore from
// the next edge on if it arrives at an edge.
inline Time usable(Train train, std::uint32_t i, Time now) {
  return i == 0 ? now : now + train.until(i) + Duration{1};
}

struct LoadStoreState {
  TranslationClient<LsuItem> translation;
  Cache l1;
  MshrTable<LoadWaiter> l1_mshrs;
  std::vector<LsuItem> current;  // of the instruction in the unit
  std::uint64_t position = 0;    // the next one of them
  Time free{};
  std::vector<std::uint32_t> slice_credits;
  std::uint32_t remote_credits = 0;
  std::uint64_t l1_tlb_invalidated = 0;
  StalledWarps stalled_warps;  // if they are reported

  // Transactions are in the unit.
  bool is_busy() const {
    return position < current.size() || !translation.translated().empty() || !translation.again().empty();
  }
};

}  // namespace farfault
