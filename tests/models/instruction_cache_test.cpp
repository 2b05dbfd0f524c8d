// SPDX-License-Identifier: Apache-2.0
// The instruction cache on whole machines.
#include <doctest/doctest.h>

#include <string>

#include "data.hpp"
#include "farfault/compute/read_only_cache.hpp"
#include "run_model.hpp"

namespace instruction_cache_test {

using namespace farfault;
using test::application_on;
using test::each;
using test::ModelRun;
using test::OneMore;

namespace {

std::string machine(std::string const& more) {
  return "include = [\"paper-gmmu-bypass\"]\ngpu.sms = 4\ngpu.instruction_cache.size = \"32KiB\"\n" + more;
}
std::string vectoradd(std::string const& more) {
  return machine("workload.name = \"vectoradd\"\nworkload.vectoradd.elements = 65536\n" + more);
}
std::uint64_t requests(ModelRun& run) {
  return run.total("instruction_cache", "hits") + run.total("instruction_cache", "misses");
}
std::uint64_t translated(ModelRun& run) {
  return run.total("instruction_cache", "tlb_hits") + run.total("instruction_cache", "tlb_misses");
}

}  // namespace

TEST_CASE("instruction cache: warps request the lines of their instructions, each once") {
  ModelRun run(vectoradd("gpu.instruction_cache.lines_ahead = 1\n"));
  run.run();
  constexpr std::uint64_t kWarps = 65536 / 64;
  auto const instructions = run.total("sm", "instructions");
  REQUIRE(instructions % kWarps == 0);
  // 8 bytes each, and the end behind them, in lines of 64 bytes.
  CHECK(requests(run) == kWarps * (instructions / kWarps * 8 / 64 + 1));
  CHECK(translated(run) == requests(run));
  CHECK(run.total("instruction_cache", "remote_accesses") == 0);
  CHECK(run.total("instruction_cache", "faulted") == 0);
}

TEST_CASE("instruction cache: a warp requests lines ahead, up to the end of the code") {
  auto const lines = [](char const* ahead) {
    ModelRun run(
        vectoradd(std::string("gpu.instruction_cache.code = \"320B\"\ngpu.instruction_cache.lines_ahead = ") +
                  ahead + "\n"));
    run.run();
    return requests(run) * 64 / 65536;
  };
  CHECK(lines("1") == 4);
  CHECK(lines("2") == 5);
  CHECK(lines("3") == 5);
  CHECK(lines("32") == 5);
}

TEST_CASE(
    "instruction cache: a slower cache delays the first instruction; later lines arrive while a warp waits "
    "for its loads") {
  auto const time = [](int latency) {
    ModelRun run(
        machine("workload.name = \"pointer_chase\"\nworkload.pointer_chase.hops = 64\n"
                "machine.topology = \"single-gpu\"\ngpu.instruction_cache.lines_ahead = 1\n"
                "gpu.instruction_cache.code = \"64B\"\ngpu.instruction_cache.latency = " +
                std::to_string(latency) + "\n"));
    run.run();
    auto const& kernel = run.kernel(0);
    return std::pair{picoseconds(kernel.left_gpus - kernel.reached_gpus) / 1000, requests(run)};
  };
  auto const [fast, lines] = time(1);
  auto const [slow, again] = time(11);
  CHECK(lines == again);
  CHECK(lines > 8);
  CHECK(slow - fast == 10);
}

TEST_CASE("instruction cache: applications in two address spaces fetch their own code") {
  ModelRun run(vectoradd("gpu.instruction_cache.sms = 4\n"), application_on("one", 0, {}),
               {OneMore{"vectoradd", "elements = 65536", application_on("other", 1, {})}});
  run.run();
  ModelRun alone(vectoradd("gpu.instruction_cache.sms = 4\n"));
  alone.run();
  CHECK(requests(run) == 2 * requests(alone));
  CHECK(run.total("instruction_cache", "remote_accesses") == 0);
}

TEST_CASE("instruction cache: code is neither faulted nor moved by a driver that moves all data") {
  ModelRun run(
      vectoradd("memory.placement = \"cpu\"\nmemory.remote_touch = \"migrate\"\nmemory.fault_path = \"gpu\"\n"
                "driver.batch.replay = \"batch\"\ndriver.migrations = 2048\n"));
  run.run();
  CHECK(run.total("driver", "page_faults") > 0);
  CHECK(requests(run) > 0);
  CHECK(run.total("instruction_cache", "faulted") == 0);
  CHECK(run.total("instruction_cache", "remote_accesses") == 0);
}

TEST_CASE("instruction cache: warps of a trace fetch the lines at the offsets of their instructions") {
  auto const path = data_file("traces/accelsim-vectoradd-a100/kernelslist.g");
  if (!path) return;
  ModelRun run(
      "include = [\"gpu-a100\"]\ngpu.instruction_cache.size = \"128KiB\"\ngpu.instruction_cache.sms = 1\n"
      "gpu.instruction_cache.instruction_bytes = 16\nworkload.name = \"trace\"\nworkload.trace.file = \"" +
      *path + "\"\n");
  run.run();
  // 17 instructions of 16 bytes are three lines of 128 bytes; 196 blocks of eight warps.
  CHECK(requests(run) == std::uint64_t{196} * 8 * 3);
}

TEST_CASE("instruction cache: code that exceeds the memory reserved for it is a user's error") {
  CHECK_THROWS_WITH_AS(
      ModelRun(vectoradd("gpu.instruction_cache.code = \"1GiB\"\ngpu.dram.capacity = \"1GiB\"\n")),
      "gpu.instruction_cache.size above 0: the code of all kernels takes 1 GiB of a GPU's memory in pages of "
      "memory.page_size, but at most 65468 KiB, 1/16 of gpu.dram.capacity without arguments of kernels and "
      "contexts of thread blocks, is reserved for it; increase gpu.dram.capacity",
      UserError);
}

}  // namespace instruction_cache_test
