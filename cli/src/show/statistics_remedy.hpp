// SPDX-License-Identifier: Apache-2.0
// Private: what a user of `farfault statistics` may have meant, as one sentence; empty if nothing is known.
#pragma once

#include <string>
#include <vector>

#include "farfault/cli/parameter_sections.hpp"

namespace farfault::cli {

// `operand`: given as the configuration, but neither a file nor a preset.
std::string not_a_configuration(std::string const& operand, ParameterSections const& sections);

// `words`, in lower case: of a search in statistics of `config` that found none.
std::string not_a_statistic(std::vector<std::string> const& words, std::string const& config,
                            ParameterSections const& sections);

}  // namespace farfault::cli
