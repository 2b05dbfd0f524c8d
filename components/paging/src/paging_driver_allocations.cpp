// SPDX-License-Identifier: Apache-2.0
// Pages that programs allocate and free. Every IOMMU maps or forgets the page, informs the GPUs, and
// acknowledges when all have done so.
//
// - Allocate: a frame on the planned device, or as at a first touch if its memory is full. Skipped: pages
//   that are mapped or not planned. If all memory is full, the operation waits for a free.
// - Free: the page is invalidated everywhere, as in a migration, and its frame is released. Skipped: unmapped
//   pages.
// - The driver spends `allocation_latency` per page.
// - A fault on a page that is planned and not allocated is answered without a frame. Either no access waits
//   for it (an IOMMU look-up that the GMMU has overtaken), or the program accesses unallocated memory and
//   never completes.
// - Allocated pages are not evicted.
#include "farfault/paging/paging_driver.hpp"

namespace farfault {

PagingDriver::StartResult PagingDriver::allocate_page(std::uint64_t page, std::uint32_t stream,
                                                      Cx& cx) const {
  auto& s = cx.state();
  auto& order = s.orders[stream];
  auto const* planned = spec().planned->find(page);
  if (s.table.find_mapped(page) || planned == nullptr || *planned == kNotPlanned) {
    skip(page, order);
    return StartResult::skipped;
  }
  if (s.free_moves.empty() || all_full(s)) return StartResult::stalled;
  auto const size = size_for(page, s);
  auto const& devices = spec().devices;
  auto const wanted = *planned >= kFirstCpu ? devices.cpu() : devices.gpu(*planned);
  if (awaits_large_frame(page, wanted, spec().application_of_stream[stream], cx)) return StartResult::stalled;
  auto const to = allocate_near(page, size, wanted, spec().application_of_stream[stream], s);
  auto const first = first_of(page, to.size);
  auto const number = begin_page(first, to.size, stream, cx);
  s.moves[number].to = to.frame;
  counts_of_stream(stream, s).allocated_pages += std::uint64_t{1} << to.size;
  skip(first + (std::uint64_t{1} << to.size) - 1, order);
  notify_iommus(number, MoveStep::map, busy(spec().params.allocation_latency, cx), cx);
  return StartResult::started;
}

PagingDriver::StartResult PagingDriver::free_page(std::uint64_t page, std::uint32_t stream, Cx& cx) const {
  auto& s = cx.state();
  auto& order = s.orders[stream];
  auto const found = s.table.find_mapped(page);
  if (!found) {
    skip(page, order);
    return StartResult::skipped;
  }
  if (s.free_moves.empty()) return StartResult::stalled;
  auto const first = first_of(page, found->size);
  auto const number = begin_page(first, found->size, stream, cx);
  s.moves[number].from = found->frame;
  counts_of_stream(stream, s).freed_pages += std::uint64_t{1} << found->size;
  skip(first + (std::uint64_t{1} << found->size) - 1, order);
  notify_iommus(number, MoveStep::forget, busy(spec().params.allocation_latency, cx), cx);
  return StartResult::started;
}

void PagingDriver::notify_iommus(std::uint32_t number, MoveStep step, Duration after, Cx& cx) const {
  auto& moving = cx.state().moves[number];
  moving.unmapping = spec().iommus;
  if (step == MoveStep::unmap || step == MoveStep::forget) unmap_page(moving.fault.page, cx);
  bool const of_copy = moving.change == PageMigration::Change::copy;
  auto const to = of_copy ? read_only(moving.to) : moving.to;
  auto const frame = step == MoveStep::map ? to : moving.from;
  for (std::uint32_t i = 0; i < spec().iommus; ++i)
    cx.send(move, i,
            PageMove{
                .page = moving.fault.page, .frame = frame, .move = number, .step = step, .size = moving.size},
            after);
}

void PagingDriver::end_allocation(PageMigration const& done, Cx& cx) const {
  auto& s = cx.state();
  if (done.kind == OperationKind::allocate) {
    map_page(done.fault.page, {done.to, done.size}, cx);
  } else {
    s.table.unmap(done.fault.page);
    release({done.from, done.size}, s);
  }
}

}  // namespace farfault
