// SPDX-License-Identifier: Apache-2.0
// The warps of an SM alone: slots, contexts, barriers, and blocks that are swapped out and in.
#include "farfault/compute/warp_contexts.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace warp_contexts_test {

using namespace farfault;

namespace {

auto const kAnywhere = [](std::uint32_t) {};

// Takes all slots that may issue at `now`.
std::vector<std::uint32_t> take_ready(WarpContexts& w, Time now) {
  std::vector<std::uint32_t> slots;
  for (auto ready = w.ready(now); ready != 0;) {
    slots.push_back(static_cast<std::uint32_t>(std::countr_zero(ready)));
    ready = w.take(slots.back());
  }
  return slots;
}

using Slots = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("warp contexts: a block's warps take the lowest free slots and may issue from its start on") {
  WarpContexts w(8, 8, 4);
  Slots placed;
  auto const a = w.start(70, 0, 3, Time{10ns}, [&](std::uint32_t slot) { placed.push_back(slot); });
  w.start(71, 0, 2, Time{20ns}, [&](std::uint32_t slot) { placed.push_back(slot); });
  CHECK(placed == Slots{0, 1, 2, 3, 4});
  CHECK(w.free_slots() == 3);
  CHECK(w.live(a) == 3);
  CHECK(w.earliest(Time{5ns}) == Time{10ns});
  CHECK(take_ready(w, Time{9ns}).empty());
  CHECK(take_ready(w, Time{10ns}) == Slots{0, 1, 2});
  CHECK(take_ready(w, Time{20ns}) == Slots{3, 4});
  CHECK(w.earliest(Time{20ns}) == Time::max());
  CHECK(w[w.in_slot(1)].block == 70);
  CHECK(w[w.in_slot(1)].index == 1);
  CHECK(w[w.in_slot(3)].block == 71);
}

TEST_CASE("warp contexts: a completed block frees its contexts, a completed warp frees its slot") {
  WarpContexts w(4, 4, 2);
  w.start(1, 0, 2, Time{}, kAnywhere);
  auto const first = w.in_slot(0);
  auto const second = w.in_slot(1);
  CHECK_FALSE(w.end(first, Time{1ns}));
  CHECK(w.free_slots() == 3);
  CHECK(w.waiting().live == 1);
  CHECK(w.end(second, Time{1ns}));
  CHECK(w.free_slots() == 4);
  for (std::uint64_t block = 2; block < 100; ++block) {
    w.start(block, 0, 4, Time{2ns}, kAnywhere);
    for (std::uint32_t slot = 0; slot < 4; ++slot) CHECK(w.end(w.in_slot(slot), Time{3ns}) == (slot == 3));
  }
}

TEST_CASE("warp contexts: a barrier opens one tick after the last active warp arrives") {
  WarpContexts w(8, 8, 2);
  w.start(1, 0, 3, Time{}, kAnywhere);
  w.start(2, 0, 1, Time{}, kAnywhere);
  take_ready(w, Time{});
  w.wait_at_barrier(w.in_slot(0), Time{5ns});
  w.wait_at_barrier(w.in_slot(2), Time{6ns});
  CHECK(w.earliest(Time{6ns}) == Time::max());
  CHECK(w.waiting().at_barrier == 2);
  w.end(w.in_slot(1), Time{7ns});
  CHECK(w.earliest(Time{7ns}) == Time{7ns} + Duration{1});
  CHECK(take_ready(w, Time{8ns}) == Slots{0, 2});
  CHECK(w.waiting().at_barrier == 0);
}

TEST_CASE("warp contexts: warps that wait for the load/store unit or the scalar cache are woken together") {
  WarpContexts w(4, 4, 1);
  w.start(1, 0, 4, Time{}, kAnywhere);
  take_ready(w, Time{});
  w.wait_for_load_store(1);
  w.wait_for_load_store(3);
  w.wait_for_scalar(0);
  w.load_store_free(Time{4ns});
  CHECK(take_ready(w, Time{4ns}) == Slots{1, 3});
  w.scalar_free(Time{5ns});
  CHECK(take_ready(w, Time{5ns}) == Slots{0});
  w.load_store_free(Time{6ns});
  CHECK(take_ready(w, Time{6ns}).empty());
}

TEST_CASE(
    "warp contexts: a block is swapped out with outstanding accesses, whose responses find it in other "
    "slots") {
  WarpContexts w(2, 6, 3);
  auto const a = w.start(1, 0, 2, Time{}, kAnywhere);
  auto const loading = w.in_slot(0);
  auto const early = w.in_slot(1);
  take_ready(w, Time{});
  for (auto const c : {loading, early}) {
    w[c].loads = 1;
    w[c].waits_for_loads = 1;
  }
  w.swap_out(a);
  CHECK(w.free_slots() == 2);
  CHECK(w.waiting().accesses == 2);

  // One load returns while the block is swapped out; another block uses the slots.
  w[early].loads = 0;
  w[early].waits_for_loads = 0;
  w.wake(early, Time{50ns});
  auto const b = w.start(2, 0, 1, Time{60ns}, kAnywhere);
  CHECK(take_ready(w, Time{60ns}) == Slots{0});
  CHECK(w[w.in_slot(0)].block == 2);
  w.swap_out(b);
  w.start(3, 0, 1, Time{70ns}, kAnywhere);  // in slot 0
  CHECK(w.end(w.in_slot(0), Time{80ns}));
  w.swap_in(b, Time{80ns}, kAnywhere);  // its one warp, into slot 0
  CHECK(w.end(w.in_slot(0), Time{90ns}));

  Slots placed;
  w.swap_in(a, Time{100ns}, [&](std::uint32_t slot) { placed.push_back(slot); });
  CHECK(placed == Slots{0, 1});
  CHECK(take_ready(w, Time{99ns}).empty());
  CHECK(take_ready(w, Time{100ns}) == Slots{w[early].slot});  // its load has returned
  w[loading].loads = 0;
  w[loading].waits_for_loads = 0;
  w.wake(loading, Time{120ns});
  CHECK(w.earliest(Time{110ns}) == Time{120ns});
  CHECK(take_ready(w, Time{120ns}) == Slots{w[loading].slot});
}

TEST_CASE("warp contexts: a warp swapped in early is not ready before its own time") {
  WarpContexts w(1, 1, 1);
  auto const b = w.start(1, 0, 1, Time{500ns}, kAnywhere);
  w.swap_out(b);
  w.swap_in(b, Time{100ns}, kAnywhere);
  CHECK(w.earliest(Time{100ns}) == Time{500ns});
}

TEST_CASE(
    "warp contexts: a block swapped out at a barrier still waits there, and the barrier opens after its "
    "return") {
  WarpContexts w(3, 6, 2);
  auto const a = w.start(1, 0, 3, Time{}, kAnywhere);
  take_ready(w, Time{});
  auto const last = w.in_slot(2);
  w.wait_at_barrier(w.in_slot(0), Time{1ns});
  w.wait_at_barrier(w.in_slot(1), Time{1ns});
  w.swap_out(a);
  CHECK(w.waiting().at_barrier == 2);
  w.swap_in(a, Time{10ns}, kAnywhere);
  CHECK(w.waiting().at_barrier == 2);
  CHECK(take_ready(w, Time{10ns}) == Slots{w[last].slot});
  w.wait_at_barrier(last, Time{12ns});
  CHECK(take_ready(w, Time{13ns}).size() == 3);
}

TEST_CASE("warp contexts: a warp is stalled on faults only while all awaited accesses are faulted") {
  WarpContexts w(2, 2, 1);
  w.start(1, 0, 1, Time{}, kAnywhere);
  auto const c = w.in_slot(0);
  take_ready(w, Time{});
  w[c].loads = 2;
  w[c].stores = 1;
  w.fault(c, false);
  w.fault(c, false);
  CHECK_FALSE(w.waits_for_faults(c));  // it still issues
  w[c].waits_for_loads = 1;
  CHECK(w.waits_for_faults(c));  // it does not wait for its store
  w[c].waits_for_stores = 1;
  CHECK_FALSE(w.waits_for_faults(c));
  w.fault(c, true);
  CHECK(w.waits_for_faults(c));
  w.replay(c, false);
  CHECK_FALSE(w.waits_for_faults(c));
  --w[c].loads;  // that load is complete
  CHECK(w.waits_for_faults(c));
  w.replay(c, false);
  w.replay(c, true);
  --w[c].loads;
  CHECK_FALSE(w.waits_for_faults(c));
  w[c].stores = w[c].waits_for_loads = w[c].waits_for_stores = 0;
  CHECK_FALSE(w.waits_for_faults(c));  // nothing to wait for
}

TEST_CASE(
    "warp contexts: a block is stalled on faults only if its warps are, or wait for them at the barrier") {
  WarpContexts w(8, 8, 2);
  auto const b = w.start(1, 0, 3, Time{}, kAnywhere);
  w.start(2, 0, 1, Time{}, kAnywhere);
  auto const fault = [&](std::uint32_t c) {
    w[c].loads = 1;
    w[c].waits_for_loads = 1;
    w.fault(c, false);
  };
  auto const first = w.in_slot(0);
  auto const second = w.in_slot(1);
  auto const third = w.in_slot(2);
  take_ready(w, Time{});
  CHECK_FALSE(w.block_waits_for_faults(b));
  fault(first);
  CHECK(w.waiting_for_faults().warps == 1);
  CHECK(w.waiting_for_faults().blocks == 0);
  w.wait_at_barrier(second, Time{1ns});
  CHECK_FALSE(w.block_waits_for_faults(b));  // the third runs
  w.end(third, Time{2ns});
  CHECK(w.block_waits_for_faults(b));
  CHECK(w.waiting_for_faults().blocks == 1);
  w.swap_out(b);  // it still waits when swapped out
  CHECK(w.block_waits_for_faults(b));
  CHECK(w.waiting_for_faults().warps == 1);
  w.swap_in(b, Time{3ns}, kAnywhere);
  CHECK(w.block_waits_for_faults(b));
  w.replay(first, false);
  CHECK_FALSE(w.block_waits_for_faults(b));
  CHECK(w.waiting_for_faults().warps == 0);
}

TEST_CASE("warp contexts: a completed block is not stalled on faults, whatever its contexts held") {
  WarpContexts w(1, 1, 1);
  auto const b = w.start(1, 0, 1, Time{}, kAnywhere);
  auto const c = w.in_slot(0);
  w[c].loads = w[c].waits_for_loads = 1;
  w.fault(c, false);
  w.end(c, Time{1ns});
  CHECK_FALSE(w.block_waits_for_faults(b));
  CHECK_FALSE(w.waits_for_faults(c));
  CHECK(w.waiting_for_faults().warps == 0);
  w.start(2, 0, 1, Time{2ns}, kAnywhere);  // into the same context
  CHECK(w[w.in_slot(0)].faulted_loads == 0);
}

TEST_CASE(
    "warp contexts: hundreds of blocks share eight slots; every warp issues each step once, in its slot") {
  constexpr std::uint32_t kBlocks = 300;
  constexpr std::uint32_t kWarps = 4;
  constexpr std::uint64_t kSteps = 20;
  WarpContexts w(8, kBlocks * kWarps, kBlocks);
  std::mt19937 random(7);
  std::set<std::uint32_t> away;
  std::set<std::uint32_t> resident;
  std::uint32_t started = 0;
  std::uint64_t issued = 0;
  std::uint64_t left = 0;
  auto now = Time{};
  auto const random_one_of = [&](std::set<std::uint32_t> const& blocks) {
    return *std::next(blocks.begin(), static_cast<std::ptrdiff_t>(random() % blocks.size()));
  };
  auto const fill = [&] {
    while (w.free_slots() >= kWarps && (started < kBlocks || !away.empty())) {
      if (started < kBlocks && (away.empty() || random() % 2 == 0)) {
        resident.insert(w.start(started++, 0, kWarps, now, kAnywhere));
      } else {
        auto const back = random_one_of(away);
        away.erase(back);
        resident.insert(back);
        w.swap_in(back, now, kAnywhere);
      }
    }
  };
  for (fill(); !resident.empty(); fill(), now += 1ns) {
    for (auto const slot : take_ready(w, now)) {
      auto const context = w.in_slot(slot);
      CHECK(w[context].slot == slot);
      ++issued;
      if (++w[context].step < kSteps) {
        w.wake(context, now + (1 + random() % 3) * 1ns);
      } else if (w.end(context, now)) {
        resident.erase(w[context].block_context);
      }
    }
    if (!resident.empty() && random() % 4 == 0) {
      auto const swapped = random_one_of(resident);
      resident.erase(swapped);
      away.insert(swapped);
      w.swap_out(swapped);
      ++left;
    }
  }
  CHECK(left > kBlocks);
  CHECK(issued == kBlocks * kWarps * kSteps);
  CHECK(w.waiting().live == 0);
  CHECK(w.free_slots() == 8);
}

TEST_CASE(
    "warp contexts: the earliest time is the first warp's, in any order of waking, leaving and ending") {
  WarpContexts w(16, 64, 32);
  std::mt19937 random(11);
  std::map<std::uint32_t, Time> timed;  // by slot
  std::set<std::uint32_t> ready;
  std::vector<std::uint32_t> here, away;
  auto now = Time{};
  auto const timed_at = [&](Time at) { return [&, at](std::uint32_t slot) { timed[slot] = at; }; };
  auto const some = [&](std::vector<std::uint32_t>& of) {
    auto const i = random() % of.size();
    auto const b = of[i];
    of.erase(of.begin() + static_cast<std::ptrdiff_t>(i));
    return b;
  };
  auto const clear_slot = [&](std::uint32_t slot) {
    timed.erase(slot);
    ready.erase(slot);
  };
  bool equal = true;
  for (int step = 0; step < 20'000; ++step) {
    now += Duration{random() % 3};
    std::vector<std::uint32_t> slots;  // with a warp
    for (std::uint32_t slot = 0; slot < 16; ++slot)
      if (w.in_slot(slot) != WarpContexts::kNone) slots.push_back(slot);
    auto const choice = random() % 16;
    if (choice == 0 && w.free_slots() >= 2 && here.size() + away.size() < 30) {
      here.push_back(w.start(1, 0, 2, now, timed_at(now)));
    } else if (choice == 1 && !here.empty()) {
      auto const b = some(here);
      for (auto const slot : slots)
        if (w[w.in_slot(slot)].block_context == b) clear_slot(slot);
      w.swap_out(b);
      away.push_back(b);
    } else if (choice == 2 && !away.empty() && w.free_slots() >= 2) {
      auto const b = some(away);
      w.swap_in(b, now, [](std::uint32_t) {});
      for (std::uint32_t slot = 0; slot < 16; ++slot)
        if (auto const c = w.in_slot(slot); c != WarpContexts::kNone && w[c].block_context == b)
          timed[slot] = std::max(w[c].ready_at, now);
      here.push_back(b);
    } else if (choice == 3 && !slots.empty()) {
      auto const slot = slots[random() % slots.size()];
      auto const c = w.in_slot(slot);
      auto const b = w[c].block_context;
      clear_slot(slot);
      if (w.end(c, now)) std::erase(here, b);
    } else if (choice < 11 && !slots.empty()) {
      auto const slot = slots[random() % slots.size()];
      auto const at = now + Duration{random() % 50};
      w.wake(w.in_slot(slot), at);
      timed[slot] = at;
    } else if (random() % 4 == 0) {
      w.ready(now);
      for (auto const& [slot, at] : std::map(timed))
        if (at <= now) {
          timed.erase(slot);
          ready.insert(slot);
        }
      for (auto const slot : std::set(ready))
        if (random() % 2 == 0) {
          w.take(slot);
          ready.erase(slot);
        }
    }
    auto first = ready.empty() ? Time::max() : now;
    for (auto const& [slot, at] : timed) first = std::min(first, at);
    equal = equal && w.earliest(now) == first;
  }
  CHECK(equal);
}

}  // namespace warp_contexts_test
