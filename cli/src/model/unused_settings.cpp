// SPDX-License-Identifier: Apache-2.0
#include "unused_settings.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <ostream>

#include "farfault/engine/error.hpp"

namespace farfault::cli {

std::string reason_of(Config::Unused const& unused) {
  return fmt::format("it acts only with {}{}", unused.only_with,
                     unused.instead.empty() ? "" : fmt::format("; use {} instead", unused.instead));
}

void warn_of_unused(Config const& config, std::ostream& err) {
  constexpr std::size_t kMax = 8;
  auto const all = config.unused();
  for (std::size_t i = 0; i < std::min(all.size(), kMax); ++i)
    fmt::print(err, "farfault: warning: {} ({}) has no effect: {}\n", all[i].key, one_line(all[i].place),
               reason_of(all[i]));
  if (all.size() > kMax)
    fmt::print(err, "farfault: warning: {} more settings have no effect\n", all.size() - kMax);
  err << std::flush;
}

}  // namespace farfault::cli
