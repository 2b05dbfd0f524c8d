// SPDX-License-Identifier: Apache-2.0
// Private: the state of the driver itself in a checkpoint (Checkpoint::run).
#pragma once

#include <cstdint>
#include <vector>

#include "farfault/engine/time.hpp"

namespace farfault::cli {

struct DriverState {
  Time next_sample{};
  std::uint64_t samples = 0;        // in the result
  std::vector<std::uint64_t> rows;  // in the result, per table
  std::uint64_t program = 0;        // program_hash() of the program that saved it
};

}  // namespace farfault::cli
