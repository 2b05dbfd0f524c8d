// SPDX-License-Identifier: Apache-2.0
// Changes of a page's state, as data: for each change, the steps that it takes, in order. The executor
// (transition_executor.hpp) takes them; clients name the state that they want.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "farfault/paging/page_decision.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

// unmapped: no frame. resident: one frame, on one device. shared: resident, with read-only copies on other
// devices. hosted: resident in the host's memory.
enum class PageState : std::uint8_t { unmapped, resident, shared, hosted };

// After a step marked with (wait), the next step is taken when an answer has arrived. `from` is the frame
// before the transition, `to` the frame after it.
enum class PageStep : std::uint8_t {
  end,
  invalidate,   // (wait) informs every IOMMU that translations to `from` become invalid, until all have
                // acknowledged; the driver's own table splinters a coalesced page
  drain,        // by then, no IOMMU and no GPU holds a translation to `from` or has an access that used one
  flush,        // (wait) likewise, until all lines of `from` are written back and dropped; skipped for frames
                // of the host, and if hardware keeps the L2 partitions coherent
  drop_copies,  // the frame of one copy on another device than the destination is released; repeated until
                // there is none, then a copy on the destination, or else the page, is the page
  consent,      // (wait) until the client admits the page; skipped unless the client asks for it
  hand_over,    // the latest copy becomes the page, if there is one, and its frame is `to`
  allocate,     // `to` on the destination, unless the client or an earlier step has given it. If no frame is
                // free, a page that moves keeps its frame. A page whose contents the host wrote gets a frame
                // of the host as `from`
  copy,         // (wait) the contents, from `from` to `to`; skipped if they are there, or if there are none
  map,          // in the driver's own table, which may then coalesce base pages
  unmap,        // likewise
  add_copy,     // in the driver's list of copies
  drop_copy,    // likewise
  release,      // `from` becomes free; skipped if there is none, or if it is `to`
  announce,  // informs every IOMMU of the page's frame, read-only if it has copies, and the GPU that has the
             // frame, unless it gets an answer; skipped if a later `confirm` does so
  protect,   // informs every IOMMU, and the GPU that has it, that the page's own frame is read-only
  confirm,   // (wait) informs every IOMMU of `to`, until all have acknowledged: their tables contain it,
             // or that of the GPU with the copy or the remote mapping; skipped unless the client asks for it
  answer,    // the fault is answered with the frame that the GPU may use: its copy's or the page's;
             // skipped unless the client asks for it
};
inline constexpr auto kPageSteps = static_cast<std::size_t>(PageStep::answer) + 1;

enum class Transition : std::uint8_t {
  first_touch,
  move,
  duplicate,
  copy_again,
  collapse,
  evict,
  evict_copy,
  allocate,
  free,
  transfer,
  relocate,
  refill,
  give_back,
  restore,
  map_remotely,
};

using PageSteps = std::array<PageStep, 14>;

struct TransitionRow {
  Transition transition;
  std::string_view name;
  PageState from;
  PageState to;
  MoveStep invalidates = MoveStep::unmap;  // message of the step `invalidate`
  PageSteps steps;
};

// evict: the page may also be shared; then it ends on the device of its latest copy. transfer: a program
// copies contents. relocate: to another frame of the same memory, for compaction or coalescing. refill:
// likewise, of data without a page. give_back: a frame taken for a page that is not relocated after all is
// released. restore: a page that has waited for consent keeps its frame. map_remotely: the page stays, and a
// GPU maps it in its own table; the page may also be shared, and is then mapped read-only.
inline constexpr auto kTransitions = [] {
  using enum PageStep;
  using T = Transition;
  using S = PageState;
  // clang-format off
  return std::array<TransitionRow, 15>{{
      {.transition = T::first_touch, .name = "first touch", .from = S::unmapped, .to = S::resident,
       .steps = PageSteps{consent, allocate, copy, map, release, confirm, answer}},
      {.transition = T::move, .name = "move", .from = S::resident, .to = S::resident,
       .steps = PageSteps{invalidate, drain, flush, consent, allocate, copy, map, release, announce,
                          confirm, answer}},
      {.transition = T::duplicate, .name = "duplicate", .from = S::resident, .to = S::shared,
       .steps = PageSteps{invalidate, drain, flush, consent, allocate, copy, add_copy, protect, confirm,
                          answer}},
      {.transition = T::copy_again, .name = "copy again", .from = S::shared, .to = S::shared,
       .steps = PageSteps{consent, allocate, copy, add_copy, confirm, answer}},
      {.transition = T::collapse, .name = "collapse", .from = S::shared, .to = S::resident,
       .steps = PageSteps{invalidate, drain, flush, drop_copies, consent, allocate, copy, map, release,
                          announce, confirm, answer}},
      {.transition = T::evict, .name = "evict", .from = S::resident, .to = S::hosted,
       .steps = PageSteps{invalidate, drain, flush, consent, hand_over, allocate, copy, map, announce,
                          release}},
      {.transition = T::evict_copy, .name = "evict copy", .from = S::shared, .to = S::shared,
       .invalidates = MoveStep::drop,
       .steps = PageSteps{invalidate, drain, flush, consent, drop_copy, release}},
      {.transition = T::allocate, .name = "allocate", .from = S::unmapped, .to = S::resident,
       .steps = PageSteps{allocate, confirm, map}},
      {.transition = T::free, .name = "free", .from = S::resident, .to = S::unmapped,
       .invalidates = MoveStep::forget,
       .steps = PageSteps{invalidate, drain, flush, unmap, release}},
      {.transition = T::transfer, .name = "transfer", .from = S::resident, .to = S::resident,
       .steps = PageSteps{copy}},
      {.transition = T::relocate, .name = "relocate", .from = S::resident, .to = S::resident,
       .steps = PageSteps{invalidate, drain, flush, copy, confirm, map, release}},
      {.transition = T::refill, .name = "refill", .from = S::unmapped, .to = S::unmapped,
       .steps = PageSteps{copy, release}},
      {.transition = T::give_back, .name = "give back", .from = S::unmapped, .to = S::unmapped,
       .steps = PageSteps{copy, release}},
      {.transition = T::restore, .name = "restore", .from = S::resident, .to = S::resident,
       .steps = PageSteps{announce, map}},
      {.transition = T::map_remotely, .name = "map remotely", .from = S::resident, .to = S::resident,
       .steps = PageSteps{consent, confirm, answer}},
  }};
  // clang-format on
}();

constexpr TransitionRow const& row_of(Transition t) {
  return kTransitions[static_cast<std::size_t>(t)];
}
constexpr bool takes(Transition t, PageStep step) {
  for (auto const s : row_of(t).steps)
    if (s == step) return step != PageStep::end;
  return false;
}
constexpr bool ends_on_host(Transition t) {
  return row_of(t).to == PageState::hosted;
}
// The row makes a copy and leaves the page where it is.
constexpr bool adds_copy(Transition t) {
  return takes(t, PageStep::add_copy);
}

// States that a fault or a batch asks for, on one device. readable: the page, or a copy of it. exclusive: the
// page, without copies elsewhere.
enum class PageGoal : std::uint8_t { readable, exclusive };

constexpr PageGoal goal_of(PageAction action) {
  return action == PageAction::copy_here ? PageGoal::readable : PageGoal::exclusive;
}
constexpr Transition transition_to(PageGoal goal, PageState from) {
  if (from == PageState::unmapped) return Transition::first_touch;
  bool const shared = from == PageState::shared;
  if (goal == PageGoal::exclusive) return shared ? Transition::collapse : Transition::move;
  return shared ? Transition::copy_again : Transition::duplicate;
}

// Without a free frame on the destination, the page stays in its frame, and the row ends as usual. Clients of
// other rows make sure that a frame is free.
constexpr bool may_keep_frame(Transition t) {
  return t == Transition::move || t == Transition::collapse;
}
// The row may begin in this state. A page in the host's memory moves as any other.
constexpr bool begins_in(Transition t, PageState state) {
  auto const from = row_of(t).from;
  if (from != PageState::resident) return state == from;
  return state == PageState::resident || state == PageState::hosted ||
         ((t == Transition::evict || t == Transition::map_remotely) && state == PageState::shared);
}

// Eviction of a page, or of a copy of it.
constexpr Transition eviction_of(bool is_copy) {
  return is_copy ? Transition::evict_copy : Transition::evict;
}

static_assert([] {
  for (std::size_t i = 0; i < kTransitions.size(); ++i)
    if (kTransitions[i].transition != static_cast<Transition>(i) ||
        kTransitions[i].steps.back() != PageStep::end)
      return false;
  return true;
}());

}  // namespace farfault
