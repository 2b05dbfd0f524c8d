// SPDX-License-Identifier: Apache-2.0
// Page migration on a whole machine. At every step of a run no TLB holds an invalid translation, and no
// access is in flight to a page's old frame.
#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "moving_pages.hpp"
#include "run_model.hpp"

namespace migration_test {

using namespace farfault;
using namespace farfault::moving_pages;
using test::ModelRun;

namespace {

std::string model(std::string const& more) {
  return "include = [\"paper-gmmu-bypass\"]\n"
         "workload.name = \"transpose\"\n"
         "workload.transpose.width = 256\n"
         "workload.transpose.height = 512\n"
         "gpu.sms = 4\n"
         "gpu.l1_tlb.entries = 4\n"
         "gpu.l1_tlb.ways = 4\n"
         "gpu.l2_tlb.entries = 16\n"
         "gpu.l2_tlb.ways = 4\n"
         "memory.remote_touch = \"migrate\"\n" +
         more;
}

struct Case {
  char const* name;
  char const* settings;
};

}  // namespace

TEST_CASE("during migrations no TLB holds an invalid translation, and no access uses an old frame") {
  constexpr std::array<Case, 16> cases{{
      {"interleaved", "memory.placement = \"interleave\"\n"},
      {"first touch", "memory.first_touch_by = \"driver\"\niommu.merge = true\n"},
      {"first touch, mapped by the IOMMU, requests not merged",
       "memory.first_touch_by = \"iommu\"\niommu.merge = false\n"},
      {"first touch with contents, walks of fixed length",
       "memory.first_touch_copy = true\ngpu.gmmu.walk_latency = 100\niommu.walk_latency = 100\n"},
      {"first touch with two CPUs, mapped by the IOMMUs",
       "machine.topology = \"dgx1\"\nmemory.first_touch_by = \"iommu\"\niommu.merge = false\n"},
      {"from the CPU's memory", "memory.placement = \"cpu\"\n"},
      {"centralized", "memory.placement = \"interleave\"\ngpu.router.policy = \"centralized\"\n"},
      {"predicted",
       "memory.placement = \"interleave\"\ngpu.router.policy = \"gmmu_bypass\"\ngpu.router.gmmu_bypass.epoch "
       "= "
       "\"2us\"\n"},
      {"one at a time, after two touches",
       "memory.placement = \"interleave\"\ndriver.migrations = 1\nmemory.migrate.after = 2\n"},
      {"two CPUs, eight GPUs", "machine.topology = \"dgx1\"\nmemory.placement = \"interleave\"\n"},
      {"a TLB in the IOMMU that holds all pages, after two touches",
       "memory.placement = \"interleave\"\niommu.tlb_entries = 1024\niommu.tlb_ways = 1024\n"
       "memory.migrate.after = 2\n"},
      {"ideal TLBs",
       "memory.placement = \"interleave\"\ngpu.l1_tlb.organization = \"ideal\"\n"
       "gpu.l2_tlb.organization = \"ideal\"\niommu.tlb_organization = \"ideal\"\n"},
      {"small fault buffers", "memory.placement = \"interleave\"\niommu.fault_buffer = 2\n"},
      {"faults kept by the GPUs, small buffers",
       "memory.placement = \"interleave\"\nmemory.fault_path = \"gpu\"\ngpu.gmmu.fault_buffer = 2\n"},
      {"faults kept by eight GPUs, first touch",
       "machine.topology = \"dgx1\"\nmemory.first_touch_by = \"driver\"\nmemory.fault_path = \"gpu\"\n"},
      {"an L2 cache for every SM, kept coherent by software",
       "memory.placement = \"interleave\"\ngpu.l2_cache.partitions = 4\ngpu.l2_cache.miss_path = "
       "\"memory\"\n"},
  }};
  for (auto const& c : cases) {
    CAPTURE(std::string(c.name));
    ModelRun run(model(c.settings));
    Machine const machine(run.system());
    Violations found;
    // The step is not a multiple of a clock cycle, so that all phases are checked.
    for (Time t{}; run.engine().run_until(t) != RunState::drained; t += Duration{37'001})
      look(machine, 12, run.config().gpu.line_bytes, found);
    CHECK(found.wrong_frames == 0);
    CHECK(found.void_entries == 0);
    CHECK(found.void_accesses == 0);
    CHECK(found.stale_lines == 0);
    check_tables(machine);
    auto const& s = machine.driver->state();
    CHECK(s.stats[0].migrations > 20);
    std::uint64_t fetched = 0;  // pages of the input; output pages have no contents
    if (run.config().memory.first_touch_copy)
      for (auto const& touch : s.records.first_touches())
        for (auto const& written : machine.driver->spec().host_written)
          fetched += touch.page - written.first < written.count ? 1 : 0;
    CHECK((fetched > 0) == run.config().memory.first_touch_copy);
    CHECK(fetched <= s.stats[0].pages_mapped / 2);
    CHECK(run.total("copy_engine", "orders") == s.stats[0].migrations + fetched);
    CHECK(run.total("copy_engine", "lines_in") == (s.stats[0].migrations + fetched) * 64);
    for (auto const* sm : machine.sms) CHECK(sm->waiting_for().empty());
    for (auto const* iommu : machine.iommus) CHECK(iommu->waiting_for().empty());
    CHECK(machine.driver->waiting_for().empty());
  }
}

TEST_CASE("if all pages are mapped and migrate, the choice of who maps first touches has no effect") {
  auto const time = [](std::string const& by) {
    ModelRun run(model("memory.placement = \"interleave\"\nmemory.first_touch_by = \"" + by + "\"\n"));
    run.run();
    CHECK(run.total("driver", "migrations") > 10);
    return run.kernel_time();
  };
  CHECK(time("driver") == time("iommu"));
}

TEST_CASE(
    "with and without merging in the IOMMU, the driver gets each first touch once: the fault buffer merges") {
  static constexpr std::uint64_t kPages = 64;
  auto const time = [](std::string const& merge) {
    ModelRun run(
        "include = [\"paper-gmmu-bypass\"]\nworkload.name = \"relu\"\n"
        "workload.relu.size = \"256KiB\"\nmemory.first_touch_by = \"driver\"\niommu.merge = " +
        merge + "\n");
    run.run();
    CHECK(run.total("driver", "pages_mapped") == kPages);
    CHECK(run.total("driver", "page_faults") == kPages);
    CHECK(run.total("iommu", "merged_faults") > 0);
    return run.kernel_time();
  };
  // The driver's microsecond per page bounds both.
  auto const merged = time("true");
  auto const duplicated = time("false");
  CHECK(merged > kPages * 1us);
  CHECK(duplicated > kPages * 1us);
  CHECK(duplicated < merged + merged / 10);
}

TEST_CASE("other GPUs' writes to a page before its migration reach memory from every L2 partition") {
  auto const writes = [](std::string const& more) {
    ModelRun run(
        "include = [\"paper-gmmu-bypass\"]\nmachine.topology = \"dgx1\"\ngpu.sms = 4\n"
        "gpu.l2_cache.size = \"8MiB\"\nmemory.remote_touch = \"migrate\"\n"
        "workload.name = \"stream\"\nworkload.stream.bytes = \"4KiB\"\n"
        "workload.stream.write_fraction = 1\nworkload.stream.bytes_per_lane = 1\n"
        "workload.stream.accesses_per_thread = 1\nworkload.stream.block = 64\n"
        "host.block_order = \"round_robin\"\ngpu.gmmu.walk_latency = 100\niommu.walk_latency = 100\n"
        "driver.fault_latency = \"1ns\"\ndriver.notify_latency = \"1ns\"\n"
        "gpu.dram.controller_latency = \"200ns\"\ngpu.l2_cache.interleave = \"256B\"\n" +
        more);
    run.run();
    CHECK(run.total("driver", "migrations") == 1);
    return run.total("dram", "writes");
  };
  // The page's 48 dirty lines, and all 64 lines at the end.
  CHECK(writes("gpu.l2_cache.partitions = 2\ngpu.l2_cache.miss_path = \"memory\"\n") == 48 + 64);
}

TEST_CASE("a page used by one GPU migrates to it once, and all later accesses are local") {
  auto const chase = [](std::string const& more) {
    return "include = [\"paper-gmmu-bypass\"]\nworkload.name = \"pointer_chase\"\nmachine.topology = "
           "\"single-gpu\"\n"
           "memory.placement = \"cpu\"\nworkload.pointer_chase.stride = \"4096 B\"\n"
           "workload.pointer_chase.elements = 8\nworkload.pointer_chase.hops = 64\n" +
           more;
  };
  ModelRun remote(chase(""));
  remote.run();
  CHECK(remote.total("sm", "remote_accesses") > 8);
  ModelRun moved(chase("memory.remote_touch = \"migrate\"\n"));
  moved.run();
  CHECK(moved.total("driver", "migrations") == 8);
  CHECK(moved.total("sm", "remote_accesses") == 0);
  CHECK(moved.total("rdma", "reads_sent") == 8 * 64);
  CHECK(moved.total("iommu", "invalidations") == 0);  // no TLB held them
}

TEST_CASE("a migration takes the driver's time, the page's copy and the messages between them") {
  // Two chases that differ by one page, which migrates from the CPU's memory.
  auto const pages = [](int n) {
    return "include = [\"paper-gmmu-bypass\"]\nworkload.name = \"pointer_chase\"\nmachine.topology = "
           "\"single-gpu\"\n"
           "memory.placement = \"cpu\"\nmemory.remote_touch = \"migrate\"\n"
           "workload.pointer_chase.stride = \"4096 B\"\nworkload.pointer_chase.elements = " +
           std::to_string(n) + "\nworkload.pointer_chase.hops = " + std::to_string(n) + "\n";
  };
  ModelRun run(pages(4));
  run.run();
  auto const& c = run.config();
  auto const machine = topologies::load_machine("single-gpu");
  topologies::Routes const routes(machine);
  auto const gpu = machine.nodes_of(topologies::NodeKind::gpu)[0];
  auto const cpu = machine.nodes_of(topologies::NodeKind::cpu)[0];
  Duration wire{};
  Duration line{};
  for (auto const& hop : routes.path(gpu, cpu)) {
    auto const& link = machine.links[hop.link];
    wire += 2 * link.latency;
    line = link.forward.time_for(c.fabric.header_bytes + c.gpu.line_bytes);
  }
  auto const page = picoseconds(c.driver.fault_latency + 4 * c.driver.notify_latency + wire + 64 * line);
  auto const taken = run.total("driver", "migration_time") / 4;
  CHECK(taken > static_cast<std::uint64_t>(page));
  // The remainder: crossbars, the CPU's DRAM, serialization of the first request, the last write.
  CHECK(taken < static_cast<std::uint64_t>(page) + 600'000);
}

}  // namespace migration_test
