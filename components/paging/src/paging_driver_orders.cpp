// SPDX-License-Identifier: Apache-2.0
// Operations of programs (operation.hpp), page by page: alternation of the streams, and copies.
//
// - The copy engine of the GPU that holds a page copies it from or to the CPU frame with the host's contents.
//   Pages in CPU memory and unmapped pages are skipped.
// - Concurrent streams alternate page by page.
#include <algorithm>

#include "farfault/paging/paging_driver.hpp"

namespace farfault {

void PagingDriver::on_memory_order(MemoryOrder const& m, Cx& cx) const {
  auto& order = cx.state().orders[m.stream];
  FF_CHECK(order.end == 0 && m.bytes != 0,
           path() + ": a stream issued an operation before its previous one completed");
  auto const line = is_copy(m.kind) ? spec().line_bytes : 1;  // smallest unit of a copy engine
  order = {.next = m.first / line * line, .end = m.first + m.bytes, .kind = m.kind};
  continue_orders(cx);
}

void PagingDriver::continue_orders(Cx& cx) const {
  continue_relocations(cx);
  auto& s = cx.state();
  auto const streams = s.orders.size();
  for (std::size_t in_vain = 0; in_vain < streams;) {
    auto const stream = static_cast<std::uint32_t>(s.order_turn);
    s.order_turn = s.order_turn + 1 == streams ? 0 : s.order_turn + 1;
    in_vain = begin_next_page(stream, cx) ? 0 : in_vain + 1;
  }
}

bool PagingDriver::begin_next_page(std::uint32_t stream, Cx& cx) const {
  auto& s = cx.state();
  auto& order = s.orders[stream];
  while (order.next < order.end) {
    auto const page = order.next >> spec().page_bits;
    if (is_copied(page, s)) return false;
    auto const turn = is_copy(order.kind)                     ? copy_page(page, stream, cx)
                      : order.kind == OperationKind::allocate ? allocate_page(page, stream, cx)
                                                              : free_page(page, stream, cx);
    if (turn != StartResult::skipped) return turn == StartResult::started;
  }
  if (order.end == 0 || order.in_flight != 0) return false;
  order = {};
  cx.send(order_done, MemoryOrderDone{stream});
  return false;
}

void PagingDriver::skip(std::uint64_t last_page, ProgramOrder& order) const {
  order.next = std::min((last_page + 1) << spec().page_bits, order.end);
}

std::uint32_t PagingDriver::begin_page(std::uint64_t page, unsigned size, std::uint32_t stream,
                                       Cx& cx) const {
  auto& s = cx.state();
  auto const number = take_number(page, s);
  auto& moving = s.moves[number];
  moving = {};
  moving.fault.page = page;
  moving.started = cx.now();
  moving.in_use = 1;
  moving.size = static_cast<std::uint8_t>(size);
  moving.of_program = 1;
  moving.kind = s.orders[stream].kind;
  moving.stream = stream;
  ++s.orders[stream].in_flight;
  return number;
}

PagingDriver::StartResult PagingDriver::copy_page(std::uint64_t page, std::uint32_t stream, Cx& cx) const {
  auto& s = cx.state();
  auto& order = s.orders[stream];
  auto const found = s.table.find_mapped(page);
  if (!found || device_of(found->frame) >= kFirstCpu) {
    skip(page, order);
    return StartResult::skipped;
  }
  if (s.free_moves.empty()) return StartResult::stalled;
  // A copy of a large page extends as far as its host frames are contiguous.
  auto const frame_of = [&](std::uint64_t p) { return *spec().host_pages->find(p); };
  auto const host_frame = frame_of(page);
  auto end = (page + 1) << spec().page_bits;
  auto const last = first_of(page, found->size) + (std::uint64_t{1} << found->size);
  for (auto p = page + 1; p < last && end < order.end; ++p, end += page_bytes())
    if (frame_of(p) != host_frame + (p - page)) break;
  end = std::min(end, order.end);
  auto const offset = order.next & (page_bytes() - 1);
  auto const host = physical(spec().devices.cpu(), (host_frame << spec().page_bits) + offset);
  auto const device = found->physical_of(order.next, spec().page_bits);
  auto const bytes = static_cast<std::uint32_t>(end - order.next);
  bool const to_gpu = order.kind == OperationKind::copy_to_gpus;
  auto const number = begin_page(page, found->size, stream, cx);
  order_copy(device_of(device), to_gpu ? host : device, to_gpu ? device : host, bytes, number,
             static_cast<std::uint8_t>(spec().application_of_stream[stream]), Duration::zero(), cx);
  if (spec().in_batches && to_gpu)
    s.batch.residency[spec().devices.number_of(device_of(device))].of(page).dirty = 1;
  counts_of_stream(stream, s).copied_bytes += bytes;
  order.next = end;
  return StartResult::started;
}

}  // namespace farfault
