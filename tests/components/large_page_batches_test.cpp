// SPDX-License-Identifier: Apache-2.0
// Large pages in batches of faults: brought whole, and evicted whole.
#include <doctest/doctest.h>

#include "story_bench.hpp"

namespace large_page_batches_test {

using namespace farfault;
using namespace farfault::story_bench;

namespace {

constexpr unsigned kLarge = 9;
constexpr std::uint64_t kBase = 512;  // base pages of a large page
constexpr std::uint64_t kLargeBytes = std::uint64_t{1} << 21;
constexpr std::uint64_t kA = 1 * kBase, kB = 2 * kBase, kC = 3 * kBase;  // large pages on the CPU
constexpr std::uint64_t kUntouched = 4 * kBase;                          // a large page, not mapped
constexpr std::uint64_t kSmall = 8 * kBase;  // base pages on the CPU, from here on
constexpr std::uint64_t kSmallPages = 4;

std::vector<PlacedPage> const kPlaced = [] {
  std::vector<PlacedPage> all;
  for (auto const page : {kA, kB, kC}) all.push_back({page, kFirstCpu, kLarge});
  for (std::uint64_t i = 0; i < kSmallPages; ++i) all.push_back({kSmall + i, kFirstCpu, 0});
  return all;
}();

PageTable const kTable = [] {
  PageTable t(0, 12);
  std::uint64_t frame = 0;
  for (auto const& p : kPlaced) {
    t.map(p.page, physical(kFirstCpu, frame << 12), p.size);
    frame += std::uint64_t{1} << p.size;
  }
  return t;
}();

// GPUs with this number of large frames. Each eviction unit is 2 MiB.
PagingDriverSpec large_machine(std::uint32_t gpus, std::uint64_t large_frames) {
  auto spec = machine(gpus, large_frames * kBase);
  spec.placed = &kPlaced;
  spec.preloaded = &kTable;
  spec.large = LargePages(kLarge, {{kA, 4 * kBase}});
  spec.buffers = {{kA, 4 * kBase}, {kSmall, kSmallPages}};
  spec.batch.eviction_unit = ByteSize{kLargeBytes};
  spec.params.migrations = 1100;
  return spec;
}

std::vector<std::uint64_t> answered(Story const& s) {
  std::vector<std::uint64_t> pages;
  for (auto const& r : s.responses->records()) pages.push_back(r.message.page);
  return pages;
}
std::vector<std::uint64_t> unmapped(Story const& s) {
  std::vector<std::uint64_t> pages;
  for (auto const& m : s.devices.state().moves)
    if (m.step == MoveStep::unmap) pages.push_back(m.page);
  return pages;
}
using Pages = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("batches: faults on base pages of a large page are one page, which is brought whole") {
  Story s(large_machine(1, 2), {{Time{1us}, 0, {{kA + 88}, {kA + 1}, {kA + 511, kWrite}, {kA + 88}}}});
  REQUIRE(s.rows().size() == 1);
  auto const& row = s.row(0);
  CHECK(row.raw_faults == 4);
  CHECK(row.duplicates == 3);
  CHECK(row.faulted_pages == 1);
  CHECK(row.prefetched_pages == 0);
  CHECK(row.bytes_in == kLargeBytes);
  REQUIRE(s.devices.state().copies.size() == 1);
  CHECK(s.devices.state().copies[0].bytes == kLargeBytes);
  CHECK(s.devices.state().copies[0].from == physical(kFirstCpu, 0));
  CHECK(s.devices.state().copies[0].to == physical(0, 0));
  for (auto const& m : s.devices.state().moves) {
    CHECK(m.page == kA);
    CHECK(m.size == kLarge);
  }
  // Each faulted base page is answered once, when the page has arrived.
  CHECK(answered(s) == Pages{kA + 1, kA + 88, kA + 511});
  for (auto const& r : s.responses->records()) {
    CHECK(r.message.frame == physical(0, 0));
    CHECK(r.message.size == kLarge);
  }
  CHECK(s.home(kA + 300) == 0);
  CHECK(s.state().memory.frames(0).available() == kBase);
  CHECK(s.state().stats[0].migrations == 1);
  CHECK(s.state().stats[0].page_faults == 1);
  // The driver's work, the copy, and messages of 1 ns; the page is unmapped during the work.
  CHECK(row.ended - row.began == 10us + 1ns + 40us + 1ns);
}

TEST_CASE("batches: a large page counts as one page of the driver's work") {
  for (bool const large : {true, false}) {
    auto spec = large_machine(1, 2);
    spec.batch.block_time = 7us;
    spec.batch.page_time = 3us;
    auto const first = large ? kA : kSmall;
    Story s(spec, {{Time{1us}, 0, {{first}, {first + 1}, {first + 3}}}});
    CHECK(s.row(0).ended - s.row(0).began == 10us + 7us + (large ? 1 : 3) * 3us + 1ns + 40us + 1ns);
  }
}

TEST_CASE("batches: a fault on a large page that is already there is a duplicate, and is answered") {
  Story s(large_machine(1, 2), {{Time{1us}, 0, {{kA + 5}}}, {Time{200us}, 0, {{kA + 6}, {kA + 7}}}});
  REQUIRE(s.rows().size() == 2);
  CHECK(s.row(1).duplicates == 2);
  CHECK(s.row(1).faulted_pages == 0);
  CHECK(answered(s) == Pages{kA + 5, kA + 6, kA + 7});
}

TEST_CASE("batches: replays of a whole batch map a large page at every IOMMU first") {
  auto spec = large_machine(1, 2);
  spec.batch.replay.choose("batch");
  Story s(spec, {{Time{1us}, 0, {{kA + 5}, {kA + 9}}}});
  CHECK(answered(s).empty());
  REQUIRE(s.devices.state().moves.size() == 2);
  CHECK(s.devices.state().moves[1].step == MoveStep::map);
  CHECK(s.devices.state().moves[1].page == kA);
  CHECK(s.devices.state().moves[1].size == kLarge);
  CHECK(s.devices.state().notified == std::vector<std::int64_t>{kA, -1});
}

TEST_CASE("batches: the only large frame of a full GPU is freed by the eviction of a whole large page") {
  Story s(large_machine(1, 1), {{Time{1us}, 0, {{kA + 5}}}, {Time{200us}, 0, {{kB + 6}}}});
  REQUIRE(s.rows().size() == 2);
  CHECK(s.row(1).faulted_pages == 1);
  CHECK(s.row(1).evicted_pages == 1);
  CHECK(s.row(1).bytes_in == kLargeBytes);
  CHECK(s.row(1).bytes_out == kLargeBytes);
  CHECK(unmapped(s) == Pages{kA, kB, kA});
  REQUIRE(s.devices.state().copies.size() == 3);
  auto const& out = s.devices.state().copies[1];
  CHECK(out.from == physical(0, 0));
  CHECK(device_of(out.to) == kFirstCpu);
  CHECK(out.bytes == kLargeBytes);
  CHECK(s.home(kA + 511) == kFirstCpu);
  CHECK(s.home(kB + 511) == 0);
  CHECK(s.state().memory.table().find(kA)->size == kLarge);
  CHECK(s.state().memory.frames(0).available() == 0);
  CHECK(s.state().stats[0].evicted_pages == 1);
  CHECK(s.stay(0, kA).evictions == 1);
  // After the driver's work the victim is unmapped and written out, then the other page is read.
  CHECK(s.row(1).ended - s.row(1).began == 10us + (1ns + 5us + 1ns) + 2 * (1ns + 40us + 1ns));
}

TEST_CASE(
    "batches: units are evicted until a large frame is free, and a large page that is not needed stays") {
  // Base pages occupy a part of one large frame, and page A the other one.
  for (bool const base_first : {true, false}) {
    CAPTURE(base_first);
    Faults const small{Time{1us}, 0, {{kSmall}, {kSmall + 1}}};
    Faults const large{Time{1us}, 0, {{kA}}};
    auto first = base_first ? small : large;
    auto second = base_first ? large : small;
    second.at = Time{300us};
    Story s(large_machine(1, 2), {first, second, {Time{600us}, 0, {{kB + 3}}}});
    REQUIRE(s.rows().size() == 3);
    CHECK(s.row(2).evicted_pages == (base_first ? 2 : 1));
    CHECK(s.row(2).bytes_out == (base_first ? 2 * 4096 : kLargeBytes));
    CHECK(s.home(kA) == (base_first ? 0 : kFirstCpu));
    CHECK(s.home(kSmall) == (base_first ? kFirstCpu : 0));
    CHECK(s.home(kB) == 0);
    CHECK(s.state().memory.table().find(kB)->size == kLarge);
  }
}

TEST_CASE("batches: a base page evicts a whole large page, and takes one of its frames") {
  Story s(large_machine(1, 1), {{Time{1us}, 0, {{kA}}}, {Time{200us}, 0, {{kSmall + 2}}}});
  CHECK(s.row(1).evicted_pages == 1);
  CHECK(s.row(1).bytes_out == kLargeBytes);
  CHECK(s.row(1).bytes_in == 4096);
  CHECK(s.home(kSmall + 2) == 0);
  CHECK(s.state().memory.frames(0).available() == kBase - 1);
}

TEST_CASE("batches: more large pages than a GPU has large frames pass through it in one batch") {
  Story s(large_machine(1, 1), {{Time{1us}, 0, {{kA + 1}, {kB + 2}, {kC + 3}}}});
  REQUIRE(s.rows().size() == 1);
  CHECK(s.row(0).faulted_pages == 3);
  CHECK(s.row(0).evicted_pages == 2);
  CHECK(s.row(0).bytes_in == 3 * kLargeBytes);
  CHECK(s.row(0).bytes_out == 2 * kLargeBytes);
  CHECK(s.home(kA) == kFirstCpu);
  CHECK(s.home(kB) == kFirstCpu);
  CHECK(s.home(kC) == 0);
}

TEST_CASE("batches: one write to any base page makes a large page dirty, and a clean one is dropped") {
  for (bool const writes : {true, false}) {
    CAPTURE(writes);
    auto spec = large_machine(1, 1);
    spec.reports_uses = true;
    spec.batch.clean_pages = CleanPages::dropped;
    PageUse use{.page = kA + 400, .gpu = 0, .access = writes ? Access::write : Access::read};
    Story s(spec, {{Time{1us}, 0, {{kA}}}, {Time{200us}, 0, {{kB}}}}, {{Time{150us}, use}});
    CHECK(s.row(1).evicted_pages == 1);
    CHECK(s.row(1).dropped_pages == (writes ? 0 : 1));
    CHECK(s.row(1).bytes_out == (writes ? kLargeBytes : 0));
    CHECK(s.home(kA + 1) == kFirstCpu);
  }
}

TEST_CASE("batches: a large page has one lifetime, and returns prematurely once") {
  auto spec = large_machine(1, 1);
  spec.reports_lifetimes = true;
  Story s(spec,
          {{Time{1us}, 0, {{kA + 1}, {kA + 2}}}, {Time{200us}, 0, {{kB}}}, {Time{400us}, 0, {{kA + 3}}}});
  CHECK(s.state().evictions.counts().premature == 1);
  std::vector<std::uint64_t> pages;
  for (auto const& r : s.notified[0]->records())
    if (r.message.pages != 0) pages.push_back(r.message.pages);
  CHECK(pages == std::vector<std::uint64_t>{1, 1});
}

TEST_CASE("batches: a first touch maps a large page, with the contents that the host wrote") {
  for (bool const written : {true, false}) {
    CAPTURE(written);
    auto spec = large_machine(1, 1);
    spec.first_touch_copy = true;
    if (written) spec.host_written = {{kUntouched, kBase}};
    Story s(spec, {{Time{1us}, 0, {{kUntouched + 7}, {kUntouched + 8}}}});
    CHECK(s.row(0).faulted_pages == 1);
    CHECK(s.row(0).bytes_in == (written ? kLargeBytes : 0));
    CHECK(s.devices.state().copies.size() == (written ? 1 : 0));
    CHECK(s.state().memory.table().find(kUntouched + 511) == PageTranslation{physical(0, 0), kLarge});
    REQUIRE(s.state().records.first_touches().size() == 1);
    CHECK(s.state().records.first_touches()[0].page == kUntouched);
    CHECK(s.state().records.first_touches()[0].size == kLarge);
    CHECK(s.state().stats[0].pages_mapped == 1);
    CHECK(answered(s) == Pages{kUntouched + 7, kUntouched + 8});
  }
}

TEST_CASE("batches: a large page moves whole from one GPU to another, also side by side") {
  for (std::uint32_t const workers : {1U, 2U}) {
    CAPTURE(workers);
    auto spec = large_machine(2, 1);
    spec.batch_workers = workers;
    Story s(spec,
            {{Time{1us}, 0, {{kA + 1}}}, {Time{1us}, 1, {{kA + 2}, {kB + 3}}}, {Time{400us}, 0, {{kB + 4}}}});
    CHECK(s.home(kB + 200) == 0);
    CHECK(s.state().memory.table().mapped_pages() == 3 * kBase + kSmallPages);
    std::uint64_t in = 0;
    for (auto const& row : s.rows()) in += row.bytes_in;
    CHECK(in == 4 * kLargeBytes);
  }
}

TEST_CASE("batches: GPUs that want each other's large page get them, if each has one large frame") {
  auto spec = large_machine(2, 1);
  spec.batch_workers = 2;
  Story s(
      spec,
      {{Time{1us}, 0, {{kA}}}, {Time{1us}, 1, {{kB}}}, {Time{400us}, 0, {{kB}}}, {Time{400us}, 1, {{kA}}}});
  // Neither can evict a page that is in flight: GPU 1 gives page A back, and evicts or takes it later.
  CHECK(s.home(kB) == 0);
  CHECK(s.state().transitions.in_flight() == 0);
}

TEST_CASE(
    "batches: with walks that end in the GPUs, a large page that stays is mapped remotely as one page") {
  auto spec = large_machine(1, 1);
  spec.decide_by(PolicyChoice<PageDecision>("remote_access"));
  spec.gpus_end_walks = true;
  Story s(spec, {{Time{1us}, 0, {{kA + 1}, {kA + 2}}}});
  REQUIRE(s.devices.state().moves.size() == 0);
  CHECK(answered(s) == Pages{kA + 1, kA + 2});
  CHECK(s.responses->records()[0].message.frame == physical(kFirstCpu, 0));
  CHECK(s.responses->records()[0].message.size == kLarge);
  spec.batch.replay.choose("batch");
  Story batch(spec, {{Time{1us}, 0, {{kA + 1}, {kA + 2}}}});
  REQUIRE(batch.devices.state().moves.size() == 1);
  CHECK(batch.devices.state().moves[0].step == MoveStep::map_remote);
  CHECK(batch.devices.state().moves[0].page == kA);
  CHECK(batch.devices.state().moves[0].size == kLarge);
}

}  // namespace large_page_batches_test
