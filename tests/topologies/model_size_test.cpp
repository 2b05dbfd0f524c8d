// SPDX-License-Identifier: Apache-2.0
// The size of a model is known before any part of it is built.
#include "farfault/topologies/model_size.hpp"

#include <doctest/doctest.h>

#include "farfault/engine/error.hpp"
#include "farfault/topologies/generators.hpp"
#include "farfault/topologies/load.hpp"

namespace model_size_test {

using namespace farfault;
using namespace farfault::topologies;

namespace {

std::string refusal(Machine const& machine, InputLimits const& limits) {
  try {
    check_model_size(machine, MachineConfig{}, limits);
  } catch (UserError const& error) {
    return error.what();
  }
  return "accepted";
}

std::uint64_t mib(ByteSize size) {
  return size.bytes >> 20U;
}

InputLimits model_of(std::uint64_t gib) {
  InputLimits limits;
  limits.model = ByteSize{gib << 30U};
  return limits;
}

}  // namespace

TEST_CASE("a machine that needs more memory than limits.model is rejected with its largest part") {
  // One CPU and one switch: the size of the GPUs, and the switch's links between each pair.
  auto const wide = generate_generic({.gpus = 15'000,
                                      .gpus_per_switch = 15'000,
                                      .nics_per_switch = 0,
                                      .fabric = GenericFabric::pcie,
                                      .nvlinks_per_pair = 1});
  auto const text = refusal(generate_generic({.gpus = 8000,
                                              .gpus_per_switch = 8000,
                                              .nics_per_switch = 0,
                                              .fabric = GenericFabric::pcie,
                                              .nvlinks_per_pair = 1}),
                            model_of(17));
  CHECK(text.find("machine 'generic': simulating 8000 GPUs and 3 other nodes needs about ") == 0);
  CHECK(text.find("more than limits.model (now 17 GiB); --set limits.model=N raises it; use a machine") !=
        std::string::npos);
  CHECK(text.find("(largest part, GPUs: ") != std::string::npos);
  MachineConfig tiny;
  tiny.gpu.sms = 1;
  tiny.l2_cache.slices = 1;
  CHECK_THROWS_WITH_AS(check_model_size(wide, tiny, model_of(17)),
                       doctest::Contains("(largest part, pairs of switch links: 30"), UserError);
  CHECK(refusal(wide, model_of(1024)) == "accepted");
}

TEST_CASE("the documented machines fit: 4 GPUs in 64 MiB each, 1,024 in 14 GiB") {
  CHECK(mib(model_size(load_machine("paper-gmmu-bypass"), {})) < 4 * 64);
  ClusterSpec cluster;
  cluster.machines = 128;
  CHECK(refusal(generate_cluster(load_machine("dgx-a100"), cluster), model_of(14)) == "accepted");
}

TEST_CASE("twice the machines behind switches of one radix take twice the memory, except for routes") {
  auto const size = [](std::uint32_t machines) {
    ClusterSpec cluster;
    cluster.machines = machines;
    cluster.radix = 8;
    return static_cast<double>(model_size(generate_cluster(load_machine("two-gpu"), cluster), {}).bytes);
  };
  CHECK(size(64) / size(32) == doctest::Approx(2.0).epsilon(0.05));
}

}  // namespace model_size_test
