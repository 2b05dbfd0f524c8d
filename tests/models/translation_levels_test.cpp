// SPDX-License-Identifier: Apache-2.0
// GPUs whose L1 TLBs reach the GMMU through several levels of TLBs, with groups and banks.
#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "moving_pages.hpp"
#include "run_model.hpp"

namespace translation_levels_test {

using namespace farfault;
using namespace farfault::moving_pages;
using test::ModelRun;

namespace {

// A level with few entries; `more`: further keys.
std::string level(std::string const& name, std::string const& more) {
  return "[[gpu.translation.level]]\nname = \"" + name + "\"\nentries = 8\nways = 4\n" + more;
}
// The keys in front of the tables.
std::string model(std::string const& more, std::string const& levels) {
  return "include = [\"paper-gmmu-bypass\"]\nworkload.name = \"transpose\"\nworkload.transpose.width = 256\n"
         "workload.transpose.height = 512\ngpu.sms = 6\ngpu.l1_tlb.entries = 4\ngpu.l1_tlb.ways = 4\n" +
         more + levels;
}
// Three levels: a TLB for every two SMs, two banks for every three of these groups, four banks for the GPU.
std::string const kThree =
    level("utlb", "sms = 2\nmshrs = 3\n") +
    level("gpc_tlb", "groups = 1\nbanks = 2\ninterleave = \"8 KiB\"\nrequest_latency = 7\n") +
    level("l2_tlb", "banks = 4\nhash = \"ipoly\"\ninterleave = \"4 KiB\"\nports = 2\n");
// Banks that are reached by the SMs, and groups at the GMMU.
std::string const kBanksFirst =
    level("gpc_tlb", "sms = 3\nbanks = 3\nhash = \"xor\"\ninterleave = \"4 KiB\"\n") +
    level("xcd_tlb", "groups = 2\nbanks = 2\ninterleave = \"16 KiB\"\nmshrs = 2\n");

std::uint64_t looked_up(ModelRun& run, std::string const& kind) {
  return run.total(kind, "hits") + run.total(kind, "misses");
}

void check_moving(ModelRun& run) {
  Machine const machine(run.system());
  Violations found;
  // The step is not a multiple of a clock cycle, so that all phases are checked.
  for (Time t{}; run.engine().run_until(t) != RunState::drained; t += Duration{101'001}) {
    REQUIRE(t < Time{500ms});
    look(machine, run.config().memory.page_bits(), run.config().gpu.line_bytes, found);
  }
  CHECK(found.wrong_frames == 0);
  CHECK(found.void_entries == 0);
  CHECK(found.void_accesses == 0);
  CHECK(found.stale_lines == 0);
  check_tables(machine);
  CHECK(machine.driver->state().stats[0].migrations > 20);
  test::each<AnyComponent>(run.system(), [](AnyComponent const& c) {
    CAPTURE(c.path());
    CHECK(c.waiting_for().empty());
  });
}

}  // namespace

TEST_CASE("one level with the parameters of the L2 TLB gives the same times and counts") {
  std::string const same = "latency = 9\nmshrs = 5\nports = 2\nrequest_latency = 4\n";
  for (std::string const name : {"l2_tlb", "mid_tlb"})
    for (std::string const more :
         {"", "memory.remote_touch = \"migrate\"\nmemory.placement = \"interleave\"\n"}) {
      CAPTURE(name);
      ModelRun old(model(more + "gpu.l2_tlb.entries = 8\ngpu.l2_tlb.ways = 4\ngpu.l2_tlb.latency = 9\n"
                                "gpu.l2_tlb.mshrs = 5\ngpu.l2_tlb.ports = 2\n",
                         ""));
      ModelRun levels(model(more, level(name, same)));
      old.run();
      levels.run();
      CHECK(old.kernel(0).finished == levels.kernel(0).finished);
      CHECK(old.engine().state_digest() == levels.engine().state_digest());
      CHECK(looked_up(old, "l2_tlb") == looked_up(levels, name));
      CHECK(looked_up(old, "l2_tlb") > 1000);
    }
}

TEST_CASE("each level looks up the misses of the level below that are not merged") {
  for (auto const& levels : {kThree, kBanksFirst}) {
    ModelRun run(model("", levels));
    run.run();
    auto const requests = run.total("sm", "l1_tlb_misses");
    CHECK(requests > 1000);
    auto below = std::uint64_t{0};
    for (auto const& l : run.config().tlb_levels()) {
      CAPTURE(l.name);
      if (below != 0) CHECK(looked_up(run, l.name) == below);
      CHECK(run.total(l.name, "hits") > 0);
      below = run.total(l.name, "misses") - run.total(l.name, "merged_misses");
    }
    CHECK(run.total("gmmu", "requests") == below);
  }
}

TEST_CASE("translations of every page are the same through any levels") {
  ModelRun one(model("", ""));
  one.run();
  for (auto const& levels : {kThree, kBanksFirst}) {
    ModelRun run(model("", levels));
    run.run();
    for (auto const* stat : {"transactions", "stores", "blocks"})
      CHECK(run.total("sm", stat) == one.total("sm", stat));
    CHECK(run.total("l2_slice", "writes") == one.total("l2_slice", "writes"));
  }
}

TEST_CASE("during migrations no TLB of any level holds an invalid translation") {
  std::string const migrate = "memory.remote_touch = \"migrate\"\n";
  std::string const batches =
      "memory.placement = \"cpu\"\nmemory.fault_path = \"gpu\"\ndriver.batch.time = \"2us\"\n"
      "driver.batch.block_time = \"1us\"\ndriver.batch.replay = \"batch\"\nmemory.gpu_share = 0.5\n"
      "driver.batch.eviction_unit = \"64 KiB\"\ndriver.migrations = 48\n";
  for (auto const& levels : {kThree, kBanksFirst})
    for (std::string const& more :
         {std::string("memory.placement = \"interleave\"\n"), std::string("memory.placement = \"cpu\"\n"),
          std::string("memory.placement = \"interleave\"\nmemory.fault_path = \"gpu\"\n"
                      "gpu.gmmu.fault_buffer = 2\n"),
          std::string("memory.placement = \"interleave\"\ndriver.migrations = 1\nmemory.migrate.after = 2\n"),
          batches, batches + "gpu.gmmu.fault_buffer = 4\ngpu.gmmu.faults_per_utlb = 3\n"}) {
      CAPTURE(levels);
      CAPTURE(more);
      ModelRun run(model(migrate + more, levels));
      check_moving(run);
    }
}

TEST_CASE("large pages that move have one bank, which their blocks do not split") {
  for (std::string const sizes :
       {"memory.page_sizes = \"large_only\"\n", "memory.large_pages = \"input\"\n"}) {
    CAPTURE(sizes);
    ModelRun run(
        "machine.topology = \"generic\"\nmachine.generic.gpus = 2\ngpu.sms = 4\ngpu.l1_tlb.entries = 4\n"
        "gpu.l1_tlb.ways = 4\nmemory.page_size = \"64KiB\"\ngpu.dram.capacity = \"32MiB\"\n"
        "driver.migrations = 80\nworkload.name = \"transpose\"\nworkload.transpose.width = 1024\n"
        "workload.transpose.height = 1024\nmemory.remote_touch = \"migrate\"\n"
        "memory.placement = \"interleave\"\n" +
        sizes + level("utlb", "sms = 2\n") + level("l2_tlb", "banks = 4\nhash = \"xor\"\n"));
    Machine const machine(run.system());
    Violations found;
    for (Time t{}; run.engine().run_until(t) != RunState::drained; t += Duration{19'009'003}) {
      REQUIRE(t < Time{500ms});
      look(machine, 16, run.config().gpu.line_bytes, found);
    }
    CHECK(found.wrong_frames == 0);
    CHECK(found.void_entries == 0);
    check_tables(machine);
    CHECK(machine.driver->state().stats[0].migrations > 2);
  }
}

TEST_CASE("an invalidation of all translations reaches every bank of every level") {
  auto const all = "fill = \"tokens\"\ntokens.invalidation = \"all\"\ntokens.initial = 0.5\n";
  for (auto const& levels :
       {level("utlb", "sms = 2\n") +
            level("l2_tlb", std::string("banks = 4\ninterleave = \"4 KiB\"\n") + all),
        level("gpc_tlb", std::string("banks = 2\nsms = 3\n") + all) + level("l2_tlb", "banks = 2\n")}) {
    ModelRun run(model("memory.remote_touch = \"migrate\"\nmemory.placement = \"interleave\"\n", levels));
    check_moving(run);
  }
}

TEST_CASE("a run with levels of TLBs is the same on any partitions and threads") {
  for (auto const& levels : {kThree, kBanksFirst}) {
    auto const toml = model("memory.remote_touch = \"migrate\"\nmemory.placement = \"interleave\"\n", levels);
    EngineOptions two;
    two.threads = 2;
    ModelRun one(toml, {}, topologies::Granularity::one);
    ModelRun split(toml, two, topologies::Granularity::split_gpu);
    one.run();
    split.run();
    CHECK(one.engine().state_digest() == split.engine().state_digest());
  }
}

namespace {

// Random reads by 32 SMs that translate each one at the only level, which holds all pages.
struct Looked {
  std::uint64_t up = 0;
  Duration time{};
};
Looked random_reads(std::uint32_t banks, std::uint32_t ports, std::uint32_t accesses) {
  ModelRun run(
      "include = [\"paper-gmmu-bypass\"]\nmachine.topology = \"single-gpu\"\ngpu.sms = 32\n"
      "memory.placement = \"interleave\"\nworkload.name = \"random_access\"\n"
      "workload.random_access.size = \"64 MiB\"\nworkload.random_access.threads = 65536\n"
      "workload.random_access.updates = false\nworkload.random_access.accesses = " +
      std::to_string(accesses) +
      "\ngpu.l1_tlb.entries = 1\ngpu.l1_tlb.ways = 1\ngpu.l1_tlb.mshrs = 64\ngpu.l1_cache.mshrs = 256\n"
      "gpu.l2_cache.slices = 64\ngpu.l2_cache.size = \"8 MiB\"\ngpu.dram.channels = 64\n"
      "[[gpu.translation.level]]\nname = \"l2_tlb\"\norganization = \"ideal\"\ninterleave = \"4 KiB\"\n"
      "hash = \"ipoly\"\nbanks = " +
      std::to_string(banks) + "\nports = " + std::to_string(ports) + "\n");
  run.run();
  CHECK(run.total("l2_tlb", "misses") == 0);
  return {looked_up(run, "l2_tlb"), run.kernel_time()};
}

}  // namespace

TEST_CASE(
    "look-ups per second of a level are its ports times its banks times the clock, if it alone limits") {
  for (std::uint32_t const banks : {1U, 2U, 4U})
    for (std::uint32_t const ports : {1U, 2U}) {
      CAPTURE(banks);
      CAPTURE(ports);
      // The difference of two runs excludes the launch and the last accesses.
      auto const few = random_reads(banks, ports, 1), many = random_reads(banks, ports, 4);
      auto const cycles = static_cast<double>(picoseconds(many.time - few.time)) / 1000;
      auto const rate = static_cast<double>(many.up - few.up) / cycles;
      CAPTURE(rate);
      CHECK(rate <= 1.02 * banks * ports);
      CHECK(rate >= 0.98 * banks * ports);
    }
}

namespace {

// Page walks of fixed length, which alone limit random reads by 32 SMs in four groups.
struct Walked {
  std::uint64_t walks = 0;
  Duration time{};
};
Walked random_walks(std::string const& shared_by, std::uint32_t accesses) {
  ModelRun run(
      "include = [\"paper-gmmu-bypass\"]\nmachine.topology = \"single-gpu\"\ngpu.sms = 32\n"
      "memory.placement = \"interleave\"\nworkload.name = \"random_access\"\n"
      "workload.random_access.size = \"256 MiB\"\nworkload.random_access.threads = 8192\n"
      "workload.random_access.updates = false\nworkload.random_access.accesses = " +
      std::to_string(accesses) +
      "\ngpu.l1_tlb.entries = 1\ngpu.l1_tlb.ways = 1\ngpu.gmmu.pending = 4096\ngpu.gmmu.walkers = 2\n"
      "gpu.gmmu.walk_latency = 200\ngpu.gmmu.shared_by = \"" +
      shared_by + "\"\n" +
      level("l2_tlb", "groups = 4\nbanks = 2\nhash = \"ipoly\"\ninterleave = \"4 KiB\"\nmshrs = 512\n"));
  run.run();
  return {run.total("gmmu", "walks"), run.kernel_time()};
}

}  // namespace

TEST_CASE(
    "walks per second are the walkers of the GPU, of all groups or of all TLBs, divided by the time of a "
    "walk") {
  for (auto const* shared_by : {"gpu", "group", "tlb"}) {
    CAPTURE(shared_by);
    auto const few = random_walks(shared_by, 1), many = random_walks(shared_by, 3);
    auto const cycles = static_cast<double>(picoseconds(many.time - few.time)) / 1000;
    auto const rate = static_cast<double>(many.walks - few.walks) / cycles;
    auto const walkers = std::string(shared_by) == "gpu" ? 2 : std::string(shared_by) == "group" ? 8 : 16;
    auto const most = walkers / 200.0;
    CAPTURE(rate);
    CHECK(rate <= 1.02 * most);
    CHECK(rate >= 0.98 * most);
  }
}

TEST_CASE("during migrations, walkers of groups find no invalid translation, on any partitions") {
  auto const toml = model(
      "memory.remote_touch = \"migrate\"\nmemory.placement = \"interleave\"\n"
      "gpu.gmmu.shared_by = \"group\"\ngpu.gmmu.walkers = 3\n",
      kBanksFirst);
  ModelRun run(toml);
  check_moving(run);
  EngineOptions two;
  two.threads = 2;
  ModelRun split(toml, two, topologies::Granularity::split_gpu);
  split.run();
  CHECK(run.engine().state_digest() == split.engine().state_digest());
}

}  // namespace translation_levels_test
