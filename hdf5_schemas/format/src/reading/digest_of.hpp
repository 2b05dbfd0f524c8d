// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "farfault/results/reading/handle.hpp"
#include "farfault/results/reading/walk.hpp"

namespace farfault::results {

// A dataset of numbers, as the digest needs it. Its attributes are texts, except the ones of dimension
// scales.
struct KnownDataset {
  Kind kind = Kind::unsigned_integer;
  std::vector<std::uint64_t> extents;
  std::map<std::string, std::string> attributes;  // well-formed texts
  std::array<std::uint64_t, 2> values{};          // their ValueHash
};
// By path: "/timeseries/sm/instructions".
using KnownDatasets = std::map<std::string, KnownDataset, std::less<>>;

// The digest of an open file. Throws Hdf5Failure if part of it is unreadable. `known` datasets are not read:
// a writer passes what it has written, and reading several hundred datasets would take longer than writing
// them.
std::string digest_of(ObjectId file, KnownDatasets const& known = {});

}  // namespace farfault::results
