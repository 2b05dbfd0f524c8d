// SPDX-License-Identifier: Apache-2.0
// The settings without effect of a configuration, as texts.
#pragma once

#include <string>
#include <vector>

#include "farfault/engine/config.hpp"

namespace farfault::test {

// "key (file:line; only with X)", or "key (file:line; only with X; use Y)".
inline std::vector<std::string> unused_in(Config const& config) {
  std::vector<std::string> texts;
  for (auto const& u : config.unused())
    texts.push_back(u.key + " (" + u.place + "; only with " + u.only_with +
                    (u.instead.empty() ? ")" : "; use " + u.instead + ")"));
  return texts;
}

}  // namespace farfault::test
