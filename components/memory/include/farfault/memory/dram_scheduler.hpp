// Which of a DRAM channel's requests is next.
//
// Contract: pick() is called when the data bus will soon be free, with at least one request queued; it
// returns the place in the queue of the one to serve. It knows the queue, oldest first, the banks, the timing
// and which kind of access was last on the bus. A request may wait for as long as the scheduler likes, but
// not for ever.
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

  // Of those that `among(request)` admits, one at least: the oldest whose row is open, else the one whose
  // bank can deliver first, the oldest of several.
  template <class F>
  static std::size_t first_ready(View const& v, F&& among) {
    std::size_t best = 0;
    auto earliest = Time::max();
    for (std::size_t i = 0; i < v.queue.size(); ++i) {
      auto const& q = v.queue[i];
      if (!among(q.request)) continue;
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

}  // namespace farfault
