// SPDX-License-Identifier: Apache-2.0
// Private: messages about settings without effect.
#pragma once

#include <iosfwd>
#include <string>

#include "farfault/engine/config.hpp"

namespace farfault::cli {

// "it acts only with a machine with NICs; use X instead"
std::string reason_of(Config::Unused const& unused);
// One warning per setting; after 8, their number.
void warn_of_unused(Config const& config, std::ostream& err);

}  // namespace farfault::cli
