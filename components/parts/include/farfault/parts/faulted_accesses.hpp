// SPDX-License-Identifier: Apache-2.0
// Accesses stalled on a page fault. An access is kept from its fault response to the replay of its page; then
// it queues for another look-up, or continues with the page's frame.
//
// - Order: the accesses of a page are replayed together and in order; pages in the order of their replays.
// - Replay of all pages: round-robin over requesters (warps of an SM, SMs of a scalar cache), oldest access
//   first. Within a round, the requester with the oldest access is first. An access that faults again counts
//   as new, so the requester that was replayed first is then last. Assumed: hardware does not document the
//   order; an SM issues warps round-robin, and SMs replay simultaneously.
// - A page with an outstanding replay takes further accesses without another request: park() them while
//   holds().
// - Limits: has_room() holds if one more access that may fault can be issued. Accesses in flight when the
//   limit is reached (`late`), and accesses that are looked up again, always find room: the owner stalls, it
//   never overflows.
// - Memory is allocated at the first fault and grows with the longest queue.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <tuple>
#include <vector>

#include "farfault/parts/mshr.hpp"
#include "farfault/parts/ring.hpp"

namespace farfault {

template <class Access>
class FaultedAccesses {
 public:
  FaultedAccesses() = default;
  // Maximum pages and accesses that are kept, and maximum of each that can be in flight when these are
  // reached.
  FaultedAccesses(std::uint32_t pages, std::uint32_t accesses, std::uint32_t late_pages,
                  std::uint32_t late_accesses)
      : again_(std::size_t{accesses} + late_accesses),
        max_pages_(pages),
        max_accesses_(accesses),
        late_pages_(late_pages),
        late_accesses_(late_accesses) {}

  bool has_room() const { return parked_.in_use() < max_pages_ && accesses() < max_accesses_; }
  bool holds(std::uint64_t page) const { return parked_.find(page).has_value(); }
  // Pages with an outstanding replay.
  std::uint32_t pages() const { return parked_.in_use(); }
  std::uint32_t accesses() const { return parked_.waiting(); }

  void park(std::uint64_t page, Access const& access) {
    if (parked_.entries() == 0)
      parked_ = MshrTable<Parked>(max_pages_ + late_pages_, max_accesses_ + late_accesses_);
    auto const entry = parked_.find(page);
    parked_.wait(entry ? *entry : parked_.allocate(page), {parked_before_++, access});
  }
  // Replays the page: queues its accesses, if any, for another look-up. Calls f(access) for each access; f
  // may change it.
  template <class F>
  void replay(std::uint64_t page, F&& f) {
    if (auto const entry = parked_.find(page))
      parked_.release(*entry, [&](Parked parked) {
        f(parked.access);
        again_.push(parked.access);
      });
  }
  // Replays all pages, round-robin over requester(access), a member or a function.
  template <class Requester, class F>
  void replay_all(Requester&& requester, F&& f) {
    auto turns = round_robin(requester);
    for (auto const& each : turns)
      if (auto const entry = parked_.find(each.page)) parked_.release(*entry, [](Parked const&) {});
    for (auto& each : turns) {
      f(each.access);
      again_.push(each.access);
    }
  }
  // Calls f(page, access) in the order of replay_all().
  template <class Requester, class F>
  void each_round_robin(Requester&& requester, F&& f) const {
    for (auto const& each : round_robin(requester)) f(each.page, each.access);
  }
  // Ends the fault with the page's frame: calls f(access) for each access of the page and removes it.
  template <class F>
  void settle(std::uint64_t page, F&& f) {
    if (auto const entry = parked_.find(page))
      parked_.release(*entry, [&](Parked const& parked) { f(parked.access); });
  }
  // Calls f(access) for each access of the page, in order.
  template <class F>
  void each_of(std::uint64_t page, F&& f) const {
    if (auto const entry = parked_.find(page))
      parked_.each_waiter(*entry, [&](Parked const& parked) { f(parked.access); });
  }
  // Accesses to look up again, oldest first.
  Ring<Access>& again() { return again_; }
  Ring<Access> const& again() const { return again_; }

  auto members() {
    return std::tie(parked_, again_, parked_before_, max_pages_, max_accesses_, late_pages_, late_accesses_);
  }

 private:
  struct Parked {
    std::uint64_t number = 0;  // accesses kept before this one
    Access access{};
  };
  struct Turn {
    std::uint64_t turn = 0;
    std::uint64_t requester = 0;
    std::uint64_t number = 0;
    std::uint64_t page = 0;
    Access access{};
  };

  template <class Requester>
  std::vector<Turn> round_robin(Requester&& requester) const {
    std::vector<Turn> turns;
    turns.reserve(accesses());
    parked_.each([&](std::uint32_t entry, std::uint64_t page) {
      parked_.each_waiter(entry, [&](Parked const& k) {
        turns.push_back({.requester = static_cast<std::uint64_t>(std::invoke(requester, k.access)),
                         .number = k.number,
                         .page = page,
                         .access = k.access});
      });
    });
    std::ranges::sort(turns, {}, [](Turn const& t) { return std::tuple(t.requester, t.number); });
    for (std::size_t i = 1; i < turns.size(); ++i)
      if (turns[i].requester == turns[i - 1].requester) turns[i].turn = turns[i - 1].turn + 1;
    std::ranges::sort(turns, {}, [](Turn const& t) { return std::tuple(t.turn, t.number); });
    return turns;
  }

  MshrTable<Parked> parked_;  // by page; allocated at the first fault, since most SMs have none
  Ring<Access> again_;
  std::uint64_t parked_before_ = 0;
  std::uint32_t max_pages_ = 0;
  std::uint32_t max_accesses_ = 0;
  std::uint32_t late_pages_ = 0;
  std::uint32_t late_accesses_ = 0;
};

}  // namespace farfault
