// SPDX-License-Identifier: Apache-2.0
// Private: the trace of a run, while it runs.
//
// Nothing is observed before the window begins. From then on each rank looks at its SMs and hosts, until the
// accesses that were issued in the window have ended; what all ranks have seen is brought together at the
// end. Neither the result nor its digest knows of it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "farfault/cli/trace_options.hpp"
#include "farfault/compute/access_watch.hpp"
#include "farfault/compute/kernel_watch.hpp"
#include "farfault/engine/engine.hpp"
#include "farfault/engine/files.hpp"
#include "model.hpp"
#include "sampler.hpp"
#include "trace_file.hpp"

namespace farfault::cli {

// The file of the trace of a run whose result is `output`.
std::string trace_path(TraceOptions const& trace, std::string const& output);
// What it is called while it is written.
std::string writing_trace(std::string const& path);
// Whether a file begins as a trace of ours does.
bool looks_like_trace(std::string const& path);

class Recording {
 public:
  // Throws UserError where a pattern names no component, or rank 0 cannot write the file. The first two of
  // these outlive it.
  Recording(TraceOptions const& options, std::string path, Model& model, Engine& engine, Transport& transport,
            Sampler& sampler);
  ~Recording();
  Recording(Recording const&) = delete;
  Recording& operator=(Recording const&) = delete;

  // When the run is to pause for it next; Time::max(): no more. All ranks agree.
  Time next() const { return next_; }
  // It has; all ranks call it alike.
  void reached();
  // The run has taken a sample.
  void sampled(Time at);

  // The run has ended, or will not go on here: all ranks call it alike. Rank 0 writes the file.
  void write(Time end);
  // What the user is to know of it then, or nothing.
  std::string const& remark() const { return remark_; }
  std::string const& path() const { return path_; }

 private:
  void find_components();
  void begin();
  void end_observation();

  TraceOptions const& options_;
  std::string const path_;
  Model& model_;
  Engine& engine_;
  Transport& transport_;
  Sampler& sampler_;
  std::vector<bool> shown_;  // by component
  FileHandle file_;
  std::vector<std::unique_ptr<AccessWatch>> accesses_;
  std::vector<std::unique_ptr<KernelWatch>> kernels_;
  std::uint32_t sms_ = 0;  // that are watched, on all ranks
  Time next_;
  Duration pause_{};
  bool begun_ = false;

  // On rank 0: the statistics of the components that are shown.
  struct Counter {
    std::size_t group;
    std::size_t stat;
    std::size_t instance;
    CounterTrack track;
  };
  void find_counters();
  std::vector<Counter> counters_;
  std::string remark_;
};

}  // namespace farfault::cli
