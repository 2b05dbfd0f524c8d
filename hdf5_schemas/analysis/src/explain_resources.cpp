// SPDX-License-Identifier: Apache-2.0
#include "explain_resources.hpp"

#include <algorithm>
#include <numeric>

namespace farfault::analysis {
namespace {

constexpr char const* kNoneFree = "has none free";
constexpr char const* kFull = "is full";

// A kind of component, the statistic of the time in which it is busy or full, and the stages in which
// accesses wait for it.
struct Source {
  char const* series;
  char const* metric;
  char const* what;
  std::vector<char const*> stages;
  char const* full = nullptr;  // bounded buffers only: predicate for "no space left"
};
std::vector<Source> const& sources() {
  static std::vector<Source> const all{
      {"dram",
       "busy_time",
       "DRAM channels",
       {"dram", "dram_queue", "l2_cache", "remote_memory", "walk", "walk_queue", "l2_tlb"}},
      {"l2_slice",
       "busy_time",
       "L2 cache slices",
       {"l2_cache", "remote_memory", "walk", "walk_queue", "l2_tlb"}},
      {"cpu_dram", "busy_time", "CPU DRAM channels", {"remote_memory", "iommu"}},
      {"llc_slice", "busy_time", "CPU cache slices", {"remote_memory", "iommu"}},
      {"l2_tlb", "busy_time", "L2 TLBs", {"l2_tlb"}},
      {"gmmu", "walker_busy_time", "GMMU page walkers", {"walk", "walk_queue", "l2_tlb"}},
      {"iommu", "walker_busy_time", "IOMMU page walkers", {"iommu"}},
      {"driver", "busy_time", "drivers", {"fault"}},
      {"l2_tlb", "mshr_stall_time", "L2 TLB MSHRs", {"l2_tlb"}, kNoneFree},
      {"l2_slice", "mshr_stall_time", "L2 cache MSHRs", {"l2_cache", "remote_memory"}, kNoneFree},
      {"llc_slice", "mshr_stall_time", "CPU cache MSHRs", {"remote_memory"}, kNoneFree},
      {"gmmu", "fault_buffer_full_time", "GPU fault buffers", {"fault"}, kFull},
      {"iommu", "fault_buffer_full_time", "IOMMU fault buffers", {"fault"}, kFull},
      {"sm.by_gpu", "l1_tlb_mshr_wait_time", "L1 TLB MSHRs", {"load_store"}, kNoneFree},
      {"sm.by_gpu", "l1_mshr_wait_time", "L1 cache MSHRs", {"load_store"}, kNoneFree},
      {"sm.by_gpu", "l2_credit_wait_time", "SM credits for the L2 cache", {"load_store"}, kNoneFree},
      {"sm.by_gpu", "remote_credit_wait_time", "SM credits for remote accesses", {"load_store"}, kNoneFree},
      {"sm.by_gpu",
       "faulted_wait_time",
       "SM entries for faulted accesses",
       {"fault", "load_store"},
       kNoneFree},
  };
  return all;
}

struct SmsOfGpus {
  std::vector<std::string> gpus;
  std::vector<std::uint64_t> sms;
};

// SM statistics are stored as sums per GPU.
SmsOfGpus sms_of_gpus(ObjectId file, std::uint64_t end) {
  SmsOfGpus of;
  if (!has(file, "summary/gpu/sm_time") || end == 0) return of;
  of.gpus = texts(file, "summary/gpu/name");
  of.sms = words(file, "summary/gpu/sm_time", of.gpus.size());
  for (auto& time : of.sms) time /= end;
  return of;
}

Resource worst_of(std::string what, std::vector<std::string> const& names, std::vector<double> const& busy) {
  auto const first = static_cast<std::size_t>(std::ranges::max_element(busy) - busy.begin());
  Resource r;
  r.what = std::move(what);
  r.name = names[first];
  r.alike = names.size();
  r.busy = busy[first];
  r.average = std::accumulate(busy.begin(), busy.end(), 0.0) / static_cast<double>(busy.size());
  return r;
}

std::vector<double> shares(std::vector<std::uint64_t> const& times, std::uint64_t end) {
  std::vector<double> all;
  for (auto const time : times) all.push_back(share(time, end));
  return all;
}

std::optional<Resource> read_source(ObjectId file, Source const& c, std::uint64_t end, SmsOfGpus const& sms) {
  auto const growth = growth_of(file, c.series, c.metric);
  if (!growth || end == 0) return std::nullopt;
  auto busy = shares(growth->last(), end);
  std::vector<std::uint64_t> among(busy.size(), 1);
  if (std::string_view(c.series) == "sm.by_gpu")
    for (std::size_t i = 0; i < busy.size(); ++i) {
      auto const gpu = std::ranges::find(sms.gpus, growth->names()[i]);
      if (gpu == sms.gpus.end()) return std::nullopt;
      among[i] = std::max<std::uint64_t>(1, sms.sms[static_cast<std::size_t>(gpu - sms.gpus.begin())]);
      busy[i] /= static_cast<double>(among[i]);
    }
  auto r = worst_of(c.what, growth->names(), busy);
  auto const place =
      static_cast<std::size_t>(std::ranges::find(growth->names(), r.name) - growth->names().begin());
  r.over_time = growth->rates(place, end, among[place]);
  if (c.full != nullptr) r.full = c.full;
  if (among[place] != 1) r.full = "SMs have none free";
  return r;
}

// Over time, a sender has statistics only for all its links together.
void add_over_time(ObjectId file, Resource& r, std::string const& sender, std::uint64_t links,
                   std::string const& metric, std::uint64_t end) {
  for (auto const& series : link_names(open_group(file, "/timeseries"))) {
    auto const growth = growth_of(file, series, metric);
    if (!growth) continue;
    auto const place = std::ranges::find(growth->names(), sender);
    if (place == growth->names().end()) continue;
    r.over_time = growth->rates(static_cast<std::size_t>(place - growth->names().begin()), end, links);
    if (links != 1) r.over_time_of = sender + ", average of its " + std::to_string(links) + " links";
    return;
  }
}

// Link utilization, and the time in which links are idle because packets wait for credits.
std::vector<Resource> read_links(ObjectId file, std::uint64_t end) {
  if (!has(file, "tables/links") || end == 0) return {};
  auto const column = [&](std::string const& name) { return texts(file, "tables/links/" + name); };
  auto const from = column("from"), to = column("to"), senders = column("sender");
  if (from.empty() || to.size() != from.size() || senders.size() != from.size()) return {};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < from.size(); ++i) names.push_back(from[i] + " to " + to[i]);
  std::vector<Resource> all;
  auto const add = [&](std::string const& metric, char const* what, char const* full) {
    if (!has(file, "tables/links/" + metric)) return;
    auto const times = words(file, "tables/links/" + metric, from.size());
    auto r = worst_of(what, names, shares(times, end));
    auto const& sender = senders[static_cast<std::size_t>(std::ranges::max_element(times) - times.begin())];
    r.full = full;
    add_over_time(file, r, sender, static_cast<std::uint64_t>(std::ranges::count(senders, sender)), metric,
                  end);
    all.push_back(std::move(r));
  };
  add("busy_time", "links (per direction)", "");
  add("credit_wait_time", "link credits", "is idle for lack of credits");
  return all;
}

}  // namespace

std::vector<Resource> read_resources(ObjectId file, std::map<std::string, std::uint64_t> const& figures) {
  auto const of = [&](std::string const& name) {
    auto const found = figures.find(name);
    return found == figures.end() ? std::uint64_t{0} : found->second;
  };
  auto const end = of("end");
  auto const all_time = of("sm_access_time");
  // Requests in the load/store unit wait for a later stage.
  auto const behind = all_time - std::min(all_time, of("sm_time_in_load_store"));
  std::vector<Resource> all;
  auto const add = [&](std::optional<Resource> r, std::vector<char const*> const& stages) {
    if (!r) return;
    std::uint64_t waited = 0;
    for (auto const* stage : stages) {
      r->stages.push_back(std::string("sm_time_in_") + stage);
      waited += of(r->stages.back());
    }
    bool const in_front = std::ranges::count(stages, std::string_view("load_store")) != 0;
    r->waited = share(waited, in_front ? all_time : behind);
    all.push_back(std::move(*r));
  };
  auto const sms = sms_of_gpus(file, end);
  for (auto const& c : sources()) add(read_source(file, c, end, sms), c.stages);
  // Further levels of TLBs, which have the names that the configuration gives them.
  for (auto const& series : link_names(open_group(file, "/timeseries"))) {
    if (!series.ends_with("tlb") || series == "l2_tlb") continue;
    auto const tlbs = "TLBs '" + series + "'", mshrs = "MSHRs of TLBs '" + series + "'";
    Source const busy{
        .series = series.c_str(), .metric = "busy_time", .what = tlbs.c_str(), .stages = {"l2_tlb"}};
    add(read_source(file, busy, end, sms), busy.stages);
    Source const full{.series = series.c_str(),
                      .metric = "mshr_stall_time",
                      .what = mshrs.c_str(),
                      .stages = {"l2_tlb"},
                      .full = kNoneFree};
    add(read_source(file, full, end, sms), full.stages);
  }
  for (auto& r : read_links(file, end)) add(std::move(r), {"links"});
  return all;
}

}  // namespace farfault::analysis
