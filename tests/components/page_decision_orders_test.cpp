// SPDX-License-Identifier: Apache-2.0
// Every order of messages, and every decision about a page at each of them (page_choices.hpp): a page that
// stays at one access may move or be copied at the next one, whatever a policy bases its decisions on.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "choices.hpp"
#include "page_machines.hpp"
#include "page_search.hpp"

namespace page_decision_orders_test {

using namespace farfault;
using namespace page_world;

namespace {

using Requests = std::vector<Request>;

struct Setup {
  std::string replay = {};  // empty: faults are served one by one
  bool ends_walks = false;  // in the GPUs
  bool copies = true;
  std::uint64_t frames = 1;
  std::uint32_t workers = 1;
};

Result search(Setup const& s, Requests const& requests, bool places_pages = true) {
  Machine m({places_pages ? DeviceId{0} : kUnmapped, 1}, s.frames);
  if (!s.replay.empty()) m.with_batches(s.replay);
  if (std::ranges::find(requests, free_of(0)) != requests.end()) m.with_program(0);
  m.spec.gpus_end_walks = s.ends_walks;
  m.spec.batch_workers = s.workers;
  if (s.workers > 1) m.spec.params.migrations = 4;
  m.spec.decide_by(any_decision(s.copies));
  m.place_pages();
  return Search(m.spec, requests).run();
}

Requests accesses_of(std::vector<std::uint64_t> const& gpus, std::vector<std::uint64_t> const& pages) {
  Requests all;
  for (auto const g : gpus)
    for (auto const p : pages)
      for (auto const& access : {read(g, p), write(g, p)}) all.push_back(access);
  return all;
}
std::vector<std::string> batch_replays() {
  auto names = test::names_of_known<FaultReplay>();
  std::erase_if(names, [](auto const& n) { return !PolicyChoice<FaultReplay>(n).facts().in_batches; });
  return names;
}

}  // namespace

TEST_CASE("choices: all ways to choose are taken once, and later options may depend on earlier ones") {
  Choices c;
  std::vector<std::vector<std::uint64_t>> ways;
  c.start();
  do {
    auto& way = ways.emplace_back();
    way.push_back(c.choose(3));
    if (way[0] != 1) way.push_back(c.choose(way[0] + 1));
    way.push_back(c.choose(1));
  } while (c.next());
  CHECK(ways == std::vector<std::vector<std::uint64_t>>{{0, 0, 0}, {1, 0}, {2, 0, 0}, {2, 1, 0}, {2, 2, 0}});
  c.start();
  CHECK_FALSE(c.next());
}

TEST_CASE("any decision: what the interface allows, and nothing else") {
  for (bool const copies : {false, true}) {
    auto const choice = any_decision(copies);
    auto policy = choice.make({12});
    auto const ways = [&](Access access, bool has_copies) {
      std::vector<PageAction> all;
      choices.start();
      do all.push_back(policy->decide({.access = access, .has_copies = has_copies}));
      while (choices.next());
      return all;
    };
    using enum PageAction;
    CHECK(ways(Access::write, true) == std::vector{move_here});
    CHECK(ways(Access::write, false) == std::vector{move_here, stay});
    auto const reads = copies ? std::vector{move_here, stay, copy_here} : std::vector{move_here, stay};
    for (bool const has_copies : {false, true}) CHECK(ways(Access::read, has_copies) == reads);
  }
}

TEST_CASE("decisions that change at each fault lose no access and no write in any order, and end") {
  std::uint64_t states = 0;
  for (bool const ends_walks : {false, true}) {
    CAPTURE(ends_walks);
    Result sum;
    // Page 0 is on GPU 0 and page 1 on GPU 1. Both GPUs are full.
    auto const of_page_0 = accesses_of({0, 2}, {0});
    for (auto const& a : of_page_0)
      for (auto const& b : accesses_of({0, 2}, {0, 1}))
        sum.add(search({.ends_walks = ends_walks}, {read(1, 0), a, b}));
    for (auto const& a : of_page_0)
      sum.add(search({.ends_walks = ends_walks, .frames = 2}, {read(1, 0), a, write(1, 0)}));
    sum.add(search({.ends_walks = ends_walks}, {read(1, 0), write(2, 0), read(0, 1)}, false));
    sum.add(search({.ends_walks = ends_walks, .copies = false}, {write(1, 0), write(2, 0), free_of(0)}));
    check(sum);
    for (auto const c : {Change::first_touch, Change::move, Change::copy, Change::collapse, Change::free})
      CHECK(sum.saw(c));
    states += sum.states;
  }
  MESSAGE(states << " states");
}

TEST_CASE("decisions that change at each page of a batch lose no access and no write in any order, and end") {
  std::uint64_t states = 0;
  for (auto const& replay : batch_replays()) {
    for (bool const ends_walks : {false, true}) {
      CAPTURE(replay);
      CAPTURE(ends_walks);
      Result sum;
      for (auto const& requests : std::vector<Requests>{{read(1, 0), read(2, 0)},
                                                        {read(1, 0), write(2, 0)},
                                                        {read(1, 0), read(0, 1)},
                                                        {write(1, 0), read(2, 0)}})
        sum.add(search({.replay = replay, .ends_walks = ends_walks}, requests));
      check(sum);
      for (auto const c : {Change::move, Change::copy, Change::collapse}) CHECK(sum.saw(c));
      states += sum.states;
    }
  }
  MESSAGE(states << " states");
}

TEST_CASE("decisions that change at each counted access lose no access and no write in any order, and end") {
  std::uint64_t states = 0;
  for (std::string const replay : {"", "page", "batch"}) {
    for (bool const ends_walks : {false, true}) {
      CAPTURE(replay);
      CAPTURE(ends_walks);
      Result sum;
      for (auto const& requests : std::vector<Requests>{{count(2, 0), write(1, 0)},
                                                        {count(2, 0), count(2, 1), read(2, 0)},
                                                        {count(2, 0), count(1, 0), read(1, 0)},
                                                        {count(2, 0), count(0, 0), write(2, 0)}})
        sum.add(search({.replay = replay, .ends_walks = ends_walks}, requests));
      if (replay.empty()) sum.add(search({.ends_walks = ends_walks}, {count(2, 0), read(1, 0), write(0, 0)}));
      check(sum);
      for (auto const c : {Change::move, Change::copy, Change::collapse}) CHECK(sum.saw(c));
      states += sum.states;
    }
  }
  MESSAGE(states << " states");
}

TEST_CASE("decisions that change in batches side by side lose no access and no write in any order, and end") {
  std::uint64_t states = 0;
  for (std::string const replay : {"page", "batch"}) {
    for (bool const ends_walks : {false, true}) {
      CAPTURE(replay);
      CAPTURE(ends_walks);
      Result sum;
      for (auto const& requests :
           std::vector<Requests>{{read(0, 1), write(1, 0)}, {write(0, 1), write(1, 0)}})
        sum.add(search({.replay = replay, .ends_walks = ends_walks, .workers = kGpus}, requests));
      check(sum);
      states += sum.states;
    }
  }
  MESSAGE(states << " states");
}

}  // namespace page_decision_orders_test
