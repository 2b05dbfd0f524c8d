// SPDX-License-Identifier: Apache-2.0
// Private: the contribution of figures of the machine to the change of the end.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "pairs/pair_model.hpp"

namespace farfault::analysis {

// In ps, by metric of the summary: "sm_time_in_links". Figures view the same change in different ways, so
// their contributions overlap. A figure without an entry has no known contribution.
std::map<std::string, std::int64_t> end_contributions(PairModel const& pair);

}  // namespace farfault::analysis
