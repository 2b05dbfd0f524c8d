// SPDX-License-Identifier: Apache-2.0
#include "density.hpp"

#include <fmt/format.h>

namespace farfault::cli {

double RankDensity::events_per_exchange() const {
  return exchanges == 0 ? 0 : static_cast<double>(events) / static_cast<double>(exchanges);
}

bool RankDensity::sparse() const {
  return ranks > 1 && exchanges >= kCheckInterval && events / kFewEvents < exchanges;
}

std::string text_of(RankDensity const& d) {
  return fmt::format("{} exchanges of {:.1f} events each, {:.1f}% of the time waiting", d.exchanges,
                     d.events_per_exchange(), 100 * d.waited);
}

std::string instead_of(RankDensity const& d, std::uint64_t threads) {
  return fmt::format("one rank with threads is faster (no mpirun, --threads {})", d.ranks * threads);
}

}  // namespace farfault::cli
