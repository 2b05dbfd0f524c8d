// SPDX-License-Identifier: Apache-2.0
#include "run_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "amounts.hpp"
#include "farfault/engine/error.hpp"
#include "html.hpp"

namespace farfault::cli {
namespace {

constexpr std::size_t kTableRows = 20;
constexpr std::size_t kPresetRows = 200;

// Text of a column of numbers; '-' for a missing column.
std::string amount_cell(RunJson const& columns, char const* name, std::size_t row) {
  return columns.contains(name) ? amount_text(columns[name][row].get<double>(), "1") : "-";
}

std::string text_cell(RunJson const& columns, char const* name, std::size_t row) {
  return columns.contains(name) ? columns[name][row].get<std::string>() : "-";
}

std::string titled(std::string const& heading, std::string const& content) {
  return "<h4>" + escaped(heading) + "</h4>\n" + content;
}

}  // namespace

std::string kernels_table(RunJson const& kernels) {
  auto const& c = kernels["columns"];
  auto const rows = kernels["shown"].get<std::size_t>();
  std::vector<std::size_t> order(rows);
  std::iota(order.begin(), order.end(), std::size_t{0});
  auto const lasted = [&](std::size_t i) {
    return c["finished"][i].get<double>() - c["launched"][i].get<double>();
  };
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return lasted(a) > lasted(b); });
  order.resize(std::min(order.size(), kTableRows));
  bool const applications = c.contains("application"), machines = c.contains("machine"),
             stages = c.contains("longest_stage");
  std::vector<std::string> headings{"kernel", "#launched", "#took", "|", "#transactions"};
  if (machines) headings.insert(headings.begin(), "machine");
  if (applications) headings.insert(headings.begin(), "application");
  if (stages) headings.insert(headings.end(), {"largest access stage", "#share"});
  HtmlTable table(headings);
  for (auto const i : order) {
    std::vector<std::string> cells;
    if (applications) cells.push_back(text_cell(c, "application", i));
    if (machines) cells.push_back(text_cell(c, "machine", i));
    cells.push_back(text_cell(c, "name", i));
    cells.push_back(time_text(c["launched"][i].get<double>()));
    cells.push_back(time_text(lasted(i)));
    cells.push_back(fmt::format("{:.4f}", lasted(i) / std::max(1.0, lasted(order[0]))));
    cells.push_back(amount_cell(c, "transactions", i));
    if (stages) {
      cells.push_back(text_cell(c, "longest_stage", i));
      cells.push_back(share_text(c["longest_stage_share"][i].get<double>()));
    }
    table.add_row(cells);
  }
  return titled(
      fmt::format("The longest {} of {} kernels", order.size(), kernels["rows"].get<std::uint64_t>()),
      table.text());
}

std::string batches_table(RunJson const& batches) {
  auto const& c = batches["columns"];
  std::vector<std::string> const numbers{"raw_faults", "duplicates", "pages", "prefetched_pages",
                                         "evicted_pages"};
  HtmlTable table({"GPU", "#began", "#took", "#faults", "#duplicates", "#pages", "#prefetched", "#evicted"});
  auto const rows = std::min(batches["shown"].get<std::size_t>(), kTableRows);
  for (std::size_t i = 0; i < rows; ++i) {
    std::vector<std::string> cells{text_cell(c, "gpu", i), time_text(c["began"][i].get<double>()),
                                   time_text(c["ended"][i].get<double>() - c["began"][i].get<double>())};
    for (auto const& name : numbers) cells.push_back(amount_cell(c, name.c_str(), i));
    table.add_row(cells);
  }
  return titled(fmt::format("The first {} of {} batches", rows, batches["rows"].get<std::uint64_t>()),
                table.text());
}

std::string traffic_table(RunJson const& traffic) {
  auto const& devices = traffic["devices"];
  auto cells = std::vector<RunJson>(traffic["bytes"].begin(), traffic["bytes"].end());
  std::ranges::stable_sort(
      cells, [](RunJson const& a, RunJson const& b) { return a[2].get<double>() > b[2].get<double>(); });
  auto const pairs = cells.size();
  cells.resize(std::min(cells.size(), kTableRows));
  HtmlTable table({"from", "to", "#sent"});
  for (auto const& cell : cells)
    table.add_row({devices[cell[0].get<std::size_t>()].get<std::string>(),
                   devices[cell[1].get<std::size_t>()].get<std::string>(),
                   amount_text(cell[2].get<double>(), "byte")});
  return titled(fmt::format("The {} largest of {} pairs", cells.size(), pairs), table.text());
}

std::string links_table(RunJson const& uses) {
  std::vector<RunJson const*> order;
  for (auto const& use : uses) order.push_back(&use);
  std::ranges::stable_sort(order, [](RunJson const* a, RunJson const* b) {
    return (*a)["busy"].get<double>() > (*b)["busy"].get<double>();
  });
  order.resize(std::min(order.size(), kTableRows));
  HtmlTable table({"from", "to", "#busy", "|", "#sent", "#packets"});
  for (auto const* use : order) {
    auto const busy = (*use)["busy"].get<double>();
    table.add_row({(*use)["from"].get<std::string>(), (*use)["to"].get<std::string>(), share_text(busy),
                   fmt::format("{:.4f}", busy), amount_text((*use)["bytes"].get<double>(), "byte"),
                   amount_text((*use)["packets"].get<double>(), "1")});
  }
  return titled(fmt::format("The {} busiest of {} directions of links", order.size(), uses.size()),
                table.text());
}

std::string figures_table(RunJson const& figures) {
  HtmlTable table({"figure", "#value", "#exact", "description"});
  for (auto const& f : figures)
    table.add_row({f["metric"].get<std::string>(),
                   amount_text(f["value"].get<double>(), f["units"].get<std::string>()), f["value"].dump(),
                   f["text"].get<std::string>()});
  return folded(fmt::format("All {} figures of the machine", figures.size()), table.text());
}

std::string profile_table(RunJson const& values) {
  HtmlTable table({"value", "#", "description"});
  for (auto const& v : values) {
    auto const& value = v["value"];
    table.add_row({v["name"].get<std::string>(),
                   value.is_string()   ? value.get<std::string>()
                   : value.is_number() ? amount_text(value.get<double>(), v["units"].get<std::string>())
                                       : std::string(),
                   v["text"].get<std::string>()});
  }
  return folded("Profile of the simulator", table.text());
}

std::string preset_table(PresetMatch const& match) {
  if (match.differences.empty()) return {};
  HtmlTable table({"parameter", "preset " + shown(match.name), "run"});
  for (std::size_t i = 0; i < std::min(match.differences.size(), kPresetRows); ++i) {
    auto const& d = match.differences[i];
    table.add_row({shown(d.key), shown(d.preset), shown(d.value)});
  }
  return folded(fmt::format("The {} parameters that differ from the preset {}", match.differences.size(),
                            shown(match.name)),
                table.text());
}

}  // namespace farfault::cli
