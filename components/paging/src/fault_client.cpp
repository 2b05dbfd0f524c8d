// SPDX-License-Identifier: Apache-2.0
#include "farfault/paging/fault_client.hpp"

#include "farfault/paging/paging_driver_state.hpp"

namespace farfault {

void FaultClient::serve(PageFault const& m, DriverTurn& t) {
  WaitingFault waiting{.fault = m};
  if (!handle(waiting, true, t)) waiting_.push(waiting);
}

void FaultClient::retry(PageInFlight const& done, DriverTurn& t) {
  bool const decided = done.client == PagingClient::faults || done.client == PagingClient::counters;
  bool const moves = decided && !adds_copy(done.transition);
  for (auto n = waiting_.size(); n > 0; --n) {
    auto waiting = waiting_.front();
    waiting_.pop();
    // A fault that arrived while its page migrated starts no migration.
    bool const moved = moves && done.contains(waiting.fault.page);
    if (!handle(waiting, !moved, t)) waiting_.push(waiting);
  }
}

PageAction FaultClient::action_at(WaitingFault& waiting, PageFault const& m, PageTranslation const& home,
                                  DriverTurn& t) {
  auto& memory = t.s.memory;
  if (waiting.is_decided != 0)
    return memory.allows(m.page, m.access, m.gpu, home) ? PageAction::stay : waiting.action;
  waiting.is_decided = 1;
  return waiting.action = memory.decide(m.page, home, m.gpu, m.access, m.kind);
}

bool FaultClient::handle(WaitingFault& waiting, bool may_move, DriverTurn& t) const {
  auto& s = t.s;
  auto m = waiting.fault;
  if (s.transitions.is_in_flight(m.page)) return false;
  auto const home = s.memory.home(m.page);
  if (t.spec.gpus_end_walks)
    m.kind = !home ? FaultKind::not_mapped : may_move ? FaultKind::remote : FaultKind::moving;
  auto const action = home && may_move ? action_at(waiting, m, *home, t) : PageAction::stay;
  if (!home) {
    if (s.memory.is_unallocated(m.page)) {
      ++s.stats[m.application].unallocated_faults;
      respond(m, {}, Duration::zero(), t);
    } else if (!touch_first(m, t)) {
      return false;
    }
  } else if (action != PageAction::stay) {
    if (!bring(m, *home, goal_of(action), t)) return false;
  } else {
    bool const maps_remotely =
        t.spec.gpus_end_walks && m.kind == FaultKind::remote && !s.memory.is_on(m.page, m.gpu);
    answer(m, work(m.kind, maps_remotely ? t.spec.params.fault_latency : Duration::zero(), t), t);
  }
  ++s.stats[m.application].page_faults;
  return true;
}

// Brings the page, or a copy, to the GPU, or refuses.
bool FaultClient::bring(PageFault const& m, PageTranslation const& home, PageGoal goal, DriverTurn& t) const {
  auto& s = t.s;
  if (s.transitions.free() == 0) return false;
  PageInFlight p;
  p.request = m;
  p.transition = transition_to(goal, s.memory.state_of(m.page));
  p.from = home.frame;
  p.size = home.size;
  p.answers = 1;
  auto const frame = t.reserve_frame(p);
  if (frame == FrameOnGpu::stalled) return false;
  auto const ready = work(m.kind, t.spec.params.fault_latency, t);
  if (frame == FrameOnGpu::refused)
    answer(m, ready, t);
  else
    t.begin(p, ready);
  return true;
}

bool FaultClient::touch_first(PageFault const& m, DriverTurn& t) const {
  auto& s = t.s;
  auto& memory = s.memory;
  if (memory.all_full()) return false;  // until a copy completes and frees its source
  bool const fetches = t.spec.first_touch_copy && memory.host_wrote(m.page) && !memory.cpu_frames().empty();
  if (fetches && s.transitions.free() == 0) return false;
  if (s.relocations.awaits_large_frame(m.page, m.gpu, m.application, t)) return false;
  if (memory.pool(m.gpu).empty()) ++s.stats[m.application].pages_spilled;
  auto to = memory.take_near(m.page, s.transitions.size_for(m.page, memory), m.gpu, m.application);
  auto const ready = work(m.kind, t.spec.params.fault_latency, t);
  PageInFlight p;
  p.request = m;
  p.transition = Transition::first_touch;
  p.answers = 1;
  if (fetches && device_of(to.frame) < kFirstCpu) {
    auto const contents = memory.take(m.page, to.size, t.spec.devices.cpu());
    if (contents.size != to.size) {  // CPU memory has no large frame for the contents
      memory.release(to);
      to = memory.take(m.page, contents.size, device_of(to.frame));
    }
    p.from = contents.frame;
  }
  p.to = to.frame;
  p.size = to.size;
  if (p.from != kNoFrame) {
    t.begin(p, ready);
  } else {
    s.transitions.begin_immediate(p, t.now);
    t.run(s.transitions.immediate(), ready);
  }
  return true;
}

void FaultClient::answer(PageFault const& m, Duration after, DriverTurn& t) const {
  auto& memory = t.s.memory;
  auto const home = *memory.home(m.page);
  auto const own = memory.frame_on(m.page, m.gpu, home);
  if (own != kNoFrame && own != home.frame) {
    auto to_copy = m;
    to_copy.kind = FaultKind::copied;
    return respond(to_copy, {read_only(own), 0}, after, t);
  }
  if (own == kNoFrame && memory.is_shared(m.page)) memory.add_remote_reader(m.page, m.gpu);
  respond(m, {memory.shown(m.page, home.frame), home.size}, after, t);
}

void FaultClient::respond(PageFault const& m, PageTranslation const& to, Duration after,
                          DriverTurn& t) const {
  t.out.answer(m.iommu,
               PageMapped{.page = m.page,
                          .frame = to.frame,
                          .entry = m.entry,
                          .size = to.size,
                          .kind = m.kind,
                          .gpu = m.recorded_by_gpu != 0 ? m.gpu : kNoGpu},
               after);
}

// Queueing time for the driver and its work; none for first touches that the IOMMU maps.
Duration FaultClient::work(FaultKind kind, Duration takes, DriverTurn& t) const {
  bool const of_iommu = kind == FaultKind::not_mapped && t.spec.first_touch_by == FirstTouchBy::iommu;
  return of_iommu ? Duration::zero() : t.s.work.busy(takes, t.now);
}

}  // namespace farfault
