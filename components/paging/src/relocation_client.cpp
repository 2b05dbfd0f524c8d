// SPDX-License-Identifier: Apache-2.0
#include "farfault/paging/relocation_client.hpp"

#include <algorithm>

#include "farfault/paging/paging_driver_state.hpp"

namespace farfault {

bool RelocationClient::awaits_large_frame(std::uint64_t page, DeviceId device, std::uint32_t application,
                                          DriverTurn& t) {
  if (t.spec.max_moved == 0 || device >= kFirstCpu) return false;
  auto& frames = t.s.memory.pool(device);
  if (frames.empty() || !frames.lacks_large_frame(page)) return false;
  auto const gpu = t.spec.devices.number_of(device);
  auto& r = of_gpu_[gpu];
  if (r.left != 0) return true;
  r.moves.clear();
  auto const may_move = [&](std::uint64_t p) { return !t.s.transitions.is_in_flight(p); };
  if (!frames.plan_emptying(may_move, r.moves)) return false;
  begin(gpu, false, application, t);
  start_moves(t);
  return true;
}

void RelocationClient::begin(std::uint32_t gpu, bool coalesces, std::uint32_t application, DriverTurn& t) {
  auto& r = of_gpu_[gpu];
  r.next = r.moved = 0;
  r.left = r.moves.size();
  r.began = t.now;
  r.application = application;
  r.coalesces = coalesces ? 1 : 0;
  r.stalls = t.spec.stalls_gpus && (coalesces || t.facts.compaction.takes_time) ? 1 : 0;
  if (r.stalls != 0) t.out.stall(gpu, GpuStall{1});
}

void RelocationClient::start_moves(DriverTurn& t) {
  if (!t.spec.relocates()) return;
  std::erase_if(t.s.memory.to_coalesce(), [&](std::uint64_t page) { return begin_coalescing(page, t); });
  for (std::uint32_t g = 0; g < of_gpu_.size(); ++g) {
    auto& r = of_gpu_[g];
    while (r.left != 0 && r.next < r.moves.size() && t.s.transitions.free() != 0) {
      auto const next = r.moves[r.next++];
      begin_page(g, next, t);
    }
  }
}

bool RelocationClient::begin_coalescing(std::uint64_t page, DriverTurn& t) {
  auto& memory = t.s.memory;
  auto const size = memory.table().coalesced_size();
  auto const first = memory.home(page);
  if (!first || device_of(first->frame) >= kFirstCpu) return true;
  auto const device = device_of(first->frame);
  auto const gpu = t.spec.devices.number_of(device);
  auto& r = of_gpu_[gpu];
  if (r.left != 0) return false;
  // Contiguous base pages are coalesced already: DriverMemory::map() coalesces them immediately.
  if (!memory.table().is_full_on_one_device(page)) return true;
  for (auto p = page; p - page < std::uint64_t{1} << size; ++p)
    if (t.s.transitions.is_in_flight(p)) return false;
  auto const large = memory.pool(device).allocate_large(page, size);
  if (!large) return true;
  r.moves.clear();
  for (auto p = page; p - page < std::uint64_t{1} << size; ++p)
    r.moves.push_back({p, offset_of(memory.home(p)->frame) >> t.spec.page_bits, *large + (p - page)});
  begin(gpu, true, t.spec.application_of_space[space_of_page(page, t.spec.page_bits)], t);
  return true;
}

void RelocationClient::begin_page(std::uint32_t gpu, FrameAllocator::Move const& m, DriverTurn& t) {
  auto const device = t.spec.devices.gpu(gpu);
  bool const is_unowned = m.page == FrameAllocator::kUnownedPage;
  auto const found = is_unowned ? std::nullopt : t.s.memory.home(m.page);
  PageInFlight p;
  p.client = PagingClient::relocations;
  p.tag = gpu;
  p.from = physical(device, m.from << t.spec.page_bits);
  p.to = physical(device, m.to << t.spec.page_bits);
  p.request.gpu = device;
  p.request.application = static_cast<std::uint8_t>(of_gpu_[gpu].application);
  bool const stays_out =
      !is_unowned && (t.s.transitions.is_in_flight(m.page) || !found || found->frame != p.from);
  p.request.page = stays_out ? FrameAllocator::kUnownedPage : m.page;
  if (is_unowned || stays_out) {
    p.transition = stays_out ? Transition::give_back : Transition::refill;
    if (stays_out) p.from = std::exchange(p.to, kNoFrame);
    t.begin(p);
    return;
  }
  p.transition = Transition::relocate;
  p.confirms = 1;
  // After earlier messages about the page's frame have reached the IOMMUs.
  auto const notified = std::max(t.s.work.all_done(), t.now) + t.spec.response_delay;
  t.begin(p, notified - t.now + Duration{1});
}

// A copy without cost takes one picosecond.
bool RelocationClient::copies_in_memory(std::uint32_t number, DriverTurn& t) {
  auto const& page = t.s.transitions[number];
  if (page.to == kNoFrame) {
    t.out.end_copy(number, t.now + Duration{1});
    return true;
  }
  auto& r = of_gpu_[page.tag];
  auto const& by = t.facts.compaction;
  auto const in_memory = by.takes_time ? by.time_in_memory : Duration{1};
  if (r.coalesces != 0 || !in_memory) return false;
  auto const begins = std::max(r.memory_free, t.now);
  r.memory_free = begins + *in_memory / by.at_a_time;
  t.out.end_copy(number, begins + *in_memory);
  return true;
}

void RelocationClient::ended(PageInFlight const& done, DriverTurn& t) {
  auto& r = of_gpu_[done.tag];
  if (done.to != kNoFrame) ++r.moved;
  if (--r.left == 0) end(done.tag, t);
}

void RelocationClient::end(std::uint32_t gpu, DriverTurn& t) {
  auto const& r = of_gpu_[gpu];
  t.s.records.relocated({.began = r.began,
                         .ended = t.now,
                         .gpu = gpu,
                         .pages = r.moved,
                         .application = r.application,
                         .coalesces = r.coalesces});
  if (r.coalesces != 0)
    t.s.memory.page_sizes().moved(r.moved);
  else
    compaction_->ended(r.moved, t.s.memory.frames(gpu).end_emptying());
  if (r.stalls != 0) t.out.stall(gpu, GpuStall{0});
}

}  // namespace farfault
