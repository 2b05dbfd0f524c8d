// SPDX-License-Identifier: Apache-2.0
#include "farfault/paging/initial_memory.hpp"

#include <algorithm>

#include "farfault/engine/units.hpp"

namespace farfault {

InitialMemory::InitialMemory(Spec const& spec) : spec_(spec) {
  find_buffers();
  auto const gpu_data = data_bytes(spec.bytes_of_gpu);
  auto const cpu_data = data_bytes(spec.bytes_of_cpu);
  auto const spaces = spec.applications->spaces();
  FrameAllocator::Setup memory{.frames = gpu_data >> spec.page_bits,
                               .page_bits = spec.page_bits,
                               .spaces = spaces,
                               .large_size = spec.large_size,
                               .large_regions = large_regions(),
                               .parts = parts_of_frames(spec.parts, spec.page_bits),
                               .buffers = all_buffers()};
  for (std::uint32_t g = 0; g < spec.devices.gpus(); ++g) {
    gpu_frames_.push_back(spec_.frames.make(memory));
    spec_.fragmentation.occupy(*gpu_frames_.back(), memory, g);
    gpu_tables_.emplace_back(physical(spec.devices.gpu(g), gpu_data), spec.page_bits, spaces, spec.tables);
  }
  memory.parts = {};
  memory.frames = cpu_data >> spec.page_bits;
  cpu_frames_ = spec_.frames.make(memory);
  iommu_table_ = PageTable(physical(spec.devices.cpu(), cpu_data), spec.page_bits, spaces);
  check_room();
  large_ = LargePages(spec.large, *spec.applications, buffers_);
  planned_ = PlannedPages(allocated_pages(), kNotPlanned);
}

void InitialMemory::find_buffers() {
  for (auto const& application : applications()) {
    auto& ranges = buffers_.emplace_back();
    for (auto const& buffer : application.workload->buffers()) {
      FF_CHECK(buffer.base + buffer.bytes <= first_address_of(1),
               "a buffer ends beyond the 48-bit address space");
      auto const base = first_address_of(application.space) + buffer.base;
      auto const first = base >> spec_.page_bits;
      auto const pages = ((base + buffer.bytes - 1) >> spec_.page_bits) - first + 1;
      ranges.push_back({first, pages});
    }
  }
}

LargePages InitialMemory::large_regions() const {
  std::vector<PageRange> ranges;
  for (auto const& buffers : buffers_)
    for (auto const& b : buffers)
      if (auto const whole = whole_pages(b, spec_.large_size); whole.count != 0) ranges.push_back(whole);
  return {spec_.large_size, std::move(ranges)};
}

std::vector<PageRange> InitialMemory::all_buffers() const {
  std::vector<PageRange> all;
  for (auto const& buffers : buffers_) all.insert(all.end(), buffers.begin(), buffers.end());
  return all;
}

// Required base pages: buffers that exist for the whole run, plus the maximum that one program allocates at a
// time. The maximum is exact for a program with one stream; with several streams its largest buffer is a
// lower bound.
std::uint64_t InitialMemory::needed_pages() const {
  std::uint64_t stays = 0, most = 0;
  for (std::uint32_t a = 0; a < buffers_.size(); ++a) {
    auto const& workload = *applications()[a].workload;
    std::uint64_t now = 0;
    std::vector<bool> allocated(buffers_[a].size());
    for (auto const& o : workload.operations()) {
      if (!o.is_allocation()) continue;
      auto const b = workload.buffer_at(o.first);
      allocated[b] = true;
      auto const pages = buffers_[a][b].count;
      now = o.kind == OperationKind::allocate ? now + pages : now - pages;
      most = std::max(most, workload.streams() == 1 ? now : pages);
    }
    for (std::size_t b = 0; b < buffers_[a].size(); ++b) stays += allocated[b] ? 0 : buffers_[a][b].count;
  }
  return stays + most;
}

void InitialMemory::check_room() const {
  if (needed_pages() <= all_pages()) return;
  auto const& first = *applications()[0].workload;
  throw UserError(
      (buffers_.size() > 1 ? "the applications need at least "
                           : "workload '" + first.name() + "' needs at least ") +
      to_text(ByteSize{needed_pages() << spec_.page_bits}) + ", more than the machine's memory" +
      (spec_.fragmentation.any() ? ", less the pages occupied by memory.fragmentation_index" : "") +
      "; increase gpu.dram.capacity or cpu.dram.capacity");
}

std::uint64_t InitialMemory::all_pages() const {
  auto const of_gpu = data_bytes(spec_.bytes_of_gpu) >> spec_.page_bits;
  auto const occupied = spec_.fragmentation.frames({of_gpu, spec_.page_bits, 1, spec_.large_size});
  return (of_gpu - occupied) * gpus() + (data_bytes(spec_.bytes_of_cpu) >> spec_.page_bits);
}

std::vector<PageRange> InitialMemory::allocated_pages() const {
  std::vector<PageRange> allocated;
  for (std::uint32_t a = 0; a < buffers_.size(); ++a) {
    auto const& workload = *applications()[a].workload;
    for (auto const& o : workload.operations()) {
      if (o.kind != OperationKind::allocate) continue;
      auto const mine = workload.buffer_at(o.first);
      auto const& range = buffers_[a][mine];
      for (std::uint32_t other = 0; other < buffers_.size(); ++other)
        for (std::size_t b = 0; b < buffers_[other].size(); ++b) {
          auto const& r = buffers_[other][b];
          bool const apart = r.first + r.count <= range.first || range.first + range.count <= r.first;
          if (apart || (other == a && b == mine)) continue;
          throw UserError(
              "workload '" + workload.name() + "' allocates buffer '" + workload.buffers()[mine].name +
              "', which shares a page with buffer '" + applications()[other].workload->buffers()[b].name +
              "': a buffer that a program allocates must not share pages; reduce memory.page_size");
        }
      allocated.push_back(range);
    }
  }
  return allocated;
}

bool InitialMemory::plan(std::uint64_t first, unsigned size, DeviceId device) {
  if (planned_.find(first) == nullptr) return false;
  for (auto p = first; p - first < std::uint64_t{1} << size; ++p)
    if (auto* planned = planned_.find(p)) *planned = device;  // a buffer may end within its last large page
  return true;
}

void InitialMemory::map(std::uint64_t page, DeviceId device, std::uint64_t number, unsigned size) {
  auto const owner = device < kFirstCpu ? spec_.devices.gpu(device) : spec_.devices.cpu();
  auto const frame = physical(owner, number << spec_.page_bits);
  if (device < kFirstCpu) gpu_tables_[device].map(page, frame, size);
  iommu_table_.map(page, frame, size);
  placed_.push_back({page, device, static_cast<std::uint8_t>(size)});
}

bool InitialMemory::place_base(std::uint64_t page, DeviceId device) {
  auto& frames = frames_of(device);
  if (frames.empty()) return false;
  map(page, device, frames.allocate(page), 0);
  return true;
}

bool InitialMemory::place_large(std::uint64_t page, unsigned size, DeviceId device) {
  auto const frame = frames_of(device).allocate_large(page, size);
  if (frame) map(page, device, *frame, size);
  return frame.has_value();
}

DeviceId InitialMemory::nearest_with_room(std::vector<std::uint32_t> const& gpus, std::uint32_t n) const {
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    auto const g = gpus[(n + i) % gpus.size()];
    if (!gpu_frames_[g]->empty()) return static_cast<DeviceId>(g);
  }
  auto const other = std::ranges::find_if(gpu_frames_, [](auto const& frames) { return !frames->empty(); });
  return other == gpu_frames_.end() ? kFirstCpu : static_cast<DeviceId>(other - gpu_frames_.begin());
}

bool InitialMemory::place(std::uint64_t page, DeviceId device) {
  auto const size = large_.size_of(page);
  auto const first = first_of(page, size);
  if (size != 0 && iommu_table_.find(first)) return true;  // placed by another of its base pages
  if (plan(first, size, device)) return true;
  if (size != 0 && place_large(first, size, device)) return true;
  for (auto p = first; p - first < std::uint64_t{1} << size; ++p)
    if (!place_base(p, device)) return false;
  return true;
}

bool InitialMemory::place_near(std::uint64_t page, std::vector<std::uint32_t> const& gpus, std::uint32_t n) {
  auto const size = large_.size_of(page);
  auto const first = first_of(page, size);
  if (size != 0 && iommu_table_.find(first)) return true;
  if (plan(first, size, static_cast<DeviceId>(gpus[n]))) return true;
  if (size != 0 && place_large(first, size, nearest_with_room(gpus, n))) return true;
  for (auto p = first; p - first < std::uint64_t{1} << size; ++p)
    if (!place_base(p, nearest_with_room(gpus, n))) return false;
  return true;
}

void InitialMemory::coalesce() {
  if (!spec_.coalesces) return;
  for (auto const& p : placed_) {
    auto const first = first_of(p.page, iommu_table_.coalesced_size());
    if (p.device >= kFirstCpu || p.page != first || !iommu_table_.can_coalesce(first)) continue;
    iommu_table_.coalesce(first);
    gpu_tables_[p.device].coalesce(first);
    ++coalesced_;
  }
}

void InitialMemory::map_fixed(std::uint64_t page, std::uint32_t gpu, std::uint64_t offset) {
  auto const frame = physical(spec_.devices.gpu(gpu), offset);
  gpu_tables_[gpu].map(page, frame, 0);
  iommu_table_.map(page, frame, 0);
  ++fixed_;
}

void InitialMemory::map_remotely() {
  for (auto const& p : placed_) {
    auto const frame = iommu_table_.find_mapped(p.page)->frame;
    for (std::uint32_t g = 0; g < gpus(); ++g)
      if (g != p.device) gpu_tables_[g].map(p.page, frame, p.size);
  }
}

bool InitialMemory::is_in_buffer(std::uint64_t page) const {
  return std::ranges::any_of(buffers_, [page](auto const& buffers) {
    return std::ranges::any_of(buffers, [page](PageRange const& b) { return page - b.first < b.count; });
  });
}

std::vector<PageRange> InitialMemory::host_written() const {
  std::vector<PageRange> written;
  for (std::uint32_t a = 0; a < buffers_.size(); ++a)
    for (std::size_t b = 0; b < buffers_[a].size(); ++b)
      if (applications()[a].workload->buffers()[b].host_written) written.push_back(buffers_[a][b]);
  return written;
}

void InitialMemory::place_host_pages() {
  std::vector<PageRange> copied;
  for (auto const& application : applications())
    for (auto const& o : application.workload->operations()) {
      if (!o.is_copy()) continue;
      auto const base = first_address_of(application.space) + o.first;
      auto const first = base >> spec_.page_bits;
      copied.push_back({first, ((base + o.bytes - 1) >> spec_.page_bits) - first + 1});
    }
  host_pages_ = HostPages(std::move(copied), 0);
  auto const free = cpu_frames_->available();
  if (host_pages_.pages() > free)
    throw UserError(
        "copies between the host and GPUs need " + to_text(ByteSize{host_pages_.pages() << spec_.page_bits}) +
        " of CPU memory for the host's buffers, but only " + to_text(ByteSize{free << spec_.page_bits}) +
        " is free after page placement; increase cpu.dram.capacity");
  host_pages_.each([&](std::uint64_t page, std::uint64_t& frame) { frame = cpu_frames_->allocate(page); });
  if (host_pages_.empty()) return;
  auto const all = all_pages();
  auto const needed = needed_pages() + host_pages_.pages();
  if (needed > all)
    throw UserError("the workload's pages and the host's buffers of copies exceed the machine's memory by " +
                    to_text(ByteSize{(needed - all) << spec_.page_bits}) +
                    "; increase gpu.dram.capacity or cpu.dram.capacity");
}

std::uint64_t InitialMemory::unmapped_pages() const {
  std::uint64_t total = 0;
  for (auto const& buffers : buffers_)
    for (auto const& b : buffers) total += b.count;
  std::uint64_t planned = 0;
  planned_.each([&](std::uint64_t, DeviceId device) { planned += device == kNotPlanned ? 0 : 1; });
  // With rounded-up large pages, more pages may be mapped than buffers need.
  auto const known = planned + iommu_table_.mapped_pages() - fixed_;
  return total > known ? total - known : 0;
}

}  // namespace farfault
