// SPDX-License-Identifier: Apache-2.0
// Units of the results as CF asks for them: names that UDUNITS knows.
#pragma once

#include <string>
#include <string_view>

namespace farfault::results {

// The unit that a statistic or a column was declared with, in UDUNITS' words. What is counted (hits, pages,
// cycles) has the unit 1; long_name says what is counted.
std::string udunits(std::string_view declared);

}  // namespace farfault::results
