// SPDX-License-Identifier: Apache-2.0
#include "tables.hpp"

#include <algorithm>

namespace farfault::cli {

namespace {

// By component, the machine of its instance; empty if there is one instance.
std::vector<std::string> machines_of(topologies::Assembly const& assembly) {
  auto const instances = assembly.instances();
  if (instances.size() == 1) return {};
  auto const instance_of = assembly.instances_of_nodes();
  std::vector<std::string> machines;
  for (auto const node : assembly.nodes_of_components())
    machines.push_back(instance_of[node] == topologies::Assembly::kNone
                           ? std::string()
                           : instances[instance_of[node]].machine);
  return machines;
}

}  // namespace

void add_machine_column(TableInfo& table) {
  table.columns.insert(table.columns.begin(),
                       {"machine", "text", "Machine of the workload instance", ColumnType::text});
}

Tables::Tables(topologies::Assembly& assembly, Engine const& engine, Transport& transport)
    : system_(assembly.system()),
      machine_of_(machines_of(assembly)),
      engine_(engine),
      transport_(transport),
      number_of_(system_.component_count()) {
  for (ComponentId id = 0; id < system_.component_count(); ++id) {
    auto tables = system_.component(id).tables();
    if (!tables.empty()) filling_.push_back(id);
    for (auto& info : tables) {
      if (!machine_of_.empty()) add_machine_column(info);
      auto const known = std::ranges::find(infos_, info.name, &TableInfo::name);
      number_of_[id].push_back(static_cast<std::size_t>(known - infos_.begin()));
      if (known == infos_.end()) infos_.push_back(info);
    }
  }
}

template <class Take>
void Tables::gather(Take take_from) {
  TableRows rows;
  for (auto const id : filling_) {
    if (!engine_.is_local(id)) continue;
    rows.begin(id);
    take_from(system_.component(id), rows);
  }
  taken_ = transport_.gather(rows.bytes());
}

void Tables::take() {
  gather([](AnyComponent& c, TableRows& rows) { c.take_rows(rows); });
}

void Tables::take_final() {
  gather([](AnyComponent const& c, TableRows& rows) { c.final_rows(rows); });
}

void Tables::append(results::ResultWriter& writer) {
  // Ranks hold different components: sorting makes the order independent of the ranks.
  struct Row {
    ComponentId component;
    std::size_t table;
    std::vector<Cell> cells;
  };
  std::vector<Row> rows;
  for (auto const& part : taken_)
    TableRows::read(part, [&](std::uint32_t component, std::uint32_t table, std::vector<Cell> const& cells) {
      rows.push_back({component, number_of_[component][table], cells});
      auto& row = rows.back();
      if (!machine_of_.empty()) row.cells.insert(row.cells.begin(), machine_of_[component]);
    });
  std::ranges::stable_sort(rows, {}, &Row::component);
  for (auto const& row : rows) writer.append_row(row.table, row.cells);
  taken_.clear();
}

}  // namespace farfault::cli
