// SPDX-License-Identifier: Apache-2.0
// Private: event density of MPI ranks, and the advice for a run whose ranks mostly wait for each other.
//
// Guarantees: passive; a run is judged only by counts of events and exchanges, never by wall-clock time. An
// exchange takes a few microseconds, more if ranks share cores: the time of some tens of events.
#pragma once

#include <cstdint>
#include <string>

namespace farfault::cli {

struct RankDensity {
  std::uint64_t ranks = 1;
  std::uint64_t events = 0;     // of all ranks
  std::uint64_t exchanges = 0;  // each rank's
  double waited = 0;            // share of the wall-clock time, mean of the ranks

  static constexpr std::uint64_t kCheckInterval =
      10'000;                                      // a run is judged each time after this number of exchanges
  static constexpr std::uint64_t kFewEvents = 32;  // per exchange

  double events_per_exchange() const;  // 0 without an exchange
  bool sparse() const;  // at least kCheckInterval exchanges, with fewer than kFewEvents events each
};

// "784844 exchanges of 3.2 events each, 97.0% of the time waiting"
std::string text_of(RankDensity const& d);
// The remedy for a sparse run: "one rank with threads is faster (no mpirun, --threads 2)".
// `threads`: of each rank.
std::string instead_of(RankDensity const& d, std::uint64_t threads);

}  // namespace farfault::cli
