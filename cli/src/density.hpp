// SPDX-License-Identifier: Apache-2.0
// Private: how densely MPI ranks work, and what to say of a run in which they mostly wait for each other.
//
// Guarantees: passive; whether a run is sparse follows from counts of events and exchanges alone, never from
// wall-clock time. An exchange takes ranks a few microseconds, and more where they share cores: time for some
// tens of events.
#pragma once

#include <cstdint>
#include <string>

namespace farfault::cli {

struct RankDensity {
  std::uint64_t ranks = 1;
  std::uint64_t events = 0;     // of all ranks
  std::uint64_t exchanges = 0;  // each rank's
  double waited = 0;            // share of the wall-clock time, on average of the ranks

  static constexpr std::uint64_t kLook = 10'000;   // exchanges after which a run is judged, again and again
  static constexpr std::uint64_t kFewEvents = 32;  // per exchange

  double events_per_exchange() const;  // 0 without an exchange
  bool sparse() const;                 // after kLook exchanges or more, of fewer than kFewEvents events
};

// "784844 exchanges of 3.2 events each, 97.0 % of the time waiting"
std::string text_of(RankDensity const& d);
// The remedy for a sparse run: "one rank with threads is faster (no mpirun, --threads 2)".
// `threads`: of each rank.
std::string instead_of(RankDensity const& d, std::uint64_t threads);

}  // namespace farfault::cli
