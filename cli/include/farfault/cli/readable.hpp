// SPDX-License-Identifier: Apache-2.0
// Amounts and times as short texts for display; results hold exact values.
#pragma once

#include <string>

#include "farfault/engine/time.hpp"

namespace farfault::cli {

// "12.3 us", "4.56 s": three digits.
std::string for_people(Duration d);
// "3.21 M", "950".
std::string for_people(double amount);
// "1:05", "2:03:09".
std::string wall_time(double seconds);

}  // namespace farfault::cli
