// SPDX-License-Identifier: Apache-2.0
#include "sampler.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

namespace farfault::cli {

Sampler::Sampler(System& system, Engine& engine, Transport& transport,
                 std::vector<std::uint32_t> const& gpu_of, std::vector<std::string> const& gpus)
    : system_(system), engine_(engine), transport_(transport) {
  for (ComponentId id = 0; id < system.component_count(); ++id) {
    auto const& component = system.component(id);
    first_place_.push_back(places_.size());
    for (auto& group : component.stat_groups()) {
      if (group.stats.empty()) continue;
      auto found = std::ranges::find(groups_, group.kind, &SeriesGroup::kind);
      auto const g = static_cast<std::size_t>(found - groups_.begin());
      if (found == groups_.end()) {
        groups_.push_back({group.kind, {}, std::move(group.stats), {}});
        gpu_of_.emplace_back();
      }
      places_.push_back({g, groups_[g].instances.size()});
      bool const of_one = !group.application.empty();
      groups_[g].instances.push_back(component.path() + (of_one ? "/" + group.application : ""));
      if (of_one) groups_[g].applications.push_back(group.application);
      gpu_of_[g].push_back(gpu_of[id]);
    }
  }
  first_place_.push_back(places_.size());
  for (ComponentId id = 0; id < system.component_count(); ++id) {
    std::size_t values = 0;
    for (auto p = first_place_[id]; p < first_place_[id + 1]; ++p)
      for (auto const& stat : groups_[places_[p].group].stats) values += stat.bins;
    values_of_.push_back(static_cast<std::uint32_t>(values));
  }
  sample_of_.resize(system.component_count());
  std::size_t size = 0;
  for (auto const& g : groups_) {
    begin_.emplace_back();
    for (auto const& stat : g.stats) {
      begin_.back().push_back(size);
      size += stat.bins * g.instances.size();
    }
  }
  values_.resize(size);
  stored_.emplace(groups_, gpu_of_, gpus);
}

void Sampler::sample(Time at) {
  changed_.clear();
  engine_.take_worked(changed_);
  changed_.insert(changed_.end(), growing_.begin(), growing_.end());
  if (samples_ == 0) {
    changed_.clear();
    for (ComponentId id = 0; id < system_.component_count(); ++id)
      if (engine_.is_local(id)) changed_.push_back(id);
  }
  ++samples_;
  growing_.clear();
  bool const alone = transport_.ranks() == 1;
  mine_.clear();
  for (auto const id : changed_) {
    if (std::exchange(sample_of_[id], samples_) == samples_) continue;
    if (system_.component(id).settle(at)) growing_.push_back(id);
    auto const begin = mine_.size();
    mine_.resize(begin + 1 + values_of_[id]);
    mine_[begin] = id;
    system_.component(id).sample(mine_.data() + begin + 1);
    if (!alone) continue;
    scatter(mine_);
    mine_.clear();
  }
  if (alone) return;
  for (auto const& part : transport_.gather(std::as_bytes(std::span(mine_)))) {
    std::vector<std::uint64_t> values(part.size() / 8);
    if (!values.empty()) std::memcpy(values.data(), part.data(), values.size() * 8);
    scatter(values);
  }
}

// `from`: the numbers of components, the values of each behind it.
void Sampler::scatter(std::span<std::uint64_t const> from) {
  for (auto const* at = from.data(); at != from.data() + from.size();) {
    auto const id = static_cast<ComponentId>(*at++);
    for (auto p = first_place_[id]; p < first_place_[id + 1]; ++p) {
      auto const& [group, instance] = places_[p];
      auto const& stats = groups_[group].stats;
      for (std::size_t k = 0; k < stats.size(); ++k) {
        auto* const value = values_.data() + begin_of(group, k) + instance * stats[k].bins;
        stored_->put(group, k, instance, value, at);
        std::copy_n(at, stats[k].bins, value);
        at += stats[k].bins;
      }
    }
  }
}

std::uint64_t Sampler::total_of(std::string_view application, std::string_view kind,
                                std::string_view stat) const {
  std::uint64_t sum = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (groups_[g].kind != kind) continue;
    auto const n = groups_[g].instances.size();
    bool found = false;
    for (std::size_t s = 0; s < groups_[g].stats.size(); ++s) {
      if (groups_[g].stats[s].name != stat) continue;
      found = true;
      for (std::size_t i = 0; i < n; ++i)
        if (application.empty() || groups_[g].applications[i] == application)
          sum += values_[begin_of(g, s) + i];
    }
    FF_CHECK(found, "no statistic '" + std::string(stat) + "' of " + std::string(kind));
  }
  return sum;
}

bool Sampler::is_of_gpus(std::size_t group) const {
  return !gpu_of_[group].empty() && gpu_of_[group][0] == 0;
}

std::vector<std::uint64_t> Sampler::instances_by_gpu(std::size_t group, std::uint32_t gpus) const {
  std::vector<std::uint64_t> counts(gpus);
  for (auto const gpu : gpu_of_[group])
    if (gpu < gpus) ++counts[gpu];
  return counts;
}

std::vector<std::uint64_t> Sampler::by_gpu(std::size_t group, std::size_t stat, std::uint32_t gpus) const {
  std::vector<std::uint64_t> sums(gpus);
  auto const n = groups_[group].instances.size();
  for (std::size_t i = 0; i < n; ++i)
    if (gpu_of_[group][i] < gpus) sums[gpu_of_[group][i]] += values_[begin_of(group, stat) + i];
  return sums;
}

}  // namespace farfault::cli
