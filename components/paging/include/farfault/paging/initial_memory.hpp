// SPDX-License-Identifier: Apache-2.0
// The memory of all devices of one driver before the first kernel: the frames that are allocated, and the
// page tables, with a root for each address space. What lies in which frame is the placement's choice
// (application_memory.hpp); no frame is given to two pages.
//
// Devices are named by the driver's own numbers: GPU n is device n, and its CPU kFirstCpu, wherever they are
// in a cluster; frames are those of the cluster's devices.
//
// Pages that a program allocates (operation.hpp) are in no frame yet: placing one plans the device of which
// the driver takes a frame then.
//
// Errors: UserError from the constructor where the workloads are larger than all memory, or what a program
// allocates shares a page with another buffer.
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
    unsigned large_size = 9;        // of a large frame: log2 of its base pages, whatever `large` chooses
    bool coalesces = false;         // base pages that are where those of a large page would be
    Fragmentation fragmentation{};  // of the memory of each GPU
  };

  explicit InitialMemory(Spec const& spec);

  // The upper eighth of a memory is for page tables: the first bytes, which are for data.
  static std::uint64_t data_bytes(std::uint64_t memory) { return memory / 8 * 7; }

  NodeDevices const& devices() const { return spec_.devices; }
  std::uint32_t gpus() const { return static_cast<std::uint32_t>(gpu_tables_.size()); }
  // What users see a device called, by its number here.
  std::string name_of_device(DeviceId device) const {
    return name_of(spec_.names, device >= kFirstCpu ? spec_.devices.cpu() : spec_.devices.gpu(device));
  }
  unsigned page_bits() const { return spec_.page_bits; }
  Applications const& applications() const { return *spec_.applications; }
  // Of an application, by buffer of its workload.
  std::vector<PageRange> const& buffers(std::uint32_t application) const { return buffers_[application]; }
  bool is_in_buffer(std::uint64_t page) const;
  LargePages const& large_pages() const { return large_; }
  // The regions of the size of a large frame that lie wholly in one buffer, of all applications: what these
  // allocate en masse.
  LargePages en_masse() const;

  // Maps the page that holds base page `page` in a frame of the device; false when its memory is full. A
  // large page for which it has no large frame is mapped as base pages.
  [[nodiscard]] bool place(std::uint64_t page, DeviceId device);
  // On GPU gpus[n] or, where its memory is full, on the next of these that has room, then on any other, and
  // on the CPU last; false when all are full.
  [[nodiscard]] bool place_near(std::uint64_t page, std::vector<std::uint32_t> const& gpus, std::uint32_t n);
  // Where a page was placed, or is planned.
  std::optional<DeviceId> place_of(std::uint64_t page) const {
    if (auto const* planned = planned_.find(page))
      return *planned == kNotPlanned ? std::nullopt : std::optional(*planned);
    auto const found = iommu_table_.find(page);
    if (!found) return std::nullopt;
    auto const owner = device_of(found->frame);
    return owner >= kFirstCpu ? kFirstCpu : static_cast<DeviceId>(spec_.devices.number_of(owner));
  }

  PageTable const& gpu_table(std::uint32_t gpu) const { return gpu_tables_[gpu]; }
  PageTable const& iommu_table() const { return iommu_table_; }
  // In the order of placing.
  std::vector<PlacedPage> const& placed() const { return placed_; }
  // Those that wait for their first touch, from the start or from when they are allocated.
  std::uint64_t unmapped_pages() const;
  PlannedPages const& planned() const { return planned_; }
  // The pages of buffers whose contents the host wrote.
  std::vector<PageRange> host_written() const;

  // Makes large pages of base pages on GPUs, after the placement, where the specification says so and they
  // can be coalesced (page_table.hpp). Their number.
  void coalesce();
  std::uint64_t coalesced() const { return coalesced_; }

  // Gives every page that an operation copies (operation.hpp) a frame of the CPU, where the host has its
  // contents; after the placement. Errors: UserError where memory is too small for these and for the pages
  // that are still to be placed.
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
  // Whether a program allocates the page, which gets no frame then.
  bool plan(std::uint64_t first, unsigned size, DeviceId device);
  bool place_large(std::uint64_t page, unsigned size, DeviceId device);
  bool place_base(std::uint64_t page, DeviceId device);
  void map(std::uint64_t page, DeviceId device, std::uint64_t frame, unsigned size);

  Spec spec_;
  std::vector<std::vector<PageRange>> buffers_;  // by application
  LargePages large_;
  std::vector<Policy<FrameAllocator>> gpu_frames_;
  Policy<FrameAllocator> cpu_frames_;
  std::vector<PageTable> gpu_tables_;
  PageTable iommu_table_;
  std::vector<PlacedPage> placed_;
  PlannedPages planned_;
  HostPages host_pages_;
  std::uint64_t coalesced_ = 0;
};

}  // namespace farfault
