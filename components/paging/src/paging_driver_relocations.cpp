// SPDX-License-Identifier: Apache-2.0
// Moves of pages within a GPU's memory.
//
// - Compaction: a page would begin a large frame, and none is free. If the compaction policy and the frame
//   allocator can empty one (compaction.hpp), the page waits until the pages of that frame have been moved.
// - Coalescing: all base pages of a large page are on the GPU, and they are moved to one large frame
//   (page_sizes.hpp); one large page at a time per GPU.
// - Each page is unmapped, copied and mapped as in a migration. Pre-fragmented data is only copied.
// - With `stalls_gpus`, no SM of the GPU issues from start to end.
// - A page that has left its frame, or is in flight, at its turn is skipped.
#include <algorithm>

#include "farfault/paging/paging_driver.hpp"

namespace farfault {

bool PagingDriver::awaits_large_frame(std::uint64_t page, DeviceId device, std::uint32_t application,
                                      Cx& cx) const {
  auto& s = cx.state();
  if (spec().max_moved == 0 || device >= kFirstCpu) return false;
  auto& frames = pool(device, s);
  if (frames.empty() || !frames.lacks_large_frame(page)) return false;
  auto const gpu = spec().devices.number_of(device);
  auto& r = s.relocations[gpu];
  if (r.left != 0) return true;
  r.moves.clear();
  if (!frames.plan_emptying([&](std::uint64_t p) { return !is_copied(p, s); }, r.moves)) return false;
  begin_relocation(gpu, false, application, cx);
  continue_relocations(cx);
  return true;
}

void PagingDriver::begin_relocation(std::uint32_t gpu, bool coalesces, std::uint32_t application,
                                    Cx& cx) const {
  auto& s = cx.state();
  auto& r = s.relocations[gpu];
  r.next = r.moved = 0;
  r.left = r.moves.size();
  r.began = cx.now();
  r.application = application;
  r.coalesces = coalesces ? 1 : 0;
  r.stalls = spec().stalls_gpus && (coalesces || s.compaction->takes_time()) ? 1 : 0;
  if (r.stalls != 0) cx.send(stall, gpu, GpuStall{1});
}

void PagingDriver::continue_relocations(Cx& cx) const {
  if (!relocates()) return;
  auto& s = cx.state();
  std::erase_if(s.to_coalesce, [&](std::uint64_t page) { return begin_coalescing(page, cx); });
  for (std::uint32_t g = 0; g < s.relocations.size(); ++g) {
    auto& r = s.relocations[g];
    while (r.left != 0 && r.next < r.moves.size() && !s.free_moves.empty()) {
      auto const next = r.moves[r.next++];
      begin_relocated_page(g, next, cx);
    }
  }
}

bool PagingDriver::begin_coalescing(std::uint64_t page, Cx& cx) const {
  auto& s = cx.state();
  auto const size = s.table.coalesced_size();
  auto const first = s.table.find_mapped(page);
  if (!first || device_of(first->frame) >= kFirstCpu) return true;
  auto const device = device_of(first->frame);
  auto const gpu = spec().devices.number_of(device);
  auto& r = s.relocations[gpu];
  if (r.left != 0) return false;
  // Contiguous base pages are coalesced already: map_page() coalesces them immediately.
  if (!s.table.is_full_on_one_device(page)) return true;
  for (auto p = page; p - page < std::uint64_t{1} << size; ++p)
    if (is_copied(p, s)) return false;
  auto const large = pool(device, s).allocate_large(page, size);
  if (!large) return true;
  r.moves.clear();
  for (auto p = page; p - page < std::uint64_t{1} << size; ++p)
    r.moves.push_back({p, offset_of(s.table.find_mapped(p)->frame) >> spec().page_bits, *large + (p - page)});
  begin_relocation(gpu, true, spec().application_of_space[space_of_page(page, spec().page_bits)], cx);
  return true;
}

void PagingDriver::begin_relocated_page(std::uint32_t gpu, FrameAllocator::Move const& m, Cx& cx) const {
  auto& s = cx.state();
  auto const device = spec().devices.gpu(gpu);
  auto const from = physical(device, m.from << spec().page_bits);
  auto const to = physical(device, m.to << spec().page_bits);
  bool const is_unowned = m.page == FrameAllocator::kUnownedPage;
  auto const found = is_unowned ? std::nullopt : s.table.find_mapped(m.page);
  bool const stays_out = !is_unowned && (is_copied(m.page, s) || !found || found->frame != from);
  auto const page = stays_out ? FrameAllocator::kUnownedPage : m.page;
  auto const number = take_number(page, s);
  auto& moving = s.moves[number];
  moving = {};
  moving.fault.page = page;
  moving.fault.gpu = device;
  moving.fault.application = static_cast<std::uint8_t>(s.relocations[gpu].application);
  moving.from = stays_out ? to : from;  // skipped: the new frame is released
  moving.to = to;
  moving.started = cx.now();
  moving.in_use = 1;
  moving.role = PageMigration::Role::relocated;
  moving.index = gpu;
  if (stays_out) return cx.wake_at(relocated_page_copied, CopyDone{number}, cx.now() + Duration{1});
  if (is_unowned) return copy_relocated_page(number, cx);
  // After earlier messages about the page's frame have reached the IOMMUs.
  auto const notified = std::max(*std::ranges::max_element(s.free_at), cx.now()) + spec().response_delay;
  notify_iommus(number, MoveStep::unmap, notified - cx.now() + Duration{1}, cx);
}

// By the copy engine, or within the memory. A copy without cost takes one picosecond.
void PagingDriver::copy_relocated_page(std::uint32_t number, Cx& cx) const {
  auto& s = cx.state();
  auto const& moving = s.moves[number];
  auto& r = s.relocations[moving.index];
  auto const& by = *s.compaction;
  auto const in_memory = by.takes_time() ? by.time_in_memory() : Duration{1};
  if (r.coalesces != 0 || !in_memory)
    return order_copy(moving.fault.gpu, moving.from, moving.to, page_bytes(), number,
                      moving.fault.application, Duration::zero(), cx);
  auto const begins = std::max(r.memory_free, cx.now());
  r.memory_free = begins + *in_memory / by.at_a_time();
  cx.wake_at(relocated_page_copied, CopyDone{number}, begins + *in_memory);
}

void PagingDriver::end_relocated_page(PageMigration const& done, Cx& cx) const {
  auto& s = cx.state();
  if (done.fault.page != FrameAllocator::kUnownedPage) map_page(done.fault.page, {done.to, 0}, cx);
  release({done.from, 0}, s);
  auto& r = s.relocations[done.index];
  if (done.from != done.to) ++r.moved;
  if (--r.left == 0) end_relocation(done.index, cx);
}

void PagingDriver::end_relocation(std::uint32_t gpu, Cx& cx) const {
  auto& s = cx.state();
  auto const& r = s.relocations[gpu];
  s.relocation_records.push_back({.began = r.began,
                                  .ended = cx.now(),
                                  .gpu = gpu,
                                  .pages = r.moved,
                                  .application = r.application,
                                  .coalesces = r.coalesces});
  if (r.coalesces != 0)
    s.page_sizes->moved(r.moved);
  else
    s.compaction->ended(r.moved, s.frames[gpu].end_emptying());
  if (r.stalls != 0) cx.send(stall, gpu, GpuStall{0});
}

}  // namespace farfault
