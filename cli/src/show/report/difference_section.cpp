// SPDX-License-Identifier: Apache-2.0
#include "difference_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "farfault/analysis/explain_pair.hpp"
#include "farfault/engine/error.hpp"
#include "html.hpp"
#include "show/pair_phrases.hpp"

namespace farfault::cli {
namespace {

using analysis::PairExplanation;

constexpr std::size_t kDifferenceRows = 12;  // of a table
constexpr std::size_t kKernels = 3;
constexpr std::size_t kStagesOfKernel = 3;

// Time in A and B, the change, its share, and the share's size as a bar.
std::vector<std::string> change_cells(PairExplanation const& e, std::string const& name, double a, double b,
                                      std::int64_t ps) {
  auto const share =
      e.change_ps == 0 ? 0.0 : std::abs(static_cast<double>(ps) / static_cast<double>(e.change_ps));
  return std::vector<std::string>{shown(name),
                                  figure_text(a, "ps"),
                                  figure_text(b, "ps"),
                                  signed_time(ps),
                                  share_of_change(ps, e.change_ps),
                                  fmt::format("{:.4f}", share)};
}

std::string parts_of_end(PairExplanation const& e) {
  HtmlTable table({"time of the run", "#A", "#B", "#change", "#share", "|"});
  for (std::size_t i = 0; i < std::min(e.parts.size(), kDifferenceRows); ++i) {
    auto const& p = e.parts[i];
    if (p.ps != 0)
      table.add_row(change_cells(e, p.what, static_cast<double>(p.a_ps), static_cast<double>(p.b_ps), p.ps));
  }
  double a = 0, b = 0;
  std::int64_t change = 0;
  std::size_t others = 0;
  for (auto i = kDifferenceRows; i < e.parts.size(); ++i) {
    a += static_cast<double>(e.parts[i].a_ps);
    b += static_cast<double>(e.parts[i].b_ps);
    change += e.parts[i].ps;
    ++others;
  }
  if (others > 0) table.add_row(change_cells(e, fmt::format("{} others", others), a, b, change));
  return table.empty() ? "" : table.text();
}

std::string causes_table(PairExplanation const& e) {
  HtmlTable table({"cause", "#A", "#B", "", "#change", "#share", "differing parameters"});
  for (std::size_t i = 0; i < std::min(e.causes.size(), kDifferenceRows); ++i) {
    auto const& c = e.causes[i];
    table.add_row({shown(c.what), figure_text(c.figure.a, c.unit), figure_text(c.figure.b, c.unit), c.per,
                   signed_time(c.ps), share_of_change(c.ps, e.change_ps), differing_text(e, c.settings)});
  }
  return table.empty() ? "" : table.text();
}

// The part of the change that no row above has.
void add_rest(PairExplanation const& e, HtmlTable& table, std::string const& name, std::int64_t ps) {
  if (ps != 0) table.add_row({name, "", "", signed_time(ps), share_of_change(ps, e.change_ps), ""});
}

// Differing parameters, each with the part of the change that its causes explain.
std::string groups_table(PairExplanation const& e) {
  HtmlTable table({"differing parameters", "#change", "#share", "first cause"});
  for (std::size_t i = 0; i < std::min(e.groups.size(), kDifferenceRows); ++i) {
    auto const& g = e.groups[i];
    table.add_row(
        {g.settings.empty() ? "no differing parameter acts directly" : differing_text(e, g.settings),
         signed_time(g.ps), e.below_resolution ? "-" : share_of_change(g.ps, e.change_ps),
         shown(e.causes[g.causes.front()].what)});
  }
  for (auto const& s : e.settings)
    if (s.unreached) table.add_row({setting_text(s), "", "", "never reached, no effect"});
  return table.empty() ? "" : table.text();
}

// The stages of the kernels with the largest changes.
std::string kernels_of_pair(PairExplanation const& e) {
  HtmlTable table({"time per access by kernel", "stage", "#A", "#B", "#change", "#share"});
  std::size_t kernels = 0;
  for (auto const& p : e.parts) {
    if (p.kind != "kernel" || p.ps == 0 || p.a_accesses == 0 || p.b_accesses == 0 || p.stages.empty())
      continue;
    if (kernels++ == kKernels) break;
    for (std::size_t i = 0; i < std::min(kStagesOfKernel, p.stages.size()); ++i) {
      auto const& s = p.stages[i];
      if (s.per_access.a == s.per_access.b) break;
      table.add_row({shown(p.what), s.what, figure_text(s.per_access.a, "ps"),
                     figure_text(s.per_access.b, "ps"),
                     signed_time(static_cast<std::int64_t>(s.per_access.b - s.per_access.a)),
                     s.ps == 0 ? "" : share_of_change(s.ps, e.change_ps)});
    }
  }
  return table.empty() ? "" : table.text();
}

std::string sources_of_pair(PairExplanation const& e) {
  double all_a = 0, all_b = 0;
  for (auto const& s : e.sources) {
    all_a += static_cast<double>(s.a);
    all_b += static_cast<double>(s.b);
  }
  HtmlTable table({"translations by source", "#A", "#B", "#change", "#share"});
  for (auto const& s : e.sources)
    if (s.a != 0 || s.b != 0)
      table.add_row({s.what, figure_text(static_cast<double>(s.a) / std::max(1.0, all_a), "ratio"),
                     figure_text(static_cast<double>(s.b) / std::max(1.0, all_b), "ratio"), signed_time(s.ps),
                     share_of_change(s.ps, e.change_ps)});
  return table.empty() ? "" : table.text();
}

std::string stages_of_pair(PairExplanation const& e) {
  HtmlTable table({"access time by stage, per access", "#A", "#B", "#change", "#share", "|"});
  for (auto const& s : e.stages)
    if (s.per_access.a != 0 || s.per_access.b != 0)
      table.add_row(change_cells(e, s.what, s.per_access.a, s.per_access.b, s.ps));
  if (!table.empty()) add_rest(e, table, "not in accesses", e.stages_rest_ps);
  return table.empty() ? "" : table.text();
}

std::string sms_of_pair(PairExplanation const& e) {
  HtmlTable table({"SM activity, per SM", "#A", "#B", "#change", "#share", "|"});
  for (auto const& s : e.sms)
    if (s.per_sm.a != 0 || s.per_sm.b != 0)
      table.add_row(change_cells(e, s.what, s.per_sm.a, s.per_sm.b, s.ps));
  if (!table.empty()) add_rest(e, table, "gaps, instructions, SMs without thread blocks", e.sms_rest_ps);
  return table.empty() ? "" : table.text();
}

std::string resources_of_pair(PairExplanation const& e) {
  HtmlTable table({"resource", "busiest in B", "#busy in A", "#busy in B", "effect on the end"});
  for (std::size_t i = 0; i < std::min(e.resources.size(), kDifferenceRows); ++i) {
    auto const& r = e.resources[i];
    table.add_row({r.what, shown(r.b_name), figure_text(r.busy.a, "ratio"), figure_text(r.busy.b, "ratio"),
                   r.matters ? "yes" : "no"});
  }
  return table.empty() ? "" : table.text();
}

std::string without_effect(PairExplanation const& e) {
  HtmlTable table({"changed without effect on the end", "#A", "#B", "#change of the end"});
  for (std::size_t i = 0; i < std::min(e.idle.size(), kDifferenceRows); ++i) {
    auto const& c = e.idle[i];
    table.add_row(
        {c.what, figure_text(c.figure.a, c.unit), figure_text(c.figure.b, c.unit), signed_time(c.ps)});
  }
  return table.empty() ? "" : table.text();
}

std::string sentence(std::string const& text) {
  return text.empty() ? "" : "<p>" + escaped(text) + ".</p>\n";
}

std::string content_of(PairExplanation const& e) {
  auto html = "<p class=\"verdict\">" + escaped(verdict_of(e)) + ".</p>\n";
  if (!e.not_split.empty()) html += sentence("Time of kernels is not split further: " + e.not_split);
  if (!e.gpu.empty() && !e.stages.empty())
    html += sentence("Causes of the time of kernels are modelled from " + e.gpu);
  html += groups_table(e) + causes_table(e);
  return html + folded("Parts of the run, accesses, translations, SM activity and resources of both runs",
                       parts_of_end(e) + kernels_of_pair(e) + stages_of_pair(e) + sources_of_pair(e) +
                           sms_of_pair(e) + resources_of_pair(e) + without_effect(e));
}

}  // namespace

std::string difference_section(std::string const& a, std::string const& b) {
  std::string content;
  try {
    content = content_of(analysis::explain_pair(a, b));
  } catch (UserError const& why) {
    content = "<p class=\"verdict\">" + escaped(why.what()) + "</p>\n";
  }
  return "<section class=\"difference\" id=\"difference\">\n<h2>Why B differs from A</h2>\n" + content +
         "</section>\n";
}

}  // namespace farfault::cli
