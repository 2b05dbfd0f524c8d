// SPDX-License-Identifier: Apache-2.0
// Private: the outcome of a run, for scripts: the JSON object of --summary-json.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "farfault/engine/time.hpp"
#include "farfault/results/writer.hpp"

namespace farfault::cli {

struct RunOutcome {
  // "completed", "time_limit", "stopped", "deadlock"; "failed", with the reasons in `errors`; "running"
  // before the end.
  std::string end_reason = "running";
  int exit_code = 0;
  std::vector<std::string> errors;  // the sentences printed to standard error
  Time end_time{};
  std::string signal;      // the signal that stopped it, or empty
  std::string result;      // the result file; the unfinished one if the run did not complete
  std::string digest;      // empty if the result is unfinished
  std::string checkpoint;  // checkpoint to resume from, or empty
  double seconds = 0;      // wall-clock time of the simulation by this program only
  std::uint64_t events = 0;
  std::uint32_t ranks = 1;
  std::uint32_t threads = 1;  // of each rank
  std::uint32_t gpus = 0;
  std::vector<results::SummaryRow> summary;
};

// One line. Unknown values are null. Includes the summary figures of the machine and of applications.
std::string to_json(RunOutcome const& outcome);
// True if the file begins like an outcome.
bool looks_like_outcome(std::string const& path);

// Destination of the object: a file, standard output ("-"), or nowhere (""). A file is replaced, never
// half-written, except on a full disk, where the summary of a failed run overwrites the file in place. It is
// first written with end_reason "running", so a summary from an earlier run cannot pass for this one.
class OutcomeFile {
 public:
  OutcomeFile(std::string path, std::ostream& out) : path_(std::move(path)), out_(out) {}

  // Throws UserError if the file cannot be written. Before open(), write() does nothing. One of several ranks
  // `creates` the file; a rank that fails later writes it.
  void open(bool creates);
  // Throws RunError if the file cannot be written.
  void write(RunOutcome const& outcome);

 private:
  std::string path_;
  std::ostream& out_;
  bool open_ = false;
};

}  // namespace farfault::cli
