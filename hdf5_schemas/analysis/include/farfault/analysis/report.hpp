// SPDX-License-Identifier: Apache-2.0
// Data of a report page, from a result of any size: a bounded amount of JSON. Layout:
// docs/developing/result-library.md.
//
// - Guarantees and errors: as in reader.hpp; any file may be given. The text is ASCII.
// - Limits: ReportSize. Names are cut at 80 bytes; with more GPUs than rows, the rows are the mean, minimum
//   and maximum, and the busiest GPUs.
#pragma once

#include <cstddef>
#include <string>

namespace farfault::analysis {

struct ReportSize {
  std::size_t points = 400;           // intervals of time
  std::size_t gpus = 8;               // rows per series
  std::size_t gpu_stacks = 32;        // GPUs with totals
  std::size_t kernels = 600;          // also fault batches
  std::size_t devices = 128;          // rows of the traffic matrix
  std::size_t links = 20'000;         // directions with utilization over time
  std::size_t gpu_bytes = 1'600'000;  // approximate size of the activity of all GPUs
  std::size_t buffers = 64;
  std::size_t config_bytes = 200'000;
};

std::string report_data(std::string const& path, ReportSize const& size = {});

}  // namespace farfault::analysis
