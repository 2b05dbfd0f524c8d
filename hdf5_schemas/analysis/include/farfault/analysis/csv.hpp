// SPDX-License-Identifier: Apache-2.0
// A CSV cell on one line, quoted if it contains a comma or a quote. Text that a spreadsheet would evaluate as
// a formula (it begins with =, +, - or @ and is not a number) gets an apostrophe in front.
#pragma once

#include <string>

namespace farfault::analysis {

std::string csv_cell(std::string const& text);

}  // namespace farfault::analysis
