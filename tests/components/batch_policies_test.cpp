// SPDX-License-Identifier: Apache-2.0
// Policies of batches, each alone: prefetchers, eviction orders, eviction schedules, and replay policies.
#include <doctest/doctest.h>

#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "choices.hpp"
#include "farfault/paging/eviction_order.hpp"
#include "farfault/paging/eviction_schedule.hpp"
#include "farfault/paging/fault_replay.hpp"
#include "farfault/paging/prefetcher.hpp"
#include "policies.hpp"

namespace batch_policies_test {

using namespace farfault;

namespace {

BlockPages range(std::size_t first, std::size_t count) {
  BlockPages pages;
  for (auto p = first; p < first + count; ++p) pages.set(p);
  return pages;
}
// A block whose other pages may all be prefetched.
Prefetcher::Block block(BlockPages const& faulted, BlockPages const& resident = {}) {
  return {faulted, resident, ~(faulted | resident)};
}
BlockPages tree(std::string_view threshold, Prefetcher::Block const& b, unsigned page_bits = 12) {
  return test::chosen<Prefetcher>("tree", {{"threshold", threshold}}).make({page_bits})->choose(b);
}
BlockPages sequential(std::string_view bytes, Prefetcher::Block const& b, unsigned page_bits = 12) {
  return test::chosen<Prefetcher>("sequential", {{"bytes", bytes}}).make({page_bits})->choose(b);
}

}  // namespace

TEST_CASE("prefetch 'none' prefetches no pages") {
  PolicyChoice<Prefetcher> const none("none");
  CHECK(none.make({12})->choose(block(range(3, 40), range(50, 400))).none());
}

TEST_CASE(
    "prefetch 'sequential' adds a number of bytes after each faulted page, in whole pages within the block") {
  CHECK(sequential("16KiB", block(range(10, 1))) == range(11, 4));
  CHECK(sequential("4KiB", block(range(10, 1))) == range(11, 1));
  CHECK(sequential("4097 B", block(range(10, 1))) == range(11, 2));
  CHECK(sequential("16KiB", block(range(510, 1))) == range(511, 1));
  CHECK(sequential("16KiB", block(range(511, 1))).none());
  CHECK(sequential("2MiB", block(range(0, 1))) == range(1, 511));
}

TEST_CASE("prefetch 'sequential' restarts at each faulted page and skips pages that cannot migrate") {
  CHECK(sequential("16KiB", block(range(10, 1) | range(12, 1))) == (range(11, 1) | range(13, 4)));
  auto b = block(range(10, 1), range(12, 1));
  b.candidates.reset(13);
  CHECK(sequential("16KiB", b) == (range(11, 1) | range(14, 1)));
}

TEST_CASE("prefetch 'sequential' with large pages adds at least one page of the block") {
  auto const block_of = [](std::size_t faulted) {
    return Prefetcher::Block{range(faulted, 1), {}, range(0, 32) & ~range(faulted, 1)};
  };
  CHECK(sequential("4KiB", block_of(3), 16) == range(4, 1));
  CHECK(sequential("128KiB", block_of(3), 16) == range(4, 2));
  CHECK(sequential("2MiB", block_of(30), 16) == range(31, 1));
}

TEST_CASE("prefetch 'tree' adds the 64 KiB around a faulted page at any threshold") {
  for (auto const* threshold : {"50", "51", "100"}) {
    CAPTURE(std::string(threshold));
    CHECK(tree(threshold, block(range(20, 1))) == (range(16, 16) & ~range(20, 1)));
    CHECK(tree(threshold, block(range(511, 1))) == range(496, 15));
  }
}

TEST_CASE("prefetch 'tree' adds a subtree only if its resident and requested share exceeds the threshold") {
  // The leaf adds half of 32 pages.
  CHECK(tree("49", block(range(0, 1))) == range(1, 31));
  CHECK(tree("50", block(range(0, 1))) == range(1, 15));
  // With one more resident page it is 17 of 32: 53.1%.
  CHECK(tree("53", block(range(0, 1), range(20, 1))) == (range(1, 31) & ~range(20, 1)));
  CHECK(tree("54", block(range(0, 1), range(20, 1))) == range(1, 15));
  // NVIDIA's 51% of the whole block: 262 pages of 512 (246 of them resident) exceed it, 261 do not.
  CHECK(tree("51", block(range(0, 1), range(256, 246))) == (range(1, 255) | range(502, 10)));
  CHECK(tree("51", block(range(0, 1), range(256, 245))) == range(1, 15));
  CHECK(tree("100", block(range(0, 1), range(16, 496))) == range(1, 15));
  CHECK(tree("99", block(range(0, 1), range(16, 495))) == (range(1, 15) | range(511, 1)));
}

TEST_CASE("prefetch 'tree' adds the largest qualifying subtree, even if a smaller one does not qualify") {
  // Pages 0 to 15 are migrated, 32 to 63 are resident: 16 of 32, but 48 of 64.
  CHECK(tree("50", block(range(0, 1), range(32, 32))) == range(1, 31));
}

TEST_CASE("prefetch 'tree': pages added for one fault do not affect the decision for the next fault") {
  // Counted: 17 of pages 0 to 31, and 33 of 64 to 127, i.e. 50 of 0 to 127. With all of 0 to 31 it would be
  // 65.
  auto const chosen =
      tree("50", block(range(0, 1) | range(64, 1), range(20, 1) | range(81, 1) | range(96, 16)));
  CHECK(chosen == ((range(1, 31) | range(65, 63)) & ~(range(20, 1) | range(81, 1) | range(96, 16))));
}

TEST_CASE("prefetch 'tree' neither counts nor adds pages that cannot migrate") {
  auto b = block(range(0, 1));
  b.candidates &= ~range(8, 8);
  CHECK(tree("49", b) == range(1, 7));                    // 8 of 32
  CHECK(tree("24", b) == (range(1, 7) | range(16, 16)));  // 8 of 32, but not more than 8 of 64
}

TEST_CASE("prefetch 'tree' has one page per leaf with 64 KiB pages; a 2 MiB page is migrated alone") {
  auto const there = [](BlockPages const& faulted, BlockPages const& resident, std::size_t pages) {
    return Prefetcher::Block{faulted, resident, range(0, pages) & ~(faulted | resident)};
  };
  CHECK(tree("50", there(range(4, 1), {}, 32), 16).none());
  CHECK(tree("49", there(range(4, 1), {}, 32), 16) == range(5, 1));
  CHECK(tree("50", there(range(0, 1), range(1, 2), 32), 16) == range(3, 1));
  CHECK(tree("50", there(range(0, 1), range(1, 16), 32), 16) == range(17, 15));
  CHECK(tree("1", there(range(0, 1), {}, 1), 21).none());
}

TEST_CASE("every prefetcher adds only pages that can migrate") {
  std::mt19937_64 random(9);
  for (auto const& name : test::names_of_known<Prefetcher>()) {
    CAPTURE(name);
    auto const prefetcher = PolicyChoice<Prefetcher>(name).make({12});
    for (int round = 0; round < 100; ++round) {
      Prefetcher::Block b;
      for (std::size_t p = 0; p < b.faulted.size(); ++p) switch (random() % 8) {
          case 0:
            b.faulted.set(p);
            break;
          case 1:
            b.resident.set(p);
            break;
          case 2:
            break;  // ends no buffer
          default:
            b.candidates.set(p);
        }
      CHECK((prefetcher->choose(b) & ~b.candidates).none());
    }
  }
}

namespace {

auto const kAny = [](std::uint64_t) { return true; };

}  // namespace

TEST_CASE("every eviction order returns resident, evictable units until none are left") {
  for (auto const& name : test::names_of_known<EvictionOrder>()) {
    CAPTURE(name);
    auto order = PolicyChoice<EvictionOrder>(name).make({12, 1});
    CHECK(!order->victim(kAny));
    std::mt19937_64 random(7);
    std::set<std::uint64_t> there;
    for (int i = 0; i < 3000; ++i) {
      auto const unit = (random() % 60) * 16;
      if (random() % 2 == 0) {
        order->arrived(unit);
        there.insert(unit);
      } else {
        order->removed(unit);
        there.erase(unit);
      }
      auto const divisor = 1 + random() % 3;
      auto const may = [&](std::uint64_t u) { return u / 16 % divisor == 0; };
      auto const victim = order->victim(may);
      bool const some = std::any_of(there.begin(), there.end(), may);
      REQUIRE(victim.has_value() == some);
      if (victim) {
        CHECK(there.count(*victim) == 1);
        CHECK(may(*victim));
      }
    }
    // Each unit once.
    while (auto const victim = order->victim(kAny)) {
      REQUIRE(there.erase(*victim) == 1);
      order->removed(*victim);
    }
    CHECK(there.empty());
  }
}

TEST_CASE("eviction order 'aged_lru': only another migrated page of a unit moves it to the end") {
  auto order = PolicyChoice<EvictionOrder>("aged_lru").make({12, 1});
  for (std::uint64_t const unit : {0U, 512U, 1024U}) order->arrived(unit);
  CHECK(order->victim(kAny) == 0);
  CHECK(order->victim(kAny) == 0);  // victim() changes nothing
  order->arrived(0);
  CHECK(order->victim(kAny) == 512);
  CHECK(order->victim([](std::uint64_t unit) { return unit != 512; }) == 1024);
  CHECK(order->victim(kAny) == 512);
  order->removed(512);
  order->removed(1024);
  CHECK(order->victim(kAny) == 0);
  order->arrived(512);
  CHECK(order->victim(kAny) == 0);
}

TEST_CASE(
    "eviction order 'lru': the last access moves a unit to the end; an epoch's working set has each unit "
    "once") {
  auto const choice = test::chosen<EvictionOrder>("lru", {{"epoch", "10us"}});
  auto order = choice.make({12, 1});
  auto const counted = [&] {
    std::vector<std::uint64_t> values(2);
    order.sample(values.data());
    return values;  // number of epochs, accessed units
  };
  for (std::uint64_t const unit : {0U, 16U, 32U}) order->arrived(unit);
  CHECK(order->victim(kAny) == 0);
  CHECK(counted() == std::vector<std::uint64_t>{0, 0});
  order->used(0, Time{1us});
  order->used(16, Time{2us});
  order->used(0, Time{9us});
  CHECK(order->victim(kAny) == 32);
  CHECK(counted() == std::vector<std::uint64_t>{1, 2});
  order->used(48, Time{9us});  // not resident
  CHECK(counted() == std::vector<std::uint64_t>{1, 2});
  order->used(0, Time{10us});
  order->used(32, Time{35us});
  CHECK(counted() == std::vector<std::uint64_t>{3, 4});
  CHECK(order->victim(kAny) == 16);
  auto loaded = choice.make({12, 1});
  test::copy_state(order, loaded);
  order = std::move(loaded);
  order->used(32, Time{39us});
  CHECK(counted() == std::vector<std::uint64_t>{3, 4});
}

TEST_CASE("eviction order 'random' is SplitMix64's sequence over the units, then the next evictable unit") {
  // The first numbers of seed 1234567, from Rosetta Code (Pseudo-random numbers/Splitmix64).
  constexpr std::uint64_t kFirst[]{6457827717110365317ULL, 3203168211198807973ULL, 9817491932198370423ULL};
  constexpr std::uint64_t kUnits = 1000;
  auto const with_units = [] {
    auto order = test::chosen<EvictionOrder>("random", {{"seed", "1234567"}}).make({12, 1});
    for (std::uint64_t i = 0; i < kUnits; ++i) order->arrived(i * 16);
    for (std::uint64_t i = 0; i < kUnits; ++i) order->arrived(i * 16);  // further pages change nothing
    return order;
  };
  auto order = with_units();
  for (auto const number : kFirst) CHECK(order->victim(kAny) == number % kUnits * 16);
  auto again = with_units();
  auto const taken = kFirst[0] % kUnits;
  CHECK(again->victim([&](std::uint64_t unit) { return unit != taken * 16; }) == (taken + 1) % kUnits * 16);
  // The last unit takes the place of the removed one.
  again->removed(kFirst[1] % kUnits * 16);
  CHECK(again->victim(kAny) == kFirst[1] % (kUnits - 1) * 16);
}

TEST_CASE(
    "eviction order 'random': equal seeds give equal orders, also after saving; other seeds give others") {
  auto const order_of = [](std::string const& seed, bool saved) {
    auto const choice = test::chosen<EvictionOrder>("random", {{"seed", seed}});
    auto order = choice.make({12, 1});
    for (std::uint64_t i = 0; i < 40; ++i) order->arrived(i * 16);
    std::vector<std::uint64_t> all;
    while (auto const unit = order->victim(kAny)) {
      all.push_back(*unit);
      REQUIRE(all.size() <= 40);
      order->removed(*unit);
      if (!saved) continue;
      auto loaded = choice.make({12, 1});
      test::copy_state(order, loaded);
      order = std::move(loaded);
    }
    CHECK(std::set<std::uint64_t>(all.begin(), all.end()).size() == 40);
    return all;
  };
  CHECK(order_of("1", false) == order_of("1", false));
  CHECK(order_of("1", false) == order_of("1", true));
  CHECK(order_of("1", false) != order_of("2", false));
}

TEST_CASE("eviction order 'random' chooses each unit about equally often") {
  auto order = PolicyChoice<EvictionOrder>("random").make({12, 1});
  for (std::uint64_t i = 0; i < 8; ++i) order->arrived(i);
  std::vector<int> chosen(8);
  for (int i = 0; i < 8000; ++i) ++chosen[*order->victim(kAny)];
  for (auto const n : chosen) {
    CHECK(n > 850);
    CHECK(n < 1150);
  }
}

namespace {

EvictionSchedule::Snapshot moment(std::uint64_t free, bool waits, std::uint32_t in, std::uint32_t unmapping,
                                  std::uint32_t unmapped, std::uint32_t out) {
  return {.free_frames = free,
          .page_needs_frame = waits,
          .in = in,
          .unmapping = unmapping,
          .unmapped = unmapped,
          .out = out};
}
Policy<EvictionSchedule> schedule(std::string const& name) {
  return PolicyChoice<EvictionSchedule>(name).make({});
}

}  // namespace

TEST_CASE(
    "every schedule starts and completes an eviction if a page waits for a frame and nothing else happens") {
  for (auto const& name : test::names_of_known<EvictionSchedule>()) {
    CAPTURE(name);
    CHECK(schedule(name)->evicts(moment(0, true, 0, 0, 0, 0)));
    CHECK(schedule(name)->writes_out(moment(0, true, 0, 0, 1, 0)));
    CHECK(schedule(name)->reads_in(moment(1, false, 3, 1, 1, 0)));
    CHECK(schedule(name)->reads_in(moment(1, false, 3, 1, 1, 1)) == (name != "serialized"));
    CHECK(PolicyChoice<EvictionSchedule>(name).facts().takes_time == (name != "ideal"));
  }
}

TEST_CASE(
    "schedule 'serialized': one unit at a time starts, only without arrivals, unmappings or evictions") {
  auto const s = schedule("serialized");
  CHECK_FALSE(s->evicts(moment(0, false, 0, 0, 0, 0)));
  CHECK_FALSE(s->evicts(moment(0, true, 1, 0, 0, 0)));
  CHECK_FALSE(s->evicts(moment(0, true, 0, 1, 0, 0)));
  CHECK_FALSE(s->evicts(moment(0, true, 0, 0, 1, 0)));
  CHECK_FALSE(s->evicts(moment(0, true, 0, 0, 0, 1)));
  CHECK(s->writes_out(moment(0, true, 3, 1, 1, 0)));
  CHECK_FALSE(s->writes_out(moment(0, true, 0, 0, 1, 1)));
}

TEST_CASE(
    "schedule 'unobtrusive': the first unit starts with a full GPU's batch, further ones during arrivals") {
  auto const with = [](std::string_view ahead) {
    return test::chosen<EvictionSchedule>("unobtrusive", {{"ahead", ahead}}).make({});
  };
  auto const none = with("0");
  CHECK(none->evicts(moment(0, false, 0, 0, 0, 0)));
  CHECK(none->evicts(moment(0, false, 1, 0, 0, 0)));
  CHECK_FALSE(none->evicts(moment(0, false, 2, 0, 0, 0)));
  CHECK_FALSE(none->evicts(moment(0, false, 1, 0, 0, 1)));
  CHECK_FALSE(none->evicts(moment(1, false, 0, 0, 0, 0)));
  auto const two = with("2");
  CHECK(two->evicts(moment(0, false, 0, 0, 0, 0)));
  for (auto const& in_flight :
       {moment(0, false, 0, 1, 0, 0), moment(0, false, 0, 0, 1, 0), moment(0, true, 0, 0, 0, 1)})
    CHECK_FALSE(two->evicts(in_flight));
  CHECK(two->evicts(moment(0, false, 1, 1, 1, 2)));
  CHECK_FALSE(two->evicts(moment(0, false, 1, 2, 1, 2)));
  CHECK(two->evicts(moment(0, false, 3, 0, 0, 0)));
  CHECK_FALSE(two->evicts(moment(0, false, 4, 0, 0, 0)));
  CHECK_FALSE(two->evicts(moment(1, false, 1, 0, 0, 0)));
}

TEST_CASE(
    "schedule 'unobtrusive': one unit at a time is evicted from a full GPU; during arrivals, further ones "
    "queue at the copy engine") {
  auto const s = schedule("unobtrusive");
  CHECK(s->writes_out(moment(0, false, 0, 0, 1, 0)));
  CHECK_FALSE(s->writes_out(moment(0, false, 0, 0, 1, 1)));
  CHECK(s->writes_out(moment(1, false, 0, 0, 1, 0)));  // a page of the same unit may wait to migrate
  CHECK(s->writes_out(moment(1, false, 1, 0, 1, 1)));
  CHECK_FALSE(s->writes_out(moment(0, true, 1, 0, 1, 2)));
}

TEST_CASE("schedule 'ideal': units start as with 'unobtrusive' and are evicted immediately") {
  for (std::string const ahead : {"0", "1", "3"}) {
    auto const ideal = test::chosen<EvictionSchedule>("ideal", {{"ahead", ahead}}).make({});
    auto const unobtrusive = test::chosen<EvictionSchedule>("unobtrusive", {{"ahead", ahead}}).make({});
    for (std::uint32_t in = 0; in < 6; ++in)
      for (std::uint32_t unmapping = 0; unmapping < 4; ++unmapping)
        for (std::uint32_t unmapped = 0; unmapped < 4; ++unmapped)
          for (std::uint64_t const free : {0U, 1U}) {
            auto const now = moment(free, false, in, unmapping, unmapped, 0);
            CHECK(ideal->evicts(now) == unobtrusive->evicts(now));
            CHECK(ideal->writes_out(now));
          }
  }
}

TEST_CASE("replay policies issue a replay at the same moments as NVIDIA's driver and the paper") {
  using M = FaultReplay::Point;
  using O = FaultReplay::Action;
  struct Case {
    std::string name;
    bool in_batches, by_page;
    O block_mapped, served, buffer_empty;
  };
  for (auto const& c : std::vector<Case>{{"each_fault", false, false, O::none, O::none, O::none},
                                         {"page", true, true, O::none, O::none, O::none},
                                         {"block", true, false, O::replay, O::replay, O::none},
                                         {"batch", true, false, O::none, O::replay, O::none},
                                         {"batch_flush", true, false, O::none, O::flush_and_replay, O::none},
                                         {"once", true, false, O::none, O::none, O::replay}}) {
    CAPTURE(c.name);
    auto const replay = PolicyChoice<FaultReplay>(c.name).facts();
    CHECK(replay.in_batches == c.in_batches);
    CHECK(replay.by_page == c.by_page);
    CHECK(replay.after(M::block_mapped) == c.block_mapped);
    CHECK(replay.after(M::served) == c.served);
    CHECK(replay.after(M::buffer_empty) == c.buffer_empty);
  }
  CHECK(test::names_of_known<FaultReplay>().size() == 6);
}

}  // namespace batch_policies_test
