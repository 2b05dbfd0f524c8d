// SPDX-License-Identifier: Apache-2.0
#include "page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "assets.hpp"
#include "difference_section.hpp"
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
  for (auto const* name :
       {"nodes", "links", "config", "command_line", "engine", "summary", "kind", "histograms", "placement"})
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

std::string report_page(std::vector<std::string> const& files, PageSize const& size) {
  auto const title =
      files.size() == 1 ? "Farfault: " + files[0] : fmt::format("Farfault: {} runs", files.size());
  auto html = head(title) + "<header><h1>" + escaped(files.size() == 1 ? "Farfault" : title) +
              "</h1></header>\n<nav class=\"live\" data-draw=\"tabs\"></nav>\n";
  Json all{{"runs", Json::array()}, {"colours", use_colours()}};
  if (files.size() > 1) {
    auto compared = analysis::compare(files);
    SweptRuns const swept(files);
    swept.name(compared);
    if (files.size() == 2) html += difference_section(files[0], files[1]);
    html += part_of_sweep(swept, compared);
    html += comparison_section(compared, swept);
    all["comparison"] = comparison_data(compared);
  }
  auto const rest = foot().size() + report_script().size() + embedded(all.dump(-1, ' ', true)).size();
  std::size_t data_bytes = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    auto const data = Json::parse(analysis::report_data(files[i], size_of(files.size())));
    auto const section = run_section(files.size() > 1 ? run_letters(i) : "", i, files[i], data);
    auto drawn = drawn_part(data);
    auto const drawn_bytes = embedded(drawn.dump()).size();
    if (i != 0 && html.size() + section.size() + data_bytes + drawn_bytes + rest > size.bytes) {
      html += "<p>" +
              escaped(fmt::format(
                  "The page has details of the first {} of {} runs; the others are only compared.", i,
                  files.size())) +
              "</p>\n";
      break;
    }
    html += section;
    data_bytes += drawn_bytes;
    all["runs"].push_back(std::move(drawn));
  }
  html += foot();
  html += "<script type=\"application/json\" id=\"data\">" +
          embedded(all.dump(-1, ' ', true, Json::error_handler_t::replace)) + "</script>\n";
  return html + "<script>" + std::string(report_script()) + "</script>\n</body></html>\n";
}

}  // namespace farfault::cli
