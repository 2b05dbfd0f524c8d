// SPDX-License-Identifier: Apache-2.0
// Private: how many cores this process may use, and how many others of the same run share them.
#pragma once

#include <cstdint>

namespace farfault {

// The cores that this process may run on.
std::uint32_t cores_of_process();
// The ranks that the launcher started on this machine; 1 where it does not say.
std::uint32_t ranks_on_host();
// The number of this rank among them.
std::uint32_t rank_on_host();

}  // namespace farfault
