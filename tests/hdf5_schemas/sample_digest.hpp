// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace farfault::results::sample {

// The digest of sample::write, for any version of the HDF5 library.
inline constexpr std::string_view kDigest = "68cba770293ee61afc5db2353de779ba";
// The same of the programs that wrote schema_version 2, with bins from 0, 1, 2 and 4.
inline constexpr std::string_view kDigestOfVersion2 = "b3cb41eefdb54c81e0f4f1051d5b4271";

}  // namespace farfault::results::sample
