// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <vector>

#include "farfault/cli/listing.hpp"
#include "model/model.hpp"
#include "model/stored_series.hpp"
#include "run/tables.hpp"

namespace farfault::cli {
namespace {

struct Listed {
  StatGroup group;
  std::size_t instances = 0;
};

std::string_view name_of(StatKind kind) {
  return kind == StatKind::histogram ? "histogram" : kind == StatKind::level ? "level" : "counter";
}

}  // namespace

void list_statistics(RunOptions const& options, bool json, std::ostream& out) {
  Model model(options);
  model.build_workloads();
  model.assemble();
  auto const& system = model.assembly->system();
  std::vector<Listed> groups;
  std::vector<TableInfo> tables;
  for (ComponentId id = 0; id < system.component_count(); ++id) {
    for (auto& group : system.component(id).stat_groups()) {
      if (group.stats.empty()) continue;
      auto found = std::ranges::find_if(groups, [&](Listed const& l) { return l.group.kind == group.kind; });
      if (found == groups.end()) found = groups.insert(groups.end(), {std::move(group), 0});
      ++found->instances;
    }
    for (auto& table : system.component(id).tables())
      if (std::ranges::find(tables, table.name, &TableInfo::name) == tables.end()) {
        if (model.assembly->instances().size() > 1) add_machine_column(table);
        tables.push_back(std::move(table));
      }
  }
  // Statistics stored by GPU follow the rest of their group.
  for (std::size_t i = 0; i < groups.size(); ++i) {
    Listed summed;
    for (auto const& s : groups[i].group.stats) {
      if (!s.summed) continue;
      summed.group.kind = stored_kind(groups[i].group.kind, s);
      summed.group.stats.push_back(s);
    }
    if (summed.group.stats.empty()) continue;
    summed.instances = model.assembly->gpus();
    std::erase_if(groups[i].group.stats, [](StatInfo const& s) { return s.summed; });
    groups.insert(groups.begin() + static_cast<std::ptrdiff_t>(++i), std::move(summed));
  }
  if (json) {
    auto objects = nlohmann::ordered_json::array();
    for (auto const& [group, instances] : groups)
      for (auto const& s : group.stats)
        objects.push_back({{"path", "/timeseries/" + group.kind + "/" + std::string(s.name)},
                           {"unit", s.unit},
                           {"kind", name_of(s.kind)},
                           {"instances", instances},
                           {"text", s.text}});
    for (auto const& table : tables)
      for (auto const& c : table.columns)
        objects.push_back(
            {{"path", "/tables/" + table.name + "/" + c.name}, {"unit", c.unit}, {"text", c.text}});
    out << nlohmann::ordered_json{{"statistics", objects}} << "\n";
    return;
  }
  bool first = true;
  auto const list = [&](std::string_view name, std::string_view what, std::string_view text) {
    out << "  " << name << " (" << what << ")\n      " << text << "\n";
  };
  for (auto const& [group, instances] : groups) {
    out << (first ? "" : "\n") << "/timeseries/" << group.kind << ", " << instances
        << (instances == 1 ? " instance\n" : " instances\n");
    first = false;
    for (auto const& s : group.stats)
      list(s.name,
           std::string(s.unit) + (s.kind == StatKind::counter ? "" : ", " + std::string(name_of(s.kind))),
           s.text);
  }
  for (auto const& table : tables) {
    out << "\n/tables/" << table.name << ": " << table.text << "\n";
    for (auto const& c : table.columns) list(c.name, c.unit, c.text);
  }
}

}  // namespace farfault::cli
