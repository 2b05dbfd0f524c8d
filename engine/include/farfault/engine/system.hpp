// SPDX-License-Identifier: Apache-2.0
// The model: components, ports and links. Every rank builds the same System, so ids agree.
//
// Errors: connect() and validate() throw UserError with the full path of a port that is connected twice or
// left open. An in-port of the wrong type does not compile.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "farfault/engine/component.hpp"

namespace farfault {

class System {
 public:
  System() = default;
  System(System const&) = delete;
  System& operator=(System const&) = delete;

  template <class C>
  C& add(std::string path, typename C::Spec spec = {}) {
    check_new_path(path);
    paths_.push_back(std::move(path));
    auto const id = static_cast<ComponentId>(components_.size());
    components_.push_back(nullptr);
    auto component = std::make_unique<C>(Slot<typename C::Spec>{*this, id, paths_.back(), std::move(spec)});
    auto& reference = *component;
    components_[id] = std::move(component);
    bind_receivers(reference);
    return reference;
  }

  template <Message M>
  void connect(Out<M>& from, In<M> to, Latency latency) {
    link(from.id, to.id, latency);
    from.to = to.id;
    from.latency = latency.get();
  }

  template <Message M>
  Family<M> family(std::vector<In<M>> const& ports) {
    auto& family = families_.emplace_back();
    for (auto const& p : ports) family.ids.push_back(p.id);
    return {&family};
  }

  template <Message M>
  void connect(Out<M>& from, Family<M> to, Latency latency) {
    link_family(from.id, *to.ports, latency);
    from.family = to.ports->ids.data();
    from.family_size = static_cast<std::uint32_t>(to.ports->ids.size());
    from.latency = latency.get();
  }

  // A first event, as if the component had set its own timer; not before time zero.
  template <Message M>
  void post(Self<M> timer, M const& message, Time when) {
    Event e;
    e.when = when;
    e.to = timer.in;
    e.from = timer.out;
    e.payload = {};
    if constexpr (!std::is_empty_v<M>) std::memcpy(e.payload.data(), &message, sizeof(M));
    post_event(e);
  }

  // Throws UserError with the names of all open ports.
  void validate() const;

  std::size_t component_count() const { return components_.size(); }
  AnyComponent& component(ComponentId id) { return *components_[id]; }
  AnyComponent const& component(ComponentId id) const { return *components_[id]; }

  // The shortest link of the whole model, timers aside.
  Duration shortest_latency() const;

  // The clock with most events at its edges: it speeds up their queues, and never affects a result.
  void expect_events_at(Clock clock) { expected_.emplace(clock); }
  EventQueue make_queue() const {
    return expected_ ? EventQueue(*expected_) : EventQueue(shortest_latency());
  }

  // Hash of all declarations: components, ports, links with their latencies, first events. Must be equal on
  // all ranks, because ids refer to declarations.
  std::uint64_t structure_hash() const;

 private:
  friend class Engine;
  friend class LaneMap;
  friend PortId detail::declare_in(System&, AnyComponent&, Handler, std::string_view, bool);
  friend PortId detail::declare_out(System&, AnyComponent&, std::string_view, bool, PortId);

  struct InPort {
    std::string name;
    bool connected;
  };
  struct OutPort {
    ComponentId component;
    std::string name;
    bool timer;
    bool connected;
    PortId to;
    Duration latency;
    std::vector<PortId> const* family;
  };

  void check_new_path(std::string const& path);
  void bind_receivers(AnyComponent& component);
  void link(PortId from, PortId to, Latency latency);
  void link_family(PortId from, FamilyPorts& to, Latency latency);
  void post_event(Event const& event);
  std::string in_name(PortId id) const;
  std::string out_name(PortId id) const;

  std::deque<std::string> paths_;
  std::unordered_set<std::string_view> known_paths_;  // membership only
  std::vector<std::unique_ptr<AnyComponent>> components_;
  std::vector<Receiver> receivers_;  // by in-port
  std::vector<InPort> ins_;
  std::vector<OutPort> outs_;
  std::deque<FamilyPorts> families_;
  std::vector<Event> initial_;
  std::optional<Clock> expected_;
};

}  // namespace farfault
