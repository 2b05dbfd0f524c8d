// SPDX-License-Identifier: Apache-2.0
// IOMMU of a CPU: a TLB, page walkers over the table of all mapped pages, and the page faults to the driver.
// The model: docs/model/translation.md; faults: docs/model/paging.md.
//
// - A response has the page's frame, on any device, and whether a fault has placed the page there (ATS).
// - Faults: a page without an entry; a page on another device, or with copies, if the remote-access policy
//   decides so (page_decision.hpp); a page that is being moved. A fault that the driver serves occupies only
//   a fault-buffer entry, or nothing if GPUs record their faults (fault_path.hpp).
// - It passes on what the driver writes to the page tables of its GPUs, and records which of them hold a
//   translation of a page elsewhere, by a response, a replay or a remote mapping (page_directory.hpp).
// - Guarantees: every request gets exactly one response. No fault is lost (fault_buffer.hpp). Replays and
//   invalidations are sent behind all earlier responses (ATS invalidation).
// - Limits: `pages` walks and faults. A request that needs one more stalls in order; hits and merged requests
//   pass it.
// - The driver's writes to the table take no time, also to coalesce and splinter the base pages of large
//   pages on GPUs.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "farfault/engine/component.hpp"
#include "farfault/engine/params.hpp"
#include "farfault/paging/page_decision.hpp"
#include "farfault/paging/page_directory.hpp"
#include "farfault/parts/address_map.hpp"
#include "farfault/parts/mshr.hpp"
#include "farfault/parts/part_time.hpp"
#include "farfault/parts/ring.hpp"
#include "farfault/protocols/facts.hpp"
#include "farfault/protocols/messages.hpp"
#include "farfault/translation/fault_buffer.hpp"
#include "farfault/translation/page_table.hpp"
#include "farfault/translation/tlb_organization.hpp"
#include "farfault/translation/walker.hpp"

namespace farfault {

struct IommuParams {
  Frequency clock{1'000'000'000};
  std::uint32_t walkers = 8;
  std::uint32_t tlb_entries = 64;
  std::uint32_t tlb_ways = 64;
  TlbPolicies tlb;
  std::uint32_t walk_cache = 64;
  WalkCachePolicies walk_cache_policies;
  std::uint32_t walk_latency = 0;
  bool walk_reads_first_entry = true;
  bool merge = true;
  std::uint32_t latency = 1;
  std::uint32_t pages = 1024;
  std::uint32_t fault_buffer = 1024;
  void describe(ParamTable& t) {
    t.frequency("clock", clock, {Frequency{1'000'000}, Frequency{100'000'000'000}},
                "Clock frequency of the IOMMU", "MGPUSim 4.2: 1 GHz");
    {
      auto const if_requested = t.only_when(facts::kIommuRequests);
      t.count("walkers", walkers, {1, 4096}, "Page walkers: concurrent page walks",
              "GMMU Bypass (NPC 2020), Table 1: 8");
      t.count("tlb_entries", tlb_entries, {0, 1 << 20}, "Entries of the IOMMU's TLB. 0: no TLB", "assumed");
      {
        auto const if_present = t.only_when(sibling("tlb_entries").is_above(0));
        t.count("tlb_ways", tlb_ways, {1, 65536}, "Ways of the IOMMU's TLB. Must divide tlb_entries",
                "assumed");
        tlb.describe(t, "tlb_", "assumed");
      }
      t.count("walk_cache", walk_cache, {0, 65536}, "Entries of the walk cache. 0: no walk cache", "assumed")
          .only_when(sibling("walk_latency").is(0));
      walk_cache_policies.describe(t);
      t.count("walk_latency", walk_latency, {0, 1'000'000},
              "Fixed page-walk latency in cycles. 0: walk the table in the CPU's memory",
              "assumed: 0, page walks as in hardware; MGPUSim's MMU: fixed, 100 cycles, none before 2021");
      t.flag("walk_reads_first_entry", walk_reads_first_entry,
             "IOMMU walks read the first base-page entry of a coalesced large page for its frame. false: the "
             "walk ends at the entry above",
             "Mosaic (MICRO 2017), section 4.3 and Fig. 7")
          .only_when(facts::kCoalescing);
      t.flag("merge", merge, "Merge requests for a page with an outstanding walk",
             "assumed; MGPUSim's MMU: one walk per request");
      t.count("latency", latency, {1, 10000}, "TLB latency in cycles", "assumed");
      t.count("pages", pages, {1, 1 << 20}, "Maximum outstanding walks and faults, queued ones included",
              "assumed");
    }
    t.count("fault_buffer", fault_buffer, {1, 65536},
            "Fault-buffer entries. A fault that finds the buffer full is dropped and raised again after the "
            "next replay",
            "Batch-aware unified memory (ASPLOS 2020), Table 1: 1024")
        .only_when(facts::kFaultsAtIommu);
  }
};

struct IommuGpu {
  DeviceId device = 0;
  NodeId node = 0;
};

struct IommuSpec {
  IommuParams params;
  std::vector<std::string> applications = {};  // names of the applications that make requests
  std::uint16_t index = 0;                     // number among the IOMMUs of its driver
  std::uint16_t memory_port = 0;
  AddressMap memory;
  std::uint32_t waiters = 1024;  // maximum outstanding requests of all GPUs together
  PageTable const* preloaded = nullptr;
  std::optional<PhysAddr> table_base;  // of this CPU's copy of the table; default: that of `preloaded`
  PolicyChoice<PageDecision> decision{"remote_access"};
  unsigned page_bits = 12;
  std::uint32_t page_sizes = 1;
  std::uint32_t spaces = 1;                 // address spaces
  std::span<PageRange const> buffers = {};  // must outlive it
  std::vector<IommuGpu> gpus;               // GPUs that it serves
  std::uint32_t moves = 1;                  // maximum pages that the driver moves at a time
  // A request for an unmapped page gets a fault response; otherwise its response waits until the page is
  // mapped.
  bool replays_first_touches = false;
  bool coalesces = false;               // base pages are coalesced if possible
  bool receives_requests = true;        // otherwise all walks end in the GPUs
  bool pages_are_moved = false;         // by the driver, within a GPU's memory or out of it
  std::uint32_t recorded_by_gpus = 0;   // bit k: GPUs record faults of FaultKind k
  bool records_faults = true;           // some kind of fault is recorded here
  bool gpus_end_walks = false;          // tables of GPUs have remote mappings (fault_path.hpp)
  bool maps_remotely_at_start = false;  // of all pages that are mapped at time zero
};

struct IommuWaiter {
  std::uint32_t tag = 0;
  NodeId node = 0;
  std::uint16_t gpu = 0;
  std::uint8_t application = 0;
  Access access = Access::read;
  std::uint8_t unused[6] = {};
  Time since{};
};

// Request that is stalled.
struct IommuStalled {
  Packet request{};
  Time since{};
};

// A fault counts for the application that raised it; if several requests wait for one walk, that of the
// first.
struct IommuRequesterStats {
  std::uint64_t requests = 0;
  std::uint64_t tlb_hits = 0;
  std::uint64_t tlb_misses = 0;
  std::uint64_t merged_misses = 0;
  std::uint64_t page_faults = 0;
  std::uint64_t remote_faults = 0;
  std::uint64_t merged_faults = 0;
  std::uint64_t refused_faults = 0;

  static std::span<Stat<IommuRequesterStats> const> list() {
    using S = IommuRequesterStats const&;
    static constexpr auto all = std::to_array<Stat<IommuRequesterStats>>({
        {"requests", "count", "Translation requests from GPUs", StatKind::counter,
         [](S s) { return s.requests; }},
        {"tlb_hits", "count", "Requests that hit the IOMMU's TLB", StatKind::counter,
         [](S s) { return s.tlb_hits; }},
        {"tlb_misses", "count", "Requests that missed the IOMMU's TLB", StatKind::counter,
         [](S s) { return s.tlb_misses; }},
        {"merged_misses", "count", "TLB misses merged into an outstanding walk or fault of the same page",
         StatKind::counter, [](S s) { return s.merged_misses; }},
        {"page_faults", "count", "Page faults on unmapped pages, sent to the driver", StatKind::counter,
         [](S s) { return s.page_faults; }},
        {"remote_faults", "count",
         "Page faults on pages that are mapped on another device, have copies, or are being moved",
         StatKind::counter, [](S s) { return s.remote_faults; }},
        {"merged_faults", "count", "Faults on a page that is already in the fault buffer", StatKind::counter,
         [](S s) { return s.merged_faults; }},
        {"refused_faults", "count",
         "Faults that found the fault buffer full, raised again when an entry is free", StatKind::counter,
         [](S s) { return s.refused_faults; }},
    });
    return all;
  }
};

struct IommuStats {
  std::uint64_t replays = 0;
  std::uint64_t invalidations = 0;
};

struct IommuState {
  Policy<TlbOrganization> tlb;
  MshrTable<IommuWaiter> pages;
  Ring<IommuStalled> stalled;
  std::vector<Time> missed_at;  // by entry of `pages`: end of the TLB look-up
  Walker walker;                // tags are entries of `pages`
  PageTable table;
  Policy<PageDecision> decision;
  PageDirectory directory;
  // Pages unmapped and not yet remapped, by moving_key(); never has waiters. A request for one faults, and
  // causes no migration.
  MshrTable<IommuWaiter> moving;
  std::vector<std::uint32_t> invalidations;  // not acknowledged yet, by move
  std::vector<Time> walk_began;              // by walker
  std::vector<Time> fault_raised;            // by entry of `pages`
  FaultBuffer faults;
  std::vector<Time> recorded_at;  // by entry of `faults`
  LatencyHistogram walk_latency;
  std::uint64_t walk_ps = 0;  // of all walks
  LatencyHistogram fault_latency;
  PartTime buffer_full;        // faults wait for an entry of the fault buffer
  DepthHistogram queue_depth;  // at arrival of a request
  Time port_free{};
  Time last_response{};  // departure of the latest response so far
  ByApplication<IommuRequesterStats> by_requester;
  IommuStats stats;

  static std::span<Stat<IommuState> const> list() {
    using S = IommuState const&;
    static constexpr auto all = std::to_array<Stat<IommuState>>({
        {"walks", "count", "Page walks started", StatKind::counter, [](S s) { return s.walker.walks(); }},
        {"page_table_reads", "count", "Page-table entries read by page walks", StatKind::counter,
         [](S s) { return s.walker.reads(); }},
        {"replays", "count", "Replays sent to GPUs", StatKind::counter, [](S s) { return s.stats.replays; }},
        {"invalidations", "count", "Invalidation requests sent to GPUs", StatKind::counter,
         [](S s) { return s.stats.invalidations; }},
        {"busy_walkers", "count", "Page walkers in use", StatKind::level,
         [](S s) { return s.walker.busy(); }},
        {"walker_busy_time", "ps",
         "Busy time of the page walkers, divided by their number; counted when a walk completes",
         StatKind::counter, [](S s) { return s.walk_ps / s.walker.walkers(); }},
        {"recorded_faults", "count", "Pages in the fault buffer", StatKind::level,
         [](S s) { return std::uint64_t{s.faults.in_use()}; }},
        Stat<IommuState>::of_histogram(
            "walk_latency", "ns", "Latency of a page walk, without queueing",
            [](S s) -> auto const& { return s.walk_latency; }),
        Stat<IommuState>::of_histogram(
            "queue_depth", "count",
            "Queue depth seen by an arriving request: pages in translation and stalled requests",
            [](S s) -> auto const& { return s.queue_depth; }),
        Stat<IommuState>::of_histogram(
            "fault_latency", "ns", "Time from a page fault to the driver's response",
            [](S s) -> auto const& { return s.fault_latency; })
            .only_when<&IommuSpec::records_faults>(),
        Stat<IommuState>{"fault_buffer_full_time", "ps",
                         "Time with faults waiting for a free fault-buffer entry", StatKind::counter,
                         [](S s) { return s.buffer_full.ps(); }}
            .only_when<&IommuSpec::records_faults>(),
    });
    return all;
  }
};

class Iommu final : public Component<IommuSpec, IommuState> {
 public:
  explicit Iommu(Slot<IommuSpec> slot);
  In<Packet> request = in<&Iommu::on_request>("request");
  In<MemResponse> entry_read = in<&Iommu::on_entry>("entry_read");
  In<PageMapped> mapped = in<&Iommu::on_mapped>("mapped");
  In<PageMove> move = in<&Iommu::on_move>("move");
  In<Invalidated> invalidated = in<&Iommu::on_invalidated>("invalidated");
  Self<WalkEnd> walk_end = timer<&Iommu::on_walk_end>("walk_end");
  Out<Packet> response = out<Packet>("response");
  Out<MemRequest> read_entry = out<MemRequest>("read_entry");
  Out<Packet> fault = out<Packet>("fault");
  Out<Packet> first_touch = out<Packet>("first_touch");  // fault on an unmapped page
  Out<StepDone> step_done = out<StepDone>("step_done");

  std::string_view kind() const override { return "iommu"; }
  std::string waiting_for() const override;
  IommuState initial() const override;
  ApplicationStats application_stats() const override;
  std::vector<PolicyStats> policy_stats() const override;

  void on_request(Packet const& m, Cx& cx) const;
  void on_entry(MemResponse const& m, Cx& cx) const;
  void on_walk_end(WalkEnd const& m, Cx& cx) const;
  void on_mapped(PageMapped const& m, Cx& cx) const;
  void on_move(PageMove const& m, Cx& cx) const;
  void on_invalidated(Invalidated const& m, Cx& cx) const;

 private:
  bool settle(IommuState& s, Time at) const override { return s.buffer_full.settle(at); }
  struct Translation {
    PageTranslation to;
    FoundBy found_by;
    FaultKind kind = FaultKind::not_mapped;  // of an unrecorded fault, or of one that is replayed
  };

  // Serves a request that arrived at `since`; false if it must stall.
  bool serve(Packet const& packet, Time since, Cx& cx) const;
  // Maps or unmaps a page in the table; coalesces its base pages if possible, and splinters them before one
  // is unmapped.
  void map_page(std::uint64_t page, PageTranslation const& to, IommuState& s) const;
  void unmap_page(std::uint64_t page, IommuState& s) const;
  void start_walks(Cx& cx) const;
  void walked(std::uint32_t walker, Walker::Step const& step, Cx& cx) const;
  void respond(IommuWaiter const& to, std::uint64_t page, Translation const& found, Duration extra,
               Cx& cx) const;
  void finish(std::uint32_t entry, Translation const& found, Cx& cx) const;
  void resume_stalled(Cx& cx) const;
  // Records that the GPU has the page's translation, by a response, a replay or a remote mapping: it gets an
  // invalidation when the page, or any base page of a large page, moves away.
  void learn(std::uint64_t page, PageTranslation const& to, std::uint16_t gpu, IommuState& s) const;
  // Responds to all waiters of the entry, in order, one per cycle, and frees it.
  void respond_all(std::uint32_t entry, Translation const& found, Cx& cx) const;
  bool pages_move() const { return spec().pages_are_moved || decision_.moves_pages; }
  // Entry of `moving` of the page that contains base page `page`. A large page has a key of its own, because
  // its first base page may be in flight as a base page.
  std::optional<std::uint32_t> moving(std::uint64_t page, IommuState const& s) const;
  static constexpr std::uint64_t moving_key(std::uint64_t page, unsigned size) {
    return size == 0 ? page : kLargeKey | page >> size << size | size;
  }
  // The policy decides that the driver is to act on a request for a page at this frame. may_fault(): it
  // decides some requests of the GPU for the page.
  bool faults(std::uint64_t page, PageTranslation const& to, IommuWaiter const& from, IommuState& s) const;
  bool may_fault(PhysAddr frame, DeviceId gpu) const {
    return (decision_.events.has(PageEventKind::request) && device_of(frame) != gpu) ||
           (decision_.events.has(PageEventKind::write_to_copies) && is_read_only(frame));
  }
  // Response to a request merged with others. If the policy makes copies, it decides each of them.
  Translation own_response(IommuWaiter const& to, std::uint64_t page, Translation const& found,
                           IommuState& s) const;
  // Sends fault responses to the requests of the entry, or to a single request; they then occupy nothing
  // here.
  void fault_entry(FaultKind kind, std::uint32_t entry, IommuWaiter const& first, Cx& cx) const;
  void fault_request(FaultKind kind, std::uint64_t page, IommuWaiter const& from, Duration extra,
                     Cx& cx) const;
  void count_fault(FaultKind kind, std::uint64_t page, IommuWaiter const& from, FaultBuffer::Outcome outcome,
                   Duration extra, Cx& cx) const;
  bool recorded_by_gpus(FaultKind kind) const {
    return (spec().recorded_by_gpus >> static_cast<unsigned>(kind) & 1) != 0;
  }
  // Response that the fault is not recorded here.
  static Translation unrecorded(FaultKind kind) { return {{}, FoundBy::unrecorded, kind}; }
  // Writes the driver's answer to the table and replays the fault; one that a GPU has recorded, to that GPU
  // only. The driver has migrated the page or declined; the replay has its location (FoundBy::settled). An
  // answer that the page is unmapped has no replay.
  void end_fault(PageMapped const& m, Cx& cx) const;
  // `own_entry`: of the GPU's own fault buffer, or kNoRecord.
  void replay(std::uint64_t page, Translation const& to, FaultBuffer::Requester const& requester,
              std::uint32_t own_entry, Cx& cx) const;
  // Raises a first touch whose requests wait for the frame.
  void raise(std::uint32_t entry, IommuWaiter const& first, Cx& cx) const;
  // Steps of a move. unmap: invalidations go to the GPU that holds the page and to all GPUs that have its
  // translation. forget: to all GPUs; until the page is mapped again, a request for it is one for an unmapped
  // page. map: writes the table, and notifies the GPU that has the frame, or gets a copy or a remote mapping.
  // drop: notifies the GPU that has the copy. A copy is in the table of its GPU only.
  void unmap(PageMove const& m, Cx& cx) const;
  // Sends packets to the GPUs for which holds(gpu), behind all earlier responses, one per cycle; returns
  // their number. send_to_holders(): the step is done when they have acknowledged.
  template <class Holds>
  std::uint32_t send_in_order(MoveStep step, PageMove const& m, Holds&& holds, Cx& cx) const;
  template <class Holds>
  std::uint32_t send_to_holders(MoveStep step, PageMove const& m, Holds&& holds, Cx& cx) const;
  void flush(PageMove const& m, Cx& cx) const;
  void remap(PageMove const& m, Cx& cx) const;
  void forget(PageMove const& m, Cx& cx) const;
  void map(PageMove const& m, Cx& cx) const;
  void drop(PageMove const& m, Cx& cx) const;

  static constexpr std::uint64_t kLargeKey = std::uint64_t{1} << 63;
  // Bit s: large pages of 2^s base pages may be in flight. Coalesced pages move as base pages.
  std::uint32_t const moving_sizes_ = spec().coalesces ? 0 : spec().page_sizes & ~1U;
  PageDecision::Facts const decision_ = spec().decision.facts();
};
extern template class Component<IommuSpec, IommuState>;  // compiled in iommu.cpp

}  // namespace farfault
