// SPDX-License-Identifier: Apache-2.0
// The memory side of whole machines: slices, channels, and refused settings.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "run_model.hpp"

namespace memory_test {

using namespace farfault;
using test::ModelRun;

namespace {

// One GPU of four SMs that reads 1 MiB and writes another.
std::string copy(std::string const& more) {
  return "machine.topology = \"single-gpu\"\nworkload.name = \"relu\"\n"
         "workload.relu.size = \"2MiB\"\ngpu.sms = 4\n" +
         more;
}

std::string mistake(std::string const& more) {
  try {
    ModelRun m(copy(more));
  } catch (UserError const& e) {
    return e.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("any number of channels reads the same lines from DRAM and writes all evicted lines") {
  auto const reads = ModelRun(copy("gpu.l2_cache.slices = 16\n")).run().total("dram", "reads");
  CHECK(reads > 1024 * 1024 / 64);
  for (std::uint32_t channels = 1; channels <= 64; channels *= 4) {
    CAPTURE(channels);
    ModelRun m(copy("gpu.l2_cache.slices = 16\ngpu.dram.channels = " + std::to_string(channels) + "\n"));
    CHECK(m.config().gpu_memory().channels == channels);
    m.run();
    CHECK(m.total("dram", "reads") == reads);
    CHECK(m.total("dram", "writes") == m.total("l2_slice", "writebacks"));
  }
}

TEST_CASE("any numbers of slices, partitions and channels that divide each other access the same lines") {
  for (std::uint32_t const channels : {3U, 6U, 12U})
    for (auto const* path : {"home_slice", "memory"}) {
      CAPTURE(channels);
      CAPTURE(path);
      ModelRun m(
          copy("gpu.l2_cache.slices = 6\ngpu.l2_cache.size = \"192KiB\"\ngpu.l2_cache.partitions = 2\n"
               "gpu.l2_cache.write_back_at_kernel_end = true\ngpu.l2_cache.miss_path = \"" +
               std::string(path) + "\"\ngpu.dram.channels = " + std::to_string(channels) + "\n"));
      m.run();
      CHECK(m.total("dram", "reads") >= 1024 * 1024 / 64);
      CHECK(m.total("dram", "writes") == 1024 * 1024 / 64);
    }
}

TEST_CASE("the default number of channels is one per slice") {
  ModelRun m(copy("gpu.l2_cache.slices = 4\n"));
  CHECK(m.config().gpu_memory().channels == 4);
}

namespace {

constexpr std::uint64_t kHalf = 1024 * 1024;

std::string chase(std::uint64_t stride, std::uint64_t elements, std::uint64_t hops, std::string const& more) {
  return "include = [\"paper-gmmu-bypass\"]\nmachine.topology = \"single-gpu\"\ngpu.l2_cache.interleave = "
         "\"256B\"\n"
         "workload.name = \"pointer_chase\"\nworkload.pointer_chase.stride = \"" +
         std::to_string(stride) + " B\"\nworkload.pointer_chase.elements = " + std::to_string(elements) +
         "\nworkload.pointer_chase.hops = " + std::to_string(hops) + "\n" + more;
}

std::int64_t nanoseconds_of(std::string const& toml) {
  return picoseconds(ModelRun(toml).run().kernel_time()) / 1000;
}

std::string partitions(std::uint32_t n, std::string const& path) {
  return "gpu.l2_cache.partitions = " + std::to_string(n) + "\ngpu.l2_cache.partition_latency = 70\n" +
         "gpu.l2_cache.miss_path = \"" + path + "\"\n";
}

}  // namespace

TEST_CASE("a cold line of another partition takes the path there and back, and its look-up or none") {
  // 64 blocks over 16 slices. The chasing warp is in the first of two partitions.
  auto const alike = nanoseconds_of(chase(256, 64, 64, ""));
  auto const home = nanoseconds_of(chase(256, 64, 64, partitions(2, "home_slice")));
  auto const memory = nanoseconds_of(chase(256, 64, 64, partitions(2, "memory")));
  topologies::MachineConfig const c;
  CHECK(home - alike == 32 * (2 * 70 + c.l2_cache.latency));
  // Plus the dispatcher's message to the slices at the end of the kernel, and their response.
  CHECK(memory - alike == 32 * 2 * 70 + 2 * c.gpu.crossbar_latency);
  auto const eight = nanoseconds_of(chase(256, 64, 64, partitions(8, "home_slice")));
  CHECK(eight - alike == 56 * (2 * 70 + c.l2_cache.latency));
}

TEST_CASE("an L2 miss that hits the memory-side cache takes both look-ups and the path") {
  std::string const cached =
      "gpu.l2_cache.size = \"32KiB\"\ngpu.memory_cache.size = \"1MiB\"\n"
      "gpu.memory_cache.latency = 120\n";
  auto const twice = nanoseconds_of(chase(64, 1024, 2048, cached));
  auto const thrice = nanoseconds_of(chase(64, 1024, 3072, cached));
  auto const c = ModelRun(chase(64, 1, 1, cached)).config();
  auto const l2 = 2 * c.gpu.crossbar_latency + c.l2_cache.latency;
  auto const hop = c.l1_tlb.latency + c.l1_cache.latency + l2 + (1 + 120 + 1) + 1;
  CHECK(thrice - twice == 1024 * hop);
  ModelRun m(chase(64, 1024, 3072, cached));
  m.run();
  CHECK(m.total("memory_cache_slice", "hits") >= 2048);
  CHECK(m.total("dram", "reads") == m.total("memory_cache_slice", "misses"));
}

TEST_CASE("with write-back at the end of a kernel, all its writes are in memory, and it takes longer") {
  ModelRun kept(copy(""));
  ModelRun written(copy("gpu.l2_cache.write_back_at_kernel_end = true\n"));
  kept.run();
  written.run();
  CHECK(kept.total("dram", "writes") < kHalf / 64);
  CHECK(written.total("dram", "writes") == kHalf / 64);
  CHECK(written.total("l2_slice", "kernel_end_writebacks") + written.total("l2_slice", "writebacks") ==
        kHalf / 64);
  CHECK(written.kernel_time() > kept.kernel_time());
}

TEST_CASE("with write-back at the end of a kernel, other GPUs' writes to a GPU's caches are in memory too") {
  // The first GPU's blocks end immediately; the second GPU writes into its memory.
  ModelRun m(
      "machine.topology = \"two-gpu\"\nmemory.placement = \"contiguous\"\nhost.block_order = \"contiguous\"\n"
      "gpu.sms = 4\ngpu.l2_cache.write_back_at_kernel_end = true\nworkload.name = \"exchange\"\n"
      "workload.exchange.pattern = \"pair\"\nworkload.exchange.parts = 2\nworkload.exchange.from = 1\n"
      "workload.exchange.to = 0\nworkload.exchange.access = \"write\"\nworkload.exchange.warm_up = false\n"
      "workload.exchange.bytes = \"256KiB\"\n");
  m.run();
  CHECK(m.total("rdma", "writes_received") == 128 * 1024 / 64);
  CHECK(m.total("dram", "writes") == 128 * 1024 / 64);
}

TEST_CASE("the channels of every preset share reads and writes evenly") {
  for (auto const* preset : {"gpu-v100", "gpu-a100", "gpu-h100", "gpu-mi100", "gpu-mi210", "gpu-mi300x"}) {
    CAPTURE(preset);
    ModelRun m("include = [\"" + std::string(preset) +
               "\"]\ngpu.sms = 16\nworkload.name = \"stream\"\nworkload.stream.bytes = \"4MiB\"\n"
               "workload.stream.write_fraction = 0.5\ngpu.l2_cache.write_back_at_kernel_end = true\n");
    m.run();
    std::uint64_t least = UINT64_MAX;
    std::uint64_t most = 0;
    std::uint32_t channels = 0;
    for (ComponentId id = 0; id < m.system().component_count(); ++id) {
      auto const* channel = dynamic_cast<DramChannel const*>(&m.system().component(id));
      if (channel == nullptr || channel->kind() != "dram") continue;
      ++channels;
      least = std::min(least, channel->state().stats.bytes);
      most = std::max(most, channel->state().stats.bytes);
    }
    CHECK(channels == m.config().gpu_memory().channels);
    auto const each =
        (4U << 20U) / channels / (m.config().memory_cache.present() ? 2 : 1);  // or without writes
    CHECK(least + 256 >= each);                                                // whole blocks
    CHECK(most <= each + each / 10 + 4096);  // page-table entries, instructions' constants
  }
}

TEST_CASE("eight MI300X, each with eight L2 caches to memory, give the same result on any partitions") {
  std::string const toml =
      "include = [\"mi300x-8\"]\ngpu.sms = 8\nmemory.page_size = \"4KiB\"\nworkload.name = \"transpose\"\n"
      "workload.transpose.width = 256\nworkload.transpose.height = 256\n";
  EngineOptions two;
  two.threads = 2;
  ModelRun one(toml, {}, topologies::Granularity::one);
  ModelRun split(toml, two, topologies::Granularity::split_gpu);
  one.run();
  split.run();
  CHECK(one.config().l2_cache.software_coherent());
  CHECK(one.total("l2_slice", "far_misses") > 0);
  CHECK(one.kernel(0).finished > Time{});
  CHECK(one.kernel(0).finished == split.kernel(0).finished);
  CHECK(one.total("l2_slice", "hits") == split.total("l2_slice", "hits"));
  CHECK(one.total("dram", "bytes") == split.total("dram", "bytes"));
}

TEST_CASE("any memory side completes without outstanding accesses, with the same result on any partitions") {
  std::uint64_t random = 7;
  auto const pick = [&](std::uint32_t n) {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::uint32_t>(random >> 33) % n;
  };
  for (int i = 0; i < 24; ++i) {
    auto const slices = 1U << pick(5);
    auto const partitioned = std::min(slices, 1U << pick(4));
    auto const channels = 1U << pick(5);
    std::string more =
        "gpu.l2_cache.slices = " + std::to_string(slices) +
        "\ngpu.dram.channels = " + std::to_string(channels) +
        "\ngpu.l2_cache.size = \"64KiB\"\ngpu.l2_cache.mshrs = " + std::to_string(1 + pick(4)) +
        "\ngpu.l2_cache.waiters = " + std::to_string(1 + pick(8)) +
        "\ngpu.dram.queue = " + std::to_string(16 + pick(48)) + "\n";
    if (partitioned > 1) more += partitions(partitioned, pick(2) == 0 ? "home_slice" : "memory");
    if (pick(2) == 0)
      more += "gpu.memory_cache.size = \"256KiB\"\ngpu.memory_cache.mshrs = 2\ngpu.memory_cache.queue = 16\n";
    if (pick(2) == 0) more += "gpu.l2_cache.write_back_at_kernel_end = true\n";
    if (pick(2) == 0) more += "gpu.dram.t_refi = \"1us\"\ngpu.dram.t_rfc = \"100ns\"\n";
    if (pick(2) == 0)
      more +=
          "gpu.dram.t_wtr = \"6ns\"\ngpu.dram.t_rtw = \"2ns\"\n"
          "gpu.dram.scheduler = \"frfcfs_batched\"\ngpu.dram.frfcfs_batched.write_high = 12\n";
    CAPTURE(more);
    auto const toml =
        "machine.topology = \"two-gpu\"\nworkload.name = \"transpose\"\n"
        "workload.transpose.width = 256\nworkload.transpose.height = 256\ngpu.sms = 5\n" +
        more;
    EngineOptions two;
    two.threads = 2;
    ModelRun one(toml, {}, topologies::Granularity::one);
    ModelRun split(toml, two, topologies::Granularity::split_gpu);
    one.run();
    split.run();
    CHECK(one.kernel(0).finished > Time{});
    CHECK(one.kernel(0).finished == split.kernel(0).finished);
    for (ComponentId id = 0; id < one.system().component_count(); ++id)
      CHECK(one.system().component(id).waiting_for() == "");
    // Every block that a slice read from memory passed through a channel, and none was lost.
    auto const behind = one.total("dram", "reads") + one.total("dram", "writes");
    CHECK(one.total("dram", "bytes") == 64 * behind);
    CHECK(behind == split.total("dram", "reads") + split.total("dram", "writes"));
  }
}

TEST_CASE("channels that do not match the slices are rejected in one sentence") {
  CHECK(mistake("gpu.dram.channels = 3\n")
            .find("gpu.dram.channels = 3 must be a divisor or a multiple of gpu.l2_cache.slices, 16") !=
        std::string::npos);
  CHECK(mistake("gpu.l2_cache.slices = 16\ngpu.dram.channels = 2\ngpu.dram.queue = 4\n")
            .find("gpu.dram.queue = 4 must hold one request per slice that shares a channel, 8") !=
        std::string::npos);
  CHECK(mistake("gpu.l2_cache.slices = 16\ngpu.dram.channels = 2\ngpu.dram.walk_queue = 4\n")
            .find("gpu.dram.walk_queue = 4 must be from 8 to 56: queue has 64 entries") != std::string::npos);
  CHECK(mistake("gpu.l2_cache.slices = 16\ngpu.dram.channels = 2\ngpu.dram.walk_queue = 60\n")
            .find("gpu.dram.walk_queue = 60 must be from 8 to 56: queue has 64 entries") !=
        std::string::npos);
  CHECK(mistake(
            "gpu.l2_cache.slices = 16\ngpu.dram.channels = 2\ngpu.dram.queue = 12\ngpu.dram.walk_queue = 6\n")
            .find("gpu.dram.queue = 12 must hold one request and one page-walk read per slice that shares a "
                  "channel, 16") != std::string::npos);
  CHECK(mistake("gpu.dram.walk_queue = 64\n").find("gpu.dram.walk_queue = 64 must be below queue, 64") !=
        std::string::npos);
  CHECK(
      mistake(
          "gpu.l2_cache.slices = 16\ngpu.l2_cache.interleave = \"1GiB\"\nmemory.large_page_size = \"1GiB\"\n")
          .find("gpu.l2_cache.interleave = 1GiB must not exceed gpu.dram.capacity / gpu.l2_cache.slices, ") !=
      std::string::npos);
  CHECK(mistake("gpu.l2_cache.slices = 4\ngpu.l2_cache.partitions = 8\n")
            .find("gpu.l2_cache.partitions = 8 must be a divisor of gpu.l2_cache.slices, 4") !=
        std::string::npos);
  CHECK(mistake("gpu.l2_cache.partitions = 3\n")
            .find("gpu.l2_cache.partitions = 3 must be a divisor of gpu.l2_cache.slices, 16") !=
        std::string::npos);
  CHECK(mistake("gpu.l2_cache.slices = 6\ngpu.dram.channels = 4\n")
            .find("gpu.dram.channels = 4 must be a divisor or a multiple of gpu.l2_cache.slices, 6") !=
        std::string::npos);
  CHECK(mistake("gpu.l2_cache.partitions = 2\ngpu.l2_cache.partition_latency = 0\n")
            .find("gpu.l2_cache.partition_latency = 0 must be at least 1 with gpu.l2_cache.miss_path = "
                  "home_slice") != std::string::npos);
  CHECK(mistake("gpu.memory_cache.size = \"1MiB\"\ngpu.memory_cache.ways = 3\n")
            .find("gpu.memory_cache.size") != std::string::npos);
  CHECK(mistake("gpu.memory_cache.size = \"1MiB\"\ngpu.memory_cache.queue = 1\ngpu.dram.channels = 8\n")
            .find("gpu.memory_cache.queue = 1 must hold one request") != std::string::npos);
}

TEST_CASE("impossible refreshes and write batches are rejected in one sentence") {
  CHECK(mistake("gpu.dram.t_refi = \"300ns\"\ngpu.dram.t_rfc = \"260ns\"\n")
            .find("gpu.dram.t_refi = 300ns must exceed the time of a refresh") != std::string::npos);
  std::string const batched = "gpu.dram.scheduler = \"frfcfs_batched\"\n";
  CHECK(mistake(batched + "gpu.dram.frfcfs_batched.write_high = 4\n")
            .find("gpu.dram.frfcfs_batched.write_high = 4 must be above write_low, 8") != std::string::npos);
  CHECK(mistake(batched + "gpu.dram.queue = 16\n")
            .find("gpu.dram.frfcfs_batched.write_high = 32 must be at most the DRAM's queue (gpu.dram.queue "
                  "or cpu.dram.queue), 16") != std::string::npos);
  CHECK(mistake(batched + "gpu.dram.frfcfs_batched.write_low = 40\n")
            .find("gpu.dram.frfcfs_batched.write_high = 32 must be above write_low, 40") !=
        std::string::npos);
  // Other schedulers do not use them.
  CHECK(mistake("gpu.dram.frfcfs_batched.write_high = 4\n") == "accepted");
}

TEST_CASE("walk reads counted by caches equal the walkers' reads, and copies equal the migrated lines") {
  ModelRun m(
      "include = [\"paper-gmmu-bypass\"]\nworkload.name = \"transpose\"\nworkload.transpose.width = 256\n"
      "workload.transpose.height = 256\ngpu.sms = 4\ngpu.l2_tlb.entries = 32\n"
      "memory.placement = \"interleave\"\nmemory.remote_touch = \"migrate\"\n");
  m.run();
  auto const read = m.total("gmmu", "page_table_reads") + m.total("iommu", "page_table_reads");
  CHECK(m.total("iommu", "page_table_reads") > 0);
  CHECK(m.total("gmmu", "page_table_reads") > 0);
  CHECK(m.total("l2_slice", "walk_reads") + m.total("llc_slice", "walk_reads") == read);
  auto const missed = read - m.total("l2_slice", "walk_hits") - m.total("llc_slice", "walk_hits");
  auto const from_memory = m.total("dram", "walk_reads") + m.total("cpu_dram", "walk_reads");
  CHECK(from_memory > 0);
  CHECK(from_memory <= missed);  // some miss while their line is outstanding
  // Each line is read in one memory and written in another.
  auto const lines = m.total("copy_engine", "lines_in") + m.total("copy_engine", "lines_out");
  CHECK(lines > 0);
  CHECK(m.total("l2_slice", "copy_requests") + m.total("llc_slice", "copy_requests") == 2 * lines);
  CHECK(m.total("dram", "copies") <= 2 * lines);
}

TEST_CASE("a CPU's memory has the channels, the refresh and the scheduler of a GPU's") {
  auto const run = [](std::string const& more) {
    return ModelRun(
               "machine.topology = \"single-gpu\"\nworkload.name = \"relu\"\n"
               "workload.relu.size = \"256KiB\"\ngpu.sms = 4\nmemory.placement = \"cpu\"\n" +
               more)
        .run()
        .total("cpu_dram", "reads");
  };
  auto const reads = run("");
  CHECK(reads >= 128 * 1024 / 64);
  for (auto const* channels : {"1", "2", "8"})
    CHECK(run("cpu.dram.channels = " + std::string(channels) + "\n") == reads);
  CHECK(run("cpu.dram.scheduler = \"fcfs\"\n") == reads);
  ModelRun m(
      "machine.topology = \"single-gpu\"\nworkload.name = \"relu\"\nworkload.relu.size = \"256KiB\"\n"
      "gpu.sms = 4\nmemory.placement = \"cpu\"\ncpu.dram.t_refi = \"1us\"\ncpu.dram.t_rfc = \"500ns\"\n");
  m.run();
  CHECK(m.total("cpu_dram", "refresh_stalls") > 0);
  CHECK(m.total("dram", "refresh_stalls") == 0);
}

}  // namespace memory_test
