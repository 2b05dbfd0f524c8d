// SPDX-License-Identifier: Apache-2.0
// DRAM scheduler: selects the next request of a DRAM channel.
//
// - pick() is called when the data bus will soon be free and at least one request is queued. It returns the
//   queue position of the request to serve.
// - A view has the queue, oldest first, the banks, the timing, and the kind of the last access on the bus.
// - A scheduler may delay a request, but not indefinitely.
// - New requests are appended to the queue; picked ones are removed from their position.
// - pressure_epoch above 0 requests reports for epochs of that many cycles of the GPU: pressure() is called
//   with the counts of the L2 TLB (WalkPressure, messages.hpp), which sends them at its first request or
//   response after an epoch. The memory of a CPU gets no reports.
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
  Time since{};  // enqueued
};

class DramScheduler {
 public:
  using Interface = DramScheduler;
  struct Setup {
    std::uint32_t queue = 64;  // maximum queued lines of the channel
    std::uint32_t applications = 1;
  };
  struct View {
    std::vector<DramPending> const& queue;  // oldest first; a request may have several lines
    std::size_t lines;                      // of all requests
    std::size_t writes;                     // lines to write
    DramBanks const& banks;
    DramTiming timing;
    Time now;
    Access last;  // last access on the bus
  };
  struct Facts {
    std::uint32_t pressure_epoch = 0;  // cycles; 0: no reports
  };
  static PolicyList<DramScheduler> known();

  virtual ~DramScheduler() = default;
  virtual std::size_t pick(View const& channel) = 0;
  virtual void pressure(WalkPressure const& of_epoch) { static_cast<void>(of_epoch); }

  // Position of the oldest request with an open row among the requests that `among(request)` admits, at least
  // one; if there is none, the one whose bank can deliver first, and the oldest of equal ones.
  template <class F>
  static std::size_t first_ready(View const& v, F&& among) {
    return first_ready_place(v, [&](std::size_t i) { return among(v.queue[i].request); });
  }
  // Same, with `among` of queue positions.
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
