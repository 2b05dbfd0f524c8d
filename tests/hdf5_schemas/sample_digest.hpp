// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace farfault::results::sample {

// The digest of sample::write, for any version of the HDF5 library.
inline constexpr std::string_view kDigest = "f43fd7d5ea2c50b151eaaf7493daef6d";
// The same of the programs that wrote schema_version 2, with bins from 0, 1, 2 and 4.
inline constexpr std::string_view kDigestOfVersion2 = "0676709026119c4de4169c72d5bbaf2f";

}  // namespace farfault::results::sample
