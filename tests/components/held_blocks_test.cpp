// SPDX-License-Identifier: Apache-2.0
// Thread blocks beyond the issuing ones, without an SM: the block that is swapped in next, the block whose
// context must be saved, and the number of blocks that the policies allow.
#include "farfault/compute/held_blocks.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "choices.hpp"
#include "farfault/compute/thread_blocks.hpp"

namespace held_blocks_test {

using namespace farfault;

namespace {

auto const kAll = [](std::uint32_t) { return true; };

// Room for two issuing warps, and for 300 registers.
SmParams limits() {
  SmParams sm;
  sm.max_warps = 2;
  sm.registers = 300;
  return sm;
}
SmUse one_warp(std::uint32_t registers = 100) {
  return {.warps = 1, .threads = 64, .blocks = 1, .registers = registers, .shared_bytes = 0};
}

HeldBlocks two_issuing() {
  HeldBlocks held(8, 4);
  held.add(0, one_warp(), true);
  held.add(1, one_warp(), true);
  return held;
}

// Up to four extra blocks.
PolicyChoice<ThreadBlocks> oversubscription(std::string const& reference, std::string const& decrease) {
  PolicyChoice<ThreadBlocks> choice("thread_oversubscription");
  test::set_parameter(choice, "thread_oversubscription.blocks", "4");
  test::set_parameter(choice, "thread_oversubscription.reference", reference);
  test::set_parameter(choice, "thread_oversubscription.decrease", decrease);
  return choice;
}

// Number of extra blocks after each period. Ten pages with the given lifetime in ns are evicted in a period;
// 0: none.
std::vector<std::uint32_t> extra_after(PolicyChoice<ThreadBlocks> const& choice,
                                       std::vector<std::uint64_t> const& lifetimes) {
  auto p = choice.make({Clock{1'000'000'000}, 16});
  std::vector<std::uint32_t> extra;
  for (auto const ns : lifetimes) {
    p->period_ended(ns == 0 ? ThreadBlocks::Evictions{} : ThreadBlocks::Evictions{10, 0, ns * 10'000});
    extra.push_back(p->extra());
  }
  return extra;
}
using Extra = std::vector<std::uint32_t>;

Policy<ThreadBlocks> policy(PolicyChoice<ThreadBlocks> const& choice, std::uint32_t sms = 16) {
  return choice.make({Clock{1'000'000'000}, sms});
}

}  // namespace

TEST_CASE("held blocks: a block has room while it can issue and its registers are free") {
  auto const sm = limits();
  HeldBlocks held(4, 1);
  CHECK(held.has_room(one_warp(300), sm));
  CHECK_FALSE(held.has_room(one_warp(301), sm));
  held.add(0, one_warp(), true);
  CHECK(held.has_room(one_warp(200), sm));
  CHECK_FALSE(held.has_room(one_warp(201), sm));
  held.add(1, one_warp(), true);
  CHECK_FALSE(held.has_room(one_warp(0), sm));  // a third warp
  held.end(0);
  CHECK(held.has_room(one_warp(200), sm));
}

TEST_CASE("held blocks: the longest-waiting block is swapped in, and only if there is room") {
  auto const sm = limits();
  auto held = two_issuing();
  held.add(2, one_warp(), false);
  held.add(3, one_warp(), false);
  CHECK(held.waiting() == 2);
  CHECK_FALSE(held.next(sm, HeldBlocks::kNone, 1, kAll));
  held.end(1);
  CHECK(held.next(sm, HeldBlocks::kNone, 1, kAll) == 2);
  CHECK(held.next(sm, HeldBlocks::kNone, 1, [](std::uint32_t b) { return b != 2; }) == 3);
  held.begin_swap_in(2);
  CHECK(held.waiting() == 1);
  CHECK_FALSE(held.next(sm, HeldBlocks::kNone, 1, kAll));
  held.end_swap_in(2);
  CHECK(held.issuing() == std::vector<std::uint32_t>{0, 2});
}

TEST_CASE("held blocks: a swapped-out block is swapped in before a new block that has waited longer") {
  auto const sm = limits();
  auto held = two_issuing();
  held.add(2, one_warp(), false);
  held.swap_out(0, false);
  CHECK_FALSE(held.next(sm, HeldBlocks::kNone, 9, [](std::uint32_t b) { return b == 0; }));  // in transit
  held.end_swap_out(0);
  CHECK(held.waiting() == 2);
  CHECK(held.next(sm, HeldBlocks::kNone, 9, kAll) == 0);
}

TEST_CASE("held blocks: the number of blocks swapped out is limited") {
  auto const sm = limits();
  auto held = two_issuing();
  held.add(2, one_warp(), false);
  held.add(3, one_warp(), false);
  CHECK_FALSE(held.next(sm, 0, 0, kAll));
  CHECK(held.next(sm, 0, 1, kAll) == 2);
  held.swap_out(0, false);
  held.end_swap_out(0);
  held.begin_swap_in(2);
  held.end_swap_in(2);
  // Block 0 is stalled. It may be swapped in instead of block 1; with a limit of two, a new block may, too.
  CHECK(held.next(sm, 1, 1, kAll) == 0);
  CHECK_FALSE(held.next(sm, 1, 1, [](std::uint32_t b) { return b == 3; }));
  CHECK(held.next(sm, 1, 2, [](std::uint32_t b) { return b == 3; }) == 3);
}

TEST_CASE("held blocks: a block that is swapped in no longer counts, and another one can be swapped out") {
  auto const sm = limits();
  auto held = two_issuing();
  held.add(2, one_warp(), false);
  held.swap_out(0, false);
  held.end_swap_out(0);
  held.begin_swap_in(2);
  held.end_swap_in(2);
  held.end(1);
  held.begin_swap_in(0);
  held.end_swap_in(0);
  CHECK(held.waiting() == 0);
  held.add(3, one_warp(), false);
  CHECK(held.next(sm, 0, 1, kAll) == 3);
}

TEST_CASE("held blocks: a block is saved if its registers and the next block's do not fit together") {
  auto const sm = limits();
  auto held = two_issuing();
  held.add(2, one_warp(100), false);
  held.add(3, one_warp(101), false);
  CHECK_FALSE(held.must_save_for(2, sm));
  CHECK(held.must_save_for(3, sm));
  // All 300 registers are in use: two blocks issue, one is held. Saving a block frees its registers.
  held.swap_out(0, false);
  held.end_swap_out(0);
  held.begin_swap_in(2);
  held.end_swap_in(2);
  CHECK_FALSE(held.has_room(one_warp(1), sm));
  held.swap_out(1, true);
  CHECK(held[1].saved == 1);
  held.end_swap_out(1);
  CHECK(held.has_room(one_warp(100), sm));
  CHECK_FALSE(held.has_room(one_warp(101), sm));
  // Swapping in allocates them again.
  held.begin_swap_in(1);
  CHECK(held[1].place == HeldBlock::Place::restoring);
  held.end_swap_in(1);
  CHECK(held[1].saved == 0);
  CHECK_FALSE(held.has_room(one_warp(1), sm));
}

TEST_CASE("held blocks: each saved block has its own area until it is restored") {
  auto const sm = limits();
  auto held = two_issuing();
  held.swap_out(0, true);
  held.end_swap_out(0);
  held.add(2, one_warp(), true);
  held.swap_out(1, true);
  held.end_swap_out(1);
  CHECK(held[0].area != held[1].area);
  auto const area = held[0].area;
  held.begin_swap_in(0);
  held.end_swap_in(0);
  held.swap_out(2, true);
  CHECK(held[2].area == area);
  CHECK(held.next(sm, HeldBlocks::kNone, 4, kAll) == 1);
}

TEST_CASE("thread blocks: oversubscription begins with one extra block and adds one after each period") {
  PolicyChoice<ThreadBlocks> choice("thread_oversubscription");
  test::set_parameter(choice, "thread_oversubscription.blocks", "4");
  auto p = policy(choice);
  CHECK(p->period() == 100us);
  auto const facts = choice.facts();
  CHECK(facts.swap_trigger == ThreadBlocks::SwapTrigger::faults);
  CHECK(facts.max_extra == 4);
  CHECK(facts.first_extra == 1);
  CHECK(facts.adapts);
  for (std::uint32_t const extra : {1U, 2U, 3U, 4U, 4U}) {
    CHECK(p->extra() == extra);
    CHECK(p->takes(extra - 1, false));
    CHECK_FALSE(p->takes(extra, true));
    p->period_ended({});
  }
}

TEST_CASE(
    "thread blocks: oversubscription removes one if the running mean of lifetimes drops by over a fifth") {
  auto const choice = oversubscription("previous", "one_less");
  auto p = policy(choice);
  p->period_ended({10, 0, 10'000'000});  // 1000 ns each
  CHECK(p->extra() == 2);
  p->period_ended({2, 0, 2'000'000 - 400'000});  // 967 ns over all
  CHECK(p->extra() == 3);
  p->period_ended({12, 0, 12 * 600'000});  // 783: more than four fifths of it
  CHECK(p->extra() == 4);
  p->period_ended({24, 0, 24 * 400'000});  // 591: less than four fifths
  CHECK(p->extra() == 3);
  p->period_ended({});
  CHECK(p->extra() == 4);
}

TEST_CASE(
    "thread blocks: oversubscription removes one if the page lifetimes of a period are over a fifth "
    "shorter") {
  auto choice = oversubscription("previous", "one_less");
  test::set_parameter(choice, "thread_oversubscription.mean", "period");
  auto p = policy(choice);
  p->period_ended({10, 0, 10'000'000});  // first lifetimes
  CHECK(p->extra() == 2);
  p->period_ended({2, 0, 2 * 800'000});  // a fifth is not more than a fifth
  CHECK(p->extra() == 3);
  p->period_ended({1, 0, 639'900});
  CHECK(p->extra() == 2);
  p->period_ended({});  // nothing to compare
  CHECK(p->extra() == 3);
  p->period_ended({1, 0, 400'000});
  p->period_ended({1, 0, 300'000});
  p->period_ended({1, 0, 200'000});
  CHECK(p->extra() == 0);
  CHECK_FALSE(p->takes(0, true));
  p->period_ended({1, 0, 100'000});
  CHECK(p->extra() == 0);
}

// The running means are 1000, 950, 867, 788, 715, 663, 618, 580: none is a fifth below the previous one.
TEST_CASE("thread blocks: a slowly decreasing running mean is compared with its maximum") {
  std::vector<std::uint64_t> const lifetimes = {1000, 900, 700, 550, 425, 400, 350, 310};
  CHECK(extra_after(oversubscription("previous", "one_less"), lifetimes) == Extra{2, 3, 4, 4, 4, 4, 4, 4});
  CHECK(extra_after(oversubscription("highest", "one_less"), lifetimes) == Extra{2, 3, 4, 3, 2, 1, 0, 0});
  CHECK(extra_after(oversubscription("highest", "limits"), lifetimes) == Extra{2, 3, 4, 3, 2, 1, 0, 0});
  CHECK(extra_after(oversubscription("highest", "none"), lifetimes) == Extra{2, 3, 4, 0, 0, 0, 0, 0});
  PolicyChoice<ThreadBlocks> defaults("thread_oversubscription");
  test::set_parameter(defaults, "thread_oversubscription.blocks", "4");
  CHECK(extra_after(defaults, lifetimes) == Extra{2, 3, 4, 3, 2, 1, 0, 0});
}

TEST_CASE(
    "thread blocks: after a decrease, the number of extra blocks grows again or is limited, as configured") {
  // Means of 1000, 750, 833, 875: below four fifths of the highest, then above.
  std::vector<std::uint64_t> const lifetimes = {1000, 500, 1000, 1000};
  CHECK(extra_after(oversubscription("highest", "one_less"), lifetimes) == Extra{2, 1, 2, 3});
  CHECK(extra_after(oversubscription("highest", "limits"), lifetimes) == Extra{2, 1, 1, 1});
  CHECK(extra_after(oversubscription("highest", "none"), lifetimes) == Extra{2, 0, 0, 0});
}

TEST_CASE("thread blocks: without evictions, a running mean stays below its maximum") {
  std::vector<std::uint64_t> const lifetimes = {1000, 0, 0, 500, 0, 0, 0};
  CHECK(extra_after(oversubscription("highest", "one_less"), lifetimes) == Extra{2, 3, 4, 3, 2, 1, 0});
  CHECK(extra_after(oversubscription("previous", "one_less"), lifetimes) == Extra{2, 3, 4, 3, 4, 4, 4});
  // A period's own mean does not exist in that case.
  auto of_period = oversubscription("highest", "one_less");
  test::set_parameter(of_period, "thread_oversubscription.mean", "period");
  CHECK(extra_after(of_period, lifetimes) == Extra{2, 3, 4, 3, 4, 4, 4});
}

TEST_CASE("thread blocks: oversubscription is steady if a period without evictions changes nothing") {
  for (std::string const reference : {"highest", "previous"})
    for (std::string const decrease : {"limits", "one_less", "none"})
      for (std::string const mean : {"running", "period"}) {
        CAPTURE(reference);
        CAPTURE(decrease);
        CAPTURE(mean);
        auto choice = oversubscription(reference, decrease);
        test::set_parameter(choice, "thread_oversubscription.mean", mean);
        auto p = policy(choice);
        std::uint32_t steady = 0;
        for (auto const ns : {1000, 0, 0, 0, 0, 500, 0, 0, 0, 0, 0, 900, 100, 0, 0, 0, 0, 0, 0}) {
          auto const hash = test::hash_of(p);
          bool const was_steady = p->is_steady();
          p->period_ended(ns == 0 ? ThreadBlocks::Evictions{}
                                  : ThreadBlocks::Evictions{10, 0, static_cast<std::uint64_t>(ns) * 10'000});
          if (ns != 0 || !was_steady) continue;
          CHECK(test::hash_of(p) == hash);
          ++steady;
        }
        CHECK(steady > 0);
      }
}

TEST_CASE("thread blocks: a virtual thread needs registers and shared memory, and no period") {
  PolicyChoice<ThreadBlocks> const choice("virtual_thread");
  auto p = policy(choice);
  auto const facts = choice.facts();
  CHECK(facts.swap_trigger == ThreadBlocks::SwapTrigger::accesses);
  CHECK(facts.context.saved_in == ThreadBlocks::SavedIn::shared_memory);
  CHECK(facts.context.warp_bytes == 80);
  CHECK(facts.first_extra == facts.max_extra);
  CHECK_FALSE(facts.adapts);
  CHECK(p->takes(31, true));
  CHECK_FALSE(p->takes(0, false));
  CHECK_FALSE(p->takes(32, true));
  CHECK(p->period() == Duration::zero());
}

TEST_CASE("thread blocks: throttling halves the SMs at the first evictions, then follows each detection") {
  PolicyChoice<ThreadBlocks> const choice("throttling");
  auto p = policy(choice, 16);
  p->period_ended({});
  CHECK(p->running_sms() >= 16);
  p->period_ended({1, 0, 1000});
  CHECK(p->running_sms() == 8);
  CHECK(p->period() == 400us);  // execution phase
  p->period_ended({5, 5, 5000});
  CHECK(p->running_sms() == 8);
  CHECK(p->period() == 100us);  // detection phase
  p->period_ended({5, 1, 5000});
  CHECK(p->running_sms() == 7);
  p->period_ended({});
  p->period_ended({5, 0, 5000});  // evicted, none prematurely
  CHECK(p->running_sms() == 8);
  auto alone = policy(choice, 1);
  alone->period_ended({1, 1, 1});
  alone->period_ended({1, 1, 1});
  alone->period_ended({1, 1, 1});
  CHECK(alone->running_sms() == 1);
}

TEST_CASE("thread blocks: the state of a policy is saved and loaded") {
  for (auto const& name : test::names_of_known<ThreadBlocks>()) {
    CAPTURE(name);
    PolicyChoice<ThreadBlocks> const choice(name);
    auto p = policy(choice);
    auto q = policy(choice);
    p->period_ended({4, 1, 4'000'000});
    p->period_ended({4, 1, 1'000'000});
    test::copy_state(p, q);
    CHECK(test::hash_of(p) == test::hash_of(q));
    CHECK(q->extra() == p->extra());
    CHECK(q->running_sms() == p->running_sms());
    p->period_ended({4, 1, 1'000'000});
    q->period_ended({4, 1, 1'000'000});
    CHECK(test::hash_of(p) == test::hash_of(q));
  }
}

}  // namespace held_blocks_test
