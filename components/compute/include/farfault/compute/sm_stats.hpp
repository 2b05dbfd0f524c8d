// SPDX-License-Identifier: Apache-2.0
// Counters of an SM, by stream; each is also a column of the table of kernels (host.hpp).
//
// - Latency stack: access_time is the time from issue to data (stores: to the acknowledgement), summed over
//   transactions. It grows continuously (Little's law: outstanding transactions x time); stages grow at
//   their end.
// - time_outstanding: access_time of outstanding transactions in their current stage (stores: until all
//   stores of their warp are acknowledged). 0 if no transaction is outstanding.
// - Exact: stages + time_outstanding = access_time, in every sample and at the end of a stopped run.
// - A transaction merged in an MSHR counts the last part of the request's stages (protocols/stages.hpp).
// - Excluded: scalar loads, contexts of thread blocks.
// - SM states: SmTime over the SM's whole time; resident_* by stream, while the SM holds blocks of the
//   stream, with the state of the stream's own warps by the same rule (Residents). The parts of a kernel or
//   an application add up to its resident_time exactly.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <tuple>
#include <vector>

#include "farfault/engine/by_application.hpp"
#include "farfault/engine/histogram.hpp"
#include "farfault/engine/probes.hpp"
#include "farfault/engine/time.hpp"
#include "farfault/parts/part_time.hpp"

namespace farfault {

// Time of transactions by stage, in ps.
struct AccessStages {
  std::uint64_t load_store = 0;
  std::uint64_t l1_tlb = 0;
  std::uint64_t l2_tlb = 0;
  std::uint64_t walk_queue = 0;
  std::uint64_t walk = 0;
  std::uint64_t iommu = 0;
  std::uint64_t fault = 0;
  std::uint64_t l1_cache = 0;
  std::uint64_t l2_cache = 0;
  std::uint64_t dram_queue = 0;
  std::uint64_t dram = 0;
  std::uint64_t links = 0;
  std::uint64_t remote_memory = 0;

  bool operator==(AccessStages const&) const = default;
  std::uint64_t sum() const {
    return load_store + l1_tlb + l2_tlb + walk_queue + walk + iommu + fault + l1_cache + l2_cache +
           dram_queue + dram + links + remote_memory;
  }
};

// State of an SM. active: a warp executes or could issue. stopped: by the driver or the thread-block policy.
// idle: no warp is in its slots. Otherwise the most frequent stall cause of its warps; in a tie, the first
// one below.
enum class SmActivity : std::uint8_t {
  active,
  memory_stall,
  fault_stall,
  load_store_stall,
  scalar_stall,
  barrier_stall,
  stopped,
  idle,
};
using SmTime = TimeByState<SmActivity, 8>;

// The cause of a stall of the load/store unit; `none`: it does not stall.
enum class LoadStoreStall : std::uint8_t { none, l1_tlb_mshr, faulted, l1_mshr, l2_credit, remote_credit };
using LoadStoreTime = TimeByState<LoadStoreStall, 6>;

struct SmStats {
  std::uint64_t vector_instructions = 0;
  std::uint64_t scalar_instructions = 0;
  std::uint64_t shared_instructions = 0;
  std::uint64_t memory_instructions = 0;
  std::uint64_t scalar_loads = 0;
  std::uint64_t transactions = 0;
  std::uint64_t scalar_transactions = 0;
  std::uint64_t l1_tlb_hits = 0;
  std::uint64_t l1_tlb_misses = 0;
  std::uint64_t l2_tlb_hits = 0;
  std::uint64_t gmmu_translations = 0;
  std::uint64_t iommu_translations = 0;
  std::uint64_t fault_translations = 0;
  std::uint64_t l1_hits = 0;
  std::uint64_t l1_misses = 0;
  std::uint64_t stores = 0;
  std::uint64_t l2_hits = 0;
  std::uint64_t l2_misses = 0;
  std::uint64_t remote_accesses = 0;
  std::uint64_t remote_l2_hits = 0;
  std::uint64_t remote_l2_misses = 0;
  std::uint64_t scalar_hits = 0;
  std::uint64_t blocks = 0;
  std::uint64_t faulted = 0;
  std::uint64_t replayed = 0;
  std::uint64_t access_time = 0;
  AccessStages stages;
  std::array<std::uint64_t, 8> resident{};  // by SmActivity, while an SM holds blocks

  // A stage with a known end is counted up to it, some cycles in advance.
  std::uint64_t whole_access_time() const { return std::max(access_time, stages.sum()); }
  std::uint64_t resident_in(SmActivity what) const { return resident[static_cast<std::size_t>(what)]; }

  static std::span<Stat<SmStats> const> list() {
    using S = SmStats const&;
    static constexpr auto all = std::to_array<Stat<SmStats>>({
        {"instructions", "count", "Warp instructions issued, of all kinds", StatKind::counter,
         [](S s) { return s.instructions(); }},
        {"vector_instructions", "count", "Vector instructions issued", StatKind::counter,
         [](S s) { return s.vector_instructions; }},
        {"scalar_instructions", "count", "Scalar instructions issued, branches and barriers included",
         StatKind::counter, [](S s) { return s.scalar_instructions; }},
        {"shared_instructions", "count", "Accesses of warps to shared memory", StatKind::counter,
         [](S s) { return s.shared_instructions; }},
        {"memory_instructions", "count", "Load and store instructions issued", StatKind::counter,
         [](S s) { return s.memory_instructions; }},
        {"scalar_loads", "count", "Scalar load instructions issued", StatKind::counter,
         [](S s) { return s.scalar_loads; }},
        {"transactions", "count", "Memory transactions after coalescing (L1 accesses)", StatKind::counter,
         [](S s) { return s.transactions; }},
        {"scalar_transactions", "count", "Memory transactions of scalar loads (scalar-cache accesses)",
         StatKind::counter, [](S s) { return s.scalar_transactions; }},
        {"l1_tlb_hits", "count", "Transactions that hit the L1 TLB", StatKind::counter,
         [](S s) { return s.l1_tlb_hits; }},
        {"l1_tlb_misses", "count", "Transactions that missed the L1 TLB", StatKind::counter,
         [](S s) { return s.l1_tlb_misses; }},
        {"l2_tlb_hits", "count", "Transactions that missed the L1 TLB and hit the L2 TLB", StatKind::counter,
         [](S s) { return s.l2_tlb_hits; }},
        {"gmmu_translations", "count",
         "Transactions that missed the L1 TLB and were translated by the GPU's page table", StatKind::counter,
         [](S s) { return s.gmmu_translations; }},
        {"iommu_translations", "count",
         "Transactions that missed the L1 TLB and were translated by the IOMMU", StatKind::counter,
         [](S s) { return s.iommu_translations; }},
        {"fault_translations", "count",
         "Transactions that missed the L1 TLB and raised a page fault or stalled on one", StatKind::counter,
         [](S s) { return s.fault_translations; }},
        {"l1_hits", "count", "Loads that hit the L1 cache", StatKind::counter, [](S s) { return s.l1_hits; }},
        {"l1_misses", "count", "Loads that missed the L1 cache", StatKind::counter,
         [](S s) { return s.l1_misses; }},
        {"stores", "count", "Store transactions, written through", StatKind::counter,
         [](S s) { return s.stores; }},
        {"l2_hits", "count",
         "Requests to the L2 cache of the SM's GPU that hit. Requests merged in the L1 cache count once",
         StatKind::counter, [](S s) { return s.l2_hits; }},
        {"l2_misses", "count",
         "Requests to the L2 cache of the SM's GPU that missed. Requests merged in the L1 cache count once",
         StatKind::counter, [](S s) { return s.l2_misses; }},
        {"remote_accesses", "count", "Accesses to the memory of another device", StatKind::counter,
         [](S s) { return s.remote_accesses; }},
        {"remote_l2_hits", "count", "Accesses to another device's memory that hit its last-level cache",
         StatKind::counter, [](S s) { return s.remote_l2_hits; }},
        {"remote_l2_misses", "count", "Accesses to another device's memory that missed its last-level cache",
         StatKind::counter, [](S s) { return s.remote_l2_misses; }},
        {"scalar_hits", "count", "Memory transactions of scalar loads that hit the scalar cache",
         StatKind::counter, [](S s) { return s.scalar_hits; }},
        {"blocks", "count", "Thread blocks completed", StatKind::counter, [](S s) { return s.blocks; }},
        {"faulted", "count", "Transactions stalled by a page fault", StatKind::counter,
         [](S s) { return s.faulted; }},
        {"replayed", "count", "Transactions resumed by a replay", StatKind::counter,
         [](S s) { return s.replayed; }},
        Stat<SmStats>{"access_time", "ps",
                      "Time of transactions from issue to data or acknowledgement, summed over transactions",
                      StatKind::counter, [](S s) { return s.whole_access_time(); }}
            .stored_summed(),
        Stat<SmStats>{"time_outstanding", "ps",
                      "Part of access_time of outstanding transactions since the start of their current "
                      "stage, in no time_in_* statistic yet",
                      StatKind::level, [](S s) { return s.whole_access_time() - s.stages.sum(); }}
            .stored_summed()
            .stored_in_summary(),
        Stat<SmStats>{"time_in_load_store", "ps",
                      "Part of access_time in the load/store unit: waiting for issue, an MSHR or a credit",
                      StatKind::counter, [](S s) { return s.stages.load_store; }}
            .stored_summed(),
        Stat<SmStats>{"time_in_l1_tlb", "ps", "Part of access_time for L1 TLB look-ups", StatKind::counter,
                      [](S s) { return s.stages.l1_tlb; }}
            .stored_summed(),
        Stat<SmStats>{
            "time_in_l2_tlb", "ps",
            "Part of access_time from an L1 TLB miss to its response, without GMMU, IOMMU and links",
            StatKind::counter, [](S s) { return s.stages.l2_tlb; }}
            .stored_summed(),
        Stat<SmStats>{"time_in_walk_queue", "ps",
                      "Part of access_time at the GMMU before the start of a page walk", StatKind::counter,
                      [](S s) { return s.stages.walk_queue; }}
            .stored_summed(),
        Stat<SmStats>{"time_in_walk", "ps", "Part of access_time for page walks of the GMMU",
                      StatKind::counter, [](S s) { return s.stages.walk; }}
            .stored_summed(),
        Stat<SmStats>{"time_in_iommu", "ps", "Part of access_time at the IOMMU, in its queue and walks",
                      StatKind::counter, [](S s) { return s.stages.iommu; }}
            .stored_summed(),
        Stat<SmStats>{"time_in_fault", "ps",
                      "Part of access_time from a fault response to the replay, or at an IOMMU that maps the "
                      "page without a replay",
                      StatKind::counter, [](S s) { return s.stages.fault; }}
            .stored_summed(),
        Stat<SmStats>{"time_in_l1_cache", "ps", "Part of access_time for L1 cache look-ups",
                      StatKind::counter, [](S s) { return s.stages.l1_cache; }}
            .stored_summed(),
        Stat<SmStats>{"time_in_l2_cache", "ps",
                      "Part of access_time from an L1 cache miss or store to the response of the L2 cache of "
                      "the SM's GPU, without DRAM",
                      StatKind::counter, [](S s) { return s.stages.l2_cache; }}
            .stored_summed(),
        Stat<SmStats>{"time_in_dram_queue", "ps",
                      "Part of access_time in the queues of the DRAM channels of the SM's GPU",
                      StatKind::counter, [](S s) { return s.stages.dram_queue; }}
            .stored_summed(),
        Stat<SmStats>{"time_in_dram", "ps",
                      "Part of access_time in the DRAM of the SM's GPU, without queueing", StatKind::counter,
                      [](S s) { return s.stages.dram; }}
            .stored_summed(),
        Stat<SmStats>{"time_in_links", "ps", "Part of access_time on interconnect links", StatKind::counter,
                      [](S s) { return s.stages.links; }}
            .stored_summed(),
        Stat<SmStats>{"time_in_remote_memory", "ps",
                      "Part of access_time in the cache and memory of another device, queueing included",
                      StatKind::counter, [](S s) { return s.stages.remote_memory; }}
            .stored_summed(),
        Stat<SmStats>{
            "resident_time", "ps", "Time in which an SM held thread blocks, summed over SMs",
            StatKind::counter,
            [](S s) { return std::accumulate(s.resident.begin(), s.resident.end(), std::uint64_t{0}); }}
            .stored_summed(),
        Stat<SmStats>{"resident_active_time", "ps",
                      "Part of resident_time in which a warp of these blocks executed or could issue",
                      StatKind::counter, [](S s) { return s.resident_in(SmActivity::active); }}
            .stored_summed(),
        Stat<SmStats>{"resident_memory_stall_time", "ps",
                      "Part of resident_time in which no warp of these blocks executed or could issue, with "
                      "memory accesses as the most frequent stall cause",
                      StatKind::counter, [](S s) { return s.resident_in(SmActivity::memory_stall); }}
            .stored_summed(),
        Stat<SmStats>{"resident_fault_stall_time", "ps",
                      "Part of resident_time in which no warp of these blocks executed or could issue, with "
                      "page faults as the most frequent stall cause",
                      StatKind::counter, [](S s) { return s.resident_in(SmActivity::fault_stall); }}
            .stored_summed(),
        Stat<SmStats>{"resident_load_store_stall_time", "ps",
                      "Part of resident_time in which no warp of these blocks executed or could issue, with "
                      "the load/store unit as the most frequent stall cause",
                      StatKind::counter, [](S s) { return s.resident_in(SmActivity::load_store_stall); }}
            .stored_summed(),
        Stat<SmStats>{"resident_scalar_stall_time", "ps",
                      "Part of resident_time in which no warp of these blocks executed or could issue, with "
                      "the limit of scalar-cache requests as the most frequent stall cause",
                      StatKind::counter, [](S s) { return s.resident_in(SmActivity::scalar_stall); }}
            .stored_summed(),
        Stat<SmStats>{"resident_barrier_stall_time", "ps",
                      "Part of resident_time in which no warp of these blocks executed or could issue, with "
                      "barriers as the most frequent stall cause",
                      StatKind::counter, [](S s) { return s.resident_in(SmActivity::barrier_stall); }}
            .stored_summed(),
        Stat<SmStats>{
            "resident_stopped_time", "ps",
            "Part of resident_time in which the SM was stopped by the driver or the thread-block policy",
            StatKind::counter, [](S s) { return s.resident_in(SmActivity::stopped); }}
            .stored_summed(),
        Stat<SmStats>{"resident_outside_time", "ps",
                      "Part of resident_time in which all of these blocks were swapped out",
                      StatKind::counter, [](S s) { return s.resident_in(SmActivity::idle); }}
            .stored_summed(),
    });
    return all;
  }
  bool operator==(SmStats const&) const = default;
  std::uint64_t instructions() const {
    return vector_instructions + scalar_instructions + shared_instructions + memory_instructions +
           scalar_loads;
  }
};

// Outstanding transactions of a stream.
struct OutstandingAccesses {
  std::uint64_t number = 0;
  Time since{};  // the last change of `number`

  // Their addition to access_time until `now`, called when their number changes.
  std::uint64_t advance(Time now) {
    auto const time = number * static_cast<std::uint64_t>(picoseconds(now - since));
    since = now;
    return time;
  }
};

// The streams with blocks on an SM, and the state of each stream's warps. The times of a single stream are
// differences of the SM's times, at no cost per event.
class Residents {
 public:
  Residents() = default;
  explicit Residents(std::uint32_t streams) : streams_(streams) {}

  bool several() const { return present_.size() > 1; }
  // Its first block arrives, or its last one has ended. Called after advance().
  void add(std::uint32_t stream, Time now) {
    present_.push_back(stream);
    for (auto const i : present_) streams_[i].since = now;
  }
  void remove(std::uint32_t stream) { std::erase(present_, stream); }
  // A warp of the stream takes a slot.
  void place(std::uint32_t stream, std::uint32_t slot) {
    if (streams_.size() == 1) return;
    auto const bit = std::uint64_t{1} << slot;
    for (auto& s : streams_) s.slots &= ~bit;
    streams_[stream].slots |= bit;
  }
  // Counts up to `now`: called before any other function, and before `stats` is read.
  void advance(Time now, SmTime& sm, ByStream<SmStats>& stats) {
    sm.advance(now);
    if (several()) {
      for (auto const i : present_) streams_[i].advance(now, stats[i]);
    } else if (!present_.empty()) {
      auto& resident = stats[present_[0]].resident;
      for (std::size_t i = 0; i < resident.size(); ++i) resident[i] += sm.all()[i] - counted_[i];
    }
    counted_ = sm.all();
  }
  // With several streams: sets the state of each from `now` on to activity_of(its slots).
  template <class ActivityOf>
  void change(Time now, ByStream<SmStats>& stats, ActivityOf&& activity_of) {
    for (auto const i : present_) {
      streams_[i].advance(now, stats[i]);
      streams_[i].now = static_cast<std::uint64_t>(activity_of(streams_[i].slots));
    }
  }
  auto members() { return std::tie(present_, counted_, streams_); }

 private:
  struct Stream {
    std::uint64_t slots = 0;  // last taken by this stream, free ones included
    std::uint64_t now = 0;    // with several streams: its current state, since when
    Time since{};

    void advance(Time at, SmStats& stats) {
      stats.resident[now] += static_cast<std::uint64_t>(picoseconds(at - since));
      since = at;
    }
  };

  std::vector<std::uint32_t> present_;
  std::array<std::uint64_t, 8> counted_{};  // the SM's times already attributed to a stream or to none
  std::vector<Stream> streams_;
};

struct SmTimes {
  using Latencies = Histogram<10, 34>;  // in picoseconds: octaves from 1 ns; the last bin begins at 17 ms
  ByStream<OutstandingAccesses> outstanding;
  Latencies load_latency;  // of loads, from issue to data
  Latencies fault_wait;    // of accesses, from the fault response to the replay of their page
  SmTime activity{SmActivity::idle};
  Residents residents;
  LoadStoreTime load_store;
};

}  // namespace farfault
