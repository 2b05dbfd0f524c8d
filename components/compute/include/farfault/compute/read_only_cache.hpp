// SPDX-License-Identifier: Apache-2.0
// A read-only cache of a few SMs. Scalar cache (GCN: of up to four CUs; NVIDIA: the constant cache of one
// SM): reads that a warp makes once for all its lanes.
//
// - Request: one port cycle, a look-up in the cache's own TLB (misses: the first level of shared TLBs), a
//   look-up in the cache. Misses are merged by line and read from the L2 cache or, over the RDMA engine, from
//   another device.
// - Stalls: a request without a free MSHR stalls, in order with other stalled requests. Later requests that
//   need no new MSHR, or get one, proceed.
// - If it is to be cleared at launches: at the first request of each kernel launch, of any application.
// - Kernel arguments are in the memory of the kernel's own GPU, written by the launch, and not translated.
// - Invalidation: drops the page's translation immediately, and its lines when the reads that used the
//   translation are done; then it is acknowledged.
// - Fault: a request to a faulted page stalls until its replay; its SM is notified of both.
// - Order after a response: requests with a physical address (translated, or replayed with the frame of a
//   migrated page), then other replayed requests, looked up again, then stalled requests.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "farfault/engine/component.hpp"
#include "farfault/engine/params.hpp"
#include "farfault/memory/cache.hpp"
#include "farfault/parts/address_map.hpp"
#include "farfault/parts/mshr.hpp"
#include "farfault/parts/partition_hop.hpp"
#include "farfault/parts/ring.hpp"
#include "farfault/protocols/applications.hpp"
#include "farfault/protocols/messages.hpp"
#include "farfault/translation/translation_client.hpp"

namespace farfault {

// Default values: a scalar cache.
struct ReadOnlyCacheParams {
  std::uint32_t sms = 4;
  ByteSize size{std::uint64_t{16} << 10};
  std::uint32_t ways = 4;
  std::uint32_t latency = 1;
  std::uint32_t mshrs = 32;
  std::uint32_t tlb_entries = 64;
  std::uint32_t tlb_mshrs = 16;
  TlbPolicies tlb;
  PolicyChoice<Replacement> replacement{"lru"};
};

struct ScalarCacheParams : ReadOnlyCacheParams {
  std::uint32_t requests = 32;

  void describe(ParamTable& t) {
    t.count("sms", sms, {1, 64}, "SMs that share a scalar cache",
            "GCN3: up to 4; CDNA 3 white paper: 2; NVIDIA: constant cache of each SM");
    t.bytes("size", size, {ByteSize{1024}, ByteSize{1 << 24}}, "Capacity of a scalar cache", "GCN3: 16 KiB");
    t.count("ways", ways, {1, 1024}, "Ways of a scalar cache", "GCN3: 4");
    replacement.describe(t, "replacement", "Replacement policy",
                         "Akita 4.9 (mem/cache): least recently used");
    t.count("latency", latency, {1, 1000}, "Cycles from look-up to data",
            "MGPUSim 4.2 (shader array builder): 1");
    t.count("mshrs", mshrs, {1, 4096}, "Maximum lines with an outstanding miss",
            "assumed (MGPUSim 4.2: 128)");
    t.count("tlb_entries", tlb_entries, {1, 4096}, "Entries of the cache's TLB, fully associative",
            "MGPUSim 4.2 (shader array builder): 64");
    t.count("tlb_mshrs", tlb_mshrs, {1, 4096}, "Maximum pages with an outstanding miss of the cache's TLB",
            "assumed (MGPUSim 4.2: 64)");
    tlb.describe(t, "tlb_", "Akita 4.9 (mem/vm/tlb): least recently used");
    t.count("requests", requests, {1, 1024}, "Maximum outstanding requests of an SM at its scalar cache",
            "assumed");
  }
};

struct ReadOnlyCacheSpec {
  ReadOnlyCacheParams params;
  std::string kind = "scalar_cache";  // of the component, and the name of its section
  bool cleared_at_launch = true;
  std::uint32_t outstanding = 128;  // maximum requests of its SMs
  Clock clock{1'000'000'000};
  std::uint32_t index = 0;        // among the clients of the TLBs of its GPU, behind the SMs
  std::uint16_t memory_port = 0;  // its number among the clients of the L2 slices
  std::uint16_t remote_port = 0;  // its number among the clients of the RDMA engine
  DeviceId device = 0;
  std::uint32_t line_bytes = 64;
  unsigned page_bits = 12;
  std::uint32_t page_sizes = 1;                // bit s: there may be pages of 2^s base pages
  PageTable const* mapped_at_start = nullptr;  // its TLB may hold translations of it
  std::uint32_t moves = 1;                     // maximum outstanding invalidations
  PageUseRule page_uses;                       // page uses reported to the driver
  Applications const* applications = nullptr;
  PhysAddr arguments = 0;  // address of kernels' arguments
  AddressMap memory;
  PartitionHop to_slices{};
  TlbRoute tlbs{};
};

struct ReadOnlyCacheStats {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t tlb_hits = 0;
  std::uint64_t tlb_misses = 0;
  std::uint64_t remote_accesses = 0;
  std::uint64_t faulted = 0;

  static std::span<Stat<ReadOnlyCacheStats> const> list() {
    using S = ReadOnlyCacheStats const&;
    static constexpr auto all = std::to_array<Stat<ReadOnlyCacheStats>>({
        {"hits", "count", "Requests that hit the cache", StatKind::counter, [](S s) { return s.hits; }},
        {"misses", "count", "Requests that missed the cache, merged ones included", StatKind::counter,
         [](S s) { return s.misses; }},
        {"tlb_hits", "count",
         "Requests that hit the cache's TLB. Reads of kernel arguments are not translated and not counted",
         StatKind::counter, [](S s) { return s.tlb_hits; }},
        {"tlb_misses", "count", "Requests that missed the cache's TLB", StatKind::counter,
         [](S s) { return s.tlb_misses; }},
        {"remote_accesses", "count", "Lines read from the memory of another device", StatKind::counter,
         [](S s) { return s.remote_accesses; }},
        {"faulted", "count", "Requests stalled by a page fault", StatKind::counter,
         [](S s) { return s.faulted; }},
    });
    return all;
  }
};

struct ReadOnlyCacheState {
  // By application: one more than the last launch with a request.
  std::vector<std::uint32_t> next_launch;
  TranslationClient<ReadOnlyRequest> translation;
  Cache cache;
  MshrTable<ReadOnlyRequest> mshrs;
  Ring<ReadOnlyRequest> stalled;
  Time port_free{};
  Time response_free{};
  ByApplication<ReadOnlyCacheStats> stats;
};

class ReadOnlyCache final : public Component<ReadOnlyCacheSpec, ReadOnlyCacheState> {
 public:
  explicit ReadOnlyCache(Slot<ReadOnlyCacheSpec> slot);
  In<ReadOnlyRequest> request = in<&ReadOnlyCache::on_request>("request");
  In<TranslateResponse> translation = in<&ReadOnlyCache::on_translation>("translation");
  In<MemResponse> memory_response = in<&ReadOnlyCache::on_memory>("memory_response");
  In<MemResponse> remote_response = in<&ReadOnlyCache::on_memory>("remote_response");
  In<Invalidate> invalidate = in<&ReadOnlyCache::on_invalidate>("invalidate");
  Out<ReadOnlyResponse> response = out<ReadOnlyResponse>("response");
  Out<TranslateRequest> translate = out<TranslateRequest>("translate");
  Out<MemRequest> memory_request = out<MemRequest>("memory_request");
  Out<MemRequest> remote_request = out<MemRequest>("remote_request");
  Out<Invalidated> invalidated = out<Invalidated>("invalidated");
  Out<PageUse> used;                // if the driver tracks page uses
  In<TlbDistribution> distributed;  // if the first level of TLBs is balanced

  std::string_view kind() const override { return spec().kind; }
  std::string waiting_for() const override;
  ReadOnlyCacheState initial() const override;
  ApplicationStats application_stats() const override;
  std::vector<PolicyStats> policy_stats() const override;

  void on_request(ReadOnlyRequest const& m, Cx& cx) const;
  void on_translation(TranslateResponse const& m, Cx& cx) const;
  void on_memory(MemResponse const& m, Cx& cx) const;
  void on_invalidate(Invalidate const& m, Cx& cx) const;
  void on_distribution(TlbDistribution const& m, Cx& cx) const;

 private:
  void accept(ReadOnlyRequest const& m, Cx& cx) const;
  // `again`: after a replay.
  bool serve(ReadOnlyRequest const& m, bool again, Cx& cx) const;
  bool wait_for_translation(std::uint64_t page, ReadOnlyRequest const& m, bool again, Time at, Cx& cx) const;
  void park(std::uint64_t page, ReadOnlyRequest const& m, Cx& cx) const;
  struct Responding;
  void report_use(std::uint64_t page, Cx& cx) const;  // to the driver, if it tracks page uses
  bool read(PhysAddr address, ReadOnlyRequest const& m, Time at, Cx& cx) const;
  void respond(ReadOnlyRequest const& m, Time at, ReadOnlyStatus status, Cx& cx) const;
  void resume(Cx& cx) const;
  void acknowledge_invalidations(Cx& cx) const;
};
extern template class Component<ReadOnlyCacheSpec, ReadOnlyCacheState>;  // compiled in read_only_cache.cpp

}  // namespace farfault
