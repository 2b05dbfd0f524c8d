// SPDX-License-Identifier: Apache-2.0
// Frame allocators that manage large frames receive the ranges that applications allocate en masse.
#include <doctest/doctest.h>

#include <map>
#include <vector>

#include "farfault/engine/system.hpp"
#include "farfault/paging/application_memory.hpp"
#include "farfault/paging/page_placement.hpp"
#include "farfault/paging/paging_driver.hpp"
#include "policies.hpp"

namespace large_frames_test {

using namespace farfault;

namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kRegion = 512;  // pages of 2 MiB

// Two applications in spaces 0 and 1. The first has a buffer of 5 MiB that begins 1 MiB after the start of a
// region, and one of 1 MiB; the second has one of 4 MiB, of whole regions.
struct TwoApplications {
  Workload first{"first", {{"a", 5 * kMiB, 5 * kMiB, true}, {"b", 16 * kMiB, kMiB, true}}, {}};
  Workload second{"second", {{"c", 4 * kMiB, 4 * kMiB, true}}, {}};
  Applications applications{{{"one", &first, 0, {}, {}, {}, 1}, {"two", &second, 1, {}, {}, {}, 1}}};

  InitialMemory memory(std::uint64_t gpu_bytes, unsigned large_size = 9) const {
    return InitialMemory({.applications = &applications,
                          .devices = NodeDevices(2),
                          .names = nullptr,
                          .page_bits = 12,
                          .bytes_of_gpu = gpu_bytes,
                          .bytes_of_cpu = 64 * kMiB,
                          .frames = PolicyChoice<FrameAllocator>("contiguity_conserving"),
                          .large_size = large_size});
  }
  // Page by page, alternating between the applications.
  void place(InitialMemory& memory) const {
    std::vector<std::vector<std::uint64_t>> pages(2);
    for (std::uint32_t a = 0; a < 2; ++a)
      for (auto const& b : memory.buffers(a))
        for (std::uint64_t i = 0; i < b.count; ++i) pages[a].push_back(b.first + i);
    for (std::size_t i = 0; i < pages[0].size(); ++i)
      for (auto const& of : pages)
        if (i < of.size()) REQUIRE(memory.place_near(of[i], {0, 1}, 0));
  }
};

std::uint64_t second(std::uint64_t page) {
  return (first_address_of(1) >> 12) + page;
}

}  // namespace

TEST_CASE("en masse: exactly the whole regions within each buffer, of all applications") {
  TwoApplications const two;
  auto const memory = two.memory(64 * kMiB);
  CHECK_FALSE(memory.large_pages().any());
  auto const large_regions = memory.large_regions();
  std::uint64_t const a = 5 * kMiB >> 12;
  CHECK(large_regions.size_of(a) == 0);
  CHECK(large_regions.size_of(3 * kRegion - 1) == 0);
  CHECK(large_regions.size_of(3 * kRegion) == 9);
  CHECK(large_regions.size_of(5 * kRegion - 1) == 9);
  CHECK(large_regions.size_of(5 * kRegion) == 0);
  CHECK(large_regions.size_of(16 * kMiB >> 12) == 0);
  CHECK(large_regions.size_of(second(2 * kRegion)) == 9);
  CHECK(large_regions.size_of(second(4 * kRegion - 1)) == 9);
  CHECK(large_regions.size_of(second(4 * kRegion)) == 0);
  CHECK(large_regions.size_of(2 * kRegion) == 0);
  CHECK(two.memory(64 * kMiB, 4).large_regions().size_of(a) == 4);
  CHECK_FALSE(two.memory(64 * kMiB, 18).large_regions().any());
}

TEST_CASE("pages placed before the first kernel preserve contiguity, and spaces do not share large frames") {
  TwoApplications const two;
  auto memory = two.memory(64 * kMiB);
  two.place(memory);
  std::map<std::uint64_t, std::uint64_t> space_of_large;
  memory.iommu_table().each_page([&](std::uint64_t page, PageTranslation const& t) {
    auto const frame = t.frame >> 12;
    auto const space = space_of_page(page, 12);
    CHECK(space_of_large.try_emplace(frame / kRegion, space).first->second == space);
    if (memory.large_regions().size_of(page) == 0) return;
    auto const start = memory.iommu_table().find(first_of(page, 9))->frame >> 12;
    CHECK(start % kRegion == 0);
    CHECK(frame == start + page % kRegion);
  });
  CHECK(memory.iommu_table().mapped_pages() == 10 * kMiB >> 12);
  CHECK(space_of_large.size() == 5);
}

TEST_CASE("the driver's allocators exclude the frames of initially placed pages") {
  TwoApplications const two;
  auto const gpu_bytes = 8 * kMiB;  // with 7 MiB for data: some pages are placed on the second GPU
  auto memory = two.memory(gpu_bytes);
  two.place(memory);
  PagingDriverSpec spec;
  spec.devices = memory.devices();
  spec.frames_per_gpu = InitialMemory::data_bytes(gpu_bytes) >> 12;
  spec.frames_of_cpu = InitialMemory::data_bytes(64 * kMiB) >> 12;
  spec.frames = PolicyChoice<FrameAllocator>("contiguity_conserving");
  spec.placed = &memory.placed();
  spec.preloaded = &memory.iommu_table();
  spec.spaces = two.applications.spaces();
  spec.applications = two.applications.names();
  spec.large_size = 9;
  spec.large_regions = memory.large_regions();
  System system;
  auto state = system.add<PagingDriver>("driver", spec).initial();
  std::vector<std::uint64_t> on(2);
  for (auto const& p : memory.placed()) {
    ++on[p.device];
    // Releasing a free frame would abort the program.
    state.memory.frames(p.device).release(offset_of(memory.iommu_table().find(p.page)->frame) >> 12);
  }
  CHECK(on == std::vector<std::uint64_t>{1792, 768});
  for (std::size_t gpu = 0; gpu < 2; ++gpu)
    CHECK(state.memory.frames(gpu).available() == spec.frames_per_gpu);
}

}  // namespace large_frames_test
