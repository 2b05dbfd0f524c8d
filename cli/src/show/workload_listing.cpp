// SPDX-License-Identifier: Apache-2.0
// `farfault workloads`: names and texts, and the sizes of each workload with their cost.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "farfault/cli/listing.hpp"
#include "farfault/cli/progress.hpp"
#include "farfault/cli/readable.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/workloads/cost.hpp"
#include "listing_layout.hpp"

namespace farfault::cli {
namespace {

using workloads::SizeName;
using workloads::WorkloadInfo;

// The machine that costs refer to.
constexpr char const* kPreset = "paper-gmmu-bypass";
constexpr std::uint32_t kWarpWidth = 64, kLineBytes = 64;
// Rough figures for one core: rates of single workloads differ by a factor of ten.
constexpr double kAccessesPerSecond = 300'000, kStartSeconds = 0.3;

struct CostOfSize {
  workloads::WorkloadSize size;
  workloads::WorkloadCost cost;

  double seconds() const { return kStartSeconds + static_cast<double>(cost.accesses) / kAccessesPerSecond; }
};

workloads::WorkloadCost cost_of(WorkloadInfo const& workload, workloads::WorkloadSize const& size) {
  auto const builder = workload.make();
  ParamTable table;
  builder->describe(table);
  workloads::set_defaults(size, table);
  workloads::BuildContext context;
  context.warp_width = kWarpWidth;
  return workloads::cost_of(builder->build(context), kWarpWidth, kLineBytes);
}

// Reports which workload is built: each size is, and large graphs take seconds.
class BuildProgress {
 public:
  explicit BuildProgress(std::vector<WorkloadInfo> const& listed)
      : progress_(progress_on_stderr(ProgressMode::automatic)) {
    for (auto const& workload : listed) all_ += workload.sizes.size();
  }
  void next(WorkloadInfo const& workload, SizeName size) {
    progress_.report(static_cast<double>(built_++) / static_cast<double>(all_), [&](double) {
      return std::vector<std::string>{fmt::format("building {}, {}", workload.name, name_of(size))};
    });
  }
  void finish() { progress_.finish(); }

 private:
  Progress progress_;
  std::size_t all_ = 0, built_ = 0;
};

// The defaults of the parameters, then the workload's sizes. Empty if its defaults need an input file.
std::vector<CostOfSize> costs_of(WorkloadInfo const& workload, BuildProgress& progress) {
  std::vector<CostOfSize> all;
  for (auto const& size : workload.sizes) {
    progress.next(workload, size.name);
    all.push_back({size, cost_of(workload, size)});
  }
  workloads::WorkloadSize const defaults{SizeName::defaults, {}};
  auto const same = std::ranges::find_if(all, [](CostOfSize const& one) { return one.size.values.empty(); });
  try {
    auto const cost = same != all.end() ? same->cost : cost_of(workload, defaults);
    all.insert(all.begin(), {defaults, cost});
  } catch (UserError const&) {
    if (!all.empty()) throw;
  }
  return all;
}

std::string rounded_time(double seconds) {
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.0f} h", seconds / 3600);
}

std::string values_text(workloads::WorkloadSize const& size) {
  std::string text;
  for (auto const& [name, value] : size.values)
    text += (text.empty() ? "" : ", ") + fmt::format("{} = {}", name, value);
  return text.empty() ? "as default" : text;
}

void print_sizes(WorkloadInfo const& workload, std::size_t columns, std::ostream& out) {
  print_wrapped(out, workload.name + ": " + workload.text, 2, columns);
  BuildProgress progress({workload});
  auto const all = costs_of(workload, progress);
  progress.finish();
  if (all.empty()) {
    out << "\nNo sizes: the input determines the size.\n";
    return;
  }
  out << fmt::format("\n  {:<8}{:>10}{:>9}{:>10}{:>9}  {}\n", "Size", "Footprint", "Kernels", "Accesses",
                     "Time", "Parameters of workload." + workload.name);
  std::string source;
  for (auto const& one : all) {
    auto const values = one.size.name == SizeName::defaults ? std::string() : values_text(one.size);
    auto line = fmt::format("  {:<8}{:>10}{:>9}{:>10}{:>9}  {}", name_of(one.size.name),
                            fmt::format("{:.1f} MiB", static_cast<double>(one.cost.footprint) / 1048576),
                            one.cost.kernels, for_people(static_cast<double>(one.cost.accesses)),
                            rounded_time(one.seconds()), values);
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << "\n";
    if (!one.size.source.empty()) source = one.size.source;
  }
  out << "\n";
  if (!source.empty()) print_wrapped(out, "paper: " + source, 2, columns);
  print_wrapped(out,
                fmt::format("Time: estimated for one core and preset {}, at {} accesses/s", kPreset,
                            for_people(kAccessesPerSecond)),
                2, columns);
  auto const named =
      std::ranges::find_if(all, [](CostOfSize const& one) { return one.size.name != SizeName::defaults; });
  if (named != all.end())
    print_wrapped(out,
                  fmt::format("Example: farfault run {} --set workload.name={} --set workload.size={}",
                              kPreset, workload.name, name_of(named->size.name)),
                  2, columns);
}

using Json = nlohmann::ordered_json;

Json json_of(WorkloadInfo const& workload, BuildProgress& progress) {
  auto sizes = Json::array();
  for (auto const& one : costs_of(workload, progress)) {
    auto values = Json::object();
    for (auto const& [name, value] : one.size.values) values[name] = value;
    sizes.push_back({{"size", name_of(one.size.name)},
                     {"parameters", std::move(values)},
                     {"source", one.size.source},
                     {"footprint_bytes", one.cost.footprint},
                     {"kernels", one.cost.kernels},
                     {"instructions", one.cost.instructions},
                     {"accesses", one.cost.accesses},
                     {"estimated_seconds", one.seconds()}});
  }
  return {{"name", workload.name}, {"text", workload.text}, {"sizes", std::move(sizes)}};
}

}  // namespace

void list_workloads(std::vector<WorkloadInfo> const& workloads, ListingOptions const& options,
                    std::ostream& out) {
  std::vector<WorkloadInfo> listed;
  for (auto const& w : workloads)
    if (options.workload.empty() || w.name == options.workload) listed.push_back(w);
  if (listed.empty()) workloads::make(options.workload, workloads);  // throws the error for an unknown name
  if (options.json) {
    auto objects = Json::array();
    BuildProgress progress(listed);
    for (auto const& w : listed) objects.push_back(json_of(w, progress));
    progress.finish();
    out << Json{{"workloads", objects}} << "\n";
    return;
  }
  if (!options.workload.empty()) return print_sizes(listed.front(), options.columns, out);
  std::vector<ListedPair> pairs;
  for (auto const& w : listed) pairs.emplace_back(w.name, w.text);
  print_pairs(out, pairs, 2, options.columns);
}

}  // namespace farfault::cli
