// SPDX-License-Identifier: Apache-2.0
// Private: a sweep, read from its folder.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "watched_run.hpp"

namespace farfault::cli {

class WatchedSweep {
 public:
  explicit WatchedSweep(std::string folder);  // throws UserError if it is not the folder of a sweep

  void update();
  // True for any of the active runs.
  bool awaits_samples() const;
  bool has_ended() const { return known_ && running_.empty() && done_ + failed_.size() == runs_; }
  std::vector<std::string> lines(FrameForm const& form) const;
  // The results that are being written.
  std::vector<std::string> results() const;

 private:
  struct Failed {
    std::string text;   // identifies the run
    std::string error;  // empty: read from its file
    std::string name;
  };

  std::string text_of(std::string const& name) const;

  std::string folder_;
  bool known_ = false;  // the list of runs is known
  std::size_t runs_ = 0, done_ = 0;
  std::size_t saved_ = 0;                                       // stopped, with a checkpoint
  std::map<std::string, std::string> texts_;                    // by name, the varied settings
  std::map<std::string, std::unique_ptr<WatchedRun>> running_;  // by name
  std::vector<Failed> failed_;
};

}  // namespace farfault::cli
