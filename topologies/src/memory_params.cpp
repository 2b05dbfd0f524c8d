// SPDX-License-Identifier: Apache-2.0
// The section `memory`, and values derived from it.
#include <bit>

#include "farfault/topologies/assembly.hpp"

namespace farfault::topologies {

void MemoryParams::describe(ParamTable& t) {
  t.bytes("page_size", page_size, {ByteSize{4096}, ByteSize{2 * 1024 * 1024}},
          "bytes of a page, a base page where there are large ones: 4KiB, 64KiB or 2MiB",
          "GMMU Bypass, section 5.1: 4 KB");
  t.count("train", train, {1, 16},
          "most cache lines that travel as one message, where a warp accesses lines that follow each other: "
          "each takes the time that it takes alone, but no others come between them; 1: each line by itself",
          "a choice of the simulator, for speed: bench/studies/trains has what it changes");
  page_sizes.describe(t, "page_sizes", "how large pages are, and whether base pages become large ones",
                      "GMMU Bypass, section 5.1: one page size");
  t.text("large_pages", large_pages,
         "the buffers of the workload that have large pages, where these lie wholly in them: none, all, or "
         "names separated by commas",
         "GMMU Bypass, section 5.1: one page size");
  t.bytes(
      "large_page_size", large_page_size, {ByteSize{4096}, ByteSize{1 << 30}},
      "bytes of a large page, a leaf one level or two above base pages: 512 of them, or 512 x 512; of 64KiB "
      "32, or 32 x 512",
      "x86-64, AMD64 manual volume 2: 2 MiB");
  placement.describe(t, "placement", "where a page lies before the first kernel",
                     "MGPUSim 4.2, driver: a unified device takes pages from its GPUs in turn");
  frame_allocation.describe(t, "frame_allocation", "which free frame a page gets",
                            "assumed: as Linux keeps free pages per CPU");
  t.choice(
      "first_touch_by", first_touch_by, {{"driver", FirstTouchBy::driver}, {"iommu", FirstTouchBy::iommu}},
      "who maps a page at its first touch: the driver, which spends driver.fault_latency on each, one at "
      "a time, or the IOMMU itself, once its walk has found no mapping",
      "assumed: a page fault goes to the driver");
  t.flag(
      "first_touch_copy", first_touch_copy,
      "whether a page that the host wrote is copied from the CPU's memory to the GPU before it is mapped at "
      "its first touch; else its contents are taken to be there. Buffers that kernels write before they "
      "read them have no contents to copy",
      "assumed");
  remote_touch.describe(t, "remote_touch", "what the access to a page in another device's memory does",
                        "GMMU Bypass, section 2.2: direct cache access, page migration");
  fault_path.describe(t, "fault_path", "who keeps the record of a fault, and tells the driver of it",
                      "assumed: PCIe ATS, where the IOMMU has a page request queue; NVIDIA: gpu");
  scope.describe(t, "scope", "which machines of a cluster share one memory, one host and one driver",
                 "assumed: machines without a common operating system share no page tables");
  t.number(
      "gpu_share", gpu_share, {0.0001, 1},
      "memory of all GPUs together as a share of the buffers of all workloads, where pages come and leave in "
      "batches; 1: as much as gpu.dram.capacity has",
      "none: all of it; Batch-aware unified memory (ASPLOS 2020), section 5.1: 0.5 and 0.75");
  compaction.describe(
      t, "compaction",
      "whether pages are moved within a GPU's memory, so that a large frame is free for a page "
      "that needs one: one that is touched first, allocated or migrated during the run",
      "assumed: pages stay in their frames");
  t.number(
      "compaction_threshold", compaction_threshold, {0, 1},
      "a large frame can be emptied if less than this share of its frames is in use, or one frame; others "
      "get further pages if no large frame is free and none can be emptied; nothing is emptied before the "
      "first kernel",
      "assumed: above the 75 % at which large frames are still compacted in section 6.4 of Mosaic (MICRO "
      "2017); section 4.4 calls it configurable");
  t.flag(
      "moves_stall_gpu", moves_stall_gpu,
      "whether all SMs of a GPU stop issuing while pages are moved within its memory; else only accesses "
      "to these pages wait",
      "Mosaic (MICRO 2017), section 5, of compaction: stalling the entire GPU; with a coalescer that moves "
      "pages, SMs stop for a part of the time (its Fig. 6a)");
  t.number("fragmentation_index", fragmentation_index, {0, 1},
           "share of the large frames of each GPU that hold data of no application from the start",
           "none: Mosaic (MICRO 2017), section 6.4, varies it");
  t.number("fragmentation_occupancy", fragmentation_occupancy, {0, 1},
           "share of each of these large frames that such data takes",
           "Mosaic (MICRO 2017), section 6.4: 50%");
  t.count("fragmentation_seed", fragmentation_seed, {0, UINT64_MAX},
          "number that the places of such data are drawn by", "a choice of the simulator");
}

LargePages::Choice MemoryParams::large() const {
  if (!page_sizes.why_not({}).empty()) return {};
  auto const sizes = page_sizes.make({});
  return {sizes->large_buffers(large_pages), large_frame_size(), sizes->rounds_up()};
}

std::string MemoryParams::says_large_pages() const {
  bool const by_buffer = page_sizes.make({})->large_buffers("chosen") == "chosen";
  return by_buffer ? "memory.large_pages = " + shown(large_pages)
                   : "memory.page_sizes = " + page_sizes.name();
}

unsigned MemoryParams::large_size() const {
  return has_large_pages() || coalesces() ? large_frame_size() : 0;
}

unsigned MemoryParams::large_frame_size() const {
  auto const size = std::countr_zero(large_page_size.bytes) - std::countr_zero(page_size.bytes);
  bool const is_level = std::has_single_bit(large_page_size.bytes) && size > 0 &&
                        PageLevels(page_bits()).level_of(static_cast<unsigned>(size)).has_value();
  return is_level ? static_cast<unsigned>(size) : 0;
}

}  // namespace farfault::topologies
