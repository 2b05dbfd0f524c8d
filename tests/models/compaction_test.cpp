// SPDX-License-Identifier: Apache-2.0
// Pages moved within a GPU's memory on a whole machine, to free a large frame or to be coalesced. No table or
// TLB is ever stale, and every access completes.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "moving_pages.hpp"
#include "run_model.hpp"

namespace compaction_test {

using namespace farfault;
using test::each;
using test::ModelRun;

namespace {

// Pages of 64 KiB and large pages of 2 MiB, on a GPU with 14 large frames. The stencil, whose arrays are as
// large as the memory, has half of that.
std::string machine(std::string const& more, std::string const& workload = "transpose", unsigned gpus = 1) {
  return "machine.topology = \"generic\"\nmachine.generic.gpus = " + std::to_string(gpus) +
         "\nmemory.page_size = \"64KiB\"\ngpu.sms = 4\ngpu.l1_tlb.entries = 4\ngpu.l1_tlb.ways = 4\n"
         "gpu.l2_tlb.entries = 16\ngpu.l2_tlb.ways = 4\ngpu.dram.capacity = \"" +
         (workload == "stencil3d" ? "16MiB\"\nworkload.stencil3d.z = 64\n" : "32MiB\"\n") +
         "workload.name = \"" + workload + "\"\n" +
         (workload == "transpose" ? "workload.transpose.width = 1024\nworkload.transpose.height = 1024\n"
                                  : "") +
         more;
}
std::string const kMosaic =
    "memory.frame_allocation = \"contiguity_conserving\"\nmemory.page_sizes = \"in_place_coalescer\"\n";
std::string const kFragmented = "memory.fragmentation_index = 1\nmemory.fragmentation_occupancy = 0.25\n";
std::string const kMigrating = "memory.page_sizes = \"migrating_coalescer\"\n";

// At any time: no frame has two pages; no TLB maps a page that is being copied; for all other pages a TLB has
// the right frame, or the old one until its invalidation arrives.
void look(moving_pages::Machine const& m, unsigned bits, std::uint64_t& checks) {
  auto const& driver = m.driver->state();
  std::map<std::uint64_t, PageInFlight> moving;
  for (auto const& move : driver.transitions.pages())
    if (move.in_use != 0) moving.emplace(move.page(), move);
  std::vector<PhysAddr> frames;
  driver.memory.table().each_page(
      [&](std::uint64_t, PageTranslation const& t) { frames.push_back(t.frame); });
  std::ranges::sort(frames);
  CHECK(std::ranges::adjacent_find(frames) == frames.end());
  auto const check = [&](std::uint64_t page, PageTranslation const& held) {
    for (std::uint64_t i = 0; i < std::uint64_t{1} << held.size; ++i) {
      ++checks;
      auto const frame = held.base_page(page + i, bits).frame;
      auto const outstanding = moving.find(page + i);
      auto const mapped = driver.memory.table().find_mapped(page + i);
      if (outstanding == moving.end()) {
        CHECK(mapped.has_value());
        if (mapped) CHECK(mapped->base_page(page + i, bits).frame == frame);
        continue;
      }
      auto const& move = outstanding->second;
      if (move.transition != Transition::relocate) continue;  // other tests' moves
      bool const is_mapping = move.current() == PageStep::confirm;
      bool const is_unmapping = !is_mapping && move.awaits_iommus();
      CHECK((is_unmapping || is_mapping));
      CHECK(frame == (is_mapping ? move.to : move.from));
    }
  };
  for (auto const* iommu : m.iommus) iommu->state().tlb->each_entry(check);
  for (auto const* tlb : m.l2_tlbs) tlb->state().tlb->each_entry(check);
  for (auto const* sm : m.sms) sm->state().load_store.translation.tlb()->each_entry(check);
}

struct Story {
  std::uint64_t checks = 0;
  std::uint64_t moved = 0;     // within one memory
  std::uint64_t migrated = 0;  // between devices
  std::uint64_t coalesced = 0;
  Duration time{};
};

// Runs to the end with periodic checks.
Story told(std::string const& toml, Duration every = 3us) {
  Story s;
  ModelRun run(toml);
  moving_pages::Machine const m(run.system());
  auto const bits = run.config().memory.page_bits();
  RunState state{};
  for (Time t{every}; (state = run.engine().run_until(t)) == RunState::reached; t += every)
    look(m, bits, s.checks);
  CHECK(state == RunState::drained);
  look(m, bits, s.checks);
  for (auto const& move : m.driver->state().transitions.pages()) CHECK(move.in_use == 0);
  for (auto const& r : m.driver->state().relocations.of_gpu()) CHECK(r.left == 0);
  for (auto const* g : m.gmmus) CHECK(g->state().coalescing.idle());
  for (auto const* sm : m.sms) CHECK(sm->state().control.stopped == 0);
  CHECK(run.total("sm", "faulted") == run.total("sm", "replayed"));
  auto const& spec = m.driver->spec();
  bool const relocates = spec.compaction.facts().compacts || spec.moves_to_coalesce;
  for (auto const* iommu : m.iommus) CHECK(iommu->spec().pages_are_moved == relocates);
  // Each table agrees with the driver's.
  auto const& table = m.driver->state().memory.table();
  for (auto const* iommu : m.iommus)
    iommu->state().table.each_page(
        [&](std::uint64_t page, PageTranslation const& t) { CHECK(table.find_mapped(page) == t); });
  for (auto const* g : m.gmmus)
    g->state().table.each_page(
        [&](std::uint64_t page, PageTranslation const& t) { CHECK(table.find_mapped(page) == t); });
  // Every used frame has a page or preoccupied data.
  std::uint64_t in_use = 0;
  for (std::uint32_t g = 0; g < spec.devices.gpus(); ++g)
    in_use += spec.frames_per_gpu - m.driver->state().memory.frames(g).available();
  std::uint64_t on_gpus = 0;
  table.each_page(
      [&](std::uint64_t, PageTranslation const& t) { on_gpus += device_of(t.frame) < kFirstCpu; });
  CHECK(in_use == on_gpus + spec.fragmentation.frames(spec.gpu_memory()) * spec.devices.gpus());
  auto const stat = [&](std::string const& policy, std::string const& name) {
    return test::stat_of(*m.driver, policy, name);
  };
  if (spec.compaction.facts().compacts) s.moved = stat("memory.compaction", "moved_pages");
  s.coalesced = stat("memory.page_sizes", "coalesced_pages");
  if (spec.moves_to_coalesce) s.moved += stat("memory.page_sizes", "moved_pages");
  s.migrated = run.total("driver", "migrations");
  s.time = run.kernel_time();
  return s;
}

}  // namespace

TEST_CASE(
    "compaction: fragmented memory gets no large pages without compaction, and gets them with every kind of "
    "it") {
  auto const first_touch = "memory.placement = \"first_touch\"\n" + kMosaic + kFragmented;
  auto const none = told(machine(first_touch));
  CHECK(none.coalesced == 0);
  CHECK(none.moved == 0);
  Duration of_ideal{}, of_bulk{};
  for (std::string const how : {"ideal", "cac", "cac_bulk_copy"})
    for (std::string const stall : {"true", "false"}) {
      CAPTURE(how);
      CAPTURE(stall);
      auto const stalls = how == "ideal" ? "" : "memory.moves_stall_gpu = " + stall + "\n";
      auto const s = told(machine(first_touch + "memory.compaction = \"" + how + "\"\n" + stalls));
      CHECK(s.checks > 1000);
      CHECK(s.coalesced == 4);
      CHECK(s.moved >= 4 * 8);
      if (how == "ideal") of_ideal = s.time;
      if (how == "cac_bulk_copy" && stall == "true") of_bulk = s.time;
      CHECK(s.time >= of_ideal);
    }
  CHECK(of_bulk > of_ideal);
}

TEST_CASE("compaction: time in memory is spent page by page, with all SMs of the GPU stopped") {
  auto const of = [&](std::string const& time, std::string const& stall) {
    return told(machine("memory.placement = \"first_touch\"\n" + kMosaic + kFragmented +
                        "memory.compaction = \"cac_bulk_copy\"\nmemory.cac_bulk_copy.time = \"" + time +
                        "\"\nmemory.moves_stall_gpu = " + stall + "\n"));
  };
  auto const quick = of("80ns", "true");
  auto const slow = of("80us", "true");
  CHECK(quick.moved == slow.moved);
  // Each emptied large frame contained eight base pages.
  auto const longer = static_cast<std::int64_t>(slow.moved) * (80us - 80ns);
  CHECK(slow.time - quick.time > longer * 9 / 10);
  CHECK(slow.time - quick.time < longer * 11 / 10);
  CHECK(of("80us", "false").time <= slow.time);
}

TEST_CASE("compaction: pages that programs move, free and touch meanwhile agree in all tables") {
  std::uint64_t moved = 0, runs = 0;
  for (std::string const workload : {"transpose", "stencil3d", "histogram256"})
    for (std::string const how : {"cac", "cac_bulk_copy", "ideal"})
      for (std::string const& paging :
           {std::string("memory.placement = \"interleave\"\nmemory.remote_touch = \"migrate\"\n"),
            std::string("memory.placement = \"first_touch\"\nmemory.remote_touch = \"migrate\"\n"
                        "driver.faults_at_a_time = 8\n"),
            std::string("memory.placement = \"first_touch\"\nmemory.first_touch_by = \"iommu\"\n"),
            std::string(
                "memory.placement = \"cpu\"\nmemory.remote_touch = \"migrate\"\n"
                "memory.fault_path = \"gpu\"\ndriver.batch.replay = \"page\"\ndriver.migrations = 80\n"
                "driver.batch.eviction_unit = \"64KiB\"\n"),
            std::string(
                "memory.placement = \"cpu\"\nmemory.remote_touch = \"migrate\"\n"
                "memory.fault_path = \"gpu\"\ndriver.batch.replay = \"batch\"\ndriver.migrations = 80\n"
                "driver.batch.prefetch = \"tree\"\ndriver.batch.eviction_unit = \"64KiB\"\n")})
        for (unsigned const gpus : {1U, 2U}) {
          auto const what = workload + ", " + how + ", " + paging + std::to_string(gpus);
          CAPTURE(what);
          auto const s =
              told(machine(paging + kMosaic + kFragmented + "memory.compaction = \"" + how + "\"\n", workload,
                           gpus),
                   20us);
          moved += s.moved;
          ++runs;
        }
  CHECK(runs == 90);
  CHECK(moved > 1000);
}

TEST_CASE("coalescing by moving: scattered base pages are moved to a large frame, copied once each") {
  for (std::string const stall : {"true", "false"}) {
    CAPTURE(stall);
    auto const more = "memory.placement = \"first_touch\"\nmemory.moves_stall_gpu = " + stall + "\n";
    auto const s = told(machine(more + kMigrating));
    CHECK(s.coalesced == 4);
    CHECK(s.moved == 4 * 32);
  }
}

TEST_CASE(
    "coalescing by moving: with migrating pages, and without room for a large frame, all tables agree") {
  std::uint64_t moved = 0;
  for (std::string const workload : {"transpose", "stencil3d"})
    for (std::string const placement : {"first_touch", "interleave"})
      for (std::string const fragmented : {"", "memory.fragmentation_index = 0.8\n"})
        for (unsigned const gpus : {1U, 2U}) {
          auto const what = workload + ", " + placement + fragmented + std::to_string(gpus);
          CAPTURE(what);
          moved += told(machine("memory.placement = \"" + placement +
                                    "\"\nmemory.remote_touch = \"migrate\"\n" + kMigrating + fragmented,
                                workload, gpus),
                        20us)
                       .moved;
        }
  CHECK(moved > 100);
}

TEST_CASE("coalescing by moving: a page accessed meanwhile by another GPU does not migrate to it") {
  std::uint64_t moved = 0;
  for (std::string const workload : {"gups", "transpose", "histogram256"})
    for (std::string const replay : {"page", "batch", "once"}) {
      CAPTURE(workload);
      CAPTURE(replay);
      auto const s =
          told(machine("memory.placement = \"first_touch\"\nmemory.remote_touch = \"remote_access\"\n"
                       "memory.fault_path = \"gpu\"\ndriver.migrations = 80\nmemory.moves_stall_gpu = false\n"
                       "driver.batch.eviction_unit = \"64KiB\"\ndriver.batch.replay = \"" +
                           replay + "\"\n" + kMigrating,
                       workload, 2));
      CHECK(s.migrated == 0);
      moved += s.moved;
    }
  CHECK(moved > 0);
}

TEST_CASE("compaction: a run is the same on any partitions") {
  for (std::string const& more :
       {"memory.placement = \"first_touch\"\nmemory.compaction = \"cac\"\n" + kMosaic + kFragmented,
        "memory.placement = \"first_touch\"\nmemory.remote_touch = \"migrate\"\n" + kMigrating}) {
    CAPTURE(more);
    EngineOptions two;
    two.threads = 2;
    ModelRun one(machine(more, "transpose", 2), {}, topologies::Granularity::one);
    ModelRun split(machine(more, "transpose", 2), two, topologies::Granularity::split_gpu);
    one.run();
    split.run();
    CHECK(one.engine().state_digest() == split.engine().state_digest());
  }
}

TEST_CASE("compaction: with memory neither fragmented nor full, it does not affect the time") {
  auto const more = "memory.placement = \"first_touch\"\n" + kMosaic;
  auto const without = told(machine(more), 1s);
  auto const with = told(machine(more + "memory.compaction = \"cac\"\n"), 1s);
  CHECK(with.moved == 0);
  CHECK(with.time == without.time);
  CHECK(with.coalesced == without.coalesced);
}

}  // namespace compaction_test
