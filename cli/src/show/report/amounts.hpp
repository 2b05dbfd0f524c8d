// SPDX-License-Identifier: Apache-2.0
// Private: formatting of numbers for a page.
#pragma once

#include <cstdint>
#include <string>

namespace farfault::cli {

std::string share_text(double share);                             // "12.3%"
std::string time_text(double ps);                                 // "1.23 ms"
std::string amount_text(double value, std::string const& units);  // "3.21 MB", "950", "1.23 ms"

}  // namespace farfault::cli
