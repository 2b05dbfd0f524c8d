// SPDX-License-Identifier: Apache-2.0
#include "farfault/paging/driver_memory.hpp"

namespace farfault {

DriverMemory::DriverMemory(PagingDriverSpec const& spec) : spec_(&spec) {
  table_ = spec.preloaded != nullptr ? *spec.preloaded : PageTable(0, spec.page_bits);
  auto memory = spec.gpu_memory();
  for (std::uint32_t g = 0; g < spec.devices.gpus(); ++g) {
    frames_.add(spec.frames.make(memory));
    spec.fragmentation.occupy(frames_[g], memory, g);
  }
  memory.frames = spec.frames_of_cpu;
  memory.parts = {};
  memory.max_moved = 0;
  cpu_frames_ = spec.frames.make(memory);
  if (spec.makes_copies) {
    copies_ = PageCopies(spec.page_bits, spec.spaces);
    remote_readers_ = PageDirectory(spec.page_bits, spec.spaces);
  }
  if (spec.placed != nullptr)
    for (auto const& p : *spec.placed)
      take(p.page, p.size, p.device < kFirstCpu ? spec.devices.gpu(p.device) : spec.devices.cpu());
  if (spec.host_pages != nullptr)
    spec.host_pages->each([&](std::uint64_t page, std::uint64_t) { cpu_frames_->allocate(page); });
  decides_ = spec.decision.facts().events.has(PageEventKind::fault);
  if (spec.counts_accesses) {
    owners_ = FrameOwners(spec.devices);
    if (spec.placed != nullptr)
      for (auto const& p : *spec.placed)
        if (auto const at = table_.find_mapped(p.page)) own(p.page, *at);
  }
  if (decides_ || spec.counts_accesses)
    decision_ = spec.decision.make({.page_bits = spec.page_bits,
                                    .spaces = spec.spaces,
                                    .buffers = spec.buffers,
                                    .events = {PageEventKind::fault, PageEventKind::counted}});
  page_sizes_ = spec.page_sizes.make({});
  for (std::uint64_t i = 0; i < spec.coalesced_at_start; ++i) page_sizes_->coalesced();
  page_sizes_->mapped(table_.mapped_pages());
}

bool DriverMemory::all_full() const {
  if (!cpu_frames_->empty()) return false;
  for (std::size_t g = 0; g < frames_.size(); ++g)
    if (!frames_[g].empty()) return false;
  return true;
}

PageState DriverMemory::state_of(std::uint64_t page) const {
  auto const found = home(page);
  if (!found) return PageState::unmapped;
  if (is_shared(page)) return PageState::shared;
  return device_of(found->frame) >= kFirstCpu ? PageState::hosted : PageState::resident;
}

bool DriverMemory::is_unallocated(std::uint64_t page) const {
  auto const* planned = spec_->planned != nullptr ? spec_->planned->find(page) : nullptr;
  return planned != nullptr && *planned != kNotPlanned;
}

bool DriverMemory::host_wrote(std::uint64_t page) const {
  return std::ranges::any_of(spec_->host_written,
                             [page](PageRange const& r) { return page - r.first < r.count; });
}

PhysAddr DriverMemory::frame_on(std::uint64_t page, DeviceId device) const {
  auto const found = home(page);
  return found ? frame_on(page, device, *found) : kNoFrame;
}

PageAction DriverMemory::decide(std::uint64_t page, PageTranslation const& home, DeviceId gpu, Access access,
                                FaultKind cause, bool is_prefetch) {
  if (!decides_ || allows(page, access, gpu, home)) return PageAction::stay;
  return decision_->decide({.kind = PageEventKind::fault,
                            .access = access,
                            .cause = cause,
                            .has_copies = is_shared(page),
                            .is_prefetch = is_prefetch,
                            .gpu = gpu,
                            .owner = device_of(home.frame),
                            .page = first_of(page, home.size)});
}

PageAction DriverMemory::decide_counted(std::uint64_t page, PageTranslation const& home, DeviceId gpu,
                                        std::uint32_t accesses) {
  return decision_->decide({.kind = PageEventKind::counted,
                            .has_copies = is_shared(page),
                            .gpu = gpu,
                            .owner = device_of(home.frame),
                            .accesses = accesses,
                            .page = first_of(page, home.size)});
}

void DriverMemory::own(std::uint64_t page, PageTranslation const& at) {
  auto const memory = memory_of(device_of(at.frame));
  auto const first = offset_of(at.frame) >> spec_->page_bits;
  for (std::uint64_t i = 0; i < std::uint64_t{1} << at.size; ++i)
    owners_.set(memory, first + i, first_of(page, at.size) + i);
}

PhysAddr DriverMemory::take_whole(std::uint64_t page, unsigned size, DeviceId device) {
  auto& frames = pool(device);
  if (size == 0)
    return frames.empty() ? kNoFrame : physical(device, frames.allocate(page) << spec_->page_bits);
  auto const large = frames.allocate_large(first_of(page, size), size);
  return large ? physical(device, *large << spec_->page_bits) : kNoFrame;
}

PageTranslation DriverMemory::take(std::uint64_t page, unsigned size, DeviceId device) {
  auto& frames = pool(device);
  if (size != 0)
    if (auto const large = frames.allocate_large(first_of(page, size), size))
      return {physical(device, *large << spec_->page_bits), static_cast<std::uint8_t>(size)};
  return {physical(device, frames.allocate(page) << spec_->page_bits), 0};
}

bool DriverMemory::runs_on(std::uint32_t application, std::uint32_t gpu) const {
  auto const& of = spec_->gpus_of_application;
  return of.empty() || std::ranges::binary_search(of[application], gpu);
}

PageTranslation DriverMemory::take_near(std::uint64_t page, unsigned size, DeviceId wanted,
                                        std::uint32_t application) {
  if (!pool(wanted).empty()) return take(page, size, wanted);
  auto const& devices = spec_->devices;
  auto const first = wanted >= kFirstCpu ? 0 : devices.number_of(wanted);
  for (bool const own : {true, false}) {
    for (std::uint32_t i = 0; i < devices.gpus(); ++i) {
      auto const g = (first + i) % devices.gpus();
      if (runs_on(application, g) == own && !frames_[g].empty()) return take(page, size, devices.gpu(g));
    }
  }
  return take(page, size, devices.cpu());
}

void DriverMemory::release(PageTranslation const& page) {
  auto const first = offset_of(page.frame) >> spec_->page_bits;
  for (auto f = first; f - first < std::uint64_t{1} << page.size; ++f) pool(device_of(page.frame)).release(f);
}

void DriverMemory::map(std::uint64_t page, PageTranslation const& to, Time now) {
  table_.map(page, to.frame, to.size);
  if (spec_->counts_accesses) own(page, to);
  page_sizes_->mapped(table_.mapped_pages());
  if (!spec_->coalesces || device_of(to.frame) >= kFirstCpu) return;
  if (!table_.can_coalesce(page)) {
    if (spec_->moves_to_coalesce && table_.is_full_on_one_device(page))
      to_coalesce_.push_back(first_of(page, table_.coalesced_size()));
    return;
  }
  table_.coalesce(page);
  page_sizes_->coalesced();
  size_changes_.push_back({first_of(page, table_.coalesced_size()), now, 1});
}

void DriverMemory::splinter(std::uint64_t page, Time now) {
  if (!spec_->coalesces) return;
  if (table_.is_coalesced(page)) {
    table_.splinter(page);
    page_sizes_->splintered();
    size_changes_.push_back({first_of(page, table_.coalesced_size()), now, 0});
  }
  table_.unmap(page);
}

void DriverMemory::unmap(std::uint64_t page, unsigned size) {
  table_.unmap(page);
  if (!decides_ && !spec_->counts_accesses) return;
  for (auto p = page; p - page < std::uint64_t{1} << size; ++p) decision_->forget(p);
}

std::optional<PhysAddr> DriverMemory::take_copy_elsewhere(std::uint64_t page, DeviceId device) {
  if (!spec_->makes_copies) return std::nullopt;
  auto const other = copies_.latest_except(page, device);
  return other ? std::optional(copies_.take(page, *other)) : std::nullopt;
}

void DriverMemory::end_sharing(std::uint64_t page) {
  copies_.take_all(page, [](PhysAddr) {});
  remote_readers_.forget(page);
}

std::optional<PhysAddr> DriverMemory::hand_over(std::uint64_t page) {
  if (!spec_->makes_copies) return std::nullopt;
  auto const device = copies_.latest(page);
  auto const frame = device ? std::optional(copies_.take(page, *device)) : std::nullopt;
  if (!copies_.latest(page)) copies_.take_all(page, [](PhysAddr) {});
  return frame;
}

}  // namespace farfault
