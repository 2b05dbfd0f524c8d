// SPDX-License-Identifier: Apache-2.0
// Private: the number of cores of this process, and of other processes of the same run that share them.
#pragma once

#include <cstdint>

namespace farfault {

// The cores that this process may run on.
std::uint32_t cores_of_process();
// The ranks that the launcher started on this machine; 1 if unknown.
std::uint32_t ranks_on_host();
// The number of this rank among them.
std::uint32_t rank_on_host();

}  // namespace farfault
