// SPDX-License-Identifier: Apache-2.0
// Read-only copies of pages, where reads of a page on another device make them.
#include "farfault/paging/paging_driver.hpp"

namespace farfault {

// Where the GPU finds the page: in its own copy, else where the page is; read-only while there are copies.
void PagingDriver::answer_shared(PageFault const& m, PageTranslation const& home, Duration extra,
                                 Cx& cx) const {
  auto& s = cx.state();
  if (auto const own = s.copies.find(m.page, m.gpu)) {
    auto to_copy = m;
    to_copy.kind = FaultKind::copied;
    return answer(to_copy, {read_only(*own), 0}, extra, cx);
  }
  bool const shared = s.copies.read_only(m.page);
  // It may keep lines of that frame, which would be left behind if it had a copy later.
  if (shared && device_of(home.frame) != m.gpu) s.read_from_afar.add_holder(m.page, m.gpu);
  answer(m, {shared ? read_only(home.frame) : home.frame, home.size}, extra, cx);
}

// False when the fault has to wait.
bool PagingDriver::share(PageFault const& m, PageTranslation const& home, bool may_move, Cx& cx) const {
  auto& s = cx.state();
  bool const shared = s.copies.read_only(m.page);
  bool const here = device_of(home.frame) == m.gpu || s.copies.find(m.page, m.gpu);
  bool const writes = m.access == Access::write;
  bool const acts = may_move && (writes ? m.kind == FaultKind::remote && (shared || !here)
                                        : m.kind != FaultKind::not_mapped && !here);
  if (!acts) {
    answer_shared(m, home, work(m.kind, Duration::zero(), cx), cx);
    return true;
  }
  if (s.free_moves.empty()) return false;
  if (writes && shared) {
    start_collapse(m, home.frame, cx);
  } else if (pool(m.gpu, s).empty() || (shared && s.read_from_afar.may_hold(m.page, m.gpu))) {
    ++s.stats[m.application].migrations_refused;
    answer_shared(m, home, work(m.kind, spec().params.fault_latency, cx), cx);
  } else if (writes) {
    start_move(m, home.frame, cx);
  } else {
    start_copy(m, home.frame, shared, cx);
  }
  return true;
}

// A page without copies is unmapped first, so that nobody writes it while it is copied, and after.
void PagingDriver::start_copy(PageFault const& m, PhysAddr home, bool shared, Cx& cx) const {
  auto& s = cx.state();
  if (!shared) {
    s.moves[start_move(m, home, cx)].change = PageMigration::Change::copy;
    return;
  }
  auto const number = take_number(m.page, s);
  auto const to = take(m.page, 0, m.gpu, s).frame;
  s.moves[number] = {m, home, to, cx.now(), cx.now(), 0, 1, 0};
  s.moves[number].change = PageMigration::Change::copy;
  order_copy(m.gpu, home, to, page_bytes(), number, m.application,
             work(m.kind, spec().params.fault_latency, cx), cx);
}

void PagingDriver::end_copy(PageMigration const& done, std::uint32_t number, Cx& cx) const {
  auto& s = cx.state();
  auto const page = done.fault.page;
  bool const first = !s.copies.read_only(page);
  s.copies.add(page, done.to);
  s.records.push_back(
      {page, done.from, done.to, done.started, done.unmapped, cx.now(), done.fault.application});
  if (first)
    for (std::uint32_t i = 0; i < spec().iommus; ++i)
      cx.send(move, i, PageMove{page, read_only(done.from), number, MoveStep::remap, 0, {}});
  answer_shared(done.fault, {done.from, 0}, Duration::zero(), cx);
}

void PagingDriver::start_collapse(PageFault const& m, PhysAddr home, Cx& cx) const {
  auto& s = cx.state();
  auto const number = take_number(m.page, s);
  s.moves[number] = {m, home, home, cx.now(), Time{}, spec().iommus, 1, 0};
  s.moves[number].change = PageMigration::Change::collapse;
  auto const ready = work(m.kind, spec().params.fault_latency, cx);
  for (std::uint32_t i = 0; i < spec().iommus; ++i)
    cx.send(move, i, PageMove{m.page, home, number, MoveStep::unmap, 0, {}}, ready);
}

// Nobody maps the page or a copy any more. The page is where the GPU that writes it has it, or moves there,
// or stays where it is for want of room.
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
  s.read_from_afar.forget(page);
  if (moving.to != moving.from || device_of(moving.from) == gpu) return end_page(number, cx);
  if (pool(gpu, s).empty()) {
    ++s.stats[moving.fault.application].migrations_refused;
    return end_page(number, cx);
  }
  moving.to = take(page, 0, gpu, s).frame;
  order_copy(gpu, moving.from, moving.to, page_bytes(), number, moving.fault.application, Duration::zero(),
             cx);
}

// In batches.

bool PagingDriver::is_on(std::uint64_t page, DeviceId gpu, PagingDriverState const& s) const {
  auto const found = s.table.find_mapped(page);
  return found && (device_of(found->frame) == gpu || (spec().makes_copies && s.copies.find(page, gpu)));
}

bool PagingDriver::may_access(std::uint64_t page, Access access, DeviceId gpu,
                              PagingDriverState const& s) const {
  bool const writes_shared = access == Access::write && spec().makes_copies && s.copies.read_only(page);
  return is_on(page, gpu, s) && !writes_shared;
}

void PagingDriver::answer_here(PageFault const& m, Cx& cx) const {
  auto const home = *cx.state().table.find_mapped(m.page);
  if (spec().makes_copies)
    answer_shared(m, home, Duration::zero(), cx);
  else
    answer(m, home, Duration::zero(), cx);
}

// Nobody maps the page or a copy any more, and a GPU is to have it: the copies of others are dropped; where
// it has the page, or a copy, that is the page from now on.
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

// A copy is on the GPU. The page may only be read from now on.
void PagingDriver::copy_lands(std::uint32_t number, Cx& cx) const {
  auto& s = cx.state();
  auto& b = s.batch;
  auto& moving = s.moves[number];
  auto& page = b.pages[moving.index];
  bool const first = !s.copies.read_only(page.page);
  s.copies.add(page.page, moving.to);
  resident(page.page, batch_gpu(s), s);
  b.stays[b.gpu].of(page.page) = {cx.now(), b.stays[b.gpu].of(page.page).evictions, 0, page.application, {}};
  b.of_page.of(page.page).came = cx.now();
  --b.in;
  s.records.push_back(
      {page.page, moving.from, moving.to, moving.started, moving.unmapped, cx.now(), page.application});
  if (first)
    for (std::uint32_t i = 0; i < spec().iommus; ++i)
      cx.send(move, i, PageMove{page.page, read_only(moving.from), number, MoveStep::remap, 0, {}});
  if (b.replay->by_page()) return page_is_there(number, cx);
  page.stage = ComingPage::Stage::mapping;
  tell_iommus(number, MoveStep::map, Duration::zero(), cx);
}

// Of a page that leaves a GPU, and has copies elsewhere: the latest is the page from now on. False: it has
// none.
bool PagingDriver::passes_to_copy(std::uint32_t number, PagingDriverState& s) const {
  auto& moving = s.moves[number];
  auto const page = moving.fault.page;
  auto const heir = s.copies.latest(page);
  if (heir) {
    moving.to = s.copies.take(page, *heir);
    auto& b = s.batch;
    b.stays[spec().devices.number_of(*heir)].of(page).dirty |= b.stays[b.gpu].of(page).dirty;
  }
  if (!s.copies.latest(page)) s.copies.take_all(page, [](PhysAddr) {});
  return heir.has_value();
}

}  // namespace farfault
