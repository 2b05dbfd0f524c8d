// SPDX-License-Identifier: Apache-2.0
// The copies in a program (operation.hpp): whether the host's data is on the GPUs from the start, or is
// copied there.
#pragma once

#include "farfault/protocols/workload.hpp"

namespace farfault::workloads {

// Leaves out the workload's copies: all data is where it is needed.
void leave_out_copies(Workload& workload);

// Adds copies to a workload that has none: of each buffer that the host wrote before the first kernel, and of
// each other back to the host after the last; of all buffers back where there is no other.
void add_copies(Workload& workload);

}  // namespace farfault::workloads
