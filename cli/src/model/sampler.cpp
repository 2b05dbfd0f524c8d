// SPDX-License-Identifier: Apache-2.0
#include "sampler.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

namespace farfault::cli {

namespace {

constexpr std::size_t kBlock = 32;  // values compared at once

}  // namespace

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
        begin_.emplace_back();
        std::uint32_t offset = 0;
        auto& columns = columns_.emplace_back();
        auto& column_of = column_of_.emplace_back();
        auto& stretches = stretches_.emplace_back();
        for (auto const& stat : groups_[g].stats) {
          bool const histogram = stat.kind == StatKind::histogram;
          if (stretches.empty() || stretches.back().histograms != histogram)
            stretches.push_back({offset, offset, histogram});
          stretches.back().end += stat.bins;
          column_of.insert(column_of.end(), stat.bins, static_cast<std::uint32_t>(columns.size()));
          columns.push_back({offset, stat.bins});
          offset += stat.bins;
        }
      }
      places_.push_back({g, groups_[g].instances.size()});
      bool const of_one = !group.application.empty();
      groups_[g].instances.push_back(component.path() + (of_one ? "/" + group.application : ""));
      if (of_one) groups_[g].applications.push_back(group.application);
      gpu_of_[g].push_back(gpu_of[id]);
    }
  }
  first_place_.push_back(places_.size());
  std::size_t size = 0;
  for (ComponentId id = 0; id < system.component_count(); ++id) {
    auto const first = size;
    first_value_.push_back(first);
    for (auto p = first_place_[id]; p < first_place_[id + 1]; ++p) {
      begin_[places_[p].group].push_back(size);
      size += column_of_[places_[p].group].size();
    }
    values_of_.push_back(static_cast<std::uint32_t>(size - first));
    has_histograms_.push_back(false);
    for (auto p = first_place_[id]; p < first_place_[id + 1]; ++p)
      for (auto const& stretch : stretches_[places_[p].group])
        if (stretch.histograms) has_histograms_[id] = true;
  }
  values_.resize(size);
  read_.resize(*std::ranges::max_element(values_of_));
  sample_of_.resize(system.component_count());
  owes_.resize(system.component_count());
  stored_.emplace(groups_, gpu_of_, gpus);
}

void Sampler::sample(Time at, bool histograms) {
  changed_.clear();
  engine_.take_worked(changed_);
  changed_.insert(changed_.end(), growing_.begin(), growing_.end());
  if (samples_ == 0) {
    changed_.clear();
    for (ComponentId id = 0; id < system_.component_count(); ++id)
      if (engine_.is_local(id)) changed_.push_back(id);
  }
  histograms = histograms || samples_ == 0;
  ++samples_;
  growing_.clear();
  mine_.clear();
  if (histograms) {
    changed_.insert(changed_.end(), owing_.begin(), owing_.end());
    owing_.clear();
  }
  for (auto const id : changed_) {
    if (std::exchange(sample_of_[id], samples_) == samples_) continue;
    if (system_.component(id).settle(at)) growing_.push_back(id);
    if (!histograms && has_histograms_[id] && !owes_[id]) owing_.push_back(id);
    owes_[id] = !histograms;
    system_.component(id).sample(read_.data(), histograms);
    if (transport_.rank() == 0)
      update(id, histograms);
    else
      note_changes(id, histograms);
  }
  if (transport_.ranks() == 1) return;
  for (auto const& part : transport_.gather(std::as_bytes(std::span(mine_)))) {
    std::vector<std::uint64_t> words(part.size() / 8);
    if (!words.empty()) std::memcpy(words.data(), part.data(), words.size() * 8);
    update(words);
  }
}

// Replaces the component's values by read_. Most are unchanged.
void Sampler::update(ComponentId id, bool histograms) {
  auto const* at = read_.data();
  for (auto p = first_place_[id]; p < first_place_[id + 1]; ++p) {
    auto const& [group, instance] = places_[p];
    auto const& column_of = column_of_[group];
    auto* const had = values_.data() + begin_[group][instance];
    for (auto const& stretch : stretches_[group]) {
      if (stretch.histograms && !histograms) continue;
      for (std::size_t i = stretch.begin; i < stretch.end;) {
        auto const next = std::min(i + kBlock, std::size_t{stretch.end});
        if (std::equal(at + i, at + next, had + i)) {
          i = next;
          continue;
        }
        for (; i < next; ++i) {
          if (at[i] == had[i]) continue;
          auto const [offset, bins] = columns_[group][column_of[i]];
          stored_->put(group, column_of[i], instance, had + offset, at + offset);
          std::copy_n(at + offset, bins, had + offset);
          i = std::size_t{offset} + bins - 1;
        }
      }
    }
    at += column_of.size();
  }
}

// For rank 0: the component and the number of its changed values; then the place and the value of each.
void Sampler::note_changes(ComponentId id, bool histograms) {
  auto* const had = values_.data() + first_value_[id];
  auto const head = mine_.size();
  mine_.push_back(id);
  mine_.push_back(0);
  std::size_t begin = 0;  // of a group
  for (auto p = first_place_[id]; p < first_place_[id + 1]; ++p) {
    auto const group = places_[p].group;
    for (auto const& stretch : stretches_[group]) {
      if (stretch.histograms && !histograms) continue;
      for (auto i = begin + stretch.begin; i < begin + stretch.end; ++i) {
        if (read_[i] == had[i]) continue;
        had[i] = read_[i];
        mine_.push_back(i);
        mine_.push_back(read_[i]);
        ++mine_[head + 1];
      }
    }
    begin += column_of_[group].size();
  }
}

void Sampler::update(std::span<std::uint64_t const> changes) {
  for (auto const* at = changes.data(); at != changes.data() + changes.size();) {
    auto const id = static_cast<ComponentId>(*at++);
    std::copy_n(values_.data() + first_value_[id], values_of_[id], read_.data());
    for (auto count = *at++; count != 0; --count, at += 2) read_[at[0]] = at[1];
    update(id, true);
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
        if (application.empty() || groups_[g].applications[i] == application) sum += value(g, s, i);
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
    if (gpu_of_[group][i] < gpus) sums[gpu_of_[group][i]] += value(group, stat, i);
  return sums;
}

}  // namespace farfault::cli
