// SPDX-License-Identifier: Apache-2.0
// Somebody who looks on as a component handles its events, and changes nothing.
//
// Engine::observe() says whom. While nobody is observed an event costs nothing more than without this: the
// table of handlers is another one while somebody is. An observer of a component is called by one thread at a
// time, in the documented order of its events; it may read the component's State and must not change it.
#pragma once

#include <vector>

#include "farfault/engine/lane.hpp"

namespace farfault {

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void before(Event const& e) = 0;  // it is about to be handled
  virtual void after(Event const& e) = 0;   // it has been

 protected:
  Observer() = default;
  Observer(Observer const&) = default;
  Observer& operator=(Observer const&) = default;
};

// Who is observed, for the lanes of an engine.
class Observation {
 public:
  // `receivers` outlives it; `observers`: by component, null where nobody looks on.
  Observation(std::vector<Receiver> const& receivers, std::vector<Observer*> observers);

  // In place of `receivers`.
  Receiver const* table() const { return table_.data(); }
  void handle(AnyComponent& component, Lane& lane, Event const& e) const;

 private:
  Receiver const* receivers_;
  std::vector<Observer*> observers_;
  std::vector<Receiver> table_;
};

}  // namespace farfault
