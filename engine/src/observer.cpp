// SPDX-License-Identifier: Apache-2.0
#include "farfault/engine/observer.hpp"

#include <utility>

#include "farfault/engine/component.hpp"

namespace farfault {

Observation::Observation(std::vector<Receiver> const& receivers, std::vector<Observer*> observers)
    : receivers_(receivers.data()), observers_(std::move(observers)), table_(receivers) {
  for (auto& receiver : table_) {
    auto const id = receiver.component->id();
    if (id < observers_.size() && observers_[id] != nullptr) receiver.handler = &Lane::handle_observed;
  }
}

void Observation::handle(AnyComponent& component, Lane& lane, Event const& e) const {
  auto& observer = *observers_[component.id()];
  auto const event = e;  // the handler may move the queue that contains it
  observer.before(event);
  receivers_[event.to].handler(component, lane, event);
  observer.after(event);
}

void Lane::observe(Observation const* observation, std::vector<Receiver> const& receivers) {
  observation_ = observation;
  receivers_ = observation != nullptr ? observation->table() : receivers.data();
}

void Lane::handle_observed(AnyComponent& component, Lane& lane, Event const& e) {
  lane.observation_->handle(component, lane, e);
}

}  // namespace farfault
