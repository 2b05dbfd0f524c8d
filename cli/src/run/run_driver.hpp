// SPDX-License-Identifier: Apache-2.0
// Private: one run from its first event (or a checkpoint) to its result file.
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "agreement.hpp"
#include "density.hpp"
#include "farfault/cli/progress.hpp"
#include "farfault/engine/checkpoint.hpp"
#include "farfault/results/writer.hpp"
#include "flush_schedule.hpp"
#include "model/model.hpp"
#include "model/sampler.hpp"
#include "process/signals.hpp"
#include "run_outcome.hpp"
#include "sample_schedule.hpp"
#include "summary.hpp"
#include "tables.hpp"
#include "trace/recording.hpp"

namespace farfault::cli {

class RunDriver {
 public:
  RunDriver(RunOptions const& options, topologies::Granularity partitions, Transport& transport, Model& model,
            std::ostream& out, std::ostream& err);

  // Facts that must be equal on all ranks before execute(): the components, their placement, and the state to
  // resume.
  std::vector<Fact> const& facts() const { return facts_of_start_; }

  static std::uint32_t threads(RunOptions const& options);

  // The exit code; 0 if another rank has thrown.
  int execute();
  // The outcome of the run, on rank 0 after execute(); "running" on a rank without an outcome.
  RunOutcome const& outcome() const { return outcome_; }

 private:
  using WallClock = std::chrono::steady_clock;

  void open_result();
  void open_trace();
  void resume();
  bool simulate(std::string& reason);
  bool record(Time at, bool last);
  // Prints one warning if samples at a constant interval cost more than the simulation.
  void report_sampling_cost();
  // Handled since the start of the run, on all ranks. All ranks call it alike.
  std::uint64_t events_so_far();
  // Density of the ranks so far. All ranks call it alike.
  RankDensity density();
  // Prints one warning if the ranks mostly wait for each other.
  void report_sparse_ranks();
  // Finishes the trace. Returns, on rank 0, the reason if it could not be written: the run still writes its
  // result or checkpoint; a completed run then has exit code 1.
  std::string close_trace();
  void report_lost_trace(std::string const& why);
  bool checkpoint_due(Time at);
  // Writes a checkpoint at `at`; on rank 0, `failure` is the reason if it could not be written. Throws, or
  // returns false on the other ranks, if the result cannot be written: that ends the run.
  bool checkpoint(Time at, std::string& failure);
  std::string latest_checkpoint() const;
  int stop();
  int conclude(std::string reason);
  // Records the outcome of the run; returns `code`.
  int ended(std::string const& reason, int code, std::string const& error);
  std::vector<ApplicationSpan> application_spans();
  // Completed share of the planned thread blocks, at the last sample.
  double share_done() const;
  void report_progress();
  std::string stopping_signal();
  // The pending waits of all components, from all ranks.
  std::string waiting();
  std::vector<std::uint64_t> node_loads();
  RunFacts run_facts() const;
  std::string write_end(std::string const& reason, EngineProfile const& profile, std::uint64_t events);
  std::string path_text(PathProfile const& p) const;
  std::string result_file(std::string const& reason) const;
  void print_summary(std::string const& reason, std::string const& digest, std::uint64_t events);

  RunOptions const& options_;
  std::ostream& out_;
  std::ostream& err_;
  Transport& transport_;
  Model& model_;
  Placement placement_;
  std::vector<Fact> facts_of_start_;
  Engine engine_;
  StopSignals signals_;  // handles signals from here on, on all ranks, before any of them writes
  Sampler sampler_;
  Tables tables_;
  std::optional<Recording> trace_;
  Progress progress_;
  std::optional<results::ResultWriter> writer_;
  std::optional<FlushSchedule> flushes_;  // set if there is a writer
  std::optional<results::Position> resume_at_;
  std::vector<std::uint64_t> node_loads_;
  std::uint64_t blocks_ = 0;
  SampleSchedule schedule_;
  std::uint64_t samples_ = 0;        // taken by this program; a resumed run may have more
  std::uint64_t events_before_ = 0;  // before the checkpoint of a resumed run
  std::uint64_t samples_before_ = 0;
  bool cost_reported_ = false;
  bool sparse_reported_ = false;
  WallClock::time_point began_;
  RankDensity density_;  // at the end
  std::vector<ApplicationSpan> spans_;
  Time end_{};
  Time last_checkpoint_{};
  std::optional<Time> saved_;  // the time of the latest checkpoint
  WallClock::time_point last_checkpoint_wall_;
  double seconds_ = 0;
  std::uint64_t transactions_before_ = 0;  // before the checkpoint of a resumed run
  double done_before_ = 0;                 // share_done() there
  RunOutcome outcome_;
};

}  // namespace farfault::cli
