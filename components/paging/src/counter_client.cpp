// SPDX-License-Identifier: Apache-2.0
#include "farfault/paging/counter_client.hpp"

#include <algorithm>

#include "farfault/paging/paging_driver_state.hpp"
#include "farfault/parts/turns.hpp"

namespace farfault {

CounterClient::CounterClient(PagingDriverSpec const& spec) : services_(spec.devices.gpus()) {
  for (auto& s : services_) s.buffer = Ring<CounterNotification>(spec.notifications);
}

std::string CounterClient::waiting_for(PagingDriverSpec const& spec) const {
  std::string text;
  for (std::uint32_t g = 0; g < services_.size(); ++g)
    if (services_[g].phase != CounterPhase::idle)
      text += ", " + std::to_string(services_[g].served.size() + services_[g].buffer.size()) +
              " notifications of " + name_of(spec.names, spec.devices.gpu(g));
  return text;
}

void CounterClient::notified(CounterNotification const& m, DriverTurn& t) {
  auto const gpu = t.spec.devices.number_of(m.counter);
  auto& s = services_[gpu];
  s.buffer.push(m);
  if (s.phase != CounterPhase::idle) return;
  auto const after = t.spec.counters.interrupt_time;
  if (after == Duration::zero()) return read(gpu, t);
  s.phase = CounterPhase::interrupted;
  s.due = t.now + after;
  t.out.wake_counters(s.due);
}

void CounterClient::woken(DriverTurn& t) {
  for (std::uint32_t g = 0; g < services_.size(); ++g)
    if (services_[g].phase == CounterPhase::interrupted && services_[g].due <= t.now) read(g, t);
}

// Reads the next notifications, which frees their entries; without one, the service is idle.
void CounterClient::read(std::uint32_t gpu, DriverTurn& t) {
  auto& s = services_[gpu];
  if (s.phase == CounterPhase::serving) --serving_;
  s.phase = CounterPhase::idle;
  s.served.clear();
  s.region = s.offset = 0;
  if (s.buffer.empty()) return;
  s.phase = CounterPhase::serving;
  ++serving_;
  auto const entries = std::min<std::uint64_t>(s.buffer.size(), t.spec.counters.batch);
  for (std::uint64_t i = 0; i < entries; ++i) {
    s.served.push_back(s.buffer.front());
    s.buffer.pop();
  }
  counts_.notifications += entries;
  auto const device = t.spec.devices.gpu(gpu);
  t.out.to_gpu(gpu, Packet::of(CounterRead{static_cast<std::uint32_t>(entries), device}));
}

void CounterClient::serve(DriverTurn& t) {
  if (serving_ == 0) return;
  take_turns(turn_, services_.size(), [&](std::uint32_t gpu) { return serve_next(gpu, t); });
}

bool CounterClient::serve_next(std::uint32_t gpu, DriverTurn& t) {
  auto& s = services_[gpu];
  if (s.phase != CounterPhase::serving) return false;
  while (s.region < s.served.size()) {
    auto const start = serve_page(gpu, t);
    if (start != Start::skipped) return start == Start::started;
  }
  if (s.in_flight != 0) return false;
  end(gpu, t);
  return true;
}

// The page in the next frame of an accessed sub-region.
CounterClient::Start CounterClient::serve_page(std::uint32_t gpu, DriverTurn& t) {
  auto& s = services_[gpu];
  auto const& m = s.served[s.region];
  auto const regions = t.spec.counter_regions;
  auto const& memory = t.s.memory;
  auto const page_bytes = std::uint64_t{1} << t.spec.page_bits;
  auto const pass = [&](std::uint64_t unit) { s.offset = (s.offset / unit + 1) * unit; };
  if (s.offset >= regions.bytes() ||
      offset_of(m.region) + s.offset >= memory.used_bytes(device_of(m.region))) {
    ++s.region;
    s.offset = 0;
    return Start::skipped;
  }
  if ((m.sub_regions & regions.sub_region(s.offset)) == 0) {
    pass(std::uint64_t{1} << regions.sub_region_bits());
    return Start::skipped;
  }
  auto const frame = (m.region + s.offset) & ~(page_bytes - 1);
  auto start = Start::skipped;
  if (auto const page = memory.owner_of(frame))
    if (auto const home = memory.home(*page); home && home->base_page(*page, t.spec.page_bits).frame == frame)
      start = begin(first_of(*page, home->size), *home, gpu, t);
  if (start != Start::stalled) pass(page_bytes);
  return start;
}

CounterClient::Start CounterClient::begin(std::uint64_t page, PageTranslation const& home, std::uint32_t gpu,
                                          DriverTurn& t) {
  auto& s = t.s;
  auto const& m = services_[gpu].served[services_[gpu].region];
  if (s.transitions.is_in_flight(page) || s.memory.frame_on(page, m.gpu, home) != kNoFrame)
    return Start::skipped;
  auto const kept = t.spec.in_batches ? s.evictions.pages_of_unit() : 0;  // for evictions
  if (s.transitions.free() <= kept) return Start::stalled;
  auto const action = s.memory.decide_counted(page, home, m.gpu, m.count);
  if (action == PageAction::stay) return Start::skipped;
  PageInFlight p;
  p.transition = transition_to(goal_of(action), s.memory.state_of(page));
  p.request = {.page = page,
               .gpu = m.gpu,
               .entry = kNoRecord,
               .kind = FaultKind::remote,
               .application = t.spec.application_of(page)};
  p.size = home.size;
  auto const frame = t.reserve_frame(p);
  if (frame != FrameOnGpu::reserved) return frame == FrameOnGpu::refused ? Start::skipped : Start::stalled;
  p.client = PagingClient::counters;
  p.tag = gpu;
  p.from = home.frame;
  p.confirms = 1;
  ++services_[gpu].in_flight;
  ++counts_.pages;
  t.begin(p, s.work.busy_in_order(t.spec.counted_page_time(), t.now));
  return Start::started;
}

// Evictions may choose the page later, as a page of a batch.
void CounterClient::changed(PageInFlight const& page, DriverTurn& t) const {
  if (!t.spec.in_batches || page.to == page.from) return;
  t.s.evictions.arrived(page, false, t);
  if (!adds_copy(page.transition)) t.s.evictions.left(page.page(), device_of(page.from), t);
}

void CounterClient::end(std::uint32_t gpu, DriverTurn& t) {
  auto const device = t.spec.devices.gpu(gpu);
  for (auto const& m : services_[gpu].served)
    t.out.to_gpu(gpu, Packet::of(CounterClear{.region = m.region, .gpu = device, .requester = m.gpu}));
  read(gpu, t);
}

}  // namespace farfault
