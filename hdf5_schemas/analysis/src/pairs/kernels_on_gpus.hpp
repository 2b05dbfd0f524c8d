// SPDX-License-Identifier: Apache-2.0
// Private: the figures of each kernel on each GPU, from /tables/kernels_by_gpu.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "explain_reading.hpp"
#include "farfault/results/reading/pack.hpp"
#include "run_figures.hpp"

namespace farfault::analysis {

// The first kOfKernels of kSmFigures are columns of the tables of kernels.
inline constexpr auto kOfKernels = SmFigures::place_of("idle_time");
std::string column_of_kernels(std::size_t place);

// Reads the columns of `folder` that exist, and calls use(place, values) for each.
template <class NameOf, class Use>
void for_columns(ObjectId file, std::string const& folder, std::size_t places, std::uint64_t rows,
                 NameOf name_of, Use use) {
  for (std::size_t place = 0; place < places; ++place) {
    auto const path = folder + "/" + name_of(place);
    if (has(file, path)) use(place, words(file, path, rows));
  }
}

// Empty if the table is missing, longer than kMaxKernelsOnGpus, or has an unknown kernel or GPU.
std::vector<std::vector<KernelOnGpu>> read_kernels_on_gpus(ObjectId file, HostTimeline const& line,
                                                           std::vector<std::string> const& gpus);

void put_kernels_on_gpus(Pack& pack, std::vector<std::vector<KernelOnGpu>> const& all);
std::vector<std::vector<KernelOnGpu>> take_kernels_on_gpus(Pack& pack);

}  // namespace farfault::analysis
