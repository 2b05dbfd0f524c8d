// SPDX-License-Identifier: Apache-2.0
// Traffic of each direction of each link.
#include <algorithm>
#include <map>
#include <numeric>

#include "columns.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/results/reading/walk.hpp"
#include "report_parts.hpp"
#include "sampled.hpp"

namespace farfault::analysis {
namespace {

constexpr std::size_t kPoints = 48;  // intervals of time per link

// Utilization over time of each sender with one link. The statistics of a sender with several links are sums
// over them.
std::map<std::string, Json> use_over_time(ReportSource const& source, Clocks& clocks) {
  std::map<std::string, Json> all;
  for (auto const& kind : link_names(open_group(source.file, "timeseries"))) {
    if (kind.find('.') != std::string::npos) continue;
    if (!has(open_group(source.file, "timeseries/" + kind), "packets")) continue;
    Sampled const sampled(source.file, kind, kPoints);
    if (sampled.ends().empty() || !sampled.has("busy_time")) continue;
    std::vector<std::size_t> itself(sampled.instances().size());
    std::iota(itself.begin(), itself.end(), std::size_t{0});
    auto const rows = sampled.grouped("busy_time", itself, itself.size());
    auto const clock = clocks.number_of(sampled.ends());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      auto const sender = source.links_of.find(sampled.instances()[i]);
      if (sender == source.links_of.end() || sender->second != 1) continue;
      auto share = rows[i];
      for (std::size_t k = 0; k < share.size(); ++k)
        share[k] /= static_cast<double>(sampled.ends()[k] - (k == 0 ? 0 : sampled.ends()[k - 1]));
      auto row = drawn_row("", share);
      row["clock"] = clock;
      all.emplace(sender->first, std::move(row));
    }
  }
  return all;
}

}  // namespace

void add_links(ReportSource const& source, Clocks& clocks, Json& to) {
  if (!has(source.file, "tables/links")) return;
  Columns const links(source.file, "tables/links", "row");
  auto const number = links.numbers("link"), bytes = links.numbers("bytes"),
             packets = links.numbers("packets"), busy = links.numbers("busy_time");
  auto const from = links.texts("from"), to_node = links.texts("to"), sender = links.texts("sender");
  auto const over_time =
      number.size() <= source.size.links ? use_over_time(source, clocks) : std::map<std::string, Json>();
  auto list = Json::array();
  for (std::size_t i = 0; i < number.size(); ++i) {
    Json link{{"link", number[i]},
              {"from", shown(from[i])},
              {"to", shown(to_node[i])},
              {"bytes", bytes[i]},
              {"packets", packets[i]},
              {"busy",
               source.end_ps == 0 ? 0.0 : static_cast<double>(busy[i]) / static_cast<double>(source.end_ps)}};
    auto const found = over_time.find(sender[i]);
    if (found != over_time.end()) link["over_time"] = found->second;
    list.push_back(std::move(link));
  }
  to["link_use"] = std::move(list);
}

}  // namespace farfault::analysis
