// SPDX-License-Identifier: Apache-2.0
// Tables of a report: kernels, fault batches, traffic between devices.
#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

#include "columns.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/results/reading/open.hpp"
#include "outstanding.hpp"
#include "report_parts.hpp"
#include "time_parts.hpp"

namespace farfault::analysis {
namespace {

// The `most` rows with the longest duration, in the order of the table.
std::vector<std::size_t> longest(std::vector<std::uint64_t> const& began,
                                 std::vector<std::uint64_t> const& ended, std::size_t most) {
  std::vector<std::size_t> rows(began.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  auto const lasted = [&](std::size_t i) { return ended[i] - std::min(began[i], ended[i]); };
  std::ranges::stable_sort(rows, [&](std::size_t a, std::size_t b) { return lasted(a) > lasted(b); });
  rows.resize(std::min(rows.size(), most));
  std::ranges::sort(rows);
  return rows;
}

template <class T>
Json chosen(std::vector<T> const& column, std::vector<std::size_t> const& rows) {
  auto list = Json::array();
  for (auto const i : rows) list.push_back(column[i]);
  return list;
}

Json chosen(std::vector<std::string> const& column, std::vector<std::size_t> const& rows) {
  auto list = Json::array();
  for (auto const i : rows) list.push_back(shown(column[i]));
  return list;
}

// The stage with the most access time of each row, in words, and its share.
void add_longest_stage(Columns const& table, std::vector<std::size_t> const& rows, Json& columns) {
  if (!table.has("access_time")) return;
  auto const whole = table.numbers("access_time");
  std::vector<std::uint64_t> most(rows.size(), 0);
  std::vector<std::string> what(rows.size());
  for (auto const& stage : kStages) {
    std::string const column = stage.name + 3;  // without the "sm_" of the summary
    if (!table.has(column)) continue;
    auto const values = table.numbers(column);
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (values[rows[i]] > most[i]) {
        most[i] = values[rows[i]];
        what[i] = stage.what;
      }
  }
  auto share = Json::array();
  for (std::size_t i = 0; i < rows.size(); ++i)
    share.push_back(whole[rows[i]] == 0 ? 0.0
                                        : static_cast<double>(most[i]) / static_cast<double>(whole[rows[i]]));
  columns["longest_stage"] = what;
  columns["longest_stage_share"] = std::move(share);
}

// Rows with a beginning and an end, with the named columns that the table has.
Json intervals(ReportSource const& source, std::string const& name, char const* began, char const* ended,
               std::vector<std::string> const& texts, std::vector<std::string> const& numbers) {
  auto const folder = "tables/" + name;
  for (auto const* column : {"row", began, ended})
    if (!has(source.file, folder + "/" + column)) return {};
  Columns const table(source.file, folder, "row");
  auto const rows = longest(table.numbers(began), table.numbers(ended), source.size.kernels);
  Json columns{{"row", rows}};
  for (auto const& column : texts)
    if (table.has(column)) columns[column] = chosen(table.texts(column), rows);
  for (auto const& column : numbers)
    if (table.has(column)) columns[column] = chosen(table.numbers(column), rows);
  add_longest_stage(table, rows, columns);
  return {{"rows", table.rows_in_file()}, {"shown", rows.size()}, {"columns", std::move(columns)}};
}

// The devices in the columns, in the order of the machine; devices that are not nodes are last. Many devices
// share rows, in groups of consecutive ones.
class DeviceGroups {
 public:
  DeviceGroups(ReportSource const& source, std::vector<std::vector<std::string> const*> const& columns) {
    std::vector<std::string> devices, others;
    for (auto const* column : columns)
      for (auto const& device : *column)
        if (place_.emplace(device, 0).second && !source.nodes.contains(device)) others.push_back(device);
    for (auto const& node : source.node_order)
      if (place_.contains(node)) devices.push_back(node);
    devices.insert(devices.end(), others.begin(), others.end());
    per_row_ = std::max<std::size_t>(1, (devices.size() + source.size.devices - 1) / source.size.devices);
    for (std::size_t i = 0; i < devices.size(); ++i) place_[devices[i]] = i / per_row_;
    for (std::size_t i = 0; i < devices.size(); i += per_row_) {
      auto const last = std::min(i + per_row_, devices.size()) - 1;
      names_.push_back(last == i ? shown(devices[i]) : shown(devices[i]) + " to " + shown(devices[last]));
    }
  }
  std::vector<std::string> const& names() const { return names_; }  // of rows
  std::size_t per_row() const { return per_row_; }
  std::size_t of(std::string const& device) const { return place_.at(device); }  // row of the device

 private:
  std::unordered_map<std::string, std::size_t> place_;
  std::vector<std::string> names_;
  std::size_t per_row_ = 1;
};

Json traffic(ReportSource const& source) {
  if (!has(source.file, "tables/traffic")) return {};
  Columns const table(source.file, "tables/traffic", "row");
  auto const from = table.texts("from"), to = table.texts("to");
  auto const bytes = table.numbers("bytes");
  DeviceGroups const devices(source, {&from, &to});
  if (devices.names().empty()) return {};
  std::map<std::pair<std::size_t, std::size_t>, std::uint64_t> cells;
  for (std::size_t i = 0; i < bytes.size(); ++i) cells[{devices.of(from[i]), devices.of(to[i])}] += bytes[i];
  auto list = Json::array();
  for (auto const& [cell, sum] : cells) list.push_back({cell.first, cell.second, sum});
  return {{"devices", devices.names()}, {"per_row", devices.per_row()}, {"bytes", std::move(list)}};
}

// Pages of each buffer on each device, in groups of devices, for the largest buffers.
Json placement(ReportSource const& source) {
  if (!has(source.file, "tables/page_placement")) return {};
  Columns const table(source.file, "tables/page_placement", "row");
  auto const application = table.texts("application"), buffer = table.texts("buffer"),
             device = table.texts("device");
  auto const machine = table.has("machine") ? table.texts("machine") : std::vector<std::string>();
  auto const pages = table.numbers("pages");
  DeviceGroups const devices(source, {&device});
  if (devices.names().empty()) return {};
  bool const several = std::ranges::any_of(application, [&](auto const& a) { return a != application[0]; });
  struct Buffer {
    std::string name;
    std::vector<std::uint64_t> pages;
    std::uint64_t all = 0;
  };
  std::vector<Buffer> buffers;
  std::map<std::string, std::size_t> known;
  for (std::size_t i = 0; i < pages.size(); ++i) {
    auto name = (several ? shown(application[i]) + " " : "") + shown(buffer[i]) +
                (machine.empty() ? "" : " of " + shown(machine[i]));
    auto const [place, is_new] = known.emplace(name, buffers.size());
    if (is_new)
      buffers.push_back({std::move(name), std::vector<std::uint64_t>(devices.names().size(), 0), 0});
    auto& to = buffers[place->second];
    to.pages[devices.of(device[i])] += pages[i];
    to.all += pages[i];
  }
  auto const count = buffers.size();
  if (count > source.size.buffers) {
    std::ranges::stable_sort(buffers, std::greater<>{}, &Buffer::all);
    buffers.resize(source.size.buffers);
  }
  auto list = Json::array();
  for (auto const& b : buffers) list.push_back({{"name", b.name}, {"all", b.all}, {"pages", b.pages}});
  return {{"devices", devices.names()},
          {"per_row", devices.per_row()},
          {"rows", count},
          {"buffers", std::move(list)}};
}

// The first operations that were incomplete at the end.
Json outstanding(ReportSource const& source) {
  auto const all = read_outstanding(source.file);
  if (all.empty()) return {};
  auto list = Json::array();
  for (std::size_t i = 0; i < std::min(all.size(), source.size.kernels); ++i)
    list.push_back({{"what", shown(all[i].text())},
                    {"name", shown(all[i].operation == "kernel" ? all[i].name : all[i].operation)},
                    {"of", shown(all[i].of)},
                    {"stream", all[i].stream},
                    {"started", all[i].started}});
  return list;
}

}  // namespace

void add_tables(ReportSource const& source, Json& to) {
  auto const add = [&to](char const* name, Json table) {
    if (!table.is_null()) to[name] = std::move(table);
  };
  add("kernels",
      intervals(source, "kernels", "launched", "finished", {"name", "application", "machine"},
                {"launched", "finished", "stream", "blocks", "instructions", "transactions", "access_time",
                 "l1_tlb_misses", "gmmu_translations", "iommu_translations", "remote_accesses", "faulted"}));
  add("batches", intervals(source, "fault_batches", "began", "ended", {"gpu"},
                           {"began", "ended", "raw_faults", "duplicates", "pages", "prefetched_pages",
                            "evicted_pages", "bytes_in", "bytes_out"}));
  add("outstanding", outstanding(source));
  add("traffic", traffic(source));
  add("placement", placement(source));
}

}  // namespace farfault::analysis
