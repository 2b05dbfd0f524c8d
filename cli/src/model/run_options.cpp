// SPDX-License-Identifier: Apache-2.0
#include "farfault/cli/run_options.hpp"

#include "farfault/engine/error.hpp"

namespace farfault::cli {

void RunParams::describe(ParamTable& t) {
  t.count("seed", seed, {0, ~std::uint64_t{0} >> 1}, "Random seed of generated data", "simulator setting");
  t.duration(
      "sample_interval", sample_interval, {1ns, 3600s},
      "Simulated time between samples of the statistics, at the start of the run. An explicit value is "
      "constant; the default doubles (run.sample_doubling)",
      "simulator setting");
  t.count("sample_doubling", sample_doubling, {0, 1'000'000'000},
          "Samples after which the interval doubles, which limits long runs to about 10,000 samples. Below "
          "10 us, the interval also doubles when samples exceed 5% of the event loop's work. 0: constant "
          "interval, the default with an explicit run.sample_interval",
          "simulator setting");
}

void WorkloadChoice::describe(ParamTable& t) {
  t.text("name", name, "Workload to run; its parameters are in the subtable of this name",
         "simulator setting");
  workloads::describe_size(t, size);
  program.describe(t);
}

std::optional<topologies::Granularity> granularity(std::string_view word) {
  if (word == "auto") return std::nullopt;
  if (word == "one") return topologies::Granularity::one;
  if (word == "device") return topologies::Granularity::device;
  if (word == "split") return topologies::Granularity::split_gpu;
  throw UserError("--partitions '" + std::string(word) + "' is not one of: auto, one, device, split");
}

topologies::Granularity granularity_for(RunOptions const& options, std::uint32_t gpus, std::uint32_t ranks,
                                        std::uint64_t threads_of_rank) {
  if (options.partitions) return *options.partitions;
  bool const split = gpus <= ranks && threads_of_rank > 1 && !options.critical_path;
  return split ? topologies::Granularity::split_gpu : topologies::Granularity::device;
}

}  // namespace farfault::cli
