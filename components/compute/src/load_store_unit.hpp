// SPDX-License-Identifier: Apache-2.0
// Private: the load/store unit of an SM, from a coalesced transaction to its response, for the time of one
// event. Its state is in LoadStoreState; it sends through the SM's ports and wakes the SM's warps.
//
// - Transactions are looked up in the L1 TLB and then in the L1 cache, one per cycle: translated ones first,
//   then replayed ones, then the current instruction's.
// - A transaction without an MSHR, a credit or room among faulted transactions stalls the unit.
#pragma once

#include <optional>

#include "farfault/compute/sm.hpp"

namespace farfault {

class LoadStoreUnit {
 public:
  LoadStoreUnit(Sm const& sm, Sm::Cx& cx)
      : sm_(sm), spec_(sm.spec()), cx_(cx), s_(cx.state()), u_(cx.state().load_store) {}

  // Moves transactions through the unit, one per cycle, until it is empty or stalls.
  void run();
  // False if the response concerns no transaction.
  bool respond(TranslateResponse const& m);
  // True if a warp was woken.
  bool complete(MemResponse const& m);
  void invalidate(Invalidate const& m);
  void acknowledge_invalidations();

 private:
  // Counts of one stream's transactions at one time, added once at the end. The order keeps a hit's sums
  // apart: otherwise the compiler joins their additions, which is slower.
  struct Passed {
    std::uint64_t load_store_time = 0;  // ps
    std::uint32_t l1_tlb_lookups = 0;
    std::uint32_t l1_hits = 0;   // loads, which are complete
    std::uint64_t hit_time = 0;  // of these, ps from now until their data
    std::uint32_t other_l1_cache_lookups = 0;
    std::uint32_t l1_tlb_hits = 0;  // for the first time
    std::uint8_t stream = 0;
  };
  struct Responding;

  // False if it stalls.
  bool move_transactions();
  // Called before the first transaction of a stream, and after the last one of all.
  void count_passed(std::uint8_t next_stream);
  // The number of lines that may form a train with `item`, among the n transactions after it in its queue.
  template <class Following>
  std::uint32_t train_from(LsuItem const& item, std::uint64_t n, Following&& following) const;
  // `again`: after a replay. `lines()`: number of transactions from this one on that may travel together;
  // called once it is translated.
  template <class Lines>
  bool translate_item(LsuItem const& item, bool again, Lines&& lines);
  // It waits from `since` on.
  bool wait_for_translation(LsuItem const& item, bool again, Time looked_up, Time since);
  void park(std::uint64_t page, LsuItem item, Time since);
  // Reports a page use to the driver, if it tracks them.
  void report_use(std::uint64_t page, Access access) {
    if (u_.translation.must_report(page, access, cx_.now()))
      cx_.send(sm_.used, PageUse{page, spec_.device, access, {}});
  }
  bool access(LsuItem const& item, Time at, std::uint32_t train);
  std::uint32_t credits(PhysAddr address) const;
  void send(LsuItem const& item, std::uint32_t tag, Time at);
  void depart();

  Sm const& sm_;
  SmSpec const& spec_;
  Sm::Cx& cx_;
  SmState& s_;
  LoadStoreState& u_;
  LoadStoreStall stall_ = LoadStoreStall::none;  // cause of the unit's stall
  // The last page looked up: consecutive lines in it count as one use of its entry.
  std::uint64_t page_ = ~std::uint64_t{0};
  std::optional<PageTranslation> found_;
  std::optional<std::uint32_t> missed_;  // if absent from the TLB: its MSHR
  Passed passed_;
  // Lines of an instruction that have left the unit and will travel as one train.
  MemRequest request_{};
  Time first_{};
  Time last_{};
  std::uint32_t lines_ = 0;  // 0: none
  std::uint16_t context_ = 0;
};

}  // namespace farfault
