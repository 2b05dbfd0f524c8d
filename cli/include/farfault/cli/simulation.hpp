// SPDX-License-Identifier: Apache-2.0
// `farfault run`: from a configuration to a result file.
//
// Guarantees: the result depends on the configuration, its input files and the seed, never on threads, ranks
// or partitions; an existing output is replaced only by a whole one, and no file that the run reads is
// overwritten. All ranks call run() alike; rank 0 writes the result, `out` and `err`,
// and progress goes to standard error. Returns the exit code, on rank 0; the others return 0. UserError and
// RunError are thrown on one rank only, so that there is one message.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "farfault/cli/extensions.hpp"
#include "farfault/cli/progress.hpp"
#include "farfault/cli/trace_options.hpp"
#include "farfault/engine/params.hpp"
#include "farfault/engine/time.hpp"
#include "farfault/topologies/assembly.hpp"

namespace farfault::cli {

// What the configuration says of the run itself.
struct RunParams {
  std::uint64_t seed = 1;
  Duration sample_interval = 10us;
  std::uint64_t sample_doubling = 1024;
  void describe(ParamTable& t);
};

// What the host does around a workload's kernels, of [workload] and of an application.
struct ProgramParams {
  bool copies = false;
  bool allocates = false;
  ByteSize small_buffers{};
  void describe(ParamTable& t);
};

struct WorkloadChoice {
  std::string name = "bfs";
  ProgramParams program;
  void describe(ParamTable& t);
};

// A parameter that a study sets (sweep.hpp), and the line of its file that a mistake names.
struct PlacedSetting {
  std::string key;
  std::string value;  // in TOML
  std::string file;
  int line = 0;  // 0: what the value holds is at its own lines of the file
};

struct RunOptions {
  std::string config_path;
  std::vector<PlacedSetting> study_settings;  // above the configuration, below `sets`
  std::vector<std::string> sets;
  std::vector<PlacedSetting> point_settings;  // above all others
  std::string output;
  std::string command_line;  // as the user could write it in a shell
  std::optional<std::uint32_t> threads;
  std::optional<Time> until;
  std::string checkpoint;                             // file to write; empty: none
  std::optional<Duration> checkpoint_every;           // simulated time
  std::optional<double> checkpoint_minutes;           // wall-clock time
  std::string resume;                                 // checkpoint to continue from
  std::optional<topologies::Granularity> partitions;  // none: as fit the threads
  std::string summary_json;           // file for how the run ended; "-": standard output; empty: none
  std::string profile;                // result of an earlier run, whose loads place devices on ranks
  bool critical_path = false;         // record it; runs on one thread
  bool bind_threads = false;          // to cores
  bool merge_lanes = true;            // off: one lane for each partition, even on one thread
  std::optional<TraceOptions> trace;  // of a stretch of simulated time
  ProgressMode progress = ProgressMode::automatic;
  Extensions extensions;
};

// Of "one", "device" or "split"; none of "auto"; throws UserError for anything else.
std::optional<topologies::Granularity> granularity(std::string_view word);
// Where nothing is asked for: split, where ranks of several threads have one GPU each. With more, whole ones
// gain more (bench/README.md).
topologies::Granularity granularity_for(RunOptions const& options, std::uint32_t gpus, std::uint32_t ranks,
                                        std::uint64_t threads_of_rank);

int run(RunOptions const& options, std::ostream& out, std::ostream& err);

}  // namespace farfault::cli
