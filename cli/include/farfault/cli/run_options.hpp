// SPDX-License-Identifier: Apache-2.0
// Parameters and options of a run (simulation.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "farfault/cli/extensions.hpp"
#include "farfault/cli/progress.hpp"
#include "farfault/cli/trace_options.hpp"
#include "farfault/engine/params.hpp"
#include "farfault/engine/time.hpp"
#include "farfault/topologies/assembly.hpp"
#include "farfault/workloads/workload_size.hpp"

namespace farfault::cli {

// Parameters of the run itself.
struct RunParams {
  std::uint64_t seed = 1;
  Duration sample_interval = 50ns;
  std::uint64_t sample_doubling = 256;
  void describe(ParamTable& t);
};

// Actions of the host around a workload's kernels; used by [workload] and [[application]].
struct ProgramParams {
  bool copies = false;
  bool allocates = false;
  ByteSize small_buffers{};
  void describe(ParamTable& t);
};

struct WorkloadChoice {
  std::string name = "bfs";
  workloads::SizeName size = workloads::SizeName::defaults;
  ProgramParams program;
  void describe(ParamTable& t);
};

// A parameter that a study sets (sweep.hpp), with the line of the study's file for error messages.
struct PlacedSetting {
  std::string key;
  std::string value;  // in TOML
  std::string file;
  int line = 0;  // 0: errors inside the value have separate lines
};

// Completed share of the work of a run, 0 to 1. 0 if it is unknown.
struct RunShare {
  double before = 0;  // by the programs before the checkpoint of a resumed run
  double now = 0;
};

struct RunOptions {
  std::string config_path;
  std::vector<PlacedSetting> study_settings;  // override the configuration, not `sets`
  std::vector<std::string> sets;
  std::vector<PlacedSetting> point_settings;  // override all others
  std::string output;
  std::string command_line;  // in shell syntax
  std::optional<std::uint32_t> threads;
  std::optional<Time> until;
  std::string checkpoint;                             // file to write; empty: none
  std::optional<Duration> checkpoint_every;           // simulated time
  std::optional<double> checkpoint_minutes;           // wall-clock time
  std::string resume;                                 // checkpoint to continue from
  std::optional<topologies::Granularity> partitions;  // none: chosen by granularity_for()
  std::string summary_json;           // file for the outcome of the run; "-": standard output; empty: none
  std::string profile;                // result of an earlier run; its loads place devices on ranks
  bool critical_path = false;         // record it; runs on one thread
  bool bind_threads = false;          // to cores
  bool merge_lanes = true;            // off: one lane for each partition, even on one thread
  std::optional<TraceOptions> trace;  // of a stretch of simulated time
  ProgressMode progress = ProgressMode::automatic;
  std::function<void(RunShare)> report_share;  // called after each sample; may be empty
  Extensions extensions;
};

// Parses "one", "device" or "split"; none for "auto"; throws UserError for anything else.
std::optional<topologies::Granularity> granularity(std::string_view word);
// Default granularity: split if ranks with several threads have one GPU each. With more GPUs per rank, whole
// GPUs are faster (docs/developing/benchmarks.md).
topologies::Granularity granularity_for(RunOptions const& options, std::uint32_t gpus, std::uint32_t ranks,
                                        std::uint64_t threads_of_rank);

}  // namespace farfault::cli
