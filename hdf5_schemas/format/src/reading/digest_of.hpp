// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "farfault/results/reading/handle.hpp"

namespace farfault::results {

// The digest of an open file. Throws Hdf5Failure if part of it is unreadable.
std::string digest_of(ObjectId file);

}  // namespace farfault::results
