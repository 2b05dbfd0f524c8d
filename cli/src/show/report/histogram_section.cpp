// SPDX-License-Identifier: Apache-2.0
// Histograms of a run as pictures: a bar for each bin, and labelled lines at the percentiles.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "amounts.hpp"
#include "html.hpp"
#include "sections.hpp"

namespace farfault::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kWidth = 460;
constexpr double kLeft = 44, kRight = 452;
constexpr double kTop = 44, kBottom = 132;  // of the bars
constexpr double kHeight = 164;
constexpr double kWidestBin = 60;
constexpr double kLabel = 54;  // width of a label

std::string value_text(double value, std::string const& unit) {
  if (unit == "ps") return time_text(value);
  if (unit == "ns") return time_text(1000 * value);
  return amount_text(value, unit);
}

struct Histogram {
  std::vector<double> bins, counts;
  std::string unit;
  double all = 0;
  std::size_t first = 0, last = 0;  // bins that are drawn

  explicit Histogram(Json const& h)
      : bins(h["bins"].get<std::vector<double>>()),
        counts(h["counts"].get<std::vector<double>>()),
        unit(h["unit"].get<std::string>()),
        all(std::accumulate(counts.begin(), counts.end(), 0.0)) {
    auto const nonzero = [](double n) { return n > 0; };
    first = static_cast<std::size_t>(std::ranges::find_if(counts, nonzero) - counts.begin());
    for (std::size_t i = 0; i < counts.size(); ++i)
      if (nonzero(counts[i])) last = i;
  }

  double width() const {
    return std::min(kWidestBin, (kRight - kLeft) / static_cast<double>(last - first + 1));
  }
  double x_of_bin(std::size_t bin) const { return kLeft + static_cast<double>(bin - first) * width(); }
  double end_of(std::size_t bin) const { return bin + 1 < bins.size() ? bins[bin + 1] : 2 * bins[bin]; }
  // Position of a value, interpolated linearly within its bin.
  double x_of(double value) const {
    auto bin = static_cast<std::size_t>(std::ranges::upper_bound(bins, value) - bins.begin());
    bin = std::clamp(bin == 0 ? 0 : bin - 1, first, last);
    auto const wide = end_of(bin) - bins[bin];
    return x_of_bin(bin) + width() * (wide > 0 ? std::clamp((value - bins[bin]) / wide, 0.0, 1.0) : 0.0);
  }
  std::string range_text(std::size_t bin) const {
    auto const from = value_text(bins[bin], unit);
    if (bin + 1 == bins.size()) return from + " or more";
    auto const whole = end_of(bin) - bins[bin] <= 1;
    return whole ? from : from + " to " + value_text(end_of(bin), unit);
  }
};

// Titles of the axes, and the largest count.
std::string axes(Histogram const& h, double most) {
  bool const is_time = h.unit == "ps" || h.unit == "ns";
  return fmt::format(
             "<path class=\"axis\" d=\"M{0} {1}V{2}H{3}\"/>\n<text class=\"left\" x=\"{4}\" "
             "y=\"{5}\">{6}</text>\n"
             "<text class=\"left\" x=\"{4}\" y=\"{7}\">0</text>\n",
             kLeft, kTop, kBottom, kRight, kLeft - 4, kTop + 4, escaped(amount_text(most, "1")),
             kBottom + 3) +
         fmt::format(
             "<text class=\"middle\" transform=\"translate(10 {}) rotate(-90)\">number</text>\n"
             "<text class=\"middle\" x=\"{}\" y=\"{}\">{}</text>\n",
             (kTop + kBottom) / 2, (kLeft + kRight) / 2, kBottom + 28,
             is_time ? "time"
                     : "value (" + std::string(h.unit == "1" || h.unit.empty() ? "count" : escaped(h.unit)) +
                           ")");
}

std::string picture(Histogram const& h, Json const& percentiles) {
  auto svg =
      fmt::format("<svg class=\"histogram\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\">\n", kWidth, kHeight);
  auto const most = *std::ranges::max_element(h.counts);
  auto const every = static_cast<std::size_t>(std::max(1.0, kLabel / h.width() + 0.99));
  for (auto bin = h.first; bin <= h.last; ++bin) {
    auto const x = h.x_of_bin(bin);
    auto const height = (kBottom - kTop) * h.counts[bin] / most;
    svg += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"><title>{}</title></rect>\n", x,
        kBottom - height, std::max(1.0, h.width() - 1), height,
        escaped(fmt::format("{}: {} ({})", h.range_text(bin), amount_text(h.counts[bin], "1"),
                            share_text(h.counts[bin] / h.all))));
    if ((bin - h.first) % every == 0)
      svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x, kBottom + 14,
                         escaped(value_text(h.bins[bin], h.unit)));
  }
  svg += axes(h, most);
  auto row = 0;
  for (auto const& p : percentiles) {
    auto const x = h.x_of(p[1].get<double>());
    auto const y = 10.0 + 11 * row++;
    svg += fmt::format("<path d=\"M{0:.1f} {1:.1f}L{0:.1f} {2}\"/>\n", x, y + 2, kBottom);
    bool const left = x > kWidth / 2;
    svg += fmt::format("<text{} x=\"{:.1f}\" y=\"{:.1f}\">p{:g}: {}</text>\n", left ? " class=\"left\"" : "",
                       left ? x - 3 : x + 3, y + 2, p[0].get<double>(),
                       escaped(value_text(p[1].get<double>(), h.unit)));
  }
  return svg + "</svg>\n";
}

}  // namespace

std::string histograms_section(Json const& histograms) {
  HtmlTable table({"histogram", "description", "#total", "#p50", "#p90", "#p99"});
  std::string html =
      "<p class=\"hint\">Whole machine, a bar for each bin. Percentiles (50%, 90%, 99%) are interpolated "
      "linearly within a bin.</p>\n"
      "<div class=\"charts\">\n";
  for (auto const& one : histograms) {
    Histogram const h(one);
    auto const id = one["id"].get<std::string>(), title = one["title"].get<std::string>();
    std::vector<std::string> cells{id, title, amount_text(h.all, "1")};
    for (auto const& p : one["percentiles"]) cells.push_back(value_text(p[1].get<double>(), h.unit));
    table.add_row(cells);
    html += "<div class=\"chart\"><h4>" + escaped(id) + "</h4><p class=\"hint\">" + escaped(title) + ": " +
            escaped(amount_text(h.all, "1")) + " in total</p>" + picture(h, one["percentiles"]) + "</div>\n";
  }
  return html + "</div>\n" + folded("Percentiles as a table", table.text());
}

}  // namespace farfault::cli
