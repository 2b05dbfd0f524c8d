// SPDX-License-Identifier: Apache-2.0
#include "farfault/analysis/report.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "columns.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/results/reading/guard.hpp"
#include "farfault/results/reading/settings.hpp"
#include "farfault/results/reading/walk.hpp"
#include "report_parts.hpp"

namespace farfault::analysis {
namespace {

constexpr std::size_t kMaxFigures = 2000;  // more than any machine has
constexpr std::size_t kMaxInputs = 64;
constexpr double kSteps = 9999;  // of a plot's height

Json profile(ObjectId file) {
  auto all = Json::array();
  if (!has(file, "engine")) return all;
  for (auto const& name : link_names(open_group(file, "engine"))) {
    auto const dataset = open_dataset(file, "engine/" + name);
    auto const shape = shape_of_dataset(dataset);
    if (!shape.extents.empty() || shape.kind == Kind::other || all.size() == kMaxFigures) continue;
    Json value;
    if (shape.kind == Kind::text) {
      value = shown(read_texts(dataset, shape, 0, 1).at(0));
    } else {
      auto const word = read_words(dataset, shape, 0, 1).at(0);
      value = shape.kind == Kind::real ? Json(std::bit_cast<double>(word)) : Json(word);
    }
    all.push_back({{"name", shown(name)},
                   {"text", brief(text_attribute(dataset, "long_name"))},
                   {"units", shown(text_attribute(dataset, "units"))},
                   {"value", value}});
  }
  return all;
}

// The resolved parameters, except names of input files: key -> TOML text.
Json settings(ObjectId file) {
  auto all = Json::object();
  for (auto const& [key, value] : settings_of(file))
    if (all.size() < kMaxFigures) all[shown(key)] = shown(value);
  return all;
}

Json inputs(ObjectId file) {
  auto all = Json::array();
  if (!has(file, "config/inputs/parameter")) return all;
  Columns const table(file, "config/inputs", "input");
  auto const parameters = table.texts("parameter"), paths = table.texts("path");
  auto const bytes = table.numbers("bytes");
  for (std::size_t i = 0; i < std::min(parameters.size(), kMaxInputs); ++i)
    all.push_back({{"parameter", shown(parameters[i])}, {"path", shown(paths[i])}, {"bytes", bytes[i]}});
  return all;
}

Json machine_figures(ObjectId file) {
  auto all = Json::array();
  if (!has(file, "summary/machine")) return all;
  Columns const figures(file, "summary/machine", "name");
  if (figures.rows() == 0) return all;
  for (auto const& metric : figures.names()) {
    if (metric == "name" || all.size() == kMaxFigures) continue;
    auto const value = figures.numbers(metric).at(0);
    auto const dataset = open_dataset(file, "summary/machine/" + metric);
    if (value == UINT64_MAX && has_attribute(dataset, "_FillValue")) continue;
    all.push_back({{"metric", shown(metric)},
                   {"text", brief(text_attribute(dataset, "long_name"))},
                   {"units", shown(text_attribute(dataset, "units"))},
                   {"value", value}});
  }
  return all;
}

void add_machine(ReportSource& source, Json& to) {
  Columns const nodes(source.file, "topology/nodes", "node");
  auto const names = nodes.texts("name"), kinds = nodes.texts("kind");
  auto const machines =
      nodes.has("machine") ? nodes.texts("machine") : std::vector<std::string>(names.size());
  auto list = Json::array();
  for (std::size_t i = 0; i < names.size(); ++i) {
    list.push_back({shown(names[i]), shown(kinds[i]), shown(machines[i])});
    if (!source.nodes.insert(names[i]).second) continue;
    source.node_order.push_back(names[i]);
    if (kinds[i] == "gpu") source.gpus.push_back(names[i]);
  }
  to["nodes"] = std::move(list);
  Columns const links(source.file, "topology/links", "link");
  auto const a = links.numbers("a"), b = links.numbers("b");
  auto const link_kinds = links.texts("kind");
  list = Json::array();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] >= names.size() || b[i] >= names.size()) throw Hdf5Failure("a link refers to a missing node");
    list.push_back({a[i], b[i], shown(link_kinds[i])});
  }
  to["links"] = std::move(list);
  if (has(source.file, "tables/links/sender"))
    for (auto const& sender : Columns(source.file, "tables/links", "row").texts("sender"))
      ++source.links_of[sender];
}

// End of the run, or the time of the last sample if the run has not ended.
std::uint64_t end_of(ObjectId file, Json const& summary) {
  for (auto const& figure : summary)
    if (figure["metric"] == "end") return figure["value"].get<std::uint64_t>();
  std::uint64_t last = 0;
  for (auto const& kind : link_names(open_group(file, "timeseries"))) {
    auto const times = Columns(file, "timeseries/" + kind, "time_ps").numbers("time_ps");
    if (!times.empty()) last = std::max(last, times.back());
  }
  return last;
}

std::string read_data(ObjectId file, std::string const& path, ReportSize const& size) {
  check_is_result(file);
  auto const root = open_group(file, "/");
  Json all{{"kind", "report_data"}, {"path", one_line(path)}};
  all["title"] = shown(text_attribute(root, "title"));
  all["farfault_version"] = shown(text_attribute(root, "farfault_version"));
  all["digest"] = shown(text_attribute(root, "result_digest"));
  all["end_reason"] = shown(text_attribute(root, "end_reason"));
  auto const seed = open_dataset(file, "config/seed");
  all["seed"] = read_words(seed, shape_of_dataset(seed), 0, 1).at(0);
  all["command_line"] = one_line(scalar_text(file, "config/command_line").substr(0, size.config_bytes));
  all["config"] = scalar_text(file, "config/toml").substr(0, size.config_bytes);
  all["settings"] = settings(file);
  all["inputs"] = inputs(file);
  all["engine"] = profile(file);
  all["summary"] = machine_figures(file);
  ReportSource source{.file = file,
                      .size = size,
                      .end_ps = end_of(file, all["summary"]),
                      .nodes = {},
                      .node_order = {},
                      .gpus = {},
                      .links_of = {}};
  all["end_ps"] = source.end_ps;
  add_machine(source, all);
  Clocks clocks;
  add_series(source, clocks, all);
  add_stacks(source, clocks, all);
  add_gpus(source, clocks, all);
  add_links(source, clocks, all);
  add_histograms(source, all);
  add_tables(source, all);
  all["clocks"] = clocks.json();
  return all.dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace

std::string brief(std::string const& text) {
  return one_line(text.substr(0, 300));
}

Json drawn_row(std::string const& name, std::vector<double> const& values) {
  double most = 0;
  for (auto const v : values)
    if (std::isfinite(v)) most = std::max(most, std::abs(v));
  auto const scale = most / kSteps;
  auto steps = Json::array();
  for (auto const v : values)
    steps.push_back(!std::isfinite(v) ? Json() : Json(most == 0 ? 0 : std::lround(v / scale)));
  return {{"name", shown(name)}, {"scale", scale}, {"values", std::move(steps)}};
}

std::size_t Clocks::number_of(std::vector<std::uint64_t> const& ends) {
  auto const found = std::ranges::find(lists_, ends);
  if (found != lists_.end()) return static_cast<std::size_t>(found - lists_.begin());
  lists_.push_back(ends);
  return lists_.size() - 1;
}

std::string report_data(std::string const& path, ReportSize const& size) {
  check_readable(path);
  return read_guarded(path, [&](ObjectId file) { return read_data(file, path, size); });
}

}  // namespace farfault::analysis
