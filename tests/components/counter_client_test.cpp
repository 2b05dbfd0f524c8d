// SPDX-License-Identifier: Apache-2.0
// The driver's service of access-counter notifications, between mock IOMMUs, copy engines and ports of GPUs.
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "farfault/paging/paging_driver.hpp"
#include "mock.hpp"
#include "packets.hpp"
#include "policies.hpp"

namespace counter_client_test {

using namespace farfault;
using namespace farfault::mock;

namespace {

using Times = std::vector<std::int64_t>;
constexpr std::uint64_t kPage = 1000;   // page kPage + n is in frame n of GPU 1
constexpr std::uint64_t kOnCpu = 3000;  // page kOnCpu + n is in frame n of the CPU
constexpr std::uint64_t kFrames = 600;
constexpr std::uint64_t kRegion = 2 << 20;

constexpr PhysAddr frame(DeviceId device, std::uint64_t n) {
  return physical(device, n << 12);
}

// Copies pages with even numbers to a GPU that has counted accesses, and keeps its events.
std::vector<PageEvent> seen;
struct CopiesEven final : PageDecision {
  static constexpr Facts facts() {
    return {
        .moves_pages = true, .makes_copies = true, .events = {PageEventKind::fault, PageEventKind::counted}};
  }
  PageAction decide(PageEvent const& e) override {
    seen.push_back(e);
    if (e.kind == PageEventKind::fault) return PageAction::move_here;
    return e.page % 2 == 0 ? PageAction::copy_here : PageAction::stay;
  }
  void forget(std::uint64_t) override {}
};
// Moves every page to a GPU that has counted accesses.
struct MovesCounted final : PageDecision {
  static constexpr Facts facts() { return {.moves_pages = true, .events = {PageEventKind::counted}}; }
  PageAction decide(PageEvent const&) override { return PageAction::move_here; }
  void forget(std::uint64_t) override {}
};
template <class Decision>
PolicyChoice<PageDecision> policy_of_test() {
  auto const external = policies().add<Decision>("of_test", "of a test");
  ParamTable table(&external);
  PolicyChoice<PageDecision> choice("remote_access");
  choice.describe(table, "policy", "of a test", "assumed");
  choice.choose("of_test");
  return choice;
}

// Three GPUs, two IOMMUs; GPU 2 is behind IOMMU 1.
PagingDriverSpec spec_of(PolicyChoice<PageDecision> const& policy = policy_of_test<MovesCounted>()) {
  static std::vector<PlacedPage> placed;
  static PageTable const table = [] {
    PageTable t(0, 12);
    for (std::uint64_t n = 0; n < kFrames; ++n) {
      placed.push_back({kPage + n, 1, 0});
      t.map(kPage + n, frame(1, n));
      placed.push_back({kOnCpu + n, kFirstCpu, 0});
      t.map(kOnCpu + n, frame(kFirstCpu, n));
    }
    return t;
  }();
  PagingDriverSpec spec;
  spec.placed = &placed;
  spec.preloaded = &table;
  spec.frames_per_gpu = 2000;
  spec.devices = NodeDevices(3);
  spec.iommus = 2;
  spec.iommu_of_gpu = {0, 0, 1};
  spec.decide_by(policy);
  return spec;
}

CounterNotification note(DeviceId gpu, PhysAddr region, std::uint32_t sub_regions) {
  return {.region = region, .sub_regions = sub_regions, .count = 256, .gpu = gpu, .counter = gpu};
}
// A sub-region has 16 pages. Only these pages of GPU 1 remain, so that a region has few.
void keep(PagingDriverSpec& spec, std::vector<std::uint64_t> const& frames) {
  static std::vector<PlacedPage> placed;
  static PageTable table;
  placed.clear();
  table = PageTable(0, 12);
  for (std::uint64_t n = 0; n < kFrames; ++n) {
    bool const stays = std::ranges::find(frames, n) != frames.end();
    placed.push_back({stays ? kPage + n : 100'000 + n, 1, 0});
    if (stays) table.map(kPage + n, frame(1, n));
  }
  spec.placed = &placed;
  spec.preloaded = &table;
}

struct CounterBench : Bench {
  struct Script {
    std::vector<Record<CounterNotification>> notes = {};
    std::vector<Record<PageFault>> faults = {};
    std::vector<Record<StepDone>> steps = {};
    std::vector<Record<CopyDone>> copied = {};
  };
  CounterBench(PagingDriverSpec const& spec, Script script)
      : driver(system.add<PagingDriver>("driver", spec)) {
    auto packets = as_packets(script.notes);
    for (auto const& f : as_packets(script.faults)) packets.push_back(f);
    feed(driver.fault, packets);
    feed(driver.step_done, std::move(script.steps));
    feed(driver.copied, std::move(script.copied));
    mapped = sinks(driver.mapped, 2);
    join(driver.placed, mapped[0]->in_port);
    moves = sinks(driver.move, 2);
    copies = sinks(driver.copy, 3);
    to_gpus = sinks(driver.to_gpus, 2);
    run();
  }
  // Pages whose first step IOMMU 0 got, and when.
  std::vector<std::pair<std::uint64_t, std::int64_t>> begun() const {
    std::vector<std::pair<std::uint64_t, std::int64_t>> all;
    for (auto const& r : moves[0]->records())
      if (r.message.step == MoveStep::unmap)
        all.emplace_back(r.message.page, picoseconds(r.at - Time{}) / 1000);
    return all;
  }
  template <class M>
  Times times_of(std::size_t iommu) const {
    Times all;
    for (auto const& r : to_gpus[iommu]->records())
      if (r.message.template is<M>()) all.push_back(picoseconds(r.at - Time{}) / 1000);
    return all;
  }
  PagingDriver& driver;
  std::vector<Sink<PageMapped>*> mapped;
  std::vector<Sink<PageMove>*> moves;
  std::vector<Sink<CopyOrder>*> copies;
  std::vector<Sink<Packet>*> to_gpus;
};

// Both IOMMUs acknowledge a step of transition `number`.
std::vector<Record<StepDone>> acknowledged(std::vector<std::pair<std::int64_t, std::uint32_t>> const& steps) {
  std::vector<Record<StepDone>> all;
  for (auto const& [us, number] : steps)
    for (int i = 0; i < 2; ++i) all.push_back({Time{us * 1us}, {number}});
  return all;
}

using Begun = std::vector<std::pair<std::uint64_t, std::int64_t>>;

}  // namespace

TEST_CASE("counters: the pages of the accessed sub-regions move, are mapped, and the region is cleared") {
  auto spec = spec_of();
  keep(spec, {0, 17, 40, 512});  // in sub-regions 0, 1, 2, and of the next region
  CounterBench const b(spec, {.notes = {{Time{100ns}, note(2, frame(1, 0), 0b1011)}},
                              .steps = acknowledged({{3, 0}, {4, 1}, {11, 0}, {12, 1}}),
                              .copied = {{Time{9us}, {0}}, {Time{10us}, {1}}}});
  CHECK(b.begun() == Begun{{kPage, 1'101}, {kPage + 17, 2'101}});
  CHECK(b.copies[2]->nanoseconds() == Times{3'001, 4'001});
  CHECK(b.copies[2]->records()[1].message.from == frame(1, 17));
  CHECK(b.copies[2]->records()[1].message.to == frame(2, 1));
  for (auto const* iommu : b.moves) {
    CHECK(iommu->nanoseconds() == Times{1'101, 2'101, 9'001, 10'001});
    for (std::size_t i = 0; i < 2; ++i) {
      auto const& m = iommu->records()[2 + i].message;
      CHECK(m.step == MoveStep::map);
      CHECK(m.frame == frame(2, i));
    }
  }
  CHECK(b.mapped[0]->count() + b.mapped[1]->count() == 0);  // no answer
  // The read of the notification, and the clear when the last page is mapped: to the GPU that counted.
  CHECK(b.times_of<CounterRead>(1) == Times{101});
  CHECK(b.times_of<CounterClear>(1) == Times{12'001});
  CHECK(b.to_gpus[0]->count() == 0);
  auto const read = b.to_gpus[1]->records()[0].message.as<CounterRead>();
  CHECK((read.entries == 1 && read.gpu == 2));
  auto const clear = b.to_gpus[1]->records()[1].message.as<CounterClear>();
  CHECK((clear.region == frame(1, 0) && clear.gpu == 2 && clear.requester == 2));
  auto const& s = b.driver.state();
  CHECK(s.memory.table().find(kPage) == PageTranslation{frame(2, 0)});
  CHECK(s.memory.table().find(kPage + 40) == PageTranslation{frame(1, 40)});
  CHECK(s.stats[0].migrations == 2);
  CHECK(s.stats[0].page_faults == 0);
  CHECK(s.counters.counts().pages == 2);
  CHECK(test::stat_of(b.driver, "driver", "counter_notifications") == 1);
  CHECK(test::stat_of(b.driver, "driver", "counted_pages") == 2);
  CHECK(b.driver.waiting_for().empty());
}

TEST_CASE("counters: pages of the CPU move, too; a clear names the GPU that counts and the requester") {
  auto spec = spec_of();
  auto m = note(0, frame(kFirstCpu, 512), 1U << 31);  // beyond the last frame in use
  CounterBench const none(spec, {.notes = {{Time{100ns}, m}}});
  CHECK(none.begun().empty());
  CHECK(none.times_of<CounterClear>(0) == Times{101});
  m = note(0, frame(kFirstCpu, 0), 1);
  m.counter = 1;  // inbound
  spec.params.migrations = 1;
  CounterBench const b(spec, {.notes = {{Time{100ns}, m}}, .steps = acknowledged({{3, 0}})});
  CHECK(b.begun() == Begun{{kOnCpu, 1'101}});
  CHECK(device_of(b.copies[0]->records()[0].message.to) == 0);
  CHECK(b.to_gpus[0]->records()[0].message.as<CounterRead>().gpu == 1);
  CHECK(b.driver.waiting_for() ==
        "1 pages in flight, 0 faults waiting, operations of 0 streams, 1 notifications of gpu1");
  // Nothing to move: the clear follows at once.
  keep(spec, {});
  m.region = frame(1, 0);
  CounterBench const clears(spec, {.notes = {{Time{100ns}, m}}});
  CHECK(clears.times_of<CounterClear>(0) == Times{101});
  auto const clear = clears.to_gpus[0]->records()[1].message.as<CounterClear>();
  CHECK(clear.region == frame(1, 0));
  CHECK(clear.gpu == 1);
  CHECK(clear.requester == 0);
}

TEST_CASE("counters: with one transition number, a page begins when the one before it has ended") {
  auto spec = spec_of();
  keep(spec, {0, 17});
  spec.params.migrations = 1;
  CounterBench const b(spec, {.notes = {{Time{100ns}, note(2, frame(1, 0), 0b11)}},
                              .steps = acknowledged({{3, 0}, {11, 0}, {14, 0}, {16, 0}}),
                              .copied = {{Time{9us}, {0}}, {Time{15us}, {0}}}});
  CHECK(b.begun() == Begun{{kPage, 1'101}, {kPage + 17, 12'001}});
  CHECK(b.times_of<CounterClear>(1) == Times{16'001});
}

TEST_CASE("counters: the services of two GPUs take turns, and each clears its own regions") {
  auto spec = spec_of();
  keep(spec, std::vector<std::uint64_t>{0, 1, 2, 16, 17});
  CounterBench const b(spec, {.notes = {{Time{100ns}, note(0, frame(1, 0), 0b01)},
                                        {Time{100ns}, note(2, frame(1, 0), 0b10)}}});
  CHECK(
      b.begun() ==
      Begun{
          {kPage, 1'101}, {kPage + 1, 2'101}, {kPage + 2, 3'101}, {kPage + 16, 4'101}, {kPage + 17, 5'101}});
  spec.params.migrations = 4;
  CounterBench const few(
      spec, {.notes = {{Time{100ns}, note(0, frame(1, 0), 0b01)}, {Time{100ns}, note(2, frame(1, 0), 0b10)}},
             .steps = acknowledged({{10, 0}, {12, 0}}),
             .copied = {{Time{11us}, {0}}}});
  // The number that becomes free goes to the GPU whose turn it is.
  REQUIRE(few.begun().size() == 5);
  CHECK(few.begun()[3] == std::pair<std::uint64_t, std::int64_t>{kPage + 16, 4'101});
  CHECK(few.begun()[4] == std::pair<std::uint64_t, std::int64_t>{kPage + 17, 13'001});
}

TEST_CASE("counters: services that wait for the same transition number get it in turns, one page each") {
  auto spec = spec_of();
  keep(spec, std::vector<std::uint64_t>{0, 1, 2, 16, 17});
  spec.params.migrations = 1;
  std::vector<std::pair<std::int64_t, std::uint32_t>> steps;
  std::vector<Record<CopyDone>> copied;
  Begun begun{{kPage, 1'101}};
  for (std::int64_t us = 10; us < 60; us += 10) {
    steps.insert(steps.end(), {{us, 0}, {us + 4, 0}});
    copied.push_back({Time{(us + 2) * 1us}, {0}});
  }
  std::int64_t begins = 15'001;  // the driver's time after the last acknowledgement of the page before
  for (std::uint64_t const n : {16, 1, 17, 2}) {
    begun.emplace_back(kPage + n, begins);
    begins += 10'000;
  }
  CounterBench const b(
      spec, {.notes = {{Time{100ns}, note(0, frame(1, 0), 0b01)}, {Time{100ns}, note(2, frame(1, 0), 0b10)}},
             .steps = acknowledged(steps),
             .copied = copied});
  CHECK(b.begun() == begun);
  CHECK(b.times_of<CounterClear>(0) == Times{54'001});
  CHECK(b.times_of<CounterClear>(1) == Times{44'001});
}

TEST_CASE("counters: a service reads at most a batch, after the time of an interrupt, until none is left") {
  auto spec = spec_of();
  keep(spec, {});
  spec.counters.batch = 2;
  spec.counters.interrupt_time = 5us;
  std::vector<Record<CounterNotification>> notes;
  for (std::uint64_t i = 0; i < 3; ++i) notes.push_back({Time{100ns}, note(0, frame(1, 512 * i), 1)});
  notes.push_back({Time{200ns}, note(2, frame(1, 0), 1)});
  notes.push_back({Time{8us}, note(0, frame(1, 0), 1)});
  CounterBench const b(spec, {.notes = notes});
  CHECK(b.times_of<CounterRead>(0) == Times{5'101, 5'101, 13'001});
  std::vector<std::uint32_t> entries;
  for (auto const& r : b.to_gpus[0]->records())
    if (r.message.is<CounterRead>()) entries.push_back(r.message.as<CounterRead>().entries);
  CHECK(entries == std::vector<std::uint32_t>{2, 1, 1});
  CHECK(b.times_of<CounterClear>(0) == Times{5'101, 5'101, 5'101, 13'001});
  CHECK(b.times_of<CounterRead>(1) == Times{5'201});
  CHECK(b.driver.state().counters.counts().notifications == 5);
}

TEST_CASE(
    "counters: a page in flight, on the GPU, or gone from the frame is skipped, and the region cleared") {
  auto spec = spec_of();
  keep(spec, {0, 17});
  CounterBench const b(spec, {.notes = {{Time{100ns}, note(2, frame(1, 0), 0b1)},
                                        {Time{200ns}, note(0, frame(1, 0), 0b1)},   // in flight to GPU 2
                                        {Time{300ns}, note(1, frame(1, 0), 0b10)},  // its own page
                                        {Time{20us}, note(0, frame(1, 0), 0b1)}},   // moved away
                              .steps = acknowledged({{3, 0}, {11, 0}}),
                              .copied = {{Time{9us}, {0}}}});
  CHECK(b.begun() == Begun{{kPage, 1'101}});
  CHECK(b.times_of<CounterClear>(0) == Times{201, 301, 20'001});
  CHECK(b.driver.state().counters.counts().pages == 1);
}

TEST_CASE(
    "counters: a region reported twice, because its counter was dropped, moves once and is cleared twice") {
  auto spec = spec_of();
  keep(spec, {0});
  spec.counters.interrupt_time = 5us;  // both notifications are read at once
  for (bool const at_once : {true, false}) {
    auto const second = at_once ? 100ns : 6us;
    CounterBench const b(
        spec, {.notes = {{Time{100ns}, note(2, frame(1, 0), 1)}, {Time{} + second, note(2, frame(1, 0), 1)}},
               .steps = acknowledged({{8, 0}, {16, 0}}),
               .copied = {{Time{14us}, {0}}}});
    CHECK(b.begun() == Begun{{kPage, 6'101}});
    CHECK(b.times_of<CounterRead>(1) == (at_once ? Times{5'101} : Times{5'101, 16'001}));
    CHECK(b.times_of<CounterClear>(1) == Times{16'001, 16'001});
    CHECK(b.driver.state().counters.counts().notifications == 2);
    CHECK(b.driver.state().counters.counts().pages == 1);
    CHECK(b.driver.waiting_for().empty());
  }
}

TEST_CASE("counters: a moved page is found at its new frame, and moves again") {
  auto spec = spec_of();
  keep(spec, {0});
  CounterBench const b(
      spec, {.notes = {{Time{100ns}, note(2, frame(1, 0), 1)}, {Time{20us}, note(0, frame(2, 0), 1)}},
             .steps = acknowledged({{3, 0}, {11, 0}, {22, 0}, {26, 0}}),
             .copied = {{Time{9us}, {0}}, {Time{25us}, {0}}}});
  CHECK(b.begun() == Begun{{kPage, 1'101}, {kPage, 21'001}});
  CHECK(b.driver.state().memory.table().find(kPage) == PageTranslation{frame(0, 0)});
  CHECK(b.driver.state().memory.frames(2).available() == 2000);
}

TEST_CASE("counters: a full GPU gets no page; each refusal is counted, and nothing is evicted") {
  for (bool const in_batches : {false, true}) {
    auto spec = spec_of();
    spec.devices = NodeDevices(3);
    spec.frames_per_gpu = kFrames;
    static std::vector<PlacedPage> full;
    full = *spec.placed;
    for (std::uint64_t n = 0; n < kFrames; ++n) full.push_back({200'000 + n, 2, 0});
    spec.placed = &full;
    spec.in_batches = in_batches;
    spec.batch.replay.choose(in_batches ? "batch" : "each_fault");
    spec.batch.eviction_unit = ByteSize{4096};
    CounterBench const b(spec, {.notes = {{Time{100ns}, note(2, frame(1, 0), 0b11)}}});

    CHECK(b.begun().empty());
    CHECK(b.driver.state().stats[0].migrations_refused == 32);
    CHECK(b.driver.state().stats[0].evicted_pages == 0);
    CHECK(b.times_of<CounterClear>(1) == Times{101});
  }
}

TEST_CASE("counters: with batches, driver time is that of a page of a batch, and evictions know the page") {
  auto spec = spec_of();
  keep(spec, {0});
  spec.in_batches = true;
  spec.batch.replay.choose("batch");
  spec.batch.page_time = 300ns;
  spec.batch.eviction_unit = ByteSize{4096};
  CounterBench const b(spec, {.notes = {{Time{100ns}, note(2, frame(1, 0), 1)}},
                              .steps = acknowledged({{3, 0}, {11, 0}}),
                              .copied = {{Time{9us}, {0}}}});
  CHECK(b.begun() == Begun{{kPage, 401}});
  auto const& s = b.driver.state();
  REQUIRE(s.evictions.residency(2, kPage) != nullptr);
  CHECK(s.evictions.residency(2, kPage)->arrived == Time{9us});
  CHECK(s.evictions.residency(2, kPage)->dirty == 1);  // from another GPU
  CHECK(s.stats[0].migrations == 1);
}

TEST_CASE("counters: with batches, the transition numbers of one eviction unit stay free for evictions") {
  auto spec = spec_of();
  keep(spec, std::vector<std::uint64_t>{0, 1, 2, 3, 4});
  spec.in_batches = true;
  spec.batch.replay.choose("batch");
  spec.batch.page_time = 300ns;
  spec.batch.eviction_unit = ByteSize{8192};
  spec.params.migrations = 5;
  CounterBench const b(spec, {.notes = {{Time{100ns}, note(2, frame(1, 0), 1)}}});
  CHECK(b.begun() == Begun{{kPage, 401}, {kPage + 1, 701}, {kPage + 2, 1'001}});
  CHECK(b.driver.state().transitions.free() == 2);
}

TEST_CASE("counters: the policy sees counted accesses once per page, and copies are mapped for the GPU") {
  auto spec = spec_of(policy_of_test<CopiesEven>());
  keep(spec, {16, 17, 18});
  CHECK(spec.counts_accesses);
  seen.clear();
  CounterBench const b(spec, {.notes = {{Time{100ns}, note(2, frame(1, 0), 0b10)}},
                              .steps = acknowledged({{3, 0}, {4, 1}, {11, 0}, {12, 1}}),
                              .copied = {{Time{9us}, {0}}, {Time{10us}, {1}}}});
  CHECK(b.begun() == Begun{{kPage + 16, 1'101}, {kPage + 18, 2'101}});
  auto const& last = b.moves[1]->records().back().message;
  CHECK(last.step == MoveStep::map_copy);
  CHECK(last.frame == read_only(frame(2, 1)));
  CHECK(b.driver.state().memory.is_shared(kPage + 18));
  CHECK(b.driver.state().memory.frame_on(kPage + 18, 2) == frame(2, 1));
  CHECK(b.driver.state().stats[0].migrations == 0);
  CHECK(b.times_of<CounterClear>(1) == Times{12'001});
  REQUIRE(seen.size() == 3);
  for (auto const& e : seen) {
    CHECK(e.kind == PageEventKind::counted);
    CHECK(e.access == Access::read);
    CHECK(e.gpu == 2);
    CHECK(e.owner == 1);
    CHECK(e.accesses == 256);
    CHECK_FALSE(e.has_copies);
  }
  CHECK(seen[1].page == kPage + 17);
}

TEST_CASE("counters: a fault on a page that counters move waits, and starts no further migration") {
  auto spec = spec_of();
  keep(spec, {0});
  PageFault const fault{.page = kPage, .gpu = 0, .iommu = 0, .entry = 7, .kind = FaultKind::moving};
  CounterBench const b(spec, {.notes = {{Time{100ns}, note(2, frame(1, 0), 1)}},
                              .faults = {{Time{200ns}, fault}},
                              .steps = acknowledged({{3, 0}, {11, 0}}),
                              .copied = {{Time{9us}, {0}}}});
  CHECK(b.mapped[0]->nanoseconds() == Times{11'001});
  CHECK(b.mapped[0]->records()[0].message.frame == frame(2, 0));
  CHECK(b.begun() == Begun{{kPage, 1'101}});
}

TEST_CASE("counters: regions smaller than a page, and regions of several sub-regions per page") {
  auto spec = spec_of();
  static PageTable table(0, 21);
  static std::vector<PlacedPage> const placed{{5, 1, 0}, {6, 1, 0}};
  table.map(5, physical(1, 0));
  table.map(6, physical(1, kRegion));
  spec.page_bits = 21;
  spec.preloaded = &table;
  spec.placed = &placed;
  spec.frames_per_gpu = 10;
  for (unsigned const bits : {16U, 21U, 24U}) {
    CAPTURE(bits);
    spec.counter_regions = {bits};
    auto const first = bits == 24 ? 0 : kRegion + (bits == 16 ? 3 << 16 : 0);
    // Accesses in the middle of the second page.
    auto const mask = bits == 16 ? 1U : bits == 21 ? 0b1100U : 0b1100'0000U;
    CounterBench const b(spec, {.notes = {{Time{100ns}, note(2, physical(1, first), mask)}}});
    CHECK(b.begun() == Begun{{6, 1'101}});
  }
}

TEST_CASE("frame owners: the last page mapped to a frame, by memory") {
  FrameOwners o{NodeDevices(2)};
  CHECK(!o.page_at(0, 5));
  o.set(0, 5, 77);
  o.set(2, 1, 78);
  CHECK(o.page_at(0, 5) == 77);
  CHECK(!o.page_at(0, 4));
  CHECK(!o.page_at(1, 5));
  CHECK(o.page_at(2, 1) == 78);
  CHECK(o.end(0) == 6);
  CHECK(o.end(1) == 0);
  o.set(0, 5, 79);
  CHECK(o.page_at(0, 5) == 79);
}

}  // namespace counter_client_test
