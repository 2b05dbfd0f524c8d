// SPDX-License-Identifier: Apache-2.0
// Memory of all devices of one driver before the first kernel: allocated frames, and page tables with one
// root per address space.
//
// - The page placement selects the device of each page (application_memory.hpp). A frame holds at most one
//   page.
// - Devices have the driver's own numbers: GPU n is device n, its CPU is kFirstCpu, anywhere in a cluster.
//   Frames are frames of the cluster's devices.
// - Pages that a program allocates (operation.hpp) have no frame yet. Placing one plans the device on which
//   the driver allocates later.
// - Errors: UserError from the constructor if the workloads exceed all memory, or if a buffer that a program
//   allocates shares a page with another buffer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "farfault/paging/fragmentation.hpp"
#include "farfault/paging/frame_allocator.hpp"
#include "farfault/paging/large_pages.hpp"
#include "farfault/paging/node_devices.hpp"
#include "farfault/paging/pages_in_ranges.hpp"
#include "farfault/protocols/applications.hpp"
#include "farfault/protocols/device_names.hpp"
#include "farfault/protocols/messages.hpp"
#include "farfault/translation/page_table.hpp"

namespace farfault {

struct PlacedPage {
  std::uint64_t page = 0;
  DeviceId device = 0;
  std::uint8_t size = 0;
};

class InitialMemory {
 public:
  struct Spec {
    Applications const* applications = nullptr;
    NodeDevices devices;
    DeviceNames const* names = nullptr;  // of all devices; null: kinds and numbers
    unsigned page_bits = 12;
    std::uint64_t bytes_of_gpu = 0;
    std::uint64_t bytes_of_cpu = 0;
    PolicyChoice<FrameAllocator> frames{"on_demand"};
    LargePages::Choice large{};
    unsigned large_size = 9;        // log2 of the base pages of a large frame, regardless of `large`
    bool coalesces = false;         // coalesce base pages in place (page_sizes.hpp)
    Fragmentation fragmentation{};  // per GPU
    MemoryParts parts{};            // of a GPU's memory: partitions, in blocks of bytes
    NodePlaces tables{};            // places of a GPU's page tables
  };

  explicit InitialMemory(Spec const& spec);

  // Bytes of a memory that hold data, from its start; the last eighth holds page tables.
  static std::uint64_t data_bytes(std::uint64_t memory) { return memory / 8 * 7; }

  NodeDevices const& devices() const { return spec_.devices; }
  std::uint32_t gpus() const { return static_cast<std::uint32_t>(gpu_tables_.size()); }
  // Name that users see, by the driver's device number.
  std::string name_of_device(DeviceId device) const {
    return name_of(spec_.names, device >= kFirstCpu ? spec_.devices.cpu() : spec_.devices.gpu(device));
  }
  unsigned page_bits() const { return spec_.page_bits; }
  Applications const& applications() const { return *spec_.applications; }
  // Buffers of an application, indexed as in its workload.
  std::vector<PageRange> const& buffers(std::uint32_t application) const { return buffers_[application]; }
  bool is_in_buffer(std::uint64_t page) const;
  LargePages const& large_pages() const { return large_; }
  // Aligned regions of the size of a large frame that are wholly in one buffer, of all applications, which
  // allocate them en masse.
  LargePages large_regions() const;
  // The buffers of all applications.
  std::vector<PageRange> all_buffers() const;

  // Maps the page that contains base page `page` to a frame of the device; false if its memory is full.
  // Without a free large frame, a large page is mapped as base pages.
  [[nodiscard]] bool place(std::uint64_t page, DeviceId device);
  // The same on GPU gpus[n] or, if its memory is full, on the next of `gpus` with room, then on any other
  // GPU, then on the CPU; false if all are full.
  [[nodiscard]] bool place_near(std::uint64_t page, std::vector<std::uint32_t> const& gpus, std::uint32_t n);
  // Device on which a page is placed or planned.
  std::optional<DeviceId> place_of(std::uint64_t page) const {
    if (auto const* planned = planned_.find(page))
      return *planned == kNotPlanned ? std::nullopt : std::optional(*planned);
    auto const found = iommu_table_.find(page);
    if (!found) return std::nullopt;
    auto const owner = device_of(found->frame);
    return owner >= kFirstCpu ? kFirstCpu : static_cast<DeviceId>(spec_.devices.number_of(owner));
  }

  // Maps a page outside all buffers, which never moves, at an offset in a GPU's memory beyond its data.
  void map_fixed(std::uint64_t page, std::uint32_t gpu, std::uint64_t offset);

  // A GPU's table has the pages in its memory, and after map_remotely() the pages of other devices, too.
  PageTable const& gpu_table(std::uint32_t gpu) const { return gpu_tables_[gpu]; }
  void map_remotely();
  PageTable const& iommu_table() const { return iommu_table_; }
  // In placement order.
  std::vector<PlacedPage> const& placed() const { return placed_; }
  // Pages that wait for their first touch, from the start or from their allocation.
  std::uint64_t unmapped_pages() const;
  PlannedPages const& planned() const { return planned_; }
  // Pages of buffers that the host wrote.
  std::vector<PageRange> host_written() const;

  // After the placement: coalesces base pages on GPUs into large pages (page_table.hpp), if the specification
  // enables it.
  void coalesce();
  std::uint64_t coalesced() const { return coalesced_; }

  // After the placement: allocates a CPU frame, which holds the host's contents, for every page that an
  // operation copies (operation.hpp). Errors: UserError if memory is too small for these pages and the pages
  // still to be placed.
  void place_host_pages();
  HostPages const& host_pages() const { return host_pages_; }

 private:
  FrameAllocator& frames_of(DeviceId device) {
    return device >= kFirstCpu ? *cpu_frames_ : *gpu_frames_[device];
  }
  void find_buffers();
  DeviceId nearest_with_room(std::vector<std::uint32_t> const& gpus, std::uint32_t n) const;
  std::vector<PageRange> allocated_pages() const;
  std::uint64_t needed_pages() const;
  void check_room() const;
  std::uint64_t all_pages() const;
  // True if a program allocates the page, which then gets no frame.
  bool plan(std::uint64_t first, unsigned size, DeviceId device);
  bool place_large(std::uint64_t page, unsigned size, DeviceId device);
  bool place_base(std::uint64_t page, DeviceId device);
  void map(std::uint64_t page, DeviceId device, std::uint64_t frame, unsigned size);

  Spec spec_;
  std::vector<std::vector<PageRange>> buffers_;  // indexed by application
  LargePages large_;
  std::vector<Policy<FrameAllocator>> gpu_frames_;
  Policy<FrameAllocator> cpu_frames_;
  std::vector<PageTable> gpu_tables_;
  PageTable iommu_table_;
  std::vector<PlacedPage> placed_;
  PlannedPages planned_;
  HostPages host_pages_;
  std::uint64_t coalesced_ = 0;
  std::uint64_t fixed_ = 0;  // pages of map_fixed()
};

}  // namespace farfault
