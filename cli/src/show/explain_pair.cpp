// SPDX-License-Identifier: Apache-2.0
#include "farfault/cli/explain_pair.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "farfault/analysis/explain_pair.hpp"
#include "farfault/engine/error.hpp"
#include "process/counted.hpp"
#include "show/pair_phrases.hpp"

namespace farfault::cli {
namespace {

using analysis::PairExplanation;
using analysis::PartChange;

constexpr std::size_t kTitleWidth = 54;
constexpr std::size_t kRowsShown = 8;
constexpr std::size_t kKernelsShown = 3;
constexpr std::size_t kStagesShown = 3;
constexpr double kLeastShare = 0.005;       // of the change: smaller rows are summed up
constexpr double kLeastUtilization = 0.01;  // smaller changes are left out

// "  name    +41.9 us     92.0%  text"; a long name is cut.
void print_row(std::string const& name, std::vector<std::string> const& cells, std::string const& text,
               std::ostream& out) {
  auto title = name;
  if (title.size() > kTitleWidth) title = std::string(first_characters(title, kTitleWidth - 3)) + "...";
  auto line = fmt::format("  {:<{}}", title, kTitleWidth);
  for (auto const& cell : cells) line += fmt::format("{:>11}", cell);
  if (!text.empty()) line += "  " + text;
  line.erase(line.find_last_not_of(' ') + 1);
  out << line << "\n";
}

void print_heading(std::string const& name, std::vector<std::string> const& cells, std::string const& text,
                   std::ostream& out) {
  auto line = fmt::format("{:<{}}", name, kTitleWidth + 2);
  for (auto const& cell : cells) line += fmt::format("{:>11}", cell);
  if (!text.empty()) line += "  " + text;
  out << line << "\n";
}

std::string ps_text(double ps) {
  return figure_text(ps, "ps");
}

// Prints rows with a share of the change, at most kRowsShown, and the sum of the others. `print(row)` prints
// a row, `print_sum(number, ps)` the others.
template <class Row, class Print, class PrintSum>
void print_rows(std::vector<Row> const& rows, std::int64_t change, Print print, PrintSum print_sum) {
  std::size_t printed = 0, others = 0;
  double rest = 0;
  for (auto const& row : rows) {
    if (row.ps == 0) continue;
    bool const large =
        std::abs(static_cast<double>(row.ps)) >= kLeastShare * std::abs(static_cast<double>(change));
    if (large && printed < kRowsShown) {
      print(row);
      ++printed;
    } else {
      ++others;
      rest += static_cast<double>(row.ps);
    }
  }
  if (others != 0) print_sum(others, static_cast<std::int64_t>(rest));
}

template <class Row>
bool any_change(std::vector<Row> const& rows) {
  return std::ranges::any_of(rows, [](Row const& row) { return row.ps != 0; });
}

std::string others_text(std::size_t others) {
  return counted(others, "other");
}

void print_run(char const* letter, analysis::PairedRun const& run, bool with_commit, std::ostream& out) {
  out << fmt::format("  {}  {}  {} after {}", letter, one_line(run.path), shown(run.end_reason),
                     ps_text(static_cast<double>(run.end_ps)));
  if (with_commit) out << "  commit " << (run.commit.empty() ? "unknown" : shown(run.commit.substr(0, 10)));
  out << "\n";
}

// The share of an attributed time; "-" if the change is too small for it.
std::string attributed_share(PairExplanation const& e, std::int64_t ps) {
  return e.below_resolution ? "-" : share_of_change(ps, e.change_ps);
}

void print_groups(PairExplanation const& e, std::ostream& out) {
  if (e.settings.empty()) {
    out << "Same configuration\n";
    return;
  }
  print_heading("Differing parameters", {"change", "share"}, e.groups.empty() ? "" : "first cause", out);
  print_rows(
      e.groups, e.change_ps,
      [&](analysis::CauseGroup const& g) {
        auto const name = g.settings.empty() ? std::string("no differing parameter acts directly")
                                             : differing_text(e, g.settings);
        std::vector<std::string> const cells{signed_time(g.ps), attributed_share(e, g.ps)};
        auto const& first = shown(e.causes[g.causes.front()].what);
        if (name.size() <= kTitleWidth) {
          print_row(name, cells, first, out);
        } else {
          out << "  " << name << "\n";
          print_row("", cells, first, out);
        }
      },
      [&](std::size_t others, std::int64_t ps) {
        print_row(others_text(others), {signed_time(ps), attributed_share(e, ps)}, "", out);
      });
  if (e.groups.empty())
    for (auto const& s : e.settings) out << "  " << setting_text(s) << "\n";
}

void print_unreached(PairExplanation const& e, std::ostream& out) {
  for (auto const& s : e.settings)
    if (s.unreached) out << "  " << setting_text(s) << ": never reached, no effect\n";
}

// Launches of a kernel; empty for a gap, and for one launch in each run.
std::string launches_text(PartChange const& p) {
  if (p.kind != "kernel") return {};
  auto const launches = [](std::uint64_t n) {
    return n == 1 ? std::string("1 launch") : fmt::format("{} launches", n);
  };
  if (p.a_launches == 0) return "only in B: " + launches(p.b_launches);
  if (p.b_launches == 0) return "only in A: " + launches(p.a_launches);
  if (p.a_launches == p.b_launches) return p.a_launches == 1 ? std::string() : launches(p.a_launches);
  return fmt::format("{} in A, {} in B", launches(p.a_launches), p.b_launches);
}

void print_parts_of_end(PairExplanation const& e, std::ostream& out) {
  if (!any_change(e.parts)) return;
  print_heading("Time of the run", {"A", "B", "change", "share"}, "", out);
  print_rows(
      e.parts, e.change_ps,
      [&](PartChange const& p) {
        print_row(one_line(p.what),
                  {ps_text(static_cast<double>(p.a_ps)), ps_text(static_cast<double>(p.b_ps)),
                   signed_time(p.ps), share_of_change(p.ps, e.change_ps)},
                  launches_text(p), out);
      },
      [&](std::size_t others, std::int64_t ps) {
        print_row(others_text(others), {"", "", signed_time(ps), share_of_change(ps, e.change_ps)}, "", out);
      });
}

void print_causes(PairExplanation const& e, std::ostream& out) {
  if (!any_change(e.causes)) return;
  print_heading(
      e.gpu.empty() ? std::string("Causes") : "Causes (time of kernels: modelled from " + shown(e.gpu) + ")",
      {"change", "share"}, "A to B", out);
  print_rows(
      e.causes, e.change_ps,
      [&](analysis::Cause const& c) {
        auto text = fmt::format("{} to {} {}", figure_text(c.figure.a, c.unit),
                                figure_text(c.figure.b, c.unit), c.per);
        if (!c.resource.empty())
          text += fmt::format("{}{} ({}): {:.1f}% to {:.1f}% busy", c.per.empty() ? "" : "; ", c.resource,
                              shown(c.resource_name), 100 * c.busy.a, 100 * c.busy.b);
        print_row(shown(c.what), {signed_time(c.ps), attributed_share(e, c.ps)}, text, out);
      },
      [&](std::size_t others, std::int64_t ps) {
        print_row(others_text(others), {signed_time(ps), attributed_share(e, ps)}, "", out);
      });
}

// Kernels with the largest changes: the stages whose average time changed most.
void print_kernels_of_pair(PairExplanation const& e, std::ostream& out) {
  std::size_t printed = 0;
  for (auto const& p : e.parts) {
    if (p.kind != "kernel" || p.ps == 0 || p.a_accesses == 0 || p.b_accesses == 0 || p.stages.empty())
      continue;
    if (printed++ == kKernelsShown) break;
    print_heading(one_line(p.what), {"A", "B", "change", "share"},
                  fmt::format("time per access, largest changes; {} accesses in A, {} in B",
                              figure_text(static_cast<double>(p.a_accesses), "1"),
                              figure_text(static_cast<double>(p.b_accesses), "1")),
                  out);
    for (std::size_t i = 0; i < std::min(kStagesShown, p.stages.size()); ++i) {
      auto const& s = p.stages[i];
      if (s.per_access.a == s.per_access.b) break;
      print_row(s.what,
                {ps_text(s.per_access.a), ps_text(s.per_access.b),
                 signed_time(static_cast<std::int64_t>(s.per_access.b - s.per_access.a)),
                 s.ps == 0 ? "" : attributed_share(e, s.ps)},
                "", out);
    }
  }
}

void print_sms(PairExplanation const& e, std::ostream& out) {
  if (!any_change(e.sms)) return;
  print_heading("SM activity on " + shown(e.gpu) + ", per SM", {"A", "B", "change", "share"}, "", out);
  auto const print_sum = [&](std::string const& name, std::int64_t ps) {
    if (ps != 0) print_row(name, {"", "", signed_time(ps), attributed_share(e, ps)}, "", out);
  };
  print_rows(
      e.sms, e.change_ps,
      [&](analysis::ActivityChange const& s) {
        print_row(s.what,
                  {ps_text(s.per_sm.a), ps_text(s.per_sm.b), signed_time(s.ps), attributed_share(e, s.ps)},
                  "", out);
      },
      [&](std::size_t others, std::int64_t ps) { print_sum(others_text(others), ps); });
  print_sum("gaps, instructions, SMs without thread blocks", e.sms_rest_ps);
}

void print_stages(PairExplanation const& e, std::ostream& out) {
  if (!any_change(e.stages)) return;
  print_heading("Access time by stage on " + shown(e.gpu) + ", per access", {"A", "B", "change", "share"}, "",
                out);
  auto const print_sum = [&](std::string const& name, std::int64_t ps) {
    if (ps != 0) print_row(name, {"", "", signed_time(ps), attributed_share(e, ps)}, "", out);
  };
  print_rows(
      e.stages, e.change_ps,
      [&](analysis::StageChange const& s) {
        print_row(
            s.what,
            {ps_text(s.per_access.a), ps_text(s.per_access.b), signed_time(s.ps), attributed_share(e, s.ps)},
            "", out);
      },
      [&](std::size_t others, std::int64_t ps) { print_sum(others_text(others), ps); });
  print_sum("not in accesses", e.stages_rest_ps);
}

void print_sources(PairExplanation const& e, std::ostream& out) {
  double all_a = 0, all_b = 0;
  bool any_changed = false;
  for (auto const& s : e.sources) {
    all_a += static_cast<double>(s.a);
    all_b += static_cast<double>(s.b);
    any_changed = any_changed || s.a != s.b || s.ps != 0;
  }
  if (!any_changed) return;
  print_heading("Translations by source on " + shown(e.gpu), {"A", "B", "change", "share"}, "", out);
  for (auto const& s : e.sources) {
    if (s.a == 0 && s.b == 0) continue;
    print_row(s.what,
              {figure_text(static_cast<double>(s.a) / std::max(1.0, all_a), "ratio"),
               figure_text(static_cast<double>(s.b) / std::max(1.0, all_b), "ratio"), signed_time(s.ps),
               attributed_share(e, s.ps)},
              "", out);
  }
}

void print_resources_of_pair(PairExplanation const& e, std::ostream& out) {
  std::size_t printed = 0;
  for (auto const& r : e.resources) {
    if (std::abs(r.busy.b - r.busy.a) < kLeastUtilization || printed == kRowsShown) break;
    if (printed++ == 0) print_heading("Utilization of resources", {"A", "B"}, "busiest instance", out);
    auto text =
        r.a_name == r.b_name ? shown(r.b_name) : shown(r.a_name) + " in A, " + shown(r.b_name) + " in B";
    if (!r.matters && e.not_split.empty()) text += "; no effect on the end";
    print_row(r.what, {figure_text(r.busy.a, "ratio"), figure_text(r.busy.b, "ratio")}, text, out);
  }
}

void print_idle_changes(PairExplanation const& e, std::ostream& out) {
  if (e.idle.empty()) return;
  auto const end = static_cast<double>(std::max<std::uint64_t>({1, e.a.end_ps, e.b.end_ps}));
  print_heading(fmt::format("Changed, but at most {:.0f}% of the end", 100 * analysis::kMatters),
                {"A", "B", "factor", "of the end"}, "", out);
  for (std::size_t i = 0; i < std::min(e.idle.size(), kRowsShown); ++i) {
    auto const& c = e.idle[i];
    auto const [low, high] = std::minmax(c.figure.a, c.figure.b);
    print_row(c.what,
              {figure_text(c.figure.a, c.unit), figure_text(c.figure.b, c.unit),
               fmt::format("{} {:.3g}", c.figure.b > c.figure.a ? "x" : "/", high / low),
               fmt::format("{:+.1f}%", 100 * static_cast<double>(c.ps) / end)},
              "", out);
  }
}

void print_pair(PairExplanation const& e, std::ostream& out) {
  out << verdict_of(e) << "\n";
  bool const other_commit = e.a.commit != e.b.commit;
  print_run("A", e.a, other_commit, out);
  print_run("B", e.b, other_commit, out);
  if (!e.not_split.empty()) out << "Time of kernels is not split further: " << one_line(e.not_split) << "\n";
  print_groups(e, out);
  print_unreached(e, out);
  print_parts_of_end(e, out);
  print_causes(e, out);
  print_kernels_of_pair(e, out);
  print_sms(e, out);
  print_stages(e, out);
  print_sources(e, out);
  print_resources_of_pair(e, out);
  print_idle_changes(e, out);
}

}  // namespace

void explain_results(std::string const& a, std::string const& b, bool json, std::ostream& out) {
  auto const e = analysis::explain_pair(a, b);
  if (json)
    out << to_json(e) << "\n";
  else
    print_pair(e, out);
}

}  // namespace farfault::cli
