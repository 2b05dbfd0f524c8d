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
  bool const shared = s.copies.any(m.page);
  // It may keep lines of that frame, which would be left behind if it had a copy later.
  if (shared && device_of(home.frame) != m.gpu) s.read_from_afar.add_holder(m.page, m.gpu);
  answer(m, {shared ? read_only(home.frame) : home.frame, home.size}, extra, cx);
}

// False when the fault has to wait.
bool PagingDriver::share(PageFault const& m, PageTranslation const& home, bool may_move, Cx& cx) const {
  auto& s = cx.state();
  bool const shared = s.copies.any(m.page);
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
  bool const first = !s.copies.any(page);
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

}  // namespace farfault
