// SPDX-License-Identifier: Apache-2.0
// Page uses: what an SM reports to the driver, and how the driver uses it.
#include "farfault/parts/page_uses.hpp"

#include <doctest/doctest.h>

#include "farfault/paging/paging_driver.hpp"
#include "placed_pages.hpp"
#include "sm_bench.hpp"

namespace page_uses_test {

using namespace farfault;
using namespace farfault::sm_bench;

TEST_CASE("page uses: the first use in an epoch and the first write are reported once") {
  PageUses uses({true, 10us});
  CHECK(uses.must_report(7, Access::read, Time{1us}));
  CHECK_FALSE(uses.must_report(7, Access::read, Time{9us}));
  CHECK(uses.must_report(7, Access::write, Time{9us}));
  CHECK_FALSE(uses.must_report(7, Access::write, Time{9'999ns}));
  CHECK(uses.must_report(7, Access::read, Time{10us}));
  CHECK_FALSE(uses.must_report(7, Access::write, Time{11us}));
  uses.forget(7);
  CHECK(uses.must_report(7, Access::write, Time{12us}));
}

TEST_CASE("page uses: pages that share a slot are reported again, and an epoch of zero is unlimited") {
  PageUses uses({true, Duration::zero()});
  CHECK(uses.must_report(7, Access::write, Time{1us}));
  CHECK(uses.must_report(7 + 256, Access::read, Time{2us}));
  uses.forget(7);  // its entry was lost
  CHECK_FALSE(uses.must_report(7 + 256, Access::read, Time{3us}));
  CHECK(uses.must_report(7, Access::write, Time{4us}));
  CHECK_FALSE(uses.must_report(7, Access::write, Time{1s}));
  CHECK_FALSE(PageUses(PageUseRule{}).enabled());
}

TEST_CASE("SM: the first use of a page per epoch and the first write since its invalidation are reported") {
  auto spec = unit_rates();
  spec.device = 1;
  spec.page_uses = {true, 1us};
  // Page 2 is read when its translation arrives, read again, and written; then written in the next epoch, and
  // after its invalidation.
  auto const w = same_for_all({load(0x1002000), load(0x1002100), store(0x1002200), compute(1, true),
                               compute(1000, false), store(0x1002300), compute(1000, true), store(0x1002400),
                               compute(1, true)});
  SmBench b(spec, w, {{Time{100ns}, {0, 0, 0}}}, always(50ns), always(20ns),
            {{Time{1500ns}, invalidate(0x1002)}});
  auto& uses = b.sink(b.sm.used);
  b.run();
  std::vector<Access> kinds;
  for (auto const& r : uses.records()) {
    CHECK(r.message.page == 0x1002);
    CHECK(r.message.gpu == 1);
    kinds.push_back(r.message.access);
  }
  CHECK(kinds == std::vector<Access>{Access::read, Access::write, Access::write, Access::write});
  CHECK(uses.nanoseconds()[0] == 125);
}

namespace {

constexpr std::uint64_t kPages = 4;  // 7, 8, 9 and 10, in frames 0 to 3 of the CPU

Packet interrupt() {
  return Packet::of(FaultInterrupt{0});
}
Packet entry(std::uint64_t page) {
  return Packet::of(FaultEntry{.page = page});
}
Packet drained(std::uint32_t entries) {
  return Packet::of(FaultsDrained{entries});
}

// Memory for two pages. 7 and 8 migrate in a batch, and later uses are reported. Then 9 migrates, and one
// page is evicted.
struct UseBench : Bench {
  UseBench(char const* order, CleanPages clean, std::vector<Record<PageUse>> uses)
      : driver(system.add<PagingDriver>("driver", spec_of(order, clean))) {
    feed(driver.fault, {{Time{100ns}, interrupt()},
                        {Time{200ns}, entry(7)},
                        {Time{200ns}, entry(8)},
                        {Time{200ns}, drained(2)},
                        {Time{50us}, drained(0)},
                        {Time{100us}, interrupt()},
                        {Time{101us}, entry(9)},
                        {Time{101us}, drained(1)},
                        {Time{190us}, drained(0)}});
    feed(driver.step_done, {{Time{1us}, {0}}, {Time{1us}, {1}}, {Time{102us}, {1}}, {Time{120us}, {0}}});
    // Completed copies: number 0, the evicted page if it is copied to the CPU; then page 9.
    std::vector<Record<CopyDone>> done{{Time{40us}, {0}}, {Time{40us}, {1}}};
    if (clean == CleanPages::transferred || !uses.empty()) done.push_back({Time{130us}, {0}});
    done.push_back({Time{140us}, {1}});
    feed(driver.copied, std::move(done));
    feed(driver.used, std::move(uses));
    join(driver.placed, sinks(driver.mapped, 1)[0]->in_port);
    moves = sinks(driver.move, 1)[0];
    copies = sinks(driver.copy, 1)[0];
    sinks(driver.to_gpus, 1);
    run();
  }
  static PagingDriverSpec spec_of(char const* order, CleanPages clean) {
    static auto const table = [] {
      PageTable t(0, 12);
      for (std::uint64_t p = 0; p < kPages; ++p) t.map(7 + p, physical(kFirstCpu, p << 12));
      return t;
    }();
    PagingDriverSpec spec;
    spec.in_batches = true;
    spec.reports_uses = true;
    spec.batch.replay.choose("page");
    spec.batch.prefetch.choose("none");
    spec.batch.eviction_order.choose(order);
    spec.batch.clean_pages = clean;
    spec.batch.eviction_unit = ByteSize{4096};
    spec.frames_per_gpu = 2;
    spec.placed = in_use({0}, kPages);
    spec.preloaded = &table;
    spec.iommu_of_gpu = {0};
    spec.devices = NodeDevices(1);
    spec.decide_by(PolicyChoice<PageDecision>("migrate"));
    return spec;
  }
  bool on_gpu(std::uint64_t page) const {
    return device_of(driver.state().memory.table().find(page)->frame) == 0;
  }
  BatchRecord const& last() const { return driver.state().records.batches()[1]; }

  PagingDriver& driver;
  Sink<PageMove>* moves;
  Sink<CopyOrder>* copies;
};

Record<PageUse> use(std::uint64_t page, Access access) {
  return {Time{60us}, {page, 0, access, {}}};
}

}  // namespace

TEST_CASE("driver: of two pages, lru evicts the one not accessed, aged_lru the one migrated first") {
  for (std::string const order : {"lru", "aged_lru"}) {
    CAPTURE(order);
    UseBench b(order.c_str(), CleanPages::transferred, {use(7, Access::read)});
    CHECK(b.on_gpu(7) == (order == "lru"));
    CHECK(b.on_gpu(8) == (order == "aged_lru"));
    CHECK(b.on_gpu(9));
    CHECK(b.last().bytes_out == 4096);
  }
}

TEST_CASE("driver: lru uses arrival order without accesses, and ignores reports on pages elsewhere") {
  UseBench b("lru", CleanPages::transferred, {use(10, Access::read)});
  CHECK_FALSE(b.on_gpu(7));
  CHECK(b.on_gpu(8));
  CHECK_FALSE(b.on_gpu(10));
}

TEST_CASE(
    "driver: with dropping of clean pages, an unwritten page is evicted immediately without a transfer") {
  UseBench b("aged_lru", CleanPages::dropped, {});
  CHECK_FALSE(b.on_gpu(7));
  CHECK(b.copies->count() == 3);  // migrations of 7, 8 and 9
  CHECK(b.last().evicted_pages == 1);
  CHECK(b.last().dropped_pages == 1);
  CHECK(b.last().bytes_out == 0);
  // It is unmapped at 120 us, when the next page starts to migrate into its frame.
  CHECK(b.copies->nanoseconds()[2] == 120'001);
  CHECK(b.copies->records()[2].message.to == b.copies->records()[0].message.to);
}

TEST_CASE("driver: a written page is transferred, even if clean pages are dropped") {
  UseBench b("aged_lru", CleanPages::dropped, {use(7, Access::write)});
  CHECK_FALSE(b.on_gpu(7));
  CHECK(b.copies->count() == 4);
  CHECK(b.last().dropped_pages == 0);
  CHECK(b.last().bytes_out == 4096);
  CHECK(b.copies->nanoseconds()[3] == 130'001);
}

}  // namespace page_uses_test
