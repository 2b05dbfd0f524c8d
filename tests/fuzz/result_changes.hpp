// SPDX-License-Identifier: Apache-2.0
// Changes of an HDF5 file in memory, as a list of bytes says.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness.hpp"

namespace farfault::fuzz {

std::vector<std::uint8_t> file_image(std::string const& path);

// `image` with the first 32 changes that `changes` describes, eight bytes each; changes that HDF5 refuses are
// passed over.
std::vector<std::uint8_t> changed_image(std::vector<std::uint8_t> image, Bytes changes);

}  // namespace farfault::fuzz
