// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "farfault/results/reading/handle.hpp"

namespace farfault::results {

// The ValueHash of datasets by path: "/timeseries/sm/instructions".
using KnownHashes = std::map<std::string, std::array<std::uint64_t, 2>, std::less<>>;

// The digest of an open file. Throws Hdf5Failure if part of it is unreadable. The values of `known` datasets
// are not read: the writer has hashed them.
std::string digest_of(ObjectId file, KnownHashes const& known = {});

}  // namespace farfault::results
