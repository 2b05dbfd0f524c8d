// SPDX-License-Identifier: Apache-2.0
#include <unordered_map>

#include "farfault/engine/system.hpp"

namespace farfault {
namespace {

void mix_text(Hasher& hasher, std::string_view text) {
  hasher.mix(text.size());
  hasher.raw(reinterpret_cast<std::byte const*>(text.data()), text.size());
}

}  // namespace

std::uint64_t System::structure_hash() const {
  Hasher hasher;
  hasher.mix(components_.size());
  for (auto const& component : components_) {
    mix_text(hasher, component->path());
    mix_text(hasher, component->kind());
  }
  hasher.mix(ins_.size());
  for (std::size_t id = 0; id < ins_.size(); ++id) {
    hasher.mix(receivers_[id].component->id());
    mix_text(hasher, ins_[id].name);
  }
  std::unordered_map<std::vector<PortId> const*, std::uint64_t> number_of_family;  // looked up only
  hasher.mix(families_.size());
  for (auto const& family : families_) {
    number_of_family.emplace(&family.ids, number_of_family.size() + 1);
    hasher.mix(family.ids.size());
    for (auto const id : family.ids) hasher.mix(id);
  }
  hasher.mix(outs_.size());
  for (auto const& port : outs_) {
    hasher.mix(port.component);
    mix_text(hasher, port.name);
    hasher.mix(port.to);
    hasher.mix(static_cast<std::uint64_t>(picoseconds(port.latency)));
    hasher.mix(port.family == nullptr ? 0 : number_of_family.at(port.family));
  }
  auto events = initial_;
  hasher(events);
  return hasher.value();
}

}  // namespace farfault
