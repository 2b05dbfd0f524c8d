// SPDX-License-Identifier: Apache-2.0
// Changes of a page's state, as data: for each change, the steps that it takes, in order. The executor
// (transition_executor.hpp) takes them; clients name the state that they want.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "farfault/protocols/messages.hpp"

namespace farfault {

// unmapped: no frame. resident: one frame, on one device. shared: resident, with read-only copies on other
// devices. hosted: resident in the host's memory.
enum class PageState : std::uint8_t { unmapped, resident, shared, hosted };

// A step marked with (wait) ends when an answer has arrived.
enum class PageStep : std::uint8_t {
  end,
  invalidate,   // informs every IOMMU that translations to the old frame become invalid; the driver's own
                // table splinters a coalesced page
  drain,        // (wait) until no IOMMU and no GPU holds a translation to the frame or has an access that
                // used one
  flush,        // (wait) the GPU that holds the frame writes back and drops its lines; skipped for frames of
                // the host, and if hardware keeps the partitions of the L2 caches coherent
  drop_copies,  // frames of copies are released; a copy or the page on the destination becomes the page
  consent,      // (wait) until the client admits the page; skipped unless the client asks for it
  hand_over,    // the latest copy becomes the page, if there is one
  allocate,     // a frame on the destination; skipped if the page has one there; if none is free, the page
                // keeps its frame
  copy,         // (wait) the contents, to the new frame; skipped if they are there, or if there are none
  map,          // in the driver's own table
  unmap,        // likewise
  add_copy,     // in the driver's list of copies
  drop_copy,    // likewise
  release,      // the old frame becomes free; skipped if it is also the new one
  announce,     // informs every IOMMU of the page's frame, read-only if it has copies; skipped if confirmed
  protect,      // informs every IOMMU that the page's own frame is read-only
  confirm,      // (wait) informs every IOMMU of the new frame, until their tables contain it; skipped unless
                // the client asks for it
  answer,       // the fault is answered with the page's frame; skipped unless the client asks for it
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
  restore,
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

// evict: `from` may also be shared. transfer: a program copies contents. relocate: to another frame of the
// same memory, for compaction or coalescing. refill: likewise, of data without a page. restore: a page that
// has waited for consent keeps its frame.
inline constexpr auto kTransitions = [] {
  using enum PageStep;
  using T = Transition;
  using S = PageState;
  // clang-format off
  return std::array<TransitionRow, 13>{{
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
      {.transition = T::restore, .name = "restore", .from = S::resident, .to = S::resident,
       .steps = PageSteps{announce, map}},
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

constexpr Transition transition_to(PageGoal goal, PageState from) {
  if (from == PageState::unmapped) return Transition::first_touch;
  bool const shared = from == PageState::shared;
  if (goal == PageGoal::exclusive) return shared ? Transition::collapse : Transition::move;
  return shared ? Transition::copy_again : Transition::duplicate;
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
