// SPDX-License-Identifier: Apache-2.0
// Lists of parameters, workloads and statistics: `farfault params`, `farfault workloads` and `farfault
// statistics`.
//
// Guarantees: the lists are generated from the declarations of parameters, workloads and components, the
// only description of each.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "farfault/cli/parameter_sections.hpp"
#include "farfault/workloads/registry.hpp"

namespace farfault::cli {

// All parameters, or only the keys that begin with `section`; throws UserError if none matches.
void list_parameters(ParameterSections const& sections, std::string const& section, bool json,
                     std::ostream& out);

void list_workloads(std::vector<workloads::WorkloadInfo> const& workloads, bool json, std::ostream& out);

struct RunOptions;
// Every statistic and table column that a run of the configuration would record, by its path in the result.
void list_statistics(RunOptions const& options, bool json, std::ostream& out);

}  // namespace farfault::cli
