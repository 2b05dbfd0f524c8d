// SPDX-License-Identifier: Apache-2.0
// The section `memory`, and values derived from it.
#include <bit>

#include "farfault/protocols/facts.hpp"
#include "farfault/topologies/machine_config.hpp"

namespace farfault::topologies {

void MemoryParams::describe(ParamTable& t) {
  t.bytes("page_size", page_size, {ByteSize{4096}, ByteSize{2 * 1024 * 1024}},
          "Base page size: 4KiB, 64KiB or 2MiB", "GMMU Bypass (NPC 2020), section 5.1: 4 KB");
  t.count("train", train, {1, 16},
          "Maximum consecutive lines per simulator message; timing is kept per line, interleaving is not. 1: "
          "single lines",
          "simulator setting for speed; its effect is measured in bench/studies/trains");
  page_sizes.describe(t, "page_sizes", "Page-size and coalescing policy",
                      "GMMU Bypass (NPC 2020), section 5.1: one page size");
  t.text("large_pages", large_pages,
         "Buffers with large pages, where a whole one fits: none, all, or names separated by commas",
         "GMMU Bypass (NPC 2020), section 5.1: one page size")
      .only_when(facts::kBuffersAreChosen);
  t.bytes("large_page_size", large_page_size, {ByteSize{4096}, ByteSize{1 << 30}},
          "Large page size: 512 or 512 x 512 base pages, with 64KiB base pages 32 or 32 x 512",
          "x86-64, AMD64 manual volume 2: 2 MiB")
      .only_when(facts::kLargePages);
  placement.describe(t, "placement", "Page placement before the first kernel",
                     "MGPUSim 4.2, driver: a unified device takes pages from its GPUs round-robin");
  frame_allocation.describe(t, "frame_allocation", "Frame allocator",
                            "assumed: as Linux's free pages per CPU");
  t.choice("page_tables", page_tables,
           {{"in_order", TablePlaces::in_order, "in order of their creation, regardless of partitions"},
            {"with_data", TablePlaces::with_data, "in the partition of the first page that they map"},
            {"with_tlb", TablePlaces::with_tlb,
             "in the partition of the bank of the last gpu.translation.level that has this page"}},
           "Places of a GPU's page tables in its memory",
           "assumed: in_order; MGvm (MICRO 2022): with_tlb, its baselines with_data")
      .only_when(facts::kChiplets);
  t.choice("first_touch_by", first_touch_by,
           {{"driver", FirstTouchBy::driver, "the driver, after a fault of driver.fault_latency"},
            {"iommu", FirstTouchBy::iommu, "the IOMMU, after its walk"}},
           "Component that maps a page at first touch", "assumed: a page fault is handled by the driver")
      .only_when(facts::kFirstTouch);
  t.flag("first_touch_copy", first_touch_copy,
         "Copy host-written pages from CPU memory to the GPU at first touch. false: contents are assumed to "
         "be present",
         "assumed")
      .only_when(facts::kFirstTouch);
  remote_touch.describe(t, "remote_touch", "Remote-access policy",
                        "GMMU Bypass (NPC 2020), section 2.2: direct cache access, page migration");
  fault_path
      .describe(t, "fault_path", "Fault path: component that records faults and notifies the driver",
                "assumed: PCIe ATS, where the IOMMU has a page request queue; NVIDIA: gpu")
      .only_when(facts::kReplays);
  scope
      .describe(t, "scope", "Machines of a cluster that share one memory, host and driver",
                "assumed: machines without a common operating system share no page tables")
      .only_when(facts::kCluster);
  t.number(
       "gpu_share", gpu_share, {0.0001, 1},
       "Total GPU memory as a fraction of all workloads' buffers, with batched faults. 1: gpu.dram.capacity",
       "none: all of it; Batch-aware unified memory (ASPLOS 2020), section 5.1: 0.5 and 0.75")
      .only_when(facts::kBatches);
  compaction.describe(
      t, "compaction",
      "Compaction within GPU memory, to free a large frame for a page that needs one during the run",
      "assumed: no compaction");
  t.number("compaction_threshold", compaction_threshold, {0, 1},
           "Occupied fraction below which compaction may empty a large frame. One with a single used frame "
           "always qualifies",
           "assumed: above the 75% at which large frames are still compacted in section 6.4 of Mosaic (MICRO "
           "2017); section 4.4 calls it configurable")
      .only_when(facts::kCompaction);
  t.flag(
       "moves_stall_gpu", moves_stall_gpu,
       "Stall all SMs of a GPU while pages move within its memory. false: only accesses to these pages stall",
       "Mosaic (MICRO 2017), section 5, compaction: the entire GPU stalls; Fig. 6a, migrating coalescer: SMs "
       "stall for a part of the time")
      .only_when(facts::kRelocations);
  t.number(
      "fragmentation_index", fragmentation_index, {0, 1},
      "Fragmentation index: fraction of each GPU's large frames with data of no application from the start",
      "none: Mosaic (MICRO 2017), section 6.4, varies it");
  t.number("fragmentation_occupancy", fragmentation_occupancy, {0, 1},
           "Occupied fraction of each fragmented large frame", "Mosaic (MICRO 2017), section 6.4: 50%")
      .only_when(sibling("fragmentation_index").is_above(0));
  t.count("fragmentation_seed", fragmentation_seed, {0, UINT64_MAX}, "Random seed of the occupied frames",
          "simulator setting")
      .only_when(sibling("fragmentation_index").is_above(0));
}

LargePages::Choice MemoryParams::large() const {
  using LargeBuffers = PageSizes::LargeBuffers;
  auto const sizes = page_sizes.facts();
  auto const buffers = sizes.large_buffers;
  return {buffers == LargeBuffers::chosen ? large_pages
          : buffers == LargeBuffers::all  ? "all"
                                          : "none",
          large_frame_size(), sizes.rounds_up};
}

std::string MemoryParams::large_pages_setting() const {
  bool const by_buffer = page_sizes.facts().large_buffers == PageSizes::LargeBuffers::chosen;
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
