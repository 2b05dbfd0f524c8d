// SPDX-License-Identifier: Apache-2.0
// An IOMMU and the driver between a mock CPU port and a mock memory; clock 1 GHz, links of 1 ns.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "farfault/paging/paging_driver.hpp"
#include "farfault/translation/iommu.hpp"
#include "memory_mock.hpp"
#include "packets.hpp"
#include "placed_pages.hpp"

namespace farfault::iommu_bench {

using namespace mock;

using Times = std::vector<std::int64_t>;
using Found = std::vector<FoundBy>;

inline Found found_by(Sink<Packet> const& responses) {
  Found all;
  for (auto const& r : responses.records())
    if (auto const a = answer_in(r.message)) all.push_back(a->found_by);
  return all;
}

inline constexpr PhysAddr kTable = physical(kFirstCpu, 0x100'0000);
inline constexpr std::uint64_t kPage = ((1 * 512ULL + 2) * 512 + 3) * 512 + 4;

inline PhysAddr frame_of(std::uint64_t page) {
  return physical(static_cast<DeviceId>(page % 3), page << 12);
}
inline PageTable two_pages() {
  PageTable table(kTable, 12);
  table.map(kPage, frame_of(kPage));
  table.map(kPage + 1, frame_of(kPage + 1));
  return table;
}

// A request of GPU g, which is node 10 + g.
inline Packet ask(std::uint64_t page, std::uint16_t gpu, std::uint32_t tag, std::uint8_t application = 0) {
  auto p = Packet::of(TranslateRequest{.page = page, .from = tag, .application = application, .gpu = gpu});
  p.route.source = static_cast<NodeId>(10 + gpu);
  return p;
}

inline IommuSpec spec_of(PageTable const& table) {
  IommuSpec spec;
  spec.memory = AddressMap(1, 256);
  spec.memory_port = 6;
  spec.preloaded = &table;
  return spec;
}
inline PagingDriverSpec driver_of(PageTable const& table, std::vector<std::string> applications = {}) {
  PagingDriverSpec spec;
  spec.applications = std::move(applications);
  spec.devices = NodeDevices(3);
  spec.placed = in_use({100, 200, 300}, 0);
  spec.frames_per_gpu = 1000;
  spec.preloaded = &table;
  return spec;
}

// Connects the ports that only a migration would use.
inline void stop_migrations(Bench& b, Iommu& iommu, PagingDriver& driver) {
  b.join(iommu.step_done, driver.step_done);
  b.join_family(driver.move, {iommu.move});
  b.idle(iommu.invalidated, driver.copied);
  b.sinks(driver.copy, 3);
}

struct IommuBench : Bench {
  IommuBench(IommuSpec spec, std::vector<Record<Packet>> script)
      : iommu(system.add<Iommu>("iommu", spec)),
        driver(system.add<PagingDriver>("driver", driver_of(*spec.preloaded, spec.applications))) {
    feed(iommu.request, std::move(script));
    responses = &sink(iommu.response);
    cache = &responder<MemRequest, MemResponse>(memory(always(10ns)), iommu.entry_read);
    join_family(iommu.read_entry, {cache->request});
    join(iommu.fault, driver.fault);
    join(iommu.first_touch, driver.fault);
    join_family(driver.mapped, {iommu.mapped});
    join(driver.placed, iommu.mapped);
    stop_migrations(*this, iommu, driver);
    run();
  }
  Iommu& iommu;
  PagingDriver& driver;
  Sink<Packet>* responses = nullptr;
  Memory* cache = nullptr;
};

}  // namespace farfault::iommu_bench
