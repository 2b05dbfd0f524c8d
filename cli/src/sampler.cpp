#include "sampler.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <span>

namespace farfault::cli {

std::uint32_t Sampler::gpu_of(std::string const& path) {
  std::uint32_t gpu = 0;
  if (!path.starts_with("gpu")) return kNoGpu;
  auto const [end, error] = std::from_chars(path.data() + 3, path.data() + path.size(), gpu);
  return error == std::errc{} && *end == '.' ? gpu : kNoGpu;
}

Sampler::Sampler(System& system, Engine const& engine, Transport& transport)
    : system_(system), engine_(engine), transport_(transport) {
  std::vector<std::pair<std::size_t, std::size_t>> where;  // by component: group, instance
  for (ComponentId id = 0; id < system.component_count(); ++id) {
    auto const& component = system.component(id);
    auto found = std::find_if(groups_.begin(), groups_.end(),
                              [&](auto const& g) { return g.kind == component.kind(); });
    if (found == groups_.end()) {
      groups_.push_back({std::string(component.kind()), {}, component.stat_infos()});
      gpu_of_.emplace_back();
      found = groups_.end() - 1;
    }
    where.emplace_back(found - groups_.begin(), found->instances.size());
    found->instances.push_back(component.path());
    gpu_of_[static_cast<std::size_t>(found - groups_.begin())].push_back(gpu_of(component.path()));
  }
  std::size_t size = 0;
  for (auto const& g : groups_) {
    group_begin_.push_back(size);
    size += g.stats.size() * g.instances.size();
  }
  values_.resize(size);
  for (auto const& [group, instance] : where)
    places_.push_back(
        {group_begin_[group] + instance, groups_[group].instances.size(), groups_[group].stats.size()});
}

void Sampler::sample() {
  mine_.clear();
  for (ComponentId id = 0; id < system_.component_count(); ++id) {
    if (!engine_.is_local(id)) continue;
    auto const begin = mine_.size();
    mine_.resize(begin + places_[id].stats);
    system_.component(id).sample(mine_.data() + begin);
  }
  auto scatter = [this](std::uint32_t rank, std::uint64_t const* from) {
    for (ComponentId id = 0; id < system_.component_count(); ++id) {
      if (engine_.rank_of(id) != rank) continue;
      auto const& place = places_[id];
      for (std::size_t s = 0; s < place.stats; ++s) values_[place.first + s * place.stride] = *from++;
    }
  };
  if (transport_.ranks() == 1) {
    scatter(0, mine_.data());
    return;
  }
  auto const parts = transport_.gather(std::as_bytes(std::span(mine_)));
  for (std::uint32_t r = 0; r < parts.size(); ++r) {
    std::vector<std::uint64_t> values(parts[r].size() / 8);
    if (!values.empty()) std::memcpy(values.data(), parts[r].data(), values.size() * 8);
    scatter(r, values.data());
  }
}

std::uint64_t Sampler::total(std::string_view kind, std::string_view stat) const {
  std::uint64_t sum = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (groups_[g].kind != kind) continue;
    auto const n = groups_[g].instances.size();
    bool found = false;
    for (std::size_t s = 0; s < groups_[g].stats.size(); ++s) {
      if (groups_[g].stats[s].name != stat) continue;
      found = true;
      for (std::size_t i = 0; i < n; ++i) sum += values_[group_begin_[g] + s * n + i];
    }
    FF_CHECK(found, "no statistic '" + std::string(stat) + "' of " + std::string(kind));
  }
  return sum;
}

std::vector<std::uint64_t> Sampler::by_gpu(std::size_t group, std::size_t stat, std::uint32_t gpus) const {
  std::vector<std::uint64_t> sums(gpus);
  auto const n = groups_[group].instances.size();
  for (std::size_t i = 0; i < n; ++i)
    if (gpu_of_[group][i] < gpus) sums[gpu_of_[group][i]] += values_[group_begin_[group] + stat * n + i];
  return sums;
}

}  // namespace farfault::cli
