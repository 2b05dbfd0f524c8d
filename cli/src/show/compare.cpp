// SPDX-License-Identifier: Apache-2.0
#include "farfault/cli/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <string_view>
#include <tuple>

#include "farfault/analysis/compare.hpp"
#include "farfault/analysis/sweep_axes.hpp"
#include "farfault/cli/readable.hpp"
#include "farfault/engine/error.hpp"
#include "process/counted.hpp"
#include "show/swept_runs.hpp"
#include "sweep/swept_results.hpp"

namespace farfault::cli {
namespace {

using analysis::ComparedFigure;
using analysis::RunsCompared;

// "A", "B", ..., "Z", "AA"
std::string letters(std::size_t run) {
  std::string text;
  for (auto i = run + 1; i != 0; i = (i - 1) / 26) text.insert(0, 1, static_cast<char>('A' + (i - 1) % 26));
  return text;
}

std::string value_text(std::uint64_t value, std::string const& unit) {
  if (unit == "ps" && value <= static_cast<std::uint64_t>(Duration::max().count()))
    return for_people(Duration{static_cast<std::int64_t>(value)});
  return for_people(static_cast<double>(value)) + (unit == "1" || unit == "cycle" ? "" : " " + shown(unit));
}

// "1.3 ms (-30.6%)", "84 k (x 4.1)", "84 (/ 3.2)"
std::string cell(ComparedFigure const& f, std::size_t run) {
  auto const &first = f.values[0], value = f.values[run];
  if (!value) return "-";
  auto const text = value_text(*value, f.unit);
  if (!first || *first == 0 || value == first) return text;
  auto const ratio = static_cast<double>(*value) / static_cast<double>(*first);
  if (ratio >= 2) return text + fmt::format(" (x {:.3g})", ratio);
  if (ratio > 0 && ratio <= 0.5) return text + fmt::format(" (/ {:.3g})", 1 / ratio);
  return text + fmt::format(" ({:+.1f}%)", 100 * (ratio - 1));
}

// The first digits of the commit's hash, and any remark after it.
std::string commit_text(std::string const& commit) {
  constexpr std::size_t kDigits = 10;
  auto const rest = commit.find(' ');
  return shown(commit.substr(0, std::min(rest, kDigits)) +
               (rest == std::string::npos ? "" : commit.substr(rest)));
}

// Lines of cells, each column as wide as its widest cell.
class Lines {
 public:
  void add(std::vector<std::string> cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i == widths_.size()) widths_.push_back(0);
      widths_[i] = std::max(widths_[i], cells[i].size());
    }
    rows_.push_back(std::move(cells));
  }
  void print(std::ostream& out) const {
    for (auto const& row : rows_) {
      std::string line;
      for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format("  {:<{}}", row[i], widths_[i]);
      line.erase(line.find_last_not_of(' ') + 1);
      out << line << "\n";
    }
  }

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> widths_;
};

// A heading with the letter of each run above the columns.
std::vector<std::string> heading(RunsCompared const& c) {
  std::vector<std::string> cells{""};
  for (std::size_t i = 0; i < c.runs.size(); ++i) cells.push_back(letters(i));
  return cells;
}

void print_runs(RunsCompared const& c, std::ostream& out) {
  Lines lines;
  bool const one_program =
      std::ranges::all_of(c.runs, [&](auto const& r) { return r.commit == c.runs[0].commit; });
  bool const named = std::ranges::any_of(c.runs, [](auto const& r) { return !r.name.empty(); });
  for (std::size_t i = 0; i < c.runs.size(); ++i) {
    auto const& r = c.runs[i];
    std::vector<std::string> cells{letters(i)};
    if (named) cells.push_back(r.name);
    cells.insert(cells.end(),
                 {one_line(r.path), shown(r.end_reason), r.digest.empty() ? "no digest" : shown(r.digest)});
    if (!one_program)
      cells.push_back(r.commit.empty() ? "unknown commit" : "commit " + commit_text(r.commit));
    cells.emplace_back(i != 0 && r.equal ? "equal to A" : "");
    lines.add(std::move(cells));
  }
  lines.print(out);
}

// "the name, workload.name"
std::string sources_text(RunsCompared const& c) {
  std::string text;
  for (auto const& key : c.implied_by)
    text += (text.empty() ? "" : ", ") + (key == analysis::kSweepName ? "the name" : shown(key));
  return text;
}

// `all`: also the settings that follow from the name or the varied keys of a sweep.
void print_settings(RunsCompared const& c, bool all, std::ostream& out) {
  if (c.settings.empty()) {
    out << "Same configuration\n";
    return;
  }
  out << "Configuration differences\n";
  Lines lines;
  lines.add(heading(c));
  std::size_t implied = 0;
  for (auto const& s : c.settings) {
    if (s.is_implied && !all) {
      ++implied;
      continue;
    }
    std::vector<std::string> cells{shown(s.name)};
    for (auto const& v : s.values) cells.push_back(shown(v));
    lines.add(std::move(cells));
  }
  lines.print(out);
  if (implied != 0)
    out << "  ... and " << counted(implied, "setting") << " that " << (implied == 1 ? "follows" : "follow")
        << " from " << sources_text(c) << " (--all: show all)\n";
}

// A figure, and how many others have its values in all runs.
struct ShownFigure {
  ComparedFigure const* figure;
  std::size_t alike = 0;
};

// Figures for the readable form, simulated time first. Figures with equal values in all
// runs are represented by the first one, unless all are requested.
std::vector<ShownFigure> figures_shown(RunsCompared const& c, std::size_t most) {
  std::set<std::string_view> applications;
  for (auto const& f : c.figures)
    if (f.scope == "application") applications.insert(f.name);
  std::vector<ComparedFigure const*> all;
  for (auto const& f : c.figures)
    if (most == 0 || f.scope == "machine" || (f.scope == "application" && applications.size() > 1))
      all.push_back(&f);
  std::stable_partition(all.begin(), all.end(),
                        [](auto const* f) { return f->scope == "machine" && f->metric == "end"; });
  std::vector<ShownFigure> shown;
  if (most == 0) {
    for (auto const* f : all) shown.push_back({f, 0});
    return shown;
  }
  auto const what = [](ComparedFigure const* f) { return std::tie(f->scope, f->name, f->unit, f->values); };
  auto const precedes = [&](ComparedFigure const* a, ComparedFigure const* b) { return what(a) < what(b); };
  std::map<ComparedFigure const*, std::size_t, decltype(precedes)> places(precedes);  // in `shown`
  for (auto const* f : all) {
    auto const [at, is_new] = places.try_emplace(f, shown.size());
    if (is_new)
      shown.push_back({f, 0});
    else
      ++shown[at->second].alike;
  }
  if (shown.size() > most) shown.resize(most);
  return shown;
}

void print_figures(RunsCompared const& c, std::size_t most, std::ostream& out) {
  auto const figures = figures_shown(c, most);
  out << "Result differences: " << c.figures.size() << " of " << c.figures_in_all << " figures";
  bool const any_alike = std::ranges::any_of(figures, [](auto const& f) { return f.alike != 0; });
  if (figures.size() < c.figures.size())
    out << "; largest first (--all: show all" << (any_alike ? "; +N: N more with the same values)" : ")");
  out << "\n";
  bool const texts = c.runs.size() == 2;
  Lines lines;
  lines.add(heading(c));
  for (auto const& [f, alike] : figures) {
    std::vector<std::string> cells{f->scope == "machine" ? shown(f->metric)
                                                         : shown(f->name) + " " + shown(f->metric)};
    if (alike != 0) cells[0] += " (+" + std::to_string(alike) + ")";
    for (std::size_t i = 0; i < c.runs.size(); ++i) cells.push_back(cell(*f, i));
    if (texts) cells.push_back(shown(f->text));
    lines.add(std::move(cells));
  }
  lines.print(out);
}

}  // namespace

void compare_results(std::vector<std::string> const& names, CompareForm form, std::size_t most,
                     std::ostream& out) {
  auto const files = results_of(names);
  auto c = analysis::compare(files);
  SweptRuns(files).name(c);
  if (form == CompareForm::json) {
    out << to_json(c) << "\n";
  } else if (form == CompareForm::csv) {
    out << to_csv(c);
  } else {
    print_runs(c, out);
    print_settings(c, most == 0, out);
    if (c.all_equal())
      out << "the results are equal\n";
    else if (c.figures.empty())
      out << "the summaries are equal, but the results differ: farfault diff shows where\n";
    else
      print_figures(c, most, out);
  }
}

}  // namespace farfault::cli
