// SPDX-License-Identifier: Apache-2.0
// `farfault watch`: progress of a run or sweep, redrawn from the files that it has written.
//
// Guarantees: files of the run are only read, in a child process under limits and without locks. An empty
// file "<result>.watch", removed at the end, makes the run flush its samples every second. Call it
// before any thread is started.
#pragma once

#include <iosfwd>
#include <string>

namespace farfault::cli {

struct WatchOptions {
  std::string path;  // of a result, its ".partial", or the folder of a sweep
  bool once = false;
  double every = 0;  // s between frames; 0: 1 on a terminal, else 60
};

// Returns 0 after the run or sweep has ended or a signal has been received. Throws UserError if the
// file to watch is missing.
int watch(WatchOptions const& options, std::ostream& out);

}  // namespace farfault::cli
