// SPDX-License-Identifier: Apache-2.0
// Compact activity of every GPU: fractions of the GPU's highest value, as bytes in base64.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <iterator>
#include <span>
#include <unordered_map>

#include "columns.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/results/reading/walk.hpp"
#include "report_charts.hpp"
#include "report_parts.hpp"
#include "time_parts.hpp"

namespace farfault::analysis {
namespace {

constexpr std::string_view kOfSms = "sm_";  // prefix of the summary's figures before the statistic's name
constexpr std::size_t kMinTimes = 16;       // intervals of time
constexpr std::size_t kEnoughPoints = 200;  // intervals above which a second byte per value is worth more
                                            // than more intervals
constexpr std::size_t kExpectedRows = 40;   // matrices of a typical result
constexpr std::size_t kMaxLinkRows = 20'000;

std::string base64(std::string const& bytes) {
  constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t three = 0;
    auto const there = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t k = 0; k < 3; ++k)
      three = three << 8U | (k < there ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k) text += k <= there ? kLetters[three >> (18 - 6 * k) & 63U] : '=';
  }
  return text;
}

void add_bytes(std::string& to, std::uint32_t word, unsigned bytes) {
  for (unsigned k = 0; k < bytes; ++k) to += static_cast<char>(word >> (8 * k) & 255U);
}

std::string floats(std::vector<double> const& values) {
  std::string bytes;
  for (auto const v : values) {
    auto const one = static_cast<float>(v);
    std::uint32_t word = 0;
    std::memcpy(&word, &one, sizeof word);
    add_bytes(bytes, word, 4);
  }
  return base64(bytes);
}

class GpuRows {
 public:
  GpuRows(ReportSource const& source, Clocks& clocks) : source_(source), clocks_(clocks) {
    for (auto const& name : source.gpus) number_.emplace(name, number_.size());
    auto const rows = std::max<std::size_t>(1, source.gpus.size() * kExpectedRows);
    auto const letters = [&](std::size_t bytes) { return rows * bytes * 4 / 3; };
    bytes_ = source.size.gpu_bytes / letters(2) >= kEnoughPoints ? 2 : 1;
    points_ = std::clamp(source.size.gpu_bytes / letters(bytes_), kMinTimes, source.size.points);
  }

  Sampled sampled(std::string const& kind) const { return {source_.file, kind, points_}; }
  std::size_t gpus() const { return source_.gpus.size(); }
  std::size_t number_of(std::string const& gpu) const {
    auto const found = number_.find(gpu);
    return found == number_.end() ? gpus() : found->second;
  }

  // {clock, scale, values}. `names`: owner of each row; rows that belong to no GPU are omitted. Null if all
  // values are zero or missing.
  Json drawn(Sampled const& sampled, std::vector<std::string> const& names, Rows const& rows) {
    auto const intervals = sampled.ends().size();
    Rows of(gpus());
    for (std::size_t i = 0; i < names.size(); ++i)
      if (auto const gpu = number_of(names[i]); gpu < gpus()) of[gpu] = rows[i];
    std::vector<double> scales;
    std::string bytes;
    auto const none = bytes_ == 1 ? 255U : 65535U;
    bool nothing = true;
    for (auto const& row : of) {
      auto most = 0.0;
      for (auto const v : row)
        if (std::isfinite(v)) most = std::max(most, v);
      nothing = nothing && most == 0;
      // The reader's scale is rounded to float, so round here as well.
      auto const scale = static_cast<double>(static_cast<float>(most / (none - 1)));
      scales.push_back(scale);
      for (std::size_t k = 0; k < intervals; ++k) {
        auto const value = k < row.size() ? row[k] : kNone;
        auto const steps = !std::isfinite(value) ? none
                           : scale == 0          ? 0U
                                                 : static_cast<std::uint32_t>(std::clamp(
                                                       std::round(value / scale), 0.0, static_cast<double>(none - 1)));
        add_bytes(bytes, steps, bytes_);
      }
    }
    if (nothing) return {};
    return {{"clock", clocks_.number_of(sampled.ends())},
            {"bytes", bytes_},
            {"scale", floats(scales)},
            {"values", base64(bytes)}};
  }

 private:
  ReportSource const& source_;
  Clocks& clocks_;
  std::unordered_map<std::string, std::size_t> number_;
  unsigned bytes_ = 1;
  std::size_t points_ = 0;
};

Json charts_of_gpus(ReportSource const& source, GpuRows& gpus) {
  std::vector<std::pair<std::ptrdiff_t, Json>> list;
  for (auto const& kind : link_names(open_group(source.file, "timeseries"))) {
    if (kind.ends_with(".by_application")) continue;
    auto const sampled = gpus.sampled(kind);
    if (sampled.ends().empty() || sampled.instances().empty()) continue;
    auto const devices = devices_of(source, sampled);
    if (std::ranges::none_of(devices.names,
                             [&](auto const& name) { return gpus.number_of(name) < gpus.gpus(); }))
      continue;
    for (auto const& c : charts_of(kind, sampled)) {
      auto chart = gpus.drawn(sampled, devices.names, values_of(c, sampled, devices));
      if (chart.is_null()) continue;
      chart["id"] = c.id;
      chart["title"] = c.title;
      chart["units"] = units_of(c, sampled);
      list.emplace_back(std::ranges::find(charts(), c.id, &Chart::id) - charts().begin(), std::move(chart));
    }
  }
  std::ranges::stable_sort(list, {}, &std::pair<std::ptrdiff_t, Json>::first);
  auto all = Json::array();
  for (auto& [place, chart] : list) all.push_back(std::move(chart));
  return all;
}

// Number of SMs per GPU.
std::vector<double> sms_of(ReportSource const& source, GpuRows const& gpus) {
  std::vector<double> counts(gpus.gpus(), 0.0);
  if (!has(source.file, "timeseries/sm/instance")) return counts;
  for (auto const& path : Columns(source.file, "timeseries/sm", "instance").texts("instance"))
    if (auto const gpu = gpus.number_of(std::string(device_of(path, source.nodes))); gpu < counts.size())
      ++counts[gpu];
  return counts;
}

// Time of each part per time, divided by `whole` of its GPU.
Json parts_over_time(Sampled const& sampled, std::span<Named const> parts, std::vector<double> const& whole,
                     GpuRows& gpus) {
  auto list = Json::array();
  auto const& names = sampled.instances();
  std::vector<std::size_t> itself(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) itself[i] = i;
  for (auto const& [name, what] : parts) {
    std::string const metric = name + kOfSms.size();
    if (!sampled.has(metric)) continue;
    auto rows = sampled.grouped(metric, itself, names.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      auto const gpu = gpus.number_of(names[i]);
      auto const of = whole.empty() ? 1.0 : gpu < whole.size() ? std::max(1.0, whole[gpu]) : 1.0;
      for (std::size_t k = 0; k < rows[i].size(); ++k) rows[i][k] /= lasting(sampled.ends(), k) * of;
    }
    auto part = gpus.drawn(sampled, names, rows);
    if (part.is_null()) continue;
    part["what"] = what;
    list.push_back(std::move(part));
  }
  return list;
}

// In ps, from the summary.
Json totals_of(Columns const& summary, std::vector<std::string> const& names, std::span<Named const> parts,
               GpuRows const& gpus) {
  auto list = Json::array();
  for (auto const& part : parts) {
    if (!summary.has(part.name)) continue;
    auto const values = summary.numbers(part.name);
    std::vector<double> of(gpus.gpus(), 0.0);
    for (std::size_t i = 0; i < names.size(); ++i)
      if (auto const gpu = gpus.number_of(names[i]); gpu < of.size() && values[i] != UINT64_MAX)
        of[gpu] = static_cast<double>(values[i]);
    if (std::ranges::all_of(of, [](double v) { return v == 0; })) continue;
    list.push_back({{"what", part.what}, {"ps", floats(of)}});
  }
  return list;
}

// The link directions at GPUs: [GPU, other node, whether the GPU sends, bytes, packets, busy share of the
// run].
Json links_of_gpus(ReportSource const& source, GpuRows const& gpus) {
  if (!has(source.file, "tables/links")) return {};
  Columns const links(source.file, "tables/links", "row");
  auto const bytes = links.numbers("bytes"), packets = links.numbers("packets"),
             busy = links.numbers("busy_time");
  auto const from = links.texts("from"), to = links.texts("to");
  auto rows = Json::array(), nodes = Json::array();
  std::unordered_map<std::string, std::size_t> known;
  auto const end = static_cast<double>(std::max<std::uint64_t>(1, source.end_ps));
  for (std::size_t i = 0; i < from.size(); ++i)
    for (bool const sends : {true, false}) {
      auto const gpu = gpus.number_of(sends ? from[i] : to[i]);
      if (gpu == gpus.gpus() || rows.size() == kMaxLinkRows) continue;
      auto const& other = sends ? to[i] : from[i];
      auto const [node, is_new] = known.emplace(other, known.size());
      if (is_new) nodes.push_back(shown(other));
      auto const share = std::round(1e4 * static_cast<double>(busy[i]) / end) / 1e4;
      rows.push_back(Json::array({gpu, node->second, sends ? 1 : 0, bytes[i], packets[i], share}));
    }
  if (rows.empty()) return {};
  return {{"nodes", std::move(nodes)}, {"rows", std::move(rows)}};
}

}  // namespace

void add_gpus(ReportSource const& source, Clocks& clocks, Json& to) {
  if (source.gpus.size() < 2) return;  // a single GPU has its charts in the totals
  GpuRows gpus(source, clocks);
  auto names = Json::array();
  for (auto const& name : source.gpus) names.push_back(shown(name));
  Json all{{"names", std::move(names)}, {"charts", charts_of_gpus(source, gpus)}};
  if (has(source.file, "timeseries/sm.by_gpu")) {
    auto const sampled = gpus.sampled("sm.by_gpu");
    if (!sampled.ends().empty()) {
      all["stages"] = parts_over_time(sampled, kStages, {}, gpus);
      all["sms"] = parts_over_time(sampled, kSms, sms_of(source, gpus), gpus);
      all["rest"] = {{"what", std::end(kSms)[-1].what}};
    }
  }
  if (has(source.file, "summary/gpu/name")) {
    Columns const summary(source.file, "summary/gpu", "name");
    auto const rows = summary.texts("name");
    all["totals"] = {{"stages", totals_of(summary, rows, kStages, gpus)},
                     {"sms", totals_of(summary, rows, kSms, gpus)}};
  }
  auto links = links_of_gpus(source, gpus);
  if (!links.is_null()) all["links"] = std::move(links);
  to["gpus"] = std::move(all);
}

}  // namespace farfault::analysis
