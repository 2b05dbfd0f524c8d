// SPDX-License-Identifier: Apache-2.0
#include "farfault/analysis/explain.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <tuple>

#include "explain_reading.hpp"
#include "explain_resources.hpp"
#include "explain_throughput.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/results/reading/guard.hpp"
#include "outstanding.hpp"
#include "resource_pack.hpp"
#include "time_parts.hpp"

namespace farfault::analysis {
namespace {

constexpr double kHalf = 0.5;    // minimum share of a bottleneck
constexpr double kCounts = 0.1;  // minimum share of access time in the stages that lead to a bottleneck

void put_part(Pack& pack, TimePart const& part) {
  pack.put(1);
  pack.put(part.name);
  pack.put(part.what);
  pack.put(part.ps);
}

void put_parts(Pack& pack, std::map<std::string, std::uint64_t> const& figures,
               std::span<Named const> parts) {
  for (auto const& [name, what] : parts) {
    auto const found = figures.find(name);
    if (found == figures.end()) continue;
    put_part(pack, {name, what, found->second});
  }
  pack.put(std::uint64_t{0});
}

std::vector<TimePart> take_parts(Pack& pack) {
  std::vector<TimePart> parts;
  while (pack.number() != 0) {
    TimePart part{pack.text(), pack.text(), 0};
    part.ps = pack.number();
    parts.push_back(std::move(part));
  }
  std::ranges::stable_sort(parts, [](TimePart const& a, TimePart const& b) { return a.ps > b.ps; });
  return parts;
}

void put(Pack& pack, KernelTime const& k) {
  pack.put(1);
  pack.put(k.name);
  for (auto const n : {k.launches, k.ps, k.accesses, k.access_ps}) pack.put(n);
  for (auto const& stage : k.stages) put_part(pack, stage);
  pack.put(std::uint64_t{0});
}

KernelTime take_kernel(Pack& pack) {
  KernelTime k{.name = pack.text()};
  for (auto* field : {&k.launches, &k.ps, &k.accesses, &k.access_ps}) *field = pack.number();
  k.stages = take_parts(pack);
  return k;
}

// The ranks of the run if it recorded their exchanges, otherwise one rank.
void put_ranks(Pack& pack, ObjectId file) {
  auto const count = [&](std::string const& name) {
    return has(file, "engine/" + name) ? words(file, "engine/" + name, 1).at(0) : 0;
  };
  auto const waited = real_number(file, "engine/rank_wait_share");
  pack.put(waited ? count("ranks") : 1);
  for (auto const* name : {"threads", "events", "rank_exchanges"}) pack.put(waited ? count(name) : 0);
  pack.put(static_cast<std::uint64_t>(1e6 * std::min(1.0, std::max(0.0, waited.value_or(0)))));
}

std::string read_all(ObjectId file) {
  check_is_result(file);
  auto const figures = figures_of_machine(file);
  auto const of = [&](std::string const& name) {
    auto const found = figures.find(name);
    return found == figures.end() ? std::uint64_t{0} : found->second;
  };
  if (!figures.contains("sm_access_time"))
    throw UserError(
        "it was written by an earlier version of Farfault, which did not record access times by stage");
  Pack pack;
  auto const end_reason = text_attribute(open_group(file, "/"), "end_reason");
  pack.put(end_reason);
  for (auto const* name : {"end", "sm_transactions", "sm_access_time", "sm_time"}) pack.put(of(name));
  put_parts(pack, figures, kSms);
  put_parts(pack, figures, kAccesses);
  for (auto const& gap : read_gaps(file, of("end"), end_reason == "completed")) put_part(pack, gap);
  pack.put(std::uint64_t{0});
  auto const outstanding = read_outstanding(file);
  pack.put(outstanding.size());
  pack.put(std::min(outstanding.size(), kMaxOutstanding));
  for (std::size_t i = 0; i < std::min(outstanding.size(), kMaxOutstanding); ++i) {
    pack.put(outstanding[i].text());
    pack.put(outstanding[i].started);
  }
  auto const kernels = read_kernels(file);
  pack.put(std::uint64_t{kernels.size()});
  for (std::size_t i = 0; i < std::min(kernels.size(), kMaxKernels); ++i) put(pack, kernels[i]);
  pack.put(std::uint64_t{0});
  for (auto const& r : read_resources(file, figures)) put_resource(pack, r);
  pack.put(std::uint64_t{0});
  put_throughputs(pack, read_throughputs(file, of("end")));
  put_ranks(pack, file);
  return pack.take();
}

}  // namespace

std::size_t busy_parts(Resource const& r) {
  return static_cast<std::size_t>(
      std::ranges::count_if(r.over_time, [](double busy) { return busy >= 0.9; }));
}

Explanation explain(std::string const& path) {
  check_readable(path);
  Pack pack(read_guarded(path, [&](ObjectId file) {
    try {
      return read_all(file);
    } catch (UserError const& why) {
      throw UserError("'" + path + "' cannot be explained: " + why.what());
    }
  }));
  Explanation e;
  e.path = path;
  e.end_reason = pack.text();
  for (auto* field : {&e.end_ps, &e.accesses, &e.access_ps, &e.sm_ps}) *field = pack.number();
  e.sms = take_parts(pack);
  e.stages = take_parts(pack);
  e.gaps = take_parts(pack);
  e.outstanding_operations = pack.number();
  for (auto n = pack.number(); n != 0; --n) {
    e.outstanding.push_back({pack.text(), 0});
    e.outstanding.back().started_ps = pack.number();
  }
  e.kernel_names = pack.number();
  while (pack.number() != 0) e.kernels.push_back(take_kernel(pack));
  while (pack.number() != 0) e.resources.push_back(take_resource(pack));
  e.throughputs = take_throughputs(pack);
  for (auto* field : {&e.ranks.ranks, &e.ranks.threads, &e.ranks.events, &e.ranks.exchanges})
    *field = pack.number();
  e.ranks.waited = static_cast<double>(pack.number()) / 1e6;
  auto const time_of = [&](std::string_view name) {
    auto const found = std::ranges::find(e.sms, name, &TimePart::name);
    return found == e.sms.end() ? std::uint64_t{0} : found->ps;
  };
  auto const with_warps = e.sm_ps - std::min(e.sm_ps, time_of("sm_idle_time"));
  e.executing = share(time_of("sm_active_time"), with_warps);
  e.idle = share(time_of("sm_idle_time"), e.sm_ps);
  for (auto& r : e.resources) r.weight = r.busy * r.waited;
  std::erase_if(e.resources, [](Resource const& r) { return r.weight == 0; });
  std::ranges::stable_sort(e.resources, [](Resource const& a, Resource const& b) {
    return std::tie(a.waited, a.busy) > std::tie(b.waited, b.busy);
  });
  auto const first_that = [&](auto&& bounds, Bound what) {
    auto const found = std::ranges::find_if(
        e.resources, [&](Resource const& r) { return r.waited >= kCounts && bounds(r); });
    if (found == e.resources.end()) return false;
    std::rotate(e.resources.begin(), found, found + 1);
    e.bound = what;
    return true;
  };
  std::uint64_t gaps = 0;
  for (auto const& gap : e.gaps) gaps += gap.ps;
  e.without_kernel = share(gaps, e.end_ps);
  auto const serves = [](Resource const& r) { return r.full.empty(); };
  if (e.without_kernel >= kHalf)
    e.bound = Bound::gaps;
  else if (e.executing >= kHalf && e.idle < kHalf)
    e.bound = Bound::execution;
  else if (!first_that([&](Resource const& r) { return serves(r) && r.busy >= kHalf; }, Bound::resource) &&
           !first_that([](Resource const& r) { return r.busy >= kHalf; }, Bound::resource) &&
           !first_that([&](Resource const& r) { return serves(r) && busy_parts(r) >= 2; }, Bound::phase) &&
           e.executing >= kHalf)
    e.bound = Bound::execution;
  return e;
}

std::string to_json(Explanation const& e) {
  using Json = nlohmann::ordered_json;
  constexpr char const* words_of_bound[] = {"execution", "resource", "phase", "latency", "gaps"};
  auto const parts = [](std::vector<TimePart> const& from) {
    Json list = Json::array();
    for (auto const& p : from) list.push_back({{"name", p.name}, {"what", p.what}, {"ps", p.ps}});
    return list;
  };
  Json outstanding = Json::array();
  for (auto const& o : e.outstanding) outstanding.push_back({{"what", o.what}, {"started_ps", o.started_ps}});
  Json kernels = Json::array();
  for (auto const& k : e.kernels)
    kernels.push_back({{"name", k.name},
                       {"launches", k.launches},
                       {"ps", k.ps},
                       {"accesses", k.accesses},
                       {"access_ps", k.access_ps},
                       {"stages", parts(k.stages)}});
  Json resources = Json::array();
  for (auto const& r : e.resources)
    resources.push_back({{"what", r.what},
                         {"busiest", r.name},
                         {"full", r.full},
                         {"alike", r.alike},
                         {"busy", r.busy},
                         {"average", r.average},
                         {"waited_for", r.waited},
                         {"weight", r.weight},
                         {"over_time", r.over_time},
                         {"over_time_of", r.over_time_of}});
  Json all{{"kind", "explanation"},
           {"path", e.path},
           {"end_reason", e.end_reason},
           {"end_ps", e.end_ps},
           {"accesses", e.accesses},
           {"access_ps", e.access_ps},
           {"sm_ps", e.sm_ps},
           {"bound_by", words_of_bound[static_cast<std::size_t>(e.bound)]},
           {"executing", e.executing},
           {"idle", e.idle},
           {"sms", parts(e.sms)},
           {"stages", parts(e.stages)},
           {"without_kernel", e.without_kernel},
           {"gaps", parts(e.gaps)},
           {"outstanding_operations", e.outstanding_operations},
           {"outstanding", outstanding},
           {"kernel_names", e.kernel_names},
           {"kernels", kernels},
           {"resources", resources},
           {"throughputs", json_of(e.throughputs)}};
  if (e.ranks.ranks > 1)
    all["ranks"] = {{"count", e.ranks.ranks},
                    {"events", e.ranks.events},
                    {"exchanges", e.ranks.exchanges},
                    {"waited", e.ranks.waited}};
  return all.dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace farfault::analysis
