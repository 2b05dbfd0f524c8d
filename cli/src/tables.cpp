#include "tables.hpp"

#include <algorithm>

namespace farfault::cli {

Tables::Tables(System& system, Engine const& engine, Transport& transport)
    : system_(system), engine_(engine), transport_(transport), number_of_(system.component_count()) {
  for (ComponentId id = 0; id < system.component_count(); ++id) {
    auto const tables = system.component(id).tables();
    if (!tables.empty()) filling_.push_back(id);
    for (auto const& info : tables) {
      auto const known = std::ranges::find(infos_, info.name, &TableInfo::name);
      number_of_[id].push_back(static_cast<std::size_t>(known - infos_.begin()));
      if (known == infos_.end()) infos_.push_back(info);
    }
  }
}

void Tables::take() {
  TableRows rows;
  for (auto const id : filling_) {
    if (!engine_.is_local(id)) continue;
    rows.begin(id);
    system_.component(id).take_rows(rows);
  }
  taken_ = transport_.gather(rows.bytes());
}

void Tables::append(results::ResultWriter& writer) {
  // Ranks hold different components: sorted by these, the order does not depend on the ranks.
  struct Row {
    ComponentId component;
    std::size_t table;
    std::vector<Cell> cells;
  };
  std::vector<Row> rows;
  for (auto const& part : taken_)
    TableRows::read(part, [&](std::uint32_t component, std::uint32_t table, std::vector<Cell> const& cells) {
      rows.push_back({component, number_of_[component][table], cells});
    });
  std::ranges::stable_sort(rows, {}, &Row::component);
  for (auto const& row : rows) writer.append_row(row.table, row.cells);
  taken_.clear();
}

}  // namespace farfault::cli
