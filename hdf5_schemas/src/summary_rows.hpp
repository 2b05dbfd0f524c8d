// SPDX-License-Identifier: Apache-2.0
// The figures of /summary on their way from the reading child process.
#pragma once

#include <string>
#include <vector>

#include "farfault/results/writer.hpp"
#include "handle.hpp"
#include "pack.hpp"

namespace farfault::results {

// Appends the figures of /summary/<scope>; whoever has put the last one ends them with a number 0.
void pack_summary_of(hid_t file, std::string const& scope, Pack& pack);
std::vector<SummaryRow> unpack_summary(Pack& pack);

}  // namespace farfault::results
