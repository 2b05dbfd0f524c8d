// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace farfault::results::sample {

// The digest of sample::write with any HDF5 library.
inline constexpr std::string_view kDigest = "8519fe9af9019d14137ba76da6e276d9";

}  // namespace farfault::results::sample
