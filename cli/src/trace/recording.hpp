// SPDX-License-Identifier: Apache-2.0
// Private: records the trace of a run.
//
// Nothing is observed before the window begins. From then on each rank observes its SMs and hosts until the
// accesses issued in the window have completed; the data of all ranks are collected at the end. Neither the
// result nor its digest depends on it.
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
#include "model/model.hpp"
#include "model/sampler.hpp"
#include "trace_file.hpp"

namespace farfault::cli {

// The trace file of a run whose result is `output`.
std::string trace_path(TraceOptions const& trace, std::string const& output);
// Its temporary name while it is written.
std::string writing_trace(std::string const& path);
// True if a file begins like a Farfault trace.
bool looks_like_trace(std::string const& path);

class Recording {
 public:
  // Throws UserError if a pattern matches no component, or if rank 0 cannot write the file. All
  // arguments except `path` must outlive the object.
  Recording(TraceOptions const& options, std::string path, Model& model, Engine& engine, Transport& transport,
            Sampler& sampler);
  ~Recording();
  Recording(Recording const&) = delete;
  Recording& operator=(Recording const&) = delete;

  // The time of the next pause of the run; Time::max(): none. All ranks agree.
  Time next() const { return next_; }
  // The run has paused at next(); all ranks call it alike.
  void reached();
  // The run has taken a sample.
  void sampled(Time at);

  // The run has ended, or will not continue here: all ranks call it alike. Rank 0 writes the file.
  void write(Time end);
  // A message for the user after write(), or empty.
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
  std::uint32_t sms_ = 0;  // observed SMs on all ranks
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
