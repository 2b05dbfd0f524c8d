// SPDX-License-Identifier: Apache-2.0
// The memory of a program (operation.hpp): there from the start of the run to its end, or allocated when the
// program starts and freed when it ends.
#pragma once

#include "farfault/protocols/workload.hpp"

namespace farfault::workloads {

// Adds operations to a workload that allocates nothing itself: each buffer is allocated before all else, and
// freed after it.
void add_allocations(Workload& workload);

}  // namespace farfault::workloads
