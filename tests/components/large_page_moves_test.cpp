// SPDX-License-Identifier: Apache-2.0
// Large pages that migrate whole, with faults served one by one: the driver, and an IOMMU.
#include <doctest/doctest.h>

#include <array>

#include "farfault/parts/page_uses.hpp"
#include "iommu_moving_bench.hpp"
#include "paging_driver_bench.hpp"
#include "policies.hpp"

namespace large_page_moves_test {

using namespace farfault;

namespace {

constexpr unsigned kLarge = 9;
constexpr std::uint64_t kLargeBytes = std::uint64_t{1} << 21;
constexpr std::uint64_t kFirst = 512;  // a large page, on GPU 1 from the start
constexpr PhysAddr kFrame = physical(1, 0);

PageTable one_large_page() {
  PageTable table(0, 12);
  table.map(kFirst, kFrame, kLarge);
  return table;
}

// GPUs 0 and 2 use `used` base frames each; every GPU has two large frames.
PagingDriverSpec machine(PageTable const& table, std::vector<PlacedPage>& placed, std::uint64_t used) {
  for (std::uint64_t i = 0; i < used; ++i)
    for (auto const device : std::array<DeviceId, 2>{0, 2})
      placed.push_back({(std::uint64_t{1} << 30) + 2 * i + device / 2U, device, 0});
  placed.push_back({kFirst, 1, kLarge});
  PagingDriverSpec spec;
  spec.preloaded = &table;
  spec.placed = &placed;
  spec.frames_per_gpu = 1024;
  spec.large = LargePages(kLarge, {{kFirst, 1024}});
  return spec;
}

}  // namespace

TEST_CASE("driver: a fault on any base page of a large page moves the whole large page") {
  using namespace farfault::driver_bench;
  for (auto const page : {kFirst, kFirst + 88, kFirst + 511}) {
    CAPTURE(page);
    auto const table = one_large_page();
    std::vector<PlacedPage> placed;
    DriverBench b(machine(table, placed, 0), {.faults = {{Time{100ns}, remote(page, 2, 1, 11)}},
                                              .unmapped = {{Time{2us}, {0}}, {Time{3us}, {0}}},
                                              .copied = {{Time{9us}, {0}}}});
    auto const there = physical(2, 0);
    for (auto const* iommu : b.moves) {
      CHECK(iommu->nanoseconds() == Times{100 + 1000 + 1, 9000 + 1});
      for (auto const& r : iommu->records()) {
        CHECK(r.message.page == kFirst);
        CHECK(r.message.size == kLarge);
      }
      CHECK(iommu->records()[0].message.step == MoveStep::unmap);
      CHECK(iommu->records()[0].message.frame == kFrame);
      CHECK(iommu->records()[1].message.step == MoveStep::remap);
      CHECK(iommu->records()[1].message.frame == there);
    }
    CHECK(b.copies[2]->nanoseconds() == Times{3001});
    CHECK(b.copies[2]->records()[0].message.from == kFrame);
    CHECK(b.copies[2]->records()[0].message.to == there);
    CHECK(b.copies[2]->records()[0].message.bytes == kLargeBytes);
    CHECK(b.mapped[1]->nanoseconds() == Times{9001});
    auto const& answer = b.mapped[1]->records()[0].message;
    CHECK(answer.page == page);
    CHECK(answer.frame == there);
    CHECK(answer.size == kLarge);
    CHECK(answer.entry == 11);
    auto const& s = b.driver.state();
    for (auto const p : {kFirst, kFirst + 300, kFirst + 511})
      CHECK(s.memory.table().find(p) == PageTranslation{there, kLarge});
    CHECK(s.memory.frames(1).available() == 1024);
    CHECK(s.memory.frames(2).available() == 512);
    CHECK(s.stats[0].migrations == 1);
    REQUIRE(s.records.migrations().size() == 1);
    CHECK(s.records.migrations()[0].page == kFirst);
    CHECK(s.records.migrations()[0].size == kLarge);
    CHECK(b.driver.waiting_for().empty());
  }
}

TEST_CASE("driver: large pages of every size move whole") {
  using namespace farfault::driver_bench;
  struct Sizes {
    unsigned page_bits, large;
  };
  for (auto const& [bits, large] : {Sizes{12, 9}, {12, 18}, {16, 5}, {16, 14}, {21, 9}}) {
    CAPTURE(bits);
    CAPTURE(large);
    auto const first = std::uint64_t{3} << large;
    PageTable table(0, bits);
    table.map(first, physical(1, 0), large);
    std::vector<PlacedPage> const placed{{first, 1, static_cast<std::uint8_t>(large)}};
    PagingDriverSpec spec;
    spec.page_bits = bits;
    spec.preloaded = &table;
    spec.placed = &placed;
    spec.frames_per_gpu = std::uint64_t{1} << large;
    spec.large = LargePages(large, {{first, std::uint64_t{1} << large}});
    spec.large_size = large;
    auto const page = first + (std::uint64_t{1} << large) - 1;
    DriverBench b(spec, {.faults = {{Time{100ns}, remote(page, 0, 0, 11)}},
                         .unmapped = {{Time{2us}, {0}}, {Time{3us}, {0}}},
                         .copied = {{Time{9us}, {0}}}});
    REQUIRE(b.copies[0]->count() == 1);
    CHECK(b.copies[0]->records()[0].message.bytes == std::uint64_t{1} << (bits + large));
    CHECK(b.moves[1]->records()[0].message.page == first);
    CHECK(b.moves[1]->records()[0].message.size == large);
    CHECK(b.driver.state().memory.table().find(first)->frame == physical(0, 0));
    CHECK(b.driver.state().memory.frames(0).available() == 0);
    CHECK(b.driver.state().memory.frames(1).available() == spec.frames_per_gpu);
  }
}

TEST_CASE("driver: faults on other base pages of a large page in flight wait for it and move nothing") {
  using namespace farfault::driver_bench;
  auto const table = one_large_page();
  std::vector<PlacedPage> placed;
  DriverBench b(machine(table, placed, 0),
                {.faults = {{Time{100ns}, remote(kFirst + 7, 2, 1, 11)},
                            {Time{200ns}, remote(kFirst, 2, 1, 12)},
                            {Time{300ns}, fault(kFirst + 511, 0, 0, 13, FaultKind::moving)}},
                 .unmapped = {{Time{2us}, {0}}, {Time{3us}, {0}}},
                 .copied = {{Time{9us}, {0}}}});
  CHECK(b.moves[0]->count() == 2);
  CHECK(b.copies[2]->count() == 1);
  CHECK(b.mapped[1]->nanoseconds() == Times{9001, 9001});
  CHECK(b.mapped[0]->nanoseconds() == Times{9001});
  for (auto const* iommu : b.mapped)
    for (auto const& r : iommu->records()) {
      CHECK(r.message.frame == physical(2, 0));
      CHECK(r.message.size == kLarge);
    }
  CHECK(b.driver.state().stats[0].migrations == 1);
}

TEST_CASE("driver: without a free large frame on the GPU, a large page stays, and the refusal is counted") {
  using namespace farfault::driver_bench;
  for (std::uint64_t const used : {512U, 513U, 1024U}) {
    CAPTURE(used);
    auto const table = one_large_page();
    std::vector<PlacedPage> placed;
    bool const moves = used == 512;
    DriverBench::Script script{.faults = {{Time{100ns}, remote(kFirst + 9, 2, 1, 11)}}};
    if (moves) script.unmapped = {{Time{2us}, {0}}, {Time{3us}, {0}}};
    if (moves) script.copied = {{Time{9us}, {0}}};
    DriverBench b(machine(table, placed, used), script);
    CHECK(b.driver.state().stats[0].migrations == (moves ? 1 : 0));
    CHECK(b.driver.state().stats[0].migrations_refused == (moves ? 0 : 1));
    CHECK(b.driver.state().memory.frames(2).available() == 1024 - used - (moves ? 512 : 0));
    CHECK(b.mapped[1]->nanoseconds() == Times{moves ? 9001 : 1101});
    auto const& answer = b.mapped[1]->records()[0].message;
    CHECK(answer.frame == (moves ? physical(2, kLargeBytes) : kFrame));
    CHECK(answer.size == kLarge);
  }
}

TEST_CASE("driver: lines of a whole large page are dropped before it is copied") {
  using namespace farfault::driver_bench;
  auto const table = one_large_page();
  std::vector<PlacedPage> placed;
  auto spec = machine(table, placed, 0);
  spec.flush_moving_pages = true;
  DriverBench b(spec, {.faults = {{Time{100ns}, remote(kFirst + 5, 2, 1, 11)}},
                       .unmapped = {{Time{2us}, {0}}, {Time{3us}, {0}}, {Time{4us}, {0}}, {Time{5us}, {0}}},
                       .copied = {{Time{9us}, {0}}}});
  CHECK(b.moves[0]->nanoseconds() == Times{1101, 3001, 9001});
  auto const& flush = b.moves[0]->records()[1].message;
  CHECK(flush.step == MoveStep::flush);
  CHECK(flush.frame == kFrame);
  CHECK(flush.size == kLarge);
}

TEST_CASE("IOMMU: while a large page is in flight, a request for any of its base pages is a fault") {
  using namespace farfault::iommu_moving_bench;
  PageTable table(kTable, 12);
  table.map(kFirst, kFrame, kLarge);
  table.map(kFirst + 512, physical(0, 3 << 12));  // a base page, the next one
  auto spec = spec_of(table);
  spec.page_sizes = 1U | 1U << kLarge;
  spec.decision = test::chosen<PageDecision>("migrate", {{"after", "9"}});
  auto unmap_large = unmap(1, kFirst, kFrame);
  auto there = remap(1, kFirst, physical(2, kLargeBytes));
  unmap_large.size = there.size = kLarge;
  MovingBench b(spec, {.requests = {{Time{100ns}, ask(kFirst + 77, 2, 1)},
                                    {Time{500ns}, ask(kFirst, 0, 2)},
                                    {Time{600ns}, ask(kFirst + 511, 2, 3)},
                                    {Time{700ns}, ask(kFirst + 512, 0, 4)},
                                    {Time{1200ns}, ask(kFirst + 300, 2, 5)}},
                       .moves = {{Time{300ns}, unmap_large}, {Time{1100ns}, there}},
                       .invalidated = {{Time{400ns}, {1}}, {Time{450ns}, {1}}}});
  // GPU 1 has the page, and GPU 2 its translation, which one of its base pages has asked for.
  CHECK(b.receivers(MoveStep::unmap) == Nodes{11, 12});
  CHECK(b.unmapped->nanoseconds() == Times{451});
  std::vector<std::uint64_t> faulted;
  for (auto const& r : b.faults->records()) {
    CHECK(r.message.as<PageFault>().kind == FaultKind::moving);
    faulted.push_back(r.message.as<PageFault>().page);
  }
  CHECK(faulted == std::vector<std::uint64_t>{kFirst, kFirst + 511});
  std::vector<PhysAddr> frames;
  for (auto const& r : b.out->records())
    if (r.message.is<IommuResponse>()) frames.push_back(r.message.as<IommuResponse>().frame);
  CHECK(frames == std::vector<PhysAddr>{kFrame, kNoFrame, kNoFrame, physical(0, 3 << 12), there.frame});
  CHECK(b.iommu.state().table.find(kFirst + 511) == PageTranslation{there.frame, kLarge});
  CHECK(b.iommu.state().moving.in_use() == 0);
}

TEST_CASE("IOMMU: a base page in flight does not make the base pages next to it fault") {
  using namespace farfault::iommu_moving_bench;
  PageTable table(kTable, 12);
  table.map(kFirst, physical(1, 0));
  table.map(kFirst + 1, physical(0, 0));
  auto spec = spec_of(table);
  spec.page_sizes = 1U | 1U << kLarge;
  MovingBench b(spec, {.requests = {{Time{500ns}, ask(kFirst + 1, 0, 1)}, {Time{600ns}, ask(kFirst, 0, 2)}},
                       .moves = {{Time{300ns}, unmap(1, kFirst, physical(1, 0))}},
                       .invalidated = {{Time{400ns}, {1}}}});
  REQUIRE(b.faults->count() == 1);
  CHECK(b.faults->records()[0].message.as<PageFault>().page == kFirst);
}

TEST_CASE("IOMMU: requests for different base pages of a large page count as requests for one page") {
  using namespace farfault::iommu_moving_bench;
  PageTable table(kTable, 12);
  table.map(kFirst, kFrame, kLarge);
  auto spec = spec_of(table);
  spec.page_sizes = 1U | 1U << kLarge;
  spec.decision = test::chosen<PageDecision>("migrate", {{"after", "3"}});
  MovingBench b(spec, {.requests = {{Time{100ns}, ask(kFirst + 1, 0, 1)},
                                    {Time{300ns}, ask(kFirst + 99, 0, 2)},
                                    {Time{500ns}, ask(kFirst + 500, 0, 3)}}});
  REQUIRE(b.faults->count() == 1);
  CHECK(b.faults->records()[0].message.as<PageFault>().page == kFirst + 500);
}

TEST_CASE("page uses: an invalidated large page forgets the uses of all its base pages, and no others") {
  for (unsigned const size : {5U, 9U}) {
    CAPTURE(size);
    PageUses uses({.enabled = true});
    auto const pages = std::uint64_t{1} << size;
    std::vector<std::uint64_t> const all{pages, pages + 1, 2 * pages - 1, 2 * pages + 2};
    for (auto const p : all) CHECK(uses.must_report(p, Access::write, Time{}));
    for (auto const p : all) CHECK_FALSE(uses.must_report(p, Access::write, Time{}));
    uses.forget(pages, size);
    for (auto const p : all) CHECK(uses.must_report(p, Access::write, Time{}) == (p < 2 * pages));
  }
}

}  // namespace large_page_moves_test
