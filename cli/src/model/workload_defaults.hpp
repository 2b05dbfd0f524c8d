// SPDX-License-Identifier: Apache-2.0
// Private: the parameter `size` of [workload] and [[application]].
#pragma once

#include <string>

#include "farfault/engine/config.hpp"
#include "farfault/engine/params.hpp"
#include "farfault/workloads/registry.hpp"

namespace farfault::cli {

// Gives the parameters of a workload the defaults of a size; call before they are bound. `table`: the table
// with the parameter `size`, such as "workload". `parameters`: of the workload, below `section`. Reports to
// `config` a size that the workload does not have. A size whose parameters are all set elsewhere is listed as
// unused.
void set_defaults(Config& config, std::string const& table, std::string const& section,
                  workloads::WorkloadInfo const& workload, workloads::SizeName size,
                  ParamTable const& parameters);

}  // namespace farfault::cli
