// SPDX-License-Identifier: Apache-2.0
// An observer of a component's events, which changes nothing.
//
// Engine::observe() installs observers. Without observers an event has no extra cost: observation
// uses a separate table of handlers. An observer of a component is called by one thread at a
// time, in the documented order of its events; it may read the component's State and must not change it.
#pragma once

#include <vector>

#include "farfault/engine/lane.hpp"

namespace farfault {

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void before(Event const& e) = 0;  // called before the event is handled
  virtual void after(Event const& e) = 0;   // called afterwards

 protected:
  Observer() = default;
  Observer(Observer const&) = default;
  Observer& operator=(Observer const&) = default;
};

// The observed components, for the lanes of an engine.
class Observation {
 public:
  // `receivers` must outlive it; `observers`: by component, null if not observed.
  Observation(std::vector<Receiver> const& receivers, std::vector<Observer*> observers);

  // Replaces `receivers`.
  Receiver const* table() const { return table_.data(); }
  void handle(AnyComponent& component, Lane& lane, Event const& e) const;

 private:
  Receiver const* receivers_;
  std::vector<Observer*> observers_;
  std::vector<Receiver> table_;
};

}  // namespace farfault
