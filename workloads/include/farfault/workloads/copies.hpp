// SPDX-License-Identifier: Apache-2.0
// Host-device copies of a program (operation.hpp): the host's data is either on the GPUs from the start or
// copied there.
#pragma once

#include "farfault/protocols/workload.hpp"

namespace farfault::workloads {

// Removes the workload's copies: all data is where it is needed.
void exclude_copies(Workload& workload);

// Adds copies to a workload without any. Buffers that the host wrote are copied to the GPUs before the first
// kernel; all other buffers are copied back to the host after the last kernel. Without other buffers,
// all are copied back.
void add_copies(Workload& workload);

}  // namespace farfault::workloads
