// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "amounts.hpp"
#include "facts_section.hpp"
#include "farfault/analysis/explain.hpp"
#include "farfault/cli/explain.hpp"
#include "farfault/engine/error.hpp"
#include "html.hpp"
#include "machine_picture.hpp"
#include "run_tables.hpp"
#include "sections.hpp"

namespace farfault::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kPartRows = 7;
constexpr std::size_t kMaxResources = 5;

double share_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string number(double share) {
  return fmt::format("{:.4f}", share);
}

// The longest parts of a whole, and the sum of the others.
std::string parts_table(char const* heading, std::vector<analysis::TimePart> const& parts,
                        std::uint64_t whole) {
  HtmlTable table({heading, "#share", "|"});
  std::uint64_t rest = 0;
  std::size_t rows = 0, others = 0;
  auto const nonzero = std::ranges::count_if(parts, [](auto const& p) { return p.ps != 0; });
  for (auto const& p : parts) {
    if (p.ps == 0) continue;
    if (rows < kPartRows || nonzero == kPartRows + 1) {
      table.add_row({p.what, share_text(share_of(p.ps, whole)), number(share_of(p.ps, whole))});
      ++rows;
    } else {
      rest += p.ps;
      ++others;
    }
  }
  if (others > 0)
    table.add_row(
        {fmt::format("{} others", others), share_text(share_of(rest, whole)), number(share_of(rest, whole))});
  return table.text();
}

std::string resources_table(analysis::Explanation const& e) {
  if (e.resources.empty()) return {};
  HtmlTable table(
      {"resource", "busiest instance", "#instances", "#max. access time", "#busy", "|", "#average"});
  for (std::size_t i = 0; i < std::min(e.resources.size(), kMaxResources); ++i) {
    auto const& r = e.resources[i];
    table.add_row({r.what, shown(r.name), std::to_string(r.alike), share_text(r.waited), share_text(r.busy),
                   number(r.busy), share_text(r.average)});
  }
  return table.text();
}

std::string explanation(std::string const& path) {
  try {
    auto const e = analysis::explain(path);
    std::string text;
    if (!e.outstanding.empty())
      text += "<p>Outstanding at the end: " + escaped(outstanding_text(e)) + ".</p>\n";
    text += "<p class=\"verdict\">Bottleneck: " + escaped(bound_text(e)) + ".</p>\n<div class=\"side\">\n";
    text += parts_table("SM activity", e.sms, e.sm_ps);
    auto const average =
        e.accesses == 0 ? 0.0 : static_cast<double>(e.access_ps) / static_cast<double>(e.accesses);
    text += parts_table("access time by stage", e.stages, e.access_ps);
    return text + "</div>\n<p>" +
           escaped(fmt::format("{} accesses, {} on average.",
                               amount_text(static_cast<double>(e.accesses), "1"), time_text(average))) +
           "</p>\n" + resources_table(e);
  } catch (UserError const& why) {
    return "<p class=\"verdict\">" + escaped(why.what()) + "</p>\n";
  }
}

std::string live(char const* what) {
  return fmt::format("<div class=\"live\" data-draw=\"{}\"></div>\n", what);
}

// Hints of folded sections: what they contain.

std::string time_hint(Json const& data) {
  return fmt::format("stages of accesses, SM activity and {} charts", data["series"].size());
}

std::string kernels_hint(Json const& data) {
  if (!data.contains("kernels")) return "unfinished ones";
  auto const& kernels = data["kernels"];
  auto const& c = kernels["columns"];
  std::string text = fmt::format("{} completed", kernels["rows"].get<std::uint64_t>());
  double most = -1;
  std::string name;
  for (std::size_t i = 0; i < kernels["shown"].get<std::size_t>(); ++i)
    if (auto const took = c["finished"][i].get<double>() - c["launched"][i].get<double>(); took > most) {
      most = took;
      name = c.contains("name") ? c["name"][i].get<std::string>() : "kernel";
    }
  return most < 0 ? text : text + ", the longest " + name + ": " + time_text(most);
}

std::string machine_hint(Json const& data) {
  std::string text = fmt::format("{} nodes, {} links", data["nodes"].size(), data["links"].size());
  if (!data.contains("link_use")) return text;
  Json const* most = nullptr;
  for (auto const& use : data["link_use"])
    if (most == nullptr || use["busy"].get<double>() > (*most)["busy"].get<double>()) most = &use;
  if (most == nullptr) return text;
  return text + ", the busiest " + (*most)["from"].get<std::string>() + " to " +
         (*most)["to"].get<std::string>() + ": " + share_text((*most)["busy"].get<double>());
}

std::string traffic_hint(Json const& data) {
  double all = 0;
  for (auto const& cell : data["traffic"]["bytes"]) all += cell[2].get<double>();
  return amount_text(all, "byte") + " between " + std::to_string(data["traffic"]["bytes"].size()) +
         " pairs of devices";
}

std::string configuration_section(Json const& data, std::optional<PresetMatch> const& preset) {
  return figures_table(data["summary"]) + profile_table(data["engine"]) +
         (preset ? preset_table(*preset) : "") +
         folded("Resolved configuration",
                "<pre class=\"config\">" + escaped(data["config"].get<std::string>()) + "</pre>\n");
}

}  // namespace

std::string run_letters(std::size_t run) {
  std::string text;
  for (auto i = run + 1; i != 0; i = (i - 1) / 26) text.insert(0, 1, static_cast<char>('A' + (i - 1) % 26));
  return text;
}

std::string run_section(RunOnPage const& run, Json const& data, std::optional<PresetMatch> const& preset) {
  Folds folds("r" + std::to_string(run.number) + "-");
  folds.add("time", "Over time", time_hint(data),
            (data.contains("stack") ? live("stacks") : std::string()) + live("series"));
  if (data.contains("kernels") || data.contains("outstanding"))
    folds.add("kernels", "Kernels", kernels_hint(data),
              live("kernels") + (data.contains("kernels") ? kernels_table(data["kernels"]) : std::string()));
  folds.add("machine", "Machine and GPUs", machine_hint(data),
            "<p class=\"hint\">Links are coloured by utilization, per direction; hover for details.</p>\n" +
                live("machine") + "<div class=\"wide\">" + machine_picture(data) + "</div>\n" +
                (data.contains("link_use") ? links_table(data["link_use"]) : std::string()) +
                live("gpu_stacks") + (data.contains("gpus") ? live("gpus") : std::string()));
  if (data.contains("histograms"))
    folds.add("histograms", "Histograms", fmt::format("{}, with percentiles", data["histograms"].size()),
              histograms_section(data["histograms"]));
  if (data.contains("batches"))
    folds.add("batches", "Fault batches", fmt::format("{}", data["batches"]["rows"].get<std::uint64_t>()),
              live("batches") + batches_table(data["batches"]));
  if (data.contains("traffic"))
    folds.add("traffic", "Traffic", traffic_hint(data), live("traffic") + traffic_table(data["traffic"]));
  if (data.contains("placement"))
    folds.add("placement", "Page placement",
              fmt::format("{} buffers at the end of the run", data["placement"]["rows"].get<std::size_t>()),
              placement_section(data["placement"]));
  folds.add(
      "configuration", "Figures and configuration",
      fmt::format("{} figures, profile of the simulator, resolved configuration", data["summary"].size()),
      configuration_section(data, preset));
  auto html = fmt::format("<section class=\"run\" data-run=\"{}\" id=\"run{}\">\n", run.number, run.number);
  if (!run.letters.empty())
    html += "<h2>Run " + run.letters + " <span class=\"path\">" + escaped(one_line(run.path)) +
            "</span></h2>\n" + folded("About the run", facts_section(facts_of(data, preset)));
  return html + folds.index() + explanation(run.path) + live("zoom") + folds.html() + "</section>\n";
}

}  // namespace farfault::cli
