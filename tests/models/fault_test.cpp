// SPDX-License-Identifier: Apache-2.0
// Faults on whole machines: with any number of faults and buffers of any size, every access completes exactly
// once, and accesses without a fault overtake faulted ones.
#include <doctest/doctest.h>

#include <string>

#include "run_model.hpp"

namespace fault_test {

using namespace farfault;
using test::ModelRun;

namespace {

// Pages that the driver maps at their first touch, one at a time.
std::string faulting(std::string const& more, std::string const& latency = "20us") {
  return "include = [\"paper-gmmu-bypass\"]\nmemory.first_touch_by = \"driver\"\ngpu.sms = 4\n"
         "driver.fault_latency = \"" +
         latency + "\"\n" + more;
}

// The same settings, with fault records in the GPUs.
std::string at(bool by_gpu, std::string settings) {
  if (!by_gpu) return settings;
  std::string const iommus = "iommu.fault_buffer";
  if (auto const i = settings.find(iommus); i != std::string::npos)
    settings.replace(i, iommus.size(), "gpu.gmmu.fault_buffer");
  return settings + "memory.fault_path = \"gpu\"\n";
}

void check_accesses(ModelRun& run) {
  auto const of_sms = [&](char const* stat) { return run.total("sm", stat); };
  CHECK(of_sms("l1_hits") + of_sms("l1_misses") + of_sms("stores") == of_sms("transactions"));
  CHECK(of_sms("faulted") == of_sms("replayed"));
  auto& system = run.system();
  for (ComponentId id = 0; id < system.component_count(); ++id) {
    CAPTURE(system.component(id).path());
    CHECK(system.component(id).waiting_for().empty());
  }
}

// Every access completed once, and nothing is outstanding.
void check_complete(ModelRun& run) {
  check_accesses(run);
  auto const of_sms = [&](char const* stat) { return run.total("sm", stat); };
  CHECK(of_sms("l1_tlb_hits") + of_sms("l1_tlb_misses") == of_sms("transactions"));
  CHECK(run.total("scalar_cache", "hits") + run.total("scalar_cache", "misses") ==
        of_sms("scalar_transactions"));
  std::uint64_t recorded = 0;
  for (auto const name : run.recorded_faults()) recorded += run.total(run.recorder(), name);
  CHECK(recorded == run.total("driver", "page_faults"));
  if (run.recorder() == "gmmu")
    CHECK(run.total("iommu", "page_faults") + run.total("iommu", "remote_faults") +
              run.total("iommu", "refused_faults") ==
          0);
  CHECK(run.total("gmmu", "requests") == run.total("gmmu", "responses"));
  CHECK(run.total("gmmu", "replays") == run.total("iommu", "replays"));
}

}  // namespace

TEST_CASE("faults: with more and fewer than the entries of every buffer, each access is made exactly once") {
  struct Case {
    char const* name;
    char const* settings;
    bool refuses;
    bool of_gpus_too = refuses;  // also with GPU fault buffers of that size
  };
  for (auto const& c : {
           Case{"as configured", "", false},
           Case{"a fault buffer of one page", "iommu.fault_buffer = 1\n", true},
           Case{"a fault buffer of three", "iommu.fault_buffer = 3\n", true},
           Case{"of as many pages as there are", "iommu.fault_buffer = 64\n", false},
           Case{"SMs that keep the accesses of one page", "gpu.l1_tlb.faulted_pages = 1\n", false},
           Case{"one access", "gpu.l1_tlb.faulted_accesses = 1\n", false},
           Case{"one of everything",
                "iommu.fault_buffer = 1\niommu.pages = 1\niommu.walkers = 1\ngpu.l1_tlb.faulted_pages = 1\n"
                "gpu.l1_tlb.mshrs = 1\ngpu.l2_tlb.mshrs = 1\ngpu.gmmu.pending = 1\ngpu.gmmu.walkers = 1\n"
                "gpu.scalar_cache.tlb_mshrs = 1\nhost.block_order = \"contiguous\"\n",
                true, false},
           Case{"requests merged in the IOMMU", "iommu.merge = true\niommu.fault_buffer = 2\n", true},
           Case{"predicted", "gpu.router.policy = \"gmmu_bypass\"\ngpu.router.gmmu_bypass.epoch = \"2us\"\n",
                false},
           Case{"centralized", "gpu.router.policy = \"centralized\"\niommu.fault_buffer = 5\n", true},
           Case{"two CPUs", "machine.topology = \"dgx1\"\niommu.fault_buffer = 4\n", true},
           Case{"contents to copy", "memory.first_touch_copy = true\niommu.fault_buffer = 4\n", true},
           Case{"a large page", "memory.large_pages = \"all\"\n", false},
       }) {
    for (bool const by_gpu : {false, true}) {
      CAPTURE(std::string(c.name));
      CAPTURE(by_gpu);
      ModelRun run(faulting("workload.name = \"relu\"\nworkload.relu.size = \"256KiB\"\n") +
                   at(by_gpu, c.settings));
      run.run();
      check_complete(run);
      CHECK(run.total("driver", "pages_mapped") == 64);
      if (by_gpu)
        CHECK((run.total("gmmu", "refused_faults") > 0) == (c.refuses && run.config().gmmu.pending > 1));
      else
        CHECK((run.total("iommu", "refused_faults") > 0) == c.refuses);
      CHECK(run.total("sm", "faulted") > 64);
    }
  }
}

TEST_CASE("faults recorded by GPUs: one-entry buffers and any number of pages, also on two CPUs") {
  for (auto const* topology : {"paper-gmmu-bypass", "dgx1"}) {
    CAPTURE(std::string(topology));
    ModelRun run(
        faulting("workload.name = \"relu\"\nworkload.relu.size = \"512KiB\"\n"
                 "memory.fault_path = \"gpu\"\ngpu.gmmu.fault_buffer = 1\nmachine.topology = \"" +
                 std::string(topology) + "\"\n"));
    run.run();
    check_complete(run);
    CHECK(run.total("driver", "pages_mapped") == 128);
    CHECK(run.total("gmmu", "refused_faults") > 0);
  }
}

TEST_CASE(
    "faults recorded by GPUs: each GPU that touches a page has an entry, and the driver responds to each") {
  // If one IOMMU merges the faults, the driver receives each page once.
  auto const driver_faults = [](std::string const& path) {
    ModelRun run(
        faulting("workload.name = \"kmeans\"\nworkload.kmeans.size = \"64KiB\"\nmemory.fault_path = \"" +
                 path + "\"\n"));
    run.run();
    check_complete(run);
    CHECK(run.total("driver", "page_faults") >= run.total("driver", "pages_mapped"));
    return run.total("driver", "page_faults") - run.total("driver", "pages_mapped");
  };
  CHECK(driver_faults("iommu") == 0);
  CHECK(driver_faults("gpu") > 0);
}

TEST_CASE("faults on migrating pages: with any buffer size each access is made exactly once") {
  for (auto const* settings : {
           "",
           "iommu.fault_buffer = 1\n",
           "iommu.fault_buffer = 7\n",
           "gpu.l1_tlb.faulted_pages = 1\n",
           "gpu.l1_tlb.faulted_accesses = 1\niommu.fault_buffer = 2\n",
           "iommu.fault_buffer = 1\niommu.pages = 1\niommu.walkers = 1\ngpu.l1_tlb.faulted_pages = 1\n"
           "gpu.l1_tlb.mshrs = 1\ngpu.l2_tlb.mshrs = 1\ngpu.gmmu.pending = 1\ngpu.gmmu.walkers = 1\n",
           "driver.migrations = 1\niommu.fault_buffer = 3\n",
           // All refused faults are answered at the same time, and almost nothing else fits at the CPU's
           // port.
           "driver.migrations = 1\niommu.fault_buffer = 1\ngpu.gmmu.pending = 1\nfabric.inbound = 1\n"
           "fabric.buffer = \"128 B\"\ngpu.sms = 16\n",
           "driver.fault_latency = \"1ns\"\ndriver.notify_latency = \"1ns\"\n",
           "machine.topology = \"dgx1\"\niommu.fault_buffer = 2\n",
           "machine.topology = \"single-gpu\"\nmemory.placement = \"cpu\"\niommu.fault_buffer = 1\n",
           "memory.placement = \"first_touch\"\nmemory.first_touch_by = \"iommu\"\niommu.fault_buffer = 2\n",
           "memory.placement = \"first_touch\"\nmemory.first_touch_by = \"driver\"\niommu.fault_buffer = 2\n",
       }) {
    for (bool const by_gpu : {false, true}) {
      if (by_gpu && std::string(settings).find("first_touch_by = \"iommu\"") != std::string::npos) continue;
      CAPTURE(std::string(settings));
      CAPTURE(by_gpu);
      std::string const sms =
          std::string(settings).find("gpu.sms") == std::string::npos ? "gpu.sms = 4\n" : "";
      std::string const placement = std::string(settings).find("placement") == std::string::npos
                                        ? "memory.placement = \"interleave\"\n"
                                        : "";
      ModelRun run(
          "include = [\"paper-gmmu-bypass\"]\nworkload.name = \"transpose\"\n"
          "workload.transpose.width = 256\nworkload.transpose.height = 256\n"
          "memory.remote_touch = \"migrate\"\n" +
          sms + placement + at(by_gpu, settings));
      run.run();
      if (run.config().memory.first_touch_by == FirstTouchBy::driver ||
          !run.config().memory.maps_at_first_touch())
        check_complete(run);
      else
        check_accesses(run);
      CHECK(run.total("driver", "migrations") > 10);
      CHECK(run.total("sm", "faulted") > 0);
    }
  }
}

TEST_CASE(
    "faults on migrating pages: a GPU without room is rejected each time, and accesses the page remotely") {
  for (bool const by_gpu : {false, true}) {
    ModelRun run(
        "include = [\"paper-gmmu-bypass\"]\ngpu.sms = 4\nworkload.name = \"transpose\"\n"
        "workload.transpose.width = 1024\nworkload.transpose.height = 448\nmemory.placement = "
        "\"interleave\"\n"
        "memory.remote_touch = \"migrate\"\ngpu.dram.capacity = \"1MiB\"\n" +
        at(by_gpu, "iommu.fault_buffer = 4\n"));
    run.run();
    check_complete(run);
    CHECK(run.total("driver", "migrations_refused") > 0);
  }
}

TEST_CASE("faults: scalar loads fault, and are repeated, too") {
  ModelRun run(
      faulting("workload.name = \"pagerank\"\nworkload.pagerank.rmat.scale = 9\n"
               "workload.pagerank.rmat.edge_factor = 8\niommu.fault_buffer = 2\n"));
  run.run();
  check_complete(run);
  CHECK(run.total("iommu", "refused_faults") > 0);
}

TEST_CASE("faults: pages that are touched first and then migrate, with a small buffer") {
  ModelRun run(
      faulting("workload.name = \"transpose\"\nworkload.transpose.width = 256\n"
               "workload.transpose.height = 512\nmemory.remote_touch = \"migrate\"\n"
               "iommu.fault_buffer = 3\n",
               "1us"));
  run.run();
  CHECK(run.total("driver", "migrations") > 30);
  CHECK(run.total("iommu", "refused_faults") > 0);
  CHECK(run.total("sm", "l1_hits") + run.total("sm", "l1_misses") + run.total("sm", "stores") ==
        run.total("sm", "transactions"));
}

TEST_CASE("faults: a fault costs the driver's time, the message latencies, and the repeated access") {
  auto const chase = [](std::string const& more) {
    ModelRun run(
        "include = [\"paper-gmmu-bypass\"]\nmachine.topology = \"single-gpu\"\nworkload.name = "
        "\"pointer_chase\"\ngpu.sms = 1\nworkload.pointer_chase.stride = \"4096 B\"\n"
        "workload.pointer_chase.elements = 8\nworkload.pointer_chase.hops = 8\n"
        "gpu.router.policy = \"centralized\"\niommu.walk_latency = 100\n" +
        more);
    run.run();
    return picoseconds(run.kernel_time());
  };
  std::string const driver = "memory.placement = \"first_touch\"\nmemory.first_touch_by = \"driver\"\n";
  auto const with = [&](std::string const& fault, std::string const& notify) {
    return chase(driver + "driver.fault_latency = \"" + fault + "\"\ndriver.notify_latency = \"" + notify +
                 "\"\n");
  };
  auto const once = with("3us", "200ns");
  CHECK(with("5us", "200ns") - once == 8 * 2'000'000);
  CHECK(with("3us", "300ns") - once == 8 * 2 * 100'000);
}

}  // namespace fault_test
