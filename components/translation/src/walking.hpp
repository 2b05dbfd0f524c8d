// SPDX-License-Identifier: Apache-2.0
// Private: runs the walks of a component's Walker, by reads of entries or, for walks of fixed length, by a
// timer. Shared by the GMMU and the IOMMU, which handle the end of a walk themselves.
#pragma once

#include <algorithm>
#include <optional>

#include "farfault/translation/walker.hpp"

namespace farfault::walking {

template <class Owner, class Cx>
void read(Owner const& o, PhysAddr entry, Requester requester, std::uint32_t walker, Duration extra, Cx& cx) {
  auto const slice = o.spec().memory.slice(offset_of(entry));
  auto from = o.spec().memory_port;
  if constexpr (requires { o.spec().to_slices; }) {
    auto hop = o.spec().to_slices;
    hop.partition = o.spec().partition_of_walkers(walker / o.spec().params.walkers);
    from = static_cast<std::uint16_t>(from + hop.partition);
    extra += hop.to(slice);
  }
  cx.send(o.read_entry, slice,
          MemRequest{.address = entry,
                     .tag = walker,
                     .from = from,
                     .access = Access::read,
                     .bytes = 8,
                     .requester = requester},
          extra);
}

// Starts walks while one is queued and a walker is free. `earliest`: earliest start of a request's walk.
template <class Owner, class Cx, class Earliest>
void start(Owner const& o, Clock clock, Cx& cx, Earliest&& earliest) {
  auto& s = cx.state();
  auto const fixed = o.spec().params.walk_latency;
  while (auto const first = fixed != 0 ? s.walker.begin() : s.walker.start(s.table)) {
    auto const ready = std::max<Time>(earliest(first->tag), cx.now());
    s.walk_began[first->walker] = ready;
    if (fixed != 0)
      cx.wake_at(o.walk_end, WalkEnd{first->walker}, ready + clock.cycles(fixed));
    else
      read(o, first->address, first->requester, first->walker, ready - cx.now(), cx);
  }
}

// Processes an entry that was read: returns the end of its walk, or reads the next entry.
template <class Owner, class Cx>
std::optional<Walker::Step> advance(Owner const& o, MemResponse const& m, Cx& cx) {
  auto& s = cx.state();
  auto const step = s.walker.advance(m.tag, s.table);
  if (step.ended) return step;
  read(o, step.address, step.requester, m.tag, Duration::zero(), cx);
  return std::nullopt;
}

}  // namespace farfault::walking
