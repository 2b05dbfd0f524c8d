// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "handle.hpp"

namespace farfault::results {

// The digest of an open file; throws Hdf5Failure when something in it cannot be read.
std::string digest_of(hid_t file);

}  // namespace farfault::results
