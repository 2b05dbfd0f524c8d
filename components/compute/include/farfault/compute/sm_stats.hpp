// What an SM counts, by stream: each is also a column of the table of kernels (host.hpp).
//
// The latency stack: access_time is the time of all transactions from issue to data, or to the
// acknowledgement of a store, summed; each moment of it is in one stage. When no transaction is under way the
// stages add up to it exactly, for an SM as for a kernel: access_time is the number of transactions under way
// summed over time (Little's law), the stages are added up where each ends. A transaction that joined a
// request of another one, in an MSHR, counts the last part of that request's stages (protocols/stages.hpp).
// Scalar loads and contexts of thread blocks are not in it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <tuple>

#include "farfault/engine/by_application.hpp"
#include "farfault/engine/histogram.hpp"
#include "farfault/engine/probes.hpp"
#include "farfault/engine/time.hpp"

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

  static std::span<Stat<SmStats> const> list() {
    using S = SmStats const&;
    static constexpr auto all = std::to_array<Stat<SmStats>>({
        {"instructions", "count", "warp instructions issued, of all kinds", StatKind::counter,
         [](S s) { return s.instructions(); }},
        {"vector_instructions", "count", "vector instructions issued", StatKind::counter,
         [](S s) { return s.vector_instructions; }},
        {"scalar_instructions", "count", "scalar instructions issued, branches and barriers included",
         StatKind::counter, [](S s) { return s.scalar_instructions; }},
        {"shared_instructions", "count", "accesses of warps to shared memory", StatKind::counter,
         [](S s) { return s.shared_instructions; }},
        {"memory_instructions", "count", "load and store instructions issued", StatKind::counter,
         [](S s) { return s.memory_instructions; }},
        {"scalar_loads", "count", "scalar load instructions issued", StatKind::counter,
         [](S s) { return s.scalar_loads; }},
        {"transactions", "count", "memory transactions after coalescing (L1 accesses)", StatKind::counter,
         [](S s) { return s.transactions; }},
        {"scalar_transactions", "count", "memory transactions of scalar loads (scalar-cache accesses)",
         StatKind::counter, [](S s) { return s.scalar_transactions; }},
        {"l1_tlb_hits", "count", "transactions that hit the L1 TLB", StatKind::counter,
         [](S s) { return s.l1_tlb_hits; }},
        {"l1_tlb_misses", "count", "transactions that missed the L1 TLB", StatKind::counter,
         [](S s) { return s.l1_tlb_misses; }},
        {"l2_tlb_hits", "count", "transactions that missed the L1 TLB, and whose translation the L2 TLB had",
         StatKind::counter, [](S s) { return s.l2_tlb_hits; }},
        {"gmmu_translations", "count",
         "transactions that missed the L1 TLB, and whose translation came from the GPU's own page table",
         StatKind::counter, [](S s) { return s.gmmu_translations; }},
        {"iommu_translations", "count",
         "transactions that missed the L1 TLB, and whose translation came from the IOMMU", StatKind::counter,
         [](S s) { return s.iommu_translations; }},
        {"fault_translations", "count",
         "transactions that missed the L1 TLB, and whose page was faulted, or mapped for them by a fault",
         StatKind::counter, [](S s) { return s.fault_translations; }},
        {"l1_hits", "count", "loads that hit the L1 cache", StatKind::counter, [](S s) { return s.l1_hits; }},
        {"l1_misses", "count", "loads that missed the L1 cache", StatKind::counter,
         [](S s) { return s.l1_misses; }},
        {"stores", "count", "store transactions, written through", StatKind::counter,
         [](S s) { return s.stores; }},
        {"l2_hits", "count", "requests to this GPU's L2 cache, merged ones once, that found their line there",
         StatKind::counter, [](S s) { return s.l2_hits; }},
        {"l2_misses", "count", "requests to this GPU's L2 cache, merged ones once, that did not",
         StatKind::counter, [](S s) { return s.l2_misses; }},
        {"remote_accesses", "count", "accesses to the memory of another device", StatKind::counter,
         [](S s) { return s.remote_accesses; }},
        {"remote_l2_hits", "count",
         "accesses to another device's memory that found their line in the last-level cache there",
         StatKind::counter, [](S s) { return s.remote_l2_hits; }},
        {"remote_l2_misses", "count",
         "accesses to another device's memory that did not find their line in the last-level cache there",
         StatKind::counter, [](S s) { return s.remote_l2_misses; }},
        {"scalar_hits", "count", "memory transactions of scalar loads that hit the scalar cache",
         StatKind::counter, [](S s) { return s.scalar_hits; }},
        {"blocks", "count", "thread blocks finished", StatKind::counter, [](S s) { return s.blocks; }},
        {"faulted", "count", "transactions kept because their page was faulted, each time that they were",
         StatKind::counter, [](S s) { return s.faulted; }},
        {"replayed", "count", "transactions that went on after a replay of their page", StatKind::counter,
         [](S s) { return s.replayed; }},
        Stat<SmStats>{
            "access_time", "ps",
            "time of transactions from their issue to their data or acknowledgement, summed over all",
            StatKind::counter, [](S s) { return s.access_time; }}
            .stored_summed(),
        Stat<SmStats>{
            "time_in_load_store", "ps",
            "of access_time: in the load/store unit, waiting for its turn, for an MSHR or for a credit",
            StatKind::counter, [](S s) { return s.stages.load_store; }}
            .stored_summed(),
        Stat<SmStats>{"time_in_l1_tlb", "ps", "of access_time: look-ups in the L1 TLB", StatKind::counter,
                      [](S s) { return s.stages.l1_tlb; }}
            .stored_summed(),
        Stat<SmStats>{"time_in_l2_tlb", "ps",
                      "of access_time: from an L1 TLB miss to its answer, without what is behind the L2 TLB",
                      StatKind::counter, [](S s) { return s.stages.l2_tlb; }}
            .stored_summed(),
        Stat<SmStats>{"time_in_walk_queue", "ps", "of access_time: at the GMMU, until a walker began",
                      StatKind::counter, [](S s) { return s.stages.walk_queue; }}
            .stored_summed(),
        Stat<SmStats>{"time_in_walk", "ps", "of access_time: page walks of the GMMU", StatKind::counter,
                      [](S s) { return s.stages.walk; }}
            .stored_summed(),
        Stat<SmStats>{"time_in_iommu", "ps", "of access_time: at the IOMMU, its queue and walks",
                      StatKind::counter, [](S s) { return s.stages.iommu; }}
            .stored_summed(),
        Stat<SmStats>{"time_in_fault", "ps",
                      "of access_time: waiting for the replay of a faulted page; of one that the IOMMU has "
                      "mapped at once, all "
                      "time there",
                      StatKind::counter, [](S s) { return s.stages.fault; }}
            .stored_summed(),
        Stat<SmStats>{"time_in_l1_cache", "ps", "of access_time: look-ups in the L1 cache", StatKind::counter,
                      [](S s) { return s.stages.l1_cache; }}
            .stored_summed(),
        Stat<SmStats>{"time_in_l2_cache", "ps",
                      "of access_time: from an L1 cache miss or store to its answer by this GPU's L2 cache, "
                      "without DRAM",
                      StatKind::counter, [](S s) { return s.stages.l2_cache; }}
            .stored_summed(),
        Stat<SmStats>{"time_in_dram_queue", "ps", "of access_time: in the queues of this GPU's DRAM channels",
                      StatKind::counter, [](S s) { return s.stages.dram_queue; }}
            .stored_summed(),
        Stat<SmStats>{"time_in_dram", "ps", "of access_time: served by this GPU's DRAM", StatKind::counter,
                      [](S s) { return s.stages.dram; }}
            .stored_summed(),
        Stat<SmStats>{"time_in_links", "ps",
                      "of access_time: on the way to other devices and back, of data and translations",
                      StatKind::counter, [](S s) { return s.stages.links; }}
            .stored_summed(),
        Stat<SmStats>{"time_in_remote_memory", "ps",
                      "of access_time: in the cache and memory of another device", StatKind::counter,
                      [](S s) { return s.stages.remote_memory; }}
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

// Transactions of a stream under way.
struct AccessesUnderWay {
  std::uint64_t number = 0;
  Time since{};  // there are as many

  // What they add to access_time until `now`, when their number changes.
  std::uint64_t advance(Time now) {
    auto const time = number * static_cast<std::uint64_t>(picoseconds(now - since));
    since = now;
    return time;
  }
};

// What an SM does, at each moment one of these. While no warp of it executes, or could issue, it is what most
// of its warps wait for: of equally many the first one.
enum class SmDoes : std::uint8_t {
  executes,
  waits_for_memory,
  waits_for_faults,
  waits_for_load_store,
  waits_for_scalar_cache,
  waits_at_barrier,
  is_stopped,
  has_no_warp,
};

// For how long it has done each. What it does after its last event is not in it: the rest of the run.
class SmTime {
 public:
  std::uint64_t in(SmDoes what) const { return spent_[static_cast<std::size_t>(what)]; }
  // From `now` on it does `what`.
  void change(Time now, SmDoes what) {
    spent_[now_] += static_cast<std::uint64_t>(picoseconds(now - since_));
    since_ = now;
    now_ = static_cast<std::uint64_t>(what);
  }
  auto members() { return std::tie(spent_, since_, now_); }

 private:
  std::array<std::uint64_t, 8> spent_{};
  Time since_{};
  std::uint64_t now_ = static_cast<std::uint64_t>(SmDoes::has_no_warp);
};

struct SmTimes {
  static constexpr std::uint32_t kBins = 36;  // in picoseconds: the last one begins at 17 ms
  ByStream<AccessesUnderWay> under_way;
  Histogram<kBins> load_latency;  // of loads, from issue to data
  Histogram<kBins> fault_wait;    // of accesses, from the word that their page is faulted to its replay
  SmTime doing;
};

}  // namespace farfault
