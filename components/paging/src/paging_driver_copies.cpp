// SPDX-License-Identifier: Apache-2.0
// Read-only copies of pages (memory.remote_touch = duplicate).
//
// - A page that a GPU reads on another device keeps its frame. It is unmapped everywhere and copied to a
//   frame of the reader; from then on page and copies are read-only. Further copies need no unmapping.
// - On a write, page and copies are unmapped everywhere and the copies are dropped. The page is mapped on the
//   writing GPU, in the frame of its copy or, after a migration, in a new one.
// - A GPU without room for a copy reads the page remotely until the next write.
// - Batches: a full GPU evicts copies without a transfer. An evicted page that has copies passes to one of
//   them. Prefetched pages arrive as copies.
#include "farfault/paging/paging_driver.hpp"

namespace farfault {

// The GPU's own copy, if it has one, otherwise the page itself; read-only if the page has copies.
void PagingDriver::respond_shared(PageFault const& m, PageTranslation const& home, Duration extra,
                                  Cx& cx) const {
  auto& s = cx.state();
  if (auto const own = s.copies.find(m.page, m.gpu)) {
    auto to_copy = m;
    to_copy.kind = FaultKind::copied;
    return respond(to_copy, {read_only(*own), 0}, extra, cx);
  }
  bool const shared = s.copies.read_only(m.page);
  // The GPU may cache lines of that frame, which a later copy would leave stale.
  if (shared && device_of(home.frame) != m.gpu) s.remote_readers.add_holder(m.page, m.gpu);
  respond(m, {shared ? read_only(home.frame) : home.frame, home.size}, extra, cx);
}

// False: the fault must wait.
bool PagingDriver::share(PageFault const& m, PageTranslation const& home, bool may_move, Cx& cx) const {
  auto& s = cx.state();
  bool const shared = s.copies.read_only(m.page);
  bool const here = device_of(home.frame) == m.gpu || s.copies.find(m.page, m.gpu);
  bool const writes = m.access == Access::write;
  bool const acts = may_move && (writes ? m.kind == FaultKind::remote && (shared || !here)
                                        : m.kind != FaultKind::not_mapped && !here);
  if (!acts) {
    respond_shared(m, home, work(m.kind, Duration::zero(), cx), cx);
    return true;
  }
  if (s.free_moves.empty()) return false;
  if (writes && shared) {
    start_collapse(m, home.frame, cx);
  } else if (pool(m.gpu, s).empty() || (shared && s.remote_readers.may_hold(m.page, m.gpu))) {
    ++s.stats[m.application].migrations_refused;
    respond_shared(m, home, work(m.kind, spec().params.fault_latency, cx), cx);
  } else if (writes) {
    start_move(m, home.frame, cx);
  } else {
    start_copy(m, home.frame, shared, cx);
  }
  return true;
}

// A page without copies is unmapped first, so that it is not written while and after it is copied.
void PagingDriver::start_copy(PageFault const& m, PhysAddr home, bool shared, Cx& cx) const {
  auto& s = cx.state();
  if (!shared) {
    s.moves[start_move(m, home, cx)].change = PageMigration::Change::copy;
    return;
  }
  auto const number = take_number(m.page, s);
  auto const to = take(m.page, 0, m.gpu, s).frame;
  s.moves[number] = {
      .fault = m, .from = home, .to = to, .started = cx.now(), .unmapped = cx.now(), .in_use = 1};
  s.moves[number].change = PageMigration::Change::copy;
  order_copy(m.gpu, home, to, page_bytes(), number, m.application,
             work(m.kind, spec().params.fault_latency, cx), cx);
}

void PagingDriver::end_copy(PageMigration const& done, std::uint32_t number, Cx& cx) const {
  auto& s = cx.state();
  auto const page = done.fault.page;
  bool const first = !s.copies.read_only(page);
  s.copies.add(page, done.to);
  s.records.push_back({.page = page,
                       .from = done.from,
                       .to = done.to,
                       .started = done.started,
                       .unmapped = done.unmapped,
                       .finished = cx.now(),
                       .application = done.fault.application});
  if (first)
    for (std::uint32_t i = 0; i < spec().iommus; ++i)
      cx.send(move, i,
              PageMove{.page = page, .frame = read_only(done.from), .move = number, .step = MoveStep::remap});
  respond_shared(done.fault, {done.from, 0}, Duration::zero(), cx);
}

void PagingDriver::start_collapse(PageFault const& m, PhysAddr home, Cx& cx) const {
  auto& s = cx.state();
  auto const number = take_number(m.page, s);
  s.moves[number] = {.fault = m,
                     .from = home,
                     .to = home,
                     .started = cx.now(),
                     .unmapped = Time{},
                     .unmapping = spec().iommus,
                     .in_use = 1};
  s.moves[number].change = PageMigration::Change::collapse;
  auto const ready = work(m.kind, spec().params.fault_latency, cx);
  for (std::uint32_t i = 0; i < spec().iommus; ++i)
    cx.send(move, i, PageMove{.page = m.page, .frame = home, .move = number, .step = MoveStep::unmap}, ready);
}

// Neither the page nor a copy is mapped any more. The page takes the frame that the writing GPU holds,
// migrates there, or keeps its frame if that GPU has no room.
void PagingDriver::collapse(std::uint32_t number, Cx& cx) const {
  auto& s = cx.state();
  auto& moving = s.moves[number];
  auto const page = moving.fault.page;
  auto const gpu = moving.fault.gpu;
  moving.change = PageMigration::Change::none;
  s.copies.take_all(page, [&](PhysAddr frame) {
    if (device_of(frame) == gpu)
      moving.to = frame;
    else
      release({frame, 0}, s);
  });
  s.remote_readers.forget(page);
  if (moving.to != moving.from || device_of(moving.from) == gpu) return end_page(number, cx);
  if (pool(gpu, s).empty()) {
    ++s.stats[moving.fault.application].migrations_refused;
    return end_page(number, cx);
  }
  moving.to = take(page, 0, gpu, s).frame;
  order_copy(gpu, moving.from, moving.to, page_bytes(), number, moving.fault.application, Duration::zero(),
             cx);
}

// Batches.

bool PagingDriver::is_on(std::uint64_t page, DeviceId gpu, PagingDriverState const& s) const {
  auto const found = s.table.find_mapped(page);
  return found && (device_of(found->frame) == gpu || (spec().makes_copies && s.copies.find(page, gpu)));
}

bool PagingDriver::may_access(std::uint64_t page, Access access, DeviceId gpu,
                              PagingDriverState const& s) const {
  bool const writes_shared = access == Access::write && spec().makes_copies && s.copies.read_only(page);
  return is_on(page, gpu, s) && !writes_shared;
}

void PagingDriver::respond_local(PageFault const& m, Cx& cx) const {
  auto const home = *cx.state().table.find_mapped(m.page);
  if (spec().makes_copies)
    respond_shared(m, home, Duration::zero(), cx);
  else
    respond(m, home, Duration::zero(), cx);
}

// Neither the page nor a copy is mapped any more, and the page migrates to a GPU. Copies of other GPUs are
// dropped; a copy on this GPU becomes the page.
void PagingDriver::drop_copies(std::uint32_t number, Cx& cx) const {
  auto& s = cx.state();
  auto& moving = s.moves[number];
  auto const page = moving.fault.page;
  auto const gpu = moving.fault.gpu;
  std::vector<DeviceId> others;
  s.copies.take_all(page, [&](PhysAddr frame) {
    if (device_of(frame) == gpu) {
      moving.to = frame;
    } else {
      release({frame, 0}, s);
      others.push_back(device_of(frame));
    }
  });
  if (device_of(moving.from) == gpu) moving.to = moving.from;
  for (auto const device : others) not_resident(page, device, s);
}

// A copy has arrived on the GPU. The page is read-only from now on.
void PagingDriver::copy_transferred(std::uint32_t number, Cx& cx) const {
  auto& s = cx.state();
  auto& b = s.batch;
  auto& moving = s.moves[number];
  auto& page = b.pages[moving.index];
  bool const first = !s.copies.read_only(page.page);
  s.copies.add(page.page, moving.to);
  resident(page.page, batch_gpu(s), s);
  b.residency[b.gpu].of(page.page) = {.arrived = cx.now(),
                                      .evictions = b.residency[b.gpu].of(page.page).evictions,
                                      .application = page.application};
  b.of_page.of(page.page).arrived = cx.now();
  --b.in;
  s.records.push_back({.page = page.page,
                       .from = moving.from,
                       .to = moving.to,
                       .started = moving.started,
                       .unmapped = moving.unmapped,
                       .finished = cx.now(),
                       .application = page.application});
  if (first)
    for (std::uint32_t i = 0; i < spec().iommus; ++i)
      cx.send(
          move, i,
          PageMove{
              .page = page.page, .frame = read_only(moving.from), .move = number, .step = MoveStep::remap});
  if (b.replay->by_page()) return page_mapped(number, cx);
  page.stage = IncomingPage::Stage::mapping;
  notify_iommus(number, MoveStep::map, Duration::zero(), cx);
}

// For a page that is evicted from a GPU: its latest copy becomes the page. False: it has no copies.
bool PagingDriver::passes_to_copy(std::uint32_t number, PagingDriverState& s) const {
  auto& moving = s.moves[number];
  auto const page = moving.fault.page;
  auto const new_home = s.copies.latest(page);
  if (new_home) {
    moving.to = s.copies.take(page, *new_home);
    auto& b = s.batch;
    b.residency[spec().devices.number_of(*new_home)].of(page).dirty |= b.residency[b.gpu].of(page).dirty;
  }
  if (!s.copies.latest(page)) s.copies.take_all(page, [](PhysAddr) {});
  return new_home.has_value();
}

}  // namespace farfault
