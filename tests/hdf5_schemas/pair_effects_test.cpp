// SPDX-License-Identifier: Apache-2.0
// Effects of one cause on another, saturated resources and known latencies, in explanations of two results.
#include <doctest/doctest.h>

#include <algorithm>

#include "pairs/effects.hpp"
#include "pairs/fixed_latencies.hpp"
#include "pairs/pair_settings.hpp"
#include "pairs/saturation.hpp"

namespace pair_effects_test {

using namespace farfault::analysis;

namespace {

std::vector<ModelPart> parts_with(std::vector<std::pair<std::string, std::int64_t>> const& values) {
  std::vector<ModelPart> parts;
  for (auto const& [cause, ps] : values) parts.push_back({cause, {}, Amount(ps)});
  return parts;
}

std::vector<std::int64_t> values_of(std::vector<ModelPart> const& parts) {
  std::vector<std::int64_t> values;
  for (auto const& p : parts) values.push_back(p.ps.value());
  return values;
}

// A run whose resource `what` works for `busy` of it.
RunFigures run_with(char const* what, double busy, std::uint64_t end, std::uint64_t bytes) {
  RunFigures run;
  run.end = end;
  run.link_bytes = bytes;
  Resource resource;
  resource.what = what;
  resource.name = "gpu0 to switch0";
  resource.busy = busy;
  run.resources.push_back(resource);
  return run;
}

using Values = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("offset: of two opposite changes, the smaller one is subtracted from the larger one") {
  Amount one(28), other(-10);
  offset(one, other);
  CHECK(one.value() == 18);
  CHECK(other.value() == 0);
  Amount same(5), sign(7);
  offset(same, sign);
  CHECK(same.value() == 5);
  CHECK(sign.value() == 7);
}

TEST_CASE("scale_to: parts keep their proportion, and add up exactly") {
  auto parts = parts_with({{"x", 60}, {"y", 30}, {"z", -10}});
  scale_to(parts, Amount(41));
  CHECK(values_of(parts) == Values{31, 15, -5});
  scale_to(parts, Amount(-41));
  CHECK(values_of(parts) == Values{-31, -15, 5});
}

TEST_CASE("add_to_same_sign: an amount has the parts with its sign, unless it is too large for them") {
  auto parts = parts_with({{"x", 60}, {"y", 20}, {"z", -10}});
  CHECK(add_to_same_sign(parts, Amount(8)));
  CHECK(values_of(parts) == Values{66, 22, -10});
  CHECK_FALSE(add_to_same_sign(parts, Amount(-100)));
  CHECK(values_of(parts) == Values{66, 22, -10});
}

TEST_CASE("attribute_effects: a cause without a differing parameter belongs to the others") {
  std::vector<PairSetting> const settings{{"gpu.dram.bandwidth", "1", "2"}, {"gpu.sms", "4", "8"}};
  auto parts = parts_with({{"dram_time", 80}, {"l1_tlb_misses", -20}, {"occupancy", 20}});
  attribute_effects(parts, settings);
  std::ranges::sort(parts, {}, &ModelPart::cause);
  CHECK(values_of(parts) == Values{64, 0, 16});
  // Nothing differs, or too little of the change has a parameter.
  auto unchanged = parts_with({{"dram_time", 80}, {"l1_tlb_misses", -20}});
  attribute_effects(unchanged, {});
  CHECK(values_of(unchanged) == Values{80, -20});
  auto small = parts_with({{"dram_time", 10}, {"l1_tlb_misses", 90}});
  attribute_effects(small, settings);
  CHECK(values_of(small) == Values{10, 90});
}

TEST_CASE("saturation_of: a resource counts if it works for nine tenths of both runs") {
  auto const links = "links (per direction)";
  auto const a = run_with(links, 0.95, 1'000, 400);
  CHECK_FALSE(saturation_of(a, run_with(links, 0.89, 2'000, 400)));
  CHECK_FALSE(saturation_of(a, run_with("DRAM channels", 0.99, 2'000, 400)));
  CHECK_FALSE(saturation_of(run_with("L2 TLB MSHRs", 1, 1'000, 0), run_with("L2 TLB MSHRs", 1, 2'000, 0)));
  auto const found = saturation_of(a, run_with(links, 0.9, 2'000, 800));
  REQUIRE(found);
  CHECK(found->kind->service == "link_service");
  CHECK(found->busy_a.value() == 950);
  CHECK(found->busy_b.value() == 1'800);
  CHECK(found->units_b.value() == 800);
}

TEST_CASE("bound_by: the busy time of a saturated link is split into its bytes and their time") {
  auto const links = "links (per direction)";
  auto const bound = [&](std::uint64_t bytes) {
    auto const s = saturation_of(run_with(links, 0.9, 1'000, 300), run_with(links, 0.9, 2'000, bytes));
    auto parts = parts_with({{"occupancy", 1'500}, {"dram_time", -500}});
    bound_by(*s, parts);
    return parts;
  };
  auto const more = bound(600);
  CHECK(values_of(more) == Values{150, -50, 900, 0});
  CHECK(more[2].cause == "link_bytes");
  CHECK(more[3].cause == "link_service");
  CHECK(more[2].stage == "sm_time_in_links");
  CHECK(values_of(bound(300)) == Values{150, -50, 0, 900});
  // A change of the end against the busy time has other reasons.
  auto const s = saturation_of(run_with(links, 0.9, 1'000, 300), run_with(links, 0.9, 2'000, 300));
  auto parts = parts_with({{"occupancy", -100}});
  bound_by(*s, parts);
  CHECK(values_of(parts) == Values{-100});
}

TEST_CASE("fixed_latencies: cycles of the clock, 0 if one of them is unknown") {
  auto const fixed = fixed_latencies({{"gpu.clock", "\"2 GHz\""}, {"gpu.l2_tlb.latency", "11"}});
  CHECK(fixed.clock == 2'000'000'000);
  CHECK(fixed.time_of("sm_time_in_l2_tlb", Amount(3)).value() == 16'500);
  CHECK(fixed.time_of("sm_time_in_l1_tlb", Amount(3)).value() == 0);
  CHECK(fixed.time_of("sm_time_in_links", Amount(3)).value() == 0);
  CHECK(fixed_latencies({{"gpu.l2_tlb.latency", "11"}}).time_of("sm_time_in_l2_tlb", Amount(3)).value() == 0);
}

TEST_CASE("mark_unreached: a limit that is never full in both runs has no effect") {
  std::vector<PairSetting> settings{{"gpu.l1_tlb.mshrs", "64", "30"}, {"gpu.dram.bandwidth", "1", "2"}};
  auto const free = run_with("L1 TLB MSHRs", 0, 1'000, 0), full = run_with("L1 TLB MSHRs", 0.1, 1'000, 0);
  mark_unreached(settings, free, full);
  CHECK_FALSE(settings[0].unreached);
  CHECK(differing_kinds(settings).limits);
  mark_unreached(settings, free, run_with("DRAM channels", 0, 1'000, 0));
  CHECK_FALSE(settings[0].unreached);
  mark_unreached(settings, free, free);
  CHECK(settings[0].unreached);
  CHECK_FALSE(differing_kinds(settings).limits);
  CHECK(settings_of_cause("in_flight", settings) == std::vector<std::size_t>{1});
}

TEST_CASE("settings_of_cause: a latency acts only on its own cause") {
  std::vector<PairSetting> const settings{{"gpu.gmmu.walkers", "4", "2"}, {"gpu.l2_tlb.latency", "4", "11"}};
  CHECK(settings_of_cause("l2_tlb_time", settings) == std::vector<std::size_t>{0});
  CHECK(settings_of_cause("l2_tlb_latency", settings) == std::vector<std::size_t>{1});
  CHECK(settings_of_cause("l2_tlb_misses", settings).empty());
}

}  // namespace pair_effects_test
