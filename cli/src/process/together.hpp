// SPDX-License-Identifier: Apache-2.0
// Private: steps that may fail on some ranks only.
#pragma once

#include <functional>

#include "farfault/engine/transport.hpp"

namespace farfault::cli {

// Either all ranks continue, or none. The first rank that failed rethrows, the others return false.
bool together(Transport& transport, std::function<void()> const& step);

}  // namespace farfault::cli
