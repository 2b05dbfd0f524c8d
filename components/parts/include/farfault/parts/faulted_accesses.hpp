// SPDX-License-Identifier: Apache-2.0
// Accesses whose page is faulted. An access is kept from the answer that says so until the page's replay;
// then it waits its turn to be looked up again, or goes on with the page's frame.
//
// Those of a page stay in their order and leave together; pages follow each other in the order of their
// replays. A replay of all pages takes requesters in turn, each with its oldest access: the warps of an SM,
// or the SMs of a scalar cache. Within a turn the requester with the oldest access is first. An access that
// is kept again counts as new, so the requester whose access was replayed first is last then. Assumed: the
// hardware's order is not published; an SM issues warps in turn, and SMs replay at the same time. A page that
// has a replay to come takes further accesses at once, without asking for it again: keep() them while
// holds(). has_room() says whether one more access may set out that may fault; those that have set out find a
// place in any case (the `late` ones), and so do those that are looked up again. Nothing is lost, and the
// owner stalls instead of overflowing. Memory is taken at the first fault, and grows with the longest queue.
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
  // The most that are kept, and the most that may be on their way when that is reached.
  FaultedAccesses(std::uint32_t pages, std::uint32_t accesses, std::uint32_t late_pages,
                  std::uint32_t late_accesses)
      : again_(std::size_t{accesses} + late_accesses),
        most_pages_(pages),
        most_accesses_(accesses),
        late_pages_(late_pages),
        late_accesses_(late_accesses) {}

  bool has_room() const { return kept_.in_use() < most_pages_ && accesses() < most_accesses_; }
  bool holds(std::uint64_t page) const { return kept_.find(page).has_value(); }
  // With a replay still to come.
  std::uint32_t pages() const { return kept_.in_use(); }
  std::uint32_t accesses() const { return kept_.waiting(); }

  void keep(std::uint64_t page, Access const& access) {
    if (kept_.entries() == 0)
      kept_ = MshrTable<Kept>(most_pages_ + late_pages_, most_accesses_ + late_accesses_);
    auto const entry = kept_.find(page);
    kept_.wait(entry ? *entry : kept_.allocate(page), {kept_before_++, access});
  }
  // The page's replay is here: its accesses, if there are any, are to be looked up again. Calls f(access) for
  // each, which may change it.
  template <class F>
  void replay(std::uint64_t page, F&& f) {
    if (auto const entry = kept_.find(page))
      kept_.release(*entry, [&](Kept kept) {
        f(kept.access);
        again_.push(kept.access);
      });
  }
  // The same for all pages, in turns of the requesters: requester(access), as a member or a function.
  template <class Requester, class F>
  void replay_all(Requester&& requester, F&& f) {
    auto turns = in_turns(requester);
    for (auto const& each : turns)
      if (auto const entry = kept_.find(each.page)) kept_.release(*entry, [](Kept const&) {});
    for (auto& each : turns) {
      f(each.access);
      again_.push(each.access);
    }
  }
  // Calls f(page, access) in that order.
  template <class Requester, class F>
  void each_in_turns(Requester&& requester, F&& f) const {
    for (auto const& each : in_turns(requester)) f(each.page, each.access);
  }
  // The page's replay has brought its frame: calls f(access) for each of its accesses, which are kept no
  // more.
  template <class F>
  void settle(std::uint64_t page, F&& f) {
    if (auto const entry = kept_.find(page)) kept_.release(*entry, [&](Kept const& kept) { f(kept.access); });
  }
  // Calls f(access) for each access of the page, in order.
  template <class F>
  void each_of(std::uint64_t page, F&& f) const {
    if (auto const entry = kept_.find(page))
      kept_.each_waiter(*entry, [&](Kept const& kept) { f(kept.access); });
  }
  // To be looked up again, the first one first.
  Ring<Access>& again() { return again_; }
  Ring<Access> const& again() const { return again_; }

  auto members() {
    return std::tie(kept_, again_, kept_before_, most_pages_, most_accesses_, late_pages_, late_accesses_);
  }

 private:
  struct Kept {
    std::uint64_t number = 0;  // of accesses kept before
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
  std::vector<Turn> in_turns(Requester&& requester) const {
    std::vector<Turn> turns;
    turns.reserve(accesses());
    kept_.each([&](std::uint32_t entry, std::uint64_t page) {
      kept_.each_waiter(entry, [&](Kept const& k) {
        turns.push_back(
            {0, static_cast<std::uint64_t>(std::invoke(requester, k.access)), k.number, page, k.access});
      });
    });
    std::ranges::sort(turns, {}, [](Turn const& t) { return std::tuple(t.requester, t.number); });
    for (std::size_t i = 1; i < turns.size(); ++i)
      if (turns[i].requester == turns[i - 1].requester) turns[i].turn = turns[i - 1].turn + 1;
    std::ranges::sort(turns, {}, [](Turn const& t) { return std::tuple(t.turn, t.number); });
    return turns;
  }

  MshrTable<Kept> kept_;  // by page; made at the first fault: most SMs of most runs have none
  Ring<Access> again_;
  std::uint64_t kept_before_ = 0;
  std::uint32_t most_pages_ = 0;
  std::uint32_t most_accesses_ = 0;
  std::uint32_t late_pages_ = 0;
  std::uint32_t late_accesses_ = 0;
};

}  // namespace farfault
