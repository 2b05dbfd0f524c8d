// SPDX-License-Identifier: Apache-2.0
// Trains: consecutive lines in one message take the same time as separate lines.
#include <doctest/doctest.h>

#include <string>

#include "run_model.hpp"

namespace train_test {

using namespace farfault;
using test::ModelRun;

namespace {

struct Counts {
  Duration time{};
  std::uint64_t l2_reads = 0;
  std::uint64_t dram_reads = 0;
  std::uint64_t dram_bytes = 0;
  std::uint64_t wire_bytes = 0;
  std::uint64_t remote = 0;
  std::uint64_t events = 0;
};

Counts counts(std::string const& toml, std::uint32_t train) {
  ModelRun m(toml + "memory.train = " + std::to_string(train) + "\n");
  m.run();
  return {.time = m.kernel_time(),
          .l2_reads = m.total("l2_slice", "reads"),
          .dram_reads = m.total("dram", "reads"),
          .dram_bytes = m.total("dram", "bytes"),
          .wire_bytes = m.total("rdma", "bytes"),
          .remote = m.total("rdma", "reads_sent"),
          .events = m.engine().profile().events};
}

// A single warp with one read of 16 bytes in each of `lanes` lanes.
std::string one_warp(std::string const& more) {
  return "include = [\"paper-gmmu-bypass\"]\nmachine.topology = \"two-gpu\"\nworkload.name = \"stream\"\n"
         "workload.stream.bytes = \"1KiB\"\nworkload.stream.bytes_per_lane = 16\n"
         "workload.stream.accesses_per_thread = 1\nworkload.stream.block = 64\ngpu.sms = 2\n" +
         more;
}

}  // namespace

TEST_CASE("trains: a kernel of one warp takes the same time as with separate lines, and fewer events") {
  std::string more;
  SUBCASE("in its own GPU's memory") {
    more = "memory.placement = \"contiguous\"\n";
  }
  SUBCASE("in the CPU's memory") {
    more = "memory.placement = \"cpu\"\n";
  }
  auto const alone = counts(one_warp(more), 1);
  for (auto const train : {2U, 3U, 4U, 16U}) {
    CAPTURE(train);
    auto const together = counts(one_warp(more), train);
    CHECK(together.time == alone.time);
    CHECK(together.l2_reads == alone.l2_reads);
    CHECK(together.dram_bytes == alone.dram_bytes);
    CHECK(together.wire_bytes == alone.wire_bytes);
    CHECK(together.remote == alone.remote);
    CHECK(together.events < alone.events);
  }
}

}  // namespace train_test
