// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace farfault::results::sample {

// The digest of sample::write, for any version of the HDF5 library.
inline constexpr std::string_view kDigest = "b3cb41eefdb54c81e0f4f1051d5b4271";

}  // namespace farfault::results::sample
