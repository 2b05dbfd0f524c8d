// SPDX-License-Identifier: Apache-2.0
// Components with translations of large pages: 2 MiB, i.e. 512 base pages.
#include <doctest/doctest.h>

#include "gmmu_bench.hpp"
#include "iommu_bench.hpp"
#include "paging_driver_bench.hpp"
#include "sm_bench.hpp"

namespace page_sizes_test {

using namespace farfault;
using mock::always;
using mock::in_use;

namespace {

using Times = std::vector<std::int64_t>;

constexpr std::uint8_t kLarge = 9;
constexpr std::uint32_t kSizes = 1U | 1U << kLarge;

// Base pages 0 to 1023, all of them in large pages.
LargePages two_large_pages() {
  static Workload const w("w", {{"a", 0, std::uint64_t{4} << 20, true}}, {});
  return {{"a", kLarge}, Applications(w), {{{0, 1024}}}};
}
PagingDriverSpec driver_of(std::uint64_t frames_per_gpu) {
  PagingDriverSpec spec;
  spec.large = two_large_pages();
  spec.frames_per_gpu = frames_per_gpu;
  return spec;
}

}  // namespace

TEST_CASE("SM: the pages in a large page share one translation and have their offsets in its frame") {
  using namespace sm_bench;
  auto const w = same_for_all({load(0x202340), compute(1, true), load(0x2ff040), compute(1, true)});
  auto spec = unit_rates();
  spec.page_sizes = kSizes;
  SmBench b(spec, w, {{Time{100ns}, {0, 0, 0}}}, always(50ns), always(20ns));
  b.size = kLarge;
  b.run();
  REQUIRE(b.tlb->records().size() == 1);
  CHECK(b.tlb->records()[0].message.page == 0x202);
  REQUIRE(b.cache->records().size() == 2);
  CHECK(b.cache->records()[0].message.address == kLargeFrame + 0x2340);
  CHECK(b.cache->records()[1].message.address == kLargeFrame + 0xff040);
  CHECK(b.sm.state().stats[0].l1_tlb_hits == 1);
}

TEST_CASE("SM: an invalidation of a large page drops its translation and all of its lines") {
  using namespace sm_bench;
  auto const w = same_for_all(
      {load(0x202340), load(0x2ff040), compute(300, true), load(0x202340), load(0x2ff040), compute(1, true)});
  auto spec = unit_rates();
  spec.page_sizes = kSizes;
  SmBench b(spec, w, {{Time{100ns}, {0, 0, 0}}}, always(50ns), always(20ns),
            {{Time{300ns},
              {.page = 0x200, .frame = kLargeFrame, .move = 5, .step = MoveStep::unmap, .size = kLarge}}});
  b.size = kLarge;
  b.run();
  CHECK(b.invalidated->nanoseconds() == Times{301});
  CHECK(b.sm.state().load_store.l1_tlb_invalidated == 1);
  CHECK(b.tlb->records().size() == 4);  // two merged misses, twice
  CHECK(b.cache->records().size() == 4);
}

TEST_CASE("SM: base pages of one large page that miss together have separate translations") {
  using namespace sm_bench;
  auto const w =
      same_for_all({load(0x202000), load(0x303000), compute(1, true), load(0x304000), compute(1, true)});
  auto spec = unit_rates();
  spec.page_sizes = kSizes;
  SmBench b(spec, w, {{Time{100ns}, {0, 0, 0}}}, always(50ns), always(20ns));
  b.size = kLarge;
  b.run();
  CHECK(b.tlb->records().size() == 2);
  REQUIRE(b.cache->records().size() == 3);
  CHECK(b.cache->records()[1].message.address == kLargeFrame + 0x103000);
  CHECK(b.cache->records()[2].message.address == kLargeFrame + 0x104000);
  CHECK(b.done->count() == 1);
}

TEST_CASE("GMMU: a walk to a large page reads one entry less and returns the page's frame and size") {
  using namespace gmmu_bench;
  PageTable table(kTable, 12);
  table.map(kPage, physical(0, 0x4000'0000), kLarge);
  GmmuBench b(spec_of("distributed", table), {{Time{100ns}, {kPage + 100, 17}}});
  b.run();
  CHECK(b.reads() == Addresses(kWalk.begin(), kWalk.end() - 1));
  CHECK(b.responses->nanoseconds() == Times{150 - 12});
  auto const& m = b.responses->records()[0].message;
  CHECK(m.page == kPage + 100);
  CHECK(m.translation() == PageTranslation{physical(0, 0x4000'0000), kLarge});
}

TEST_CASE("GMMU: a large page that the IOMMU found in this GPU's memory is added to its table as a whole") {
  using namespace gmmu_bench;
  auto const table = one_page();
  GmmuBench b(spec_of("distributed", table), {{Time{100ns}, {1024, 17}}, {Time{5us}, {1024 + 300, 18}}});
  b.first_touch = true;
  b.size = kLarge;
  b.run();
  PageTranslation const there{local_frame(1024), kLarge};
  CHECK(b.gmmu.state().table.find(1024 + 511) == there);
  CHECK(b.iommu->records().size() == 1);
  REQUIRE(b.responses->count() == 2);
  for (auto const& r : b.responses->records()) CHECK(r.message.translation() == there);
}

TEST_CASE("IOMMU: a walk to a large page returns its size and fills the TLB with the whole page") {
  using namespace iommu_bench;
  PageTable table(iommu_bench::kTable, 12);
  PageTranslation const there{physical(1, 0x4000'0000), kLarge};
  table.map(iommu_bench::kPage, there.frame, there.size);
  auto spec = iommu_bench::spec_of(table);
  spec.page_sizes = kSizes;
  IommuBench b(spec, {{Time{100ns}, ask(iommu_bench::kPage, 1, 7)},
                      {Time{200ns}, ask(iommu_bench::kPage + 300, 2, 8)}});
  CHECK(b.cache->records().size() == 3);
  CHECK(b.responses->nanoseconds() == Times{150 - 12, 200 + 1 + 1});
  for (auto const& r : b.responses->records()) CHECK(r.message.as<IommuResponse>().translation() == there);
  CHECK(b.iommu.state().by_requester[0].tlb_hits == 1);
}

TEST_CASE("driver: the first touch of a large page maps all of it, for one fault") {
  using namespace driver_bench;
  DriverBench b(page_sizes_test::driver_of(1024), {.faults = {{Time{100ns}, fault(7, 0, 1, 11)},
                                                              {Time{5us}, fault(300, 2, 0, 12)},
                                                              {Time{9us}, fault(600, 1, 0, 13)},
                                                              {Time{20us}, fault(2000, 1, 0, 14)}}});
  PageTranslation const first{physical(0, 512 << 12), kLarge};
  auto const of = [](PageMapped const& m) { return PageTranslation{m.frame, m.size}; };
  CHECK(b.mapped[1]->nanoseconds() == Times{1101});
  CHECK(b.mapped[1]->records()[0].message.page == 7);
  CHECK(of(b.mapped[1]->records()[0].message) == first);
  CHECK(b.mapped[0]->nanoseconds() == Times{5001, 10'001, 21'001});
  CHECK(of(b.mapped[0]->records()[0].message) == first);
  CHECK(of(b.mapped[0]->records()[1].message) == PageTranslation{physical(1, 512 << 12), kLarge});
  CHECK(of(b.mapped[0]->records()[2].message) == PageTranslation{physical(1, 200 << 12)});  // in no buffer
  auto const& s = b.driver.state();
  CHECK(s.memory.table().find(0) == first);
  CHECK(s.memory.table().mapped_pages() == 1024 + 1);
  CHECK(s.stats[0].pages_mapped == 3);
  REQUIRE(s.records.first_touches().size() == 3);
  CHECK(s.records.first_touches()[1].page == 512);
  CHECK(s.records.first_touches()[1].size == kLarge);
}

TEST_CASE("driver: a large page that would exceed the CPU's memory is mapped as base pages within it") {
  using namespace driver_bench;
  auto spec = page_sizes_test::driver_of(1024);
  spec.placed = in_use({1024, 1024, 1024}, 0);
  spec.frames_of_cpu = 700;
  DriverBench b(spec, {.faults = {{Time{100ns}, fault(7, 0, 0, 11)}, {Time{5us}, fault(600, 1, 0, 12)}}});
  auto const& records = b.mapped[0]->records();
  REQUIRE(records.size() == 2);
  CHECK(PageTranslation{records[0].message.frame, records[0].message.size} ==
        PageTranslation{physical(kFirstCpu, 0), kLarge});
  CHECK(PageTranslation{records[1].message.frame, records[1].message.size} ==
        PageTranslation{physical(kFirstCpu, 512 << 12), 0});
}

TEST_CASE("driver: without a large frame, a large page is mapped as base pages and stays so") {
  using namespace driver_bench;
  auto spec = page_sizes_test::driver_of(1024);
  spec.placed = in_use({600, 0, 0}, 0);
  DriverBench b(spec, {.faults = {{Time{100ns}, fault(7, 0, 0, 11)},
                                  {Time{5us}, fault(8, 1, 0, 12)},  // a GPU with free large frames
                                  {Time{9us}, fault(600, 1, 0, 13)}}});
  auto const& records = b.mapped[0]->records();
  REQUIRE(records.size() == 3);
  CHECK(records[0].message.frame == physical(0, 600 << 12));
  CHECK(records[0].message.size == 0);
  CHECK(records[1].message.frame == physical(1, 0));
  CHECK(records[1].message.size == 0);
  CHECK(records[2].message.frame == physical(1, 512 << 12));
  CHECK(records[2].message.size == kLarge);
}

TEST_CASE("driver: the contents of a large page are copied as a whole, and faults on any part wait") {
  using namespace driver_bench;
  auto spec = page_sizes_test::driver_of(1024);
  spec.first_touch_copy = true;
  spec.host_written = {{0, 1024}};
  spec.placed = in_use({100, 200, 300}, 50);
  DriverBench b(spec, {.faults = {{Time{100ns}, fault(7, 1, 0, 11)},
                                  {Time{200ns}, fault(300, 2, 1, 12)},
                                  {Time{60us}, fault(600, 0, 0, 13)}},
                       .copied = {{Time{50us}, {0}}, {Time{90us}, {0}}}});
  REQUIRE(b.copies[1]->count() == 1);
  REQUIRE(b.copies[0]->count() == 1);
  auto const& order = b.copies[1]->records()[0].message;
  CHECK(order.from == physical(kFirstCpu, 512 << 12));
  CHECK(order.to == physical(1, 512 << 12));
  CHECK(order.bytes == 2 << 20);
  REQUIRE(b.mapped[1]->nanoseconds() == Times{50'001});
  CHECK(b.mapped[1]->records()[0].message.frame == physical(1, 512 << 12));
  CHECK(b.mapped[1]->records()[0].message.size == kLarge);
  CHECK(b.mapped[0]->nanoseconds() == Times{50'001, 90'001});
  // The CPU frame of the first page is free again.
  CHECK(b.copies[0]->records()[0].message.from == physical(kFirstCpu, 512 << 12));
  CHECK(b.driver.state().stats[0].pages_mapped == 2);
  CHECK(b.driver.waiting_for().empty());
}

TEST_CASE("driver: while a base page of a large page is copied, no other part is mapped as a large page") {
  using namespace driver_bench;
  auto spec = page_sizes_test::driver_of(1024);
  spec.first_touch_copy = true;
  spec.host_written = {{0, 1024}};
  spec.placed = in_use({600, 0, 0}, 0);
  DriverBench b(spec, {.faults = {{Time{100ns}, fault(7, 0, 0, 11)}, {Time{200ns}, fault(8, 1, 0, 12)}},
                       .copied = {{Time{50us}, {1}}, {Time{90us}, {0}}}});
  CHECK(b.copies[0]->records()[0].message.bytes == 4096);
  CHECK(b.copies[1]->records()[0].message.bytes == 4096);
  CHECK(b.driver.state().memory.table().mapped_pages() == 2);
}

}  // namespace page_sizes_test
