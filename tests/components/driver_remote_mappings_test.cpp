// SPDX-License-Identifier: Apache-2.0
// The driver of GPUs whose walks end in the GPU: it finds the cause of a fault, and pages that stay are
// mapped remotely. A fault takes 1 us, links 1 ns.
#include <doctest/doctest.h>

#include "batch_bench.hpp"
#include "paging_driver_bench.hpp"
#include "policies.hpp"

namespace driver_remote_mappings_test {

using namespace farfault;
using driver_bench::DriverBench;
using driver_bench::kFrame;
using driver_bench::kPage;
using driver_bench::one_page;
using namespace farfault::mock;

namespace {

using Times = std::vector<std::int64_t>;

PagingDriverSpec ending(PageTable const& table, std::string_view policy) {
  PagingDriverSpec spec;
  spec.preloaded = &table;
  spec.gpus_end_walks = true;
  spec.decision.choose(policy);
  spec.pages_move = true;
  return spec;
}
// As a GPU's walk sends it: the kind is not known.
PageFault fault(std::uint64_t page, std::uint16_t gpu, std::uint16_t iommu) {
  PageFault f{};
  f.page = page;
  f.gpu = gpu;
  f.iommu = iommu;
  f.recorded_by_gpu = 1;
  return f;
}

}  // namespace

TEST_CASE("driver: a page that stays on its device is mapped remotely after the time of a fault") {
  auto const table = one_page();
  DriverBench b(ending(table, "remote_access"), {.faults = {{Time{100ns}, fault(kPage, 2, 1)}}});
  CHECK(b.mapped[1]->nanoseconds() == Times{100 + 1000 + 1});
  auto const m = b.mapped[1]->records()[0].message;
  CHECK(m.frame == kFrame);
  CHECK(m.gpu == 2);
  CHECK(m.kind == FaultKind::remote);
  CHECK(b.moves[0]->count() == 0);
  CHECK(b.driver.state().work.busy_ps() == 1'000'000);
}

TEST_CASE("driver: a GPU that faults on a page in its own memory is answered without driver time") {
  auto const table = one_page();
  DriverBench b(ending(table, "remote_access"), {.faults = {{Time{100ns}, fault(kPage, 1, 1)}}});
  CHECK(b.mapped[1]->nanoseconds() == Times{101});
  CHECK(b.mapped[1]->records()[0].message.frame == kFrame);
}

TEST_CASE(
    "driver: the cause of a fault is the state of its page when it is served, or that the page moved "
    "meanwhile") {
  auto const table = one_page();
  // GPU 2 gets the page by migration, GPU 0 waits meanwhile and accesses it there; page 50 is unmapped.
  DriverBench b(ending(table, "migrate"), {.faults = {{Time{100ns}, fault(kPage, 2, 1)},
                                                      {Time{5us}, fault(kPage, 0, 1)},
                                                      {Time{20us}, fault(50, 0, 1)}},
                                           .unmapped = {{Time{2us}, {0}}, {Time{3us}, {0}}},
                                           .copied = {{Time{9us}, {0}}}});
  auto const there = physical(2, 300 << 12);
  REQUIRE(b.mapped[1]->nanoseconds() == Times{9000 + 1, 9000 + 1, 20'000 + 1000 + 1});
  auto const& records = b.mapped[1]->records();
  CHECK(records[0].message.kind == FaultKind::remote);
  CHECK(records[0].message.frame == there);
  CHECK(records[1].message.kind == FaultKind::moving);
  CHECK(records[1].message.frame == there);
  CHECK(records[1].message.gpu == 0);
  CHECK(records[2].message.kind == FaultKind::not_mapped);
  CHECK(records[2].message.frame == physical(0, 100 << 12));
}

TEST_CASE("driver: only the driver knows the cause, whatever kind a fault has") {
  auto const table = one_page();
  auto spec = ending(table, "migrate");
  auto f = fault(kPage, 2, 1);
  f.kind = FaultKind::moving;
  for (bool const ends : {false, true}) {
    spec.gpus_end_walks = ends;
    DriverBench b(spec, {.faults = {{Time{100ns}, f}}});
    CHECK((b.moves[0]->count() != 0) == ends);  // it migrates
  }
}

TEST_CASE("driver: a fault that waits for a transition number is decided once") {
  auto const table = one_page();
  auto spec = ending(table, "duplicate");
  spec.decide_by(PolicyChoice<PageDecision>("duplicate"));
  spec.decides_alone = true;
  spec.params.migrations = 1;
  DriverBench b(spec, {.faults = {{Time{100ns}, fault(kPage, 2, 1)}, {Time{200ns}, fault(kPage + 1, 0, 1)}},
                       .unmapped = {{Time{2us}, {0}}, {Time{3us}, {0}}, {Time{12us}, {0}}, {Time{13us}, {0}}},
                       .copied = {{Time{9us}, {0}}, {Time{20us}, {0}}}});
  CHECK(b.mapped[1]->nanoseconds() == Times{9001, 20'001});
  CHECK(test::stat_of(b.driver, "memory.remote_touch", "reads") == 2);
}

namespace {

// A driver of two GPUs and one IOMMU. Page 7 is on GPU 0; GPU 1 faults on it, and reads its fault buffer at
// 100 ns. The policy leaves it there.
struct RemoteBatch : Bench {
  explicit RemoteBatch(std::string const& replay, std::string_view policy = "remote_access",
                       std::vector<Record<StepDone>> steps = {}, bool ends = true)
      : driver(system.add<PagingDriver>("driver", spec_of(replay, policy, ends))) {
    auto const entry = Packet::of(FaultEntry{.page = 7, .raised = Time{90ns}, .client = 3});
    feed(driver.fault, {{Time{100ns}, Packet::of(FaultInterrupt{1})},
                        {Time{300ns}, entry},
                        {Time{300ns}, Packet::of(FaultsDrained{1})},
                        {Time{90us}, Packet::of(FaultsDrained{0})}});
    feed(driver.step_done, std::move(steps));
    idle(driver.copied);
    mapped = sinks(driver.mapped, 1)[0];
    join(driver.placed, mapped->in_port);
    moves = sinks(driver.move, 1)[0];
    sinks(driver.copy, 2);
    orders = sinks(driver.to_gpus, 1)[0];
    run();
  }
  static PagingDriverSpec spec_of(std::string const& replay, std::string_view policy, bool ends) {
    static auto const table = [] {
      PageTable t(0, 12);
      t.map(7, physical(0, 0));
      return t;
    }();
    auto spec = batch_bench::spec_of(replay, "serialized", 100);
    static std::vector<PlacedPage> const placed{{7, 0, 0}};
    spec.placed = &placed;
    spec.preloaded = &table;
    spec.devices = NodeDevices(2);
    spec.iommu_of_gpu = {0, 0};
    spec.gpus_end_walks = ends;
    spec.decide_by(PolicyChoice<PageDecision>(policy));
    return spec;
  }
  BatchRecord const& batch() const { return driver.state().records.batches().at(0); }

  PagingDriver& driver;
  Sink<PageMapped>* mapped;
  Sink<PageMove>* moves;
  Sink<Packet>* orders;
};

// From the read of the buffer, at 100 ns.
constexpr std::int64_t kWorked =
    100 + batch_bench::kTime + batch_bench::kFirstTouch + batch_bench::kBlock + batch_bench::kPageWork;

}  // namespace

TEST_CASE("batches: a page that stays is mapped remotely when its block is done, and then replayed") {
  RemoteBatch b("batch_flush", "remote_access", {{Time{60us}, {0}}});
  CHECK(b.moves->nanoseconds() == Times{kWorked + 1});
  auto const m = b.moves->records().at(0).message;
  CHECK(m.step == MoveStep::map_remote);
  CHECK(m.page == 7);
  CHECK(m.frame == physical(0, 0));
  CHECK(m.gpu == 1);
  CHECK(b.mapped->count() == 0);
  CHECK(b.orders->nanoseconds() == Times{101, 60'001, 60'001});
  CHECK(b.orders->records()[1].message.as<FaultOrder>().kind == FaultOrderKind::flush_replay);
  CHECK(b.batch().ended == Time{60us});
  CHECK(b.batch().duplicates == 0);
  CHECK(b.batch().faulted_pages == 0);  // none migrated
  CHECK(b.batch().bytes_in == 0);
}

TEST_CASE("batches: with replays by page, the answer writes the remote mapping") {
  RemoteBatch b("page");
  CHECK(b.moves->count() == 0);
  CHECK(b.mapped->nanoseconds() == Times{kWorked + 1});
  auto const m = b.mapped->records().at(0).message;
  CHECK(m.frame == physical(0, 0));
  CHECK(m.gpu == 1);
  CHECK(m.entry == kNoRecord);
  CHECK(m.kind == FaultKind::remote);
  CHECK(picoseconds(b.batch().ended) == kWorked * 1000);
}

TEST_CASE("batches: without walks that end in the GPU, a page that stays is answered and not mapped") {
  RemoteBatch b("batch_flush", "remote_access", {}, false);
  CHECK(b.moves->count() == 0);
  CHECK(b.mapped->count() == 1);
  CHECK(b.batch().duplicates == 1);
}

TEST_CASE("batches: a page that moves is not mapped remotely") {
  RemoteBatch b("batch_flush", "migrate");
  REQUIRE(b.moves->count() == 1);
  CHECK(b.moves->records()[0].message.step == MoveStep::unmap);
}

}  // namespace driver_remote_mappings_test
