// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <vector>

#include "farfault/cli/listing.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"
#include "listing_layout.hpp"
#include "model/model.hpp"
#include "model/stored_series.hpp"
#include "process/counted.hpp"
#include "run/tables.hpp"
#include "statistics_remedy.hpp"

namespace farfault::cli {
namespace {

struct Counted {
  StatGroup group;
  std::size_t instances = 0;
};

struct Statistic {
  std::string name, unit, text;
  std::string kind;  // empty: a column of a table
};

// The statistics of a group of components, or the columns of a table.
struct Section {
  std::string path, title;
  std::size_t instances;
  std::vector<Statistic> statistics;
};

std::string_view name_of(StatKind kind) {
  return kind == StatKind::histogram ? "histogram" : kind == StatKind::level ? "level" : "counter";
}

std::vector<Section> sections_of(std::vector<Counted> const& groups, std::vector<TableInfo> const& tables) {
  std::vector<Section> sections;
  for (auto const& [group, instances] : groups) {
    auto const path = "/timeseries/" + group.kind;
    Section section{path, path + ", " + counted(instances, "instance"), instances, {}};
    for (auto const& s : group.stats)
      section.statistics.push_back(
          {std::string(s.name), std::string(s.unit), std::string(s.text), std::string(name_of(s.kind))});
    sections.push_back(std::move(section));
  }
  for (auto const& table : tables) {
    auto const path = "/tables/" + table.name;
    Section section{path, path + ": " + table.text, 1, {}};
    for (auto const& c : table.columns) section.statistics.push_back({c.name, c.unit, c.text, {}});
    sections.push_back(std::move(section));
  }
  return sections;
}

void keep_found(std::vector<Section>& sections, std::vector<std::string> const& words,
                RunOptions const& run) {
  for (auto& section : sections)
    std::erase_if(section.statistics, [&](Statistic const& s) {
      return !has_words(section.path + "/" + s.name + "\n" + s.unit + "\n" + s.kind + "\n" + s.text, words);
    });
  std::erase_if(sections, [](Section const& section) { return section.statistics.empty(); });
  if (!sections.empty()) return;
  auto const why = not_a_statistic(words, run.config_path, parameter_sections(run.extensions));
  if (!why.empty()) throw UserError(why);
  refuse_search("statistic", words);
}

void print_json(std::vector<Section> const& sections, std::ostream& out) {
  auto objects = nlohmann::ordered_json::array();
  for (auto const& section : sections)
    for (auto const& s : section.statistics) {
      nlohmann::ordered_json object = {{"path", section.path + "/" + s.name}, {"unit", s.unit}};
      if (!s.kind.empty()) object.update({{"kind", s.kind}, {"instances", section.instances}});
      object["text"] = s.text;
      objects.push_back(std::move(object));
    }
  out << nlohmann::ordered_json{{"statistics", objects}} << "\n";
}

}  // namespace

void list_statistics(RunOptions const& run, ListingOptions const& options, std::ostream& out) {
  if (!exists(run.config_path) && !run.extensions.find_preset(run.config_path)) {
    auto const why = not_a_configuration(run.config_path, parameter_sections(run.extensions));
    if (!why.empty()) throw UserError(why);
  }
  Model model(run);
  model.build_workloads();
  model.assemble();
  auto const& system = model.assembly->system();
  std::vector<Counted> groups;
  std::vector<TableInfo> tables;
  for (ComponentId id = 0; id < system.component_count(); ++id) {
    for (auto& group : system.component(id).stat_groups()) {
      if (group.stats.empty()) continue;
      auto found = std::ranges::find_if(groups, [&](Counted const& l) { return l.group.kind == group.kind; });
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
    Counted summed;
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
  auto sections = sections_of(groups, tables);
  if (!options.search.empty()) keep_found(sections, search_words(options.search), run);
  if (options.json) return print_json(sections, out);
  for (auto const& section : sections) {
    if (&section != &sections.front()) out << "\n";
    print_wrapped(out, section.title, 2, options.columns);
    for (auto const& s : section.statistics) {
      ListedItem item{s.name, s.text, {}, {{"Unit", s.unit}}};
      if (!s.kind.empty()) item.properties.emplace_back("Kind", s.kind);
      out << "\n";
      print_item(out, item, options.columns);
    }
  }
}

}  // namespace farfault::cli
