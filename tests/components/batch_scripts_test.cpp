// SPDX-License-Identifier: Apache-2.0
// Batches between mocks that script when each step completes: two GPUs that write alternately, several
// applications, and programs that allocate and free memory while others fault.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "farfault/paging/paging_driver.hpp"
#include "mock.hpp"
#include "placed_pages.hpp"

namespace batch_scripts_test {

using namespace farfault;
using namespace farfault::mock;

namespace {

constexpr PhysAddr on_cpu(std::uint64_t frame) {
  return physical(kFirstCpu, frame << 12);
}

// Events of a GPU's fault buffer with these pages: an interrupt, the entries 1 us later, and an empty buffer
// after the batch.
struct Fault {
  std::uint64_t page = 0;
  std::uint8_t application = 0;
  Access access = Access::read;
};
void raise(std::vector<Record<Packet>>& all, Time at, std::uint16_t gpu, std::vector<Fault> const& faults,
           Time empty_at) {
  all.push_back({at, Packet::of(FaultInterrupt{gpu})});
  std::uint16_t client = 0;
  for (auto const& f : faults)
    all.push_back({at + 1us, Packet::of(FaultEntry{.page = f.page,
                                                   .client = client++,
                                                   .application = f.application,
                                                   .access = f.access,
                                                   .gpu = gpu})});
  all.push_back({at + 1us, Packet::of(FaultsDrained{static_cast<std::uint32_t>(faults.size()), gpu})});
  all.push_back({empty_at, Packet::of(FaultsDrained{0, gpu})});
}

// Pages 7 to 10 are in frames 0 to 3 of the CPU. The driver's work ends 10 us after its interrupt.
struct ScriptBench : Bench {
  struct Script {
    std::vector<Record<Packet>> faults = {};
    std::vector<Record<StepDone>> steps = {};
    std::vector<Record<CopyDone>> copied = {};
    std::vector<Record<PageUse>> uses = {};
    std::vector<Record<MemoryOrder>> orders = {};
  };
  ScriptBench(PagingDriverSpec const& spec, Script script)
      : driver(system.add<PagingDriver>("driver", spec)) {
    feed(driver.fault, std::move(script.faults));
    feed(driver.step_done, std::move(script.steps));
    feed(driver.copied, std::move(script.copied));
    if (spec.reports_uses) feed(driver.used, std::move(script.uses));
    if (spec.host_pages != nullptr) {
      feed(driver.memory_order, std::move(script.orders));
      sink(driver.order_done);
    }
    mapped = sinks(driver.mapped, 1)[0];
    join(driver.placed, mapped->in_port);
    moves = sinks(driver.move, 1)[0];
    copies = sinks(driver.copy, static_cast<std::uint32_t>(spec.devices.gpus()));
    sinks(driver.to_gpus, 1);
    run();
  }
  static PagingDriverSpec spec_of(std::uint32_t gpus, std::uint64_t frames) {
    static auto const table = [] {
      PageTable t(0, 12);
      for (std::uint64_t p = 0; p < 4; ++p) t.map(7 + p, on_cpu(p));
      return t;
    }();
    PagingDriverSpec spec;
    spec.in_batches = true;
    spec.batch.replay.choose("page");
    spec.batch.prefetch.choose("none");
    spec.batch.eviction_unit = ByteSize{4096};
    spec.batch.time = 10us;
    spec.batch.block_time = spec.batch.first_touch_time = Duration::zero();
    spec.batch.page_time = spec.batch.prefetched_page_time = Duration::zero();
    spec.frames_per_gpu = frames;
    spec.placed = in_use(std::vector<std::uint64_t>(gpus), 4);
    spec.preloaded = &table;
    spec.iommu_of_gpu.assign(gpus, 0);
    spec.devices = NodeDevices(gpus);
    spec.decide_by(PolicyChoice<PageDecision>("migrate"));
    return spec;
  }
  PhysAddr frame_of(std::uint64_t page) const { return driver.state().memory.table().find(page)->frame; }
  BatchRecord const& batch(std::size_t i) const { return driver.state().records.batches()[i]; }
  std::vector<CopyOrder> ordered(std::uint32_t gpu) const {
    std::vector<CopyOrder> all;
    for (auto const& r : copies[gpu]->records()) all.push_back(r.message);
    return all;
  }

  PagingDriver& driver;
  Sink<PageMapped>* mapped;
  Sink<PageMove>* moves;
  std::vector<Sink<CopyOrder>*> copies;
};

}  // namespace

TEST_CASE(
    "batches: a page written by another GPU is transferred at its eviction, even if clean pages are "
    "dropped") {
  for (bool const written : {false, true}) {
    CAPTURE(written);
    auto spec = ScriptBench::spec_of(2, 1);
    spec.reports_uses = true;
    spec.batch.clean_pages = CleanPages::dropped;
    ScriptBench::Script script;
    raise(script.faults, Time{100us}, 0, {{7}}, Time{160us});
    raise(script.faults, Time{200us}, 1, {{7}}, Time{260us});
    raise(script.faults, Time{300us}, 1, {{8}}, Time{390us});
    if (written) script.uses = {{Time{170us}, {7, 0, Access::write, {}}}};
    // Page 7 migrates to each GPU with number 0, and 8 too; the eviction of 7 for it has number 1.
    script.steps = {{Time{105us}, {0}}, {Time{205us}, {0}}, {Time{305us}, {0}}, {Time{320us}, {1}}};
    script.copied = {{Time{150us}, {0}}, {Time{250us}, {0}}, {Time{340us}, {1}}, {Time{380us}, {0}}};
    ScriptBench const b(spec, script);
    // The driver assumes that the CPU lacks the current data of any page that arrives from a GPU, written
    // there or not.
    REQUIRE(b.ordered(1).size() == 3);
    CHECK(device_of(b.ordered(1)[1].from) == 1);
    CHECK(device_of(b.ordered(1)[1].to) == kFirstCpu);
    CHECK(b.batch(2).evicted_pages == 1);
    CHECK(b.batch(2).dropped_pages == 0);
    CHECK(b.driver.waiting_for().empty());
  }
}

TEST_CASE("batches: each page counts for the application of its fault, at migration and at eviction") {
  auto spec = ScriptBench::spec_of(1, 2);
  spec.applications = {"first", "second"};
  ScriptBench::Script script;
  raise(script.faults, Time{100us}, 0, {{7, 0}, {8, 1}}, Time{190us});
  raise(script.faults, Time{200us}, 0, {{9, 0}, {10, 0}}, Time{390us});
  // 9 has number 1, and 10 number 0. The eviction of 7 for 9 has number 2; that of 8 for 10 has number 1,
  // which 9 had.
  script.steps = {{Time{105us}, {0}}, {Time{105us}, {1}}, {Time{205us}, {0}},
                  {Time{205us}, {1}}, {Time{220us}, {2}}, {Time{260us}, {1}}};
  script.copied = {{Time{150us}, {0}}, {Time{151us}, {1}}, {Time{230us}, {2}},
                   {Time{240us}, {1}}, {Time{270us}, {1}}, {Time{280us}, {0}}};
  ScriptBench const b(spec, script);
  auto const orders = b.ordered(0);
  std::vector<int> applications;
  for (auto const& o : orders) applications.push_back(o.application);
  CHECK(applications == std::vector<int>{0, 1, 0, 0, 1, 0});
  CHECK(b.driver.state().stats[0].migrations == 3);
  CHECK(b.driver.state().stats[1].migrations == 1);
  CHECK(b.driver.state().stats[0].evicted_pages == 1);
  CHECK(b.driver.state().stats[1].evicted_pages == 1);
}

TEST_CASE(
    "batches: a write by a GPU whose page has copies elsewhere keeps the page in place and frees the copies' "
    "frames") {
  auto spec = ScriptBench::spec_of(2, 3);
  spec.decide_by(PolicyChoice<PageDecision>("duplicate"));
  ScriptBench::Script script;
  raise(script.faults, Time{20us}, 0, {{10}}, Time{70us});  // in frame 0
  raise(script.faults, Time{100us}, 0, {{7, 0, Access::write}}, Time{160us});
  raise(script.faults, Time{200us}, 1, {{7}}, Time{260us});
  raise(script.faults, Time{300us}, 0, {{7, 0, Access::write}}, Time{390us});
  script.steps = {{Time{25us}, {0}}, {Time{105us}, {0}}, {Time{205us}, {0}}, {Time{305us}, {0}}};
  script.copied = {{Time{60us}, {0}}, {Time{150us}, {0}}, {Time{250us}, {0}}};
  ScriptBench const b(spec, script);
  auto const& s = b.driver.state();
  CHECK(b.ordered(0).size() == 2);
  REQUIRE(b.ordered(1).size() == 1);
  CHECK(b.ordered(1)[0].from == b.frame_of(7));
  CHECK(device_of(b.frame_of(7)) == 0);
  CHECK_FALSE(s.memory.copies().read_only(7));
  CHECK(s.memory.frames(0).available() == 1);
  CHECK(s.memory.frames(1).available() == 3);
  CHECK(b.batch(3).faulted_pages == 0);
  CHECK(b.batch(3).bytes_in == 0);
  CHECK(b.batch(3).evicted_pages == 0);
  CHECK(b.batch(3).ended == Time{310us});
  CHECK(s.evictions.residency(0, 7)->arrived == Time{150us});
  CHECK(b.driver.waiting_for().empty());
}

TEST_CASE(
    "batches: a page with copies that is evicted from a full GPU moves to the latest copy without a "
    "transfer") {
  auto spec = ScriptBench::spec_of(3, 1);
  spec.decide_by(PolicyChoice<PageDecision>("duplicate"));
  spec.reports_uses = true;
  ScriptBench::Script script;
  raise(script.faults, Time{100us}, 0, {{7, 0, Access::write}}, Time{160us});
  raise(script.faults, Time{200us}, 1, {{7}}, Time{260us});
  raise(script.faults, Time{300us}, 2, {{7}}, Time{360us});
  raise(script.faults, Time{400us}, 0, {{8}}, Time{460us});
  raise(script.faults, Time{500us}, 2, {{9}}, Time{560us});
  // The second copy needs no step, because the page is already read-only. Number 1 is the eviction of 7.
  script.steps = {{Time{105us}, {0}}, {Time{205us}, {0}}, {Time{405us}, {0}},
                  {Time{420us}, {1}}, {Time{505us}, {0}}, {Time{520us}, {1}}};
  script.copied = {
      {Time{150us}, {0}}, {Time{250us}, {0}}, {Time{350us}, {0}}, {Time{450us}, {0}}, {Time{550us}, {0}}};
  script.uses = {{Time{170us}, {7, 0, Access::write, {}}}};
  ScriptBench const b(spec, script);
  auto const& s = b.driver.state();
  std::vector<PageMove> remaps;
  for (auto const& r : b.moves->records())
    if (r.message.page == 7 && r.message.step == MoveStep::remap) remaps.push_back(r.message);
  REQUIRE(remaps.size() == 4);
  CHECK_FALSE(is_read_only(remaps[0].frame));                                 // migrated to GPU 0
  CHECK(remaps[1].frame == read_only(remaps[0].frame));                       // GPU 1 has a copy
  CHECK((device_of(remaps[2].frame) == 2 && is_read_only(remaps[2].frame)));  // on GPU 2; GPU 1 has a copy
  CHECK((device_of(remaps[3].frame) == 1 && !is_read_only(remaps[3].frame)));
  CHECK(b.frame_of(7) == remaps[3].frame);
  CHECK_FALSE(s.memory.copies().read_only(7));
  for (std::uint32_t gpu = 0; gpu < 3; ++gpu)
    for (auto const& o : b.ordered(gpu)) CHECK(device_of(o.to) == gpu);
  for (std::size_t const i : {3U, 4U}) {
    CHECK(b.batch(i).evicted_pages == 1);
    CHECK(b.batch(i).dropped_pages == 1);
    CHECK(b.batch(i).bytes_out == 0);
  }
  CHECK(s.evictions.residency(1, 7)->dirty == 1);  // the CPU's memory lacks GPU 0's writes
  CHECK(s.evictions.residency(2, 9)->dirty == 0);
  CHECK(b.driver.waiting_for().empty());
}

TEST_CASE(
    "batches: a copy is mapped only by its GPU and dropped there at eviction; the CPU's frame is kept") {
  auto spec = ScriptBench::spec_of(1, 1);
  spec.decide_by(PolicyChoice<PageDecision>("duplicate"));
  spec.batch.replay.choose("batch");
  spec.frames_of_cpu = 4;  // frames of these pages
  ScriptBench::Script script;
  raise(script.faults, Time{100us}, 0, {{7}}, Time{180us});
  raise(script.faults, Time{200us}, 0, {{8}}, Time{290us});
  script.steps = {
      {Time{105us}, {0}}, {Time{170us}, {0}}, {Time{205us}, {0}}, {Time{220us}, {1}}, {Time{260us}, {0}}};
  script.copied = {{Time{150us}, {0}}, {Time{250us}, {0}}};
  ScriptBench const b(spec, script);
  std::vector<PageMove> maps, drops;
  for (auto const& r : b.moves->records()) {
    if (r.message.step == MoveStep::map_copy) maps.push_back(r.message);
    if (r.message.step == MoveStep::drop) drops.push_back(r.message);
  }
  REQUIRE(maps.size() == 2);
  CHECK((maps[0].page == 7 && is_read_only(maps[0].frame) && device_of(maps[0].frame) == 0));
  CHECK(maps[1].page == 8);
  REQUIRE(drops.size() == 1);
  CHECK((drops[0].page == 7 && read_only(drops[0].frame) == maps[0].frame));
  CHECK(b.batch(0).ended == Time{170us});
  CHECK(b.batch(1).ended == Time{260us});
  CHECK(b.batch(1).evicted_pages == 1);
  CHECK(b.batch(1).dropped_pages == 1);
  CHECK(b.batch(1).bytes_out == 0);
  CHECK(b.frame_of(7) == on_cpu(0));
  CHECK(b.driver.state().memory.copies().read_only(7));
  CHECK_FALSE(b.driver.state().memory.copies().latest(7));
  CHECK(b.driver.state().evictions.residency(0, 7)->evictions == 1);
  CHECK(b.driver.waiting_for().empty());
}

namespace {

// A program has allocated page 512, which is planned on the GPU. It remains until it is freed.
struct Planned {
  Planned() { *pages.find(512) = 0; }
  HostPages host;
  PlannedPages pages{{{512, 1}}, kNotPlanned};
};
MemoryOrder order_of(OperationKind kind) {
  return {.first = std::uint64_t{512} << 12, .bytes = 4096, .stream = 0, .kind = kind};
}

}  // namespace

TEST_CASE(
    "batches: if programs hold all frames, a page waits forever, and the driver reports what it waits for") {
  Planned const planned;
  auto spec = ScriptBench::spec_of(1, 1);
  spec.host_pages = &planned.host;
  spec.planned = &planned.pages;
  spec.application_of_stream = {0};
  ScriptBench::Script script;
  script.orders = {{Time{1us}, order_of(OperationKind::allocate)}};
  script.steps = {{Time{10us}, {0}}, {Time{105us}, {0}}};
  raise(script.faults, Time{100us}, 0, {{7}}, Time{900us});
  script.faults.pop_back();  // the batch does not end
  ScriptBench const b(spec, script);
  CHECK(b.ordered(0).empty());
  CHECK(b.driver.waiting_for() ==
        "1 pages in flight, 0 faults waiting, operations of 0 streams, a batch of gpu0: 0 of 1 pages mapped, "
        "0 in transfer, 0 frames free, 0 units being evicted");
}

TEST_CASE(
    "batches: an eviction that has begun completes even if a program frees the waiting page, and the batch "
    "then ends") {
  Planned const planned;
  auto spec = ScriptBench::spec_of(1, 2);
  spec.host_pages = &planned.host;
  spec.planned = &planned.pages;
  spec.application_of_stream = {0};
  ScriptBench::Script script;
  script.orders = {{Time{1us}, order_of(OperationKind::allocate)},
                   {Time{215us}, order_of(OperationKind::free)}};
  raise(script.faults, Time{100us}, 0, {{7}}, Time{190us});
  raise(script.faults, Time{200us}, 0, {{8}}, Time{390us});
  // Page 512 is allocated and 7 migrates. 8 migrates with number 0, for which the eviction of 7 begins with
  // number 1; before it ends, 512 is freed with number 2.
  script.steps = {
      {Time{10us}, {0}}, {Time{105us}, {0}}, {Time{205us}, {0}}, {Time{220us}, {2}}, {Time{300us}, {1}}};
  script.copied = {{Time{150us}, {0}}, {Time{250us}, {0}}, {Time{350us}, {1}}};
  ScriptBench const b(spec, script);
  CHECK(device_of(b.frame_of(8)) == 0);
  CHECK(device_of(b.frame_of(7)) == kFirstCpu);
  CHECK(b.batch(1).evicted_pages == 1);
  CHECK(b.batch(1).bytes_out == 4096);
  CHECK(b.batch(1).ended == Time{350us});
  CHECK(b.driver.state().memory.frames(0).available() == 1);
  CHECK(b.driver.waiting_for().empty());
}

}  // namespace batch_scripts_test
