// SPDX-License-Identifier: Apache-2.0
// The functions of format/ that read an open file, under their own names.
#pragma once

#include "farfault/results/reading/handle.hpp"

namespace farfault::analysis {

using namespace results;

}  // namespace farfault::analysis
