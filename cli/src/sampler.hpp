// Private: the statistics of all components, gathered on rank 0 in the order of the result file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "farfault/engine/engine.hpp"
#include "farfault/engine/probes.hpp"

namespace farfault::cli {

class Sampler {
 public:
  Sampler(System& system, Engine const& engine, Transport& transport);

  std::vector<SeriesGroup> const& groups() const { return groups_; }

  // All ranks call it alike; afterwards values() on rank 0 holds the sample: group, stat, instance.
  void sample();
  std::vector<std::uint64_t> const& values() const { return values_; }

  // Of the last sample: the statistic summed over all instances; 0 where there is none.
  std::uint64_t total(std::string_view kind, std::string_view stat) const;
  // The same for each GPU by itself (paths "gpu<n>...."), of groups()[group].stats[stat].
  std::vector<std::uint64_t> by_gpu(std::size_t group, std::size_t stat, std::uint32_t gpus) const;

 private:
  static constexpr std::uint32_t kNoGpu = 0xffffffff;
  struct Place {  // of a component's values in the sample
    std::size_t first;
    std::size_t stride;
    std::size_t stats;
  };

  static std::uint32_t gpu_of(std::string const& path);

  System& system_;
  Engine const& engine_;
  Transport& transport_;
  std::vector<SeriesGroup> groups_;
  std::vector<std::size_t> group_begin_;
  std::vector<std::vector<std::uint32_t>> gpu_of_;  // by group and instance; kNoGpu elsewhere
  std::vector<Place> places_;                       // by component
  std::vector<std::uint64_t> values_;
  std::vector<std::uint64_t> mine_;
};

}  // namespace farfault::cli
