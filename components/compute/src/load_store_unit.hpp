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
  LoadStoreUnit(Sm const& sm, Sm::Cx& cx) : sm_(sm), cx_(cx), s_(cx.state()) {}

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
  // The passage of transactions through the unit at one time.
  struct Outgoing {
    // Lines of an instruction that have left the unit and will travel as one train.
    MemRequest request{};
    Time first{};
    Time last{};
    std::uint32_t lines = 0;  // 0: none
    std::uint16_t context = 0;
    LoadStoreStall stall = LoadStoreStall::none;  // cause of the unit's stall
    // The last page looked up: consecutive lines in it count as one use of its entry.
    std::uint64_t page = ~std::uint64_t{0};
    std::optional<PageTranslation> found;
    std::optional<std::uint32_t> missed;  // if absent from the TLB: its MSHR
    Passed passed;
  };
  struct Responding;

  // False if it stalls.
  bool move_transactions(Outgoing& o);
  // Called before the first transaction of a stream, and after the last one of all.
  void count_passed(Passed& passed, std::uint8_t next_stream);
  // The number of lines that may form a train with `item`, among the n transactions after it in its queue.
  template <class Following>
  std::uint32_t train_from(LsuItem const& item, std::uint64_t n, Following&& following) const;
  // `again`: after a replay. `lines()`: number of transactions from this one on that may travel together;
  // called once it is translated.
  template <class Lines>
  bool translate_item(LsuItem const& item, bool again, Lines&& lines, Outgoing& o);
  // It waits from `since` on.
  bool wait_for_translation(LsuItem const& item, bool again, Time looked_up, Time since, Outgoing& o);
  void park(std::uint64_t page, LsuItem item, Time since);
  // Reports a page use to the driver, if it tracks them.
  [[gnu::always_inline]] void report_use(std::uint64_t page, Access access) {
    if (unit().translation.must_report(page, access, cx_.now()))
      cx_.send(sm_.used, PageUse{page, spec().device, access, {}});
  }
  bool access(LsuItem const& item, Time at, std::uint32_t train, Outgoing& o);
  [[gnu::always_inline]] std::uint32_t credits(PhysAddr address) const {
    if (sm_.is_remote(address)) return unit().remote_credits;
    return unit().slice_credits[spec().memory.slice(offset_of(address))];
  }
  void send(LsuItem const& item, std::uint32_t tag, Time at, Outgoing& o);
  void depart(Outgoing& o);

  SmSpec const& spec() const { return sm_.spec(); }
  LoadStoreState& unit() const { return s_.load_store; }

  Sm const& sm_;
  Sm::Cx& cx_;
  SmState& s_;
};

}  // namespace farfault
