// SPDX-License-Identifier: Apache-2.0
// The driver's record of each page between batches: copies, writes, time resident, and place in the eviction
// order.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "policies.hpp"
#include "story_bench.hpp"

namespace batch_stories_test {

using namespace farfault;
using namespace farfault::story_bench;

TEST_CASE("batches: a page taken by another GPU leaves the former GPU's working set") {
  for (bool const copies : {false, true}) {
    CAPTURE(copies);
    auto spec = with_lru(machine(2, 2));
    if (copies) spec = with_copies(spec);
    // GPU 1 has page 7, or a copy of it, until GPU 0 writes it.
    auto const story = std::vector<Faults>{{Time{100us}, 1, {{7}}}, {Time{300us}, 0, {{7, kWrite}}}};
    Record<PageUse> const before{Time{250us}, {7, 1, Access::read, {}}};
    Record<PageUse> const after{Time{550us}, {7, 1, Access::read, {}}};
    CHECK(Story(spec, story, {before}).accessed_units() == 1);
    Story const b(spec, story, {before, after});
    CHECK(b.accessed_units() == 1);
    CHECK(b.home(7) == 0);
    if (copies) CHECK_FALSE(b.has_copy(7, 1));
  }
}

TEST_CASE("batches: a unit with a page that migrates to another GPU stays where its other pages are") {
  auto spec = with_lru(machine(2, 3));
  spec.batch.eviction_unit = ByteSize{8192};
  // Page 9 of unit 8 stays on GPU 0.
  std::vector<Faults> const story{
      {Time{100us}, 0, {{8}, {9}}}, {Time{300us}, 0, {{10}}}, {Time{500us}, 1, {{8}}}};
  CHECK(Story(spec, story, {{Time{700us}, {9, 0, Access::read, {}}}}).accessed_units() == 1);
  // The unit is the oldest, and is evicted first.
  auto longer = story;
  longer.push_back({Time{800us}, 0, {{7}}});
  longer.push_back({Time{1ms}, 0, {{11}}});
  Story const b(spec, longer);
  CHECK(b.row(4).evicted_pages == 1);
  CHECK(b.home(9) == kFirstCpu);
  CHECK(b.home(10) == 0);
}

TEST_CASE("batches: a new copy is unwritten, whatever the GPU held before") {
  auto spec = with_copies(machine(1, 1));
  spec.reports_uses = true;
  Story const b(spec, {{Time{100us}, 0, {{7, kWrite}}}, {Time{300us}, 0, {{8}}}, {Time{500us}, 0, {{7}}}},
                {{Time{200us}, {7, 0, Access::write, {}}}});
  CHECK(b.has_copy(7, 0));
  CHECK(b.stay(0, 7).dirty == 0);
}

TEST_CASE("batches: a page that is written in place causes no eviction") {
  for (std::string const schedule : {"serialized", "unobtrusive", "ideal"}) {
    CAPTURE(schedule);
    auto spec = with_copies(machine(2, 2));
    spec.batch.eviction_schedule.choose(schedule);
    // GPU 0 has page 8 and page 7, which is replicated on GPU 1. GPU 0 is full.
    Story const b(spec, {{Time{100us}, 0, {{8, kWrite}, {7, kWrite}}},
                         {Time{300us}, 1, {{7}}},
                         {Time{500us}, 0, {{7, kWrite}}}});
    CHECK(b.row(2).evicted_pages == 0);
    CHECK(b.row(2).bytes_in == 0);
    CHECK(b.home(7) == 0);
    CHECK(b.home(8) == 0);
    CHECK_FALSE(b.has_copy(7, 1));
    CHECK(b.stay(0, 7).arrived == b.stay(0, 8).arrived);
  }
}

TEST_CASE("batches: with a page written in place, only the frames for the other pages are evicted") {
  for (std::string const schedule : {"serialized", "unobtrusive", "ideal"}) {
    CAPTURE(schedule);
    auto spec = with_copies(machine(2, 4));
    spec.batch.eviction_schedule.choose(schedule);
    spec.params.migrations = 4;  // one is reserved for evictions: page 12 waits for a number
    // GPU 0 has 11, the oldest, and 12, which is replicated on GPU 1; two frames are free.
    Story const b(spec, {{Time{100us}, 0, {{11, kWrite}}},
                         {Time{300us}, 0, {{12, kWrite}}},
                         {Time{500us}, 1, {{12}}},
                         {Time{700us}, 0, {{7, kWrite}, {8, kWrite}, {9, kWrite}, {12, kWrite}}}});
    CHECK(b.row(3).evicted_pages == 1);
    CHECK(b.row(3).faulted_pages == 3);
    CHECK(b.home(11) == kFirstCpu);
    CHECK(b.home(12) == 0);
    CHECK_FALSE(b.has_copy(12, 1));
  }
}

TEST_CASE("batches: a page that a program's copy makes resident meanwhile evicts no pages") {
  auto spec = machine(1, 1);
  static HostPages const host({{7, 1}}, 100);
  spec.host_pages = &host;
  spec.application_of_stream = {0};
  // Two SMs have faulted on page 7. The program copies to it until 290 us, after which it is resident.
  MemoryOrder const order{
      .first = std::uint64_t{7} << 12, .bytes = 4096, .stream = 0, .kind = OperationKind::copy_to_gpus};
  Story const b(spec, {{Time{100us}, 0, {{7}}}, {Time{255us}, 0, {{7}, {8}}}}, {}, {{Time{250us}, order}});
  CHECK(b.row(1).faulted_pages == 1);
  CHECK(b.row(1).evicted_pages == 1);
  CHECK(b.home(7) == kFirstCpu);
  CHECK(b.home(8) == 0);
}

TEST_CASE("batches: a page that is evicted before it is written in place migrates again") {
  auto spec = with_copies(machine(1, 1));
  spec.params.migrations = 2;  // page 8 waits for a number until 7 has arrived, for which its copy is evicted
  Story const b(spec, {{Time{100us}, 0, {{8}}}, {Time{300us}, 0, {{7}, {8, kWrite}}}});
  CHECK(b.row(1).evicted_pages == 2);
  CHECK(b.row(1).faulted_pages == 2);
  CHECK(b.home(7) == kFirstCpu);
  CHECK(b.home(8) == 0);
  CHECK_FALSE(b.has_copy(8, 0));
  CHECK(b.state().memory.frames(0).available() == 0);
}

TEST_CASE(
    "batches: a page written in place overtakes a page that waits for its frame, and is evicted for it") {
  // GPU 0's only frame has a copy of page 8.
  Story const b(with_copies(machine(1, 1)), {{Time{100us}, 0, {{8}}}, {Time{300us}, 0, {{7}, {8, kWrite}}}});
  CHECK(b.row(1).faulted_pages == 1);
  CHECK(b.row(1).evicted_pages == 1);
  CHECK(b.row(1).dropped_pages == 0);
  // The driver's work, an unmapping, and a copy in each direction.
  CHECK(b.row(1).ended == Time{300us} + 1ns + 10us + 5'002ns + 2 * 40'002ns);
  CHECK(b.home(8) == kFirstCpu);
  CHECK(b.has_copy(7, 0));
  CHECK_FALSE(b.has_copy(8, 0));
}

TEST_CASE("batches: the page lifetime of each evicted unit and premature evictions are reported") {
  for (bool const copies : {false, true}) {
    CAPTURE(copies);
    auto spec = machine(1, 1);
    if (copies) spec = with_copies(spec);
    spec.reports_lifetimes = true;
    Story const b(
        spec,
        {{Time{100us}, 0, {{7}}}, {Time{300us}, 0, {{8}}}, {Time{500us}, 0, {{7}}}, {Time{800us}, 0, {{8}}}});
    REQUIRE(b.notified.size() == 1);
    auto const& notified = b.notified[0]->records();
    PageLifetimes sum;
    for (auto const& r : notified) {
      sum.pages += r.message.pages;
      sum.premature += r.message.premature;
      sum.lifetime_ps += r.message.lifetime_ps;
    }
    // Evictions of 7, of 8, and of 7 after its second migration; finally 8 migrates again.
    CHECK(sum.pages == 3);
    CHECK(sum.premature == 2);
    CHECK(sum.premature == b.state().evictions.counts().premature);
    CHECK(sum.lifetime_ps == b.state().evictions.counts().lifetime_ps);
    REQUIRE(notified.size() == 5);
    for (std::size_t const i : {0U, 1U, 3U}) CHECK(notified[i].message.pages == 1);
    for (std::size_t const i : {2U, 4U}) CHECK(notified[i].message.premature == 1);
    // 7 lands 50.002 us after the begin of its batch: 10 us of work, 40 us of copying, a link each way. 210
    // us after that begin, 8 can migrate: then 7 is unmapped (5.002 us), and transferred (40.002 us) or
    // dropped.
    CHECK(notified[0].message.lifetime_ps == (copies ? 165'000'000 : 205'002'000));
    CHECK(b.stay(0, 7).evictions == 2);
    CHECK(b.stay(0, 8).evictions == 1);
  }
}

TEST_CASE(
    "batches: pages that arrived before the first eviction may be excluded from the reported lifetimes") {
  for (auto const lifetimes : {CountedLifetimes::all, CountedLifetimes::after_first_eviction}) {
    bool const all = lifetimes == CountedLifetimes::all;
    CAPTURE(all);
    auto spec = machine(1, 1);
    spec.reports_lifetimes = true;
    spec.batch.lifetimes = lifetimes;
    Story const b(
        spec,
        {{Time{100us}, 0, {{7}}}, {Time{300us}, 0, {{8}}}, {Time{500us}, 0, {{7}}}, {Time{800us}, 0, {{8}}}});
    REQUIRE(b.notified.size() == 1);
    PageLifetimes sum;
    for (auto const& r : b.notified[0]->records()) {
      sum.pages += r.message.pages;
      sum.premature += r.message.premature;
      sum.lifetime_ps += r.message.lifetime_ps;
    }
    // Evictions of 7, which arrived in an empty memory, of 8, and of 7 again.
    CHECK(sum.pages == (all ? 3 : 2));
    CHECK(sum.premature == 2);
    CHECK(sum.lifetime_ps == b.state().evictions.counts().lifetime_ps - (all ? 0 : 205'002'000));
  }
}

TEST_CASE("batches: a write counts for the writing GPU, whichever GPU's batch is served") {
  auto spec = machine(2, 1);
  spec.reports_uses = true;
  spec.batch.clean_pages = CleanPages::dropped;
  // GPU 0 writes page 7 while page 8 migrates to GPU 1.
  Story const b(spec, {{Time{100us}, 0, {{7}}}, {Time{300us}, 1, {{8}}}, {Time{500us}, 0, {{9}}}},
                {{Time{330us}, {7, 0, Access::write, {}}}});
  CHECK(b.row(2).evicted_pages == 1);
  CHECK(b.row(2).dropped_pages == 0);
  CHECK(b.row(2).bytes_out == 4096);
}

TEST_CASE("batches: a copy counts for the application that reads it, at creation and at removal") {
  auto spec = with_copies(machine(1, 1));
  spec.applications = {"first", "second"};
  Story const b(spec, {{Time{100us}, 0, {{7, Access::read, 1}}}, {Time{300us}, 0, {{8, Access::read, 0}}}});
  REQUIRE(b.devices.state().copies.size() == 2);
  CHECK(b.devices.state().copies[0].application == 1);
  CHECK(b.devices.state().copies[1].application == 0);
  CHECK(b.stay(0, 7).application == 1);
  CHECK(b.state().stats[1].evicted_pages == 1);
  CHECK(b.state().stats[0].evicted_pages == 0);
}

TEST_CASE("batches: pages initially on a GPU have no other copy and are transferred at eviction") {
  auto spec = machine(1, 1);
  spec.batch.clean_pages = CleanPages::dropped;
  static PageTable const table = [] {
    PageTable t(0, 12);
    t.map(7, physical(0, 0));
    t.map(8, physical(kFirstCpu, 0));
    return t;
  }();
  static std::vector<PlacedPage> const placed{{7, 0}, {8, kFirstCpu}};
  spec.placed = &placed;
  spec.preloaded = &table;
  Story const b(spec, {{Time{100us}, 0, {{8}}}, {Time{300us}, 0, {{7}}}});
  CHECK(b.row(0).evicted_pages == 1);
  CHECK(b.row(0).dropped_pages == 0);
  CHECK(b.row(0).bytes_out == 4096);
  CHECK(b.row(1).dropped_pages == 1);  // 8 is unchanged since it left the CPU
  CHECK(b.row(1).bytes_out == 0);
}

TEST_CASE("batches: a page that a program has copied to on the GPU is transferred at eviction") {
  for (auto const kind : {OperationKind::copy_to_gpus, OperationKind::copy_to_host}) {
    auto spec = machine(1, 1);
    spec.batch.clean_pages = CleanPages::dropped;
    static HostPages const host({{7, 1}}, 100);
    spec.host_pages = &host;
    spec.application_of_stream = {0};
    MemoryOrder const order{.first = std::uint64_t{7} << 12, .bytes = 4096, .stream = 0, .kind = kind};
    Story const b(spec, {{Time{100us}, 0, {{7}}}, {Time{400us}, 0, {{8}}}}, {}, {{Time{250us}, order}});
    bool const written = kind == OperationKind::copy_to_gpus;
    CHECK(b.row(1).evicted_pages == 1);
    CHECK(b.row(1).dropped_pages == (written ? 0 : 1));
    CHECK(b.row(1).bytes_out == (written ? 4096 : 0));
  }
}

TEST_CASE("batches: a GPU gets its own copy's frame, not the page's, also when it faults again") {
  for (std::string const replay : {"page", "batch"}) {
    CAPTURE(replay);
    auto spec = with_copies(machine(1, 2));
    spec.batch.replay.choose(replay);
    Story const b(spec, {{Time{100us}, 0, {{7}}}, {Time{300us}, 0, {{7}, {8}}}});
    auto const copy = read_only(*b.state().memory.copies().find(7, 0));
    std::vector<PhysAddr> notified;
    for (auto const& r : b.responses->records())
      if (r.message.page == 7) notified.push_back(r.message.frame);
    // With `batch` the first fault is replayed together with all others.
    CHECK(notified == std::vector<PhysAddr>(replay == "page" ? 2 : 1, copy));
    CHECK(b.row(1).duplicates == 1);
    CHECK(b.row(1).faulted_pages == 1);
  }
}

TEST_CASE("batches: with once, a GPU's accesses are replayed before another GPU's batch takes its pages") {
  for (bool const copies : {false, true}) {
    CAPTURE(copies);
    auto spec = machine(3, 2);
    if (copies) spec = with_copies(spec);
    spec.batch.replay.choose("once");
    // All three GPUs write page 7. GPU 0 has faulted again by the time its batch ends.
    Story const b(spec, {{Time{100us}, 0, {{7, kWrite}}},
                         {Time{101us}, 1, {{7, kWrite}}},
                         {Time{102us}, 2, {{7, kWrite}}},
                         {Time{120us}, 0, {{8}}}});
    CHECK(b.devices.state().notified == std::vector<std::int64_t>{7, 8, -1, 7, -2, 7, -3});
    CHECK(b.home(7) == 2);
  }
}

TEST_CASE("batches: a page stays for a minimum time after its arrival, so that replayed accesses find it") {
  auto const first_transfer = [](std::string const& replay, Duration least_stay, bool copies) {
    auto spec = machine(2, 2);
    if (copies) spec = with_copies(spec);
    spec.batch.time = 1us;
    spec.batch.least_stay = least_stay;
    spec.batch.replay.choose(replay);
    // With replication GPU 0 has a copy, and the page itself is on the CPU.
    auto const first = copies ? Access::read : kWrite;
    Story const b(spec, {{Time{100us}, 0, {{7, first}}}, {Time{101us}, 1, {{7, kWrite}}}});
    CHECK(b.home(7) == 1);
    return b.row(1).first_transfer;
  };
  for (bool const copies : {false, true})
    for (std::string const replay : {"batch", "batch_flush", "block", "once"}) {
      CAPTURE(replay);
      auto const at_once = first_transfer(replay, Duration::zero(), copies);
      auto const after = first_transfer(replay, 20us, copies);
      CHECK(after > at_once + 10us);
      CHECK(first_transfer(replay, 30us, copies) == after + 10us);
    }
  // With per-page replay, the translation arrives with the response.
  CHECK(first_transfer("page", 30us, false) == first_transfer("page", Duration::zero(), false));
}

TEST_CASE("batches: a GPU that writes its own copy of a page does not wait for it") {
  auto const ended = [](Duration least_stay) {
    auto spec = with_copies(machine(1, 2));
    spec.batch.replay.choose("batch");
    spec.batch.least_stay = least_stay;
    Story const b(spec, {{Time{100us}, 0, {{7}}}, {Time{200us}, 0, {{7, kWrite}}}});
    CHECK(b.home(7) == 0);
    return b.row(1).ended;
  };
  CHECK(ended(Duration::zero()) == ended(1ms));
}

TEST_CASE("batches: the faults of a batch are replayed even if one of its pages is not yet allocated") {
  static HostPages const host({{0, 1}}, 100);
  static PlannedPages const planned = [] {
    PlannedPages pages({{20, 1}}, kNotPlanned);
    *pages.find(20) = 0;
    return pages;
  }();
  auto spec = machine(1, 4);
  spec.batch.replay.choose("batch");
  spec.host_pages = &host;
  spec.planned = &planned;
  spec.application_of_stream = {0};
  Story const both(spec, {{Time{100us}, 0, {{7}, {20}}}});
  CHECK(both.devices.state().notified == std::vector<std::int64_t>{7, -1});
  CHECK(both.state().stats[0].unallocated_faults == 1);
  // A batch of this fault alone waits until the program allocates the page, and no replay is ordered.
  Story const alone(spec, {{Time{100us}, 0, {{20}}}});
  CHECK(alone.devices.state().notified.empty());
  CHECK(alone.state().stats[0].unallocated_faults == 1);
}

}  // namespace batch_stories_test
