// SPDX-License-Identifier: Apache-2.0
#include "farfault/workloads/cost.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

namespace farfault::workloads {
namespace {

struct Counts {
  std::uint64_t steps = 0;
  std::uint64_t instructions = 0;
  std::uint64_t accesses = 0;
};

// Cache lines that the active lanes access.
std::uint64_t lines_of(WarpInstruction const& in, std::uint32_t line_bytes) {
  std::array<std::uint64_t, 2 * kMaxLanes> lines{};
  std::size_t n = 0;
  for (auto left = in.lanes; left != 0; left &= left - 1) {
    auto const at = in.address[static_cast<std::size_t>(std::countr_zero(left))];
    auto const first = at / line_bytes, last = (at + in.bytes_per_lane - 1) / line_bytes;
    if (n == 0 || lines[n - 1] != first) lines[n++] = first;
    if (last != first) lines[n++] = last;
  }
  auto const end = lines.begin() + static_cast<std::ptrdiff_t>(n);
  std::sort(lines.begin(), end);
  return static_cast<std::uint64_t>(std::unique(lines.begin(), end) - lines.begin());
}

void walk(Kernel const& kernel, std::uint64_t block, std::uint32_t warp, std::uint32_t line_bytes,
          Counts& counts) {
  WarpInstruction in;
  for (std::uint64_t step = 0;; ++step) {
    kernel.instruction(block, warp, step, in);
    if (in.op == Op::end) return;
    ++counts.steps;
    counts.instructions += in.op == Op::compute       ? in.work.instructions()
                           : in.op == Op::scalar_load ? std::max(1U, in.work.scalar)
                                                      : 1;
    if (in.op == Op::load || in.op == Op::store) counts.accesses += lines_of(in, line_bytes);
  }
}

// Number i of `some` numbers below `all`, evenly spaced. Consecutive ones also differ in their place within a
// block of warps.
std::uint64_t spaced(std::uint64_t i, std::uint64_t some, std::uint64_t all) {
  if (some == all) return i;
  auto const part = static_cast<double>(all) / static_cast<double>(some);
  return (static_cast<std::uint64_t>((static_cast<double>(i) + 0.5) * part) + i) % all;
}

double ratio(std::uint64_t whole, std::uint64_t part) {
  return part == 0 ? 0.0 : static_cast<double>(whole) / static_cast<double>(part);
}

// The kernels to walk. The first ones represent all kernels, should the walk end early.
std::vector<std::size_t> kernels_of(std::uint64_t all, std::uint64_t some) {
  constexpr std::uint64_t kPasses = 8;
  std::vector<std::size_t> kernels;
  for (std::uint64_t pass = 0; pass < kPasses; ++pass)
    for (auto k = pass; k < some; k += kPasses)
      kernels.push_back(static_cast<std::size_t>(spaced(k, some, all)));
  return kernels;
}

}  // namespace

WorkloadCost cost_of(Workload const& workload, std::uint32_t warp_width, std::uint32_t line_bytes,
                     CostSample const& sample) {
  auto const warps_per_block = [&](Kernel const& kernel) {
    return (kernel.shape().threads_per_block + warp_width - 1) / warp_width;
  };
  WorkloadCost cost{.footprint = workload.footprint(), .kernels = workload.kernel_count()};
  for (std::size_t k = 0; k < workload.kernel_count(); ++k)
    cost.warps += workload.kernel(k).shape().blocks * warps_per_block(workload.kernel(k));

  double instructions = 0, accesses = 0;  // of the walked kernels
  std::uint64_t warps = 0, steps = 0;
  for (auto const k : kernels_of(cost.kernels, std::min(cost.kernels, sample.kernels))) {
    if (steps > sample.steps) break;
    auto const& kernel = workload.kernel(k);
    auto const of_block = warps_per_block(kernel);
    auto const all = kernel.shape().blocks * of_block;
    auto const some = std::min(all, sample.warps);
    Counts counts;
    std::uint64_t walked = 0;
    for (; walked < some && steps + counts.steps <= sample.steps; ++walked) {
      auto const warp = spaced(walked, some, all);
      walk(kernel, warp / of_block, static_cast<std::uint32_t>(warp % of_block), line_bytes, counts);
    }
    instructions += static_cast<double>(counts.instructions) * ratio(all, walked);
    accesses += static_cast<double>(counts.accesses) * ratio(all, walked);
    warps += all;
    steps += counts.steps;
  }
  cost.instructions = static_cast<std::uint64_t>(std::llround(instructions * ratio(cost.warps, warps)));
  cost.accesses = static_cast<std::uint64_t>(std::llround(accesses * ratio(cost.warps, warps)));
  return cost;
}

}  // namespace farfault::workloads
