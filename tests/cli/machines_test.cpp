// SPDX-License-Identifier: Apache-2.0
// Machines accepted by the program.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "capture.hpp"

namespace machines_test {

TEST_CASE("the example machine of the handbook runs") {
  std::ifstream in(FARFAULT_SOURCE_DIR "/docs/guide/machines.md");
  std::string const page(std::istreambuf_iterator<char>(in), {});
  std::string const fence = "```toml\n";
  auto const begin = page.find(fence);
  REQUIRE(begin != std::string::npos);
  auto const end = page.find("```", begin + fence.size());
  REQUIRE(end != std::string::npos);

  auto const folder = std::filesystem::path(FARFAULT_BINARY_DIR) / "handbook_machine_test";
  std::filesystem::create_directories(folder);
  auto const machine = (folder / "pair.toml").string();
  std::ofstream(machine) << page.substr(begin + fence.size(), end - begin - fence.size());

  auto const r = farfault_program({"run", "paper-gmmu-bypass", "--set", "machine.topology=" + machine,
                                   "--set", "gpu.sms=2", "--set", "workload.name=vectoradd", "--set",
                                   "workload.vectoradd.elements=4096", "--threads", "1", "--progress", "off",
                                   "--output", (folder / "pair.h5").string()});
  CHECK(r.code == 0);
  CHECK(r.out.find("2 GPUs, 4 SMs\n") != std::string::npos);
}

TEST_CASE("a machine too large for the memory is rejected before the run, with the limit to raise") {
  auto const run = [](std::string const& limit) {
    return farfault_program({"run", "paper-gmmu-bypass", "--set", "machine.topology=generic", "--set",
                             "machine.generic.gpus=20000", "--set", "machine.generic.gpus_per_switch=20000",
                             "--set", "workload.name=vectoradd", "--set", limit});
  };
  auto const r = run("limits.model=16GiB");
  CHECK(r.code == 2);
  CHECK(r.out == "");
  CHECK(r.err.find("farfault: machine 'generic': simulating 20000 GPUs and 3 other nodes needs about ") !=
        std::string::npos);
  CHECK(r.err.find(
            "more than limits.model (now 16 GiB); --set limits.model=N raises it; use a machine or a batch "
            "job with more memory, or simulate fewer GPUs\n") != std::string::npos);
}

}  // namespace machines_test
