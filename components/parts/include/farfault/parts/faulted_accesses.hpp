// SPDX-License-Identifier: Apache-2.0
// Accesses whose page is faulted. An access is kept from the answer that says so until the page's replay;
// then it waits its turn to be looked up again, or goes on with the page's frame.
//
// Those of a page stay in their order and leave together; pages follow each other in the order of their
// replays. A page that has a replay to come takes further accesses at once, without asking for it again:
// keep() them while holds(). has_room() says whether one more access may set out that may fault; those that
// have set out find a place in any case (the `late` ones), and so do those that are looked up again. Nothing
// is lost, and the owner stalls instead of overflowing. Memory is taken at the first fault, and grows with
// the longest queue.
#pragma once

#include <cstdint>
#include <tuple>

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
      kept_ = MshrTable<Access>(most_pages_ + late_pages_, most_accesses_ + late_accesses_);
    auto const entry = kept_.find(page);
    kept_.wait(entry ? *entry : kept_.allocate(page), access);
  }
  // The page's replay is here: its accesses, if there are any, are to be looked up again. Calls f(access) for
  // each, which may change it.
  template <class F>
  void replay(std::uint64_t page, F&& f) {
    if (auto const entry = kept_.find(page))
      kept_.release(*entry, [&](Access access) {
        f(access);
        again_.push(access);
      });
  }
  // The same for all pages, in the order of their entries.
  template <class F>
  void replay_all(F&& f) {
    std::vector<std::uint64_t> pages;
    kept_.each([&](std::uint32_t, std::uint64_t page) { pages.push_back(page); });
    for (auto const page : pages) replay(page, f);
  }
  // The page's replay has brought its frame: calls f(access) for each of its accesses, which are kept no
  // more.
  template <class F>
  void settle(std::uint64_t page, F&& f) {
    if (auto const entry = kept_.find(page)) kept_.release(*entry, f);
  }
  // Calls f(access) for each access of the page, in order; f(page) for each page, in the order of their
  // entries.
  template <class F>
  void each_of(std::uint64_t page, F&& f) const {
    if (auto const entry = kept_.find(page)) kept_.each_waiter(*entry, f);
  }
  template <class F>
  void each_page(F&& f) const {
    kept_.each([&](std::uint32_t, std::uint64_t page) { f(page); });
  }
  // To be looked up again, the first one first.
  Ring<Access>& again() { return again_; }
  Ring<Access> const& again() const { return again_; }

  auto members() { return std::tie(kept_, again_, most_pages_, most_accesses_, late_pages_, late_accesses_); }

 private:
  MshrTable<Access> kept_;  // by page; made at the first fault: most SMs of most runs have none
  Ring<Access> again_;
  std::uint32_t most_pages_ = 0;
  std::uint32_t most_accesses_ = 0;
  std::uint32_t late_pages_ = 0;
  std::uint32_t late_accesses_ = 0;
};

}  // namespace farfault
