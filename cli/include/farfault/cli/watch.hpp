// SPDX-License-Identifier: Apache-2.0
// `farfault watch`: how far a run or a sweep is, drawn again and again from what it has written.
//
// Guarantees: files of the run are only read, in a child process under limits and without locks. An empty
// file "<result>.watch", which is gone in the end, asks the run to write its samples out every second. Call
// it before any thread is started.
#pragma once

#include <iosfwd>
#include <string>

namespace farfault::cli {

struct WatchOptions {
  std::string path;  // of a result, its ".partial", or the folder of a sweep
  bool once = false;
  double every = 0;  // s between frames; 0: 1 on a terminal, else 60
};

// Until the run or sweep has ended, or a signal ends it: the exit code is 0. Throws UserError where there is
// nothing to watch.
int watch(WatchOptions const& options, std::ostream& out);

}  // namespace farfault::cli
