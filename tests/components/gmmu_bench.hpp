// SPDX-License-Identifier: Apache-2.0
// A GMMU between a mock L2 TLB, L2 cache and IOMMU; clock 1 GHz, latency 1 cycle, links of 1 ns.
#pragma once

#include <utility>
#include <vector>

#include "farfault/translation/gmmu.hpp"
#include "memory_mock.hpp"
#include "packets.hpp"
#include "policies.hpp"

namespace farfault::gmmu_bench {

using namespace mock;

using Times = std::vector<std::int64_t>;
using Addresses = std::vector<PhysAddr>;
using Iommu = Responder<TranslateRequest, Packet>;

inline constexpr PhysAddr kTable = 0x100'0000;
inline constexpr std::uint64_t kPage = ((1 * 512ULL + 2) * 512 + 3) * 512 + 4;  // in this GPU's memory
inline constexpr std::uint64_t kRemote = 99;                                    // in another GPU's memory

inline PhysAddr local_frame(std::uint64_t page) {
  return physical(0, page << 12);
}
inline PhysAddr remote_frame(std::uint64_t page) {
  return physical(3, page << 12);
}

inline PageTable one_page() {
  PageTable table(kTable, 12);
  table.map(kPage, local_frame(kPage));
  table.map(kPage + 1, local_frame(kPage + 1));
  return table;
}

inline GmmuSpec spec_of(std::string_view router, PageTable const& table) {
  GmmuSpec spec;
  spec.router.policy.choose(router);
  spec.memory = AddressMap(1, 256);
  spec.memory_port = 5;
  spec.moves = 8;
  spec.preloaded = &table;
  return spec;
}

struct GmmuBench : Bench {
  GmmuBench(GmmuSpec spec, std::vector<Record<TranslateRequest>> script, Duration memory_delay = 10ns,
            Duration iommu_delay = 1000ns, std::vector<Record<Invalidate>> invalidations = {},
            std::vector<Record<Invalidated>> invalidated = {})
      : gmmu(system.add<Gmmu>("gmmu", std::move(spec))) {
    for (auto& each : script) each.message.from = 0;  // the only TLB
    feed(gmmu.request, std::move(script));
    responses = sinks(gmmu.response, 1)[0];
    auto memory_spec = memory(always(memory_delay));
    cache = &responder<MemRequest, MemResponse>(memory_spec, gmmu.entry_read);
    join_family(gmmu.read_entry, {cache->request});
    ResponderSpec<TranslateRequest, Packet> iommu_spec;
    iommu_spec.reply = [this](TranslateRequest const& m) { return Packet::of(reply(m)); };
    iommu_spec.delay = always(iommu_delay);
    iommu = &responder<TranslateRequest, Packet>(iommu_spec, gmmu.from_iommu);
    join(gmmu.to_iommu, iommu->request);
    feed(gmmu.invalidate, std::move(invalidations));
    feed(gmmu.invalidated, std::move(invalidated));
    tlb = sinks(gmmu.to_tlb, 1)[0];
    acknowledged = &sink(gmmu.acknowledge);
    if (gmmu.spec().records_faults) faults = &sink(gmmu.to_driver);
  }
  IommuResponse reply(TranslateRequest const& m) const {
    IommuResponse r{.page = m.page, .tag = m.from};
    if (m.page == not_mapped) {
      r.found_by = FoundBy::nothing;
    } else if (m.page >= unrecorded_from && m.page < unrecorded_from + 100) {
      r.found_by = FoundBy::unrecorded;
      r.kind = kind;
    } else {
      bool const local = m.page >= kPage && m.page <= kPage + 1;
      bool const touched_first = first_touch && !local && m.page != kRemote;
      r.frame = local || touched_first ? local_frame(m.page) : remote_frame(m.page);
      r.found_by = touched_first ? FoundBy::fault : FoundBy::iommu;
      r.size = size;
    }
    return r;
  }
  PageFault fault(std::size_t n) const { return faults->records().at(n).message.as<PageFault>(); }
  Addresses reads() const {
    Addresses all;
    for (auto const& r : cache->records()) all.push_back(r.message.address);
    return all;
  }
  std::uint64_t router(std::string_view stat) const { return test::stat_of(gmmu, "gpu.router", stat); }
  Gmmu& gmmu;
  bool first_touch = false;
  std::uint64_t not_mapped = ~std::uint64_t{0};             // page that is unmapped at the IOMMU
  std::uint64_t unrecorded_from = ~std::uint64_t{0} - 100;  // 100 pages whose faults it does not record
  FaultKind kind = FaultKind::not_mapped;                   // kind of these faults
  std::uint8_t size = 0;                                    // size of the pages that the IOMMU maps
  Sink<TranslateResponse>* responses = nullptr;
  Memory* cache = nullptr;
  Iommu* iommu = nullptr;
  Sink<Invalidate>* tlb = nullptr;
  Sink<Invalidated>* acknowledged = nullptr;
  Sink<Packet>* faults = nullptr;
};

inline void stop_migrations(Bench& b, Gmmu& gmmu) {
  b.idle(gmmu.invalidate, gmmu.invalidated);
  b.sinks(gmmu.to_tlb, 1);
  b.sink(gmmu.acknowledge);
}

inline Addresses const kWalk{kTable + 1 * 8, kTable + 0x1000 + 2 * 8, kTable + 0x2000 + 3 * 8,
                             kTable + 0x3000 + 4 * 8};

}  // namespace farfault::gmmu_bench
