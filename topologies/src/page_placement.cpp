// Which page is where at time zero: the placement policies that do not wait for a touch.
#include <algorithm>

#include "assembly_devices.hpp"

namespace farfault::topologies {

// Gives frames to the pages of all buffers, in order, as the placement policy says.
void Assembly::place_pages(PageMap const* recorded) {
  auto const gpus = static_cast<std::uint32_t>(gpus_.size());
  FF_CHECK(gpus > 0, "a machine without a GPU was not refused");
  for (std::uint32_t g = 0; g < gpus; ++g)
    gpu_tables_.emplace_back(physical(static_cast<DeviceId>(g), data_bytes(config_.dram)), page_bits_);
  iommu_table_ = PageTable(physical(kFirstCpu, data_bytes(config_.cpu.dram)), page_bits_);
  first_free_.assign(gpus, 0);

  auto const policy = config_.memory.placement;
  std::uint64_t total = 0;
  for (auto const& buffer : workload_.buffers()) {
    auto const first = buffer.base >> page_bits_;
    auto const pages = ((buffer.base + buffer.bytes - 1) >> page_bits_) - first + 1;
    total += pages;
    if (total > frames(config_.dram) * gpus + frames(config_.cpu.dram))
      throw UserError("workload '" + workload_.name() + "' needs " + std::to_string(total << page_bits_) +
                      " bytes or more, beyond the machine's memory (gpu.dram.capacity, cpu.dram_capacity)");
    if (policy == PlacementPolicy::first_touch || policy == PlacementPolicy::recorded) continue;
    for (std::uint64_t p = 0; p < pages; ++p) {
      std::optional<PhysAddr> frame;
      if (policy != PlacementPolicy::cpu) {
        auto const g = policy == PlacementPolicy::interleave ? (first + p) % gpus : p * gpus / pages;
        for (std::uint32_t i = 0; i < gpus && !frame; ++i)
          frame = take_frame(static_cast<DeviceId>((g + i) % gpus));
      }
      if (!frame) frame = take_frame(kFirstCpu);
      if (!frame)
        throw UserError("workload '" + workload_.name() +
                        "' needs more than the CPU's memory, where memory.placement = cpu puts it all "
                        "(cpu.dram_capacity)");
      map_page(first + p, *frame);
    }
  }
  if (policy == PlacementPolicy::recorded) {
    FF_CHECK(recorded != nullptr, "pages are to be placed as recorded, and no record is there");
    place_recorded(*recorded);
  }
  unmapped_pages_ = total - iommu_table_.mapped_pages();
}

std::optional<PhysAddr> Assembly::take_frame(DeviceId device) {
  bool const on_cpu = device >= kFirstCpu;
  auto& next = on_cpu ? first_free_cpu_ : first_free_[device];
  if (next == frames(on_cpu ? config_.cpu.dram : config_.dram)) return std::nullopt;
  return physical(device, next++ << page_bits_);
}

void Assembly::map_page(std::uint64_t page, PhysAddr frame) {
  if (device_of(frame) < kFirstCpu) gpu_tables_[device_of(frame)].map(page, frame);
  iommu_table_.map(page, frame);
}

// Frames are allocated in the order of the file. Pages that it does not name are mapped at their first touch.
void Assembly::place_recorded(PageMap const& map) {
  auto const name = [](DeviceId d) {
    return d < kFirstCpu ? "gpu" + std::to_string(d) : "cpu" + std::to_string(d - kFirstCpu);
  };
  for (auto const& m : map.pages) {
    if (m.device < kFirstCpu ? m.device >= gpus_.size() : m.device != kFirstCpu)
      map.refuse(m, "page " + std::to_string(m.page) + " is placed on " + name(m.device) +
                        ", but pages can be on gpu0 to " + name(static_cast<DeviceId>(gpus_.size() - 1)) +
                        " and on cpu0");
    auto const holds = [&](Buffer const& b) {
      return b.base >> page_bits_ <= m.page && m.page <= (b.base + b.bytes - 1) >> page_bits_;
    };
    if (!std::ranges::any_of(workload_.buffers(), holds))
      map.refuse(m, "page " + std::to_string(m.page) + " is in no buffer of workload '" + workload_.name() +
                        "': the map is of another workload, size or page size");
    auto const frame = take_frame(m.device);
    if (!frame)
      map.refuse(m, "page " + std::to_string(m.page) + " finds the memory of " + name(m.device) +
                        " full (gpu.dram.capacity, cpu.dram_capacity)");
    map_page(m.page, *frame);
  }
}

}  // namespace farfault::topologies
