// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "amounts.hpp"
#include "farfault/engine/error.hpp"
#include "html.hpp"
#include "process/counted.hpp"
#include "sections.hpp"
#include "sweep_text/ratio_text.hpp"

namespace farfault::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kSettings = 8;  // columns of the table
constexpr std::size_t kFigures = 6;
constexpr std::size_t kRatios = 6;
constexpr std::size_t kDrawn = 100;  // selectable figures, with few runs
constexpr std::size_t kDrawnValues = 20'000;

// Figures of the whole machine; simulated time first.
std::vector<analysis::ComparedFigure const*> figures_of(analysis::RunsCompared const& c) {
  std::vector<analysis::ComparedFigure const*> all;
  for (auto const& f : c.figures)
    if (f.scope == "machine") all.push_back(&f);
  std::stable_partition(all.begin(), all.end(), [](auto const* f) { return f->metric == "end"; });
  return all;
}

// Columns of the table: the first settings that do not follow from the name of a run.
std::vector<analysis::ComparedSetting const*> settings_of(analysis::RunsCompared const& c) {
  std::vector<analysis::ComparedSetting const*> all;
  for (auto const& s : c.settings)
    if (!s.is_implied && all.size() < kSettings) all.push_back(&s);
  return all;
}

std::string ratio_cell(std::optional<SweptRuns::Ratio> const& ratio) {
  if (!ratio) return "";
  return std::isnan(ratio->value) ? "- (" + one_line(ratio->reason) + ")"
                                  : figure_text(ratio->value, "1", true);
}

}  // namespace

std::string comparison_section(analysis::RunsCompared const& c, SweptRuns const& swept) {
  auto const figures = figures_of(c);
  auto const settings = settings_of(c);
  auto ratios = swept.ratios();
  ratios.resize(std::min(ratios.size(), kRatios));
  auto const shown_figures = std::min(figures.size(), kFigures);
  std::vector<std::string> headings{"", "result"};
  for (auto const* s : settings) headings.push_back(shown(s->name));
  for (auto const& ratio : ratios) headings.push_back("#" + shown(ratio));
  for (std::size_t i = 0; i < shown_figures; ++i) headings.push_back("#" + shown(figures[i]->metric));
  headings.insert(headings.end(), {"ended", "vs. A"});
  HtmlTable table(headings);
  for (std::size_t run = 0; run < c.runs.size(); ++run) {
    auto const& name = c.runs[run].name;
    std::vector<std::string> cells{run_letters(run), name.empty() ? one_line(c.runs[run].path) : name};
    for (auto const* s : settings) cells.push_back(shown(s->values[run]));
    for (auto const& ratio : ratios) cells.push_back(ratio_cell(swept.ratio(run, ratio)));
    for (std::size_t i = 0; i < shown_figures; ++i) {
      auto const& value = figures[i]->values[run];
      cells.push_back(value ? amount_text(static_cast<double>(*value), figures[i]->unit) : "-");
    }
    cells.push_back(shown(c.runs[run].end_reason));
    cells.push_back(run == 0 ? "" : c.runs[run].equal ? "equal" : "differs");
    table.add_row(cells);
  }
  auto html =
      "<p>" +
      escaped(fmt::format("{} of {} and {} {}.", c.figures.size(), counted(c.figures_in_all, "figure"),
                          counted(c.settings.size(), "parameter"),
                          c.figures.size() + c.settings.size() == 1 ? "differs" : "differ")) +
      "</p>\n<div class=\"live\" data-draw=\"comparison\"></div>\n<h4>All runs</h4>\n" + table.text();
  if (c.settings.size() > settings.size()) {
    HtmlTable rest({"parameter", "values of A, B, ..."});
    for (auto const& s : c.settings) {
      std::string values;
      for (auto const& v : s.values) values += (values.empty() ? "" : ", ") + shown(v);
      rest.add_row({shown(s.name), values});
    }
    html += folded("All differing parameters", rest.text());
  }
  return html;
}

Json comparison_data(analysis::RunsCompared const& c) {
  auto runs = Json::array(), settings = Json::array(), figures = Json::array();
  for (std::size_t run = 0; run < c.runs.size(); ++run)
    runs.push_back(
        {{"name", run_letters(run)}, {"path", one_line(c.runs[run].path)}, {"label", c.runs[run].name}});
  for (auto const* s : settings_of(c)) {
    auto values = Json::array();
    for (auto const& v : s->values) values.push_back(shown(v));
    settings.push_back({{"name", shown(s->name)}, {"in_all", s->in_all()}, {"values", std::move(values)}});
  }
  auto const most = std::min(kDrawn, std::max<std::size_t>(kFigures, kDrawnValues / c.runs.size()));
  for (auto const* f : figures_of(c)) {
    if (figures.size() == most) break;
    auto values = Json::array();
    for (auto const& v : f->values) values.push_back(v ? Json(*v) : Json());
    figures.push_back({{"metric", shown(f->metric)},
                       {"text", one_line(f->text.substr(0, 300))},
                       {"units", shown(f->unit)},
                       {"values", std::move(values)}});
  }
  return {{"runs", std::move(runs)}, {"settings", std::move(settings)}, {"figures", std::move(figures)}};
}

}  // namespace farfault::cli
