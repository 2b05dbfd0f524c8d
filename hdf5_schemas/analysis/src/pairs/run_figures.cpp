// SPDX-License-Identifier: Apache-2.0
#include "run_figures.hpp"

#include <algorithm>
#include <map>

#include "explain_reading.hpp"
#include "explain_resources.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/results/reading/guard.hpp"
#include "farfault/results/reading/settings.hpp"
#include "kernels_on_gpus.hpp"
#include "resource_pack.hpp"

namespace farfault::analysis {
namespace {

constexpr auto kMissing = ~std::uint64_t{0};  // in the summary

std::string summary_name(std::size_t place) {
  return "sm_" + std::string(kSmFigures[place]);
}

void put_timeline(Pack& pack, HostTimeline const& line) {
  pack.put(line.kernels.size());
  for (auto const& k : line.kernels) {
    pack.put(k.name);
    for (auto const n : {k.launches, k.incomplete, k.on_gpus, k.shared}) pack.put(n);
  }
  for (auto const& place : line.gaps)
    for (auto const ps : place) pack.put(ps);
  for (auto const n : {line.unrecorded, line.launches, line.copies, line.allocations}) pack.put(n);
}

HostTimeline take_timeline(Pack& pack) {
  HostTimeline line;
  for (auto n = pack.number(); n != 0; --n) {
    auto& k = line.kernels.emplace_back(KernelUse{.name = pack.text()});
    for (auto* field : {&k.launches, &k.incomplete, &k.on_gpus, &k.shared}) *field = pack.number();
  }
  for (auto& place : line.gaps)
    for (auto& ps : place) ps = pack.number();
  for (auto* field : {&line.unrecorded, &line.launches, &line.copies, &line.allocations})
    *field = pack.number();
  return line;
}

void put_sm_figures(Pack& pack, std::vector<SmFigures> const& all) {
  pack.put(all.size());
  for (auto const& figures : all)
    for (std::size_t place = 0; place < kSmFigures.size(); ++place) pack.put(figures[place]);
}

std::vector<SmFigures> take_sm_figures(Pack& pack) {
  std::vector<SmFigures> all;
  for (auto n = pack.number(); n != 0; --n) {
    auto& figures = all.emplace_back();
    for (std::size_t place = 0; place < kSmFigures.size(); ++place) figures[place] = pack.number();
  }
  return all;
}

std::vector<SmFigures> kernels_of(ObjectId file, HostTimeline const& line) {
  std::vector<SmFigures> kernels(line.kernels.size());
  for_columns(file, "tables/kernels", kOfKernels, line.kernel_of_row.size(), column_of_kernels,
              [&](std::size_t place, std::vector<std::uint64_t> const& values) {
                for (std::size_t row = 0; row < values.size(); ++row)
                  kernels[line.kernel_of_row[row]][place] += values[row];
              });
  return kernels;
}

// Bytes of the direction of a link with the largest busy time, as in read_resources().
std::uint64_t bytes_of_busiest_link(ObjectId file) {
  std::string const table = "tables/links/";
  if (!has(file, table + "busy_time") || !has(file, table + "bytes")) return 0;
  auto const rows = shape_of_dataset(open_dataset(file, table + "busy_time")).rows();
  auto const busy = words(file, table + "busy_time", rows), bytes = words(file, table + "bytes", rows);
  if (rows == 0) return 0;
  return bytes[static_cast<std::size_t>(std::ranges::max_element(busy) - busy.begin())];
}

// The sum of the latencies of all links that packets crossed.
std::uint64_t latency_of_packets(ObjectId file) {
  std::string const table = "tables/links/", latencies = "topology/links/latency_ps";
  if (!has(file, table + "packets") || !has(file, table + "link") || !has(file, latencies)) return 0;
  auto const rows = shape_of_dataset(open_dataset(file, table + "packets")).rows();
  auto const packets = words(file, table + "packets", rows), link = words(file, table + "link", rows);
  auto const latency = words(file, latencies, shape_of_dataset(open_dataset(file, latencies)).rows());
  Amount sum;
  for (std::size_t row = 0; row < packets.size(); ++row)
    if (link[row] < latency.size())
      sum += scaled(Amount::of(packets[row]), {Amount::of(latency[link[row]]), Amount(1)});
  return sum.size();
}

void put_latencies(Pack& pack, FixedLatencies const& fixed) {
  pack.put(fixed.clock);
  for (auto const n : fixed.cycles) pack.put(n);
}

FixedLatencies take_latencies(Pack& pack) {
  FixedLatencies fixed;
  fixed.clock = pack.number();
  for (auto& n : fixed.cycles) n = pack.number();
  return fixed;
}

// Returns the names of the GPUs.
std::vector<std::string> put_gpus(Pack& pack, ObjectId file) {
  bool const recorded = has(file, "summary/gpu/name") && has(file, "summary/gpu/sm_time");
  auto const names = recorded ? texts(file, "summary/gpu/name") : std::vector<std::string>();
  std::vector<SmFigures> gpus(names.size());
  if (recorded)
    for_columns(file, "summary/gpu", kSmFigures.size(), names.size(), summary_name,
                [&](std::size_t place, std::vector<std::uint64_t> const& values) {
                  for (std::size_t gpu = 0; gpu < values.size(); ++gpu)
                    if (values[gpu] != kMissing) gpus[gpu][place] = values[gpu];
                });
  pack.put(names.size());
  for (auto const& name : names) pack.put(name);
  put_sm_figures(pack, gpus);
  return names;
}

std::string figures_in(ObjectId file) {
  check_is_result(file);
  auto const figures = figures_of_machine(file);
  auto const earlier = [](char const* what) {
    return UserError(std::string("it was written by an earlier version of Farfault, which did not record ") +
                     what);
  };
  if (!figures.contains("sm_access_time")) throw earlier("access times by stage");
  auto const of = [&](std::string const& name) {
    auto const found = figures.find(name);
    return found == figures.end() ? std::uint64_t{0} : found->second;
  };
  auto const root = open_group(file, "/");
  auto const end_reason = text_attribute(root, "end_reason");
  auto const line = read_timeline(file, of("end"), end_reason == "completed");
  if (!line) throw earlier("when kernels were on the GPUs");
  Pack pack;
  pack.put(end_reason);
  pack.put(text_attribute(root, "farfault_version"));
  pack.put(has(file, "engine/commit") ? scalar_text(file, "engine/commit") : std::string());
  pack.put(of("end"));
  put_timeline(pack, *line);
  put_sm_figures(pack, kernels_of(file, *line));
  SmFigures machine;
  for (std::size_t place = 0; place < kSmFigures.size(); ++place) machine[place] = of(summary_name(place));
  put_sm_figures(pack, {machine});
  auto const gpus = put_gpus(pack, file);
  put_kernels_on_gpus(pack, read_kernels_on_gpus(file, *line, gpus));
  pack.put(bytes_of_busiest_link(file));
  pack.put(latency_of_packets(file));
  put_latencies(pack, fixed_latencies(settings_of(file)));
  for (auto const& r : read_resources(file, figures)) put_resource(pack, r);
  pack.put(std::uint64_t{0});
  return pack.take();
}

}  // namespace

Amount RunFigures::on_gpus() const {
  Amount sum;
  for (auto const& k : timeline.kernels) sum += Amount::of(k.on_gpus);
  return sum;
}

RunFigures read_figures(std::string const& path) {
  check_readable(path);
  Pack pack(read_guarded(path, [&](ObjectId file) {
    try {
      return figures_in(file);
    } catch (UserError const& why) {
      throw UserError("'" + path + "' cannot be explained: " + why.what());
    }
  }));
  RunFigures run;
  run.path = path;
  run.end_reason = pack.text();
  run.farfault_version = pack.text();
  run.commit = pack.text();
  run.end = pack.number();
  run.timeline = take_timeline(pack);
  run.kernels = take_sm_figures(pack);
  run.machine = take_sm_figures(pack).at(0);
  for (auto n = pack.number(); n != 0; --n) run.gpu_names.push_back(pack.text());
  run.gpus = take_sm_figures(pack);
  run.kernels_on_gpus = take_kernels_on_gpus(pack);
  run.link_bytes = pack.number();
  run.link_latency = pack.number();
  run.latencies = take_latencies(pack);
  while (pack.number() != 0) run.resources.push_back(take_resource(pack));
  return run;
}

}  // namespace farfault::analysis
