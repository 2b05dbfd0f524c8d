// SPDX-License-Identifier: Apache-2.0
// Explanations of two results with hand-written figures.
#include "farfault/analysis/explain_pair.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "farfault/engine/error.hpp"
#include "paired_runs.hpp"
#include "sample.hpp"
#include "scratch.hpp"

namespace explain_pair_test {

using namespace farfault;
using namespace farfault::analysis;
using paired_runs::Figures;
using paired_runs::Kernel;
using paired_runs::Run;

namespace {

// One GPU with two SMs, and one kernel on it from 10 ns to 10 ns before the end. Stalled SMs have 10
// accesses in flight.
Run kernel_run(std::uint64_t end, Figures figures) {
  auto const with_blocks = 2 * (end - 20'000);
  figures["time"] = 2 * end;
  figures["idle_time"] = 40'000;
  figures["memory_stall_time"] = with_blocks - figures["active_time"];
  Run run{.end = end};
  run.kernels = {{"step", 10'000, end - 10'000, {}, {}, 0, end}};
  for (auto const& [name, value] : figures)
    if (std::ranges::count(paired_runs::columns(), name) != 0) run.kernels[0].figures[name] = value;
  run.gpus = {{"gpu0", std::move(figures)}};
  return run;
}

Figures const kReference{{"instructions", 1'000},   {"transactions", 100},      {"remote_accesses", 50},
                         {"active_time", 10'000},   {"time_in_links", 500'000}, {"time_in_dram", 1'000'000},
                         {"access_time", 1'500'000}};

Figures changed(Figures figures, Figures const& changes) {
  for (auto const& [name, value] : changes) figures[name] = value;
  return figures;
}

PairExplanation explained(Scratch const& dir, Run const& a, Run const& b) {
  return explain_pair(paired_runs::write(dir / "a.h5", a), paired_runs::write(dir / "b.h5", b));
}

std::int64_t ps_of(PairExplanation const& e, std::string const& cause) {
  auto const found = std::ranges::find(e.causes, cause, &Cause::name);
  return found == e.causes.end() ? 0 : found->ps;
}

std::int64_t part_of(PairExplanation const& e, std::string const& name) {
  auto const found = std::ranges::find(e.parts, name, &PartChange::name);
  REQUIRE(found != e.parts.end());
  return found->ps;
}

template <class Row>
std::int64_t sum_of(std::vector<Row> const& rows) {
  std::int64_t sum = 0;
  for (auto const& row : rows) sum += row.ps;
  return sum;
}

void check_sums(PairExplanation const& e) {
  CHECK(e.change_ps == static_cast<std::int64_t>(e.b.end_ps) - static_cast<std::int64_t>(e.a.end_ps));
  CHECK(sum_of(e.parts) == e.change_ps);
  CHECK(sum_of(e.causes) == e.change_ps);
  CHECK(sum_of(e.groups) == e.change_ps);
  CHECK(sum_of(e.sms) + e.sms_rest_ps == e.change_ps);
  CHECK(sum_of(e.stages) + e.stages_rest_ps == e.change_ps);
}

std::string refusal(std::string const& a, std::string const& b) {
  try {
    explain_pair(a, b);
  } catch (UserError const& e) {
    return e.what();
  }
  return "explained";
}

}  // namespace

TEST_CASE("explain_pair: longer accesses in one stage are the whole change") {
  Scratch dir;
  auto const e = explained(dir, kernel_run(100'000, kReference),
                           kernel_run(180'000, changed(kReference, {{"time_in_links", 2'100'000}})));
  check_sums(e);
  CHECK(e.change_ps == 80'000);
  REQUIRE(e.causes.size() == 1);
  auto const& cause = e.causes[0];
  CHECK(cause.name == "links_time");
  CHECK(cause.what == "interconnect links");
  CHECK(cause.per == "per remote access or IOMMU translation");
  CHECK(cause.figure.a == doctest::Approx(10'000));
  CHECK(cause.figure.b == doctest::Approx(42'000));
  CHECK(cause.ps == 80'000);
  CHECK(cause.modelled);
  CHECK(first_cause(e) == &e.causes[0]);
  CHECK(e.gpu == "gpu0");
  CHECK(e.stages[0].name == "sm_time_in_links");
  CHECK(e.stages[0].ps == 80'000);
  CHECK(e.stages_rest_ps == 0);
  CHECK(e.sms[0].name == "sm_memory_stall_time");
  CHECK(e.sms[0].ps == 80'000);
  CHECK(e.sms[0].per_sm.a == doctest::Approx(75'000));
  REQUIRE(e.parts.size() == 3);
  CHECK(e.parts[0].what == "kernel step");
  CHECK(e.parts[0].a_ps == 80'000);
  CHECK(e.parts[0].b_ps == 160'000);
  CHECK(e.parts[0].stages[0].what == "interconnect links");
  CHECK(e.parts[0].stages[0].per_access.b == doctest::Approx(21'000));
  CHECK(part_of(e, "start.launches") == 0);
  CHECK(part_of(e, "end.launches") == 0);
}

TEST_CASE("explain_pair: more accesses to a stage are distinguished from longer ones") {
  Scratch dir;
  auto const e = explained(
      dir, kernel_run(100'000, kReference),
      kernel_run(180'000, changed(kReference, {{"time_in_links", 2'100'000}, {"remote_accesses", 210}})));
  check_sums(e);
  REQUIRE(e.causes.size() == 1);
  CHECK(e.causes[0].name == "remote_accesses");
  CHECK(e.causes[0].unit == "ratio");
  CHECK(e.causes[0].figure.a == doctest::Approx(0.5));
  CHECK(e.causes[0].figure.b == doctest::Approx(2.1));
  CHECK(e.causes[0].ps == 80'000);
  CHECK(e.stages[0].ps == 80'000);
}

TEST_CASE("explain_pair: more translations are attributed to the TLB level whose miss rate changed") {
  Scratch dir;
  auto const a = changed(kReference, {{"time_in_links", 0},
                                      {"remote_accesses", 0},
                                      {"l1_tlb_misses", 40},
                                      {"l2_tlb_hits", 30},
                                      {"iommu_translations", 5},
                                      {"time_in_walk", 300'000},
                                      {"time_in_iommu", 200'000}});
  // The L2 TLB misses three times as often; the IOMMU has the same share of the misses.
  auto const b = changed(a, {{"l2_tlb_hits", 10},
                             {"iommu_translations", 15},
                             {"time_in_walk", 900'000},
                             {"time_in_iommu", 600'000}});
  auto const e = explained(dir, kernel_run(100'000, a), kernel_run(150'000, b));
  check_sums(e);
  REQUIRE(e.causes.size() == 1);
  CHECK(e.causes[0].name == "l2_tlb_misses");
  CHECK(e.causes[0].per == "of L1 TLB misses");
  CHECK(e.causes[0].figure.a == doctest::Approx(0.25));
  CHECK(e.causes[0].figure.b == doctest::Approx(0.75));
  CHECK(e.causes[0].ps == 50'000);
  auto const row = std::ranges::find(e.stages, "sm_time_in_walk", &StageChange::name);
  CHECK(row->ps == 30'000);
  // With L1 TLB misses in proportion, the cause is the L1 TLB.
  auto const c = changed(b, {{"l1_tlb_misses", 120}, {"l2_tlb_hits", 90}});
  auto const l1 = explained(dir, kernel_run(100'000, a), kernel_run(150'000, c));
  check_sums(l1);
  REQUIRE(l1.causes.size() == 1);
  CHECK(l1.causes[0].name == "l1_tlb_misses");
}

TEST_CASE("explain_pair: a longer launch and more launches are distinguished, and gaps have a place") {
  Scratch dir;
  auto const launches = [](std::uint64_t number, std::uint64_t latency) {
    Run run{.end = number * (latency + 1'000)};
    for (std::uint64_t i = 0; i < number; ++i) {
      auto const begin = i * (latency + 1'000);
      run.kernels.push_back({"step", begin + latency, begin + latency + 1'000, {}, {}, begin, 0});
    }
    return run;
  };
  auto const longer = explained(dir, launches(4, 5'000), launches(4, 7'000));
  check_sums(longer);
  REQUIRE(longer.causes.size() == 1);
  CHECK(longer.causes[0].name == "launch_time");
  CHECK(longer.causes[0].per == "per launch");
  CHECK(longer.causes[0].figure.a == doctest::Approx(5'000));
  CHECK(longer.causes[0].figure.b == doctest::Approx(7'000));
  CHECK(longer.causes[0].ps == 8'000);
  CHECK_FALSE(longer.causes[0].modelled);
  CHECK(part_of(longer, "start.launches") == 2'000);
  CHECK(part_of(longer, "between.launches") == 6'000);
  auto const more = explained(dir, launches(4, 5'000), launches(10, 5'000));
  check_sums(more);
  CHECK(ps_of(more, "launches") == 30'000);
  CHECK(ps_of(more, "launch_time") == 0);
  CHECK(ps_of(more, "work") == 6'000);  // without figures of SMs
  CHECK(first_cause(more)->name == "launches");
  CHECK(more.parts[0].name == "between.launches");
}

TEST_CASE("explain_pair: copies and allocations in gaps are causes of their own") {
  Scratch dir;
  Run a{.end = 10'000};
  a.kernels = {{"step", 4'000, 8'000}};
  a.copies = {{"to_gpus", 1'000, 3'000}};
  Run b{.end = 15'000};
  b.kernels = {{"step", 8'000, 12'000}};
  b.copies = {{"to_gpus", 1'000, 6'000}, {"to_host", 12'000, 13'500}};
  b.allocations = {{"allocate", 0, 1'000}};
  auto const e = explained(dir, a, b);
  check_sums(e);
  // 2,000 ps in one copy become 6,500 ps in two: 2,625 ps on average, and 1,250 ps more in each of 1.5.
  CHECK(ps_of(e, "copies") == 2'625);
  CHECK(ps_of(e, "copy_time") == 1'875);
  CHECK(ps_of(e, "allocations") == 1'000);
  CHECK(part_of(e, "end.copies") == 1'500);
  CHECK(part_of(e, "start.copies") == 3'000);
}

TEST_CASE("explain_pair: kernels that run at the same time share it equally, and parts are exact") {
  Scratch dir;
  Run a{.end = 100};
  a.kernels = {{"first", 0, 100}};
  Run b{.end = 120};
  // 0 to 50: first; 50 to 101: both; 101 to 120: second.
  b.kernels = {{"first", 0, 101}, {"second", 50, 120}};
  auto const e = explained(dir, a, b);
  check_sums(e);
  auto const part = [&](std::string const& name) {
    return *std::ranges::find(e.parts, name, &PartChange::name);
  };
  CHECK(part("first").b_ps == 75);
  CHECK(part("first").b_shared_ps == 25);
  CHECK(part("second").b_ps == 45);
  CHECK(part("second").b_shared_ps == 25);
  CHECK(ps_of(e, "only_in_b") == 45);
  CHECK(ps_of(e, "work") == -25);
}

TEST_CASE("explain_pair: the order of kernels in the tables does not matter") {
  Scratch dir;
  Run a{.end = 1'000};
  a.kernels = {{"x", 0, 100}, {"y", 100, 300}, {"z", 300, 600}, {"x", 600, 900}};
  Run b{.end = 1'500};
  b.kernels = {{"z", 0, 700}, {"x", 700, 800}, {"y", 800, 1'200}, {"x", 1'200, 1'500}};
  auto const e = explained(dir, a, b);
  check_sums(e);
  CHECK(part_of(e, "z") == 400);
  CHECK(part_of(e, "y") == 200);
  CHECK(part_of(e, "x") == 0);
  auto const json = to_json(e);
  std::ranges::reverse(a.kernels);
  std::ranges::rotate(b.kernels, b.kernels.begin() + 1);
  CHECK(to_json(explained(dir, a, b)) == json);
}

TEST_CASE("explain_pair: added and removed kernels are parts, and without a common kernel one sentence") {
  Scratch dir;
  Run a{.end = 1'000};
  a.kernels = {{"x", 0, 500}, {"old", 500, 1'000}};
  Run b{.end = 1'300};
  b.kernels = {{"x", 0, 500}, {"new", 500, 1'200}};
  auto e = explained(dir, a, b);
  check_sums(e);
  CHECK(part_of(e, "old") == -500);
  CHECK(part_of(e, "new") == 700);
  CHECK(ps_of(e, "only_in_a") == -500);
  CHECK(ps_of(e, "only_in_b") == 700);
  CHECK(ps_of(e, "other_work") == 100);
  CHECK(first_cause(e)->name == "only_in_b");
  CHECK(e.not_split == "kernels of both runs take less than half of the kernel time of B");
  b.kernels[0].name = "y";
  e = explained(dir, a, b);
  check_sums(e);
  CHECK(e.not_split == "A and B have no kernel name in common: A has 2 kernel names, B has 2 kernel names");
  CHECK(e.gpu == "");
  CHECK(e.stages.empty());
  CHECK(ps_of(e, "only_in_b") == 1'200);
  b.kernels.clear();
  e = explained(dir, a, b);
  check_sums(e);
  CHECK(e.not_split == "B has no kernel on a GPU");
  CHECK(part_of(e, "start.else") == 1'300);
  // Two runs without a kernel.
  a.kernels.clear();
  e = explained(dir, a, b);
  check_sums(e);
  CHECK(ps_of(e, "other_work") == 300);
  CHECK(e.not_split == "A has no kernel on a GPU");
}

TEST_CASE("explain_pair: kernels of several applications are distinguished") {
  Scratch dir;
  Run a{.end = 1'000};
  a.kernels = {{"step", 0, 600, {}, "one"}, {"step", 0, 1'000, {}, "two"}};
  Run b{.end = 1'200};
  b.kernels = {{"step", 0, 600, {}, "one"}, {"step", 0, 1'200, {}, "two"}};
  auto const e = explained(dir, a, b);
  check_sums(e);
  CHECK(part_of(e, "one/step") == 0);
  CHECK(part_of(e, "two/step") == 200);
}

TEST_CASE("explain_pair: twice the instructions at the same rate are more work, and nothing else") {
  Scratch dir;
  auto twice = kReference;
  for (auto& [name, value] : twice) value *= 2;
  auto const e = explained(dir, kernel_run(100'000, kReference), kernel_run(180'000, twice));
  check_sums(e);
  REQUIRE(e.causes.size() == 1);
  CHECK(e.causes[0].name == "work");
  CHECK(e.causes[0].figure.b == doctest::Approx(2'000));
  CHECK(e.causes[0].ps == 80'000);
}

TEST_CASE("explain_pair: more accesses of the same instructions are a cause") {
  Scratch dir;
  // 15 ns per access as before, 2.0667 times the accesses in 2.0667 times the stalls.
  auto const more = changed(kReference, {{"transactions", 200},
                                         {"remote_accesses", 100},
                                         {"active_time", 20'000},
                                         {"time_in_links", 1'000'000},
                                         {"time_in_dram", 2'000'000}});
  auto const e = explained(dir, kernel_run(100'000, kReference), kernel_run(180'000, more));
  check_sums(e);
  CHECK(ps_of(e, "accesses") == 75'000);
  CHECK(ps_of(e, "execution") == 5'000);
  CHECK(e.causes.size() == 2);
}

TEST_CASE("explain_pair: execution is a cause if SMs execute longer") {
  Scratch dir;
  auto slow = kernel_run(180'000, changed(kReference, {{"active_time", 170'000}}));
  auto const e = explained(dir, kernel_run(100'000, kReference), slow);
  check_sums(e);
  CHECK(first_cause(e)->name == "execution");
  CHECK(ps_of(e, "execution") == 80'000);
  CHECK(first_cause(e)->figure.a == doctest::Approx(5'000));
  CHECK(first_cause(e)->figure.b == doctest::Approx(85'000));
}

TEST_CASE("explain_pair: fewer accesses in flight are an effect of longer accesses, unless a limit differs") {
  Scratch dir;
  auto const a = kernel_run(100'000, kReference);
  // Twice the time on links and, with 7.27 instead of 10 accesses in flight, 1.83 times the stalls.
  auto b = kernel_run(168'750, changed(kReference, {{"time_in_links", 1'000'000}}));
  auto const effect = explained(dir, a, b);
  check_sums(effect);
  CHECK(ps_of(effect, "links_time") == effect.change_ps);
  CHECK(ps_of(effect, "in_flight") == 0);
  auto limited_a = a, limited_b = b;
  limited_a.config = "[gpu.l1_cache]\nmshrs = 16\n";
  limited_b.config = "[gpu.l1_cache]\nmshrs = 8\n";
  auto const limited = explained(dir, limited_a, limited_b);
  check_sums(limited);
  CHECK(ps_of(limited, "in_flight") > 0);
  CHECK(ps_of(limited, "in_flight") + ps_of(limited, "links_time") == limited.change_ps);
  // Without longer accesses, it is the cause.
  auto const only = explained(dir, a, kernel_run(180'000, kReference));
  check_sums(only);
  CHECK(first_cause(only)->name == "in_flight");
  CHECK(first_cause(only)->figure.a == doctest::Approx(10));
  CHECK(ps_of(only, "in_flight") == 80'000);
}

TEST_CASE("explain_pair: longer accesses that more accesses in flight hide count as far as the end changed") {
  Scratch dir;
  auto const a =
      changed(kReference, {{"iommu_translations", 10}, {"l1_tlb_misses", 10}, {"time_in_iommu", 20'000}});
  auto const e =
      explained(dir, kernel_run(100'000, a), kernel_run(101'000, changed(a, {{"time_in_iommu", 740'000}})));
  check_sums(e);
  REQUIRE(e.causes.size() == 1);
  CHECK(e.causes[0].name == "iommu_time");
  CHECK(e.causes[0].ps == 1'000);
}

TEST_CASE("explain_pair: a figure that changed much without effect on the end is listed as such") {
  Scratch dir;
  auto const a = changed(kReference, {{"iommu_translations", 10},
                                      {"l1_tlb_misses", 10},
                                      {"time_in_iommu", 20'000},
                                      {"access_time", 1'520'000}});
  auto const b = changed(a, {{"time_in_iommu", 740'000}, {"access_time", 2'240'000}});
  auto const e = explained(dir, kernel_run(100'000, a), kernel_run(100'300, b));
  check_sums(e);
  CHECK(e.change_ps == 300);
  REQUIRE(e.idle.size() == 1);
  CHECK(e.idle[0].what == "time per access in: IOMMU");
  CHECK(e.idle[0].figure.b / e.idle[0].figure.a == doctest::Approx(37));
  CHECK(e.idle[0].ps <= 300);
  // The same change of the IOMMU matters if the end follows it.
  CHECK(explained(dir, kernel_run(100'000, a), kernel_run(140'000, b)).idle.empty());
}

TEST_CASE("explain_pair: both runs are modelled on the GPU that ends last in the slower run") {
  Scratch dir;
  auto const gpu = [](std::uint64_t end, std::uint64_t stalled, std::uint64_t links) {
    return changed(kReference, {{"time", 2 * end},
                                {"memory_stall_time", stalled},
                                {"idle_time", 2 * end - stalled - 10'000},
                                {"time_in_links", links}});
  };
  auto a = kernel_run(100'000, kReference);
  a.gpus = {{"gpu0", gpu(100'000, 150'000, 500'000)}, {"gpu1", gpu(100'000, 140'000, 500'000)}};
  auto b = kernel_run(180'000, kReference);
  b.gpus = {{"gpu0", gpu(180'000, 150'000, 500'000)}, {"gpu1", gpu(180'000, 310'000, 2'200'000)}};
  auto const e = explained(dir, a, b);
  check_sums(e);
  CHECK(e.gpu == "gpu1");
  CHECK(first_cause(e)->name == "links_time");
  CHECK(explained(dir, b, a).gpu == "gpu1");
  // A machine without that GPU: its own GPU.
  b.gpus[1].first = "gpu7";
  auto const other = explained(dir, a, b);
  check_sums(other);
  CHECK(other.gpu == "gpu7");
}

TEST_CASE("explain_pair: for a stopped run, parts add up and one sentence names the reason") {
  Scratch dir;
  Run a{.end = 1'000};
  a.kernels = {{"x", 100, 400}, {"y", 500, 900}};
  Run b{.end = 800};
  b.end_reason = "time_limit";
  b.kernels = {{"x", 100, 400}};
  b.incomplete = {{"kernel", 400, 500, "y"}};
  auto const e = explained(dir, a, b);
  check_sums(e);
  CHECK(e.caveat == "B ended with time_limit: the ends do not compare complete runs");
  CHECK(part_of(e, "y") == -100);
  auto const y = std::ranges::find(e.parts, "y", &PartChange::name);
  CHECK(y->b_launches == 1);
  CHECK(part_of(e, "end.else") == -100);
  // An earlier version did not record incomplete operations.
  b.incomplete.clear();
  auto const unknown = explained(dir, a, b);
  check_sums(unknown);
  CHECK(part_of(unknown, "unrecorded") == 400);
}

TEST_CASE("explain_pair: runs of equal length have no first cause") {
  Scratch dir;
  auto const e = explained(dir, kernel_run(100'000, kReference),
                           kernel_run(100'000, changed(kReference, {{"active_time", 30'000}})));
  check_sums(e);
  CHECK(e.change_ps == 0);
  CHECK(first_cause(e) == nullptr);
  auto const same = explained(dir, kernel_run(100'000, kReference), kernel_run(100'000, kReference));
  check_sums(same);
  CHECK(same.causes.empty());
  CHECK(same.idle.empty());
  CHECK(nlohmann::json::parse(to_json(same))["first_cause"].is_null());
}

TEST_CASE("explain_pair: two differing parameters have the shares of their causes") {
  Scratch dir;
  auto a = kernel_run(100'000, kReference);
  auto b = kernel_run(180'000, changed(kReference, {{"time_in_links", 2'100'000}}));
  b.end = 200'000;
  b.kernels[0].finished = 200'000;
  b.gpus[0].second["time"] = 400'000;
  b.gpus[0].second["idle_time"] = 80'000;
  a.config = "[host]\nlaunch_latency = \"1 ns\"\n[links]\npcie_latency = \"1 ns\"\n";
  b.config = "[host]\nlaunch_latency = \"2 ns\"\n[links]\npcie_latency = \"2 ns\"\n";
  auto const e = explained(dir, a, b);
  check_sums(e);
  REQUIRE(e.settings.size() == 2);
  REQUIRE(e.groups.size() == 2);
  CHECK(e.settings[e.groups[0].settings.at(0)].name == "links.pcie_latency");
  CHECK(e.groups[0].ps == 80'000);
  CHECK(e.settings[e.groups[1].settings.at(0)].name == "host.launch_latency");
  CHECK(e.groups[1].ps == 20'000);
  CHECK(e.causes[e.groups[1].causes.at(0)].name == "launch_time");
  // A single one has them all, whatever the cause.
  b.config = "[host]\nlaunch_latency = \"2 ns\"\n[links]\npcie_latency = \"1 ns\"\n";
  auto const one = explained(dir, a, b);
  REQUIRE(one.groups.size() == 1);
  CHECK(one.groups[0].ps == 100'000);
  CHECK(one.settings[one.groups[0].settings.at(0)].name == "host.launch_latency");
}

TEST_CASE("explain_pair: the resource whose utilization follows a cause is named") {
  Scratch dir;
  auto const walks = changed(kReference, {{"l1_tlb_misses", 10}, {"time_in_walk_queue", 10'000}});
  auto a = kernel_run(100'000, walks);
  a.walkers_busy = 20'000;
  auto b = kernel_run(180'000, changed(walks, {{"time_in_walk_queue", 1'610'000}}));
  b.walkers_busy = 162'000;
  auto const e = explained(dir, a, b);
  check_sums(e);
  CHECK(first_cause(e)->name == "walk_queue_time");
  CHECK(first_cause(e)->resource == "GMMU page walkers");
  CHECK(first_cause(e)->resource_name == "gpu0.gmmu");
  CHECK(first_cause(e)->busy.a == doctest::Approx(0.2));
  CHECK(first_cause(e)->busy.b == doctest::Approx(0.9));
  REQUIRE(e.resources.size() == 1);
  CHECK(e.resources[0].matters);
  CHECK(e.resources[0].ps == 80'000);
}

TEST_CASE("explain_pair: sums are exact for any figures, and change their sign if the runs are exchanged") {
  Scratch dir;
  std::mt19937_64 random(20);
  auto const random_run = [&] {
    std::uint64_t now = 0;
    Run run;
    auto const below = [&](std::uint64_t limit) { return random() % limit; };
    for (auto n = below(6); n != 0; --n) {
      auto const from = below(1'000'000'007), to = from + below(1'000'000'007);
      Kernel k{.name = std::string("kernel") + static_cast<char>('a' + below(3)),
               .reached = from,
               .left = to,
               .launched = from / 2,
               .finished = to + below(1'000)};
      for (auto const& column : paired_runs::columns()) k.figures[column] = below(1'000'000'007);
      now = std::max(now, k.finished);
      run.kernels.push_back(std::move(k));
    }
    run.end = now + below(1'000'000'007);
    for (auto const* name : {"gpu0", "gpu1"}) {
      Figures figures;
      for (auto const& column : paired_runs::columns())
        figures[column.starts_with("resident_") ? column.substr(9) : column] = below(1'000'000'007);
      figures["barrier_stall_time"] = below(1'000'000'007);
      figures["idle_time"] = below(1'000'000'007);
      figures["time"] = below(1'000'000'007) + 1;
      run.gpus.emplace_back(name, std::move(figures));
    }
    return run;
  };
  for (int i = 0; i < 20; ++i) {
    auto const a = random_run(), b = random_run();
    auto const e = explained(dir, a, b), back = explained(dir, b, a);
    check_sums(e);
    check_sums(back);
    for (auto const& c : e.causes) {
      auto const name = c.name == "only_in_a"   ? std::string("only_in_b")
                        : c.name == "only_in_b" ? std::string("only_in_a")
                                                : c.name;
      CHECK_MESSAGE(ps_of(back, name) == -c.ps, c.name);
    }
    for (auto const& p : e.parts) CHECK(part_of(back, p.name) == -p.ps);
  }
}

TEST_CASE("explain_pair: beyond a limit, kernels with small changes are one part") {
  Scratch dir;
  Run a, b;
  for (std::uint64_t i = 0; i < kMaxKernelParts + 5; ++i) {
    auto const name = "level" + std::to_string(i);
    a.kernels.push_back({name, a.end, a.end + 10});
    a.end += 10;
    b.kernels.push_back({name, b.end, b.end + 11 + i});
    b.end += 11 + i;
  }
  auto const e = explained(dir, a, b);
  check_sums(e);
  REQUIRE(e.parts.size() == kMaxKernelParts + 1);
  CHECK(e.parts[0].name == "level1004");
  CHECK(e.parts[0].ps == 1'005);
  CHECK(e.parts.back().what == "5 other kernels");
  CHECK(e.parts.back().ps == 1 + 2 + 3 + 4 + 5);
  CHECK(e.parts.back().a_launches == 5);
  CHECK_FALSE(e.parts[kMaxKernels - 1].stages.empty());
  CHECK(e.parts[kMaxKernels].stages.empty());
}

TEST_CASE("explain_pair: JSON is complete, and a file that cannot be explained gives one sentence") {
  Scratch dir;
  auto const e = explained(dir, kernel_run(100'000, kReference),
                           kernel_run(180'000, changed(kReference, {{"time_in_links", 2'100'000}})));
  auto const json = nlohmann::json::parse(to_json(e));
  CHECK(json["kind"] == "pair_explanation");
  CHECK(json["change_ps"] == 80'000);
  CHECK(json["first_cause"] == "links_time");
  CHECK(json["a"]["end_ps"] == 100'000);
  CHECK(json["b"]["on_gpus_ps"] == 160'000);
  CHECK(json["parts"][0]["stages"][0]["name"] == "sm_time_in_links");
  CHECK(json["causes"][0]["ps"] == 80'000);
  CHECK(json["groups"][0]["causes"] == nlohmann::json::parse("[0]"));
  CHECK(json["stages_rest_ps"] == 0);
  auto const sound = dir / "a.h5";
  auto const earlier = dir / "earlier.h5";
  results::sample::write(earlier);
  CHECK(refusal(sound, earlier) == "'" + earlier +
                                       "' cannot be explained: it was written by an earlier version of "
                                       "Farfault, which did not record access times by stage");
  CHECK(refusal(dir / "none.h5", sound).ends_with("none.h5': no such file"));
}

}  // namespace explain_pair_test
