// SPDX-License-Identifier: Apache-2.0
// Private: the state of the driver itself in a checkpoint (Checkpoint::run).
#pragma once

#include <cstdint>
#include <vector>

#include "sample_schedule.hpp"

namespace farfault::cli {

struct DriverState {
  SampleSchedule::State schedule;
  std::uint64_t events = 0;         // handled so far, on all ranks
  std::uint64_t samples = 0;        // in the result
  std::vector<std::uint64_t> rows;  // in the result, per table
  std::uint64_t program = 0;        // program_hash() of the program that saved it
};

}  // namespace farfault::cli
