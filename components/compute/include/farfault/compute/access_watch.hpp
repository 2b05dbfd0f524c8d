// SPDX-License-Identifier: Apache-2.0
// Follows some transactions of an SM from their issue to their end, by looking at the SM before and after
// each of its events: the SM knows nothing of it.
//
// What an SM does in one event follows from its State before and after: which transactions its load/store
// unit has passed, in order, one per cycle, and where each waits now. The times are those that the latency
// stack has, cut as it cuts them (sm_latency.cpp): with every transaction followed they add up to it,
// exactly. Where a response says how long it was in each stage but not when, the stages stand in their order,
// and the answer's way back behind them.
//
// Followed are those issued in the window that the sample takes: by a hash of the seed and of what the
// transaction is (SM, kernel and its launch, block, warp, instruction, number in it), so never by how the run
// is spread; and of each SM no more than `most`. Memory: some 500 bytes for each.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "farfault/compute/access_trace.hpp"
#include "farfault/compute/sm.hpp"
#include "farfault/engine/observer.hpp"

namespace farfault {

struct AccessSample {
  Time from{};
  Time to{};                 // those issued from then on are not followed
  std::uint64_t one_in = 1;  // at least 1
  std::uint64_t seed = 0;
  std::uint32_t most = 0;  // of an SM
  // How long a translation takes from the L2 TLB to the SM, and a line from an L2 slice.
  Duration translation_back{};
  Duration line_back{};
};

class AccessWatch final : public Observer {
 public:
  // From now on; between two events of the SM, at sample.from.
  AccessWatch(Sm const& sm, AccessSample const& sample);

  void before(Event const& e) override;
  void after(Event const& e) override;

  // How many are under way.
  std::size_t under_way() const { return live_.size() - free_.size(); }
  // How many were left out because the SM had `most`.
  std::uint64_t left_out() const { return left_out_; }
  // All that were followed; those under way end at `now`, unfinished. Nothing is followed any more.
  std::vector<AccessTrace> take(Time now);

 private:
  static constexpr std::uint32_t kNone = ~0U;  // a transaction that is not followed
  // Where it waits, or is.
  enum class Where : std::uint8_t { load_store, translation, replay, line, acknowledgement };
  struct Live {
    AccessTrace trace;
    Time since{};  // in its present stage
    std::uint32_t context = 0;
    Where where = Where::load_store;
  };
  using Ids = std::vector<std::uint32_t>;

  bool follows(Event const& e) const { return e.when < sample_.to || under_way() != 0; }
  void issue(Time now);
  bool is_sampled(LsuItem const& item, Warp const& warp, std::uint64_t number) const;
  void translated(TranslateResponse const& m, Time now);
  void answered(MemResponse const& m, Time now);
  // The number of the transaction in a list, taken from it; kNone where it is not followed.
  std::uint32_t take_from(std::map<std::uint64_t, Ids>& lists, std::uint64_t key, LsuItem const& item) const;
  std::uint32_t replay_of(std::uint64_t page, LsuItem const& item, Time now);

  void look_up(std::uint32_t id, Time at);
  void enter_cache(std::uint32_t id, Time at);
  void finish(std::uint32_t id, Time at);
  // From where it is now on.
  void spend(Live& live, Time until, Stage stage, Place place) const;
  void spend_translation(Live& live, TranslateResponse const& m, Time now) const;
  // `rest`: the stage whose what is left is; null: that is the way's.
  void spend_memory(Live& live, MemoryStages const& stages, std::uint32_t MemoryStages::*rest, Time at) const;
  bool waits_in(MshrTable<LsuItem> const& table, Live const& live) const;
  std::optional<PageTranslation> look_at_tlb(std::uint64_t page) const;
  std::uint64_t page_of(Live const& live) const { return live.trace.address >> sm_.spec().page_bits; }
  std::uint64_t line_of(Live const& live) const { return sm_.line_of(live.trace.physical); }
  bool is_remote(Live const& live) const { return device_of(live.trace.physical) != sm_.spec().device; }

  Sm const& sm_;
  AccessSample const sample_;
  std::vector<AccessTrace> done_;
  std::vector<Live> live_;
  Ids free_;  // in live_
  std::uint32_t taken_ = 0;
  std::uint64_t left_out_ = 0;

  // Which of those in the SM's queues are followed, in their order.
  std::deque<std::uint32_t> translated_;
  std::deque<std::uint32_t> again_;
  Ids current_;
  std::map<std::uint64_t, Ids> in_translation_;  // by page
  std::map<std::uint64_t, Ids> kept_;            // by page
  std::map<std::uint64_t, Ids> loads_;           // by line
  Ids stores_;

  // Of the event that is being handled.
  Time lsu_free_{};
  std::uint64_t position_ = 0;
  bool had_issued_ = false;
};

}  // namespace farfault
