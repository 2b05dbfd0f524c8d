// SPDX-License-Identifier: Apache-2.0
// The table of runs: a row per run of an application's program from its first operation to its last, with the
// counts of its kernels: a column per statistic of SmStats. A run cut off when all applications have ended
// has no row. The table exists if an application is relaunched.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "farfault/compute/sm.hpp"
#include "farfault/engine/probes.hpp"
#include "farfault/engine/table_rows.hpp"
#include "farfault/engine/time.hpp"

namespace farfault {

struct RunRecord {
  std::uint32_t application = 0;
  std::uint32_t run = 0;
  Time started{};
  Time finished{};
  std::uint64_t kernels = 0;
  SmStats counts{};  // of these kernels, on all their SMs
};

// The first column is the application, if rows name applications. fetches: SMs fetch instructions.
TableInfo runs_table(bool names_applications, bool fetches);
// `application`: its name; empty if rows name none.
std::vector<Cell> cells_of(RunRecord const& run, std::string const& application, bool fetches);

}  // namespace farfault
