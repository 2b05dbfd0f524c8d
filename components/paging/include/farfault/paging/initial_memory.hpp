// The memory of all devices of one driver before the first kernel: the frames that are allocated, and the
// page tables.
//
// Devices are named by the driver's own numbers: GPU n is device n, and its CPU kFirstCpu, wherever they are
// in a cluster; frames are those of the cluster's devices. Errors: UserError from the constructor where the
// workload is larger than all memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "farfault/paging/frame_allocator.hpp"
#include "farfault/paging/node_devices.hpp"
#include "farfault/protocols/messages.hpp"
#include "farfault/protocols/workload.hpp"
#include "farfault/translation/page_table.hpp"

namespace farfault {

struct PlacedPage {
  std::uint64_t page = 0;
  DeviceId device = 0;
};

// Consecutive pages.
struct PageRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

class InitialMemory {
 public:
  struct Spec {
    Workload const* workload = nullptr;
    NodeDevices devices;
    unsigned page_bits = 12;
    std::uint64_t bytes_of_gpu = 0;
    std::uint64_t bytes_of_cpu = 0;
    PolicyChoice<FrameAllocator> frames{"on_demand"};
  };

  explicit InitialMemory(Spec const& spec);

  // The upper eighth of a memory is for page tables: the first bytes, which are for data.
  static std::uint64_t data_bytes(std::uint64_t memory) { return memory / 8 * 7; }

  NodeDevices const& devices() const { return spec_.devices; }
  std::uint32_t gpus() const { return static_cast<std::uint32_t>(gpu_tables_.size()); }
  unsigned page_bits() const { return spec_.page_bits; }
  Workload const& workload() const { return *spec_.workload; }
  // By buffer of the workload.
  std::vector<PageRange> const& buffers() const { return buffers_; }

  // Maps the page in a frame of the device; false when its memory is full.
  bool place(std::uint64_t page, DeviceId device);
  // On the GPU or, where its memory is full, on the next one that has room, and on the CPU last; false when
  // all are full.
  bool place_near(std::uint64_t page, std::uint32_t gpu);

  PageTable const& gpu_table(std::uint32_t gpu) const { return gpu_tables_[gpu]; }
  PageTable const& iommu_table() const { return iommu_table_; }
  // In the order of placing.
  std::vector<PlacedPage> const& placed() const { return placed_; }
  std::uint64_t unmapped_pages() const;
  // The pages of buffers whose contents the host wrote.
  std::vector<PageRange> host_written() const;

 private:
  Spec spec_;
  std::vector<PageRange> buffers_;
  std::vector<Policy<FrameAllocator>> gpu_frames_;
  Policy<FrameAllocator> cpu_frames_;
  std::vector<PageTable> gpu_tables_;
  PageTable iommu_table_;
  std::vector<PlacedPage> placed_;
};

}  // namespace farfault
