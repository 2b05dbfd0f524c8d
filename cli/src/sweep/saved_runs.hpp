// SPDX-License-Identifier: Apache-2.0
// Private: runs of a sweep that stopped before their end, and continue from their checkpoints.
//
// - `DIR/runs/<name>.checkpoint` belongs to the unfinished result, `<name>.h5.partial`; both are kept until
// the
//   run completes. Files of these names belong to the sweep.
// - A checkpoint is used if it is complete, and the same configuration, input files and program saved it.
// Only
//   the run itself reads it as a whole, and detects damage then.
// - A file that cannot be opened does not count as damaged: the run reports it, and the file is kept.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "farfault/engine/time.hpp"

namespace farfault::cli {

struct SavedRun {
  std::optional<Time> at;  // simulated time of the checkpoint, if it can be read
  std::string why_not;     // why the run cannot continue from it; else empty
};

// A sentence for the table.
std::string text_of(SavedRun const& run);

class SavedRuns {
 public:
  // `program`: program_hash().
  SavedRuns(std::string folder, std::uint64_t program);

  // Looks for the checkpoint of run `name` now, and remembers what it found. Null: there is none, or another
  // process executes the run.
  SavedRun const* look_for(std::size_t run, std::string const& name);
  // As remembered; null: none.
  SavedRun const* find(std::size_t run) const;
  // True if the run has a checkpoint now.
  bool has(std::string const& name) const;
  // Removes the checkpoints of a run, and what a killed run left of them.
  void remove(std::size_t run, std::string const& name);
  // Names of all runs in the folder that have such files.
  std::set<std::string> names() const;

  std::size_t usable() const;
  std::size_t unusable() const { return saved_.size() - usable(); }

 private:
  std::string folder_;
  std::uint64_t program_;
  std::map<std::size_t, SavedRun> saved_;
};

}  // namespace farfault::cli
