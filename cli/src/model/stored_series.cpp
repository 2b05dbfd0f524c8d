// SPDX-License-Identifier: Apache-2.0
#include "stored_series.hpp"

#include <algorithm>
#include <map>

namespace farfault::cli {

namespace {

constexpr std::string_view kByGpu = ".by_gpu", kHistograms = ".histograms";

// The instances of a group summed by GPU, and the instance of each of its components.
struct Summed {
  SeriesGroup group;
  std::vector<std::uint32_t> place_of;
};

Summed sum_by_gpu(SeriesGroup const& from, std::vector<std::uint32_t> const& gpu_of,
                  std::vector<std::string> const& gpus) {
  Summed s;
  std::map<std::string, std::uint32_t> known;
  for (std::size_t i = 0; i < from.instances.size(); ++i) {
    auto name = gpus[gpu_of[i]];
    if (!from.applications.empty()) name += "/" + from.applications[i];
    auto const [place, fresh] = known.try_emplace(name, static_cast<std::uint32_t>(known.size()));
    s.place_of.push_back(place->second);
    if (!fresh) continue;
    s.group.instances.push_back(std::move(name));
    if (!from.applications.empty()) s.group.applications.push_back(from.applications[i]);
  }
  return s;
}

}  // namespace

std::string stored_kind(std::string const& kind, StatInfo const& stat) {
  auto stored = kind;
  if (stat.summed) stored.insert(std::min(kind.find('.'), kind.size()), kByGpu);
  if (stat.kind == StatKind::histogram) stored += kHistograms;
  return stored;
}

StoredSeries::StoredSeries(std::vector<SeriesGroup> const& groups,
                           std::vector<std::vector<std::uint32_t>> const& gpu_of,
                           std::vector<std::string> const& gpus) {
  for (std::size_t g = 0; g < groups.size(); ++g) {
    auto const& given = groups[g];
    groups_.push_back({given.kind, given.instances, {}, given.applications});
    std::vector<std::uint32_t> const* place_of = nullptr;
    SeriesGroup summed;
    first_part_.push_back(parts_.size());
    for (auto const& stat : given.stats) {
      if (stat.summed && place_of == nullptr) {
        auto made = sum_by_gpu(given, gpu_of[g], gpus);
        summed = std::move(made.group);
        place_of = &places_.emplace_back(std::move(made.place_of));
      }
      auto const kind = stored_kind(given.kind, stat);
      auto in = std::ranges::find(groups_, kind, &SeriesGroup::kind);
      if (in == groups_.end()) {
        auto const& of = stat.summed ? summed : given;
        in = groups_.insert(in, {.kind = kind,
                                 .instances = of.instances,
                                 .stats = {},
                                 .applications = of.applications,
                                 .every = stat.kind == StatKind::histogram ? kHistogramsEvery : 1});
      }
      in->stats.push_back(stat);
      parts_.push_back({0, stat.bins, stat.summed ? place_of : nullptr});
    }
  }
  std::erase_if(groups_, [](SeriesGroup const& group) { return group.stats.empty(); });
  std::size_t size = 0;
  std::vector<std::size_t> next;  // by group: start of its next statistic
  for (auto const& group : groups_) {
    next.push_back(size);
    for (auto const& stat : group.stats) size += stat.bins * group.instances.size();
  }
  values_.resize(size);
  for (auto const& group : groups_)
    for (auto const& stat : group.stats)
      if (group.every == 1) values_per_sample_ += stat.bins * group.instances.size();
  values_per_sample_ += (size - values_per_sample_) / kHistogramsEvery;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (std::size_t k = 0; k < groups[g].stats.size(); ++k) {
      auto const& stat = groups[g].stats[k];
      auto const in = static_cast<std::size_t>(
          std::ranges::find(groups_, stored_kind(groups[g].kind, stat), &SeriesGroup::kind) -
          groups_.begin());
      parts_[first_part_[g] + k].to = next[in];
      next[in] += stat.bins * groups_[in].instances.size();
    }
  }
}

}  // namespace farfault::cli
