// SPDX-License-Identifier: Apache-2.0
// Machines of the small world (page_world.hpp), and the requests that cause each change of a page.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "page_search.hpp"

namespace farfault::page_world {

inline constexpr DeviceId kUnmapped = 0xfffe;  // home of a page that is not mapped at the start

// Pages 0 and 1 on the given devices; each GPU has `frames` frames. Call place_pages() last.
struct Machine {
  PagingDriverSpec spec;
  PageNumbers numbers;
  std::array<DeviceId, kPages> homes;
  std::vector<PlacedPage> placed;
  PageTable table;
  HostPages host_pages;
  PlannedPages planned;

  Machine(std::array<DeviceId, kPages> const& at, std::uint64_t frames, std::uint32_t spaces = 1)
      : numbers(spaces), homes(at), table(0, kPageBits, spaces) {
    spec.spaces = spaces;
    spec.params.migrations = kPages;
    spec.params.fault_latency = spec.params.notify_latency = spec.params.allocation_latency =
        Duration::zero();
    spec.page_bits = kPageBits;
    spec.devices = NodeDevices(kGpus);
    spec.frames_per_gpu = frames;
    spec.frames_of_cpu = kPages;
    spec.iommus = kIommus;
    spec.iommu_of_gpu = {0, 1, 1};
    spec.decide_by(PolicyChoice<PageDecision>("migrate"));
    spec.application_of_space.assign(spaces, 0);
  }
  Machine(Machine const&) = delete;
  Machine& operator=(Machine const&) = delete;

  // Faults are served in batches, and a GPU whose memory is full evicts single pages.
  void with_batches(std::string const& replay) {
    auto& batch = spec.batch;
    batch.replay = PolicyChoice<FaultReplay>(replay);
    batch.time = batch.block_time = batch.page_time = batch.prefetched_page_time = Duration::zero();
    batch.first_touch_time = batch.least_stay = Duration::zero();
    batch.thrashing_moves = 0;  // time stands still, so a page that thrashes would stay forever
    batch.prefetch = PolicyChoice<Prefetcher>("none");
    batch.eviction_order = PolicyChoice<EvictionOrder>("lru");
    batch.eviction_unit = ByteSize{std::uint64_t{1} << kPageBits};
    spec.in_batches = true;
    if (spec.spaces == 1)
      spec.buffers = {{kFirst, kPages}};
    else
      spec.buffers = {{numbers.of(0), 1}, {numbers.of(1), 1}};
  }
  // A program frees this page, or the large page.
  void with_program(std::uint64_t page) {
    auto const pages = spec.large.any() ? PageRange{kFirst, kPages} : PageRange{numbers.of(page), 1};
    planned = PlannedPages({pages}, DeviceId{0});
    spec.host_pages = &host_pages;
    spec.planned = &planned;
    spec.application_of_stream = {0};
  }
  // Pages 0 and 1 are one large page.
  void with_large_page() {
    spec.large = LargePages(1, {{kFirst, kPages}});
    spec.large_size = 1;
    spec.batch.eviction_unit = ByteSize{kPages << kPageBits};
    spec.params.migrations = 4;
  }
  void with_coalescing(std::string const& page_sizes) {
    spec.frames = PolicyChoice<FrameAllocator>("contiguity_conserving");
    spec.page_sizes = PolicyChoice<PageSizes>(page_sizes);
    spec.params.migrations = 4;
    spec.coalesces = true;
    spec.moves_to_coalesce = page_sizes == "migrating_coalescer";
    spec.large_size = 1;
  }
  // In frames that the driver's allocators will select in this order.
  void place_pages() {
    auto const memory = spec.gpu_memory();
    PolicyArray<FrameAllocator> frames;
    for (std::uint64_t d = 0; d <= kGpus; ++d) frames.add(spec.frames.make(memory));
    if (spec.large.any() && homes[0] != kUnmapped) {
      auto const device = homes[0];
      placed.push_back({kFirst, device, 1});
      table.map(kFirst,
                physical(device, *frames[device >= kFirstCpu ? kGpus : device].allocate_large(kFirst, 1)
                                     << kPageBits),
                1);
    }
    for (std::uint64_t p = 0; p < kPages && !spec.large.any(); ++p) {
      auto const device = homes.at(p);
      if (device == kUnmapped) continue;
      placed.push_back({numbers.of(p), device, 0});
      auto& of_device = frames[device >= kFirstCpu ? kGpus : device];
      auto const frame = of_device.allocate(numbers.of(p));
      table.map(numbers.of(p), physical(device, frame << kPageBits));
    }
    if (spec.coalesces && table.can_coalesce(kFirst)) {
      table.coalesce(kFirst);
      spec.coalesced_at_start = 1;
    }
    spec.placed = &placed;
    spec.preloaded = &table;
  }
};

inline Request read(std::uint64_t gpu, std::uint64_t page) {
  return {Request::Kind::read, static_cast<std::uint8_t>(gpu), static_cast<std::uint8_t>(page)};
}
inline Request write(std::uint64_t gpu, std::uint64_t page) {
  return {Request::Kind::write, static_cast<std::uint8_t>(gpu), static_cast<std::uint8_t>(page)};
}
// The GPU's access counters report the frame of the page.
inline Request count(std::uint64_t gpu, std::uint64_t page) {
  return {Request::Kind::count, static_cast<std::uint8_t>(gpu), static_cast<std::uint8_t>(page)};
}
inline Request free_of(std::uint64_t page) {
  return {Request::Kind::free, 0, static_cast<std::uint8_t>(page)};
}

constexpr bool is_of_copies(Change c) {
  return c == Change::copy || c == Change::collapse || c == Change::evict_home;
}
constexpr bool is_of_sizes(Change c) {
  return c == Change::coalesce || c == Change::splinter;
}

// The change of a page that is on GPU `home` or unmapped, caused by the next GPU or the one after it.
inline std::vector<Request> requests_for(Change change, std::uint64_t page, std::uint64_t home,
                                         bool by_next) {
  auto const other = (home + (by_next ? 1U : 2U)) % kGpus;
  auto const third = (home + (by_next ? 2U : 1U)) % kGpus;
  switch (change) {
    case Change::first_touch:
    case Change::copy:
      return {read(other, page)};
    case Change::move:
    case Change::splinter:
      return {write(other, page)};
    case Change::collapse:
      return {read(other, page), write(third, page)};
    case Change::evict_home:  // its GPU has one frame
      return {read(other, page), read(home, 1 - page)};
    case Change::coalesce:  // the other base page is on GPU 0
      return {write(0, page)};
    case Change::free:
      return {free_of(page)};
  }
  return {};
}

inline std::string_view name_of(Change c) {
  static constexpr std::array<std::string_view, kChanges> kNames{
      "first touch", "move", "copy", "collapse", "eviction of the home", "coalesce", "splinter", "free"};
  return kNames.at(static_cast<std::size_t>(c));
}

}  // namespace farfault::page_world
