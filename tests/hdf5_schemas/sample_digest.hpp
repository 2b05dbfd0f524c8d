// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace farfault::results::sample {

// The digest of sample::write, for any version of the HDF5 library.
inline constexpr std::string_view kDigest = "0676709026119c4de4169c72d5bbaf2f";

}  // namespace farfault::results::sample
