// SPDX-License-Identifier: Apache-2.0
// Private: the tag of an SM's memory request. Its lower bits hold a number: the MSHR or, for a store, the
// warp's context.
#pragma once

#include <cstdint>

#include "farfault/protocols/applications.hpp"

namespace farfault {

inline constexpr unsigned kStreamBit = 16;      // from this bit on: the stream of the access
inline constexpr unsigned kGenerationBit = 30;  // the generation of the access, for its drain
inline constexpr std::uint32_t kStoreTag = 1U << 31;
inline constexpr std::uint32_t kNumberMask = (1U << kStreamBit) - 1;
static_assert(kMaxStreams <= 1U << (kGenerationBit - kStreamBit));

}  // namespace farfault
