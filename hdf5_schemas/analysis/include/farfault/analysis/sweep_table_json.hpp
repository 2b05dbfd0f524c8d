// SPDX-License-Identifier: Apache-2.0
// The table of a sweep as JSON.
#pragma once

#include <iosfwd>

#include "farfault/results/sweep.hpp"

namespace farfault::analysis {

// One line, {"kind":"sweep_table","baseline":...,"mean_over":...,"runs":{"columns":[...],"rows":[...]}}, with
// "spread" and "means" if the table has them. A row is an object with its number ("run", "point", "group")
// and a value for each column; a missing number is null.
void print_json(results::SweepTable const& table, std::ostream& out);

}  // namespace farfault::analysis
