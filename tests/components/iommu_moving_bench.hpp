// SPDX-License-Identifier: Apache-2.0
// An IOMMU with page migration, between a scripted driver and scripted GPUs.
#pragma once

#include <vector>

#include "iommu_bench.hpp"

namespace farfault::iommu_moving_bench {

using namespace iommu_bench;

using Nodes = std::vector<NodeId>;

// An IOMMU with page migration between a scripted driver and scripted GPUs. GPUs 0 to 2 are nodes 10 to 12.
struct MovingBench : Bench {
  struct Script {
    std::vector<Record<Packet>> requests = {};
    std::vector<Record<PageMapped>> mapped = {};
    std::vector<Record<PageMove>> moves = {};
    std::vector<Record<Invalidated>> invalidated = {};
  };
  MovingBench(IommuSpec spec, Script script) : iommu(system.add<Iommu>("iommu", moving(std::move(spec)))) {
    feed(iommu.request, std::move(script.requests));
    feed(iommu.mapped, std::move(script.mapped));
    feed(iommu.move, std::move(script.moves));
    feed(iommu.invalidated, std::move(script.invalidated));
    out = &sink(iommu.response);
    faults = &sink(iommu.fault);
    first_touches = &sink(iommu.first_touch);
    unmapped = &sink(iommu.step_done);
    cache = &responder<MemRequest, MemResponse>(memory(always(10ns)), iommu.entry_read);
    join_family(iommu.read_entry, {cache->request});
    run();
  }
  static IommuSpec moving(IommuSpec spec) {
    if (spec.decision.name() != "migrate" && !spec.pages_are_moved) spec.decision.choose("migrate");
    spec.gpus = {{0, 10}, {1, 11}, {2, 12}};
    spec.moves = 2;
    return spec;
  }
  // Destinations of the packets for which `is` is true, and of responses and replays.
  template <class Is>
  std::vector<NodeId> destinations(Is&& is) const {
    std::vector<NodeId> nodes;
    for (auto const& r : out->records())
      if (is(r.message)) nodes.push_back(r.message.route.destination);
    return nodes;
  }
  std::vector<NodeId> receivers(MoveStep step) const {
    return destinations(
        [step](Packet const& p) { return p.is<Invalidate>() && p.as<Invalidate>().step == step; });
  }
  std::vector<NodeId> answered() const {
    return destinations([](Packet const& p) { return answer_in(p).has_value(); });
  }
  Iommu& iommu;
  Sink<Packet>* out = nullptr;
  Sink<Packet>* faults = nullptr;
  Sink<Packet>* first_touches = nullptr;
  Sink<StepDone>* unmapped = nullptr;
  Memory* cache = nullptr;
};

inline constexpr std::uint64_t kGpu1Page = kPage + 2;
inline constexpr PhysAddr kHere = physical(1, 5 << 12);  // frame of kGpu1Page
inline PageTable page_on_gpu1() {
  PageTable table(kTable, 12);
  table.map(kGpu1Page, kHere);
  return table;
}
// The driver's response to a fault with the first record.
constexpr PageMapped responded(std::uint64_t page, PhysAddr frame) {
  return {.page = page, .frame = frame, .entry = 0, .size = 0, .kind = FaultKind::remote, .gpu = kNoGpu};
}
constexpr PageMove unmap(std::uint32_t move, std::uint64_t page, PhysAddr frame) {
  return {.page = page, .frame = frame, .move = move, .step = MoveStep::unmap};
}
constexpr PageMove remap(std::uint32_t move, std::uint64_t page, PhysAddr frame) {
  return {.page = page, .frame = frame, .move = move, .step = MoveStep::remap};
}

}  // namespace farfault::iommu_moving_bench
