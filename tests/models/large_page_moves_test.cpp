// SPDX-License-Identifier: Apache-2.0
// Whole machines whose large pages migrate and are evicted whole. At every step of a run no TLB holds an
// invalid translation, no access is in flight to an old frame, and no frame has two pages.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "moving_pages.hpp"
#include "run_model.hpp"

namespace large_page_moves_test {

using namespace farfault;
using namespace farfault::moving_pages;
using test::ModelRun;

namespace {

// Two buffers of 4 MiB each; large pages of 2 MiB.
std::string model(std::string const& more) {
  return "machine.topology = \"generic\"\nmachine.generic.gpus = 2\ngpu.sms = 4\ngpu.l1_tlb.entries = 4\n"
         "gpu.l1_tlb.ways = 4\ngpu.l2_tlb.entries = 16\ngpu.l2_tlb.ways = 4\nmemory.page_size = \"64KiB\"\n"
         "gpu.dram.capacity = \"32MiB\"\ndriver.migrations = 80\nworkload.name = \"transpose\"\n"
         "workload.transpose.width = 1024\nworkload.transpose.height = 1024\n" +
         more;
}
std::string const kMigrate = "memory.remote_touch = \"migrate\"\n";
std::string const kLarge = "memory.page_sizes = \"large_only\"\n";
std::string const kMixed = "memory.large_pages = \"input\"\n";
std::string const kBatches =
    "memory.placement = \"cpu\"\nmemory.fault_path = \"gpu\"\ndriver.batch.time = \"2us\"\n"
    "driver.batch.block_time = \"1us\"\ndriver.batch.first_touch_time = \"2us\"\n";

struct WorkDone {
  std::uint64_t transactions = 0, stores = 0, loads = 0, blocks = 0;
  bool operator==(WorkDone const&) const = default;
};
WorkDone work_of(ModelRun& run) {
  return {run.total("sm", "transactions"), run.total("sm", "stores"),
          run.total("sm", "l1_hits") + run.total("sm", "l1_misses"), run.total("sm", "blocks")};
}
WorkDone const& without_moves() {
  static auto const done = [] {
    ModelRun run(model("memory.placement = \"interleave\"\n"));
    run.run();
    return work_of(run);
  }();
  return done;
}

// Pages in the table that share a base frame with another page, or with frames that are free.
int wrong_frames(Machine const& m) {
  auto const& s = m.driver->state();
  auto const bits = m.driver->spec().page_bits;
  std::set<PhysAddr> used;
  std::vector<std::uint64_t> on(m.gmmus.size());
  int wrong = 0;
  auto const take = [&](PageTranslation const& t) {
    each_base_frame(t, bits, [&](PhysAddr f) { wrong += used.insert(f).second ? 0 : 1; });
    if (device_of(t.frame) < on.size()) on[device_of(t.frame)] += std::uint64_t{1} << t.size;
  };
  s.memory.table().each_page([&](std::uint64_t, PageTranslation const& t) { take(t); });
  for (auto const& p : s.transitions.pages()) {
    if (p.in_use == 0) continue;
    auto const home = s.memory.home(p.page());
    // A page that has arrived, and waits until it is mapped everywhere, has released its old frame.
    if (home && home->frame == p.to) continue;
    for (auto const frame : {p.from, p.to})
      if (frame != kNoFrame && (!home || frame != home->frame)) take({frame, p.size});
  }
  for (std::size_t g = 0; g < on.size(); ++g)
    wrong += on[g] + s.memory.frames(g).available() != m.driver->spec().frames_per_gpu ? 1 : 0;
  return wrong;
}

void check_run(ModelRun& run) {
  Machine const machine(run.system());
  Violations found;
  int wrong = 0;
  std::uint64_t looks = 0;
  // The step is not a multiple of a clock cycle, so that all phases are checked.
  for (Time t{}; run.engine().run_until(t) != RunState::drained; t += Duration{19'009'003}, ++looks) {
    if (t > Time{300ms}) {
      FAIL_CHECK("the run does not end");
      return;
    }
    look(machine, run.config().memory.page_bits(), run.config().gpu.line_bytes, found);
    wrong += wrong_frames(machine);
  }
  CHECK(looks > 10);
  CHECK(found.wrong_frames == 0);
  CHECK(found.void_entries == 0);
  CHECK(found.void_accesses == 0);
  CHECK(found.stale_lines == 0);
  CHECK(wrong == 0);
  check_tables(machine);
  CHECK(work_of(run) == without_moves());
  for (auto const* sm : machine.sms) CHECK(sm->waiting_for().empty());
  for (auto const* iommu : machine.iommus) CHECK(iommu->waiting_for().empty());
  for (auto const* gmmu : machine.gmmus) CHECK(gmmu->waiting_for().empty());
  CHECK(machine.driver->waiting_for().empty());
}

}  // namespace

TEST_CASE("large pages: during migrations one by one, no TLB is stale, and each copy is of a whole page") {
  for (std::string const& more :
       {"memory.placement = \"interleave\"\n" + kLarge, "memory.placement = \"interleave\"\n" + kMixed,
        "memory.placement = \"first_touch\"\n" + kLarge,
        "memory.placement = \"first_touch\"\nmemory.first_touch_copy = true\n" + kMixed,
        "memory.placement = \"first_touch\"\nmemory.first_touch_by = \"iommu\"\n" + kLarge,
        "memory.placement = \"contiguous\"\nmemory.fault_path = \"gpu\"\n" + kMixed,
        "memory.placement = \"interleave\"\ngpu.router.policy = \"centralized\"\n" + kLarge,
        "memory.placement = \"interleave\"\ngpu.router.policy = \"gmmu_bypass\"\n" + kMixed,
        "memory.placement = \"interleave\"\nmemory.frame_allocation = \"contiguity_conserving\"\n" + kLarge,
        "memory.placement = \"interleave\"\ngpu.l2_tlb.organization = \"by_page_size\"\n"
        "gpu.l1_tlb.organization = \"by_page_size\"\n" +
            kMixed,
        "memory.placement = \"interleave\"\ngpu.l2_cache.partitions = 4\n"
        "gpu.l2_cache.miss_path = \"memory\"\n" +
            kMixed}) {
    CAPTURE(more);
    ModelRun run(model(kMigrate + more));
    check_run(run);
    Machine const machine(run.system());
    auto const& s = machine.driver->state();
    std::uint64_t bytes = 0, large = 0;
    for (auto const& r : s.records.migrations()) {
      bytes += std::uint64_t{1} << (16 + r.size);
      large += r.size == 5 ? 1 : 0;
      CHECK(r.page % (std::uint64_t{1} << r.size) == 0);
    }
    CHECK(large > 0);
    if (!run.config().memory.first_touch_copy) CHECK(run.total("copy_engine", "lines_in") * 64 == bytes);
    CHECK(s.stats[0].migrations == s.records.migrations().size());
  }
}

TEST_CASE("large pages: in batches, with every replay and schedule, they are brought and evicted whole") {
  std::size_t n = 0;
  for (std::string const replay : {"page", "batch", "batch_flush", "block", "once"})
    for (std::string const schedule : {"serialized", "unobtrusive", "ideal"}) {
      // These settings vary with different periods.
      auto const& sizes = n % 2 == 0 ? kLarge : kMixed;
      std::string const workers = n % 3 == 0 ? "1" : "one_per_gpu";
      std::string const order = n % 4 == 0 ? "lru" : "aged_lru";
      std::string const clean = n % 5 < 3 ? "transferred" : "dropped";
      // Two or three large frames per GPU.
      std::string const share = n % 2 == 0 ? "0.5" : "0.75";
      CAPTURE(replay);
      CAPTURE(schedule);
      CAPTURE(n);
      ++n;
      ModelRun run(model(kMigrate + kBatches + sizes + "driver.batch.replay = \"" + replay +
                         "\"\ndriver.batch.eviction_schedule = \"" + schedule +
                         "\"\ndriver.batch.workers = \"" + workers + "\"\ndriver.batch.eviction_order = \"" +
                         order + "\"\ndriver.batch.clean_pages = \"" + clean +
                         "\"\nmemory.gpu_share = " + share + "\n"));
      check_run(run);
      Machine const machine(run.system());
      auto const& s = machine.driver->state();
      std::uint64_t pages = 0, evicted = 0, in = 0, out = 0;
      for (auto const& r : s.records.batches()) {
        pages += r.faulted_pages + r.prefetched_pages;
        evicted += r.evicted_pages;
        in += r.bytes_in;
        out += r.bytes_out;
      }
      CHECK(evicted > 0);
      CHECK(evicted == s.stats[0].evicted_pages);
      CHECK(pages == s.stats[0].migrations);
      CHECK(run.total("copy_engine", "lines_in") * 64 == in);
      CHECK(run.total("copy_engine", "lines_out") * 64 == out);
      std::uint64_t large = 0;
      for (auto const& r : s.records.migrations()) large += r.size == 5 ? 1 : 0;
      CHECK(large > 0);
      if (sizes == kLarge) {
        CHECK(large == s.records.migrations().size());
        CHECK(in == pages << 21);
      }
    }
  CHECK(n == 15);
}

TEST_CASE("large pages: mapped at their first touch in batches and evicted for good, they are found later") {
  for (std::string const& more : {kLarge, kMixed, kLarge + "memory.first_touch_copy = true\n",
                                  kLarge + "driver.batch.replay = \"once\"\n"}) {
    CAPTURE(more);
    auto toml = kBatches + "driver.batch.replay = \"batch\"\nmemory.gpu_share = 0.5\n";
    toml.replace(toml.find("\"cpu\""), 5, "\"first_touch\"");
    if (more.find("replay") != std::string::npos) toml.erase(toml.find("driver.batch.replay"), 30);
    ModelRun run(model(toml + more));
    check_run(run);
    CHECK(run.total("driver", "evicted_pages") > 0);
    Machine const machine(run.system());
    auto const& touches = machine.driver->state().records.first_touches();
    CHECK(std::ranges::any_of(touches, [](FirstTouchRecord const& r) { return r.size == 5; }));
  }
}

TEST_CASE("large pages: with walks that end in the GPUs, they are mapped remotely, moved and evicted whole") {
  for (std::string const& more :
       {"memory.placement = \"interleave\"\n" + kMigrate + kLarge,
        "memory.placement = \"first_touch\"\nmemory.remote_touch = \"remote_access\"\n" + kMixed,
        kBatches + kMigrate + kLarge + "driver.batch.replay = \"batch\"\nmemory.gpu_share = 0.5\n",
        kBatches + kMigrate + kMixed + "driver.batch.replay = \"page\"\nmemory.gpu_share = 0.5\n"}) {
    CAPTURE(more);
    auto toml = more;
    if (auto const path = toml.find("memory.fault_path = \"gpu\"\n"); path == std::string::npos)
      toml += "memory.fault_path = \"gpu\"\n";
    ModelRun run(model(toml + "gpu.router.policy = \"distributed\"\n"));
    REQUIRE(run.config().gpus_end_walks());
    check_run(run);
  }
}

TEST_CASE("large pages: runs that move and evict them are the same on any partitions and threads") {
  for (std::string const& more : {"memory.placement = \"interleave\"\n" + kMigrate + kLarge,
                                  kBatches + kMigrate + kMixed +
                                      "driver.batch.replay = \"batch\"\nmemory.gpu_share = 0.5\n"
                                      "driver.batch.workers = \"one_per_gpu\"\n"}) {
    CAPTURE(more);
    EngineOptions two;
    two.threads = 2;
    ModelRun one(model(more), {}, topologies::Granularity::one);
    ModelRun split(model(more), two, topologies::Granularity::split_gpu);
    one.run();
    split.run();
    CHECK(one.engine().state_digest() == split.engine().state_digest());
  }
}

}  // namespace large_page_moves_test
