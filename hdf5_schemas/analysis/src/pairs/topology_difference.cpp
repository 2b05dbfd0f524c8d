// SPDX-License-Identifier: Apache-2.0
#include "topology_difference.hpp"

#include <array>
#include <vector>

#include "explain_reading.hpp"
#include "farfault/engine/units.hpp"

namespace farfault::analysis {
namespace {

struct Links {
  std::vector<std::string> nodes, kinds;
  std::vector<std::uint64_t> a, b, latency, forward, backward;

  std::string node(std::uint64_t i) const { return i < nodes.size() ? nodes[i] : "unknown"; }
  bool same_ends(Links const& other) const {
    return nodes == other.nodes && kinds == other.kinds && a == other.a && b == other.b;
  }
};

std::optional<Links> links_in(ObjectId file) {
  std::string const folder = "topology/links/";
  for (auto const* column : {"a", "b", "kind", "latency_ps", "forward_bytes_per_s", "backward_bytes_per_s"})
    if (!has(file, folder + column)) return std::nullopt;
  if (!has(file, "topology/nodes/name")) return std::nullopt;
  auto const rows = shape_of_dataset(open_dataset(file, folder + "a")).rows();
  auto const column = [&](char const* name) { return words(file, folder + name, rows); };
  return Links{.nodes = texts(file, "topology/nodes/name"),
               .kinds = texts(file, folder + "kind"),
               .a = column("a"),
               .b = column("b"),
               .latency = column("latency_ps"),
               .forward = column("forward_bytes_per_s"),
               .backward = column("backward_bytes_per_s")};
}

std::string latency_text(std::uint64_t ps) {
  return to_text(Duration{static_cast<std::int64_t>(ps)});
}

std::string bandwidth_text(std::uint64_t bytes_per_second) {
  return to_text(Bandwidth{bytes_per_second});
}

// The changed quantity of a link; nullopt: none.
std::optional<SettingDifference> difference_of(Links const& x, Links const& y, std::size_t link) {
  auto const a = x.node(x.a[link]), b = x.node(x.b[link]);
  bool const forward = x.forward[link] != y.forward[link], backward = x.backward[link] != y.backward[link];
  bool const alike = x.forward[link] == x.backward[link] && y.forward[link] == y.backward[link];
  if (forward && alike)
    return SettingDifference{"bandwidth of link " + a + " - " + b, bandwidth_text(x.forward[link]),
                             bandwidth_text(y.forward[link])};
  if (forward)
    return SettingDifference{"bandwidth from " + a + " to " + b, bandwidth_text(x.forward[link]),
                             bandwidth_text(y.forward[link])};
  if (backward)
    return SettingDifference{"bandwidth from " + b + " to " + a, bandwidth_text(x.backward[link]),
                             bandwidth_text(y.backward[link])};
  if (x.latency[link] != y.latency[link])
    return SettingDifference{"latency of link " + a + " - " + b, latency_text(x.latency[link]),
                             latency_text(y.latency[link])};
  return std::nullopt;
}

}  // namespace

std::optional<SettingDifference> topology_difference(ObjectId a, ObjectId b) {
  auto const x = links_in(a), y = links_in(b);
  if (!x || !y || !x->same_ends(*y)) return std::nullopt;
  std::optional<SettingDifference> first;
  std::size_t changed = 0;
  for (std::size_t link = 0; link < x->a.size(); ++link)
    if (auto difference = difference_of(*x, *y, link)) {
      ++changed;
      if (!first) first = std::move(difference);
    }
  if (changed > 1) first->name = std::to_string(changed) + " links, first " + first->name;
  return first;
}

}  // namespace farfault::analysis
