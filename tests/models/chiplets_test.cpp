// SPDX-License-Identifier: Apache-2.0
// GPUs of several chiplets: partitions to whose slices SMs send requests, with data, page tables, TLB banks
// and blocks in chosen partitions. All latencies are those of closed forms.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "moving_pages.hpp"
#include "run_model.hpp"

namespace chiplets_test {

using namespace farfault;
using test::each;
using test::ModelRun;

namespace {

constexpr std::int64_t kHop = 300;  // cycles of 1 ns, each way

std::string chiplets(std::string const& more, std::string const& level = "", std::int64_t hop = kHop,
                     std::string const& block = "64 KiB", std::string const& placement = "interleave") {
  return "include = [\"paper-gmmu-bypass\"]\nmachine.topology = \"single-gpu\"\ngpu.sms = 8\n"
         "memory.placement = \"" +
         placement +
         "\"\n"
         "gpu.l2_cache.slices = 8\ngpu.l2_cache.partitions = 4\ngpu.l2_cache.miss_path = \"direct\"\n"
         "gpu.l2_cache.partition_block = \"" +
         block + "\"\ngpu.l2_cache.partition_latency = " + std::to_string(hop) +
         "\ngpu.dram.t_refi = \"0ns\"\n" + more + "[[gpu.translation.level]]\nname = \"l2_tlb\"\n" +
         (level.empty() ? "groups = 4\n" : level);
}
std::string const kSpread =
    "banks = 4\nhash = \"turns\"\ninterleave = \"2 MiB\"\nfar_latency = " + std::to_string(kHop) + "\n";

// Nanoseconds from the start of a kernel to its end on the GPU.
std::int64_t nanoseconds(ModelRun& run) {
  run.run();
  auto const& kernel = run.kernel(0);
  return picoseconds(kernel.left_gpus - kernel.reached_gpus) / 1000;
}

// One lane, on an SM of the first chiplet, follows pointers to all elements, in random order.
std::string chase(std::string const& stride, std::uint64_t elements, std::uint64_t hops) {
  return "workload.name = \"pointer_chase\"\nworkload.pointer_chase.stride = \"" + stride +
         "\"\nworkload.pointer_chase.elements = " + std::to_string(elements) +
         "\nworkload.pointer_chase.hops = " + std::to_string(hops) + "\n";
}

std::uint64_t on_partition(ModelRun& run, std::string const& workload_stat, std::uint32_t partition) {
  std::uint64_t sum = 0;
  each<L2Slice>(run.system(), [&](L2Slice const& slice) {
    if (slice.spec().kind == "l2_slice" && slice.spec().index / 2 == partition)
      sum += workload_stat == "walks" ? slice.state().by_requester[0].walk_reads
                                      : slice.state().by_requester[0].data_requests;
  });
  return sum;
}

}  // namespace

TEST_CASE("chiplets: of a chain through all chiplets, three of four hops take the latency twice") {
  // Warm hops: the elements are in the L2 cache and their translations in the TLBs, and L1 holds none of
  // them.
  auto const warm = [](std::int64_t hop) {
    auto const time = [&](std::uint64_t hops) {
      ModelRun run(
          chiplets("gpu.l1_cache.size = \"1 KiB\"\nmemory.page_size = \"2MiB\"\n" + chase("64 KiB", 64, hops),
                   "", hop));
      return nanoseconds(run);
    };
    return time(192) - time(128);
  };
  CHECK(warm(kHop) - warm(1) == 48 * 2 * (kHop - 1));
}

TEST_CASE("chiplets: a block of partition_block bytes has its slices and channels in one partition") {
  for (std::string const block : {"16 KiB", "64 KiB"}) {
    ModelRun run(chiplets(chase("64 B", 64, 64), "", kHop, block));
    auto const& sm = [&]() -> Sm const& {
      Sm const* first = nullptr;
      each<Sm>(run.system(), [&](Sm const& s) { first = first == nullptr ? &s : first; });
      return *first;
    }();
    auto const bytes = block == "16 KiB" ? 16384U : 65536U;
    auto const interleave = run.config().l2_cache.interleave.bytes;
    REQUIRE(interleave <= bytes / 4);
    for (std::uint64_t offset = 0; offset < 64 * 65536; offset += interleave) {
      auto const slice = sm.spec().memory.slice(offset);
      REQUIRE(slice / 2 == offset / bytes % 4);
      REQUIRE(slice % 2 == offset / interleave % 2);
    }
  }
}

TEST_CASE(
    "chiplets: data by_partition and blocks by_partition meet: no request for data leaves its chiplet") {
  constexpr std::uint64_t kElements = 262144;
  auto const far = [&](std::string const& more) {
    ModelRun run(chiplets(more +
                          "gpu.gmmu.walk_latency = 100\ngpu.scalar_cache.sms = 1\n"
                          "workload.name = \"vectoradd\"\nworkload.vectoradd.elements = " +
                          std::to_string(kElements) + "\n"));
    run.run();
    CHECK(run.total("l2_slice", "reads") + run.total("l2_slice", "writes") == 3 * kElements * 4 / 64 + 8);
    return run.total("l2_slice", "far_requests");
  };
  // Only the arguments are in one chiplet: the scalar caches of the six SMs of others read them.
  CHECK(far("memory.frame_allocation = \"by_partition\"\ngpu.blocks = \"by_partition\"\n") == 6);
  // By contrast, three of four lines.
  auto const any = static_cast<double>(far(""));
  CHECK(any == doctest::Approx(3 * kElements * 4 / 64 * 0.75).epsilon(0.1));
}

TEST_CASE("chiplets: page tables are read in the chosen partition") {
  auto const reads = [](std::string const& tables, std::string const& more = "") {
    ModelRun run(
        chiplets("memory.page_tables = \"" + tables +
                     "\"\ngpu.gmmu.walk_cache = 4096\ngpu.gmmu.shared_by = \"tlb\"\n"
                     "memory.frame_allocation = \"by_partition\"\n"
                     "workload.name = \"random_access\"\nworkload.random_access.size = \"32 MiB\"\n" +
                     more,
                 kSpread));
    run.run();
    std::vector<std::uint64_t> all;
    for (std::uint32_t p = 0; p < 4; ++p) all.push_back(on_partition(run, "walks", p));
    return all;
  };
  // 32 MiB are 16 last tables: 4 in each partition, by data (8 MiB each) and by bank (2 MiB in turns).
  for (std::string const tables : {"with_data", "with_tlb"}) {
    CAPTURE(tables);
    auto const all = reads(tables);
    auto const total = all[0] + all[1] + all[2] + all[3];
    REQUIRE(total > 1000);
    for (auto const n : all)
      CHECK(static_cast<double>(n) == doctest::Approx(static_cast<double>(total) / 4).epsilon(0.05));
  }
}

TEST_CASE("chiplets: with page tables by TLB bank, walkers read the last tables in their own chiplet") {
  auto const walk = [](std::string const& tables, std::int64_t hop) {
    ModelRun run(chiplets("memory.page_tables = \"" + tables +
                              "\"\ngpu.gmmu.shared_by = \"tlb\"\ngpu.gmmu.walk_cache = 4096\n" +
                              chase("2 MiB", 64, 64),
                          kSpread, hop));
    run.run();
    std::uint64_t ps = 0;
    each<Gmmu>(run.system(), [&](Gmmu const& g) { ps = g.state().walk_ps; });
    return ps / 1000;
  };
  auto const local = walk("with_tlb", kHop) - walk("with_tlb", 1);
  auto const remote = walk("in_order", kHop) - walk("in_order", 1);
  // The tables above the last ones are in one chiplet: 48 of 64 entries for last tables are read from there,
  // and three of the four walk caches read one entry of each of the two tables above.
  CHECK(local == (48 + 3 * 2) * 2 * (kHop - 1));
  // Last tables in turns of 16 over the chiplets, one after the other: three of four are not there.
  CHECK(remote == local + 48 * 2 * (kHop - 1));
}

TEST_CASE("chiplets: a TLB bank in another chiplet is far_latency further away, each way") {
  auto const time = [](std::int64_t hop) {
    ModelRun run(chiplets(
        "gpu.gmmu.walk_latency = 100\n" + chase("2 MiB", 64, 64),
        "banks = 4\nhash = \"turns\"\ninterleave = \"2 MiB\"\nfar_latency = " + std::to_string(hop) + "\n",
        1));
    return nanoseconds(run);
  };
  // One SM: 48 of its 64 misses go to banks of other chiplets; its arguments are at the end of memory.
  auto const further = time(kHop) - time(1);
  CHECK(further == 48 * 2 * (kHop - 1));
}

TEST_CASE("chiplets: during migrations no TLB holds an invalid translation, and frames are the driver's") {
  // Sizes that no number of partitions divides, from the CPU's memory.
  ModelRun run(chiplets(
      "memory.frame_allocation = \"by_partition\"\nmemory.page_tables = \"with_tlb\"\n"
      "gpu.blocks = \"by_partition\"\ngpu.gmmu.shared_by = \"tlb\"\nmemory.remote_touch = \"migrate\"\n"
      "gpu.l1_tlb.entries = 4\ngpu.l1_tlb.ways = 4\nworkload.name = \"vectoradd\"\n"
      "workload.vectoradd.elements = 20480\n",
      "entries = 8\nways = 4\n" + kSpread, kHop, "64 KiB", "cpu"));
  moving_pages::Machine const machine(run.system());
  moving_pages::Violations found;
  for (Time t{}; run.engine().run_until(t) != RunState::drained; t += Duration{101'001}) {
    REQUIRE(t < Time{500ms});
    look(machine, run.config().memory.page_bits(), run.config().gpu.line_bytes, found);
  }
  CHECK(found.wrong_frames == 0);
  CHECK(found.void_entries == 0);
  CHECK(found.void_accesses == 0);
  CHECK(found.stale_lines == 0);
  check_tables(machine);
  CHECK(machine.driver->state().stats[0].migrations == 3 * 20);
}

TEST_CASE("chiplets: by_partition is for a machine of one GPU") {
  try {
    ModelRun run(
        "include = [\"paper-gmmu-bypass\"]\nmachine.topology = \"two-gpu\"\n"
        "gpu.l2_cache.partitions = 4\ngpu.l2_cache.miss_path = \"direct\"\n"
        "gpu.l2_cache.partition_block = \"64 KiB\"\nmemory.frame_allocation = \"by_partition\"\n"
        "workload.name = \"vectoradd\"\nworkload.vectoradd.elements = 4096\n");
    FAIL("accepted");
  } catch (UserError const& e) {
    CHECK(std::string(e.what()) ==
          "memory.frame_allocation = by_partition: distributes whole buffers over the partitions of a single "
          "GPU, but 2 GPUs share the memory of the machine");
  }
}

TEST_CASE("chiplets: applications divide their blocks over the partitions in which they have SMs") {
  // Blocks of `a` run on SMs of two partitions, and those of `b` on one SM.
  std::string const machine = chiplets(
      "gpu.blocks = \"by_partition\"\nworkload.name = \"vectoradd\"\n"
      "workload.vectoradd.elements = 65536\n");
  ModelRun run(machine, test::application_on("a", 0, {0, 1, 2}),
               {{"vectoradd", "elements = 65536", test::application_on("b", 1, {7})}});
  run.run();
  std::vector<std::uint64_t> blocks;
  each<Sm>(run.system(), [&](Sm const& sm) {
    std::uint64_t sum = 0;
    for (std::uint32_t stream = 0; stream < 2; ++stream) sum += sm.state().stats[stream].blocks;
    blocks.push_back(sum);
  });
  auto const all = blocks[7];
  CHECK(blocks[0] + blocks[1] == all / 2);
  CHECK(blocks[2] == all / 2);
  CHECK(blocks[3] + blocks[4] + blocks[5] + blocks[6] == 0);
}

TEST_CASE("chiplets: unbalanced banks are balanced, and later kernels start with the level's distribution") {
  // All blocks read one array of 1 MiB, which one bank has.
  auto const one_bank = [](std::string const& balance) {
    return chiplets(
        "gpu.gmmu.shared_by = \"tlb\"\ngpu.l1_tlb.entries = 4\ngpu.l1_tlb.ways = 4\n"
        "workload.name = \"random_access\"\nworkload.random_access.size = \"1 MiB\"\n"
        "workload.random_access.threads = 4096\nworkload.random_access.accesses = 64\n",
        kSpread + balance);
  };
  auto const looked_up = [](ModelRun& run) {
    std::vector<std::uint64_t> all;
    each<L2Tlb>(run.system(), [&](L2Tlb const& tlb) {
      all.push_back(tlb.state().stats[0].hits + tlb.state().stats[0].misses);
    });
    return all;
  };
  ModelRun fixed(one_bank(""));
  fixed.run();
  auto const unbalanced = looked_up(fixed);
  ModelRun run(one_bank("balance = \"mgvm\"\nmgvm.requests = 1000\n"));
  run.run();
  auto const balanced = looked_up(run);
  CHECK(run.total("tlb_balancer", "switches") == 1);
  CHECK(run.total("tlb_balancer", "collections") >= 2);
  for (std::size_t bank = 1; bank < 4; ++bank) {
    CHECK(unbalanced[bank] < unbalanced[0] / 100);
    CHECK(balanced[bank] > balanced[0] / 2);
  }
  auto const requests = [&](ModelRun& of) { return of.total("sm", "transactions"); };
  CHECK(requests(run) == requests(fixed));
  CHECK(run.kernel(0).finished < fixed.kernel(0).finished);
}

}  // namespace chiplets_test
