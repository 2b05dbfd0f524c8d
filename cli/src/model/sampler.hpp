// SPDX-License-Identifier: Apache-2.0
// Private: the statistics of all components, gathered on rank 0 in the order of the result file.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "farfault/engine/engine.hpp"
#include "farfault/engine/probes.hpp"
#include "stored_series.hpp"

namespace farfault::cli {

class Sampler {
 public:
  // `gpu_of`: by component, its GPU; Assembly::kNone for components outside GPUs. `gpus`: their names.
  Sampler(System& system, Engine& engine, Transport& transport, std::vector<std::uint32_t> const& gpu_of,
          std::vector<std::string> const& gpus);

  // The series that components provide.
  std::vector<SeriesGroup> const& groups() const { return groups_; }
  // The series that the result stores.
  std::vector<SeriesGroup> const& series() const { return stored_->groups(); }

  // All ranks call it alike; afterwards values() on rank 0 holds the sample of series(): group, stat,
  // instance. The first sample reads the values of all components; later ones read components that have
  // received events since, or whose values grow without events. States must not be loaded in between. `at`:
  // all events up to this time are done. Without `histograms`, they keep their values of an earlier sample.
  void sample(Time at, bool histograms);
  std::vector<std::uint64_t> const& values() const { return stored_->values(); }
  // The mean number of values that a sample stores.
  std::size_t values_per_sample() const { return stored_->values_per_sample(); }
  // The value of one instance of groups()[group].stats[stat], which must not be a histogram.
  std::uint64_t value(std::size_t group, std::size_t stat, std::size_t instance) const {
    return values_[begin_[group][instance] + columns_[group][stat].offset];
  }

  // In the last sample: the statistic summed over all instances; 0 if it does not exist.
  std::uint64_t total(std::string_view kind, std::string_view stat) const { return total_of({}, kind, stat); }
  // The same for one application, in a group that is split by application.
  std::uint64_t total_of(std::string_view application, std::string_view kind, std::string_view stat) const;
  // True if each GPU has instances of the group.
  bool is_of_gpus(std::size_t group) const;
  // Number of instances of groups()[group] per GPU.
  std::vector<std::uint64_t> instances_by_gpu(std::size_t group, std::uint32_t gpus) const;
  // Sum of groups()[group].stats[stat] per GPU.
  std::vector<std::uint64_t> by_gpu(std::size_t group, std::size_t stat, std::uint32_t gpus) const;

 private:
  void update(ComponentId id, bool histograms);
  void note_changes(ComponentId id, bool histograms);
  void update(std::span<std::uint64_t const> changes);

  struct Place {  // one group of a component's statistics
    std::size_t group;
    std::size_t instance;
  };
  struct Column {  // one statistic, within the values of each instance of its group
    std::uint32_t offset;
    std::uint32_t bins;
  };
  struct Stretch {  // neighbouring values of an instance: of histograms, or of other statistics
    std::uint32_t begin;
    std::uint32_t end;
    bool histograms;
  };

  System& system_;
  Engine& engine_;
  Transport& transport_;
  std::vector<SeriesGroup> groups_;
  std::vector<std::vector<Column>> columns_;           // by group and statistic
  std::vector<std::vector<std::uint32_t>> column_of_;  // by group and value
  std::vector<std::vector<Stretch>> stretches_;        // by group
  std::vector<std::vector<std::size_t>> begin_;        // by group and instance, in values_
  std::vector<std::vector<std::uint32_t>> gpu_of_;     // by group and instance
  std::vector<Place> places_;
  std::vector<std::size_t> first_place_;  // by component, index into places_
  std::vector<std::uint64_t> values_;     // of the last sample: component, group, statistic, bin
  std::optional<StoredSeries> stored_;
  std::vector<std::size_t> first_value_;  // by component, in values_
  std::vector<std::uint32_t> values_of_;  // by component
  std::vector<ComponentId> changed_;
  std::vector<std::uint64_t> read_;          // the values of one component
  std::vector<std::uint64_t> mine_;          // changes for rank 0
  std::vector<ComponentId> growing_;         // whose values grow without events
  std::vector<ComponentId> owing_;           // read without histograms since the last sample with histograms
  std::vector<bool> has_histograms_, owes_;  // by component; owes_: it is in owing_
  std::vector<std::uint64_t> sample_of_;     // by component: the last sample that read it
  std::uint64_t samples_ = 0;
};

}  // namespace farfault::cli
