// SPDX-License-Identifier: Apache-2.0
// First touch
// - The page gets a frame on the GPU that touched it. If that memory is full, it gets one on the
//   application's next GPU that has a free frame, then on any other GPU, then on the CPU.
// - Its contents are assumed to be in place. With `first_touch_copy`, the GPU's copy engine fetches
//   host-written pages from CPU memory before they are mapped.
// - The driver spends `fault_latency`, or no time if the IOMMU maps the page (FirstTouchBy::iommu). The first
//   CPU's IOMMU reaches the driver in one cycle each way, other IOMMUs in `notify_latency`.
// - A fault on a page that has been mapped for an earlier fault waits for its turn and takes no driver time.
// - A large page is mapped whole for one fault if the GPU has a large frame and no part of the page is
//   mapped; otherwise only the base page is mapped.
//
// Migration, after `fault_latency` of the driver
// - Every IOMMU unmaps the page: it invalidates all translations to the old frame, waits until no access that
//   used one is outstanding, and faults requests for the page.
// - If software keeps the partitions of an L2 cache coherent (`flush_moving_pages`), the old GPU's slices
//   then write back and drop the page's lines, after the last write of any GPU.
// - The copy engine of the destination GPU copies the page to a new frame.
// - Every IOMMU maps the new frame, and the old frame is released.
// - A fault on a page in flight, or raised while it was in flight, is answered with the new frame.
#include "farfault/paging/paging_driver.hpp"

#include <algorithm>

namespace farfault {

PagingDriver::PagingDriver(Slot<PagingDriverSpec> slot) : Component(std::move(slot)) {
  if (spec().in_batches) {
    worked = timer<&PagingDriver::on_worked>("worked");
    to_gpus = out<Packet>("to_gpus");
    if (spec().reports_uses) used = in<&PagingDriver::on_used>("used");
    if (spec().reports_lifetimes) lifetimes = out<PageLifetimes>("lifetimes");
  }
  if (relocates()) relocated_page_copied = timer<&PagingDriver::on_copied>("copied_within");
  if (spec().stalls_gpus) stall = out<GpuStall>("stall");
  if (spec().host_pages == nullptr) return;
  memory_order = in<&PagingDriver::on_memory_order>("memory_order");
  order_done = out<MemoryOrderDone>("order_done");
}

PagingDriverState PagingDriver::initial() const {
  PagingDriverState s;
  s.table = spec().preloaded != nullptr ? *spec().preloaded : PageTable(0, spec().page_bits);
  auto memory = spec().gpu_memory();
  for (std::uint32_t g = 0; g < spec().devices.gpus(); ++g) {
    s.frames.add(spec().frames.make(memory));
    spec().fragmentation.occupy(s.frames[g], memory, g);
  }
  memory.frames = spec().frames_of_cpu;
  memory.max_moved = 0;
  s.cpu_frames = spec().frames.make(memory);
  if (spec().in_batches) s.batch = initial_batches();
  if (spec().makes_copies) {
    s.copies = PageCopies(spec().page_bits, spec().spaces);
    s.remote_readers = PageDirectory(spec().page_bits, spec().spaces);
  }
  if (spec().placed != nullptr)
    for (auto const& p : *spec().placed) {
      auto const device = p.device < kFirstCpu ? spec().devices.gpu(p.device) : spec().devices.cpu();
      take(p.page, p.size, device, s);
      resident(p.page, device, s);
      if (spec().in_batches && device < kFirstCpu)
        s.batch.residency[p.device].of(p.page).dirty = 1;  // no other memory holds the data
    }
  if (spec().host_pages != nullptr)
    spec().host_pages->each([&](std::uint64_t page, std::uint64_t) { s.cpu_frames->allocate(page); });
  if (spec().host_pages != nullptr) s.orders.resize(spec().application_of_stream.size());
  s.free_at.resize(spec().params.faults_at_a_time);
  s.page_sizes = spec().page_sizes.make({});
  for (std::uint64_t i = 0; i < spec().coalesced_at_start; ++i) s.page_sizes->coalesced();
  s.page_sizes->mapped(s.table.mapped_pages());
  s.compaction = spec().compaction.make({});
  if (relocates()) s.relocations.resize(spec().devices.gpus());
  s.moves.resize(spec().params.migrations);
  for (auto i = spec().params.migrations; i > 0; --i) s.free_moves.push_back(i - 1);
  s.waiting = Ring<PageFault>(spec().queue);
  s.first_touches.reserve(spec().unmapped_pages);
  s.stats = ByApplication<PagingDriverStats>(static_cast<std::uint32_t>(spec().applications.size()));
  return s;
}

PagingDriver::ApplicationStats PagingDriver::application_stats() const {
  return counted_by_application<&PagingDriverState::stats>(spec().applications);
}

std::vector<PagingDriver::PolicyStats> PagingDriver::policy_stats() const {
  std::vector<PolicyStats> all{
      {{"memory.frame_allocation", spec().frames.stats()},
       [](PagingDriverState const& s) -> StatSource const& { return s.frames; }},
      {{"memory.page_sizes", spec().page_sizes.stats()},
       [](PagingDriverState const& s) -> StatSource const& { return s.page_sizes; }},
      {{"memory.compaction", spec().compaction.stats()},
       [](PagingDriverState const& s) -> StatSource const& { return s.compaction; }}};
  if (spec().in_batches)
    all.push_back({{"driver.batch.eviction_order", spec().batch.eviction_order.stats()},
                   [](PagingDriverState const& s) -> StatSource const& { return s.batch.orders; }});
  return all;
}

std::string PagingDriver::waiting_for() const {
  auto const& s = state();
  auto const moving = s.moves.size() - s.free_moves.size();
  auto const orders = std::ranges::count_if(s.orders, [](auto const& o) { return o.end != 0; });
  auto const batch = waiting_batch();
  if (moving == 0 && s.waiting.empty() && orders == 0 && batch.empty()) return {};
  bool const allocates = std::ranges::any_of(
      s.orders, [](auto const& o) { return o.kind == OperationKind::allocate && o.next < o.end; });
  return std::to_string(moving) + " pages in flight, " + std::to_string(s.waiting.size()) +
         " faults waiting, operations of " + std::to_string(orders) + " streams" +
         (allocates && all_full(s) ? ", no free frame for their allocations" : "") + batch;
}

PageTranslation PagingDriver::take(std::uint64_t page, unsigned size, DeviceId device,
                                   PagingDriverState& s) const {
  auto& frames = pool(device, s);
  if (size != 0)
    if (auto const large = frames.allocate_large(first_of(page, size), size))
      return {physical(device, *large << spec().page_bits), static_cast<std::uint8_t>(size)};
  return {physical(device, frames.allocate(page) << spec().page_bits), 0};
}

bool PagingDriver::runs_on(std::uint32_t application, std::uint32_t gpu) const {
  auto const& of = spec().gpus_of_application;
  return of.empty() || std::ranges::binary_search(of[application], gpu);
}

PageTranslation PagingDriver::allocate_near(std::uint64_t page, unsigned size, DeviceId wanted,
                                            std::uint32_t application, PagingDriverState& s) const {
  if (!pool(wanted, s).empty()) return take(page, size, wanted, s);
  ++s.stats[application].pages_spilled;
  auto const& devices = spec().devices;
  auto const first = wanted >= kFirstCpu ? 0 : devices.number_of(wanted);
  for (bool const own : {true, false}) {
    for (std::uint32_t i = 0; i < devices.gpus(); ++i) {
      auto const g = (first + i) % devices.gpus();
      if (runs_on(application, g) == own && !s.frames[g].empty()) return take(page, size, devices.gpu(g), s);
    }
  }
  return take(page, size, devices.cpu(), s);
}

FrameAllocator& PagingDriver::pool(DeviceId device, PagingDriverState& s) const {
  return device >= kFirstCpu ? *s.cpu_frames : s.frames[spec().devices.number_of(device)];
}

void PagingDriver::release(PageTranslation const& page, PagingDriverState& s) const {
  auto const first = offset_of(page.frame) >> spec().page_bits;
  for (auto f = first; f - first < std::uint64_t{1} << page.size; ++f)
    pool(device_of(page.frame), s).release(f);
}

bool PagingDriver::is_copied(std::uint64_t page, PagingDriverState const& s) const {
  if (spec().in_batches) return is_in_flight(page, s);
  return std::any_of(s.moves.begin(), s.moves.end(),
                     [&](PageMigration const& m) { return m.in_use != 0 && m.copies(page); });
}

Duration PagingDriver::work(FaultKind kind, Duration takes, Cx& cx) const {
  bool const of_iommu = kind == FaultKind::not_mapped && spec().first_touch_by == FirstTouchBy::iommu;
  return of_iommu ? Duration::zero() : busy(takes, cx);
}

Duration PagingDriver::busy(Duration takes, Cx& cx) const {
  auto& s = cx.state();
  auto& first = *std::ranges::min_element(s.free_at);
  first = std::max(first, cx.now()) + takes;
  s.worked_ps += static_cast<std::uint64_t>(picoseconds(takes));
  return first - cx.now();
}

bool PagingDriver::settle(PagingDriverState& s, Time at) const {
  auto const ps = [](Duration d) { return static_cast<std::uint64_t>(picoseconds(std::max(d, Duration{}))); };
  s.ahead_ps = 0;
  for (auto const free_at : s.free_at) s.ahead_ps += ps(free_at - at);
  bool const serves = s.batch.phase == BatchPhase::serving;
  s.batch_ps = serves ? ps(at - s.batch.record.began) : 0;
  return serves || s.ahead_ps != 0;
}

void PagingDriver::respond(PageFault const& m, PageTranslation const& to, Duration extra, Cx& cx) const {
  auto const recorder = static_cast<std::uint16_t>(m.recorded_by_gpu != 0 ? m.gpu + 1 : 0);
  PageMapped const there{.page = m.page,
                         .frame = to.frame,
                         .entry = m.entry,
                         .size = to.size,
                         .kind = m.kind,
                         .recorder = recorder};
  if (m.kind == FaultKind::not_mapped && m.iommu == 0)
    cx.send(placed, there, extra);
  else
    cx.send(mapped, m.iommu, there, extra);
}

void PagingDriver::on_packet(Packet const& p, Cx& cx) const {
  if (p.is<PageFault>()) return on_fault(p.as<PageFault>(), cx);
  if (p.is<FaultInterrupt>()) return on_interrupt(p.as<FaultInterrupt>(), cx);
  if (p.is<FaultEntry>()) return on_entry(p.as<FaultEntry>(), cx);
  FF_CHECK(p.is<FaultsDrained>(), path() + ": unexpected packet kind at the driver");
  on_drained(p.as<FaultsDrained>(), cx);
}

void PagingDriver::on_fault(PageFault const& m, Cx& cx) const {
  if (!handle(m, true, cx)) cx.state().waiting.push(m);
  if (spec().moves_to_coalesce) continue_relocations(cx);
}

bool PagingDriver::handle(PageFault const& m, bool may_move, Cx& cx) const {
  auto& s = cx.state();
  if (is_copied(m.page, s)) return false;
  auto const found = s.table.find_mapped(m.page);
  if (!found) {
    if (is_unallocated(m.page)) {
      ++s.stats[m.application].unallocated_faults;
      respond(m, {}, Duration::zero(), cx);
    } else if (!touch_first(m, cx)) {
      return false;
    }
  } else if (spec().makes_copies) {
    if (!share(m, *found, may_move, cx)) return false;
  } else {
    bool const moves = may_move && m.kind == FaultKind::remote && device_of(found->frame) != m.gpu;
    if (moves && s.free_moves.empty()) return false;
    if (moves && !pool(m.gpu, s).empty()) {
      if (awaits_large_frame(m.page, m.gpu, m.application, cx)) return false;
      start_move(m, found->frame, cx);
    } else {
      if (moves) ++s.stats[m.application].migrations_refused;
      respond(m, *found, work(m.kind, moves ? spec().params.fault_latency : Duration::zero(), cx), cx);
    }
  }
  ++s.stats[m.application].page_faults;
  return true;
}

bool PagingDriver::is_unallocated(std::uint64_t page) const {
  auto const* planned = spec().planned != nullptr ? spec().planned->find(page) : nullptr;
  return planned != nullptr && *planned != kNotPlanned;
}

bool PagingDriver::host_wrote(std::uint64_t page) const {
  return std::ranges::any_of(spec().host_written,
                             [page](PageRange const& r) { return page - r.first < r.count; });
}

unsigned PagingDriver::size_for(std::uint64_t page, PagingDriverState const& s) const {
  auto const size = spec().large.size_of(page);
  if (size == 0) return 0;
  bool const part_arriving = std::ranges::any_of(s.moves, [&](PageMigration const& m) {
    return m.in_use != 0 && first_of(m.fault.page, size) == first_of(page, size);
  });
  return !part_arriving && s.table.takes(page, size) ? size : 0;
}

bool PagingDriver::all_full(PagingDriverState const& s) {
  if (!s.cpu_frames->empty()) return false;
  for (std::size_t g = 0; g < s.frames.size(); ++g)
    if (!s.frames[g].empty()) return false;
  return true;
}

bool PagingDriver::touch_first(PageFault const& m, Cx& cx) const {
  auto& s = cx.state();
  if (all_full(s)) return false;  // until a copy completes and frees its source
  bool const fetches = spec().first_touch_copy && host_wrote(m.page) && !s.cpu_frames->empty();
  if (fetches && s.free_moves.empty()) return false;
  if (awaits_large_frame(m.page, m.gpu, m.application, cx)) return false;
  auto to = allocate_near(m.page, size_for(m.page, s), m.gpu, m.application, s);
  auto const ready = work(m.kind, spec().params.fault_latency, cx);
  auto const device = device_of(to.frame);
  if (!fetches || device >= kFirstCpu) {
    map_first(m, to, ready, cx);
    return true;
  }
  auto const from = take(m.page, to.size, spec().devices.cpu(), s);
  if (from.size != to.size) {  // CPU memory has no large frame for the contents
    release(to, s);
    to = take(m.page, from.size, device, s);
  }
  auto const number = take_number(m.page, s);
  s.moves[number] = {.fault = m,
                     .from = from.frame,
                     .to = to.frame,
                     .started = cx.now(),
                     .unmapped = Time{},
                     .in_use = 1,
                     .first_touch = 1,
                     .size = to.size};
  order_copy(device, from.frame, to.frame, page_bytes() << to.size, number, m.application, ready, cx);
  return true;
}

void PagingDriver::map_first(PageFault const& m, PageTranslation const& to, Duration extra, Cx& cx) const {
  auto& s = cx.state();
  ++s.stats[m.application].pages_mapped;
  map_page(m.page, to, cx);
  s.first_touches.push_back({.page = first_of(m.page, to.size),
                             .frame = to.frame,
                             .mapped = cx.now() + extra,
                             .gpu = m.gpu,
                             .size = to.size,
                             .application = m.application});
  respond(m, to, extra, cx);
}

std::uint32_t PagingDriver::start_move(PageFault const& m, PhysAddr from, Cx& cx) const {
  auto& s = cx.state();
  auto const number = take_number(m.page, s);
  auto const to = take(m.page, 0, m.gpu, s).frame;
  s.moves[number] = {.fault = m,
                     .from = from,
                     .to = to,
                     .started = cx.now(),
                     .unmapped = Time{},
                     .unmapping = spec().iommus,
                     .in_use = 1};
  auto const ready = work(m.kind, spec().params.fault_latency, cx);
  unmap_page(m.page, cx);
  for (std::uint32_t i = 0; i < spec().iommus; ++i)
    cx.send(move, i, PageMove{.page = m.page, .frame = from, .move = number, .step = MoveStep::unmap}, ready);
  return number;
}

void PagingDriver::map_page(std::uint64_t page, PageTranslation const& to, Cx& cx) const {
  auto& s = cx.state();
  s.table.map(page, to.frame, to.size);
  s.page_sizes->mapped(s.table.mapped_pages());
  if (!spec().coalesces || device_of(to.frame) >= kFirstCpu) return;
  if (!s.table.can_coalesce(page)) {
    if (spec().moves_to_coalesce && s.table.is_full_on_one_device(page))
      s.to_coalesce.push_back(first_of(page, s.table.coalesced_size()));
    return;
  }
  s.table.coalesce(page);
  s.page_sizes->coalesced();
  s.size_changes.push_back({first_of(page, s.table.coalesced_size()), cx.now(), 1});
}

void PagingDriver::unmap_page(std::uint64_t page, Cx& cx) const {
  auto& s = cx.state();
  if (!spec().coalesces) return;
  if (s.table.is_coalesced(page)) {
    s.table.splinter(page);
    s.page_sizes->splintered();
    s.size_changes.push_back({first_of(page, s.table.coalesced_size()), cx.now(), 0});
  }
  s.table.unmap(page);
}

void PagingDriver::on_step_done(StepDone const& m, Cx& cx) const {
  auto& moving = cx.state().moves[m.move];
  FF_CHECK(moving.in_use != 0 && moving.unmapping > 0,
           path() + ": a step completed for a page that is not in flight");
  if (--moving.unmapping != 0) return;
  if (moving.role == PageMigration::Role::remapped) return end_page(m.move, cx);
  bool const maps = moving.role == PageMigration::Role::incoming && is_mapping(moving, cx.state());
  bool const leaves = !maps && (moving.of_program == 0 || moving.kind == OperationKind::free);
  if (leaves && spec().flush_moving_pages && moving.flushed == 0 && device_of(moving.from) < kFirstCpu) {
    moving.flushed = 1;
    return notify_iommus(m.move, MoveStep::flush, Duration::zero(), cx);
  }
  if (moving.of_program != 0) return end_page(m.move, cx);
  if (maps) {
    page_mapped(m.move, cx);
    return serve(cx);
  }
  moving.unmapped = cx.now();
  if (moving.role == PageMigration::Role::relocated) return copy_relocated_page(m.move, cx);
  if (moving.role != PageMigration::Role::none) return page_unmapped(m.move, cx);
  if (moving.change == PageMigration::Change::collapse) return collapse(m.move, cx);
  order_copy(moving.fault.gpu, moving.from, moving.to, page_bytes(), m.move, moving.fault.application,
             Duration::zero(), cx);
}

void PagingDriver::order_copy(DeviceId engine, PhysAddr from, PhysAddr to, std::uint32_t bytes,
                              std::uint32_t tag, std::uint8_t application, Duration extra, Cx& cx) const {
  auto const page = cx.state().moves[tag].fault.page;
  auto const space = static_cast<std::uint8_t>(
      page == FrameAllocator::kUnownedPage ? 0 : space_of_page(page, spec().page_bits));
  cx.send(copy, spec().devices.number_of(engine),
          CopyOrder{
              .from = from, .to = to, .bytes = bytes, .tag = tag, .space = space, .application = application},
          extra);
}

void PagingDriver::on_copied(CopyDone const& m, Cx& cx) const {
  auto const moving = cx.state().moves[m.tag];
  FF_CHECK(moving.in_use != 0, path() + ": a copy completed for a page that is not in flight");
  if (moving.role == PageMigration::Role::relocated) {
    if (moving.fault.page == FrameAllocator::kUnownedPage) return end_page(m.tag, cx);
    cx.state().moves[m.tag].role = PageMigration::Role::remapped;
    return notify_iommus(m.tag, MoveStep::map, Duration::zero(), cx);
  }
  if (moving.role == PageMigration::Role::incoming) page_transferred(m.tag, cx);
  if (moving.role == PageMigration::Role::evicted) page_evicted(m.tag, cx);
  if (moving.role != PageMigration::Role::none) return serve(cx);
  end_page(m.tag, cx);
}

void PagingDriver::end_page(std::uint32_t number, Cx& cx) const {
  auto& s = cx.state();
  auto const done = s.moves[number];
  free_number(number, s);
  if (done.of_program != 0) {
    --s.orders[done.stream].in_flight;
    if (!is_copy(done.kind)) end_allocation(done, cx);
  } else if (done.role != PageMigration::Role::none) {
    end_relocated_page(done, cx);
  } else if (done.change == PageMigration::Change::copy) {
    end_copy(done, number, cx);
  } else {
    if (done.first_touch != 0)
      map_first(done.fault, {done.to, done.size}, Duration::zero(), cx);
    else
      end_move(done, number, cx);
    if (done.to != done.from) release({done.from, done.size}, s);
  }
  for (auto n = s.waiting.size(); n > 0; --n) {
    auto const waiting = s.waiting.front();
    s.waiting.pop();
    // A fault that arrived while its page migrated starts no migration.
    bool const moved = done.of_program == 0 && done.change != PageMigration::Change::copy &&
                       done.role == PageMigration::Role::none && done.copies(waiting.page);
    if (!handle(waiting, !moved, cx)) s.waiting.push(waiting);
  }
  continue_orders(cx);
  if (spec().in_batches) serve(cx);
}

void PagingDriver::end_move(PageMigration const& done, std::uint32_t number, Cx& cx) const {
  auto& s = cx.state();
  auto const application = done.fault.application;
  if (done.to != done.from) {
    ++s.stats[application].migrations;
    s.stats[application].migration_ps += static_cast<std::uint64_t>(picoseconds(cx.now() - done.started));
    s.records.push_back({.page = done.fault.page,
                         .from = done.from,
                         .to = done.to,
                         .started = done.started,
                         .unmapped = done.unmapped,
                         .finished = cx.now(),
                         .application = application});
  }
  map_page(done.fault.page, {done.to, 0}, cx);
  for (std::uint32_t i = 0; i < spec().iommus; ++i)
    cx.send(move, i,
            PageMove{.page = done.fault.page, .frame = done.to, .move = number, .step = MoveStep::remap});
  respond(done.fault, {done.to, 0}, Duration::zero(), cx);
}

template class Component<PagingDriverSpec, PagingDriverState>;

}  // namespace farfault
