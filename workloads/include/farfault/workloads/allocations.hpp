// SPDX-License-Identifier: Apache-2.0
// Memory of a program (operation.hpp): present for the whole run, or allocated at the program's start and
// freed at its end.
#pragma once

#include "farfault/protocols/workload.hpp"

namespace farfault::workloads {

// Adds operations to a workload without allocations: each buffer is allocated before all other operations and
// freed after them.
void add_allocations(Workload& workload);

}  // namespace farfault::workloads
