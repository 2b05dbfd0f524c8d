// SPDX-License-Identifier: Apache-2.0
// The engine with a lookahead that is a quarter too long. Messages then arrive in a lane's past, and the
// engine must report an error instead of a result.
#include <doctest/doctest.h>

#include "death.hpp"
#include "lookahead.hpp"
#include "thread_ranks.hpp"
#include "uneven_model.hpp"

// This program's shortest_paths_to replaces the engine's and scales its result.
#define shortest_paths_to true_shortest_paths_to
#include "../../engine/src/lookahead.cpp"  // NOLINT(bugprone-suspicious-include)
#undef shortest_paths_to

namespace farfault {

std::vector<Duration> shortest_paths_to(std::vector<std::uint32_t> const& targets, std::uint32_t lanes,
                                        std::vector<LaneLink> const& links) {
  auto distances = true_shortest_paths_to(targets, lanes, links);
  for (auto& d : distances)
    if (d != Duration::max()) d = d * 5 / 4;
  return distances;
}

}  // namespace farfault

using namespace farfault;

namespace {

void check_refused(Death const& death) {
  CAPTURE(death.printed);
  CHECK(death.signal == SIGABRT);
  CHECK(death.printed.find("farfault: internal error: an event for station") == 0);
  CHECK(death.printed.find(": the lookahead is too long") != std::string::npos);
}

}  // namespace

TEST_CASE("mail in the past of a lane ends the run and names the component and the times") {
  for (std::uint32_t const partitions : {2U, 3U, 8U})
    for (std::uint32_t const threads : {1U, 2U}) {
      CAPTURE(partitions);
      CAPTURE(threads);
      check_refused(death_of([&] {
        uneven::digest(partitions, {.threads = threads, .merge_lanes = false, .run_sparse_merged = false},
                       Time{100us}, *make_single_transport());
      }));
    }
}

TEST_CASE("mail in the past of a rank ends the run, with merged lanes and with separate lanes") {
  for (std::uint32_t const partitions : {2U, 4U})
    for (bool const sparse : {false, true}) {
      CAPTURE(partitions);
      CAPTURE(sparse);
      check_refused(death_of([&] {
        run_on_ranks(2, [&](Transport& transport) {
          uneven::digest(partitions, {.threads = 1, .merge_lanes = false, .run_sparse_merged = sparse},
                         Time{100us}, transport);
        });
      }));
    }
}
