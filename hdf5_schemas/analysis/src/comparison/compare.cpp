// SPDX-License-Identifier: Apache-2.0
#include "farfault/analysis/compare.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tuple>
#include <utility>

#include "end_contributions.hpp"
#include "farfault/analysis/csv.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/results/reader.hpp"
#include "farfault/results/reading/guard.hpp"
#include "pairs/pair_settings.hpp"
#include "pairs/settings_between.hpp"
#include "result_file.hpp"

namespace farfault::analysis {
namespace {

std::vector<ComparedSetting> settings_of(std::vector<std::string> const& paths) {
  std::map<std::string, std::vector<std::string>> by_name;
  for (std::size_t i = 1; i < paths.size(); ++i)
    for (auto const& s : settings_between(paths[0], paths[i])) {
      auto const at = by_name.try_emplace(s.name, paths.size(), s.a).first;
      at->second[i] = s.b;
    }
  std::vector<ComparedSetting> all;
  for (auto& [name, values] : by_name) all.push_back({name, std::move(values)});
  // Settings that follow from a choice are listed after the choices.
  std::stable_partition(all.begin(), all.end(), [](auto const& s) { return s.in_all(); });
  return all;
}

// In the units of a machine: microseconds, memory transactions of 64 bytes.
double amount(std::uint64_t value, std::string_view unit) {
  return static_cast<double>(value) / (unit == "ps" ? 1'000'000 : unit == "byte" ? 64 : 1);
}

double effect_of(std::uint64_t a, std::uint64_t b, std::string_view unit) {
  auto const larger = amount(std::max(a, b), unit);
  auto const apart = amount(std::max(a, b) - std::min(a, b), unit);
  return larger == 0 ? 0 : apart / (larger + 10 * std::sqrt(larger));
}

bool differs(ComparedFigure const& f) {
  return std::ranges::any_of(f.values, [&](auto const& v) { return v != f.values[0]; });
}

// All figures of all runs, in the order of the first run that has each figure.
std::vector<ComparedFigure> figures_of(std::vector<ResultSummary> const& runs) {
  std::vector<ComparedFigure> all;
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> known;
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (auto const& row : runs[i].summary) {
      auto const [at, is_new] = known.try_emplace({row.scope, row.name, row.metric}, all.size());
      if (is_new)
        all.push_back({.scope = row.scope,
                       .name = row.name,
                       .metric = row.metric,
                       .unit = row.unit,
                       .text = row.text,
                       .values = std::vector<std::optional<std::uint64_t>>(runs.size()),
                       .end_ps = std::nullopt});
      all[at->second].values[i] = row.value;
    }
  return all;
}

// The settings in which a run differs from the first one.
std::vector<PairSetting> settings_of_run(RunsCompared const& c, std::size_t run) {
  std::vector<PairSetting> settings;
  for (auto const& s : c.settings)
    if (s.values[run] != s.values[0])
      settings.push_back(
          {s.name, s.values[0], s.values[run], s.values[0] == "none" || s.values[run] == "none"});
  return settings;
}

std::optional<RunFigures> figures_if_explained(std::string const& path) {
  try {
    return read_figures(path);
  } catch (UserError const&) {
    return std::nullopt;  // of an earlier version, or incomplete
  }
}

// Sets the contributions of figures of the machine, each of the run with the largest one.
void add_contributions(RunsCompared& c) {
  auto const reference = figures_if_explained(c.runs[0].path);
  if (!reference) return;
  for (std::size_t run = 1; run < c.runs.size(); ++run) {
    if (c.runs[run].equal) continue;
    auto other = figures_if_explained(c.runs[run].path);
    if (!other) continue;
    auto settings = settings_of_run(c, run);
    mark_unreached(settings, *reference, *other);
    auto const pair = model_pair(*reference, std::move(*other), settings);
    auto const contributions = end_contributions(pair);
    for (auto& f : c.figures) {
      auto const found = contributions.find(f.metric);
      if (f.scope != "machine" || found == contributions.end()) continue;
      if (!f.end_ps || Amount(*f.end_ps).size() < Amount(found->second).size()) f.end_ps = found->second;
    }
  }
}

// By contribution, the end itself before others with the whole of it, then by effect.
bool precedes(ComparedFigure const& a, ComparedFigure const& b) {
  auto const key = [](ComparedFigure const& f) {
    return std::tuple(Amount(f.end_ps.value_or(0)).size(), f.scope == "machine" && f.metric == "end",
                      f.effect);
  };
  return key(a) > key(b);
}

}  // namespace

bool ComparedSetting::in_all() const {
  return std::ranges::find(values, "none") == values.end();
}

bool RunsCompared::all_equal() const {
  return std::ranges::all_of(runs, [](ComparedRun const& r) { return r.equal; });
}

RunsCompared compare(std::vector<std::string> const& paths) {
  if (paths.size() < 2 || paths.size() > kMaxCompared)
    throw UserError("compare takes 2 to " + std::to_string(kMaxCompared) + " results, not " +
                    std::to_string(paths.size()));
  RunsCompared c;
  std::vector<ResultSummary> read;
  for (auto const& path : paths) {
    check_readable(path);
    auto const& s = read.emplace_back(read_summary(path));
    c.runs.push_back({.path = path,
                      .digest = s.result_digest,
                      .end_reason = s.end_reason,
                      .farfault_version = s.farfault_version,
                      .commit = s.commit});
  }
  auto figures = figures_of(read);
  c.figures_in_all = figures.size();
  for (std::size_t i = 0; i < paths.size(); ++i) {
    auto const same = [&](ComparedFigure const& f) { return f.values[i] == f.values[0]; };
    bool const by_digest = !c.runs[i].digest.empty() && c.runs[i].digest == c.runs[0].digest;
    c.runs[i].equal = i == 0 || by_digest ||
                      (c.runs[i].end_reason == c.runs[0].end_reason && std::ranges::all_of(figures, same) &&
                       !diff(paths[0], paths[i]).difference);
  }
  c.settings = settings_of(paths);
  for (auto& f : figures) {
    if (!differs(f)) continue;
    if (f.values[0])
      for (auto const& v : f.values)
        if (v) f.effect = std::max(f.effect, effect_of(*f.values[0], *v, f.unit));
    c.figures.push_back(std::move(f));
  }
  add_contributions(c);
  std::ranges::stable_sort(c.figures, precedes);
  return c;
}

std::string to_json(RunsCompared const& c) {
  using Ordered = nlohmann::ordered_json;
  Ordered runs = Ordered::array(), settings = Ordered::array(), figures = Ordered::array();
  for (auto const& r : c.runs)
    runs.push_back({{"path", r.path},
                    {"name", r.name},
                    {"result_digest", r.digest},
                    {"end_reason", r.end_reason},
                    {"farfault_version", r.farfault_version},
                    {"commit", r.commit},
                    {"equal", r.equal}});
  for (auto const& s : c.settings) settings.push_back({{"name", s.name}, {"values", s.values}});
  for (auto const& f : c.figures) {
    Ordered values = Ordered::array();
    for (auto const& v : f.values) values.push_back(v ? Ordered(*v) : Ordered());
    figures.push_back({{"scope", f.scope},
                       {"name", f.name},
                       {"metric", f.metric},
                       {"units", f.unit},
                       {"long_name", f.text},
                       {"values", values},
                       {"effect", f.effect},
                       {"end_ps", f.end_ps ? Ordered(*f.end_ps) : Ordered()}});
  }
  Ordered const all = {{"kind", "comparison"}, {"runs", runs},       {"equal", c.all_equal()},
                       {"settings", settings}, {"figures", figures}, {"figures_in_all", c.figures_in_all}};
  return all.dump(-1, ' ', true, Ordered::error_handler_t::replace);
}

std::string to_csv(RunsCompared const& c) {
  std::string text = "kind,scope,name,metric,units";
  for (auto const& r : c.runs) text += "," + csv_cell(r.path);
  text += "\n";
  for (auto const& s : c.settings) {
    text += "setting,,," + csv_cell(s.name) + ",";
    for (auto const& v : s.values) text += "," + csv_cell(v);
    text += "\n";
  }
  for (auto const& f : c.figures) {
    text += "figure";
    for (auto const* field : {&f.scope, &f.name, &f.metric, &f.unit}) text += "," + csv_cell(*field);
    for (auto const& v : f.values) text += "," + (v ? std::to_string(*v) : std::string());
    text += "\n";
  }
  return text;
}

}  // namespace farfault::analysis
