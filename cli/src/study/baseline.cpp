// SPDX-License-Identifier: Apache-2.0
#include "baseline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "farfault/engine/error.hpp"

namespace farfault::cli {
namespace {

std::string listed(std::vector<std::string> const& names) {
  std::string text;
  for (auto const& name : names) text += (text.empty() ? "" : ", ") + shown(name);
  return text;
}

std::vector<std::string> figures_of(results::SweepTable const& table) {
  std::vector<std::string> names;
  for (auto const& column : table.runs)
    if (column.role == "figure") names.push_back(column.name);
  return names;
}

// Checks the keys of a baseline and the dimension of its means.
class BaselineCheck {
 public:
  BaselineCheck(Study const& study, Points const& points) : study_(study), keys_(points.keys()) {
    for (auto const& point : study.list)
      if (!point.name.empty()) names_.push_back(point.name);
    if (!names_.empty()) keys_.insert(keys_.begin(), kNameKey);
  }

  void key(StudySetting const& setting) const {
    if (setting.key == kNameKey) return point(setting);
    if (setting.key == kSeedKey)
      refuse(setting.line, "sweep.baseline must not set run.seed: runs are compared with runs of their seed");
    if (!has(setting.key))
      refuse(setting.line, fmt::format("'{}' of sweep.baseline does not vary in this study, which varies {}",
                                       shown(setting.key), listed(keys_)));
  }

  void mean_over() const {
    auto const& over = study_.mean_over;
    if (study_.baseline.empty())
      refuse(study_.mean_over_line,
             "sweep.mean_over needs sweep.baseline: it is the dimension of a mean of speedups");
    if (over == kSeedKey || !has(over))
      refuse(study_.mean_over_line,
             fmt::format("sweep.mean_over '{}' does not vary in this study, which varies {}", shown(over),
                         listed(keys_)));
    for (auto const& setting : study_.baseline)
      if (setting.key == over)
        refuse(study_.mean_over_line,
               fmt::format("sweep.mean_over '{}' is a key of sweep.baseline; choose another dimension",
                           shown(over)));
  }

  void figures() const {
    if (study_.baseline.empty())
      refuse(study_.figures_line,
             "sweep.figures needs sweep.baseline: it lists figures whose ratio to the baseline is reported");
  }

 private:
  [[noreturn]] void refuse(int line, std::string const& why) const {
    throw UserError(fmt::format("{}:{}: {}", one_line(study_.path), line, why));
  }
  bool has(std::string const& key) const { return std::find(keys_.begin(), keys_.end(), key) != keys_.end(); }

  void point(StudySetting const& setting) const {
    auto const& name = setting.value.text;
    if (names_.empty())
      refuse(setting.line, fmt::format("sweep.baseline names the point '{}', but no point [[sweep.list]] has "
                                       "a name",
                                       shown(name)));
    if (std::find(names_.begin(), names_.end(), name) != names_.end()) return;
    auto const near = nearest_name(name, names_);
    refuse(setting.line,
           fmt::format("no point [[sweep.list]] has the name '{}' of sweep.baseline{}", shown(name),
                       near.empty() ? "" : "; did you mean '" + shown(near) + "'?"));
  }

  Study const& study_;
  std::vector<std::string> keys_, names_;
};

}  // namespace

std::optional<analysis::SweepBaseline> baseline_of(Study const& study, Points const& points) {
  BaselineCheck const check(study, points);
  if (!study.mean_over.empty()) check.mean_over();
  if (!study.figures.empty()) check.figures();
  if (study.baseline.empty()) return std::nullopt;
  analysis::SweepBaseline baseline;
  for (auto const& setting : study.baseline) {
    check.key(setting);
    baseline.values.emplace_back(setting.key, setting.value.text);
  }
  baseline.mean_over = study.mean_over;
  baseline.figures = study.figures;
  return baseline;
}

void check_baseline(Study const& study, results::SweepTable const& table,
                    analysis::SweepBaseline const& baseline) {
  auto const partners = analysis::sweep_partners(table, baseline);
  if (std::any_of(partners.begin(), partners.end(), [](auto const& partner) { return partner.has_value(); }))
    return;
  throw UserError(fmt::format("{}:{}: no run of the study has the values of sweep.baseline ({})",
                              one_line(study.path), study.baseline_line, text_of(study.baseline)));
}

std::vector<std::string> known_figures(Study const& study, results::SweepTable const& table) {
  auto const known = figures_of(table);
  if (known.empty()) return study.figures;
  std::vector<std::string> found;
  std::copy_if(study.figures.begin(), study.figures.end(), std::back_inserter(found),
               [&](auto const& name) { return std::find(known.begin(), known.end(), name) != known.end(); });
  return found;
}

void check_figures(Study const& study, results::SweepTable const& table) {
  auto const known = figures_of(table);
  for (auto const& name : study.figures) {
    if (known.empty() || std::find(known.begin(), known.end(), name) != known.end()) continue;
    auto const near = nearest_name(name, known);
    throw UserError(fmt::format(
        "{}:{}: '{}' of sweep.figures is not a figure of this sweep; {}", one_line(study.path),
        study.figures_line, shown(name),
        near.empty() ? "the columns of sweep.csv have their names" : "did you mean '" + shown(near) + "'?"));
  }
}

}  // namespace farfault::cli
