// Faults on whole machines: of any number, with buffers of any size, every access is made once, and what does
// not fault passes what does.
#include <doctest/doctest.h>

#include <string>

#include "run_model.hpp"

using namespace farfault;
using test::ModelRun;

namespace {

// Pages that the driver maps at their first touch, one at a time.
std::string faulting(std::string const& more, std::string const& latency = "20us") {
  return "include = [\"paper-gmmu-bypass\"]\nmemory.first_touch_by = \"driver\"\ngpu.sms = 4\n"
         "driver.fault_latency = \"" +
         latency + "\"\n" + more;
}

// Every access was made, once, and nothing is left behind.
void check_complete(ModelRun& run) {
  auto const of_sms = [&](char const* stat) { return run.total("sm", stat); };
  CHECK(of_sms("l1_hits") + of_sms("l1_misses") + of_sms("stores") == of_sms("transactions"));
  CHECK(of_sms("l1_tlb_hits") + of_sms("l1_tlb_misses") == of_sms("transactions"));
  CHECK(of_sms("faulted") == of_sms("replayed"));
  CHECK(run.total("scalar_cache", "hits") + run.total("scalar_cache", "misses") ==
        of_sms("scalar_transactions"));
  CHECK(run.total("iommu", "page_faults") == run.total("driver", "page_faults"));
  CHECK(run.total("gmmu", "requests") == run.total("gmmu", "responses"));
  CHECK(run.total("gmmu", "replays") == run.total("iommu", "replays"));
  auto& system = run.system();
  for (ComponentId id = 0; id < system.component_count(); ++id) {
    CAPTURE(system.component(id).path());
    CHECK(system.component(id).waiting_for().empty());
  }
}

}  // namespace

TEST_CASE("faults: more and fewer than every buffer holds, each access is made exactly once") {
  struct Case {
    char const* name;
    char const* settings;
    bool refuses;
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
                true},
           Case{"requests merged in the IOMMU", "iommu.merge = true\niommu.fault_buffer = 2\n", true},
           Case{"predicted", "gpu.router.policy = \"gmmu_bypass\"\ngpu.router.gmmu_bypass.epoch = \"2us\"\n",
                false},
           Case{"centralized", "gpu.router.policy = \"centralized\"\niommu.fault_buffer = 5\n", true},
           Case{"two CPUs", "machine.topology = \"dgx1\"\niommu.fault_buffer = 4\n", true},
           Case{"contents to copy", "memory.first_touch_copy = true\niommu.fault_buffer = 4\n", true},
           Case{"a large page", "memory.large_pages = \"all\"\n", false},
       }) {
    CAPTURE(std::string(c.name));
    ModelRun run(faulting("workload.name = \"relu\"\nworkload.relu.size = \"256KiB\"\n") + c.settings);
    run.run();
    check_complete(run);
    CHECK(run.total("driver", "pages_mapped") == 64);
    CHECK((run.total("iommu", "refused_faults") > 0) == c.refuses);
    CHECK(run.total("sm", "faulted") > 64);
  }
}

TEST_CASE("faults: scalar loads fault, and are made again, too") {
  ModelRun run(
      faulting("workload.name = \"pagerank\"\nworkload.pagerank.rmat.scale = 9\n"
               "workload.pagerank.rmat.edge_factor = 8\niommu.fault_buffer = 2\n"));
  run.run();
  check_complete(run);
  CHECK(run.total("iommu", "refused_faults") > 0);
}

TEST_CASE("faults: pages that are touched first and then move, with a small buffer") {
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

TEST_CASE("faults: a fault costs the driver's time, the way there and back, and the access once more") {
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
