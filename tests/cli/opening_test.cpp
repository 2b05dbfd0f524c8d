// SPDX-License-Identifier: Apache-2.0
#include "run/opening.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "capture.hpp"
#include "model/model.hpp"

namespace opening_test {

using namespace farfault;
using namespace farfault::cli;

namespace {

std::string opening_with(std::vector<std::string> const& sets) {
  RunOptions options;
  options.config_path = "paper-gmmu-bypass";
  options.sets = {"workload.name=stream", "workload.stream.bytes=3MiB"};
  options.sets.insert(options.sets.end(), sets.begin(), sets.end());
  Model model(options);
  auto const machine = machine_line(model);
  model.build_workloads();
  return machine + workloads_line(model, 2, 1);
}

}  // namespace

TEST_CASE("the size of a run is known before its components are created, even for 20,000 GPUs") {
  CHECK(opening_with({}) ==
        "farfault: machine paper-gmmu-bypass: 4 GPUs of 36 SMs, 1 CPU\n"
        "farfault: stream: 1 kernel on 3.0 MiB; 2 ranks of 1 thread\n");
  CHECK(opening_with({"machine.topology=generic", "machine.generic.gpus=20000", "gpu.sms=1"}) ==
        "farfault: machine generic: 20000 GPUs of 1 SM, 1 CPU\n"
        "farfault: stream: 1 kernel on 3.0 MiB; 2 ranks of 1 thread\n");
}

TEST_CASE("a run prints its size to standard error, unless progress is off") {
  auto const output = (std::filesystem::path(FARFAULT_BINARY_DIR) / "opening_test.h5").string();
  auto const err = [&](std::string const& progress) {
    return farfault_program({"run", "paper-gmmu-bypass", "--set", "workload.name=stream", "--set",
                             "workload.stream.bytes=16KiB", "--output", output, "--threads", "1",
                             "--progress", progress})
        .err;
  };
  CHECK(err("on") ==
        "farfault: machine paper-gmmu-bypass: 4 GPUs of 36 SMs, 1 CPU\n"
        "farfault: stream: 1 kernel on 16.0 KiB; 1 rank of 1 thread\n");
  CHECK(err("off") == "");
}

}  // namespace opening_test
