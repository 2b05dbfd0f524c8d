// The memory side of whole machines: slices, channels, and what is refused.
#include <doctest/doctest.h>

#include <string>

#include "run_model.hpp"

using namespace farfault;
using test::ModelRun;

namespace {

// One GPU of four SMs that reads a megabyte and writes another.
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

TEST_CASE("with any number of channels the same lines come from DRAM, and all that is evicted goes there") {
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

TEST_CASE("without a number of channels there is one for each slice") {
  ModelRun m(copy("gpu.l2_cache.slices = 4\n"));
  CHECK(m.config().gpu_memory().channels == 4);
}

TEST_CASE("channels that do not fit the slices are refused with one sentence") {
  CHECK(mistake("gpu.dram.channels = 3\n").find("gpu.dram.channels = 3: must be a power of two") !=
        std::string::npos);
  CHECK(
      mistake("gpu.l2_cache.slices = 16\ngpu.dram.channels = 2\ngpu.dram.queue = 4\n")
          .find("gpu.dram.queue = 4: must have room for a request of each slice that shares a channel, 8") !=
      std::string::npos);
}
