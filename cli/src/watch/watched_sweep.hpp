// SPDX-License-Identifier: Apache-2.0
// Private: a sweep as its folder shows it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "watched_run.hpp"

namespace farfault::cli {

class WatchedSweep {
 public:
  explicit WatchedSweep(std::string folder);  // throws UserError where it is none of a sweep

  void update();
  // Of one of the runs under way.
  bool awaits_samples() const;
  bool has_ended() const { return known_ && under_way_.empty() && done_ + failed_.size() == runs_; }
  std::vector<std::string> lines(FrameForm const& form) const;
  // Of the results that are being written.
  std::vector<std::string> results() const;

 private:
  struct Failed {
    std::string text;   // which run
    std::string error;  // empty: read from its file
    std::string name;
  };

  std::string text_of(std::string const& name) const;

  std::string folder_;
  bool known_ = false;  // which runs there are to be
  std::size_t runs_ = 0, done_ = 0;
  std::map<std::string, std::string> texts_;                      // by name, what varies
  std::map<std::string, std::unique_ptr<WatchedRun>> under_way_;  // by name
  std::vector<Failed> failed_;
};

}  // namespace farfault::cli
