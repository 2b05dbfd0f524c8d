// SPDX-License-Identifier: Apache-2.0
#include "machine_picture.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "html.hpp"
#include "machine_graph.hpp"

namespace farfault::cli {
namespace {

constexpr double kNodeHeight = 18;
constexpr double kApart = 1.6;   // distance of a direction from the middle of the link
constexpr double kLetter = 6.1;  // width, at the size of labels

std::string colour_of(std::optional<double> busy) {
  if (!busy) return "#d5d8dd";
  auto const& colours = use_colours();
  auto const step = std::lround(std::clamp(*busy, 0.0, 1.0) * static_cast<double>(colours.size() - 1));
  return colours[static_cast<std::size_t>(step)];
}

std::string path_of(DrawnNode const& a, DrawnNode const& b) {
  auto const dx = b.x - a.x, dy = b.y - a.y;
  auto const length = std::max(1.0, std::hypot(dx, dy));
  auto const ox = -dy / length * kApart, oy = dx / length * kApart;
  if (a.tier != b.tier)
    return fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}", a.x + ox, a.y + oy, b.x + ox, b.y + oy);
  // A link within a tier: a bow below it.
  auto const bow = 2 * std::min(75.0, 16 + 0.13 * std::abs(dx)) + (dx > 0 ? kApart : -kApart) * 2;
  return fmt::format("M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}", a.x, a.y, (a.x + b.x) / 2,
                     (a.y + b.y) / 2 + bow, b.x, b.y);
}

std::string class_of(std::string const& kind) {
  for (auto const* known : {"gpu", "cpu", "nic", "machine"})
    if (kind == known) return known;
  return "switch";
}

std::string number_at_end(std::string const& label) {
  return label.substr(label.find_last_not_of("0123456789") + 1);
}

// A label that fits. A longer label is reduced to its numbers: "12" for "gpu12", "0-5" for "m0 ... m5",
// "102+" for "m102 ... m107". Empty if numbers would not identify it, as for "leaf30 ... spine0".
std::string shortened(std::string const& label, double width) {
  auto const letters = static_cast<std::size_t>(std::max(0.0, (width - 2) / kLetter));
  if (label.size() <= letters) return label;
  constexpr std::string_view kTo = " ... ";
  auto const group = label.find(kTo);
  if (group == std::string::npos) {
    auto const number = number_at_end(label);
    return number.size() <= letters ? number : std::string();
  }
  auto const from = label.substr(0, group), to = label.substr(group + kTo.size());
  auto const first = number_at_end(from), last = number_at_end(to);
  if (from.substr(0, from.size() - first.size()) != to.substr(0, to.size() - last.size())) return {};
  for (auto const& numbers : {first + "-" + last, first + "+"})
    if (numbers.size() <= letters) return numbers;
  return {};
}

}  // namespace

std::vector<std::string> const& use_colours() {
  static std::vector<std::string> const all{"#c3cad6", "#a9c3dc", "#8ebce0", "#7cb5cf", "#8cbf9f", "#b9c66b",
                                            "#e6c445", "#efa63b", "#ee8234", "#dd5a32", "#b71f33"};
  return all;
}

nlohmann::ordered_json picture_use(nlohmann::ordered_json const& run) {
  return machine_graph(run).over_time;
}

std::string machine_picture(nlohmann::ordered_json const& run) {
  auto const graph = machine_graph(run);
  auto svg = fmt::format("<svg class=\"machine\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\">\n", graph.width,
                         graph.height);
  for (auto const& link : graph.links) {
    svg += fmt::format("<path d=\"{}\" stroke=\"{}\"", path_of(graph.nodes[link.from], graph.nodes[link.to]),
                       colour_of(link.busy));
    if (link.use) svg += fmt::format(" data-use=\"{}\"", *link.use);
    svg += "><title>" + escaped(link.text) + "</title></path>\n";
  }
  for (auto const& node : graph.nodes) {
    svg += fmt::format(
        "<g class=\"{}\"{}><title>{}</title><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\" "
        "rx=\"3\"/>",
        class_of(node.kind),
        node.gpus.empty() ? "" : fmt::format(" data-gpus=\"{}\"", fmt::join(node.gpus, ",")),
        escaped(node.text), node.x - node.width / 2, node.y - kNodeHeight / 2, node.width, kNodeHeight);
    auto const label = shortened(node.label, node.width);
    if (!label.empty())
      svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", node.x, node.y + 4, escaped(label));
    svg += "</g>\n";
  }
  return svg + "</svg>\n";
}

}  // namespace farfault::cli
