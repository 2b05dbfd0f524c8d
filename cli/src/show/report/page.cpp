// SPDX-License-Identifier: Apache-2.0
#include "page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "assets.hpp"
#include "difference_section.hpp"
#include "facts_section.hpp"
#include "farfault/analysis/compare.hpp"
#include "farfault/analysis/report.hpp"
#include "html.hpp"
#include "machine_picture.hpp"
#include "sections.hpp"

namespace farfault::cli {
namespace {

using Json = nlohmann::ordered_json;

// Fewer points of time if several runs share a page.
analysis::ReportSize size_of(std::size_t files) {
  analysis::ReportSize size;
  if (files > 1) size.points = std::clamp<std::size_t>(1000 / files, 80, 400);
  size.gpu_bytes /= files;
  if (files > 4) size.links = 128;
  return size;
}

// The data for the script: everything except the parts that the page contains as text.
Json drawn_part(Json data) {
  auto over_time = picture_use(data);
  data.erase("link_use");
  if (!over_time.empty()) data["link_use"] = std::move(over_time);
  for (auto const* name : {"nodes", "links", "config", "command_line", "engine", "summary", "kind",
                           "histograms", "placement", "title", "settings", "inputs"})
    data.erase(name);
  return data;
}

std::string head(std::string const& title) {
  return std::string(kPageBegin) +
         fmt::format(
             "\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src '{}'; "
             "style-src '{}'; base-uri 'none'; form-action 'none'\">\n",
             report_script_hash(), report_style_hash()) +
         "<meta name=\"viewport\" content=\"width=device-width\">\n<title>" + escaped(title) +
         "</title>\n<style>" + std::string(report_style()) + "</style></head>\n<body>\n";
}

std::string part_of_sweep(SweptRuns const& swept, analysis::RunsCompared const& compared) {
  if (auto const* table = swept.whole_table(compared)) return sweep_section(*table);
  if (!swept.lacks_table(compared)) return {};
  return "<p class=\"hint\">These results are not in the table of their sweep. "
         "<code>farfault sweep STUDY.toml --collect</code> writes it; the next report then has a picture of "
         "the "
         "sweep.</p>\n";
}

std::string foot() {
  return "<footer><p>Written by <code>farfault report</code> " + std::string(FARFAULT_VERSION) +
         ". Charts: uPlot, under the MIT licence.</p>\n" +
         folded("Licence of uPlot", "<pre>" + escaped(report_licence()) + "</pre>\n") + "</footer>\n";
}

}  // namespace

std::string report_page(std::vector<std::string> const& files, PageSize const& size,
                        Extensions const& extensions) {
  bool const is_single = files.size() == 1;
  Json all{{"runs", Json::array()}, {"colours", use_colours()}};
  Folds folds("");
  std::string before;
  if (!is_single) {
    auto compared = analysis::compare(files);
    SweptRuns const swept(files);
    swept.name(compared);
    if (files.size() == 2) {
      folds.link("difference", "Why B differs from A");
      before += difference_section(files[0], files[1]);
    }
    if (auto const sweep = part_of_sweep(swept, compared); !sweep.empty()) {
      if (sweep.starts_with("<section")) folds.link("sweep", "Sweep");
      before += sweep;
    }
    folds.add("comparison", "Comparison of runs",
              fmt::format("{} runs; {} of {} figures and {} parameter{} differ", files.size(),
                          compared.figures.size(), compared.figures_in_all, compared.settings.size(),
                          compared.settings.size() == 1 ? "" : "s"),
              comparison_section(compared, swept));
    all["comparison"] = comparison_data(compared);
  }
  // Bytes of everything except the runs, the header with their facts included.
  constexpr std::size_t kHeader = 20'000;
  auto const rest = kHeader + foot().size() + report_script().size() + report_style().size() + before.size() +
                    folds.html().size() + embedded(all.dump(-1, ' ', true)).size();
  PresetTable presets(extensions);
  std::vector<std::vector<RunFact>> facts;
  std::vector<Json> pair;
  std::string sections, title;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    auto const data = Json::parse(analysis::report_data(files[i], size_of(files.size())));
    auto const preset = presets.match(data["settings"], data["command_line"].get<std::string>());
    auto const section = run_section({is_single ? "" : run_letters(i), i, files[i]}, data, preset);
    auto drawn = drawn_part(data);
    bytes += section.size() + embedded(drawn.dump()).size();
    if (i != 0 && rest + bytes > size.bytes) {
      sections += "<p>" +
                  escaped(fmt::format(
                      "The page has details of the first {} of {} runs; the others are only compared.", i,
                      files.size())) +
                  "</p>\n";
      break;
    }
    sections += section;
    all["runs"].push_back(std::move(drawn));
    facts.push_back(facts_of(data, preset));
    title = i == 0 || run_title(data) == title ? run_title(data) : "Farfault";
    if (files.size() == 2) pair.push_back(data);
  }
  if (pair.size() == 2) {
    auto paired = pair_section({files[0], files[1], pair[0], pair[1]});
    folds.add("pair", "A and B side by side",
              "stacks, SM activity, kernels and links, with their differences", paired.html);
    all["pair"] = std::move(paired.drawn);
  }
  auto const heading = is_single ? title : fmt::format("{}: {} runs", title, files.size());
  auto html = head(is_single ? title + ": " + files[0] : heading) + "<header><h1>" + escaped(heading) +
              (is_single ? " <span class=\"path\">" + escaped(one_line(files[0])) + "</span>" : "") +
              "</h1>\n" + facts_section(common_facts(facts)) + "</header>\n";
  if (!is_single) {
    folds.link("run0", "Runs");
    html += folds.index() + before + folds.html() + "<nav class=\"live tabs\"></nav>\n";
  }
  html += sections + foot();
  html += "<script type=\"application/json\" id=\"data\">" +
          embedded(all.dump(-1, ' ', true, Json::error_handler_t::replace)) + "</script>\n";
  return html + "<script>" + std::string(report_script()) + "</script>\n</body></html>\n";
}

}  // namespace farfault::cli
