// SPDX-License-Identifier: Apache-2.0
// Private: the use of a run's time, from the tables of its hosts: kernels on the GPUs, and gaps without a
// kernel by the activity of the hosts.
//
// - Exact: the times of all kernels, all gaps and `unrecorded` add up to the end of the run.
// - Kernels that run at the same time share that time equally.
// - Limits: kMaxKernelNames; kernels of further names count as one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "result_file.hpp"
#include "time_parts.hpp"

namespace farfault::analysis {

// Activities in a gap, by priority: simultaneous activities count as the first one. The last one is time
// without any of the others.
inline constexpr std::size_t kCopies = 0, kAllocations = 1, kLaunches = 2, kOtherWork = 3;
inline constexpr std::array<Named, 4> kHostActivities{{{"copies", "copies between host and GPUs"},
                                                       {"allocations", "allocations and releases"},
                                                       {"launches", "launch and completion latency"},
                                                       {"else", "no operation, or other host work"}}};

// Gaps before the first kernel, between two kernels, and after the last one.
inline constexpr std::array<Named, 3> kGapPlaces{
    {{"start", "before the first kernel"}, {"between", "between kernels"}, {"end", "after the last kernel"}}};

inline constexpr std::size_t kMaxKernelNames = 100'000;

// The kernels of one name.
struct KernelUse {
  std::string name;              // "bfs_level1"; with several applications or machines, prefixed by theirs
  std::uint64_t launches = 0;    // completed
  std::uint64_t incomplete = 0;  // on the GPUs, or on their way, at the end of a stopped run
  std::uint64_t on_gpus = 0;     // ps
  std::uint64_t shared = 0;      // the part of on_gpus in which other kernels also ran
};

struct HostTimeline {
  std::vector<KernelUse> kernels;                           // in the order of the table
  std::vector<std::size_t> kernel_of_row;                   // of /tables/kernels: index in `kernels`
  std::array<std::array<std::uint64_t, 4>, 3> gaps{};       // ps, by place and activity
  std::uint64_t unrecorded = 0;                             // ps after the last operation that is known
  std::uint64_t launches = 0, copies = 0, allocations = 0;  // operations, incomplete ones included
  bool recorded = false;                                    // any operation with a known time
};

// nullopt if the result does not have the times at which kernels were on the GPUs. `completed`: false for a
// stopped run.
std::optional<HostTimeline> read_timeline(ObjectId file, std::uint64_t end, bool completed);

// The kernels of the rows of another table with the columns that name a kernel: indices in line.kernels.
// Empty if a row has an unknown kernel.
std::vector<std::size_t> kernels_of_rows(ObjectId file, std::string const& table, HostTimeline const& line,
                                         std::uint64_t rows);

// By row of /tables/kernels.
std::vector<std::string> kernel_names(ObjectId file, std::uint64_t rows);

}  // namespace farfault::analysis
