// SPDX-License-Identifier: Apache-2.0
// Operations that were incomplete at the end of a run: kernels, copies and buffer operations of its hosts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "result_file.hpp"

namespace farfault::analysis {

struct OutstandingOperation {
  std::string operation;  // kernel, to_gpus, to_host, allocate, free
  std::string name;       // of a kernel
  std::string of;         // its application and machine, if the result has them
  std::uint64_t stream = 0;
  std::uint64_t started = 0;  // ps
  std::uint64_t reached = 0;  // ps; arrival at the GPUs or the driver, possibly after the end of the run

  // For users: "kernel fir of app0".
  std::string text() const;
};

// In the order of the table; empty if the result lacks the table.
std::vector<OutstandingOperation> read_outstanding(ObjectId file);

}  // namespace farfault::analysis
