// SPDX-License-Identifier: Apache-2.0
// A TLB that several SMs share: the L2 TLB of a GPU, or a bank of a level (tlb_banks.hpp). Its requesters are
// SMs and scalar caches, or banks of the level below. One look-up per cycle and port.
//
// - Misses are merged by base page, because the page size is unknown until the walk, and sent on. A miss
//   without a free MSHR stalls in order; hits, and misses of an outstanding page, pass it.
// - The fill policy selects whether a translation enters the TLB (tlb_fill.hpp).
// - A miss on a faulted page fills nothing: its MSHR is freed and all waiters get a fault response. With
//   fault batches, the first level also reports each of them to the GMMU.
// - A replay is forwarded to the page's bank of each group of requesters, behind all earlier responses; that
//   of a settled page fills the TLB; that of all pages waits until as many have arrived as the next level has
//   banks.
// - An invalidation takes one look-up cycle, is forwarded like a replay, and is acknowledged when all that
//   received it have acknowledged it. One of all pages reaches every bank; the page's bank forwards it to all
//   requesters, and the other banks acknowledge at once.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "farfault/engine/component.hpp"
#include "farfault/engine/params.hpp"
#include "farfault/parts/mshr.hpp"
#include "farfault/parts/part_time.hpp"
#include "farfault/parts/ports.hpp"
#include "farfault/parts/ring.hpp"
#include "farfault/protocols/messages.hpp"
#include "farfault/translation/tlb_balance.hpp"
#include "farfault/translation/tlb_banks.hpp"
#include "farfault/translation/tlb_fill.hpp"
#include "farfault/translation/tlb_organization.hpp"
#include "farfault/translation/walk_pressure.hpp"

namespace farfault {

struct L2TlbParams {
  std::uint32_t entries = 256;
  std::uint32_t ways = 32;
  std::uint32_t latency = 4;
  std::uint32_t mshrs = 64;
  std::uint32_t ports = 1;
  TlbPolicies policies;
  PolicyChoice<TlbFill> fill{"always"};
  void describe(ParamTable& t) {
    t.count("entries", entries, {0, 1 << 20}, "Entries of the TLB. 0: none, so all requests miss",
            "GMMU Bypass (NPC 2020), Table 1: 8 sets of 32 ways");
    t.count("ways", ways, {1, 65536}, "Ways of the TLB. Must divide entries",
            "GMMU Bypass (NPC 2020), Table 1")
        .only_when(sibling("entries").is_above(0));
    t.count("latency", latency, {1, 10000}, "Look-up latency in cycles", "Akita 4.9 (mem/vm/tlb builder): 4");
    t.count("mshrs", mshrs, {1, 4096}, "Maximum pages with an outstanding miss",
            "Akita 4.9: 64 (R9 Nano builder)");
    t.count("ports", ports, {1, 64}, "Look-ups started per cycle",
            "assumed: 1; MASK (ASPLOS 2018) and Mosaic (MICRO 2017), Table 1: 2");
    {
      auto const if_present = t.only_when(sibling("entries").is_above(0));
      policies.describe(t, "", "Akita 4.9 (mem/vm/tlb): least recently used");
    }
    fill.describe(t, "fill", "Translations that fill the TLB after a walk",
                  "GMMU Bypass (NPC 2020), Mosaic (MICRO 2017): all");
  }
};

struct L2TlbSpec {
  L2TlbParams params;
  std::string kind = "l2_tlb";
  std::string section = "gpu.l2_tlb";  // of the parameters
  Clock clock{1'000'000'000};
  TlbGroups requesters;
  std::uint32_t requests_each = 64;  // maximum outstanding, of a requester
  std::uint32_t level = 0;           // 0: its requesters are clients
  std::uint32_t group = 0;
  TlbBanks banks{};        // of its group
  std::uint32_t bank = 0;  // its own
  TlbRoute next{};
  std::vector<Duration> to_requester = {};  // additional latency, by requester; empty: none
  std::uint32_t moves = 1;                  // maximum outstanding invalidations, numbered from 0
  unsigned page_bits = 12;
  std::uint32_t page_sizes = 1;
  std::vector<std::string> applications = {};        // names of the applications that make requests
  bool reports_faults = false;                       // to the GMMU, by client
  PageTable const* mapped_at_start = nullptr;        // mappings that it may hold at time zero
  std::vector<std::vector<std::uint32_t>> sms = {};  // by application: SMs that run it
  std::uint64_t balance_epoch = 0;   // requests of other partitions before a wish; 0: not balanced
  std::uint32_t pressure_epoch = 0;  // cycles between WalkPressure messages; 0: none are sent
  std::uint32_t channels = 0;        // DRAM channels that receive them
};

struct L2TlbWaiter {
  Time since{};
  std::uint16_t client = 0;  // an SM or a scalar cache
  std::uint16_t from = 0;    // a requester: the client, or a bank that it has asked
  std::uint8_t application = 0;
  Access access = Access::read;
  std::uint8_t warp = 0;
  std::uint8_t unused[1] = {};

  TlbFill::Requester requester() const { return {client, application, warp}; }
};

struct L2TlbStats {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t merged_misses = 0;
  std::uint64_t mshr_stalls = 0;

  static std::span<Stat<L2TlbStats> const> list() {
    using S = L2TlbStats const&;
    static constexpr auto all = std::to_array<Stat<L2TlbStats>>({
        {"hits", "count", "Requests that hit", StatKind::counter, [](S s) { return s.hits; }},
        {"misses", "count", "Requests that missed, merged ones included", StatKind::counter,
         [](S s) { return s.misses; }},
        {"merged_misses", "count", "Misses merged into an outstanding miss of the same page",
         StatKind::counter, [](S s) { return s.merged_misses; }},
        {"mshr_stalls", "count", "Requests stalled without a free MSHR", StatKind::counter,
         [](S s) { return s.mshr_stalls; }},
    });
    return all;
  }
};

// An invalidation: its outstanding acknowledgements, and the bank of the next level that sent it.
struct L2TlbInvalidation {
  std::uint32_t missing = 0;
  std::uint32_t sender = 0;
};

struct L2TlbState {
  Policy<TlbOrganization> tlb;
  Policy<TlbFill> fill;
  MshrTable<L2TlbWaiter> mshrs;
  Ring<TranslateRequest> stalled;
  std::vector<L2TlbInvalidation> invalidating;  // by move
  std::uint32_t replays_of_all = 0;             // banks of the next level that have sent the current one
  Ports ports;
  Time last_response{};  // departure of the latest response so far
  ByApplication<L2TlbStats> stats;
  std::uint64_t faulted_misses = 0;
  std::uint64_t invalidated_entries = 0;
  std::uint64_t busy_ps = 0;
  TlbBalance::Counts balance;  // since the last report to the balancer
  WalkPressureCounts pressure;
  std::uint64_t pressure_epoch = 0;  // current epoch at the last check
  PartTime mshr_stall;

  static std::span<Stat<L2TlbState> const> list() {
    using S = L2TlbState const&;
    static constexpr auto all = std::to_array<Stat<L2TlbState>>({
        {"faulted_misses", "count", "Outstanding misses that ended in a page fault", StatKind::counter,
         [](S s) { return s.faulted_misses; }},
        {"invalidated_entries", "count", "TLB entries removed by invalidations", StatKind::counter,
         [](S s) { return s.invalidated_entries; }},
        {"outstanding_misses", "count", "Pages with an outstanding miss", StatKind::level,
         [](S s) { return std::uint64_t{s.mshrs.in_use()}; }},
        {"busy_time", "ps", "Busy time of the look-up ports, divided by their number", StatKind::counter,
         [](S s) { return s.busy_ps / s.ports.number(); }},
        {"mshr_stall_time", "ps", "Time with requests stalled without a free MSHR", StatKind::counter,
         [](S s) { return s.mshr_stall.ps(); }},
    });
    return all;
  }
};

class L2Tlb final : public Component<L2TlbSpec, L2TlbState> {
 public:
  explicit L2Tlb(Slot<L2TlbSpec> slot);
  In<TranslateRequest> request = in<&L2Tlb::on_request>("request");
  In<TranslateResponse> filled = in<&L2Tlb::on_filled>("filled");
  In<Invalidate> invalidate = in<&L2Tlb::on_invalidate>("invalidate");
  In<Invalidated> invalidated = in<&L2Tlb::on_invalidated>("invalidated");
  Out<TranslateResponse> response = out<TranslateResponse>("response");
  Out<TranslateRequest> miss = out<TranslateRequest>("miss");
  Out<Invalidate> forwarded = out<Invalidate>("forwarded");
  Out<Invalidated> acknowledge = out<Invalidated>("acknowledge");
  Out<RawFault> faulted;  // only if faults are reported
  Out<WalkPressure> pressure;
  // Only if the level is balanced.
  In<Tick> collect;
  Out<TlbCounts> counts;

  std::string_view kind() const override { return spec().kind; }
  std::string waiting_for() const override;
  L2TlbState initial() const override;
  ApplicationStats application_stats() const override;
  std::vector<PolicyStats> policy_stats() const override;

  void on_request(TranslateRequest const& m, Cx& cx) const;
  void on_filled(TranslateResponse const& m, Cx& cx) const;
  void on_invalidate(Invalidate const& m, Cx& cx) const;
  void on_invalidated(Invalidated const& m, Cx& cx) const;
  void on_collect(Tick const& m, Cx& cx) const;

 private:
  Duration further(std::uint32_t requester) const {
    return spec().to_requester.empty() ? Duration::zero() : spec().to_requester[requester];
  }
  bool settle(L2TlbState& s, Time at) const override { return s.mshr_stall.settle(at); }
  bool serve(TranslateRequest const& m, Cx& cx) const;
  void replay(TranslateResponse const& m, Cx& cx) const;
  // Passes the result of a walk to the fill policy, on behalf of the waiters of its MSHR.
  void fill(std::uint32_t entry, TranslateResponse const& m, Cx& cx) const;
  void report_pressure(Cx& cx) const;
  void count_for_balance(TranslateRequest const& m, Cx& cx) const;

  bool const invalidates_all_ = spec().params.fill.facts().invalidates_all;
};
extern template class Component<L2TlbSpec, L2TlbState>;  // compiled in l2_tlb.cpp

}  // namespace farfault
