// SPDX-License-Identifier: Apache-2.0
// Linked with an engine that orders simultaneous events by arrival (FARFAULT_BREAK_TIES). The determinism
// tests are worth something only if they detect it.
#include <doctest/doctest.h>

#include "tied_model.hpp"

using namespace farfault;

TEST_CASE("with ties broken by arrival, the digest depends on the placement") {
  auto const one = tied::digest(1, {}, 300);
  CHECK(tied::digest(2, {.threads = 1, .merge_lanes = false, .run_sparse_merged = false}, 300) != one);
  CHECK(tied::digest(8, {.threads = 1, .merge_lanes = false, .run_sparse_merged = false}, 300) != one);
}

TEST_CASE("with ties broken by arrival, one placement still reproduces its digest") {
  CHECK(tied::digest(1, {}, 300) == tied::digest(1, {}, 300));
}
