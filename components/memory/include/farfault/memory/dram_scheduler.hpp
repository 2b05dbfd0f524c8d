// SPDX-License-Identifier: Apache-2.0
// Which of a DRAM channel's requests is next.
//
// Contract: pick() is called when the data bus will soon be free, with at least one request queued; it
// returns the place in the queue of the one to serve. It knows the queue, oldest first, the banks, the timing
// and which kind of access was last on the bus. A request may wait for as long as the scheduler likes, but
// not for ever. Requests come to the end of the queue, and leave it at the places picked.
//
// One that wants to know how much page walks hold up the applications says how often, in cycles of the GPU:
// then pressure() is called with what the L2 TLB counted in each such time in which it had requests
// (messages.hpp), as long after its end as a message takes. Not in the memory of a CPU.
#pragma once

#include <cstdint>
#include <vector>

#include "farfault/engine/policy.hpp"
#include "farfault/engine/time.hpp"
#include "farfault/memory/dram_bank.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

struct DramPending {
  MemRequest request{};
  std::uint64_t row = 0;
  std::uint32_t bank = 0;
  std::uint32_t unused = 0;
  Time since{};  // in the queue
};

class DramScheduler {
 public:
  using Interface = DramScheduler;
  struct Setup {
    std::uint32_t queue = 64;  // lines that the channel holds requests for
    std::uint32_t applications = 1;
  };
  struct View {
    std::vector<DramPending> const& queue;  // oldest first; a request may be for several lines
    std::size_t lines;                      // of them all
    std::size_t writes;                     // of these
    DramBanks const& banks;
    DramTiming timing;
    Time now;
    Access last;  // on the bus
  };
  static PolicyList<DramScheduler> known();

  virtual ~DramScheduler() = default;
  virtual std::size_t pick(View const& channel) = 0;
  virtual std::uint32_t pressure_epoch() const { return 0; }  // cycles; 0: it does not want to know
  virtual void pressure(WalkPressure const& of_epoch) { static_cast<void>(of_epoch); }

  // Of those that `among(request)` admits, one at least: the oldest whose row is open, else the one whose
  // bank can deliver first, the oldest of several.
  template <class F>
  static std::size_t first_ready(View const& v, F&& among) {
    return first_ready_place(v, [&](std::size_t i) { return among(v.queue[i].request); });
  }
  // The same by places in the queue.
  template <class F>
  static std::size_t first_ready_place(View const& v, F&& among) {
    std::size_t best = 0;
    auto earliest = Time::max();
    for (std::size_t i = 0; i < v.queue.size(); ++i) {
      auto const& q = v.queue[i];
      if (!among(i)) continue;
      if (v.banks.row_open(q.bank, q.row)) return i;
      auto const data = v.banks.earliest_data(q.bank, q.row, v.now, v.timing);
      if (data < earliest) {
        earliest = data;
        best = i;
      }
    }
    return best;
  }
};

extern template class PolicyChoice<DramScheduler>;

}  // namespace farfault
