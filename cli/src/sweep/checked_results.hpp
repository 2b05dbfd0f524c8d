// SPDX-License-Identifier: Apache-2.0
// Private: whether the results in the folder of a sweep hold what their runs wrote.
//
// A result that somebody has changed has another digest than it says. To compute that takes longer than all
// else that a sweep reads of a result, so `DIR/sweep.checked` has, of each result whose digest was right, its
// inode, size and times. Only one that differs in them is read again; the time of the last change of status
// (ctime) cannot be set, so that a change is seen whatever became of the others. Without the file each is
// read once. Neither the file's digest nor this resists forgery.
#pragma once

#include <map>
#include <string>

namespace farfault::cli {

class CheckedResults {
 public:
  explicit CheckedResults(std::string const& folder);

  // Whether the file holds what it held when its `digest` was computed. Throws UserError where it cannot be
  // read.
  bool is_unchanged(std::string const& name, std::string const& digest);
  // A run of this process has just written it.
  void made(std::string const& name);
  // For the next sweep. Where there is no room for it, that one reads more.
  void write() const;

 private:
  std::string stamp_of(std::string const& name) const;

  std::string folder_;
  std::map<std::string, std::string> stamps_;  // by name of the result
};

}  // namespace farfault::cli
