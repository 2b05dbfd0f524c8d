// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "amounts.hpp"
#include "farfault/analysis/explain.hpp"
#include "farfault/cli/explain.hpp"
#include "farfault/engine/error.hpp"
#include "html.hpp"
#include "machine_picture.hpp"
#include "sections.hpp"

namespace farfault::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kRows = 20;  // rows of a table
constexpr std::size_t kMaxResources = 6;

double share_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string number(double share) {
  return fmt::format("{:.4f}", share);
}

std::string parts_table(char const* heading, std::vector<analysis::TimePart> const& parts,
                        std::uint64_t whole) {
  HtmlTable table({heading, "#share", "|"});
  for (auto const& p : parts) {
    auto const share = share_of(p.ps, whole);
    if (p.ps != 0) table.add({p.what, share_text(share), number(share)});
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
    text += "</div>\n<p>" +
            escaped(fmt::format("{} accesses, {} on average.",
                                amount_text(static_cast<double>(e.accesses), "1"), time_text(average))) +
            "</p>\n";
    if (e.resources.empty()) return text;
    HtmlTable table(
        {"resource", "busiest instance", "#instances", "#max. access time", "#busy", "|", "#average"});
    for (std::size_t i = 0; i < std::min(e.resources.size(), kMaxResources); ++i) {
      auto const& r = e.resources[i];
      table.add({r.what, shown(r.name), std::to_string(r.alike), share_text(r.waited), share_text(r.busy),
                 number(r.busy), share_text(r.average)});
    }
    return text + table.text();
  } catch (UserError const& why) {
    return "<p class=\"verdict\">" + escaped(why.what()) + "</p>\n";
  }
}

std::string kernels_table(Json const& kernels) {
  auto const& c = kernels["columns"];
  auto const rows = kernels["shown"].get<std::size_t>();
  std::vector<std::size_t> order(rows);
  std::iota(order.begin(), order.end(), std::size_t{0});
  auto const lasted = [&](std::size_t i) {
    return c["finished"][i].get<double>() - c["launched"][i].get<double>();
  };
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return lasted(a) > lasted(b); });
  order.resize(std::min(order.size(), kRows));
  bool const applications = c.contains("application"), stages = c.contains("longest_stage");
  std::vector<std::string> headings{"kernel", "#launched", "#took", "#transactions"};
  if (applications) headings.insert(headings.begin(), "application");
  if (stages) headings.insert(headings.end(), {"largest access stage", "#share"});
  HtmlTable table(headings);
  for (auto const i : order) {
    std::vector<std::string> cells;
    auto const text = [&](char const* column) {
      cells.push_back(c.contains(column) ? c[column][i].get<std::string>() : std::string());
    };
    if (applications) text("application");
    text("name");
    cells.push_back(time_text(c["launched"][i].get<double>()));
    cells.push_back(time_text(lasted(i)));
    cells.push_back(c.contains("transactions") ? amount_text(c["transactions"][i].get<double>(), "1") : "");
    if (stages) {
      text("longest_stage");
      cells.push_back(share_text(c["longest_stage_share"][i].get<double>()));
    }
    table.add(cells);
  }
  return folded(
      fmt::format("The longest {} of {} kernels", order.size(), kernels["rows"].get<std::uint64_t>()),
      table.text());
}

std::string batches_table(Json const& batches) {
  auto const& c = batches["columns"];
  std::vector<std::string> const numbers{"raw_faults", "duplicates", "pages", "prefetched_pages",
                                         "evicted_pages"};
  HtmlTable table({"GPU", "#began", "#took", "#faults", "#duplicates", "#pages", "#prefetched", "#evicted"});
  auto const rows = std::min(batches["shown"].get<std::size_t>(), kRows);
  for (std::size_t i = 0; i < rows; ++i) {
    std::vector<std::string> cells{c.contains("gpu") ? c["gpu"][i].get<std::string>() : std::string(),
                                   time_text(c["began"][i].get<double>()),
                                   time_text(c["ended"][i].get<double>() - c["began"][i].get<double>())};
    for (auto const& name : numbers)
      cells.push_back(c.contains(name) ? amount_text(c[name][i].get<double>(), "1") : std::string());
    table.add(cells);
  }
  return folded(fmt::format("The first {} of {} batches", rows, batches["rows"].get<std::uint64_t>()),
                table.text());
}

std::string traffic_table(Json const& traffic) {
  auto const& devices = traffic["devices"];
  auto cells = std::vector<Json>(traffic["bytes"].begin(), traffic["bytes"].end());
  std::ranges::stable_sort(
      cells, [](Json const& a, Json const& b) { return a[2].get<double>() > b[2].get<double>(); });
  auto const pairs = cells.size();
  cells.resize(std::min(cells.size(), kRows));
  HtmlTable table({"from", "to", "#sent"});
  for (auto const& cell : cells)
    table.add({devices[cell[0].get<std::size_t>()].get<std::string>(),
               devices[cell[1].get<std::size_t>()].get<std::string>(),
               amount_text(cell[2].get<double>(), "byte")});
  return folded(fmt::format("The {} largest of {} pairs", cells.size(), pairs), table.text());
}

std::string links_table(Json const& uses) {
  std::vector<Json const*> order;
  for (auto const& use : uses) order.push_back(&use);
  std::ranges::stable_sort(order, [](Json const* a, Json const* b) {
    return (*a)["busy"].get<double>() > (*b)["busy"].get<double>();
  });
  order.resize(std::min(order.size(), kRows));
  HtmlTable table({"from", "to", "#busy", "|", "#sent", "#packets"});
  for (auto const* use : order) {
    auto const busy = (*use)["busy"].get<double>();
    table.add({(*use)["from"].get<std::string>(), (*use)["to"].get<std::string>(), share_text(busy),
               number(busy), amount_text((*use)["bytes"].get<double>(), "byte"),
               amount_text((*use)["packets"].get<double>(), "1")});
  }
  return folded(fmt::format("The {} busiest of {} directions of links", order.size(), uses.size()),
                table.text());
}

std::string figures_table(Json const& figures) {
  HtmlTable table({"figure", "#value", "#exact", "description"});
  for (auto const& f : figures)
    table.add({f["metric"].get<std::string>(),
               amount_text(f["value"].get<double>(), f["units"].get<std::string>()), f["value"].dump(),
               f["text"].get<std::string>()});
  return folded(fmt::format("All {} figures of the machine", figures.size()), table.text());
}

std::string profile_table(Json const& values) {
  HtmlTable table({"value", "#", "description"});
  for (auto const& v : values) {
    auto const& value = v["value"];
    table.add({v["name"].get<std::string>(),
               value.is_string()   ? value.get<std::string>()
               : value.is_number() ? amount_text(value.get<double>(), v["units"].get<std::string>())
                                   : std::string(),
               v["text"].get<std::string>()});
  }
  return folded("Profile of the simulator", table.text());
}

std::string live(char const* what) {
  return fmt::format("<div class=\"live\" data-draw=\"{}\"></div>\n", what);
}

}  // namespace

std::string run_letters(std::size_t run) {
  std::string text;
  for (auto i = run + 1; i != 0; i = (i - 1) / 26) text.insert(0, 1, static_cast<char>('A' + (i - 1) % 26));
  return text;
}

std::string run_section(std::string const& letters, std::size_t run, std::string const& path,
                        Json const& data) {
  auto html =
      fmt::format("<section class=\"run\" data-run=\"{}\">\n<h2>{} <span class=\"path\">{}</span></h2>\n",
                  run, letters, escaped(path));
  auto const digest = data["digest"].get<std::string>();
  html += "<p>" +
          escaped(fmt::format("{} after {} of simulated time; Farfault {}, {}.",
                              data["end_reason"].get<std::string>(), time_text(data["end_ps"].get<double>()),
                              data["farfault_version"].get<std::string>(),
                              digest.empty() ? "no digest" : "digest " + digest)) +
          "</p>\n";
  html += explanation(path);
  html +=
      "<h3>Machine</h3>\n"
      "<p class=\"hint\">Links are coloured by utilization, per direction; hover for details.</p>\n" +
      live("machine") + machine_picture(data);
  if (data.contains("link_use")) html += links_table(data["link_use"]);
  html += live("zoom");
  if (data.contains("stack")) html += live("stacks");
  html += live("series");
  if (data.contains("histograms")) html += histograms_section(data["histograms"]);
  if (data.contains("gpus")) html += live("gpus");
  if (data.contains("kernels") || data.contains("outstanding"))
    html += "<h3>Kernels</h3>\n" + live("kernels");
  if (data.contains("kernels")) html += kernels_table(data["kernels"]);
  if (data.contains("batches"))
    html += "<h3>Fault batches</h3>\n" + live("batches") + batches_table(data["batches"]);
  if (data.contains("traffic"))
    html += "<h3>Traffic between devices</h3>\n" + live("traffic") + traffic_table(data["traffic"]);
  if (data.contains("placement")) html += placement_section(data["placement"]);
  html += "<h3>Figures, profile and configuration</h3>\n" + figures_table(data["summary"]) +
          profile_table(data["engine"]);
  html += folded("Command line", "<pre>" + escaped(data["command_line"].get<std::string>()) + "</pre>\n");
  html += folded("Resolved configuration",
                 "<pre class=\"config\">" + escaped(data["config"].get<std::string>()) + "</pre>\n");
  return html + "</section>\n";
}

}  // namespace farfault::cli
