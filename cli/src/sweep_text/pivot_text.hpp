// SPDX-License-Identifier: Apache-2.0
// Private: two dimensions of a sweep as tables for a terminal.
#pragma once

#include <iosfwd>

#include "farfault/analysis/sweep_pivot.hpp"

namespace farfault::cli {

// A cell: the value, with its range over several seeds; "-" is empty, and its reason follows the table. "no
// run": the study has no such run. Rows and columns without any run are omitted, and so are all beyond a
// limit.
void print_pivot(analysis::SweepPivot const& pivot, std::ostream& out);

}  // namespace farfault::cli
