// SPDX-License-Identifier: Apache-2.0
#include "kernels_on_gpus.hpp"

#include <algorithm>

namespace farfault::analysis {
namespace {

constexpr char const* kByGpu = "tables/kernels_by_gpu";

std::size_t place_in(std::vector<std::string> const& names, std::string const& name) {
  return static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
}

}  // namespace

std::string column_of_kernels(std::size_t place) {
  constexpr auto kFirstOfSms = SmFigures::place_of("active_time");
  return (place >= kFirstOfSms ? "resident_" : "") + std::string(kSmFigures[place]);
}

std::vector<std::vector<KernelOnGpu>> read_kernels_on_gpus(ObjectId file, HostTimeline const& line,
                                                           std::vector<std::string> const& gpus) {
  std::string const table = kByGpu;
  if (!has(file, table) || !has(file, table + "/left_gpu") || !has(file, table + "/gpu")) return {};
  auto const rows = shape_of_dataset(open_dataset(file, table + "/left_gpu")).rows();
  if (rows == 0 || rows > kMaxKernelsOnGpus) return {};
  auto const left = words(file, table + "/left_gpu", rows);
  auto const gpu_of_row = texts(file, table + "/gpu");
  auto const kernel_of_row = kernels_of_rows(file, table, line, rows);
  if (gpu_of_row.size() != rows) throw Hdf5Failure(table + "/gpu does not have one text per row");
  if (kernel_of_row.size() != rows || line.kernels.size() * gpus.size() > kMaxKernelsOnGpus) return {};
  std::vector<std::vector<KernelOnGpu>> all(line.kernels.size(), std::vector<KernelOnGpu>(gpus.size()));
  std::vector<KernelOnGpu*> at_row;
  for (std::size_t row = 0; row < rows; ++row) {
    auto const gpu = place_in(gpus, gpu_of_row[row]);
    if (gpu == gpus.size()) return {};
    at_row.push_back(&all[kernel_of_row[row]][gpu]);
    at_row.back()->left += left[row];
  }
  for_columns(file, table, kOfKernels, rows, column_of_kernels,
              [&](std::size_t place, std::vector<std::uint64_t> const& values) {
                for (std::size_t row = 0; row < rows; ++row) at_row[row]->figures[place] += values[row];
              });
  return all;
}

void put_kernels_on_gpus(Pack& pack, std::vector<std::vector<KernelOnGpu>> const& all) {
  pack.put(std::uint64_t{all.size()});
  for (auto const& kernel : all) {
    pack.put(std::uint64_t{kernel.size()});
    for (auto const& on_gpu : kernel) {
      pack.put(on_gpu.left);
      for (std::size_t place = 0; place < kOfKernels; ++place) pack.put(on_gpu.figures[place]);
    }
  }
}

std::vector<std::vector<KernelOnGpu>> take_kernels_on_gpus(Pack& pack) {
  std::vector<std::vector<KernelOnGpu>> all;
  for (auto kernels = pack.number(); kernels != 0; --kernels) {
    auto& kernel = all.emplace_back();
    for (auto gpus = pack.number(); gpus != 0; --gpus) {
      auto& on_gpu = kernel.emplace_back();
      on_gpu.left = pack.number();
      for (std::size_t place = 0; place < kOfKernels; ++place) on_gpu.figures[place] = pack.number();
    }
  }
  return all;
}

}  // namespace farfault::analysis
