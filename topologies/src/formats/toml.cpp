// SPDX-License-Identifier: Apache-2.0
// Machine TOML: a name, [[node]] tables and [[link]] tables. The words for kinds are in import_rules.cpp,
// with names "toml:...".
#include "farfault/engine/toml.hpp"

#include <algorithm>
#include <initializer_list>

#include "farfault/engine/error.hpp"
#include "formats.hpp"
#include "import_rules.hpp"
#include "link_tally.hpp"

namespace farfault::topologies {
namespace {

class Reader {
 public:
  Reader(std::string const& where, LinkDefaults const& defaults, MachineBuilder& builder)
      : where_(where), defaults_(defaults), builder_(builder) {}

  void read(toml::table const& root) {
    only(root, {"name", "node", "link"});
    if (auto const name = text(root, "name")) builder_.machine().name = *name;
    for (auto const* node : tables(root, "node")) read_node(*node);
    for (auto const* link : tables(root, "link")) read_link(*link);
    tally_.note_defaults(decisions_, defaults_, builder_.machine());
    decisions_.write(builder_);
  }

 private:
  ImportAs decide(std::string_view element, std::string_view text, std::uint32_t facts = 0) {
    return decisions_.decide({.format = FileFormat::toml, .element = element, .text = text, .facts = facts},
                             {});
  }

  [[noreturn]] void fail(toml::node const& at, std::string const& what) const {
    throw UserError(where_ + ":" + std::to_string(at.source().begin.line) + ": " + what);
  }

  void only(toml::table const& table, std::initializer_list<std::string_view> known) const {
    for (auto const& [key, value] : table) {
      if (std::ranges::find(known, key.str()) != known.end()) continue;
      auto const near = nearest_name(key.str(), known);
      fail(value, "unknown key '" + shown(key.str()) + "'" +
                      (near.empty() ? std::string() : "; did you mean '" + near + "'?"));
    }
  }

  std::vector<toml::table const*> tables(toml::table const& root, std::string_view key) const {
    std::vector<toml::table const*> found;
    auto const* value = root.get(key);
    if (!value) return found;
    auto const* list = value->as_array();
    if (!list) fail(*value, "'" + std::string(key) + "' must be written as [[" + std::string(key) + "]]");
    for (auto const& element : *list) {
      if (!element.is_table())
        fail(element, "'" + std::string(key) + "' must be written as [[" + std::string(key) + "]]");
      found.push_back(element.as_table());
    }
    return found;
  }

  std::optional<std::string> text(toml::table const& table, std::string_view key) const {
    auto const* value = table.get(key);
    if (!value) return std::nullopt;
    auto const* string = value->as_string();
    if (!string) fail(*value, "'" + std::string(key) + "' must be a string");
    return string->get();
  }

  std::string required(toml::table const& table, std::string_view key, std::string_view of) const {
    auto value = text(table, key);
    if (!value) fail(table, "a " + std::string(of) + " needs '" + std::string(key) + "'");
    return *value;
  }

  std::int64_t number(toml::table const& table, std::string_view key, std::int64_t fallback, std::int64_t low,
                      std::int64_t high) const {
    auto const* value = table.get(key);
    if (!value) return fallback;
    auto const* integer = value->as_integer();
    if (!integer || integer->get() < low || integer->get() > high) {
      fail(*value, "'" + std::string(key) + "' must be a whole number from " + std::to_string(low) + " to " +
                       std::to_string(high));
    }
    return integer->get();
  }

  template <class Parse>
  auto quantity(toml::table const& table, std::string_view key, Parse parse) const
      -> std::optional<decltype(parse(std::string_view{}))> {
    auto const written = text(table, key);
    if (!written) return std::nullopt;
    try {
      return parse(*written);
    } catch (std::exception const& error) {
      fail(*table.get(key), "'" + std::string(key) + "' is '" + shown(*written) + "': " + error.what());
    }
  }

  void read_node(toml::table const& table) {
    only(table, {"name", "kind", "numa", "sm_count", "model", "machine", "bandwidth"});
    MachineNode node;
    node.name = required(table, "name", "node");
    auto const kind = required(table, "kind", "node");
    auto const import_as = decide("node", kind);
    if (import_as == ImportAs::refused) {
      fail(*table.get("kind"),
           "'" + shown(kind) +
               "' is not a kind of node: gpu, cpu, pcie_switch, nvswitch, nic or network_switch");
    }
    node.kind = node_kind(import_as);
    node.numa = static_cast<int>(number(table, "numa", -1, -1, 1'000'000));
    node.sm_count = static_cast<std::uint32_t>(number(table, "sm_count", 0, 0, 100'000));
    node.model = text(table, "model").value_or("");
    node.machine = static_cast<int>(number(table, "machine", 0, kShared, kMaxNodes));
    node.bandwidth = nic_bandwidth(table, node);
    auto const name = node.name;
    if (!index_.try_emplace(name, builder_.add_node(std::move(node))).second) {
      fail(table, "a second node is named '" + shown(name) + "', but names must be unique");
    }
  }

  Bandwidth nic_bandwidth(toml::table const& table, MachineNode const& node) const {
    auto const stated = quantity(table, "bandwidth", parse_bandwidth);
    if (!stated) return {};
    auto const& at = *table.get("bandwidth");
    if (node.kind != NodeKind::nic)
      fail(at, "'bandwidth' applies to NICs and links, but '" + shown(node.name) + "' is a " +
                   std::string(name_of(node.kind)));
    if (*stated < kLowestBandwidth || *stated > kHighestBandwidth)
      fail(at, "'bandwidth' is " + to_text(*stated) + ", but it must be " + to_text(kLowestBandwidth) +
                   " to " + to_text(kHighestBandwidth));
    return *stated;
  }

  std::uint32_t end(toml::table const& table, std::string_view key, std::uint32_t other) {
    auto const name = required(table, key, "link");
    auto const found = index_.find(name);
    bool const there = found != index_.end();
    auto const facts = (there ? kThere : 0U) | (there && found->second == other ? kSelf : 0U);
    if (decide("link end", {}, facts) != ImportAs::refused) return found->second;
    if (there) fail(table, "the link joins '" + shown(name) + "' to itself");
    fail(*table.get(key), "'" + std::string(key) + "' is '" + shown(name) + "', but no node has this name");
  }

  void read_link(toml::table const& table) {
    only(table, {"a", "b", "kind", "latency", "bandwidth", "forward", "backward", "count"});
    auto const a = end(table, "a", UINT32_MAX);
    auto const b = end(table, "b", a);
    auto const kind_name = required(table, "kind", "link");
    auto const import_as = decide("link", kind_name);
    if (import_as == ImportAs::refused) {
      fail(*table.get("kind"),
           "'" + shown(kind_name) +
               "' is not a kind of link: pcie, nvlink, xgmi, cpu_interconnect or network");
    }
    std::optional<LinkKind> const kind = link_kind(import_as);
    auto const count = static_cast<std::uint32_t>(number(table, "count", 1, 1, kMaxParallelLinks));
    auto const latency = quantity(table, "latency", parse_duration);
    auto const both = quantity(table, "bandwidth", parse_bandwidth);
    auto const forward = quantity(table, "forward", parse_bandwidth);
    auto const backward = quantity(table, "backward", parse_bandwidth);
    if (both && (forward || backward))
      fail(table, "give either 'bandwidth' or 'forward' and 'backward', not both");
    if (forward.has_value() != backward.has_value())
      fail(table, "'forward' and 'backward' must be given together");
    if (!latency) tally_.no_latency(*kind, count);
    auto const of_nic =
        *kind == LinkKind::network ? builder_.machine().nic_bandwidth(a, b) : std::optional<Bandwidth>{};
    if (!both && !forward && !of_nic) tally_.no_bandwidth(*kind, count);
    auto const stated = both ? both : of_nic;
    auto const ahead = forward ? *forward : stated.value_or(defaults_.bandwidth(*kind));
    auto const back = backward ? *backward : stated.value_or(defaults_.bandwidth(*kind));
    if (ahead.bytes_per_second == 0 || back.bytes_per_second == 0) fail(table, "the link's bandwidth is 0");
    builder_.add_link(a, b, *kind, latency.value_or(defaults_.latency(*kind)), ahead, back, count);
  }

  std::string const& where_;
  LinkDefaults const& defaults_;
  MachineBuilder& builder_;
  std::map<std::string, std::uint32_t, std::less<>> index_;
  LinkTally tally_;
  Decisions decisions_;
};

MachineBuilder parse(std::string_view text, std::string const& where, LinkDefaults const& defaults,
                     InputLimits const& limits) {
  MachineBuilder builder(where, "toml", limits);
  Reader(where, defaults, builder).read(parse_toml(text, where));
  return builder;
}

}  // namespace

MachineFormat toml_format() {
  return {"toml", "TOML with [[node]]",
          [](std::string_view text) {
            return opens_line(text, {"[[node]]", "[[link]]"}, Indent::any);
          },
          parse};
}

}  // namespace farfault::topologies
