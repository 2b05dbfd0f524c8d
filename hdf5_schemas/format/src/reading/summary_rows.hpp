// SPDX-License-Identifier: Apache-2.0
// Transfers the figures of /summary from the reading child process.
#pragma once

#include <string>
#include <vector>

#include "farfault/results/reading/handle.hpp"
#include "farfault/results/reading/pack.hpp"
#include "farfault/results/schema.hpp"

namespace farfault::results {

// Appends the figures of /summary/<scope>. After the last scope, the caller ends the list with the number 0.
void pack_summary_of(ObjectId file, std::string const& scope, Pack& pack);
std::vector<SummaryRow> unpack_summary(Pack& pack);

}  // namespace farfault::results
