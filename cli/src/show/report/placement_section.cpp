// SPDX-License-Identifier: Apache-2.0
// Page placement of each buffer at the end of a run: a row per buffer, a cell per device.
#include <fmt/format.h>

#include <algorithm>

#include "amounts.hpp"
#include "farfault/engine/error.hpp"
#include "html.hpp"
#include "sections.hpp"

namespace farfault::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kWidth = 960;
constexpr double kLeft = 190;  // left edge of the cells
constexpr double kRow = 20;
constexpr double kTop = 18;
constexpr double kWidest = 96;        // cell
constexpr double kInside = 44;        // minimum width of a cell that shows its share
constexpr std::size_t kLongest = 28;  // longest buffer name that is not cut
constexpr std::size_t kNamed = 6;     // devices per row of the table

double share_of(Json const& buffer, std::size_t device) {
  auto const all = buffer["all"].get<double>();
  return all > 0 ? buffer["pages"][device].get<double>() / all : 0.0;
}

std::string cut(std::string const& text, std::size_t most) {
  if (text.size() <= most) return text;
  return std::string(first_characters(text, most - 3)) + "...";
}

std::string picture(Json const& placement) {
  auto const& devices = placement["devices"];
  auto const& buffers = placement["buffers"];
  auto const wide = std::min(kWidest, (kWidth - kLeft) / static_cast<double>(devices.size()));
  auto svg = fmt::format("<svg class=\"placement\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\">\n", kWidth,
                         kTop + kRow * static_cast<double>(buffers.size()) + 4);
  auto const every = static_cast<std::size_t>(std::max(1.0, 80 / wide + 0.99));
  for (std::size_t d = 0; d < devices.size(); d += every)
    svg += fmt::format("<text x=\"{:.1f}\" y=\"12\">{}</text>\n", kLeft + wide * static_cast<double>(d),
                       escaped(cut(devices[d].get<std::string>(), 13)));
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    auto const& buffer = buffers[b];
    auto const y = kTop + kRow * static_cast<double>(b);
    auto const name = buffer["name"].get<std::string>();
    svg += fmt::format("<text x=\"0\" y=\"{:.1f}\"><title>{}</title>{}</text>\n", y + 14, escaped(name),
                       escaped(cut(name, kLongest)));
    for (std::size_t d = 0; d < devices.size(); ++d) {
      auto const share = share_of(buffer, d);
      auto const x = kLeft + wide * static_cast<double>(d);
      svg += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\"{}><title>{}</title></rect>\n", x, y,
          std::max(0.5, wide > 6 ? wide - 1 : wide), kRow - 2,
          share > 0 ? fmt::format(" class=\"some\" fill-opacity=\"{:.2f}\"", 0.12 + 0.88 * share) : "",
          escaped(fmt::format("{} on {}: {} pages, {}", name, devices[d].get<std::string>(),
                              amount_text(buffer["pages"][d].get<double>(), "1"), share_text(share))));
      if (share > 0 && wide >= kInside)
        svg += fmt::format("<text class=\"upon\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x + wide / 2,
                           y + 13.5, escaped(share_text(share)));
    }
  }
  return svg + "</svg>\n";
}

}  // namespace

std::string placement_section(Json const& placement) {
  auto const& devices = placement["devices"];
  HtmlTable table({"buffer", "#pages", "share by device"});
  for (auto const& buffer : placement["buffers"]) {
    std::vector<std::size_t> order;
    for (std::size_t d = 0; d < devices.size(); ++d)
      if (buffer["pages"][d].get<double>() > 0) order.push_back(d);
    std::ranges::stable_sort(
        order, [&](std::size_t a, std::size_t b) { return share_of(buffer, a) > share_of(buffer, b); });
    std::string where;
    for (std::size_t i = 0; i < std::min(order.size(), kNamed); ++i)
      where += (i == 0 ? "" : ", ") + devices[order[i]].get<std::string>() + " " +
               share_text(share_of(buffer, order[i]));
    if (order.size() > kNamed) where += fmt::format(" and {} more", order.size() - kNamed);
    table.add_row({buffer["name"].get<std::string>(), amount_text(buffer["all"].get<double>(), "1"), where});
  }
  auto const shown = placement["buffers"].size(), rows = placement["rows"].get<std::size_t>();
  auto const per_row = placement["per_row"].get<std::size_t>();
  std::string hint = "Each cell is the share of a buffer's pages on a device at the end of the run.";
  if (per_row > 1) hint += fmt::format(" Each cell covers {} devices.", per_row);
  if (shown < rows) hint += fmt::format(" The {} largest of {} buffers.", shown, rows);
  return "<p class=\"hint\">" + escaped(hint) + "</p>\n<div class=\"wide\">" + picture(placement) +
         "</div>\n" + folded("Page placement as a table", table.text());
}

}  // namespace farfault::cli
