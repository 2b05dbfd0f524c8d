// SPDX-License-Identifier: Apache-2.0
#include "summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "farfault/cli/readable.hpp"
#include "process/counted.hpp"

namespace farfault::cli {

namespace {

std::string percent(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "none";
  return fmt::format("{:.1f}%", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string count(std::uint64_t n) {
  return for_people(static_cast<double>(n));
}

std::string mebibytes(std::uint64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / 1048576);
}

// "15 SMs of 2 GPUs"; empty for an application on the whole machine.
std::string place_of(Application const& application) {
  auto const sms = application.sms.empty() ? std::string() : counted(application.sms.size(), "SM");
  auto const gpus = application.gpus.empty() ? std::string() : counted(application.gpus.size(), "GPU");
  if (gpus.empty()) return sms.empty() ? "" : ", " + sms + " of each GPU";
  return ", " + (sms.empty() ? gpus : sms + " of " + gpus);
}

// The times of SMs add up to the time of all SMs; the rest is time without a warp.
void add_sm_times(Sampler const& sampler, RunFacts const& facts, std::vector<results::SummaryRow>& rows) {
  constexpr std::string_view kCounted[] = {"active_time",           "memory_stall_time", "fault_stall_time",
                                           "load_store_stall_time", "scalar_stall_time", "barrier_stall_time",
                                           "fetch_stall_time",      "stopped_time"};
  auto const& groups = sampler.groups();
  auto const sm =
      static_cast<std::size_t>(std::ranges::find(groups, "sm", &SeriesGroup::kind) - groups.begin());
  if (sm == groups.size()) return;
  auto time = sampler.instances_by_gpu(sm, facts.gpus);
  for (auto& t : time) t *= count_of(facts.end);
  auto idle = time;
  for (std::size_t k = 0; k < groups[sm].stats.size(); ++k) {
    if (std::ranges::find(kCounted, groups[sm].stats[k].name) == std::end(kCounted)) continue;
    auto const spent = sampler.by_gpu(sm, k, facts.gpus);
    for (std::uint32_t gpu = 0; gpu < facts.gpus; ++gpu) idle[gpu] -= std::min(idle[gpu], spent[gpu]);
  }
  auto const add = [&](std::string const& scope, std::string const& name, std::uint64_t all,
                       std::uint64_t rest) {
    rows.push_back({.scope = scope,
                    .name = name,
                    .metric = "sm_time",
                    .unit = "ps",
                    .text = "Simulated time, summed over all SMs",
                    .value = all});
    rows.push_back({.scope = scope,
                    .name = name,
                    .metric = "sm_idle_time",
                    .unit = "ps",
                    .text = "SM time without a warp: the part of sm_time outside active_time, the stall "
                            "times and stopped_time",
                    .value = rest});
  };
  add("machine", "machine", std::accumulate(time.begin(), time.end(), std::uint64_t{0}),
      std::accumulate(idle.begin(), idle.end(), std::uint64_t{0}));
  for (std::uint32_t gpu = 0; gpu < facts.gpus; ++gpu) add("gpu", facts.gpu_names[gpu], time[gpu], idle[gpu]);
}

}  // namespace

std::vector<results::SummaryRow> summary_rows(Sampler const& sampler, RunFacts const& facts) {
  std::vector<results::SummaryRow> rows;
  auto add = [&](std::string const& scope, std::string const& name, std::string const& metric,
                 std::string const& unit, std::string const& text, std::uint64_t value) {
    rows.push_back(
        {.scope = scope, .name = name, .metric = metric, .unit = unit, .text = text, .value = value});
  };
  auto add_stat = [&](std::string const& scope, std::string const& name, std::string_view kind,
                      StatInfo const& stat, std::uint64_t value) {
    rows.push_back({.scope = scope,
                    .name = name,
                    .metric = fmt::format("{}_{}", kind, stat.name),
                    .unit = std::string(stat.unit),
                    .text = fmt::format("{} ({}, total)", stat.text, kind),
                    .value = value});
  };
  auto span = [&](std::string const& scope, std::string const& name, Time start, Time end) {
    if (start == Time::max()) start = Time{};
    add(scope, name, "start", "ps", "Simulated time of the first launch", count_of(start));
    add(scope, name, "end", "ps",
        scope == "machine" || facts.applications.count() == 1
            ? "Simulated time of the last event"
            : "Completion time of the last kernel at the host. Unfinished application: time of the last "
              "event",
        count_of(end));
    add(scope, name, "cycles", "cycle", "GPU clock cycles from start to end",
        facts.clock.edge_at_or_after(end) - facts.clock.edge_at_or_after(start));
  };
  span("machine", "machine", facts.start(), facts.end);
  auto const is_total = [](StatInfo const& stat) {
    return stat.kind == StatKind::counter || stat.in_summary;
  };
  for (auto const& group : sampler.groups())
    for (auto const& stat : group.stats)
      if (is_total(stat) && group.applications.empty())
        add_stat("machine", "machine", group.kind, stat, sampler.total(group.kind, stat.name));
  bool const several = facts.applications.count() > 1;
  for (std::uint32_t a = 0; a < facts.applications.count(); ++a) {
    auto const& application = facts.applications[a];
    auto const& name = application.name;
    auto const of_it = [&](std::string const& kind, std::string const& stat) {
      return several ? sampler.total_of(name, kind + ".by_application", stat) : sampler.total(kind, stat);
    };
    span("application", name, facts.spans[a].start, several ? facts.spans[a].end : facts.end);
    add("application", name, "kernels", "count", "Completed kernels", of_it("host", "kernels"));
    add("application", name, "kernels_started", "count", "Started kernels, completed or not",
        facts.spans[a].kernels_started);
    add("application", name, "footprint", "bytes", "Total size of the buffers",
        application.workload->footprint() * facts.instances);
    add("application", name, "instructions", "count", "Warp instructions issued",
        of_it("sm", "instructions"));
    for (auto const& group : sampler.groups()) {
      if (group.applications.empty()) continue;
      auto const kind = group.kind.substr(0, group.kind.rfind('.'));
      for (auto const& stat : group.stats)
        add_stat("application", name, kind, stat, sampler.total_of(name, group.kind, stat.name));
    }
  }
  for (std::size_t g = 0; g < sampler.groups().size(); ++g) {
    auto const& group = sampler.groups()[g];
    if (!sampler.is_of_gpus(g) || !group.applications.empty()) continue;
    for (std::size_t k = 0; k < group.stats.size(); ++k) {
      auto const& stat = group.stats[k];
      if (!is_total(stat)) continue;
      auto const sums = sampler.by_gpu(g, k, facts.gpus);
      for (std::uint32_t gpu = 0; gpu < facts.gpus; ++gpu)
        add_stat("gpu", facts.gpu_names[gpu], group.kind, stat, sums[gpu]);
    }
  }
  add_sm_times(sampler, facts, rows);
  return rows;
}

std::string summary_text(Sampler const& sampler, RunFacts const& facts) {
  auto const total = [&](std::string_view kind, std::string_view stat) { return sampler.total(kind, stat); };
  auto const cycles = facts.clock.edge_at_or_after(facts.end);
  auto const instructions = total("sm", "instructions");
  auto const transactions = total("sm", "transactions");
  auto const l1 = total("sm", "l1_tlb_hits");
  auto const l1_all = l1 + total("sm", "l1_tlb_misses");
  auto const cache = total("sm", "l1_hits");
  auto const cache_all = cache + total("sm", "l1_misses");
  auto const requests = total("sm", "remote_accesses");
  auto const served = total("l2_slice", "reads") + total("l2_slice", "writes");
  // Counted by the sender: in a stopped run, some have not been received.
  auto const of_others = total("rdma", "reads_received") + total("rdma", "writes_received") +
                         total("gmmu", "page_table_reads") + total("copy_engine", "local_accesses");
  auto const local = served - std::min(served, of_others);
  auto const moved = total("driver", "migrations");
  std::string text;
  auto line = [&](std::string_view name, std::string const& value) {
    text += fmt::format("  {:<22}{}\n", name, value);
  };
  auto const kernels = total("host", "kernels");
  auto const apart = facts.instances == 1 ? std::string() : fmt::format(" in {} instances", facts.instances);
  auto const started = facts.kernels_started();
  auto const in_all = started == kernels
                          ? counted(kernels, "kernel") + apart
                          : fmt::format("{} of {} started kernels completed{}", kernels, started, apart);
  std::uint64_t footprint = 0;
  for (auto const& application : facts.applications)
    footprint += application.workload->footprint() * facts.instances;
  if (facts.applications.count() == 1) {
    line("workload",
         fmt::format("{}, {}, {}", facts.applications[0].workload->name(), in_all, mebibytes(footprint)));
  } else {
    line("applications", fmt::format("{}, {}, {}", facts.applications.count(), in_all, mebibytes(footprint)));
    for (auto const& a : facts.applications)
      line(fmt::format("  {} ", a.name),
           fmt::format("{}{}{}, {}{}", a.workload->name(),
                       a.repeats == 1 ? "" : fmt::format(" {} times", a.repeats),
                       a.relaunch ? ", relaunched until all have completed" : "",
                       mebibytes(a.workload->footprint() * facts.instances), place_of(a)));
  }
  line("machine", fmt::format("{} GPUs, {} SMs", facts.gpus, [&] {
         std::size_t n = 0;
         for (auto const& g : sampler.groups())
           if (g.kind == "sm") n = g.instances.size();
         return n;
       }()));
  line("simulated time",
       fmt::format("{} ({} cycles)", for_people(facts.end.time_since_epoch()), count(cycles)));
  line("warp instructions",
       fmt::format(
           "{}, {:.3f} per cycle and GPU", count(instructions),
           cycles == 0 ? 0.0 : static_cast<double>(instructions) / static_cast<double>(cycles) / facts.gpus));
  line("memory transactions", count(transactions));
  line("L1 TLB hits", percent(l1, l1_all));
  std::string_view level;  // of TLBs
  for (auto const& group : sampler.groups()) {
    if (!group.kind.ends_with("tlb") || group.kind == level) continue;
    level = group.kind;
    auto const hits = total(level, "hits"), all = hits + total(level, "misses");
    line(level == "l2_tlb" ? "L2 TLB hits" : std::string(level) + " hits",
         fmt::format("{} of {} requests", percent(hits, all), count(all)));
  }
  line("page walks", fmt::format("{} by GMMUs, {} by IOMMUs", count(total("gmmu", "walks")),
                                 count(total("iommu", "walks"))));
  line("L1 cache hits", percent(cache, cache_all));
  line("L2 cache hits",
       percent(total("l2_slice", "hits"), total("l2_slice", "hits") + total("l2_slice", "misses")));
  line("remote accesses", fmt::format("{} of {} requests sent by SMs", percent(requests, requests + local),
                                      count(requests + local)));
  if (moved != 0)
    line("page migrations",
         fmt::format(
             "{}, {} on average", count(moved),
             for_people(Duration{static_cast<std::int64_t>(total("driver", "migration_time") / moved)})));
  return text;
}

}  // namespace farfault::cli
