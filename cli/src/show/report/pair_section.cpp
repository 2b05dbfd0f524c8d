// SPDX-License-Identifier: Apache-2.0
// Two runs side by side: access time by stage, SM activity, kernels and links, each with the difference B -
// A.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "amounts.hpp"
#include "farfault/analysis/explain.hpp"
#include "farfault/engine/error.hpp"
#include "html.hpp"
#include "sections.hpp"
#include "show/pair_phrases.hpp"

namespace farfault::cli {
namespace {

using analysis::Explanation;
using analysis::TimePart;
using PairJson = nlohmann::ordered_json;

constexpr std::size_t kPairRows = 15;  // of a table

// A value of each run; nullopt: the run does not have it.
struct PairedValue {
  std::string name;
  std::optional<double> a, b;

  double change() const { return b.value_or(0) - a.value_or(0); }
  double larger() const { return std::max(a.value_or(0), b.value_or(0)); }
};

std::string shown_value(std::optional<double> value, std::string const& unit) {
  return value ? figure_text(*value, unit) : "-";
}

std::string bar_of(std::optional<double> value, double most) {
  return fmt::format("{:.4f}", most > 0 ? value.value_or(0) / most : 0.0);
}

std::string signed_bar_of(double change, double most) {
  return fmt::format("{:.4f}", most > 0 ? change / most : 0.0);
}

// Parts of both runs by name, each scaled, the largest first.
std::vector<PairedValue> paired_parts(std::vector<TimePart> const& a, double a_scale,
                                      std::vector<TimePart> const& b, double b_scale) {
  std::vector<PairedValue> all;
  auto const entry = [&](std::string const& what) -> PairedValue& {
    auto const found = std::ranges::find(all, what, &PairedValue::name);
    return found == all.end() ? all.emplace_back(PairedValue{what, {}, {}}) : *found;
  };
  for (auto const& p : a) entry(p.what).a = a_scale * static_cast<double>(p.ps);
  for (auto const& p : b) entry(p.what).b = b_scale * static_cast<double>(p.ps);
  std::erase_if(all, [](PairedValue const& v) { return v.larger() == 0; });
  std::ranges::stable_sort(all, std::greater<>{}, &PairedValue::larger);
  return all;
}

double per(std::uint64_t count) {
  return count == 0 ? 0.0 : 1.0 / static_cast<double>(count);
}

std::vector<PairedValue> paired_stages(Explanation const& a, Explanation const& b) {
  return paired_parts(a.stages, per(a.accesses), b.stages, per(b.accesses));
}

// Time per SM: the times of all SMs add up to SMs * end.
std::vector<PairedValue> paired_sms(Explanation const& a, Explanation const& b) {
  return paired_parts(a.sms, static_cast<double>(a.end_ps) * per(a.sm_ps), b.sms,
                      static_cast<double>(b.end_ps) * per(b.sm_ps));
}

std::string parts_pair_table(char const* heading, std::vector<PairedValue> const& parts) {
  if (parts.empty()) return {};
  double most = 0, most_change = 0;
  for (auto const& p : parts) {
    most = std::max(most, p.larger());
    most_change = std::max(most_change, std::abs(p.change()));
  }
  HtmlTable table({heading, "#A", "|", "#B", "|", "#B - A", "~"});
  for (auto const& p : parts)
    table.add_row({p.name, shown_value(p.a, "ps"), bar_of(p.a, most), shown_value(p.b, "ps"),
                   bar_of(p.b, most), signed_time(std::llround(p.change())),
                   signed_bar_of(p.change(), most_change)});
  return table.text();
}

struct PairedKernel {
  PairedValue time;
  std::uint64_t a_launches = 0, b_launches = 0;
};

std::string kernels_pair_table(Explanation const& a, Explanation const& b) {
  std::map<std::string, PairedKernel> by_name;
  for (auto const& k : a.kernels) {
    by_name[k.name].time.a = static_cast<double>(k.ps);
    by_name[k.name].a_launches = k.launches;
  }
  for (auto const& k : b.kernels) {
    by_name[k.name].time.b = static_cast<double>(k.ps);
    by_name[k.name].b_launches = k.launches;
  }
  if (by_name.empty()) return {};
  std::vector<PairedKernel> all;
  double most_change = 0;
  for (auto& [name, kernel] : by_name) {
    kernel.time.name = name;
    most_change = std::max(most_change, std::abs(kernel.time.change()));
    all.push_back(kernel);
  }
  std::ranges::stable_sort(all, [](PairedKernel const& x, PairedKernel const& y) {
    return std::abs(x.time.change()) > std::abs(y.time.change());
  });
  HtmlTable table({"kernel", "#launches in A", "#in B", "#time in A", "#in B", "#B - A", "~"});
  double rest = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto const& k = all[i];
    if (i >= kPairRows) {
      rest += k.time.change();
      continue;
    }
    table.add_row({shown(k.time.name), k.time.a ? amount_text(static_cast<double>(k.a_launches), "1") : "-",
                   k.time.b ? amount_text(static_cast<double>(k.b_launches), "1") : "-",
                   shown_value(k.time.a, "ps"), shown_value(k.time.b, "ps"),
                   signed_time(std::llround(k.time.change())), signed_bar_of(k.time.change(), most_change)});
  }
  if (all.size() > kPairRows)
    table.add_row({fmt::format("{} others", all.size() - kPairRows), "", "", "", "",
                   signed_time(std::llround(rest)),
                   signed_bar_of(std::clamp(rest, -most_change, most_change), most_change)});
  bool const is_cut = a.kernel_names > a.kernels.size() || b.kernel_names > b.kernels.size();
  return "<h4>Kernels by name, the largest change first</h4>\n" + table.text() +
         (is_cut ? fmt::format("<p class=\"hint\">Of each run, the {} names with the longest time; A has {} "
                               "names, B {}.</p>\n",
                               analysis::kMaxKernels, a.kernel_names, b.kernel_names)
                 : "");
}

struct PairedLink {
  std::string from, to;
  PairedValue busy, bytes;
};

std::string links_pair_table(PairJson const& a, PairJson const& b) {
  std::map<std::pair<std::string, std::string>, PairedLink> by_ends;
  auto const read = [&](PairJson const& data, std::optional<double> PairedValue::*of) {
    if (!data.contains("link_use")) return;
    for (auto const& use : data["link_use"]) {
      auto const from = use["from"].get<std::string>(), to = use["to"].get<std::string>();
      auto& link = by_ends[{from, to}];
      link.from = from;
      link.to = to;
      // Parallel links between two nodes: the busiest, and their sum of bytes.
      link.busy.*of = std::max((link.busy.*of).value_or(0), use["busy"].get<double>());
      link.bytes.*of = (link.bytes.*of).value_or(0) + use["bytes"].get<double>();
    }
  };
  read(a, &PairedValue::a);
  read(b, &PairedValue::b);
  std::vector<PairedLink> all;
  double most = 0, most_change = 0;
  for (auto& [ends, link] : by_ends) {
    if (link.busy.larger() == 0) continue;
    most = std::max(most, link.busy.larger());
    most_change = std::max(most_change, std::abs(link.busy.change()));
    all.push_back(link);
  }
  if (all.empty()) return {};
  std::ranges::stable_sort(all, [](PairedLink const& x, PairedLink const& y) {
    return std::abs(x.busy.change()) > std::abs(y.busy.change());
  });
  HtmlTable table({"link from", "to", "#busy in A", "|", "#in B", "|", "#B - A", "~", "#sent in A", "#in B"});
  for (std::size_t i = 0; i < std::min(all.size(), kPairRows); ++i) {
    auto const& l = all[i];
    auto const share = [](std::optional<double> v) { return v ? share_text(*v) : std::string("-"); };
    auto const bytes = [](std::optional<double> v) { return v ? amount_text(*v, "byte") : std::string("-"); };
    table.add_row({l.from, l.to, share(l.busy.a), bar_of(l.busy.a, most), share(l.busy.b),
                   bar_of(l.busy.b, most), fmt::format("{:+.1f}%", 100 * l.busy.change()),
                   signed_bar_of(l.busy.change(), most_change), bytes(l.bytes.a), bytes(l.bytes.b)});
  }
  return "<h4>Utilization of links, by direction, the largest change first</h4>\n" + table.text() +
         (all.size() > kPairRows ? fmt::format("<p class=\"hint\">{} of {} directions with traffic.</p>\n",
                                               kPairRows, all.size())
                                 : "");
}

PairJson drawn_parts(std::vector<PairedValue> const& parts) {
  auto list = PairJson::array();
  for (auto const& p : parts)
    list.push_back({{"what", p.name}, {"a", p.a.value_or(0)}, {"b", p.b.value_or(0)}});
  return list;
}

}  // namespace

PairedSection pair_section(PairedPage const& pair) {
  try {
    auto const a = analysis::explain(pair.a_path), b = analysis::explain(pair.b_path);
    auto const stages = paired_stages(a, b), sms = paired_sms(a, b);
    return {"<div class=\"live\" data-draw=\"pair\"></div>\n" +
                parts_pair_table("access time by stage, mean per access", stages) +
                parts_pair_table("SM activity, mean time per SM", sms) + kernels_pair_table(a, b) +
                links_pair_table(pair.a, pair.b),
            {{"stages", drawn_parts(stages)}, {"sms", drawn_parts(sms)}}};
  } catch (UserError const& why) {
    return {"<p>" + escaped(why.what()) + "</p>\n", PairJson::object()};
  }
}

}  // namespace farfault::cli
