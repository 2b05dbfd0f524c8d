// SPDX-License-Identifier: Apache-2.0
#include "farfault/engine/system.hpp"

#include <algorithm>

namespace farfault {

namespace detail {

PortId declare_in(System& system, AnyComponent& component, Handler handler, std::string_view name,
                  bool timer) {
  system.receivers_.push_back({handler, &component});
  system.ins_.push_back({std::string(name), timer});
  return static_cast<PortId>(system.ins_.size() - 1);
}

PortId declare_out(System& system, AnyComponent& component, std::string_view name, bool timer, PortId to) {
  system.outs_.push_back({.component = component.id(),
                          .name = std::string(name),
                          .timer = timer,
                          .connected = timer,
                          .to = to,
                          .latency = Duration::zero(),
                          .family = nullptr});
  return static_cast<PortId>(system.outs_.size() - 1);
}

}  // namespace detail

void System::check_new_path(std::string const& path) {
  if (path.empty()) throw UserError("a component has an empty path");
  if (known_paths_.contains(path)) throw UserError("two components have the path '" + path + "'");
}

void System::bind_receivers(AnyComponent& component) {
  known_paths_.insert(component.path());
}

std::string System::in_name(PortId id) const {
  return receivers_[id].component->path() + "." + ins_[id].name;
}
std::string System::out_name(PortId id) const {
  return components_[outs_[id].component]->path() + "." + outs_[id].name;
}

void System::link(PortId from, PortId to, Latency latency) {
  auto& port = outs_.at(from);
  if (port.connected) throw UserError("port " + out_name(from) + " is connected twice");
  ins_.at(to).connected = true;
  port.connected = true;
  port.to = to;
  port.latency = latency.get();
}

void System::link_family(PortId from, FamilyPorts& to, Latency latency) {
  auto& port = outs_.at(from);
  if (port.connected) throw UserError("port " + out_name(from) + " is connected twice");
  if (to.ids.empty())
    throw UserError("port " + out_name(from) +
                    " is connected to a port family without in-ports; list them in System::family()");
  // Once for all its senders: in a large model every process may send to all others.
  if (!to.linked)
    for (auto const id : to.ids) ins_.at(id).connected = true;
  to.linked = true;
  port.connected = true;
  port.family = &to.ids;
  port.latency = latency.get();
}

void System::post_event(Event const& event) {
  FF_CHECK(event.when >= Time{},
           receivers_[event.to].component->path() + ": the first event has a negative time");
  initial_.push_back(event);
  initial_.back().sequence = receivers_[event.to].component->sequence_++;
}

void System::validate() const {
  std::string open;
  for (PortId id = 0; id < outs_.size(); ++id)
    if (!outs_[id].connected) open += (open.empty() ? "" : ", ") + out_name(id);
  for (PortId id = 0; id < ins_.size(); ++id)
    if (!ins_[id].connected) open += (open.empty() ? "" : ", ") + in_name(id);
  if (!open.empty()) throw UserError("unconnected ports: " + open);
}

Duration System::shortest_latency() const {
  auto shortest = Duration::max();
  for (auto const& port : outs_)
    if (!port.timer && port.connected) shortest = std::min(shortest, port.latency);
  return shortest;
}

}  // namespace farfault
