// SPDX-License-Identifier: Apache-2.0
// Private: detects results in the folder of a sweep that changed after their runs.
//
// A modified result no longer matches its digest. Computing the digest takes longer than all other work of a
// sweep on a result, so `DIR/sweep.checked` records the inode, size and times of each result whose digest was
// verified. Only a result that differs from the record is read again; the time of the last status change
// (ctime) cannot be set, so a modification is always detected. Without the file, each result is read once.
// Neither the digest nor this record resists forgery.
#pragma once

#include <map>
#include <string>

namespace farfault::cli {

class CheckedResults {
 public:
  explicit CheckedResults(std::string const& folder);

  // True if the content of the file has this `digest`. Throws UserError if it cannot be
  // read.
  bool is_unchanged(std::string const& name, std::string const& digest);
  // Records a result that a run of this process has just written.
  void made(std::string const& name);
  // Saves the record for the next sweep. If the disk is full, the next sweep reads more results.
  void write() const;

 private:
  std::string stamp_of(std::string const& name) const;

  std::string folder_;
  std::map<std::string, std::string> stamps_;  // by name of the result
};

}  // namespace farfault::cli
