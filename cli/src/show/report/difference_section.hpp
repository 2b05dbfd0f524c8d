// SPDX-License-Identifier: Apache-2.0
// Private: the first section of a page of two results: why the second one takes more or less time.
#pragma once

#include <string>

namespace farfault::cli {

// One sentence if the results cannot be explained.
std::string difference_section(std::string const& a, std::string const& b);

}  // namespace farfault::cli
