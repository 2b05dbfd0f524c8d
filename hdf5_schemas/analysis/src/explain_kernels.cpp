// SPDX-License-Identifier: Apache-2.0
// Access time by stage for the kernels of each name, from the table of kernels.
#include <algorithm>

#include "explain_resources.hpp"
#include "host_timeline.hpp"
#include "time_parts.hpp"

namespace farfault::analysis {
namespace {

std::string const kTable = "tables/kernels";

bool has_column(ObjectId file, std::string const& name) {
  return has(file, kTable + "/" + name);
}

}  // namespace

std::vector<KernelTime> read_kernels(ObjectId file) {
  if (!has_column(file, "name") || !has_column(file, "access_time")) return {};
  auto const rows = shape_of_dataset(open_dataset(file, kTable + "/launched")).rows();
  auto const names = kernel_names(file, rows);
  std::map<std::string, std::size_t> place_of;
  std::vector<KernelTime> kernels;
  std::vector<std::size_t> place;  // by row
  for (auto const& name : names) {
    auto const [at, is_new] = place_of.try_emplace(name, kernels.size());
    if (is_new) kernels.push_back({.name = name});
    place.push_back(at->second);
  }
  auto const column = [&](std::string const& name) { return words(file, kTable + "/" + name, rows); };
  auto const launched = column("launched"), finished = column("finished"), accesses = column("transactions"),
             access_time = column("access_time");
  for (std::size_t i = 0; i < rows; ++i) {
    auto& k = kernels[place[i]];
    ++k.launches;
    k.ps += finished[i] - std::min(launched[i], finished[i]);
    k.accesses += accesses[i];
    k.access_ps += access_time[i];
  }
  std::ranges::stable_sort(kernels, [](auto const& a, auto const& b) { return a.ps > b.ps; });
  auto const told = std::min(kernels.size(), kMaxKernels);
  for (std::size_t k = 0; k < kernels.size(); ++k) place_of[kernels[k].name] = k;
  for (std::size_t i = 0; i < rows; ++i) place[i] = place_of[names[i]];
  for (auto const& [name, what] : kStages) {
    auto const in_table = std::string(name).substr(std::string("sm_").size());
    if (!has_column(file, in_table)) continue;
    for (std::size_t k = 0; k < told; ++k) kernels[k].stages.push_back({name, what, 0});
    auto const times = column(in_table);
    for (std::size_t i = 0; i < rows; ++i)
      if (place[i] < told) kernels[place[i]].stages.back().ps += times[i];
  }
  return kernels;
}

}  // namespace farfault::analysis
