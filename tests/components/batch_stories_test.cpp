// SPDX-License-Identifier: Apache-2.0
// What the driver keeps in mind of each page between batches: where it has copies, what has been written, how
// long it stays, whether it is in the order of eviction. Around it are an IOMMU that takes 5 us for a step,
// copy engines that take 40 us for a page, and fault buffers: a story is what is put into these.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "farfault/paging/paging_driver.hpp"
#include "mock.hpp"
#include "placed_pages.hpp"
#include "policies.hpp"

using namespace farfault;
using namespace farfault::mock;

namespace {

struct Fault {
  std::uint64_t page = 0;
  Access access = Access::read;
  std::uint8_t application = 0;
};
// These accesses of a GPU fault at once.
struct Faults {
  Time at;
  std::uint16_t gpu = 0;
  std::vector<Fault> faults;
};

struct DevicesSpec {
  std::vector<Faults> story;
};
struct DevicesState {
  std::vector<std::vector<Fault>> buffers = std::vector<std::vector<Fault>>(4);
  std::vector<std::uint8_t> interrupted = std::vector<std::uint8_t>(4);
  std::vector<PageMove> moves;
  std::vector<CopyOrder> copies;
  std::vector<std::int64_t> told;  // in order: -1 - g, a replay of GPU g; a page that is unmapped
};

class Devices final : public Component<DevicesSpec, DevicesState> {
 public:
  using Component::Component;
  Self<Step> next = timer<&Devices::on_next>("next");
  In<FaultOrder> order = in<&Devices::on_order>("order");
  In<PageMove> move = in<&Devices::on_move>("move");
  In<CopyOrder> copy = in<&Devices::on_copy>("copy");
  Out<PageFault> fault = out<PageFault>("fault");
  Out<StepDone> step_done = out<StepDone>("step_done");
  Out<CopyDone> copied = out<CopyDone>("copied");
  std::string_view kind() const override { return "devices"; }

  void on_next(Step const& step, Cx& cx) const {
    auto const& f = spec().story[step.index];
    auto& s = cx.state();
    auto& buffer = s.buffers[f.gpu];
    buffer.insert(buffer.end(), f.faults.begin(), f.faults.end());
    if (s.interrupted[f.gpu] == 0) note(FaultNote::interrupt, f.gpu, {}, 0, cx);
    s.interrupted[f.gpu] = 1;
  }
  void on_order(FaultOrder const& m, Cx& cx) const {
    if (m.kind != FaultOrderKind::drain) return cx.state().told.push_back(-1 - m.gpu);
    auto& buffer = cx.state().buffers[m.gpu];
    for (std::uint32_t i = 0; i < buffer.size(); ++i) note(FaultNote::entry, m.gpu, buffer[i], i, cx);
    note(FaultNote::drained, m.gpu, {}, static_cast<std::uint32_t>(buffer.size()), cx);
    if (buffer.empty()) cx.state().interrupted[m.gpu] = 0;
    buffer.clear();
  }
  void on_move(PageMove const& m, Cx& cx) const {
    cx.state().moves.push_back(m);
    if (m.step == MoveStep::unmap) cx.state().told.push_back(static_cast<std::int64_t>(m.page));
    if (m.step != MoveStep::remap) cx.send(step_done, StepDone{m.move}, 5us);
  }
  void on_copy(CopyOrder const& m, Cx& cx) const {
    cx.state().copies.push_back(m);
    cx.send(copied, CopyDone{m.tag}, 40us);
  }

 private:
  void note(FaultNote n, std::uint16_t gpu, Fault const& f, std::uint32_t entry, Cx& cx) const {
    cx.send(fault,
            PageFault{f.page, gpu, 0, entry, FaultKind::not_mapped, 1, f.application, n, f.access, {}, {}});
  }
};

constexpr std::uint64_t kPages = 6;

PageTable const& pages_of_cpu() {
  static auto const table = [] {
    PageTable t(0, 12);
    for (std::uint64_t p = 0; p < kPages; ++p) t.map(7 + p, physical(kFirstCpu, p << 12));
    return t;
  }();
  return table;
}

// Pages 7 to 12 are in frames 0 to 5 of the CPU.
PagingDriverSpec machine(std::uint32_t gpus, std::uint64_t frames) {
  PagingDriverSpec spec;
  spec.in_batches = true;
  spec.batch.replay.choose("page");
  spec.batch.prefetch.choose("none");
  spec.batch.eviction_unit = ByteSize{4096};
  spec.batch.block_time = spec.batch.page_time = spec.batch.first_touch_time = Duration::zero();
  spec.frames_per_gpu = frames;
  spec.placed = in_use(std::vector<std::uint64_t>(gpus), kPages);
  spec.preloaded = &pages_of_cpu();
  spec.iommu_of_gpu.assign(gpus, 0);
  spec.devices = NodeDevices(gpus);
  spec.pages_move = true;
  return spec;
}

struct Story : Bench {
  Story(PagingDriverSpec const& spec, std::vector<Faults> const& story,
        std::vector<Record<PageUse>> uses = {}, std::vector<Record<MemoryOrder>> orders = {})
      : driver(system.add<PagingDriver>("driver", spec)), devices(system.add<Devices>("devices", {story})) {
    join(devices.fault, driver.fault);
    join(devices.step_done, driver.step_done);
    join(devices.copied, driver.copied);
    join_family(driver.fault_order, {devices.order});
    join_family(driver.move, {devices.move});
    join_family(driver.copy, std::vector(spec.devices.gpus(), devices.copy));
    answers = sinks(driver.mapped, 1)[0];
    join(driver.placed, answers->in_port);
    if (spec.told_of_uses) feed(driver.used, std::move(uses));
    if (spec.tells_lifetimes) told = sinks(driver.lifetimes, spec.devices.gpus());
    if (spec.host_pages != nullptr) {
      feed(driver.memory_order, std::move(orders));
      sink(driver.order_done);
    }
    for (std::uint64_t i = 0; i < story.size(); ++i) system.post(devices.next, Step{i}, story[i].at);
    run();
    CHECK(driver.waiting_for().empty());
  }
  PagingDriverState const& state() const { return driver.state(); }
  BatchState const& batch() const { return state().batch; }
  BatchRecord const& row(std::size_t i) const { return batch().records.at(i); }
  PageStay const& stay(std::uint32_t gpu, std::uint64_t page) const { return *batch().stays[gpu].find(page); }
  DeviceId home(std::uint64_t page) const { return device_of(state().table.find(page)->frame); }
  bool has_copy(std::uint64_t page, DeviceId gpu) const { return state().copies.find(page, gpu).has_value(); }
  // Of the order lru: units that were accessed in an epoch, summed over epochs and GPUs.
  std::uint64_t accessed_units() const {
    std::array<std::uint64_t, 2> counts{};
    batch().orders.sample(counts.data());
    return counts[1];
  }

  PagingDriver& driver;
  Devices& devices;
  Sink<PageMapped>* answers = nullptr;
  std::vector<Sink<PageLifetimes>*> told;
};

constexpr auto kWrite = Access::write;

PagingDriverSpec with_copies(PagingDriverSpec spec) {
  spec.makes_copies = true;
  return spec;
}
PagingDriverSpec with_lru(PagingDriverSpec spec) {
  spec.batch.eviction_order.choose("lru");
  spec.told_of_uses = true;
  return spec;
}

}  // namespace

TEST_CASE(
    "batches: a GPU's working set ends with what it has: a page that another GPU takes is in it no more") {
  for (bool const copies : {false, true}) {
    CAPTURE(copies);
    auto spec = with_lru(machine(2, 2));
    spec.makes_copies = copies;
    // GPU 1 has page 7, or a copy, until GPU 0 writes it.
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

TEST_CASE("batches: a unit of which a page goes to another GPU stays where its other pages are") {
  auto spec = with_lru(machine(2, 3));
  spec.batch.eviction_unit = ByteSize{8192};
  // Of the unit 8 page 9 stays on GPU 0.
  std::vector<Faults> const story{
      {Time{100us}, 0, {{8}, {9}}}, {Time{300us}, 0, {{10}}}, {Time{500us}, 1, {{8}}}};
  CHECK(Story(spec, story, {{Time{700us}, {9, 0, Access::read, {}}}}).accessed_units() == 1);
  // It is the oldest, and leaves first.
  auto longer = story;
  longer.push_back({Time{800us}, 0, {{7}}});
  longer.push_back({Time{1ms}, 0, {{11}}});
  Story const b(spec, longer);
  CHECK(b.row(4).evicted_pages == 1);
  CHECK(b.home(9) == kFirstCpu);
  CHECK(b.home(10) == 0);
}

TEST_CASE("batches: a copy has not been written, whatever was in that GPU before") {
  auto spec = with_copies(machine(1, 1));
  spec.told_of_uses = true;
  Story const b(spec, {{Time{100us}, 0, {{7, kWrite}}}, {Time{300us}, 0, {{8}}}, {Time{500us}, 0, {{7}}}},
                {{Time{200us}, {7, 0, Access::write, {}}}});
  CHECK(b.has_copy(7, 0));
  CHECK(b.stay(0, 7).dirty == 0);
}

TEST_CASE("batches: nothing leaves for a page that is written where it is") {
  for (std::string const schedule : {"serialized", "unobtrusive", "ideal"}) {
    CAPTURE(schedule);
    auto spec = with_copies(machine(2, 2));
    spec.batch.eviction_schedule.choose(schedule);
    // GPU 0 has page 7, of which GPU 1 has a copy, and 8: it is full.
    Story const b(spec, {{Time{100us}, 0, {{8, kWrite}, {7, kWrite}}},
                         {Time{300us}, 1, {{7}}},
                         {Time{500us}, 0, {{7, kWrite}}}});
    CHECK(b.row(2).evicted_pages == 0);
    CHECK(b.row(2).bytes_in == 0);
    CHECK(b.home(7) == 0);
    CHECK(b.home(8) == 0);
    CHECK_FALSE(b.has_copy(7, 1));
    CHECK(b.stay(0, 7).came == b.stay(0, 8).came);
  }
}

TEST_CASE("batches: beside a page that is written where it is, only what the others need leaves") {
  for (std::string const schedule : {"serialized", "unobtrusive", "ideal"}) {
    CAPTURE(schedule);
    auto spec = with_copies(machine(2, 4));
    spec.batch.eviction_schedule.choose(schedule);
    spec.params.migrations = 4;  // one of which is kept for what leaves: page 12 waits for a number
    // GPU 0 has 11, the oldest, and 12, of which GPU 1 has a copy; two frames are free.
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

TEST_CASE(
    "batches: a page that a program copies to meanwhile, and that is there then, makes no room for others") {
  auto spec = machine(1, 1);
  static HostPages const host({{7, 1}}, 100);
  spec.host_pages = &host;
  spec.application_of_stream = {0};
  // Until 290 us the program copies to page 7, on which two SMs have faulted: it is there when that ends.
  MemoryOrder const order{std::uint64_t{7} << 12, 4096, 0, OperationKind::copy_to_gpus, {}};
  Story const b(spec, {{Time{100us}, 0, {{7}}}, {Time{255us}, 0, {{7}, {8}}}}, {}, {{Time{250us}, order}});
  CHECK(b.row(1).faulted_pages == 1);
  CHECK(b.row(1).evicted_pages == 1);
  CHECK(b.home(7) == kFirstCpu);
  CHECK(b.home(8) == 0);
}

TEST_CASE("batches: a page that was to be written where it is, and left before, comes again") {
  auto spec = with_copies(machine(1, 1));
  spec.params.migrations = 2;  // page 8 waits for a number until 7 is there, for which its copy leaves
  Story const b(spec, {{Time{100us}, 0, {{8}}}, {Time{300us}, 0, {{7}, {8, kWrite}}}});
  CHECK(b.row(1).evicted_pages == 2);
  CHECK(b.row(1).faulted_pages == 2);
  CHECK(b.home(7) == kFirstCpu);
  CHECK(b.home(8) == 0);
  CHECK_FALSE(b.has_copy(8, 0));
  CHECK(b.state().frames[0].available() == 0);
}

TEST_CASE(
    "batches: of each unit that leaves the GPU is told how long its pages stayed, and what came again") {
  for (bool const copies : {false, true}) {
    CAPTURE(copies);
    auto spec = machine(1, 1);
    spec.makes_copies = copies;
    spec.tells_lifetimes = true;
    Story const b(
        spec,
        {{Time{100us}, 0, {{7}}}, {Time{300us}, 0, {{8}}}, {Time{500us}, 0, {{7}}}, {Time{800us}, 0, {{8}}}});
    REQUIRE(b.told.size() == 1);
    auto const& told = b.told[0]->records();
    PageLifetimes sum;
    for (auto const& r : told) {
      sum.pages += r.message.pages;
      sum.premature += r.message.premature;
      sum.lifetime_ps += r.message.lifetime_ps;
    }
    // 7 leaves, 8 leaves, 7 comes again and leaves again, and 8 comes again at last.
    CHECK(sum.pages == 3);
    CHECK(sum.premature == 2);
    CHECK(sum.premature == b.batch().counts.premature_evictions);
    CHECK(sum.lifetime_ps == b.batch().counts.lifetime_ps);
    REQUIRE(told.size() == 5);
    for (std::size_t const i : {0U, 1U, 3U}) CHECK(told[i].message.pages == 1);
    for (std::size_t const i : {2U, 4U}) CHECK(told[i].message.premature == 1);
    // 7 lands 50.002 us after the begin of its batch (10 us of work, 40 us of copying, a link each way). 8
    // can come 210 us after that begin: then 7 is unmapped (5.002 us), and transferred (40.002 us) or
    // dropped.
    CHECK(told[0].message.lifetime_ps == (copies ? 165'000'000 : 205'002'000));
    CHECK(b.stay(0, 7).evictions == 2);
    CHECK(b.stay(0, 8).evictions == 1);
  }
}

TEST_CASE("batches: an evicted page that a prefetch brings back is not counted as a premature eviction") {
  auto spec = machine(1, 2);
  spec.batch.prefetch = test::chosen<Prefetcher>("sequential", {{"bytes", "4KiB"}});
  spec.tells_lifetimes = true;
  // Each fault also brings the next page, and both frames are full: 9 and 10 evict 7 and 8, which come back,
  // 7 by its fault and 8 by the prefetch.
  Story const b(spec, {{Time{100us}, 0, {{7}}}, {Time{400us}, 0, {{9}}}, {Time{800us}, 0, {{7}}}});
  REQUIRE(b.batch().records.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(b.row(i).faulted_pages == 1);
    CHECK(b.row(i).prefetched_pages == 1);
    CHECK(b.row(i).evicted_pages == (i == 0 ? 0 : 2));
  }
  CHECK(b.stay(0, 8).evictions == 1);
  CHECK(b.home(8) == 0);
  CHECK(b.batch().counts.premature_evictions == 1);
  std::uint64_t told = 0;
  for (auto const& r : b.told[0]->records()) told += r.message.premature;
  CHECK(told == 1);
}

TEST_CASE("batches: a write counts for the GPU that wrote, whichever GPU's batch is served") {
  auto spec = machine(2, 1);
  spec.told_of_uses = true;
  spec.batch.clean_pages = CleanPages::dropped;
  // GPU 0 writes page 7 while page 8 comes to GPU 1.
  Story const b(spec, {{Time{100us}, 0, {{7}}}, {Time{300us}, 1, {{8}}}, {Time{500us}, 0, {{9}}}},
                {{Time{330us}, {7, 0, Access::write, {}}}});
  CHECK(b.row(2).evicted_pages == 1);
  CHECK(b.row(2).dropped_pages == 0);
  CHECK(b.row(2).bytes_out == 4096);
}

TEST_CASE("batches: a copy counts for the application that reads it, when it comes and when it is dropped") {
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

TEST_CASE("batches: pages that begin on a GPU are nowhere else: they are transferred when they leave") {
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
  CHECK(b.row(1).dropped_pages == 1);  // 8 is as the CPU had it
  CHECK(b.row(1).bytes_out == 0);
}

TEST_CASE("batches: what a program copies to a page on the GPU is transferred when that leaves") {
  for (auto const kind : {OperationKind::copy_to_gpus, OperationKind::copy_to_host}) {
    auto spec = machine(1, 1);
    spec.batch.clean_pages = CleanPages::dropped;
    static HostPages const host({{7, 1}}, 100);
    spec.host_pages = &host;
    spec.application_of_stream = {0};
    MemoryOrder const order{std::uint64_t{7} << 12, 4096, 0, kind, {}};
    Story const b(spec, {{Time{100us}, 0, {{7}}}, {Time{400us}, 0, {{8}}}}, {}, {{Time{250us}, order}});
    bool const written = kind == OperationKind::copy_to_gpus;
    CHECK(b.row(1).evicted_pages == 1);
    CHECK(b.row(1).dropped_pages == (written ? 0 : 1));
    CHECK(b.row(1).bytes_out == (written ? 4096 : 0));
  }
}

TEST_CASE("batches: a GPU is told of its own copy, not of the page, also when it faults again") {
  for (std::string const replay : {"page", "batch"}) {
    CAPTURE(replay);
    auto spec = with_copies(machine(1, 2));
    spec.batch.replay.choose(replay);
    Story const b(spec, {{Time{100us}, 0, {{7}}}, {Time{300us}, 0, {{7}, {8}}}});
    auto const copy = read_only(*b.state().copies.find(7, 0));
    std::vector<PhysAddr> told;
    for (auto const& r : b.answers->records())
      if (r.message.page == 7) told.push_back(r.message.frame);
    // With `batch` the first fault is replayed with all others.
    CHECK(told == std::vector<PhysAddr>(replay == "page" ? 2 : 1, copy));
    CHECK(b.row(1).duplicates == 1);
    CHECK(b.row(1).faulted_pages == 1);
  }
}

TEST_CASE("batches: with once, a GPU's accesses are replayed before another GPU's batch takes its pages") {
  for (bool const copies : {false, true}) {
    CAPTURE(copies);
    auto spec = machine(3, 2);
    spec.makes_copies = copies;
    spec.batch.replay.choose("once");
    // All three write page 7. GPU 0 has faulted once more by the time its batch ends.
    Story const b(spec, {{Time{100us}, 0, {{7, kWrite}}},
                         {Time{101us}, 1, {{7, kWrite}}},
                         {Time{102us}, 2, {{7, kWrite}}},
                         {Time{120us}, 0, {{8}}}});
    CHECK(b.devices.state().told == std::vector<std::int64_t>{7, 8, -1, 7, -2, 7, -3});
    CHECK(b.home(7) == 2);
  }
}

TEST_CASE("batches: a page stays where it has come for a while, so that accesses replayed there find it") {
  auto const first_transfer = [](std::string const& replay, Duration least_stay, bool copies) {
    auto spec = machine(2, 2);
    spec.makes_copies = copies;
    spec.batch.time = 1us;
    spec.batch.least_stay = least_stay;
    spec.batch.replay.choose(replay);
    // With copies GPU 0 has one, and the page itself is the CPU's.
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
  // Where each page is replayed its translation comes with the answer.
  CHECK(first_transfer("page", 30us, false) == first_transfer("page", Duration::zero(), false));
}

TEST_CASE("batches: what is prefetched does not drive out what has faulted in the same batch") {
  // Three frames, units of two pages: 8 and 9, 10 and 11. 8 is there when 9 faults, with 10 and 11 behind it.
  // For 11 only 8 and 9 could leave: it stays where it is, and comes when it faults itself.
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
    CHECK(b.batch().records.size() == 2);
    CHECK(b.row(0).faulted_pages == 1);
    CHECK(b.row(0).prefetched_pages == 1);
    CHECK(b.row(0).evicted_pages == 0);
    CHECK(b.row(1).evicted_pages == 2);
    for (std::uint64_t const page : {10U, 11U, 12U}) CHECK(b.home(page) == 0);
    for (std::uint64_t const page : {7U, 8U, 9U}) CHECK(b.home(page) == kFirstCpu);
    // 11 was unmapped once and did not come: it is mapped again where it was.
    CHECK(std::ranges::count_if(b.devices.state().moves, [](PageMove const& m) {
            return m.page == 11 && m.step == MoveStep::remap && device_of(m.frame) == kFirstCpu;
          }) == 1);
    CHECK(b.state().free_moves.size() == spec.params.migrations);
  }
}
