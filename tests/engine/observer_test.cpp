// SPDX-License-Identifier: Apache-2.0
#include "farfault/engine/observer.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <vector>

#include "ring_model.hpp"

namespace observer_test {

using namespace farfault;

namespace {

// Records a component's State around each of its events.
class Notes final : public Observer {
 public:
  explicit Notes(ring::Place const& place) : place_(place) {}
  void before(Event const& e) override {
    key_ = e;
    seen_ = place_.state().seen;
  }
  void after(Event const& e) override {
    same_event = same_event && key_.when == e.when && key_.sequence == e.sequence && key_.to == e.to &&
                 key_.from == e.from && key_.payload == e.payload;
    in_order = in_order && (times.empty() || times.back() <= e.when);
    changed = changed && seen_ != place_.state().seen;
    times.push_back(e.when);
  }

  std::vector<Time> times;
  bool same_event = true;
  bool in_order = true;
  bool changed = true;

 private:
  ring::Place const& place_;
  Event key_{};
  std::uint64_t seen_ = 0;
};

struct Watched {
  std::vector<Time> times;
  std::uint64_t events = 0;
  std::uint64_t digest = 0;
};

// Observes one place between two times, with the given lanes and threads.
Watched watch(bool looks, std::uint32_t threads, bool apart) {
  ring::Model model({});
  Placement placement;
  for (std::uint32_t i = 0; i < model.system.component_count(); ++i) placement.partition_of.push_back(i);
  placement.partitions = static_cast<std::uint32_t>(model.system.component_count());
  auto const transport = make_single_transport();
  Engine engine(model.system, placement,
                {.threads = threads, .merge_lanes = !apart, .run_sparse_merged = !apart}, *transport);
  engine.run_until(Time{2us});
  auto const& place = *model.places[3];
  Notes notes(place);
  auto const before = engine.profile().events;
  if (looks) {
    std::vector<Observer*> observers(model.system.component_count());
    observers[place.id()] = &notes;
    engine.observe(observers);
  }
  engine.run_until(Time{4us});
  auto const there = notes.times.size();
  engine.observe({});
  engine.run_until(Time{6us});
  CHECK(notes.times.size() == there);
  CHECK(notes.same_event);
  CHECK(notes.in_order);
  CHECK(notes.changed);
  return {notes.times, engine.profile().events - before, engine.state_digest()};
}

}  // namespace

TEST_CASE("an observer gets each event of its component in order, while it is registered") {
  auto const one = watch(true, 1, false);
  CHECK(one.times.size() > 50);
  CHECK(one.times.size() < one.events / 4);
  CHECK(one.times.front() >= Time{2us});
  CHECK(one.times.back() < Time{4us});
  for (auto const threads : {1U, 2U})
    for (auto const apart : {false, true}) CHECK(watch(true, threads, apart).times == one.times);
}

TEST_CASE("an observer does not affect the component") {
  auto const unseen = watch(false, 1, false);
  auto const seen = watch(true, 1, false);
  CHECK(unseen.times.empty());
  CHECK(seen.events == unseen.events);
  CHECK(seen.digest == unseen.digest);
}

}  // namespace observer_test
