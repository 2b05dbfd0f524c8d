// SPDX-License-Identifier: Apache-2.0
#include "farfault/engine/engine.hpp"

#include <algorithm>
#include <utility>

#include "engine_impl.hpp"
#include "farfault/engine/error.hpp"

namespace farfault {

Engine::Engine(System& system, Placement placement, EngineOptions options, Transport& transport) {
  system.validate();
  if (options.record_path) {
    if (transport.ranks() != 1) throw UserError("the critical path can only be recorded on one rank");
    options.threads = 1;
    options.merge_lanes = true;
  }
  impl_ = std::make_unique<Impl>(system, std::move(placement), options, transport);
}

Engine::~Engine() = default;

RunState Engine::run_until(Time end) {
  auto state = RunState::drained;
  impl_->workers.run([&] { state = impl_->run(end, stop_); });
  return state;
}

bool Engine::is_local(ComponentId id) const {
  return impl_->map.is_local(id);
}

std::uint32_t Engine::rank_of(ComponentId id) const {
  return impl_->map.rank_of(id);
}

Time Engine::last_event() const {
  auto const mine = static_cast<std::uint64_t>(picoseconds(impl_->last_event()));
  return Time{Duration{static_cast<std::int64_t>(impl_->transport.max(mine))}};
}

Time Engine::next_event() const {
  return impl_->global_next;
}

std::uint64_t Engine::state_digest() {
  std::uint64_t sum = 0;
  for (ComponentId id = 0; id < impl_->system.component_count(); ++id) {
    if (!impl_->map.is_local(id)) continue;
    Hasher hasher;
    hasher.mix(id);
    impl_->system.component(id).archive(hasher);
    sum += hasher.value();
  }
  return impl_->transport.sum(sum);
}

// Marks the end of a rank's components in saved state.
constexpr ComponentId kEndOfComponents = ~ComponentId{0};

std::vector<std::byte> Engine::save() {
  auto& i = *impl_;
  std::vector<std::byte> bytes;
  Saver saver(bytes);
  std::vector<std::byte> state;
  for (ComponentId id = 0; id < i.system.component_count(); ++id) {
    if (!i.map.is_local(id)) continue;
    state.clear();
    Saver component(state);
    i.system.component(id).archive(component);
    saver(id, state);
  }
  auto end = kEndOfComponents;
  saver(end);
  std::vector<Event> events;
  i.for_each_pending([&](Event const& e) { events.push_back(e); });
  std::sort(events.begin(), events.end(), precedes);
  auto last = i.last_event();
  saver(events, last);
  return bytes;
}

void Engine::load(std::vector<std::vector<std::byte>> const& parts) {
  auto& i = *impl_;
  i.forget_events();
  std::vector<bool> seen(i.system.component_count());
  for (auto const& part : parts) {
    Loader loader(part);
    for (;;) {
      ComponentId id = 0;
      loader(id);
      if (id == kEndOfComponents) break;
      if (id >= i.system.component_count() || seen[id])
        throw UserError("saved state belongs to a different model");
      seen[id] = true;
      std::vector<std::byte> state;
      loader(state);
      if (!i.map.is_local(id)) continue;
      Loader component(state);
      i.system.component(id).archive(component);
      if (!component.at_end())
        throw UserError("saved state of " + i.system.component(id).path() + " is too long");
    }
    std::vector<Event> events;
    Time last{};
    loader(events, last);
    i.last_loaded = std::max(i.last_loaded, last);
    for (auto const& e : events) {
      if (e.to >= i.system.receivers_.size())
        throw UserError("a saved event has a port that this model lacks");
      if (e.when < Time{}) throw UserError("a saved event has a negative time");
      auto const id = i.system.receivers_[e.to].component->id();
      if (i.map.is_local(id)) i.put(e);
    }
    if (!loader.at_end()) throw UserError("saved state is too long");
  }
  for (ComponentId id = 0; id < i.system.component_count(); ++id)
    if (!seen[id]) throw UserError("saved state is incomplete: it lacks " + i.system.component(id).path());
  if (i.recorder) i.recorder->restart(i.pending());
}

void Engine::take_worked(std::vector<ComponentId>& ids) {
  for (auto const& lane : impl_->lanes) {
    for (auto const id : lane->worked) impl_->system.component(id).has_worked_ = false;
    ids.insert(ids.end(), lane->worked.begin(), lane->worked.end());
    lane->worked.clear();
  }
}

void Engine::observe(std::vector<Observer*> observers) {
  auto& i = *impl_;
  i.observation.reset();
  if (!observers.empty()) i.observation.emplace(i.system.receivers_, std::move(observers));
  for (auto const& lane : i.lanes)
    lane->observe(i.observation ? &*i.observation : nullptr, i.system.receivers_);
}

void Engine::watch_exchanges(std::uint64_t every, std::function<void()> f) {
  FF_CHECK(every != 0, "the interval of watched exchanges must be at least 1");
  impl_->watched_every = every;
  impl_->watch = std::move(f);
}

std::optional<PathProfile> Engine::critical_path() const {
  if (!impl_->recorder) return std::nullopt;
  return impl_->recorder->profile();
}

EngineProfile Engine::profile() const {
  auto p = impl_->profile;
  p.leader_polls += impl_->horizons.polls();
  for (auto const& lane : impl_->lanes) {
    p.events += lane->handled;
    p.lane_events.push_back(lane->handled);
  }
  return p;
}

std::uint64_t Engine::pending_events() const {
  return impl_->pending();
}

}  // namespace farfault
