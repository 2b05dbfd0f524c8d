// The latency stack and what SMs did, on whole machines: both add up, whatever mechanism is at work.
#include <doctest/doctest.h>

#include <string>

#include "run_model.hpp"

using namespace farfault;
using test::each;
using test::ModelRun;

namespace {

std::string transpose(int gpus, std::string const& more) {
  return "machine.topology = \"generic\"\nmachine.generic.gpus = " + std::to_string(gpus) +
         "\ngpu.sms = 4\nworkload.name = \"transpose\"\nworkload.transpose.width = 128\n"
         "workload.transpose.height = 128\n" +
         more;
}

std::string bfs(int gpus, std::string const& more) {
  return "machine.topology = \"generic\"\nmachine.generic.gpus = " + std::to_string(gpus) +
         "\ngpu.sms = 4\nworkload.name = \"bfs\"\nworkload.bfs.rmat.scale = 9\n" + more;
}

struct Totals {
  std::uint64_t transactions = 0;
  std::uint64_t access_time = 0;
  AccessStages stages;
};

Totals check_run(ModelRun& run) {
  run.engine().run_until(Time::max());
  auto const end = count_of(run.engine().last_event());
  Totals all;
  std::uint64_t dram = 0, all_did = 0;
  each<Sm>(run.system(), [&](Sm const& sm) {
    auto const& s = sm.state();
    for (std::uint32_t stream = 0; stream < s.stats.size(); ++stream) {
      auto const& counts = s.stats[stream];
      CHECK(counts.access_time == counts.stages.sum());
      CHECK(s.times.under_way[stream].number == 0);
      all.transactions += counts.transactions;
      all.access_time += counts.access_time;
      all.stages.links += counts.stages.links;
      all.stages.fault += counts.stages.fault;
      all.stages.walk += counts.stages.walk;
      all.stages.iommu += counts.stages.iommu;
      all.stages.remote_memory += counts.stages.remote_memory;
      dram += counts.stages.dram;
    }
    std::uint64_t did = 0;
    for (auto const what :
         {SmDoes::executes, SmDoes::waits_for_memory, SmDoes::waits_for_faults, SmDoes::waits_for_load_store,
          SmDoes::waits_for_scalar_cache, SmDoes::waits_at_barrier, SmDoes::is_stopped, SmDoes::has_no_warp})
      did += s.times.doing.in(what);
    CHECK(did <= end);  // up to its last event
    all_did += did - s.times.doing.in(SmDoes::has_no_warp);
  });
  CHECK(all_did > 0);
  all.stages.dram = dram;
  CHECK(all.transactions > 0);
  return all;
}

}  // namespace

TEST_CASE("latency stack: it adds up on one GPU, for regular and irregular accesses") {
  for (auto const& text : {transpose(1, ""), bfs(1, ""), transpose(1, "gpu.l2_cache.size = \"64KiB\"\n")}) {
    CAPTURE(text);
    ModelRun run(text);
    auto const all = check_run(run);
    CHECK(all.stages.links == 0);
    CHECK(all.stages.walk > 0);
    CHECK(all.stages.dram > 0);
  }
}

TEST_CASE("latency stack: it adds up where pages lie on other GPUs, and says how long these took") {
  for (auto const& text :
       {transpose(4, "memory.placement = \"interleave\"\n"), bfs(2, "memory.placement = \"interleave\"\n"),
        transpose(2, "memory.placement = \"cpu\"\nmemory.remote_touch = \"remote_access\"\n")}) {
    CAPTURE(text);
    ModelRun run(text);
    auto const all = check_run(run);
    CHECK(all.stages.links > 0);
    CHECK(all.stages.iommu > 0);
    CHECK(all.stages.remote_memory > 0);
  }
}

TEST_CASE("latency stack: it adds up where pages migrate, are first touched, copied, or come in batches") {
  auto const batches = std::string(
      "memory.placement = \"cpu\"\nmemory.remote_touch = \"migrate\"\nmemory.fault_path = \"gpu\"\n"
      "memory.gpu_share = 0.5\ngpu.l1_tlb.entries = 4\ngpu.l1_tlb.ways = 4\ndriver.migrations = 64\n"
      "driver.batch.eviction_unit = \"16KiB\"\n");
  for (auto const& text :
       {transpose(2, "memory.placement = \"first_touch\"\n"),
        transpose(2, "memory.placement = \"interleave\"\nmemory.remote_touch = \"migrate\"\n"),
        transpose(2,
                  "memory.placement = \"interleave\"\nmemory.remote_touch = \"duplicate\"\nmemory.fault_path "
                  "= \"gpu\"\n"),
        bfs(2, "memory.placement = \"interleave\"\nmemory.remote_touch = \"migrate\"\n"),
        transpose(1, batches + "driver.batch.replay = \"page\"\n"),
        transpose(1, batches + "driver.batch.replay = \"batch_flush\"\n"),
        transpose(1, batches +
                         "driver.batch.replay = \"page\"\n"
                         "gpu.sm.thread_blocks = \"thread_oversubscription\"\ngpu.sm.max_blocks = 1\n")}) {
    CAPTURE(text);
    ModelRun run(text);
    auto const all = check_run(run);
    CHECK(all.stages.fault > 0);
  }
}
