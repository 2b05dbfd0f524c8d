// SPDX-License-Identifier: Apache-2.0
#include "farfault/paging/program_client.hpp"

#include <algorithm>

#include "farfault/paging/paging_driver_state.hpp"
#include "farfault/parts/turns.hpp"

namespace farfault {

namespace {

void skip(std::uint64_t last_page, ProgramOrder& order, unsigned page_bits) {
  order.next = std::min((last_page + 1) << page_bits, order.end);
}

bool is_copy(OperationKind k) {
  return Operation{k}.is_copy();
}

}  // namespace

std::uint64_t ProgramClient::operations() const {
  return static_cast<std::uint64_t>(std::ranges::count_if(orders_, [](auto const& o) { return o.end != 0; }));
}

bool ProgramClient::allocates() const {
  return std::ranges::any_of(
      orders_, [](auto const& o) { return o.kind == OperationKind::allocate && o.next < o.end; });
}

void ProgramClient::begin_order(MemoryOrder const& m, DriverTurn& t) {
  auto& order = orders_[m.stream];
  FF_CHECK(order.end == 0 && m.bytes != 0, "a stream issued an operation before its previous one completed");
  auto const line = is_copy(m.kind) ? t.spec.line_bytes : 1;  // smallest unit of a copy engine
  order = {.next = m.first / line * line, .end = m.first + m.bytes, .kind = m.kind};
  start_pages(t);
}

void ProgramClient::start_pages(DriverTurn& t) {
  t.s.relocations.start_moves(t);
  take_turns(turn_, orders_.size(), [&](std::uint32_t stream) { return start_next(stream, t); });
}

bool ProgramClient::start_next(std::uint32_t stream, DriverTurn& t) {
  auto& order = orders_[stream];
  while (order.next < order.end) {
    auto const page = order.next >> t.spec.page_bits;
    if (t.s.transitions.is_in_flight(page)) return false;
    auto const turn = is_copy(order.kind)                     ? copy(page, stream, t)
                      : order.kind == OperationKind::allocate ? allocate(page, stream, t)
                                                              : free(page, stream, t);
    if (turn != Start::skipped) return turn == Start::started;
  }
  if (order.end == 0 || order.in_flight != 0) return false;
  order = {};
  t.out.end_order(MemoryOrderDone{stream});
  return false;
}

PageInFlight ProgramClient::page_of(std::uint32_t stream, std::uint64_t page, unsigned size,
                                    Transition transition, DriverTurn& t) {
  ++orders_[stream].in_flight;
  PageInFlight p;
  p.request.page = page;
  p.request.application = static_cast<std::uint8_t>(t.spec.application_of_stream[stream]);
  p.transition = transition;
  p.client = PagingClient::programs;
  p.tag = stream;
  p.size = static_cast<std::uint8_t>(size);
  return p;
}

ProgramClient::Start ProgramClient::copy(std::uint64_t page, std::uint32_t stream, DriverTurn& t) {
  auto& s = t.s;
  auto& order = orders_[stream];
  auto const found = s.memory.home(page);
  if (!found || device_of(found->frame) >= kFirstCpu) {
    skip(page, order, t.spec.page_bits);
    return Start::skipped;
  }
  if (s.transitions.free() == 0) return Start::stalled;
  // A copy of a large page extends as far as its host frames are contiguous.
  auto const frame_of = [&](std::uint64_t p) { return *t.spec.host_pages->find(p); };
  auto const host_frame = frame_of(page);
  auto end = (page + 1) << t.spec.page_bits;
  auto const last = first_of(page, found->size) + (std::uint64_t{1} << found->size);
  for (auto p = page + 1; p < last && end < order.end; ++p, end += t.spec.page_bytes())
    if (frame_of(p) != host_frame + (p - page)) break;
  end = std::min(end, order.end);
  auto const offset = order.next & (t.spec.page_bytes() - 1);
  auto const host = physical(t.spec.devices.cpu(), (host_frame << t.spec.page_bits) + offset);
  auto const device = found->physical_of(order.next, t.spec.page_bits);
  bool const to_gpu = order.kind == OperationKind::copy_to_gpus;
  auto p = page_of(stream, page, found->size, Transition::transfer, t);
  p.from = to_gpu ? host : device;
  p.to = to_gpu ? device : host;
  p.bytes = static_cast<std::uint32_t>(end - order.next);
  s.stats[p.request.application].copied_bytes += p.bytes;
  order.next = end;
  t.begin(p);
  if (to_gpu) s.evictions.wrote(page, device_of(device), t);
  return Start::started;
}

ProgramClient::Start ProgramClient::allocate(std::uint64_t page, std::uint32_t stream, DriverTurn& t) {
  auto& s = t.s;
  auto& order = orders_[stream];
  auto const* planned = t.spec.planned->find(page);
  if (s.memory.home(page) || planned == nullptr || *planned == kNotPlanned) {
    skip(page, order, t.spec.page_bits);
    return Start::skipped;
  }
  if (s.transitions.free() == 0 || s.memory.all_full()) return Start::stalled;
  auto const size = s.transitions.size_for(page, s.memory);
  auto const& devices = t.spec.devices;
  auto const wanted = *planned >= kFirstCpu ? devices.cpu() : devices.gpu(*planned);
  auto const application = t.spec.application_of_stream[stream];
  if (s.relocations.awaits_large_frame(page, wanted, application, t)) return Start::stalled;
  if (s.memory.pool(wanted).empty()) ++s.stats[application].pages_spilled;
  auto const to = s.memory.take_near(page, size, wanted, application);
  auto const first = first_of(page, to.size);
  auto p = page_of(stream, first, to.size, Transition::allocate, t);
  p.to = to.frame;
  p.confirms = 1;
  s.stats[application].allocated_pages += std::uint64_t{1} << to.size;
  skip(first + (std::uint64_t{1} << to.size) - 1, order, t.spec.page_bits);
  t.begin(p, s.work.busy(t.spec.params.allocation_latency, t.now));
  return Start::started;
}

ProgramClient::Start ProgramClient::free(std::uint64_t page, std::uint32_t stream, DriverTurn& t) {
  auto& s = t.s;
  auto& order = orders_[stream];
  auto const found = s.memory.home(page);
  if (!found) {
    skip(page, order, t.spec.page_bits);
    return Start::skipped;
  }
  if (s.transitions.free() == 0) return Start::stalled;
  auto const first = first_of(page, found->size);
  auto p = page_of(stream, first, found->size, Transition::free, t);
  p.from = found->frame;
  s.stats[p.request.application].freed_pages += std::uint64_t{1} << found->size;
  skip(first + (std::uint64_t{1} << found->size) - 1, order, t.spec.page_bits);
  t.begin(p, s.work.busy_in_order(t.spec.params.allocation_latency, t.now));
  return Start::started;
}

}  // namespace farfault
