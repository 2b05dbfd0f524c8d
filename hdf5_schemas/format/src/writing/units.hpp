// SPDX-License-Identifier: Apache-2.0
// CF units of the results: names in UDUNITS.
#pragma once

#include <string>
#include <string_view>

namespace farfault::results {

// The UDUNITS name of a declared unit. Counts (hits, pages, cycles) have the unit 1; long_name names what is
// counted.
std::string udunits(std::string_view declared);

}  // namespace farfault::results
