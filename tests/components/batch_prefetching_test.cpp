// SPDX-License-Identifier: Apache-2.0
// Prefetched pages of a batch: which pages may be prefetched, how they count, and what they evict.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "policies.hpp"
#include "story_bench.hpp"

namespace batch_prefetching_test {

using namespace farfault;
using namespace farfault::story_bench;

TEST_CASE("batches: an evicted page that a prefetch migrates back is not counted as a premature eviction") {
  auto spec = machine(1, 2);
  spec.batch.prefetch = test::chosen<Prefetcher>("sequential", {{"bytes", "4KiB"}});
  spec.reports_lifetimes = true;
  // Each fault also prefetches the next page, and both frames are full: 9 and 10 evict 7 and 8, which migrate
  // back, 7 on its fault and 8 by the prefetch.
  Story const b(spec, {{Time{100us}, 0, {{7}}}, {Time{400us}, 0, {{9}}}, {Time{800us}, 0, {{7}}}});
  REQUIRE(b.rows().size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(b.row(i).faulted_pages == 1);
    CHECK(b.row(i).prefetched_pages == 1);
    CHECK(b.row(i).evicted_pages == (i == 0 ? 0 : 2));
  }
  CHECK(b.stay(0, 8).evictions == 1);
  CHECK(b.home(8) == 0);
  CHECK(b.state().evictions.counts().premature == 1);
  std::uint64_t notified = 0;
  for (auto const& r : b.notified[0]->records()) notified += r.message.premature;
  CHECK(notified == 1);
}

TEST_CASE(
    "batches: a page that would stay on its device at a fault is not prefetched, and takes no driver time") {
  auto const batch_of = [](std::string const& decision, bool prefetches) {
    auto spec = machine(1, 4);
    if (prefetches) spec.batch.prefetch = test::chosen<Prefetcher>("sequential", {{"bytes", "4KiB"}});
    spec.batch.prefetched_page_time = 7us;
    spec.decide_by(PolicyChoice<PageDecision>(decision));
    // The first touch of page 6; page 7 is on the CPU.
    Story const b(spec, {{Time{100us}, 0, {{6}}}});
    REQUIRE(b.rows().size() == 1);
    CHECK(b.row(0).faulted_pages == 1);
    return std::pair(b.row(0).prefetched_pages, b.row(0).ended - b.row(0).began);
  };
  auto const [none, alone] = batch_of("migrate", false);
  CHECK(none == 0);
  CHECK(batch_of("access_counters", true) == std::pair(none, alone));
  CHECK(batch_of("migrate", true).first == 1);
  CHECK(batch_of("migrate", true).second > alone + 7us);
}

TEST_CASE("batches: prefetched pages do not evict pages faulted in the same batch") {
  // Three frames, units of two pages: 8 and 9, 10 and 11. 8 is resident when 9 faults, and 10 and 11 are
  // prefetched. A frame for 11 would require the eviction of 8 and 9, so 11 stays on the CPU and migrates on
  // its own fault.
  for (std::string const replay : {"page", "batch"}) {
    CAPTURE(replay);
    auto spec = machine(1, 3);
    spec.batch.eviction_unit = ByteSize{8192};
    spec.batch.prefetch = test::chosen<Prefetcher>("sequential", {{"bytes", "8KiB"}});
    spec.batch.replay.choose(replay);
    PageTable preloaded(0, 12);
    for (std::uint64_t p = 0; p < kPages; ++p)
      preloaded.map(7 + p, p == 1 ? physical(0, 0) : physical(kFirstCpu, (p < 1 ? p : p - 1) << 12));
    spec.preloaded = &preloaded;
    std::vector<PlacedPage> placed;
    for (std::uint64_t p = 0; p < kPages; ++p) placed.push_back({7 + p, p == 1 ? DeviceId{0} : kFirstCpu});
    spec.placed = &placed;
    Story const b(spec, {{Time{100us}, 0, {{9}}}, {Time{500us}, 0, {{11}}}});
    CHECK(b.rows().size() == 2);
    CHECK(b.row(0).faulted_pages == 1);
    CHECK(b.row(0).prefetched_pages == 1);
    CHECK(b.row(0).evicted_pages == 0);
    CHECK(b.row(1).evicted_pages == 2);
    for (std::uint64_t const page : {10U, 11U, 12U}) CHECK(b.home(page) == 0);
    for (std::uint64_t const page : {7U, 8U, 9U}) CHECK(b.home(page) == kFirstCpu);
    // 11 was unmapped once and did not migrate: it is mapped again at its old location.
    CHECK(std::ranges::count_if(b.devices.state().moves, [](PageMove const& m) {
            return m.page == 11 && m.step == MoveStep::remap && device_of(m.frame) == kFirstCpu;
          }) == 1);
    CHECK(b.state().transitions.free() == spec.params.migrations);
  }
}

TEST_CASE("batches: a page that a program frees meanwhile is not prefetched") {
  auto spec = machine(1, 4);
  spec.batch.prefetch = test::chosen<Prefetcher>("sequential", {{"bytes", "8KiB"}});
  static HostPages const host({{0, 1}}, 100);
  spec.host_pages = &host;
  spec.application_of_stream = {0};
  // Page 9 is freed from 99 us to 104 us. Page 8 faults at 100 us; the prefetcher would choose 9 and 10.
  MemoryOrder const order{
      .first = std::uint64_t{9} << 12, .bytes = 4096, .stream = 0, .kind = OperationKind::free};
  Story const b(spec, {{Time{100us}, 0, {{8}}}}, {}, {{Time{99us}, order}});
  CHECK(b.row(0).faulted_pages == 1);
  CHECK(b.row(0).prefetched_pages == 1);
  CHECK(b.home(8) == 0);
  CHECK_FALSE(b.state().memory.table().find_mapped(9));
  CHECK(b.home(10) == 0);
}

TEST_CASE("batches: a page that a program copies to meanwhile does not count as resident for prefetching") {
  PageTable preloaded(0, 12);
  std::vector<PlacedPage> placed;
  for (std::uint64_t p = 0; p < 32; ++p) {
    bool const here = p == 16;
    preloaded.map(p, here ? physical(0, 0) : physical(kFirstCpu, (p < 16 ? p : p - 1) << 12));
    placed.push_back({p, here ? DeviceId{0} : kFirstCpu});
  }
  static HostPages const host({{16, 1}}, 100);
  MemoryOrder const order{
      .first = std::uint64_t{16} << 12, .bytes = 4096, .stream = 0, .kind = OperationKind::copy_to_gpus};
  for (bool const copies : {false, true}) {
    CAPTURE(copies);
    auto spec = machine(1, 64);
    spec.batch.prefetch.choose("tree");
    spec.preloaded = &preloaded;
    spec.placed = &placed;
    spec.host_pages = &host;
    spec.application_of_stream = {0};
    // The 16 pages of the leaf around page 3 are migrated. With page 16 resident, these are 17 of 32 pages,
    // more than half, and all 32 are migrated.
    std::vector<Record<MemoryOrder>> orders;
    if (copies) orders.push_back({Time{99us}, order});
    Story const b(spec, {{Time{100us}, 0, {{3}}}}, {}, orders);
    CHECK(b.row(0).prefetched_pages == (copies ? 15 : 30));
    CHECK(b.home(31) == (copies ? kFirstCpu : 0));
  }
}

TEST_CASE("batches: a prefetched page is only copied, even if the faulted page is written") {
  auto spec = with_copies(machine(1, 4));
  spec.batch.prefetch = test::chosen<Prefetcher>("sequential", {{"bytes", "4KiB"}});
  Story const b(spec, {{Time{100us}, 0, {{7, kWrite}}}});
  CHECK(b.home(7) == 0);
  CHECK(b.home(8) == kFirstCpu);
  CHECK(b.has_copy(8, 0));
}

}  // namespace batch_prefetching_test
