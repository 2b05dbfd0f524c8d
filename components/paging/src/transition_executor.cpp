// SPDX-License-Identifier: Apache-2.0
#include "farfault/paging/transition_executor.hpp"

#include <algorithm>

namespace farfault {

TransitionExecutor::TransitionExecutor(PagingDriverSpec const& spec)
    : spec_(&spec), pages_(spec.params.migrations + 1), numbers_(spec.page_bits, spec.spaces) {
  for (auto i = spec.params.migrations; i > 0; --i) free_.push_back(i - 1);
}

bool TransitionExecutor::is_in_flight(std::uint64_t page) const {
  auto const* number = numbers_.find(page);
  return number != nullptr && *number != 0;
}

unsigned TransitionExecutor::size_for(std::uint64_t page, DriverMemory const& memory) const {
  auto const size = spec_->large.size_of(page);
  if (size == 0) return 0;
  bool const part_arriving = std::ranges::any_of(pages_, [&](auto const& p) {
    return p.in_use != 0 && first_of(p.page(), size) == first_of(page, size);
  });
  return !part_arriving && memory.table().takes(page, size) ? size : 0;
}

void TransitionExecutor::number_pages(PageInFlight const& p, std::uint32_t value) {
  if (p.page() == FrameAllocator::kUnownedPage) return;
  auto const first = p.first_page();
  for (auto page = first; page - first < std::uint64_t{1} << p.size; ++page) numbers_.of(page) = value;
}

std::uint32_t TransitionExecutor::begin(PageInFlight const& page, Time now) {
  auto const number = free_.back();
  free_.pop_back();
  number_pages(page, number + 1);
  auto& p = pages_[number];
  p = page;
  p.started = now;
  p.in_use = 1;
  return number;
}

void TransitionExecutor::begin_immediate(PageInFlight const& page, Time now) {
  auto& p = pages_.back();
  p = page;
  p.started = now;
  p.in_use = 1;
}

PageInFlight TransitionExecutor::finish(std::uint32_t number) {
  auto const done = pages_[number];
  pages_[number] = {};
  if (number == immediate()) return done;
  number_pages(done, 0);
  free_.push_back(number);
  return done;
}

bool TransitionExecutor::acknowledge(std::uint32_t number) {
  auto& p = pages_[number];
  FF_CHECK(p.in_use != 0 && p.awaited > 0, "a step completed for a page that is not in flight");
  return --p.awaited == 0;
}

void TransitionExecutor::copied(std::uint32_t number) {
  auto& p = pages_[number];
  FF_CHECK(p.in_use != 0 && p.current() == PageStep::copy,
           "a copy completed for a page that is not in flight");
  p.awaited = 0;
}

void TransitionExecutor::admit(std::uint32_t number, bool in_place) {
  auto& p = pages_[number];
  p.awaited = 0;
  if (in_place) p.in_place = 1;
}

void TransitionExecutor::restore(std::uint32_t number) {
  auto& p = pages_[number];
  bool const is_mapped = !takes(p.transition, PageStep::invalidate);
  p.transition = Transition::restore;
  p.step = static_cast<std::uint8_t>(is_mapped ? row_of(p.transition).steps.size() - 1 : 0);
  p.to = p.from;
  p.awaited = p.confirms = 0;
}

TransitionExecutor::Action TransitionExecutor::tell(PageInFlight& p, MoveStep step, PhysAddr frame,
                                                    bool waits) const {
  if (waits) p.awaited = spec_->iommus;
  auto const number = static_cast<std::uint32_t>(&p - pages_.data());
  PageMove const message{
      .page = p.first_page(), .frame = frame, .move = number, .step = step, .size = p.size};
  return {Kind::tell, message, 0};
}

TransitionExecutor::Action TransitionExecutor::next(std::uint32_t number, DriverMemory& memory, Time now) {
  auto& p = pages_[number];
  auto const& row = row_of(p.transition);
  // A page that is restored is not in the table if it may be coalesced.
  FF_CHECK(p.step != 0 || p.page() == FrameAllocator::kUnownedPage || p.transition == Transition::restore ||
               begins_in(p.transition, memory.state_of(p.page())),
           "a transition began in a state that it does not begin in");
  if (p.awaited == 0 && p.current() == PageStep::flush) p.unmapped = now;
  Action action;
  while (p.awaited == 0) {
    auto const step = row.steps[p.step++];
    if (step == PageStep::end) return {Kind::ended, {}, 0};
    if (take(step, p, memory, now, action)) {
      ++taken_[static_cast<std::size_t>(step)];
      if (action.kind != Kind::wait) return action;
    }
  }
  return {};
}

// False: the step is skipped.
bool TransitionExecutor::take(PageStep step, PageInFlight& p, DriverMemory& memory, Time now,
                              Action& action) {
  auto const page = p.page();
  auto const gpu = p.request.gpu;
  switch (step) {
    case PageStep::end:
      return false;
    case PageStep::invalidate:
      if (row_of(p.transition).invalidates != MoveStep::drop) memory.splinter(page, now);
      action = tell(p, row_of(p.transition).invalidates, p.from, true);
      return true;
    case PageStep::drain:  // until here
      p.unmapped = now;
      return true;
    case PageStep::flush:
      if (!spec_->flush_moving_pages || device_of(p.from) >= kFirstCpu) return false;
      action = tell(p, MoveStep::flush, p.from, true);
      return true;
    case PageStep::drop_copies:
      if (auto const other = memory.take_copy_elsewhere(page, gpu)) {
        memory.release({*other, 0});
        action = {Kind::left, {}, device_of(*other)};
        --p.step;  // until none is left
        return true;
      }
      if (auto const own = memory.frame_on(page, gpu); own != kNoFrame) {
        p.to = own;
        p.in_place = 1;
      }
      memory.end_sharing(page);
      return true;
    case PageStep::consent:
      if (p.consents == 0) return false;
      p.awaited = 1;
      action.kind = Kind::consent;
      return true;
    case PageStep::hand_over:
      if (auto const copy = memory.hand_over(page)) {
        p.to = *copy;
        p.in_place = 1;
      }
      return true;
    case PageStep::allocate: {
      if (p.to != kNoFrame) return false;
      p.to = memory.take_whole(page, p.size, ends_on_host(p.transition) ? spec_->devices.cpu() : gpu);
      if (p.to == kNoFrame) {
        FF_CHECK(may_keep_frame(p.transition), "no frame was free for a page that cannot keep its frame");
        p.to = p.from;
        p.in_place = 1;
        action.kind = Kind::refused;
        return true;
      }
      if (p.fetches != 0) p.from = memory.take_whole(page, p.size, spec_->devices.cpu());
      return true;
    }
    case PageStep::copy:
      if (p.in_place != 0 || p.from == kNoFrame) return false;
      p.awaited = 1;
      p.copied = 1;
      action.kind = Kind::copy;
      return true;
    case PageStep::map:
      memory.map(page, {p.to, p.size}, now);
      action.kind = p.transition == Transition::restore ? Kind::wait : Kind::changed;
      return true;
    case PageStep::unmap:
      memory.unmap(page, p.size);
      return true;
    case PageStep::add_copy:
      memory.add_copy(page, p.to);
      action.kind = Kind::changed;
      return true;
    case PageStep::drop_copy:
      memory.take_copy(page, gpu);
      return true;
    case PageStep::release:
      if (p.from == kNoFrame || p.from == p.to) return false;
      memory.release({p.from, p.size});
      return true;
    case PageStep::announce:
      if (p.confirms != 0) return false;
      action = tell(p, MoveStep::remap, memory.shown(page, p.to), false);
      if (p.answers == 0 || device_of(p.to) != gpu) action.message.gpu = device_of(p.to);
      return true;
    case PageStep::protect:
      action = tell(p, MoveStep::remap, read_only(p.from), false);
      action.message.gpu = device_of(p.from);
      return true;
    case PageStep::confirm:
      if (p.confirms == 0) return false;
      if (p.transition == Transition::map_remotely) {
        if (memory.is_shared(page)) memory.add_remote_reader(page, gpu);
        action = tell(p, MoveStep::map_remote, memory.shown(page, p.from), true);
        action.message.gpu = gpu;
        return true;
      }
      action = adds_copy(p.transition) ? tell(p, MoveStep::map_copy, read_only(p.to), true)
                                       : tell(p, MoveStep::map, p.to, true);
      return true;
    case PageStep::answer:
      if (p.answers == 0) return false;
      action.kind = Kind::answer;
      return true;
  }
  return false;
}

}  // namespace farfault
