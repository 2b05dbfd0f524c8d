// SPDX-License-Identifier: Apache-2.0
// An IOMMU whose GPUs end walks: it passes on their remote mappings, and invalidates each of them.
#include <doctest/doctest.h>

#include "iommu_moving_bench.hpp"

namespace iommu_remote_mappings_test {

using namespace farfault;
using namespace farfault::iommu_moving_bench;

namespace {

IommuSpec ending(PageTable const& table) {
  auto spec = spec_of(table);
  spec.gpus_end_walks = spec.pages_are_moved = true;
  spec.recorded_by_gpus = ~0U;
  spec.decision.choose("remote_access");
  return spec;
}
constexpr PageMove map_remote(std::uint32_t move, std::uint64_t page, PhysAddr frame, DeviceId gpu) {
  return {.page = page, .frame = frame, .move = move, .step = MoveStep::map_remote, .gpu = gpu};
}
constexpr PageMove remap_of(std::uint32_t move, std::uint64_t page, PhysAddr frame, DeviceId gpu) {
  return {.page = page, .frame = frame, .move = move, .step = MoveStep::remap, .gpu = gpu};
}
PageMapped answer_to(DeviceId gpu, FaultKind kind) {
  return {.page = kGpu1Page, .frame = kHere, .entry = 4, .size = 0, .kind = kind, .gpu = gpu};
}
Invalidate invalidate(MovingBench const& b, std::size_t n) {
  return b.out->records().at(n).message.as<Invalidate>();
}

}  // namespace

TEST_CASE("IOMMU: a remote mapping is passed on to its GPU, which acknowledges it") {
  auto const table = page_on_gpu1();
  MovingBench b(ending(table), {.moves = {{Time{500ns}, map_remote(1, kGpu1Page, kHere, 2)}},
                                .invalidated = {{Time{700ns}, {1}}}});
  REQUIRE(b.receivers(MoveStep::map) == Nodes{12});
  CHECK(b.out->nanoseconds() == Times{502});  // a cycle, and the link
  CHECK(invalidate(b, 0).page == kGpu1Page);
  CHECK(invalidate(b, 0).frame == kHere);
  CHECK(b.unmapped->nanoseconds() == Times{701});
  CHECK(b.iommu.state().table.find(kGpu1Page) == PageTranslation{kHere});
}

TEST_CASE("IOMMU: a remote mapping of a GPU behind another IOMMU is acknowledged immediately") {
  auto const table = page_on_gpu1();
  MovingBench b(ending(table), {.moves = {{Time{500ns}, map_remote(1, kGpu1Page, kHere, 7)}}});
  CHECK(b.out->count() == 0);
  CHECK(b.unmapped->nanoseconds() == Times{501});
}

TEST_CASE("IOMMU: a page that moves is invalidated at every GPU that maps it remotely, by any message") {
  auto const table = page_on_gpu1();
  auto const unmaps = [](MovingBench const& b) { return b.receivers(MoveStep::unmap); };
  Record<PageMove> const moves{Time{1000ns}, unmap(0, kGpu1Page, kHere)};
  MovingBench none(ending(table), {.moves = {moves}});
  CHECK(unmaps(none) == Nodes{11});
  MovingBench by_order(ending(table), {.moves = {{Time{500ns}, map_remote(1, kGpu1Page, kHere, 0)}, moves},
                                       .invalidated = {{Time{700ns}, {1}}}});
  CHECK(unmaps(by_order) == Nodes{10, 11});
  for (auto const kind : {FaultKind::not_mapped, FaultKind::remote, FaultKind::moving}) {
    MovingBench by_replay(ending(table), {.mapped = {{Time{500ns}, answer_to(2, kind)}}, .moves = {moves}});
    CHECK(unmaps(by_replay) == Nodes{11, 12});
  }
  MovingBench by_response(ending(table),
                          {.requests = {{Time{100ns}, ask(kGpu1Page, 0, 7)}}, .moves = {moves}});
  CHECK(unmaps(by_response) == Nodes{10, 11});
  auto from_start = ending(table);
  from_start.maps_remotely_at_start = true;
  MovingBench at_start(from_start, {.moves = {moves}});
  CHECK(unmaps(at_start) == Nodes{10, 11, 12});
}

TEST_CASE("IOMMU: the replay of a page that was in flight is for the stalled accesses of other GPUs only") {
  auto const table = page_on_gpu1();
  auto const once = [&](DeviceId gpu, FaultKind kind) {
    MovingBench b(ending(table), {.mapped = {{Time{500ns}, answer_to(gpu, kind)}}});
    return b.out->records().at(0).message.as<Replay>().once != 0;
  };
  CHECK(once(2, FaultKind::moving));
  CHECK_FALSE(once(1, FaultKind::moving));  // its own page
  CHECK_FALSE(once(2, FaultKind::remote));
  CHECK_FALSE(once(2, FaultKind::not_mapped));
}

TEST_CASE("IOMMU: the GPU that has the frame of a remapped page maps it again, without an acknowledgement") {
  auto const table = page_on_gpu1();
  for (bool const ends : {false, true}) {
    auto spec = ending(table);
    spec.gpus_end_walks = ends;
    MovingBench b(spec, {.moves = {{Time{500ns}, unmap(0, kGpu1Page, kHere)},
                                   {Time{900ns}, remap_of(0, kGpu1Page, read_only(kHere), 1)}},
                         .invalidated = {{Time{800ns}, {0}}}});
    CHECK(b.receivers(MoveStep::remap) == (ends ? Nodes{11} : Nodes{}));
    CHECK(b.unmapped->nanoseconds() == Times{801});
    if (ends) CHECK(invalidate(b, 1).frame == read_only(kHere));
  }
}

TEST_CASE("IOMMU: a page is remapped at no GPU if its frame is on the host, or if a fault is answered") {
  auto const table = page_on_gpu1();
  for (auto const gpu : {kFirstCpu, kNoGpu}) {
    MovingBench b(ending(table),
                  {.moves = {{Time{500ns}, unmap(0, kGpu1Page, kHere)},
                             {Time{900ns}, remap_of(0, kGpu1Page, physical(kFirstCpu, 0), gpu)}},
                   .invalidated = {{Time{800ns}, {0}}}});
    CHECK(b.receivers(MoveStep::remap).empty());
  }
}

}  // namespace iommu_remote_mappings_test
