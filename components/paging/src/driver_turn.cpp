// SPDX-License-Identifier: Apache-2.0
#include "farfault/paging/driver_turn.hpp"

#include "farfault/paging/paging_driver_state.hpp"

namespace farfault {

void DriverTurn::step_done(StepDone const& m) {
  if (s.transitions.acknowledge(m.move)) advance(m.move);
}

void DriverTurn::copied(CopyDone const& m) {
  s.transitions.copied(m.tag);
  advance(m.tag);
}

bool DriverTurn::holds_frame(PageInFlight const& page, DeviceId device) const {
  // While a page that may be coalesced is in flight, it is not in the table.
  bool const is_left = page.from != kNoFrame && device_of(page.from) == device;
  return is_left || s.memory.is_on(page.page(), device);
}

void DriverTurn::advance(std::uint32_t number) {
  auto const client = s.transitions[number].client;
  bool const of_batch = client == PagingClient::batch || client == PagingClient::evictions;
  if (run(number) != PageProgress::none && of_batch) s.batch.serve(*this);
}

FrameOnGpu DriverTurn::reserve_frame(PageInFlight& page) {
  auto const& m = page.request;
  if (!takes(page.transition, PageStep::invalidate)) page.unmapped = now;
  // A collapse needs no frame if the GPU has a copy, and finds out later whether it has room.
  if (takes(page.transition, PageStep::drop_copies)) return FrameOnGpu::reserved;
  if (!s.memory.refuses(page.transition, m.page, m.gpu)) {
    if (s.relocations.awaits_large_frame(m.page, m.gpu, m.application, *this)) return FrameOnGpu::stalled;
    page.to = s.memory.take_whole(m.page, page.size, m.gpu);
    if (page.to != kNoFrame) return FrameOnGpu::reserved;
  }
  ++s.stats[m.application].migrations_refused;
  return FrameOnGpu::refused;
}

PageProgress DriverTurn::begin(PageInFlight const& page, Duration after) {
  return run(s.transitions.begin(page, now), after);
}

PageProgress DriverTurn::run(std::uint32_t number, Duration after) {
  using Kind = TransitionExecutor::Kind;
  auto progress = PageProgress::none;
  while (true) {
    auto const action = s.transitions.next(number, s.memory, now);
    auto const& page = s.transitions[number];
    switch (action.kind) {
      case Kind::wait:
        return progress;
      case Kind::tell:
        out.tell_iommus(action.message, after);
        continue;
      case Kind::copy:
        copy(number, after);
        continue;
      case Kind::answer:
        if (page.client == PagingClient::batch)
          s.batch.worker_of(page, spec).answer(page.request, page.size, *this);
        else
          s.faults.answer(page.request, after, *this);
        continue;
      case Kind::refused:
        ++s.stats[page.request.application].migrations_refused;
        continue;
      case Kind::left:
        if (spec.in_batches) s.evictions.left(page.page(), action.device, *this);
        continue;
      case Kind::consent:
        FF_CHECK(page.client == PagingClient::batch || page.client == PagingClient::evictions,
                 "a client asked for consent and gives none");
        if (page.client == PagingClient::batch)
          s.batch.worker_of(page, spec).ready(page);
        else
          s.evictions.ready(page);
        progress = PageProgress::changed;
        continue;
      case Kind::changed:
        changed(page, after);
        progress = PageProgress::changed;
        continue;
      case Kind::ended:
        ended(s.transitions.finish(number), number == s.transitions.immediate());
        return PageProgress::ended;
    }
  }
}

void DriverTurn::copy(std::uint32_t number, Duration after) {
  auto const& p = s.transitions[number];
  if (p.client == PagingClient::batch) s.batch.worker_of(p, spec).transfer_begins(p, *this);
  if (p.client == PagingClient::evictions) s.evictions.transfer_begins(p, *this);
  if (p.client == PagingClient::relocations && s.relocations.copies_in_memory(number, *this)) return;
  auto const& request = p.request;
  bool const has_space = request.page != FrameAllocator::kUnownedPage;
  auto const space = static_cast<std::uint8_t>(has_space ? space_of_page(request.page, spec.page_bits) : 0);
  auto const bytes = p.bytes != 0 ? p.bytes : spec.page_bytes(p.size);
  auto const engine = device_of(p.to) < kFirstCpu ? device_of(p.to) : device_of(p.from);
  out.order_copy(engine,
                 CopyOrder{.from = p.from,
                           .to = p.to,
                           .bytes = bytes,
                           .tag = number,
                           .space = space,
                           .application = request.application},
                 after);
}

void DriverTurn::changed(PageInFlight const& page, Duration after) {
  bool const of_counters = page.client == PagingClient::counters;
  if (page.client != PagingClient::faults && page.client != PagingClient::batch && !of_counters) return;
  auto& counts = s.stats[page.request.application];
  if (page.transition == Transition::first_touch) {
    ++counts.pages_mapped;
    s.records.first_touch(page, now + after);
  } else if (page.to != page.from) {
    if (!adds_copy(page.transition)) counts.migrated(now - page.started);
    s.records.migrated(page, now);
  }
  if (page.client == PagingClient::batch) s.batch.worker_of(page, spec).changed(page, *this);
  if (of_counters) s.counters.changed(page, *this);
}

void DriverTurn::ended(PageInFlight const& done, bool was_immediate) {
  switch (done.client) {
    case PagingClient::batch:
      return s.batch.worker_of(done, spec).ended(done, *this);
    case PagingClient::evictions:
      return s.evictions.ended(done, *this);
    case PagingClient::programs:
      s.programs.ended(done);
      break;
    case PagingClient::relocations:
      s.relocations.ended(done, *this);
      break;
    case PagingClient::counters:
      s.counters.ended(done);
      break;
    case PagingClient::faults:
      if (was_immediate) return;
      break;
  }
  // Others may have waited for the page, its number or its frame.
  s.faults.retry(done, *this);
  s.programs.start_pages(*this);
  if (spec.in_batches) s.batch.serve(*this);
}

}  // namespace farfault
