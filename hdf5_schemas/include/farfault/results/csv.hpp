// SPDX-License-Identifier: Apache-2.0
// A cell of a CSV: one line, in quotes where it has a comma or a quote. A text that a spreadsheet would take
// for a formula, one that begins with =, +, - or @ and is no number, has an apostrophe before it.
#pragma once

#include <string>

namespace farfault::results {

std::string csv_cell(std::string const& text);

}  // namespace farfault::results
