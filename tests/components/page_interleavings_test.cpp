// SPDX-License-Identifier: Apache-2.0
// Every order of the messages of two changes of pages, and of an access at any moment, in a small world
// (page_world.hpp). Equal states are visited once.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "choices.hpp"
#include "page_machines.hpp"
#include "policies.hpp"

namespace page_interleavings_test {

using namespace farfault;
using namespace page_world;

namespace {

std::vector<Change> const kAll{Change::first_touch, Change::move,     Change::copy,     Change::collapse,
                               Change::evict_home,  Change::coalesce, Change::splinter, Change::free};

using Changes = std::vector<Change>;

bool has(Changes const& all, Change c) {
  return std::ranges::find(all, c) != all.end();
}

// The configuration refuses copies with coalescing and with programs that free memory.
bool is_refused(Changes const& all) {
  return std::ranges::any_of(all, is_of_copies) &&
         (std::ranges::any_of(all, is_of_sizes) || has(all, Change::free));
}

struct Setup {
  std::string replay;      // empty: faults are served one by one
  std::string page_sizes;  // empty: no coalescing
  std::uint64_t frames = 1;
  std::uint32_t spaces = 1;  // 2: equal page numbers in two address spaces
};

std::vector<Setup> setups_for(Changes const& all, bool apart) {
  if (std::ranges::any_of(all, is_of_sizes))
    return {{"", "in_place_coalescer", 4}, {"", "migrating_coalescer", 4}};
  std::vector<Setup> setups;
  for (auto const& replay : test::names_of_known<FaultReplay>())
    if (PolicyChoice<FaultReplay>(replay).facts().in_batches) setups.push_back({replay, "", 1});
  if (has(all, Change::evict_home)) return setups;
  setups.push_back({"", "", 1});
  setups.push_back({"", "", 2});
  if (apart) {
    setups.push_back({"", "", 1, 2});
    if (all.front() == all.back()) setups.push_back({"page", "", 1, 2});  // with all pairs: 30 s more
  }
  return setups;
}

// Change i is of page pages[i].
Result search(Changes const& all, std::vector<std::uint64_t> const& pages, Setup const& setup) {
  std::array<DeviceId, kPages> homes{0, 1};
  if (has(all, Change::splinter) && !has(all, Change::coalesce)) homes[1] = 0;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i] == Change::first_touch) homes.at(pages[i]) = kUnmapped;
  Machine m(homes, setup.frames, setup.spaces);
  if (!setup.replay.empty()) m.with_batches(setup.replay);
  if (!setup.page_sizes.empty()) m.with_coalescing(setup.page_sizes);
  if (std::ranges::any_of(all, is_of_copies)) m.spec.decide_by(PolicyChoice<PageDecision>("duplicate"));
  std::vector<Request> requests;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == Change::free) m.with_program(pages[i]);
    bool const by_next =
        std::ranges::count(pages.begin(), pages.begin() + static_cast<std::ptrdiff_t>(i), pages[i]) == 0;
    auto const home = homes.at(pages[i]) == kUnmapped ? 0 : homes.at(pages[i]);
    for (auto const& r : requests_for(all[i], pages[i], home, by_next))
      if (std::ranges::find(requests, r) == requests.end()) requests.push_back(r);
  }
  m.place_pages();
  // The requests themselves are accesses of several GPUs, so a further one is of use only next to few.
  // Batches have many more orders.
  if (requests.size() > (setup.replay.empty() ? 3U : 1U)) return Search(m.spec, requests).run();
  Result sum;
  for (auto const& access : {write(2, pages.front()), read(0, pages.back())}) {
    auto with = requests;
    with.push_back(access);
    sum.add(Search(m.spec, with).run());
  }
  return sum;
}

// On one page, and on two.
Result search_all(Changes const& all) {
  Result sum;
  bool const coalesces = has(all, Change::coalesce);
  for (bool const apart : {false, true}) {
    std::vector<std::uint64_t> pages;
    for (std::size_t i = 0; i < all.size(); ++i)
      pages.push_back(all[i] == Change::coalesce ? 1 : coalesces ? (apart ? 0 : 1) : apart ? i % 2 : 0);
    for (auto const& setup : setups_for(all, apart)) {
      CAPTURE(apart);
      CAPTURE(setup.replay);
      CAPTURE(setup.page_sizes);
      CAPTURE(setup.frames);
      CAPTURE(setup.spaces);
      auto const r = search(all, pages, setup);
      check(r);
      sum.add(r);
    }
  }
  return sum;
}

std::string name_of_all(Changes const& all) {
  std::string name;
  for (auto const c : all) name += (name.empty() ? "" : " and ") + std::string(name_of(c));
  return name;
}

void check_all(Changes const& all, std::uint64_t& states) {
  auto const name = name_of_all(all);
  CAPTURE(name);
  auto const r = search_all(all);
  for (auto const c : all) CHECK(r.saw(c));
  states += r.states;
}

// Each pair of changes that the configuration allows; only those with or without the eviction of a home.
std::uint64_t check_pairs(bool of_evictions, std::uint64_t& states) {
  std::uint64_t pairs = 0;
  for (std::size_t a = 0; a < kAll.size(); ++a)
    for (std::size_t b = a; b < kAll.size(); ++b) {
      Changes const both{kAll[a], kAll[b]};
      if (is_refused(both) || has(both, Change::evict_home) != of_evictions) continue;
      check_all(both, states);
      ++pairs;
    }
  return pairs;
}

}  // namespace

TEST_CASE("two changes and an access in every order lose no access and no write, and end") {
  std::uint64_t states = 0;
  CHECK(check_pairs(false, states) == 22);
  MESSAGE(states << " states");
}

// A minute: on request (--no-skip).
TEST_CASE("the eviction of a page with copies and another change in every order lose no access and end" *
          doctest::skip()) {
  std::uint64_t states = 0;
  CHECK(check_pairs(true, states) == 5);
  MESSAGE(states << " states");
}

// An hour: on request (--no-skip).
TEST_CASE("three changes and an access in every order lose no access and no write, and end" *
          doctest::skip()) {
  std::uint64_t states = 0;
  for (std::size_t a = 0; a < kAll.size(); ++a)
    for (std::size_t b = a; b < kAll.size(); ++b)
      for (std::size_t c = b; c < kAll.size(); ++c) {
        Changes const three{kAll[a], kAll[b], kAll[c]};
        if (is_refused(three)) continue;
        check_all(three, states);
        MESSAGE(name_of_all(three) << ": " << states << " states so far");
      }
}

// Pages 0 and 1 fill the memories of GPUs 0 and 1, which want each other's page; GPU 2 has a free frame.
TEST_CASE("batches of several GPUs side by side, in every order, lose no access and no write, and end") {
  std::uint64_t states = 0;
  auto const search = [&](std::string const& replay, std::string const& decision,
                          std::vector<Request> const& requests) {
    CAPTURE(replay);
    CAPTURE(decision);
    Machine m({0, 1}, 1);
    m.with_batches(replay);
    m.spec.decide_by(PolicyChoice<PageDecision>(decision));
    m.spec.batch_workers = kGpus;
    m.spec.params.migrations = 4;
    m.place_pages();
    auto const r = Search(m.spec, requests).run();
    check(r);
    states += r.states;
  };
  for (auto const& replay : test::names_of_known<FaultReplay>()) {
    if (!PolicyChoice<FaultReplay>(replay).facts().in_batches) continue;
    search(replay, "migrate", {write(0, 1), write(1, 0)});
    search(replay, "duplicate", {read(0, 1), write(1, 0)});
    search(replay, "migrate", {write(1, 0), write(2, 0)});
  }
  MESSAGE(states << " states");
}

TEST_CASE("pages that counters move or copy lose no access and no write in any order, and end") {
  auto const copies = test::chosen<PageDecision>("duplicate_after", {{"counts", "accesses"}});
  using Requests = std::vector<Request>;
  std::vector<Requests> const three{{count(2, 0), write(1, 0), read(0, 0)},
                                    {count(2, 0), count(0, 0), write(2, 0)},
                                    {count(2, 0), count(2, 1), read(2, 1)},
                                    {count(1, 0), free_of(0), write(2, 0)}};
  std::vector<Requests> const four{{count(2, 0), count(0, 0), write(1, 0), read(0, 0)},
                                   {count(2, 0), count(1, 0), count(2, 1), write(0, 1)}};
  for (bool const copied : {false, true}) {
    for (std::string const replay : {"", "page", "batch"}) {
      for (std::uint64_t const frames : {1U, 2U}) {
        CAPTURE(copied);
        CAPTURE(replay);
        CAPTURE(frames);
        Result sum;
        auto all = three;
        if (replay.empty()) all.insert(all.end(), four.begin(), four.end());
        for (auto const& requests : all) {
          bool const frees = std::ranges::find(requests, free_of(0)) != requests.end();
          if (frees && copied) continue;  // refused
          Machine m({0, 1}, frames);
          if (!replay.empty()) m.with_batches(replay);
          if (frees) m.with_program(0);
          m.spec.decide_by(copied ? copies : PolicyChoice<PageDecision>("access_counters"));
          m.place_pages();
          sum.add(Search(m.spec, requests).run());
        }
        check(sum);
        CHECK(sum.saw(copied ? Change::copy : Change::move));
      }
    }
  }
}

TEST_CASE("with caches kept coherent by software, moved and freed pages are flushed in every order") {
  for (bool const frees : {false, true}) {
    CAPTURE(frees);
    Machine m({0, 1}, 2);
    m.spec.flush_moving_pages = true;
    if (frees) m.with_program(0);
    m.place_pages();
    for (auto const& second : {write(1, 0), write(2, 1)}) {
      auto const r = Search(m.spec, {frees ? free_of(0) : write(2, 0), second, read(0, 0)}).run();
      check(r);
      CHECK(r.took(PageStep::flush));
      CHECK(r.took(PageStep::unmap) == frees);
    }
  }
}

TEST_CASE("a page that a program allocates and frees in any order has one owner") {
  Machine m({kUnmapped, 1}, 1);
  m.with_program(0);
  m.place_pages();
  Request const allocate{Request::Kind::allocate, 0, 0};
  for (auto const& access : {write(1, 0), read(0, 1)}) {
    auto const r = Search(m.spec, {allocate, free_of(0), access}).run();
    check(r);
    CHECK(r.took(PageStep::confirm));
    CHECK(r.took(PageStep::unmap));
  }
}

namespace {

struct EndedWalks {
  std::string policy;
  std::array<DeviceId, kPages> homes;
  std::vector<Request> requests;
  bool frees = false;
};

Result search_ended_walks(EndedWalks const& w, std::string const& replay) {
  Machine m(w.homes, replay.empty() && w.policy == "duplicate" ? 2 : 1);
  m.spec.gpus_end_walks = true;
  m.spec.decide_by(PolicyChoice<PageDecision>(w.policy));
  if (!replay.empty()) m.with_batches(replay);
  if (w.frees) m.with_program(0);
  m.place_pages();
  return Search(m.spec, w.requests).run();
}

}  // namespace

TEST_CASE("with walks that end in the GPUs, no order of messages leaves a stale mapping or loses an access") {
  std::vector<EndedWalks> const all{
      {"remote_access", {0, 1}, {write(1, 0), read(2, 0), write(0, 1)}},
      {"remote_access", {kUnmapped, 1}, {write(0, 0), read(1, 0), write(2, 0)}},
      {"remote_access", {kUnmapped, kUnmapped}, {write(0, 0), write(0, 1), read(1, 0)}},
      {"migrate", {0, 1}, {write(1, 0), write(2, 0), read(0, 0)}},
      {"migrate", {0, 1}, {write(1, 0), read(0, 1), write(2, 0)}},
      {"duplicate", {0, 1}, {read(1, 0), write(2, 0), read(0, 0)}},
      {"duplicate", {0, 1}, {read(1, 0), read(0, 1), read(2, 0)}},
      {"remote_access", {0, 1}, {free_of(0), read(1, 0), write(2, 1)}, true},
      {"migrate", {0, 1}, {free_of(0), write(1, 0), read(2, 1)}, true},
  };
  std::vector<std::string> replays{""};
  for (auto const& replay : test::names_of_known<FaultReplay>())
    if (PolicyChoice<FaultReplay>(replay).facts().in_batches) replays.push_back(replay);
  Result sum;
  for (auto const& w : all)
    for (auto const& replay : replays) {
      CAPTURE(w.policy);
      CAPTURE(replay);
      CAPTURE(&w - all.data());
      auto const r = search_ended_walks(w, replay);
      check(r);
      sum.add(r);
    }
  for (auto const c : {Change::first_touch, Change::move, Change::copy, Change::collapse, Change::free})
    CHECK(sum.saw(c));
  MESSAGE(sum.states << " states");
}

TEST_CASE(
    "with walks that end in the GPUs, remote pages are not coalesced, and splintered ones are unmapped") {
  for (auto const* const sizes : {"in_place_coalescer", "migrating_coalescer"}) {
    Machine m({0, 1}, 4);
    m.spec.gpus_end_walks = true;
    m.with_coalescing(sizes);
    m.place_pages();
    check(Search(m.spec, {write(0, 1), read(2, 0), write(1, 0)}).run());
  }
}

TEST_CASE("a large page that moves, is freed or mapped remotely loses no access and no write in any order") {
  struct Large {
    std::string policy;
    DeviceId home;
    std::vector<Request> requests;
    bool frees = false;
  };
  std::vector<Large> const all{
      {"migrate", 0, {write(1, 0), write(2, 1), read(0, 0)}},
      {"migrate", 1, {write(0, 1), read(2, 0), write(1, 1)}},
      {"migrate", kFirstCpu, {write(0, 0), write(1, 1)}},
      {"migrate", kUnmapped, {write(0, 0), write(0, 1), read(1, 0)}},
      {"remote_access", 0, {write(1, 0), read(1, 1), write(0, 0)}},
      {"remote_access", kUnmapped, {write(0, 1), write(1, 0), read(2, 1)}},
      {"migrate", 0, {free_of(0), write(1, 1), read(2, 0)}, true},
      {"remote_access", 0, {free_of(1), read(1, 0), write(2, 1)}, true},
  };
  Result sum;
  for (auto const& l : all)
    for (bool const ends_walks : {false, true})
      for (std::string const replay : {"", "page", "batch"})
        for (std::uint64_t const frames : {2U, 4U}) {
          CAPTURE(&l - all.data());
          CAPTURE(ends_walks);
          CAPTURE(replay);
          CAPTURE(frames);
          // Programs may not allocate large pages that batches bring, and only walks that end in GPUs fault
          // on pages that stay elsewhere.
          if ((l.frees || !ends_walks) && !replay.empty()) continue;
          if (l.policy == "remote_access" && !ends_walks) continue;
          Machine m({l.home, l.home}, frames);
          m.spec.gpus_end_walks = ends_walks;
          m.spec.decide_by(PolicyChoice<PageDecision>(l.policy));
          if (!replay.empty()) m.with_batches(replay);
          m.with_large_page();
          if (l.frees) m.with_program(0);
          m.place_pages();
          auto const r = Search(m.spec, l.requests).run();
          check(r);
          sum.add(r);
        }
  for (auto const c : {Change::first_touch, Change::move, Change::free}) CHECK(sum.saw(c));
  MESSAGE(sum.states << " states");
}

TEST_CASE("the search finds a remote mapping that is not invalidated") {
  for (bool const forgets : {false, true}) {
    Machine m({0, 1}, 2);
    m.spec.gpus_end_walks = true;
    m.place_pages();
    Search search(m.spec, {write(1, 0), write(2, 0), read(0, 0)});
    search.world().devices().forgets_holders = forgets;
    auto const r = search.run();
    CHECK((r.wrong_owners != 0) == forgets);
    CHECK((r.stale != 0) == forgets);
  }
}

TEST_CASE("the search finds a page that is copied while an access to it is outstanding") {
  for (bool const early : {false, true}) {
    CAPTURE(early);
    Machine m({0, 1}, 2);
    m.place_pages();
    Search search(m.spec, {write(1, 0), write(0, 0)});
    search.world().devices().acknowledges_early = early;
    auto const r = search.run();
    CHECK((r.wrong_owners != 0) == early);
    CHECK((r.stale != 0) == early);
    CHECK(r.deadlocks == 0);
  }
}

}  // namespace page_interleavings_test
