// SPDX-License-Identifier: Apache-2.0
// Private: how a run ended, for scripts: the JSON object of --summary-json.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "farfault/engine/time.hpp"
#include "farfault/results/writer.hpp"

namespace farfault::cli {

struct RunOutcome {
  // "completed", "time_limit", "stopped", "deadlock"; "failed", where `errors` say why; "running" before the
  // end.
  std::string end_reason = "running";
  int exit_code = 0;
  std::vector<std::string> errors;  // the sentences that went to standard error
  Time end_time{};
  std::string signal;      // that stopped it, or empty
  std::string result;      // the file; of a run that did not end as it should, the unfinished one
  std::string digest;      // empty where the result is not finished
  std::string checkpoint;  // that a stopped run can be resumed from, or empty
  double seconds = 0;      // wall-clock time of the simulation, by this program: not of what it resumed
  std::uint64_t events = 0;
  std::uint32_t ranks = 1;
  std::uint32_t threads = 1;  // of each rank
  std::uint32_t gpus = 0;
  std::vector<results::SummaryRow> summary;
};

// One line. What is not known, or not yet, is null. Of the summary, the figures of the machine and of
// applications.
std::string to_json(RunOutcome const& outcome);
// Whether the file begins as one does.
bool looks_like_outcome(std::string const& path);

// Where the object goes: a file, standard output ("-"), or nowhere (""). A file is replaced, never
// half-written, except on a full disk, where the summary of a failed run overwrites the file in place. It is
// first written with end_reason "running", so a summary from an earlier run cannot pass for this one.
class OutcomeFile {
 public:
  OutcomeFile(std::string path, std::ostream& out) : path_(std::move(path)), out_(out) {}

  // Throws UserError where the file cannot be written. Before, write() does nothing. Of several ranks one
  // `creates` the file; whichever fails later writes it.
  void open(bool creates);
  // Throws RunError where it cannot.
  void write(RunOutcome const& outcome);

 private:
  std::string path_;
  std::ostream& out_;
  bool open_ = false;
};

}  // namespace farfault::cli
