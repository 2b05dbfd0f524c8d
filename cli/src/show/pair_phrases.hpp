// SPDX-License-Identifier: Apache-2.0
// Private: phrases of the explanation of two results, for the terminal and for reports.
#pragma once

#include <cstdint>
#include <string>

#include "farfault/analysis/explain_pair.hpp"

namespace farfault::cli {

std::string signed_time(std::int64_t ps);                           // "+41.9 us"
std::string share_of_change(std::int64_t ps, std::int64_t change);  // "92.0%"; "-" if nothing changed
// "0.8 ns", "4.1 k", "23.6%"
std::string figure_text(double value, std::string const& unit);
// "page-walk queue, 0.8 ns to 583 ns per L2 TLB miss"
std::string cause_text(analysis::Cause const& cause);
// "gpu.gmmu.walkers: 64 in A, 2 in B"
std::string setting_text(analysis::PairSetting const& setting);
// The settings of a group: the first two, and the number of others.
std::string differing_text(analysis::PairExplanation const& e, std::vector<std::size_t> const& settings);

// One sentence: how much slower or faster B is, and the first causes with their shares of the change.
std::string verdict_of(analysis::PairExplanation const& e);

}  // namespace farfault::cli
