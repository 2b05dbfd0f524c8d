// SPDX-License-Identifier: Apache-2.0
// Traces sampled transactions of an SM from issue to end, by observing the SM's State before and after
// each of its events. The SM is unaware of it.
//
// - Method: one event's effects follow from the State before and after it: the transactions that its
//   load/store unit has passed, in order, one per cycle, and the place where each waits now.
// - Guarantee: times are split as in the latency stack (access_stages.hpp), and add up to it exactly if every
//   transaction is traced. If a response has the durations of its stages but not their times, the stages are
//   placed in order, followed by the response's way back.
// - Sample: transactions issued in the window, selected by a hash of the seed and the transaction's identity
//   (SM, kernel and its launch, block, warp, instruction, number in it), and therefore independent of
//   threads, ranks and partitions; at most `most` per SM.
// - Memory: about 500 bytes per transaction.
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
  Time to{};                 // transactions issued from then on are not traced
  std::uint64_t one_in = 1;  // at least 1
  std::uint64_t seed = 0;
  std::uint32_t most = 0;  // per SM
  // Latency of a translation from the L2 TLB to the SM, and of a line from an L2 slice.
  Duration translation_back{};
  Duration line_back{};
};

class AccessWatch final : public Observer {
 public:
  // Starts at sample.from, between two events of the SM.
  AccessWatch(Sm const& sm, AccessSample const& sample);

  void before(Event const& e) override;
  void after(Event const& e) override;

  // Number of outstanding traced transactions.
  std::size_t outstanding() const { return live_.size() - free_.size(); }
  // Number of sampled transactions not traced because the SM had reached `most`.
  std::uint64_t omitted() const { return omitted_; }
  // All traces; outstanding transactions end at `now`, unfinished. Ends tracing.
  std::vector<AccessTrace> take(Time now);

 private:
  static constexpr std::uint32_t kNone = ~0U;  // a transaction that is not traced
  // The place where a transaction waits or is handled.
  enum class Where : std::uint8_t { load_store, translation, replay, line, acknowledgement };
  struct Live {
    AccessTrace trace;
    Time since{};  // in its current stage
    std::uint32_t context = 0;
    Where where = Where::load_store;
  };
  using Ids = std::vector<std::uint32_t>;

  bool follows(Event const& e) const { return e.when < sample_.to || outstanding() != 0; }
  void issue(Time now);
  bool is_sampled(LsuItem const& item, Warp const& warp, std::uint64_t number) const;
  void translated(TranslateResponse const& m, Time now);
  void responded(MemResponse const& m, Time now);
  // Removes the transaction from a list and returns its number; kNone if it is not traced.
  std::uint32_t take_from(std::map<std::uint64_t, Ids>& lists, std::uint64_t key, LsuItem const& item) const;
  std::uint32_t replay_of(std::uint64_t page, LsuItem const& item, Time now);

  void look_up(std::uint32_t id, Time at);
  void enter_cache(std::uint32_t id, Time at);
  void finish(std::uint32_t id, Time at);
  // Adds a span from the end of the last one.
  void add_span(Live& live, Time until, Stage stage, Place place) const;
  void add_translation_spans(Live& live, TranslateResponse const& m, Time now) const;
  // `rest`: the stage to which the remaining time is attributed; null: the L2 cache or the links.
  void add_memory_spans(Live& live, MemoryStages const& stages, std::uint32_t MemoryStages::*rest,
                        Time at) const;
  bool waits_in(MshrTable<LsuItem> const& table, Live const& live) const;
  std::optional<PageTranslation> peek_tlb(std::uint64_t page) const;
  std::uint64_t page_of(Live const& live) const { return live.trace.address >> sm_.spec().page_bits; }
  std::uint64_t line_of(Live const& live) const { return sm_.line_of(live.trace.physical); }
  bool is_remote(Live const& live) const { return device_of(live.trace.physical) != sm_.spec().device; }

  Sm const& sm_;
  AccessSample const sample_;
  std::vector<AccessTrace> done_;
  std::vector<Live> live_;
  Ids free_;  // in live_
  std::uint32_t sampled_ = 0;
  std::uint64_t omitted_ = 0;

  // The traced transactions in the SM's queues, in order.
  std::deque<std::uint32_t> translated_;
  std::deque<std::uint32_t> again_;
  Ids current_;
  std::map<std::uint64_t, Ids> in_translation_;  // by page
  std::map<std::uint64_t, Ids> stalled_;         // by page
  std::map<std::uint64_t, Ids> loads_;           // by line
  Ids stores_;

  // State before the current event.
  Time lsu_free_{};
  std::uint64_t position_ = 0;
  bool had_issued_ = false;
};

}  // namespace farfault
