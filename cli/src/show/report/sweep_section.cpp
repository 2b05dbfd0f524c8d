// SPDX-License-Identifier: Apache-2.0
// The picture of a sweep: a figure over one key, a line for each combination of the other keys, with the
// range over the seeds.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "amounts.hpp"
#include "farfault/analysis/sweep_pivot.hpp"
#include "farfault/engine/error.hpp"
#include "html.hpp"
#include "sections.hpp"
#include "sweep_text/ratio_text.hpp"

namespace farfault::cli {
namespace {

using analysis::SweepCurves;
using analysis::SweepMean;

constexpr std::size_t kLines = 10;       // drawn; the style sheet has as many colours
constexpr std::size_t kTableLines = 40;  // of the table
constexpr std::size_t kXLabels = 12;
constexpr std::size_t kLongestLabel = 16;

std::string cut_name(std::string const& text, std::size_t most) {
  if (text.size() <= most) return text;
  return std::string(first_characters(text, most - 3)) + "...";
}

std::string value_name(std::string const& value) {
  return value.empty() ? "none" : shown(value);
}

std::string line_name(SweepCurves::Line const& line) {
  analysis::SweepValues values;
  for (auto const& [key, value] : line.others) values.emplace_back(shown(key), shown(value));
  return analysis::short_text(values);
}

// The smallest of 1, 2 and 5 times a power of ten that is at least `size`.
double round_step(double size) {
  double step = 1;
  while (step < size) step *= 10;
  while (step >= 10 * size) step /= 10;
  for (auto const part : {0.2, 0.5})
    if (step * part >= size) return step * part;
  return step;
}

// The position of values in the picture.
class SweepFrame {
 public:
  static constexpr double kPageWidth = 780, kPageHeight = 370;
  static constexpr double kLeft = 84, kRight = 770, kTop = 16, kBottom = 300;

  explicit SweepFrame(SweepCurves const& curves) : curves_(curves) {
    double most = curves.is_ratio ? 1 : 0, least = curves.is_ratio ? 1 : std::numeric_limits<double>::max();
    for (std::size_t i = 0; i < std::min(curves.lines.size(), kLines); ++i) {
      auto const& line = curves.lines[i];
      auto points = line.points;
      if (curves.has_means) points.push_back(line.mean);
      for (auto const& point : points) {
        if (point.is_empty()) continue;
        most = std::max(most, point.largest);
        least = std::min(least, point.smallest);
      }
    }
    // The axis begins at 0, unless all values are in its upper half.
    auto const bottom = most > 0 && least > most / 2 ? least : 0.0;
    step_ = round_step(most > bottom ? (most - bottom) / 5 : most > 0 ? most / 5 : 1);
    bottom_ = bottom == 0 ? 0 : step_ * std::floor(bottom / step_ - 1e-9);
    top_ = std::max(bottom_ + step_, step_ * std::ceil(most / step_ - 1e-9));
    auto const& sizes = curves.x.sizes;
    if (sizes.empty()) return;
    auto const [low, high] = std::ranges::minmax(sizes);
    constexpr double kWide = 8;
    is_log_ = low > 0 && high >= kWide * low;
    low_ = scaled(low);
    high_ = scaled(high);
  }

  double step() const { return step_; }
  double top() const { return top_; }
  double bottom() const { return bottom_; }
  bool is_log() const { return is_log_; }
  double y(double value) const { return kBottom - (kBottom - kTop) * (value - bottom_) / (top_ - bottom_); }
  // Position of a value of the key; the mean follows the last one.
  double x(std::size_t value) const {
    auto const places = static_cast<double>(curves_.x.values.size() + (curves_.has_means ? 1 : 0));
    auto const wide = (kRight - kLeft) / places;
    bool const is_mean = value == curves_.x.values.size();
    if (curves_.x.sizes.empty() || is_mean || high_ <= low_)
      return kLeft + wide * (static_cast<double>(value) + 0.5);
    auto const last = kRight - wide * (curves_.has_means ? 1.5 : 0.5);
    auto const first = kLeft + wide * 0.5;
    return first + (last - first) * (scaled(curves_.x.sizes[value]) - low_) / (high_ - low_);
  }

 private:
  double scaled(double size) const { return is_log_ ? std::log2(size) : size; }

  SweepCurves const& curves_;
  bool is_log_ = false;
  double step_ = 1, bottom_ = 0, top_ = 1, low_ = 0, high_ = 0;
};

std::string tick_text(double value, SweepCurves const& curves) {
  return curves.is_ratio || value == 0 ? fmt::format("{:g}", value) : amount_text(value, curves.unit);
}

std::string axes_of(SweepCurves const& curves, SweepFrame const& frame) {
  std::string svg;
  constexpr auto kLeft = SweepFrame::kLeft, kRight = SweepFrame::kRight, kBottom = SweepFrame::kBottom;
  for (int i = 0; frame.bottom() + i * frame.step() <= frame.top() * (1 + 1e-9); ++i) {
    auto const value = frame.bottom() + i * frame.step();
    bool const is_one = curves.is_ratio && std::abs(value - 1) < 1e-9;
    svg += fmt::format("<path class=\"{}\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", is_one ? "one" : "grid", kLeft,
                       frame.y(value), kRight);
    svg += fmt::format("<text class=\"left\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", kLeft - 6,
                       frame.y(value) + 4, escaped(tick_text(value, curves)));
  }
  auto const number = curves.x.values.size();
  auto const every = (number + kXLabels - 1) / kXLabels;
  for (std::size_t i = 0; i < number; i += every) {
    auto const name = value_name(curves.x.values[i]);
    svg += fmt::format("<text class=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\"><title>{}</title>{}</text>\n",
                       frame.x(i), kBottom + 18 + (number > 6 && i / every % 2 == 1 ? 14 : 0), escaped(name),
                       escaped(cut_name(name, kLongestLabel)));
  }
  if (curves.has_means)
    svg += fmt::format("<text class=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">geometric mean</text>\n",
                       frame.x(number), kBottom + 18);
  svg += fmt::format("<text class=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", (kLeft + kRight) / 2,
                     kBottom + 54, escaped(shown(curves.x.key) + (frame.is_log() ? " (logarithmic)" : "")));
  return svg +
         fmt::format("<text class=\"middle\" transform=\"translate(14 {:.1f}) rotate(-90)\">{}</text>\n",
                     (SweepFrame::kTop + kBottom) / 2,
                     escaped(shown(curves.figure) + (curves.is_ratio ? " (ratio)" : "")));
}

// A circle, square, diamond or triangle.
std::string marker(std::size_t line, double x, double y, std::string const& title) {
  auto const named = title.empty() ? std::string("/>\n") : "><title>" + escaped(title) + "</title></path>\n";
  switch (line % 4) {
    case 0:
      return fmt::format("<path class=\"mark\" d=\"M{:.1f} {:.1f}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0\"", x - 4, y) +
             named;
    case 1:
      return fmt::format("<path class=\"mark\" d=\"M{:.1f} {:.1f}h7v7h-7z\"", x - 3.5, y - 3.5) + named;
    case 2:
      return fmt::format("<path class=\"mark\" d=\"M{:.1f} {:.1f}l5 5l-5 5l-5 -5z\"", x, y - 5) + named;
    default:
      return fmt::format("<path class=\"mark\" d=\"M{:.1f} {:.1f}l5 8h-10z\"", x, y - 5) + named;
  }
}

std::string drawn_line(SweepCurves const& curves, SweepFrame const& frame, std::size_t number) {
  auto const& line = curves.lines[number];
  auto const name = line_name(line);
  auto points = line.points;
  if (curves.has_means) points.push_back(line.mean);
  std::string path, bars, marks;
  bool is_open = false;
  for (std::size_t i = 0; i < points.size(); ++i) {
    auto const& point = points[i];
    bool const is_mean = i == curves.x.values.size();
    if ((point.is_empty() && point.runs != 0) || is_mean) is_open = false;
    if (point.is_empty()) continue;
    auto const x = frame.x(i), y = frame.y(point.mean);
    path += fmt::format("{}{:.1f} {:.1f}", is_open ? "L" : "M", x, y);
    is_open = true;
    if (point.smallest < point.largest)
      bars +=
          fmt::format("M{:.1f} {:.1f}V{:.1f}M{:.1f} {:.1f}h8M{:.1f} {:.1f}h8", x, frame.y(point.smallest),
                      frame.y(point.largest), x - 4, frame.y(point.smallest), x - 4, frame.y(point.largest));
    auto const where =
        is_mean ? "geometric mean" : shown(curves.x.key) + " = " + value_name(curves.x.values[i]);
    marks += marker(
        number, x, y,
        (name.empty() ? "" : name + ", ") + where + ": " + mean_text(point, curves.unit, curves.is_ratio));
  }
  auto svg = fmt::format("<g class=\"c{}\">\n", number);
  if (!path.empty()) svg += "<path class=\"line\" d=\"" + path + "\"/>\n";
  if (!bars.empty()) svg += "<path class=\"range\" d=\"" + bars + "\"/>\n";
  return svg + marks + "</g>\n";
}

// Above the picture, in the size of the page's text.
std::string legend(SweepCurves const& curves, std::size_t lines) {
  std::string html;
  for (std::size_t i = 0; i < lines; ++i) {
    auto const name = line_name(curves.lines[i]);
    if (name.empty()) continue;
    html += fmt::format(
                "<span><svg class=\"key\" viewBox=\"0 0 26 12\"><g class=\"c{}\"><path class=\"line\" "
                "d=\"M0 6H26\"/>",
                i) +
            marker(i, 13, 6, "") + "</g></svg> " + escaped(name) + "</span>\n";
  }
  return html.empty() ? "" : "<p class=\"legend\">" + html + "</p>\n";
}

// A cross on the axis for values of the key at which a line has an empty point.
std::string crosses(SweepCurves const& curves, SweepFrame const& frame, std::size_t lines) {
  std::string svg;
  for (std::size_t i = 0; i < curves.x.values.size(); ++i) {
    std::string reasons;
    for (std::size_t line = 0; line < lines; ++line) {
      auto const& point = curves.lines[line].points[i];
      if (!point.is_empty() || point.runs == 0) continue;
      auto const name = line_name(curves.lines[line]);
      reasons += (name.empty() ? "" : name + ": ") + one_line(point.reason) + "\n";
    }
    if (!reasons.empty())
      svg +=
          fmt::format("<path class=\"empty\" d=\"M{:.1f} {:.1f}l8 8m0 -8l-8 8\"><title>{}</title></path>\n",
                      frame.x(i) - 4, SweepFrame::kBottom - 4, escaped(reasons));
  }
  return svg;
}

std::string cell_with_reason(SweepMean const& mean, SweepCurves const& curves) {
  if (mean.is_empty()) return mean.runs == 0 ? "no run" : "- (" + one_line(mean.reason) + ")";
  return mean_text(mean, curves.unit, curves.is_ratio);
}

std::string values_table(SweepCurves const& curves) {
  std::vector<std::string> headings{""};
  for (auto const& value : curves.x.values) headings.push_back("#" + value_name(value));
  if (curves.has_means) headings.emplace_back("#geometric mean");
  HtmlTable table(headings);
  for (std::size_t i = 0; i < std::min(curves.lines.size(), kTableLines); ++i) {
    auto const& line = curves.lines[i];
    std::vector<std::string> cells{line_name(line)};
    for (auto const& point : line.points) cells.push_back(cell_with_reason(point, curves));
    if (curves.has_means) cells.push_back(cell_with_reason(line.mean, curves));
    table.add_row(cells);
  }
  return table.text();
}

// "speedup" of "speedup_smallest".
std::string ratio_of_column(results::SweepTable const& sweep, std::string const& column) {
  for (auto const& ratio : sweep.runs)
    if (ratio.role == "ratio" &&
        (column == ratio.name || column == ratio.name + "_smallest" || column == ratio.name + "_largest"))
      return ratio.name;
  return column;
}

std::string means_table(results::SweepTable const& sweep) {
  std::vector<std::string> headings;
  auto const is_error = [](results::SweepColumn const& c) { return c.name.ends_with("_error"); };
  // The speedup ahead of the ratios of other figures.
  std::vector<results::SweepColumn const*> columns;
  for (auto const& column : sweep.means)
    if (!is_error(column)) columns.push_back(&column);
  std::stable_partition(columns.begin(), columns.end(), [](auto const* column) {
    return column->role != "ratio" || column->name.starts_with("speedup");
  });
  for (auto const* column : columns)
    headings.push_back((column->role == "ratio" ? "#" : "") + shown(column->name));
  HtmlTable table(headings);
  for (std::size_t row = 0; row < std::min(analysis::rows_of(sweep.means), kTableLines); ++row) {
    std::vector<std::string> cells;
    std::size_t reasons_given = 0;
    for (auto const* column : columns) {
      auto const text = analysis::cell_text(*column, row);
      auto const* const numbers = std::get_if<std::vector<double>>(&column->values);
      auto const* const reasons =
          analysis::find_column(sweep.means, ratio_of_column(sweep, column->name) + "_error");
      if (column->role != "ratio" || numbers == nullptr)
        cells.push_back(value_name(text));
      else if (text.empty())
        cells.push_back(reasons == nullptr || reasons_given++ != 0
                            ? "-"
                            : "- (" + one_line(analysis::cell_text(*reasons, row)) + ")");
      else
        cells.push_back(figure_text((*numbers)[row], "1", true));
    }
    table.add_row(cells);
  }
  auto const* const what =
      std::ranges::count(sweep.runs, "ratio", &results::SweepColumn::role) > 1 ? "ratios" : "speedup";
  return "<h3>" + escaped(fmt::format("Geometric mean of the {} over {}", what, shown(sweep.mean_over))) +
         "</h3>\n" + table.text();
}

std::string caption(SweepCurves const& curves, bool has_seeds) {
  auto text = shown(curves.figure) +
              (curves.is_ratio ? " vs. " + one_line(curves.baseline) : ": " + one_line(curves.text)) +
              ", over " + shown(curves.x.key);
  if (!curves.lines.empty() && !curves.lines[0].others.empty()) {
    text += "; one line for each combination of ";
    for (auto const& [key, value] : curves.lines[0].others)
      text += (key == curves.lines[0].others[0].first ? "" : ", ") + shown(key);
  }
  text += ".";
  if (has_seeds) text += " Points are means over the seeds, bars are their range.";
  if (curves.lines.size() > kLines)
    text += fmt::format(" The first {} of {} lines.", kLines, curves.lines.size());
  return text;
}

}  // namespace

std::string sweep_section(results::SweepTable const& sweep) {
  std::string const begin = "<section class=\"sweep\" id=\"sweep\">\n<h2>Sweep</h2>\n", end = "</section>\n";
  auto const key = analysis::sweep_curve_key(sweep);
  if (key.empty()) return {};
  auto const curves = analysis::sweep_curves(sweep, key, analysis::main_figure(sweep));
  SweepFrame const frame(curves);
  auto const lines = std::min(curves.lines.size(), kLines);
  auto svg = fmt::format("<svg class=\"sweep\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\">\n",
                         SweepFrame::kPageWidth, SweepFrame::kPageHeight);
  svg += axes_of(curves, frame);
  for (std::size_t line = 0; line < lines; ++line) svg += drawn_line(curves, frame, line);
  svg += crosses(curves, frame, lines) + "</svg>\n";
  bool const has_seeds =
      key != analysis::kSweepSeed && analysis::find_column(sweep.runs, analysis::kSweepSeed) != nullptr;
  auto html = begin + "<p>" + escaped(caption(curves, has_seeds)) + "</p>\n" + legend(curves, lines) +
              "<div class=\"wide\">" + svg + "</div>\n" + folded("Values as a table", values_table(curves));
  bool const has_ratios = std::ranges::count(sweep.runs, "ratio", &results::SweepColumn::role) > 1;
  if (!sweep.means.empty() && (has_ratios || !curves.has_means)) html += means_table(sweep);
  return html + end;
}

}  // namespace farfault::cli
