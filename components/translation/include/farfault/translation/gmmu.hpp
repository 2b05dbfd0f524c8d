// SPDX-License-Identifier: Apache-2.0
// GPU memory management unit: router, page walkers with a walk cache, the GPU's page table and fault buffer,
// and the requests to the IOMMU. The model: docs/model/translation.md; faults: docs/model/paging.md.
//
// - The page table holds only pages in this GPU's memory (GMMU Bypass, NPC 2020, section 2.3). A request
//   whose walk finds no page is forwarded to the IOMMU, unless it was already sent there.
// - If walks end in the GPU (fault_path.hpp), the table also holds remote mappings, by the driver's answers.
//   A walk that finds no entry, or no write permission, is a fault, recorded at the end of the walk.
// - Guarantees: every request gets exactly one response, from the first look-up that finds the page or
//   faults. A second result is discarded, but its walk has occupied a walker.
// - Order: replays and invalidations are forwarded to the L2 TLB behind all earlier responses. An
//   invalidation clears the page's entry, and is acknowledged when the TLBs have acknowledged it.
// - These faults, and faults that the IOMMU has not recorded, are recorded here: fault_buffer.hpp, or with
//   batches raw_faults.hpp and utlb_faults.hpp.
// - Limits: `pending` requests; further ones stall in order.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "farfault/engine/component.hpp"
#include "farfault/engine/params.hpp"
#include "farfault/parts/address_map.hpp"
#include "farfault/parts/part_time.hpp"
#include "farfault/parts/partition_hop.hpp"
#include "farfault/parts/ring.hpp"
#include "farfault/protocols/facts.hpp"
#include "farfault/protocols/messages.hpp"
#include "farfault/translation/coalescing.hpp"
#include "farfault/translation/fault_buffer.hpp"
#include "farfault/translation/page_table.hpp"
#include "farfault/translation/raw_faults.hpp"
#include "farfault/translation/router.hpp"
#include "farfault/translation/tlb_banks.hpp"
#include "farfault/translation/utlb_faults.hpp"
#include "farfault/translation/walker.hpp"

namespace farfault {

// The TLBs that share walkers, a walk queue and a walk cache.
enum class SharedWalkers : std::uint8_t { gpu, group, tlb };

struct GmmuParams {
  std::uint32_t walkers = 64;
  SharedWalkers shared_by = SharedWalkers::gpu;
  std::uint32_t walk_cache = 64;
  WalkCachePolicies walk_cache_policies;
  std::uint32_t walk_latency = 0;
  std::uint32_t latency = 1;
  std::uint32_t pending = 256;
  std::uint32_t fault_buffer = 1024;
  std::uint32_t faults_per_utlb = 0;
  std::uint32_t sms_per_utlb = 1;
  bool walk_reads_first_entry = true;
  std::uint32_t table_writes = 8;
  // Groups of walkers for a last level with these groups of TLBs, and banks in each.
  std::uint32_t walker_groups(std::uint32_t groups, std::uint32_t banks) const {
    return shared_by == SharedWalkers::gpu ? 1 : shared_by == SharedWalkers::group ? groups : groups * banks;
  }
  void describe(ParamTable& t) {
    t.count("walkers", walkers, {1, 4096}, "Page walkers: concurrent page walks of the TLBs that share them",
            "GMMU Bypass (NPC 2020), Table 1: 64");
    t.choice("shared_by", shared_by,
             {{"gpu", SharedWalkers::gpu, "all TLBs of the last level"},
              {"group", SharedWalkers::group, "the TLBs of each group of the last level"},
              {"tlb", SharedWalkers::tlb, "none: each TLB of the last level has its own walkers"}},
             "TLBs that share page walkers and a walk cache",
             "assumed: gpu; MI300: walkers in each XCD (Linux, gfxhub_v1_2.c); MGvm (MICRO 2022): in each "
             "chiplet, "
             "which has an L2 TLB")
        .only_when(facts::kSeveralTlbs);
    t.count("walk_cache", walk_cache, {0, 65536}, "Entries of the walk cache. 0: no walk cache", "assumed")
        .only_when(sibling("walk_latency").is(0));
    walk_cache_policies.describe(t);
    t.count("walk_latency", walk_latency, {0, 1'000'000},
            "Fixed page-walk latency in cycles. 0: walk the table through the L2 cache",
            "assumed: 0, page walks as in hardware; MGPUSim's MMU: fixed, 100 cycles, none before 2021");
    t.count("latency", latency, {1, 10000},
            "Latency in cycles from a request to its first page-table read or to the IOMMU", "assumed");
    t.count("pending", pending, {1, 65536}, "Maximum outstanding requests", "assumed");
    t.count("fault_buffer", fault_buffer, {1, 65536},
            "Fault-buffer entries. A fault that finds the buffer full is dropped and raised again after the "
            "next replay",
            "Batch-aware unified memory (ASPLOS 2020), Table 1: 1024")
        .only_when(facts::kFaultsAtGpus);
    t.count("faults_per_utlb", faults_per_utlb, {0, 65536},
            "Maximum outstanding faults per uTLB. 0: unlimited; gpu.l1_tlb.faulted_pages limits each SM",
            "Batch-aware unified memory (ASPLOS 2020): no limit; Allen and Ge, SC 2021, on a Titan V: 56")
        .only_when(facts::kBatches);
    t.count("sms_per_utlb", sms_per_utlb, {1, 1024},
            "Adjacent SMs per uTLB, the unit whose outstanding faults faults_per_utlb limits",
            "assumed: 1; Allen and Ge, SC 2021: adjacent SMs share a uTLB")
        .only_when(facts::kBatches);
    t.flag("walk_reads_first_entry", walk_reads_first_entry,
           "Read the first base-page entry of a coalesced large page for its frame. false: the walk ends at "
           "the entry above",
           "Mosaic (MICRO 2017), section 4.3 and Fig. 7")
        .only_when(facts::kCoalescing);
    t.count("table_writes", table_writes, {1, 64},
            "Maximum outstanding page-table writes for coalescing and splintering", "assumed")
        .only_when(facts::kCoalescing);
  }
};

struct GmmuSpec {
  GmmuParams params;
  RouterParams router;
  Clock clock{1'000'000'000};
  std::vector<std::string> applications = {};  // names of the applications that make requests
  DeviceId device = 0;
  std::uint16_t iommu = 0;        // number of its IOMMU at the driver
  std::uint16_t memory_port = 0;  // number of the GMMU among the clients of the L2 slices
  AddressMap memory;
  // Partitions over which the groups of walkers are distributed, each with a memory port; the others have
  // none. to_slices: from the first one.
  std::uint32_t walker_partitions = 1;
  PartitionHop to_slices{};
  TlbGroups tlbs{};                      // that send requests: the last level
  bool invalidates_all = false;          // an invalidation concerns all banks of these
  bool invalidates_banks = false;        // a page may be in any bank of its group
  std::uint32_t queue = 64;              // maximum outstanding requests of the TLBs
  PageTable const* preloaded = nullptr;  // mappings at time zero
  std::uint32_t slices_to_flush = 0;     // when a page moves away
  std::uint32_t moves = 0;               // maximum pages that move away at a time
  bool records_faults = false;           // of one kind or all (fault_path.hpp)
  bool ends_walks = false;               // a walk ends with a translation or a fault (fault_path.hpp)
  bool fault_batches = false;            // the driver serves faults in batches
  std::uint32_t sms = 1;                 // the first clients of the TLBs
  bool has_copies = false;               // its table may map read-only copies of pages
  unsigned page_bits = 12;
  std::uint32_t line_bytes = 64;
  std::uint64_t coalesces = 0;  // maximum large pages made of base pages; 0: no coalescing
  std::vector<std::uint8_t> application_of_space = {0};  // by address space; if several share it, the first

  std::uint32_t walker_groups() const { return params.walker_groups(tlbs.groups, tlbs.banks.count()); }
  // The group of walkers that serves a TLB of the last level.
  std::uint32_t walker_group_of(std::uint32_t tlb) const {
    switch (params.shared_by) {
      case SharedWalkers::group:
        return tlb / tlbs.banks.count();
      case SharedWalkers::tlb:
        return tlb;
      case SharedWalkers::gpu:
        break;
    }
    return 0;
  }
  std::uint32_t partition_of_walkers(std::uint32_t group) const {
    return group * walker_partitions / walker_groups();
  }
  bool buffers_batches() const { return records_faults && fault_batches; }
  // Some requests are sent to the IOMMU; some of these may be faults that it has not recorded.
  bool asks_iommu() const { return !ends_walks || router.policy.facts().asks_iommu; }
  bool records_for_iommu() const { return records_faults && asks_iommu(); }
};

struct GmmuRequesterStats {
  std::uint64_t requests = 0;
  std::uint64_t walk_hits = 0;    // found the page
  std::uint64_t walk_misses = 0;  // found no mapping
  std::uint64_t iommu_requests = 0;
  // Faults that the GPU records.
  std::uint64_t page_faults = 0;
  std::uint64_t remote_faults = 0;
  std::uint64_t protection_faults = 0;
  std::uint64_t merged_faults = 0;
  std::uint64_t refused_faults = 0;
  static std::span<Stat<GmmuRequesterStats> const> list() {
    using S = GmmuRequesterStats const&;
    static constexpr auto all = std::to_array<Stat<GmmuRequesterStats>>({
        {"requests", "count", "L2 TLB misses received", StatKind::counter, [](S s) { return s.requests; }},
        {"walk_hits", "count", "Page walks that found the page in this GPU's page table", StatKind::counter,
         [](S s) { return s.walk_hits; }},
        {"walk_misses", "count", "Page walks that found no mapping in this GPU's page table",
         StatKind::counter, [](S s) { return s.walk_misses; }},
        {"iommu_requests", "count", "Requests sent to the IOMMU", StatKind::counter,
         [](S s) { return s.iommu_requests; }},
        Stat<GmmuRequesterStats>{
            "page_faults", "count",
            "Page faults on unmapped pages, sent to the driver; if walks end in this GPU, on "
            "pages that its page table does not map",
            StatKind::counter, [](S s) { return s.page_faults; }}
            .only_when<&GmmuSpec::records_faults>(),
        Stat<GmmuRequesterStats>{"remote_faults", "count",
                                 "Page faults, found by the IOMMU, on pages that are mapped on another "
                                 "device, have copies, or are being moved",
                                 StatKind::counter, [](S s) { return s.remote_faults; }}
            .only_when<&GmmuSpec::records_for_iommu>(),
        Stat<GmmuRequesterStats>{"protection_faults", "count",
                                 "Page faults on writes to pages that this GPU's page table maps read-only",
                                 StatKind::counter, [](S s) { return s.protection_faults; }}
            .only_when<&GmmuSpec::ends_walks>(),
        Stat<GmmuRequesterStats>{"merged_faults", "count",
                                 "Faults on a page that is already in the fault buffer", StatKind::counter,
                                 [](S s) { return s.merged_faults; }}
            .only_when<&GmmuSpec::records_faults>(),
        Stat<GmmuRequesterStats>{"refused_faults", "count",
                                 "Faults that found the fault buffer full, raised again when an entry is "
                                 "free. With batches: see dropped_faults",
                                 StatKind::counter, [](S s) { return s.refused_faults; }}
            .only_when<&GmmuSpec::records_faults>(),
    });
    return all;
  }
};

struct GmmuStats {
  std::uint64_t late_responses = 0;  // discarded
  std::uint64_t responses = 0;
  std::uint64_t faulted_responses = 0;
  std::uint64_t replays = 0;
  std::uint64_t invalidations = 0;
};

// With batches only.
struct RawFaultStats {
  std::uint64_t written = 0;
  std::uint64_t dropped = 0;
  std::uint64_t held = 0;
  std::uint64_t flushed = 0;
  std::uint64_t interrupts = 0;
};

struct GmmuPending {
  std::uint64_t page = 0;
  Time requested{};              // arrival, before any stall
  Time arrived{};                // admission
  Time to_iommu_at{};            // departure to the IOMMU
  std::uint32_t walk_queue = 0;  // stages before that (protocols/stages.hpp)
  std::uint32_t walk = 0;
  std::uint32_t tlb = 0;  // that has sent it
  std::uint8_t application = 0;
  std::uint8_t in_use = 0;
  std::uint8_t responded = 0;
  std::uint8_t lookups = 0;   // outstanding: the walk, the IOMMU's
  std::uint8_t observed = 0;  // it is known whether the page is local
  Routing routing{};
  Access access = Access::read;
  std::array<std::uint8_t, 4> unused{};
};

struct GmmuStalled {
  TranslateRequest request{};
  Time since{};
};

// Fault of a batch that has not been replayed.
struct ReadFault {
  std::uint64_t page = 0;
  Time raised{};
};

struct GmmuState {
  std::vector<GmmuPending> pending;
  std::vector<std::uint32_t> free_pending;
  Ring<GmmuStalled> stalled;
  Walker walker;  // tags are numbers of pending requests
  PageTable table;
  Policy<Router> router;
  GmmuStats stats;
  ByApplication<GmmuRequesterStats> by_requester;
  std::uint64_t latency_ps = 0;  // summed over responses
  std::vector<Time> walk_began;  // by walker
  LatencyHistogram walk_latency;
  std::uint64_t walk_ps = 0;                // of all walks
  DepthHistogram queue_depth;               // at arrival of a request
  std::vector<std::uint32_t> flushing;      // by move: slices that may still hold lines of the page
  std::vector<std::uint32_t> invalidating;  // by move: outstanding acknowledgements of TLBs
  FaultBuffer faults;
  std::vector<Time> recorded_at;  // by entry of `faults`
  LatencyHistogram fault_latency;
  PartTime buffer_full;         // faults wait for an entry of the fault buffer
  std::vector<ReadFault> read;  // entries that the driver has read or removed, not replayed yet
  RawFaults raw;
  UtlbFaults utlbs;
  RawFaultStats raw_stats;
  Coalescing coalescing;

  static std::span<Stat<GmmuState> const> list() {
    using S = GmmuState const&;
    static constexpr auto all = std::to_array<Stat<GmmuState>>({
        {"walks", "count", "Page walks started", StatKind::counter, [](S s) { return s.walker.walks(); }},
        {"page_table_reads", "count", "Page-table entries read by page walks", StatKind::counter,
         [](S s) { return s.walker.reads(); }},
        {"late_responses", "count",
         "Second responses to requests sent to both the page walkers and the IOMMU, discarded",
         StatKind::counter, [](S s) { return s.stats.late_responses; }},
        {"responses", "count", "Responses sent to the L2 TLB", StatKind::counter,
         [](S s) { return s.stats.responses; }},
        {"faulted_responses", "count", "Responses sent to the L2 TLB that report a page fault",
         StatKind::counter, [](S s) { return s.stats.faulted_responses; }},
        {"replays", "count", "Replays, each of the accesses stalled on one page or of all stalled accesses",
         StatKind::counter, [](S s) { return s.stats.replays; }},
        {"total_latency", "ps", "Time from request to response, summed over responses", StatKind::counter,
         [](S s) { return s.latency_ps; }},
        {"invalidations", "count", "Invalidation requests received", StatKind::counter,
         [](S s) { return s.stats.invalidations; }},
        {"busy_walkers", "count", "Page walkers in use", StatKind::level,
         [](S s) { return s.walker.busy(); }},
        {"walker_busy_time", "ps",
         "Busy time of the page walkers, divided by their number; counted when a walk completes",
         StatKind::counter, [](S s) { return s.walk_ps / s.walker.walkers(); }},
        Stat<GmmuState>::of_histogram(
            "walk_latency", "ns", "Latency of a page walk, without queueing",
            [](S s) -> auto const& { return s.walk_latency; }),
        Stat<GmmuState>::of_histogram(
            "queue_depth", "count",
            "Queue depth seen by an arriving request: outstanding and stalled requests",
            [](S s) -> auto const& { return s.queue_depth; }),
        Stat<GmmuState>{"recorded_faults", "count", "Pages in the fault buffer", StatKind::level,
                        [](S s) { return std::uint64_t{s.faults.in_use()}; }}
            .only_when<&GmmuSpec::records_faults>(),
        Stat<GmmuState>::of_histogram(
            "fault_latency", "ns",
            "Time from a page fault to its replay. With batches: to the first replay of its page after the "
            "driver has read or removed the entry",
            [](S s) -> auto const& { return s.fault_latency; })
            .only_when<&GmmuSpec::records_faults>(),
        Stat<GmmuState>{"fault_buffer_full_time", "ps",
                        "Time with faults waiting for a free fault-buffer entry", StatKind::counter,
                        [](S s) { return s.buffer_full.ps(); }}
            .only_when<&GmmuSpec::records_faults>(),
        Stat<GmmuState>{"buffered_faults", "count", "Entries in the fault buffer", StatKind::level,
                        [](S s) { return s.raw.size(); }}
            .only_when<&GmmuSpec::buffers_batches>(),
        Stat<GmmuState>{"raw_faults", "count", "Entries written to the fault buffer, duplicates included",
                        StatKind::counter, [](S s) { return s.raw_stats.written; }}
            .only_when<&GmmuSpec::buffers_batches>(),
        Stat<GmmuState>{"dropped_faults", "count", "Faults dropped by a full fault buffer and raised again",
                        StatKind::counter, [](S s) { return s.raw_stats.dropped; }}
            .only_when<&GmmuSpec::buffers_batches>(),
        Stat<GmmuState>{"held_faults", "count", "Faults dropped at the limit of a uTLB and raised again",
                        StatKind::counter, [](S s) { return s.raw_stats.held; }}
            .only_when<&GmmuSpec::buffers_batches>(),
        Stat<GmmuState>{"flushed_faults", "count",
                        "Fault-buffer entries that the driver removed unread before a replay",
                        StatKind::counter, [](S s) { return s.raw_stats.flushed; }}
            .only_when<&GmmuSpec::buffers_batches>(),
        Stat<GmmuState>{"interrupts", "count", "Interrupts sent to the driver", StatKind::counter,
                        [](S s) { return s.raw_stats.interrupts; }}
            .only_when<&GmmuSpec::buffers_batches>(),
    });
    return all;
  }
};

class Gmmu final : public Component<GmmuSpec, GmmuState> {
 public:
  explicit Gmmu(Slot<GmmuSpec> slot);
  In<TranslateRequest> request = in<&Gmmu::on_request>("request");
  In<MemResponse> entry_read = in<&Gmmu::on_entry>("entry_read");
  In<Packet> from_iommu = in<&Gmmu::on_iommu>("from_iommu");
  In<Invalidate> invalidate = in<&Gmmu::on_invalidate>("invalidate");
  In<Invalidated> invalidated = in<&Gmmu::on_invalidated>("invalidated");
  Self<WalkEnd> walk_end = timer<&Gmmu::on_walk_end>("walk_end");
  Out<TranslateResponse> response = out<TranslateResponse>("response");
  Out<MemRequest> read_entry = out<MemRequest>("read_entry");
  Out<TranslateRequest> to_iommu = out<TranslateRequest>("to_iommu");
  Out<Invalidate> to_tlb = out<Invalidate>("to_tlb");
  Out<Invalidated> acknowledge = out<Invalidated>("acknowledge");
  // Only if the L2 slices of several partitions may hold lines of a page (software coherence). The driver
  // orders the flush of a page once no GPU can access its frame; the flush is acknowledged when all slices
  // have written its lines back and dropped them.
  In<Flushed> flushed;
  Out<Flush> flush;
  // Only if the GMMU records faults.
  Out<Packet> to_driver;
  // Only if the driver serves faults in batches.
  In<RawFault> raw_fault;
  In<Packet> from_driver;

  std::string_view kind() const override { return "gmmu"; }
  std::string waiting_for() const override;
  GmmuState initial() const override;
  ApplicationStats application_stats() const override;
  std::vector<PolicyStats> policy_stats() const override;

  void on_request(TranslateRequest const& m, Cx& cx) const;
  void on_entry(MemResponse const& m, Cx& cx) const;
  void on_walk_end(WalkEnd const& m, Cx& cx) const;
  void on_iommu(Packet const& m, Cx& cx) const;
  void on_invalidate(Invalidate const& m, Cx& cx) const;
  void on_invalidated(Invalidated const& m, Cx& cx) const;
  void on_flushed(Flushed const& m, Cx& cx) const;
  void on_raw_fault(RawFault const& m, Cx& cx) const;
  void on_driver(Packet const& m, Cx& cx) const;

 private:
  bool settle(GmmuState& s, Time at) const override { return s.buffer_full.settle(at); }
  // Admits a request that arrived at `since`.
  void admit(TranslateRequest const& m, Time since, Cx& cx) const;
  // Maps the page that holds base page `page`: the IOMMU has returned or replayed its frame (first touch,
  // migration), or a program allocates it. Base pages of other devices are not coalesced.
  void map(std::uint64_t page, PageTranslation const& to, Cx& cx) const;
  // Maps the page if it has a frame here and the table does not map it.
  void learn(std::uint64_t page, PageTranslation const& to, Cx& cx) const;
  // The driver's answer: maps the page unless the table has this frame.
  void write_entry(std::uint64_t page, PageTranslation const& to, Cx& cx) const;
  void unmap(Invalidate const& m, Cx& cx) const;
  void write_entries(Cx& cx) const;
  void start_walks(Cx& cx) const;
  void walked(std::uint32_t walker, Walker::Step const& step, Cx& cx) const;
  void request_from_iommu(std::uint32_t id, Cx& cx) const;
  // True for a read of a page that this GPU has a copy of, which is walked here even if the router selects
  // the IOMMU.
  bool is_local_copy(TranslateRequest const& m, GmmuState const& s) const;
  void responded(IommuResponse const& m, std::uint16_t held, Cx& cx) const;
  // Records the fault of a pending request, which counts as `type`.
  using FaultCount = std::uint64_t GmmuRequesterStats::*;
  void record_fault(std::uint32_t id, FaultKind kind, FaultCount type, Cx& cx) const;
  // Sends the entries that the driver reads, one per cycle.
  void drain(FaultOrder const& m, Cx& cx) const;
  // Forwards a replay. One that answers a fault packet of this GPU frees its fault-buffer entry; without a
  // frame it reports that the page is unmapped, and is not forwarded.
  void replay(Replay const& m, Cx& cx) const;
  // Sends a replay to the TLBs.
  void forward(TranslateResponse const& m, Cx& cx) const;
  // Issues all faulted accesses of a batch again.
  void replay_all(bool flush_first, Cx& cx) const;
  // Replays the faults of a page of a batch.
  void page_replayed(std::uint64_t page, Cx& cx) const;
  void retry(Cx& cx) const;
  // A page that a fault of the request has put into this GPU's memory (first touch, migration) is not local:
  // the request needs the IOMMU. So does a faulted page. A page that the table maps remotely is not local.
  void observe(GmmuPending& pending, bool local, Cx& cx) const;
  // Ends a look-up of the request: with a frame, without one, or with a fault.
  void lookup_done(std::uint32_t id, PageTranslation const& found, FoundBy found_by,
                   TranslationStages const& stages, Cx& cx) const;
};
extern template class Component<GmmuSpec, GmmuState>;  // compiled in gmmu.cpp

}  // namespace farfault
