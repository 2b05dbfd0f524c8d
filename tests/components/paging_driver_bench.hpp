// SPDX-License-Identifier: Apache-2.0
// The paging driver between two mock IOMMUs and three mock copy engines: a fault takes 1 us, links 1 ns.
// Without another policy, remote faults migrate pages.
#pragma once

#include <vector>

#include "farfault/paging/paging_driver.hpp"
#include "mock.hpp"
#include "packets.hpp"
#include "placed_pages.hpp"

namespace farfault::driver_bench {

using namespace mock;

using Times = std::vector<std::int64_t>;

inline constexpr std::uint64_t kPage = 40;  // on GPU 1, in its frame 5
inline constexpr PhysAddr kFrame = physical(1, 5 << 12);

inline PageFault fault(std::uint64_t page, std::uint16_t gpu, std::uint16_t iommu, std::uint32_t entry,
                       FaultKind kind = FaultKind::not_mapped) {
  return {.page = page, .gpu = gpu, .iommu = iommu, .entry = entry, .kind = kind};
}
inline PageFault remote(std::uint64_t page, std::uint16_t gpu, std::uint16_t iommu, std::uint32_t entry) {
  return fault(page, gpu, iommu, entry, FaultKind::remote);
}
inline PageTable one_page() {
  PageTable table(0, 12);
  table.map(kPage, kFrame);
  table.map(kPage + 1, kFrame + 4096);
  return table;
}

struct DriverBench : Bench {
  struct Script {
    std::vector<Record<PageFault>> faults = {};
    std::vector<Record<StepDone>> unmapped = {};
    std::vector<Record<CopyDone>> copied = {};
  };
  DriverBench(PagingDriverSpec const& spec, Script script)
      : driver(system.add<PagingDriver>("driver", with_memory(spec))) {
    feed(driver.fault, as_packets(script.faults));
    feed(driver.step_done, std::move(script.unmapped));
    feed(driver.copied, std::move(script.copied));
    mapped = sinks(driver.mapped, 2);
    join(driver.placed, mapped[0]->in_port);
    moves = sinks(driver.move, 2);
    copies = sinks(driver.copy, 3);
    run();
  }
  static PagingDriverSpec with_memory(PagingDriverSpec spec) {
    if (spec.placed == nullptr) spec.placed = in_use({100, 200, 300}, 0);
    if (spec.frames_per_gpu == 0) spec.frames_per_gpu = 1000;
    if (spec.devices.gpus() != 3) spec.devices = NodeDevices(3);
    spec.iommus = 2;
    if (!spec.pages_move) spec.decision.choose("migrate");
    return spec;
  }
  PagingDriver& driver;
  std::vector<Sink<PageMapped>*> mapped;
  std::vector<Sink<PageMove>*> moves;
  std::vector<Sink<CopyOrder>*> copies;
};

}  // namespace farfault::driver_bench
