// SPDX-License-Identifier: Apache-2.0
#include "farfault/engine/lane.hpp"

#include "farfault/engine/component.hpp"
#include "farfault/engine/error.hpp"

namespace farfault {

Event& Lane::send_elsewhere(Time when, std::uint64_t sequence, PortId to, PortId from) {
  if (recorder_ != nullptr) recorder_->sent(from, sequence);
  if (!leaves(to)) return queue.place(when, sequence, to, from);
  auto const node = node_of_port_[to];
  auto& box = outgoing[node];
  if (box.events.empty()) filled.push_back(node);
  return box.place(when, sequence, to, from);
}

std::uint64_t Lane::run(Time horizon, std::uint64_t limit) {
  PanicScope const scope(
      [](void const* lane) {
        auto const& l = *static_cast<Lane const*>(lane);
        return "in " + (l.handling_ != nullptr ? l.handling_->path() : "no component") + " at " +
               std::to_string(picoseconds(l.last_event)) + " ps";
      },
      this);
  auto const n = queue.run(
      horizon, limit,
      [this](Event const& e) __attribute__((always_inline)) {
        auto const& receiver = receivers_[e.to];
        last_event = e.when;
        handling_ = receiver.component;
        if (!receiver.component->has_worked_) [[unlikely]]
          note(*receiver.component);
        if (recorder_ != nullptr) [[unlikely]] {
          recorder_->begin(e, receiver.component->id());
          receiver.handler(*receiver.component, *this, e);
          recorder_->end();
        } else {
          receiver.handler(*receiver.component, *this, e);
        }
      },
      [this](PortId to) { __builtin_prefetch(receivers_ + to); },
      [this](PortId to) {
        auto const* component = reinterpret_cast<char const*>(receivers_[to].component);
        __builtin_prefetch(component);
        __builtin_prefetch(component + 64);
      });
  handled += n;
  return n;
}

void Lane::note(AnyComponent& component) {
  component.has_worked_ = true;
  worked.push_back(component.id());
}

}  // namespace farfault
