// SPDX-License-Identifier: Apache-2.0
#include "explain_throughput.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>

#include "explain_reading.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/engine/units.hpp"
#include "farfault/results/reading/settings.hpp"

namespace farfault::analysis {
namespace {

using Settings = std::map<std::string, std::string>;

constexpr double kPicoseconds = 1e12;  // per second

// The value of a parameter; 0 if it is missing or has another form.
template <class Parse>
double value_of(Settings const& settings, std::string const& key, Parse parse) {
  auto const found = settings.find(key);
  if (found == settings.end()) return 0;
  std::string_view text = found->second;
  if (text.size() >= 2 && text.starts_with('"') && text.ends_with('"'))
    text = text.substr(1, text.size() - 2);
  try {
    return static_cast<double>(parse(text));
  } catch (UserError const&) {
    return 0;
  } catch (UnitError const&) {
    return 0;
  }
}

double bandwidth_of(Settings const& settings, std::string const& key) {
  return value_of(settings, key, [](std::string_view t) { return parse_bandwidth(t).bytes_per_second; });
}

double count_of(Settings const& settings, std::string const& key) {
  return value_of(settings, key, [](std::string_view t) {
    std::uint64_t n = 0;
    auto const [end, error] = std::from_chars(t.data(), t.data() + t.size(), n);
    return error == std::errc{} && end == t.data() + t.size() ? n : 0;
  });
}

// Bytes of each instance, and the peak of each in bytes per second.
struct Amounts {
  std::vector<std::string> names;
  std::vector<std::uint64_t> bytes;
  std::vector<double> peaks;

  void add(std::string name, std::uint64_t n, double peak) {
    names.push_back(std::move(name));
    bytes.push_back(n);
    peaks.push_back(peak);
  }
};

void add_to(std::vector<Throughput>& all, std::string what, std::string instances, Amounts const& of,
            std::uint64_t end) {
  Throughput t{.what = std::move(what), .instances = std::move(instances), .alike = of.names.size()};
  auto const seconds = static_cast<double>(end) / kPicoseconds;
  for (std::size_t i = 0; i < of.names.size(); ++i) {
    if (!(of.peaks[i] > 0)) return;
    t.bytes += of.bytes[i];
    t.peak += of.peaks[i];
    auto const share = static_cast<double>(of.bytes[i]) / seconds / of.peaks[i];
    if (t.busiest.empty() || share > t.share_of_busiest) {
      t.busiest = of.names[i];
      t.share_of_busiest = share;
    }
  }
  if (t.bytes == 0) return;
  t.rate = static_cast<double>(t.bytes) / seconds;
  all.push_back(std::move(t));
}

// The instances of a series: the sum of counters at the end of the run, times `unit` bytes.
std::optional<Amounts> amounts_of(ObjectId file, std::string const& series,
                                  std::vector<std::string> const& metrics, std::uint64_t unit, double peak) {
  Amounts amounts;
  for (auto const& metric : metrics) {
    auto const growth = growth_of(file, series, metric);
    if (!growth) return std::nullopt;
    auto const last = growth->last();
    if (amounts.names.empty())
      for (auto const& name : growth->names()) amounts.add(name, 0, peak);
    if (amounts.names.size() != last.size()) return std::nullopt;
    for (std::size_t i = 0; i < last.size(); ++i) amounts.bytes[i] += last[i] * unit;
  }
  return amounts;
}

// Both directions of the links of each kind, such as nvlink.
std::map<std::string, Amounts> amounts_of_links(ObjectId file) {
  std::map<std::string, Amounts> by_kind;
  for (auto const* column : {"link", "from", "to", "bytes", "bandwidth"})
    if (!has(file, std::string("tables/links/") + column)) return by_kind;
  if (!has(file, "topology/links/kind")) return by_kind;
  auto const kinds = texts(file, "topology/links/kind");
  auto const from = texts(file, "tables/links/from"), to = texts(file, "tables/links/to");
  auto const column = [&](std::string const& name) {
    return words(file, "tables/links/" + name, from.size());
  };
  auto const link = column("link"), bytes = column("bytes"), bandwidth = column("bandwidth");
  if (to.size() != from.size()) throw Hdf5Failure("the columns of tables/links do not match");
  for (std::size_t i = 0; i < from.size(); ++i)
    if (link[i] < kinds.size())
      by_kind[kinds[link[i]]].add(from[i] + " to " + to[i], bytes[i], static_cast<double>(bandwidth[i]));
  return by_kind;
}

// A damaged file may have any amount.
std::uint64_t rounded(double x) {
  return static_cast<std::uint64_t>(std::llround(std::clamp(x, 0.0, 9e18)));
}

}  // namespace

std::vector<Throughput> read_throughputs(ObjectId file, std::uint64_t end) {
  std::vector<Throughput> all;
  if (end == 0) return all;
  auto const settings = settings_of(file);
  auto const add = [&](std::string const& what, std::string const& instances,
                       std::optional<Amounts> const& amounts) {
    if (amounts) add_to(all, what, instances, *amounts, end);
  };
  add("DRAM", "channels",
      amounts_of(file, "dram", {"bytes"}, 1, bandwidth_of(settings, "gpu.dram.bandwidth")));
  // A request of the L2 cache takes a look-up port for a cycle and has a line at most.
  auto const line = count_of(settings, "gpu.line_bytes");
  auto const clock =
      value_of(settings, "gpu.clock", [](std::string_view t) { return parse_frequency(t).hertz; });
  add("L2 cache", "slices",
      amounts_of(file, "l2_slice", {"reads", "writes"}, static_cast<std::uint64_t>(line),
                 line * clock * count_of(settings, "gpu.l2_cache.ports")));
  add("CPU DRAM", "channels",
      amounts_of(file, "cpu_dram", {"bytes"}, 1, bandwidth_of(settings, "cpu.dram.bandwidth")));
  for (auto const& [kind, amounts] : amounts_of_links(file))
    add_to(all, kind + " links", "directions", amounts, end);
  return all;
}

void put_throughputs(Pack& pack, std::vector<Throughput> const& all) {
  pack.put(std::uint64_t{all.size()});
  for (auto const& t : all) {
    pack.put(t.what);
    pack.put(t.instances);
    pack.put(t.busiest);
    pack.put(t.alike);
    pack.put(t.bytes);
    pack.put(rounded(t.rate));
    pack.put(rounded(t.peak));
    pack.put(rounded(1e6 * t.share_of_busiest));
  }
}

std::vector<Throughput> take_throughputs(Pack& pack) {
  std::vector<Throughput> all;
  for (auto n = pack.number(); n != 0; --n) {
    auto& t = all.emplace_back();
    for (auto* text : {&t.what, &t.instances, &t.busiest}) *text = pack.text();
    t.alike = pack.number();
    t.bytes = pack.number();
    t.rate = static_cast<double>(pack.number());
    t.peak = static_cast<double>(pack.number());
    t.share_of_busiest = static_cast<double>(pack.number()) / 1e6;
  }
  return all;
}

nlohmann::ordered_json json_of(std::vector<Throughput> const& all) {
  auto list = nlohmann::ordered_json::array();
  for (auto const& t : all)
    list.push_back({{"what", t.what},
                    {"instances", t.instances},
                    {"alike", t.alike},
                    {"bytes", t.bytes},
                    {"bytes_per_second", t.rate},
                    {"peak_bytes_per_second", t.peak},
                    {"share_of_peak", t.share()},
                    {"busiest", t.busiest},
                    {"busiest_share_of_peak", t.share_of_busiest}});
  return list;
}

}  // namespace farfault::analysis
