// SPDX-License-Identifier: Apache-2.0
// Parameters that contradict each other, or that would stop time or divide by zero: one sentence each.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "farfault/protocols/facts.hpp"
#include "farfault/topologies/load.hpp"
#include "farfault/topologies/machine_config.hpp"
#include "unused.hpp"

namespace config_rules_test {

using namespace farfault;
using namespace farfault::topologies;

namespace {

std::vector<std::string> unused(std::string const& toml) {
  Config config(find_preset);
  config.read_text(toml, "f");
  MachineConfig machine;
  machine.bind(config);
  machine.check(config);
  config.reject_errors();
  return test::unused_in(config);
}

std::string refusal(std::string const& toml) {
  try {
    Config config(find_preset);
    config.read_text(toml, "f");
    MachineConfig machine;
    machine.bind(config);
    machine.check(config);
    config.reject_errors();
  } catch (UserError const& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("a rate, a clock or a latency of zero is rejected, unless its text defines zero") {
  MachineConfig machine;
  int tried = 0;
  machine.each_section([&](std::string_view section, std::string_view, auto& spec) {
    ParamTable table;
    spec.describe(table);
    for (auto const& p : table.all()) {
      auto const zero = p.kind == ParamKind::duration    ? "0s"
                        : p.kind == ParamKind::bandwidth ? "0 B/s"
                        : p.kind == ParamKind::frequency ? "0Hz"
                                                         : nullptr;
      auto const cycles = p.kind == ParamKind::count && p.name.find("latency") != std::string::npos;
      if ((zero == nullptr && !cycles) || p.text.find("0: ") != std::string::npos) continue;
      CAPTURE(std::string(section) + "." + p.name);
      CHECK_THROWS_AS(p.set(zero == nullptr ? "0" : zero), UserError);
      ++tried;
    }
  });
  CHECK(tried > 40);
}

TEST_CASE("a zero rate is reported with the key, the value and the range") {
  CHECK(refusal("gpu.dram.bandwidth = \"0 B/s\"\n").find("gpu.dram.bandwidth") != std::string::npos);
  CHECK(refusal("host.launch_latency = \"0 ns\"\n").find("host.launch_latency") != std::string::npos);
  CHECK(refusal("links.pcie_latency = \"0 ns\"\n").find("links.pcie_latency") != std::string::npos);
}

TEST_CASE("faults in batches need a buffer on the GPU, and room for two concurrent eviction units") {
  std::string const batches =
      "memory.placement = \"cpu\"\nmemory.remote_touch = \"migrate\"\ndriver.batch.replay = \"page\"\n";
  CHECK(refusal(batches).find("memory.fault_path = iommu") != std::string::npos);
  auto const on_gpu = batches + "memory.fault_path = \"gpu\"\n";
  CHECK(refusal(on_gpu).find("driver.migrations = 16 must be at least 1026") != std::string::npos);
  auto const roomy = on_gpu + "driver.migrations = 1026\n";
  CHECK(refusal(roomy) == "accepted");
  CHECK(refusal(roomy + "driver.batch.eviction_unit = \"96KiB\"\n").find("power of two") !=
        std::string::npos);
  CHECK(refusal(roomy + "memory.page_size = \"64KiB\"\ndriver.batch.eviction_unit = \"4KiB\"\n")
            .find("at least a page") != std::string::npos);
}

TEST_CASE("large pages migrate, and batches that bring them need large frames that become free") {
  std::string const migrate = "memory.placement = \"cpu\"\nmemory.remote_touch = \"migrate\"\n";
  CHECK(refusal(migrate + "memory.page_sizes = \"large_only\"\n") == "accepted");
  CHECK(refusal(migrate + "memory.large_pages = \"all\"\nmemory.page_size = \"64KiB\"\n") == "accepted");
  auto const batches = migrate +
                       "memory.fault_path = \"gpu\"\ndriver.batch.replay = \"page\"\n"
                       "driver.migrations = 1026\nmemory.page_sizes = \"large_only\"\n";
  CHECK(refusal(batches) == "accepted");
  CHECK(
      refusal(batches + "driver.batch.eviction_unit = \"1MiB\"\n") ==
      "f:7: driver.batch.eviction_unit = 1MiB must be at least a large page (memory.large_page_size), 2 MiB, "
      "which is evicted whole");
  CHECK(
      refusal(batches + "memory.large_page_size = \"1GiB\"\n") ==
      "f:7: memory.large_page_size = 1GiB must not exceed a VA block, 2 MiB, if faults are served in batches "
      "(driver.batch.replay)");
  CHECK(refusal(batches + "memory.frame_allocation = \"contiguity_conserving\"\n") == "accepted");
  CHECK(refusal(batches + "memory.frame_allocation = \"random\"\n") ==
        "f:7: driver.batch.replay = page brings large pages (memory.page_sizes = large_only), but "
        "memory.frame_allocation = random has no large frames; use on_demand");
  CHECK(refusal(batches + "memory.fragmentation_index = 0.5\n") ==
        "f:7: driver.batch.replay = page brings large pages (memory.page_sizes = large_only), but "
        "memory.fragmentation_index above 0 fills large frames with data that is never evicted");
}

TEST_CASE("batches need at least one worker") {
  CHECK(refusal("driver.batch.workers = 0\n") ==
        "f:1: driver.batch.workers = 0 must be a count from 1 to the number of GPUs, or \"one_per_gpu\"");
  CHECK(refusal("driver.batch.workers = 4294967297\n") ==
        "f:1: driver.batch.workers = 4294967297 must be a count from 1 to the number of GPUs, or "
        "\"one_per_gpu\"");
  CHECK(refusal("driver.batch.workers = \"all\"\n") ==
        "f:1: driver.batch.workers = all must be a count from 1 to the number of GPUs, or \"one_per_gpu\"");
  CHECK(refusal("driver.batch.workers = 4\n") == "accepted");
  CHECK(refusal("driver.batch.workers = \"one_per_gpu\"\n") == "accepted");
}

TEST_CASE("access counters have four granularities, and no parameter acts without a policy that needs them") {
  std::string const counted = "memory.remote_touch = \"access_counters\"\n";
  for (std::string const size : {"64KiB", "2MiB", "16MiB", "16GiB"})
    CHECK(refusal(counted + "gpu.access_counters.granularity = \"" + size + "\"\n") == "accepted");
  CHECK(refusal(counted + "gpu.access_counters.granularity = \"4MiB\"\n") ==
        "f:2: gpu.access_counters.granularity = 4MiB must be 64KiB, 2MiB, 16MiB or 16GiB");
  CHECK(refusal(counted + "gpu.access_counters.threshold = 0\n").find("1 to 65535") != std::string::npos);
  CHECK(refusal(counted + "gpu.access_counters.threshold = 65536\n").find("1 to 65535") != std::string::npos);
  CHECK(refusal(counted + "gpu.access_counters.notifications = 0\n").find("1 to") != std::string::npos);
  CHECK(refusal(counted + "gpu.access_counters.counters = 1048577\n").find("0 to 1048576") !=
        std::string::npos);
  CHECK(refusal(counted + "gpu.access_counters.counters = 1048576\n") == "accepted");
  CHECK(refusal(counted + "driver.counters.batch = 0\n").find("1 to") != std::string::npos);
  std::string const settings =
      "gpu.access_counters.threshold = 7\ngpu.access_counters.granularity = \"4MiB\"\n"
      "gpu.access_counters.place = \"inbound\"\ngpu.access_counters.counters = 9\n"
      "driver.counters.interrupt_time = \"1us\"\n";
  CHECK(unused(settings).size() == 5);
  CHECK(refusal(settings) == "accepted");
  CHECK(unused(counted + "gpu.access_counters.threshold = 7\ndriver.counters.batch = 1\n").empty());
}

TEST_CASE("a link's buffer smaller than a largest packet is rejected, and 0 follows the link") {
  CHECK(refusal("fabric.buffer = \"0 B\"\n") == "accepted");
  CHECK(refusal("fabric.buffer = \"88 B\"\n") == "accepted");  // a line of 64 bytes and a header of 24
  CHECK(refusal("fabric.buffer = \"87 B\"\n") ==
        "f:1: fabric.buffer = 87 B must be 0 B (computed per link) or hold the largest packet with its "
        "header, 88 B");
  CHECK(refusal("fabric.buffer = \"88 B\"\ngpu.line_bytes = 128\n") ==
        "f:1: fabric.buffer = 88 B must be 0 B (computed per link) or hold the largest packet with its "
        "header, 152 B");
  CHECK(refusal("fabric.nvlink_flit_bytes = 24\n") ==
        "f:1: fabric.nvlink_flit_bytes = 24 must be a power of two");
}

TEST_CASE("impossible sizes of caches and TLBs are rejected for any policy") {
  CHECK(refusal("gpu.l1_tlb.ways = 5\n") == "f:1: gpu.l1_tlb.ways = 5 must divide the number of entries, 32");
  CHECK(refusal("gpu.l2_tlb.ways = 512\n") ==
        "f:1: gpu.l2_tlb.ways = 512 must divide the number of entries, 256");
  CHECK(refusal("iommu.tlb_entries = 64\niommu.tlb_ways = 3\n") ==
        "f:2: iommu.tlb_ways = 3 must divide the number of entries, 64");
  CHECK(refusal("cpu.llc.size = \"10000 B\"\n") ==
        "f:1: cpu.llc.size = 10000 B must be a multiple of line_bytes x ways x slices, 4 KiB");
  CHECK(refusal("gpu.l1_cache.replacement = \"mru\"\n") ==
        "f:1: gpu.l1_cache.replacement: 'mru' is not one of: fifo, lru, random");
  CHECK(refusal("gpu.l1_tlb.organization = \"lru\"\n").find("'lru' is not one of: ") != std::string::npos);
}

TEST_CASE("the L2 cache is interleaved by at most a large page") {
  CHECK(refusal("memory.page_size = \"4KiB\"\ngpu.l2_cache.interleave = \"2MiB\"\n") == "accepted");
  CHECK(refusal("gpu.l2_cache.interleave = \"4MiB\"\n") ==
        "f:1: gpu.l2_cache.interleave = 4MiB must be a power of two from a line to a large page "
        "(memory.large_page_size)");
}

TEST_CASE("the memory of a CPU obeys the rules of a GPU's") {
  CHECK(refusal("cpu.dram.channels = 3\n") ==
        "f:1: cpu.dram.channels = 3 must be a divisor or a multiple of cpu.llc.slices, 4");
  CHECK(refusal("cpu.dram.channels = 1\ncpu.dram.queue = 2\n") ==
        "f:2: cpu.dram.queue = 2 must hold one request per slice that shares a channel, 4");
  CHECK(refusal("cpu.dram.banks = 3\n") == "f:1: cpu.dram.banks = 3 must be a power of two");
  CHECK(refusal("cpu.llc.interleave = \"8KiB\"\n") ==
        "f:1: cpu.llc.interleave = 8KiB must be a power of two from a line to a page");
  CHECK(refusal("cpu.dram.t_refi = \"20ns\"\n") ==
        "f:1: cpu.dram.t_refi = 20ns must exceed the time of a refresh, a row miss and a line, 76500 ps");
  CHECK(unused("cpu.dram.t_rfc = \"100ns\"\n") ==
        std::vector<std::string>{"cpu.dram.t_rfc (f:1; only with cpu.dram.t_refi above 0)"});
}

TEST_CASE("a preset's value for a replaced choice is not reported as unused, a user's value is") {
  std::string const other = "include = [\"paper-gmmu-bypass\"]\n[memory]\nplacement = \"interleave\"\n";
  CHECK(unused(other).empty());
  CHECK(unused(other + "first_touch_by = \"driver\"\n") ==
        std::vector<std::string>{
            "memory.first_touch_by (f:4; only with a memory.placement that maps pages at first touch)"});
}

TEST_CASE("parameters of messages that nothing sends are unused") {
  auto const scheduler = std::string("cpu.dram.scheduler = \"address_space_aware\"\n");
  CHECK(
      unused(scheduler + "cpu.dram.address_space_aware.epoch = 5\n") ==
      std::vector<std::string>{"cpu.dram.address_space_aware.epoch (f:2; only with reports of walk pressure "
                               "to the memory of a CPU, which no component sends)"});
  CHECK(unused("gpu.dram.scheduler = \"address_space_aware\"\ngpu.dram.address_space_aware.epoch = 5\n")
            .empty());
  CHECK(unused("nic.latency = \"1us\"\n") ==
        std::vector<std::string>{
            "nic.latency (f:1; only with accesses to the memory of a NIC, which no workload makes)"});
}

TEST_CASE("the driver's time per fault is unused without faults that the driver serves") {
  CHECK(unused("driver.fault_latency = \"2us\"\n").size() == 1);
  CHECK(unused("driver.fault_latency = \"2us\"\nmemory.remote_touch = \"migrate\"\n").empty());
  auto const first_touch =
      std::string("driver.fault_latency = \"2us\"\nmemory.placement = \"first_touch\"\n");
  CHECK(unused(first_touch).empty());
  CHECK(unused(first_touch + "memory.first_touch_by = \"iommu\"\n").size() == 1);
  CHECK(
      unused("driver.fault_latency = \"2us\"\nmemory.placement = \"cpu\"\nmemory.remote_touch = "
             "\"migrate\"\nmemory.fault_path = \"gpu\"\ndriver.batch.replay = \"page\"\ndriver.migrations = "
             "2048\n") ==
      std::vector<std::string>{"driver.fault_latency (f:1; only with driver.batch.replay = "
                               "\"each_fault\"; use driver.batch.time)"});
}

TEST_CASE("the number of MSHRs of an L1 TLB is unused if the treatment of misses limits them") {
  for (std::string const misses : {"hit_under_miss", "blocking"})
    CHECK(unused("gpu.l1_tlb.misses = \"" + misses + "\"\ngpu.l1_tlb.mshrs = 4\n") ==
          std::vector<std::string>{
              "gpu.l1_tlb.mshrs (f:2; only with a gpu.l1_tlb.misses that uses all MSHRs)"});
  CHECK(unused("gpu.l1_tlb.misses = \"non_blocking\"\ngpu.l1_tlb.mshrs = 4\n").empty());
}

TEST_CASE("policies of a missing cache or TLB are unused, and so are their parameters") {
  auto const no_tlb =
      "iommu.tlb_entries = 0\niommu.tlb_replacement = \"random\"\niommu.tlb_random.seed = 3\n";
  CHECK(unused(no_tlb) ==
        std::vector<std::string>{"iommu.tlb_replacement (f:2; only with iommu.tlb_entries above 0)",
                                 "iommu.tlb_random.seed (f:3; only with iommu.tlb_entries above 0)"});
  CHECK(unused("gpu.l2_cache.random.seed = 3\n") ==
        std::vector<std::string>{
            "gpu.l2_cache.random.seed (f:1; only with gpu.l2_cache.replacement = \"random\")"});
  CHECK(unused("gpu.memory_cache.replacement = \"fifo\"\n").size() == 1);
  CHECK(unused("gpu.gmmu.walk_cache = 0\ngpu.gmmu.walk_cache_replacement = \"fifo\"\n").size() == 1);
  CHECK(unused("iommu.walk_latency = 100\niommu.walk_cache_organization = \"unified\"\n").size() == 1);
  CHECK(unused("cpu.llc.replacement = \"random\"\ncpu.llc.random.seed = 3\n").empty());
}

TEST_CASE(
    "conditions name declared parameters, values of theirs, and facts that a machine's configuration "
    "computes") {
  Config config(find_preset);
  MachineConfig machine;
  machine.bind(config);
  machine.fit_to(load_machine("paper-gmmu-bypass"), config);
  int facts = 0, settings = 0;
  machine.each_section([&](std::string_view section, std::string_view, auto& spec) {
    ParamTable table;
    spec.describe(table);
    for (auto const& p : table.all()) {
      auto const key = std::string(section) + "." + p.name;
      CAPTURE(key);
      for (auto const& condition : p.only_when) {
        for (auto const& name : condition.settings()) CHECK(config.find_bound(name) != nullptr);
        settings += static_cast<int>(condition.settings().size());
        // False for this machine, all but four.
        for (auto const& fact : condition.facts())
          if (fact == facts::kBuffersAreChosen.text)
            CHECK(config.find_bound(key) != nullptr);
          else if (fact != facts::kPcieLinks.text && fact != facts::kIommuRequests.text &&
                   fact != facts::kMissesToEveryMshr.text)
            CHECK(config.find_bound(key) == nullptr);
        facts += static_cast<int>(condition.facts().size());
        for (auto const& [name, value] : condition.sibling_values())
          CHECK_NOTHROW(table.find(name)->set(value));
      }
    }
  });
  CHECK(settings == 5);
  CHECK(facts > 30);
}

TEST_CASE("parameters of DRAM queues, bypasses and re-basing that a variant does not have are unused") {
  std::string const queues =
      "gpu.dram.scheduler = \"address_space_aware\"\n[gpu.dram.address_space_aware]\noverflow = \"waits\"\n"
      "thresh_max = 9\nsilver = 8\nepoch = 7\ngolden = 6\npriority = \"channel\"\n";
  CHECK(unused(queues).empty());
  CHECK(
      unused(queues + "queues = 2\n") ==
      std::vector<std::string>{
          "gpu.dram.address_space_aware.silver (f:5; only with gpu.dram.address_space_aware.queues = 3)",
          "gpu.dram.address_space_aware.thresh_max (f:4; only with gpu.dram.address_space_aware.queues = 3)",
          "gpu.dram.address_space_aware.epoch (f:6; only with gpu.dram.address_space_aware.queues = 3)",
          "gpu.dram.address_space_aware.overflow (f:3; only with gpu.dram.address_space_aware.queues = 3)"});
  CHECK(unused(queues + "queues = 1\n").size() == 6);
  CHECK(unused("gpu.l2_cache.walk_reads = \"translation_aware_bypass\"\n"
               "[gpu.l2_cache.translation_aware_bypass]\nsampled = 1\nown_mshrs = 4\n") ==
        std::vector<std::string>{"gpu.l2_cache.translation_aware_bypass.own_mshrs (f:4; only with "
                                 "gpu.l2_cache.translation_aware_bypass.sampled above 1)"});
  CHECK(unused("gpu.l2_tlb.organization = \"compressed\"\n[gpu.l2_tlb.compressed]\nrebasing = \"none\"\n"
               "rebase_after = 8\n") ==
        std::vector<std::string>{
            "gpu.l2_tlb.compressed.rebase_after (f:4; only with gpu.l2_tlb.compressed.rebasing other than "
            "\"none\")"});
}

TEST_CASE("parameters of a missing L2 TLB or prefetcher are unused") {
  CHECK(unused("gpu.l2_tlb.entries = 0\ngpu.l2_tlb.ways = 8\ngpu.l2_tlb.latency = 2\n") ==
        std::vector<std::string>{"gpu.l2_tlb.ways (f:2; only with gpu.l2_tlb.entries above 0)"});
  std::string const batches =
      "memory.placement = \"cpu\"\nmemory.remote_touch = \"migrate\"\nmemory.fault_path = \"gpu\"\n"
      "driver.migrations = 1026\ndriver.batch.replay = \"page\"\ndriver.batch.prefetched_page_time = "
      "\"1us\"\n";
  CHECK(unused(batches).empty());
  CHECK(unused(batches + "driver.batch.prefetch = \"none\"\n") ==
        std::vector<std::string>{
            "driver.batch.prefetched_page_time (f:6; only with driver.batch.prefetch other than \"none\")"});
}

TEST_CASE("a frame allocation by large frames needs a size of large pages, or of base pages") {
  std::string const conserving = "memory.frame_allocation = \"contiguity_conserving\"\n";
  CHECK(refusal(conserving) == "accepted");
  CHECK(refusal(conserving + "memory.page_size = \"64KiB\"\n") == "accepted");
  CHECK(refusal(conserving + "memory.page_size = \"2MiB\"\n") == "accepted");
  CHECK(refusal(conserving + "memory.large_page_size = \"1GiB\"\n") == "accepted");
  CHECK(refusal(conserving + "memory.large_page_size = \"1MiB\"\n") ==
        "f:2: memory.large_page_size = 1MiB must be 1, 512 or 512 x 512 times memory.page_size, 4 KiB");
  CHECK(refusal(conserving + "gpu.dram.capacity = \"2MiB\"\n") ==
        "memory.large_page_size = 2 MiB must not exceed the space for data in gpu.dram.capacity, 1792 KiB");
  CHECK(refusal(conserving + "memory.remote_touch = \"migrate\"\n") == "accepted");
}

TEST_CASE("pages move within a memory only with a frame allocation that selects them, and without copies") {
  std::string const compaction = "memory.compaction = \"cac\"\n";
  std::string const conserving = "memory.frame_allocation = \"contiguity_conserving\"\n";
  CHECK(refusal(compaction + conserving) == "accepted");
  CHECK(refusal(compaction) ==
        "f:1: memory.compaction = cac empties large frames, but memory.frame_allocation = on_demand cannot "
        "select them");
  auto const duplicate = conserving + "memory.remote_touch = \"duplicate\"\nmemory.fault_path = \"gpu\"\n";
  CHECK(refusal(compaction + duplicate) ==
        "f:1: memory.compaction = cac: pages with copies cannot be moved within a memory, but "
        "memory.remote_touch = duplicate makes copies");
  CHECK(refusal("memory.page_sizes = \"migrating_coalescer\"\n" + duplicate)
            .find("memory.page_sizes = migrating_coalescer: pages with copies cannot be coalesced") !=
        std::string::npos);
  CHECK(refusal("memory.compaction = \"once\"\n") ==
        "f:1: memory.compaction: 'once' is not one of: cac, cac_bulk_copy, ideal, none");
  CHECK(refusal(compaction + conserving + "memory.compaction_threshold = 1.5\n") ==
        "f:3: memory.compaction_threshold: '1.5' is outside 0 to 1");
}

TEST_CASE("a violated rule on a policy's parameter is reported with the place of that parameter") {
  CHECK(refusal("gpu.l1_tlb.organization = \"by_page_size\"\ngpu.l1_tlb.by_page_size.large_ways = 3\n") ==
        "f:2: gpu.l1_tlb.by_page_size.large_ways = 3 must divide large_entries, 16");
  // The other parameter is in the file.
  CHECK(refusal("gpu.l1_tlb.organization = \"by_page_size\"\ngpu.l1_tlb.by_page_size.large_entries = 0\n")
            .starts_with("f:"));
}

TEST_CASE("a policy that counts requests at the IOMMU is refused if walks end in the GPUs") {
  auto const after = [](int requests) {
    return "memory.placement = \"cpu\"\nmemory.remote_touch = \"migrate\"\nmemory.migrate.after = " +
           std::to_string(requests) + "\n";
  };
  auto const base = after(3);
  auto const on_gpu = base + "memory.fault_path = \"gpu\"\n";
  CHECK(
      refusal(on_gpu) ==
      "f:2: memory.remote_touch = migrate: its parameters count translation requests at the IOMMU, but with "
      "memory.fault_path = gpu and gpu.router.policy = distributed walks of a GPU's own table send none; let "
      "it "
      "decide at the first request, use memory.fault_path = iommu, or use gpu.router.policy = centralized");
  CHECK(refusal(on_gpu + "gpu.router.policy = \"oracle\"\n") != "accepted");
  CHECK(refusal(on_gpu + "gpu.router.policy = \"centralized\"\n") == "accepted");
  CHECK(refusal(after(1) + "memory.fault_path = \"gpu\"\n") == "accepted");
  CHECK(refusal(base) == "accepted");
}

TEST_CASE("parameters of the IOMMU's walks have no effect if no GPU sends it a request") {
  std::string const walks = "iommu.walkers = 4\niommu.latency = 2\niommu.tlb_entries = 0\n";
  std::string const migrates = "memory.placement = \"cpu\"\nmemory.remote_touch = \"migrate\"\n";
  auto const on_gpu = migrates + "memory.fault_path = \"gpu\"\n" + walks;
  auto const why = std::string("only with ") + std::string(facts::kIommuRequests.text);
  CHECK(unused(on_gpu) == std::vector<std::string>{"iommu.walkers (f:4; " + why + ")",
                                                   "iommu.tlb_entries (f:6; " + why + ")",
                                                   "iommu.latency (f:5; " + why + ")"});
  CHECK(unused(on_gpu + "gpu.router.policy = \"oracle\"\n").empty());
  CHECK(unused(migrates + walks).empty());
  CHECK(unused(on_gpu + "iommu.clock = \"2GHz\"\n").size() == 3);
  // Without faults, the fault path has no effect, and walks continue at the IOMMU.
  CHECK(unused("memory.fault_path = \"gpu\"\n" + walks).size() == 1);
  // A parameter without effect violates no rule.
  CHECK(refusal(on_gpu + "iommu.tlb_ways = 3\n") == "accepted");
}

TEST_CASE("pages elsewhere are mapped remotely from the start only if no policy decides at their faults") {
  auto const of = [](std::string const& toml) {
    Config config(find_preset);
    config.read_text(toml, "f");
    MachineConfig machine;
    machine.bind(config);
    return std::pair{machine.gpus_end_walks(), machine.maps_remotely_at_start()};
  };
  std::string const touch = "memory.placement = \"first_touch\"\n", gpu = "memory.fault_path = \"gpu\"\n";
  CHECK(of(touch) == std::pair{false, false});
  CHECK(of(touch + gpu) == std::pair{true, true});
  CHECK(of(touch + gpu + "memory.remote_touch = \"migrate\"\n") == std::pair{true, false});
  CHECK(of("memory.placement = \"cpu\"\n" + gpu) == std::pair{false, false});
}

TEST_CASE("pages moved within a memory are faults meanwhile, with and without migration") {
  auto const of = [](std::string const& toml) {
    Config config(find_preset);
    config.read_text("memory.placement = \"contiguous\"\nmemory.fault_path = \"gpu\"\n" + toml, "f");
    MachineConfig machine;
    machine.bind(config);
    return std::pair{machine.faults(), machine.faults_recorded_by_gpus()};
  };
  auto const moving = 1U << static_cast<unsigned>(FaultKind::moving);
  CHECK(of("memory.page_sizes = \"base_only\"\n") == std::pair{0U, 0U});
  CHECK(of("memory.page_sizes = \"migrating_coalescer\"\n") == std::pair{moving, moving});
  CHECK(of("memory.compaction = \"cac\"\nmemory.frame_allocation = \"contiguity_conserving\"\n") ==
        std::pair{moving, moving});
}

TEST_CASE("pages evicted from a full GPU are faults meanwhile, with and without migration") {
  auto const of = [](std::string const& toml) {
    Config config(find_preset);
    config.read_text("memory.placement = \"first_touch\"\nmemory.fault_path = \"gpu\"\n" + toml, "f");
    MachineConfig machine;
    machine.bind(config);
    return machine.faults_recorded_by_gpus();
  };
  auto const bit = [](FaultKind kind) { return 1U << static_cast<unsigned>(kind); };
  CHECK(of("driver.batch.replay = \"each_fault\"\n") == bit(FaultKind::not_mapped));
  CHECK(of("driver.batch.replay = \"batch\"\n") == (bit(FaultKind::not_mapped) | bit(FaultKind::moving)));
}

TEST_CASE("fragmentation has a share of the large frames and an occupancy of each") {
  CHECK(refusal("memory.fragmentation_index = 1.1\n") ==
        "f:1: memory.fragmentation_index: '1.1' is outside 0 to 1");
  CHECK(refusal("memory.fragmentation_index = -0.1\n") ==
        "f:1: memory.fragmentation_index: '-0.1' is outside 0 to 1");
  CHECK(refusal("memory.fragmentation_index = 1\nmemory.fragmentation_occupancy = 2.0\n") ==
        "f:2: memory.fragmentation_occupancy: '2.0' is outside 0 to 1");
  CHECK(refusal("memory.fragmentation_index = 0.5\n") == "accepted");
  CHECK(refusal("memory.fragmentation_index = 0.5\nmemory.gpu_share = 0.5\n") ==
        "f:1: memory.fragmentation_index above 0 applies to all of gpu.dram.capacity, but memory.gpu_share "
        "below 1 uses only a part of it");
  CHECK(refusal("memory.fragmentation_index = 0.5\nmemory.large_page_size = \"1MiB\"\n") ==
        "f:2: memory.large_page_size = 1MiB must be 1, 512 or 512 x 512 times memory.page_size, 4 KiB");
  CHECK(refusal("memory.fragmentation_index = 0.5\nmemory.page_size = \"2MiB\"\n") ==
        "memory.large_page_size = 2 MiB must exceed memory.page_size if memory.fragmentation_index is above "
        "0");
  CHECK(unused("memory.fragmentation_occupancy = 0.5\n") ==
        std::vector<std::string>{
            "memory.fragmentation_occupancy (f:1; only with memory.fragmentation_index above 0)"});
  CHECK(unused("memory.moves_stall_gpu = false\nmemory.compaction_threshold = 0.5\n").size() == 2);
}

TEST_CASE("memory.large_page_size is used with large pages or large frames") {
  std::string const size = "memory.large_page_size = \"1GiB\"\n";
  CHECK(unused(size + "memory.frame_allocation = \"contiguity_conserving\"\n").empty());
  CHECK(unused(size + "memory.large_pages = \"all\"\n").empty());
  CHECK(unused(size) ==
        std::vector<std::string>{"memory.large_page_size (f:1; only with a memory.large_pages other than "
                                 "\"none\", a memory.page_sizes or memory.frame_allocation that uses large "
                                 "pages, or memory.fragmentation_index above 0)"});
}

TEST_CASE("token shares are 0 to 1; epochs, queues and the bypass cache are at least one") {
  for (std::string const key : {"gpu.l2_tlb.tokens.initial = 1.5", "gpu.l2_tlb.tokens.initial = -0.1",
                                "gpu.l2_tlb.tokens.step = 2.0", "gpu.l2_tlb.tokens.threshold = 1.01"}) {
    CAPTURE(key);
    auto const printed = refusal(key + "\n");
    CHECK(printed.find(key.substr(0, key.find(' '))) != std::string::npos);
    CHECK(printed.find("is outside 0 to 1") != std::string::npos);
  }
  for (std::string const key :
       {"gpu.l2_tlb.tokens.epoch", "gpu.l2_tlb.tokens.bypass_entries",
        "gpu.l2_cache.translation_aware_bypass.epoch", "gpu.l2_cache.translation_aware_bypass.sampled",
        "gpu.dram.address_space_aware.epoch", "gpu.dram.address_space_aware.golden",
        "gpu.dram.address_space_aware.silver", "gpu.dram.address_space_aware.normal",
        "gpu.dram.address_space_aware.queues"}) {
    CAPTURE(key);
    auto const printed = refusal(key + " = 0\n");
    CHECK(printed.find(key) != std::string::npos);
    CHECK(printed.find("'0' is outside 1 to ") != std::string::npos);
    CHECK(printed.find('\n') == std::string::npos);
  }
}

TEST_CASE("a depth beyond the levels of a page table is rejected") {
  auto const bypass = [](std::string const& depth, std::string const& page) {
    return refusal(
        "gpu.l2_cache.walk_reads = \"bypass_from_depth\"\ngpu.l2_cache.bypass_from_depth.depth = " + depth +
        "\nmemory.page_size = \"" + page + "\"\n");
  };
  CHECK(bypass("4", "4KiB") == "accepted");
  CHECK(bypass("4", "64KiB") == "accepted");
  CHECK(bypass("5", "4KiB") ==
        "f:2: gpu.l2_cache.bypass_from_depth.depth = 5 must be at most 4, the levels of a page table");
  CHECK(bypass("3", "2MiB") == "accepted");
  CHECK(bypass("4", "2MiB") ==
        "f:2: gpu.l2_cache.bypass_from_depth.depth = 4 must be at most 3, the levels of a page table");
}

TEST_CASE("without an instruction cache, its parameters are unused; one with a size needs whole sets") {
  CHECK(refusal("gpu.instruction_cache.size = \"32KiB\"\n") == "accepted");
  CHECK(refusal("gpu.instruction_cache.size = \"8100B\"\n") ==
        "f:1: gpu.instruction_cache.size = 8100B must be a multiple of line_bytes x ways x slices, 256 B");
  CHECK(refusal("gpu.instruction_cache.size = \"8KiB\"\ngpu.instruction_cache.instruction_bytes = 6\n")
            .find("gpu.instruction_cache.instruction_bytes = 6 must be a power of two") != std::string::npos);
  CHECK(refusal("gpu.instruction_cache.size = \"8KiB\"\ngpu.instruction_cache.code = \"100B\"\n") ==
        "f:2: gpu.instruction_cache.code = 100B must be a multiple of "
        "gpu.instruction_cache.instruction_bytes, 8");
  CHECK(unused("gpu.instruction_cache.code = \"1KiB\"\n").size() == 1);
  CHECK(unused("gpu.instruction_cache.code = \"1KiB\"\ngpu.instruction_cache.size = \"8KiB\"\n").empty());
}

TEST_CASE("an L2 TLB may have no entries, and a page-walk cache needs whole sets") {
  CHECK(refusal("gpu.l2_tlb.entries = 0\n") == "accepted");
  CHECK(refusal("gpu.l1_tlb.entries = 0\n").find("gpu.l1_tlb.entries") != std::string::npos);
  CHECK(refusal("gpu.page_walk_cache.size = \"8KiB\"\n") == "accepted");
  CHECK(refusal("gpu.page_walk_cache.size = \"8000B\"\n") ==
        "f:1: gpu.page_walk_cache.size = 8000B must be a multiple of line_bytes x ways x slices, 1 KiB");
  CHECK(unused("gpu.page_walk_cache.latency = 7\n").size() == 1);
  CHECK(unused("gpu.page_walk_cache.latency = 7\ngpu.page_walk_cache.size = \"8KiB\"\n").empty());
}

}  // namespace config_rules_test
