// SPDX-License-Identifier: Apache-2.0
// Private: the series of statistics that a result stores, derived from the series of components.
//
// - Most are stored unchanged, per component.
// - Statistics with StatInfo::summed are summed over the components of a GPU and stored in a separate group:
//   `sm.by_gpu` sums the SMs of each GPU, with the GPUs `gpu0`, `gpu1` as instances; for statistics split by
//   application, `sm.by_gpu.by_application` has `gpu0/bfs`.
// - Histograms are stored in `gmmu.histograms`, in each kHistogramsEvery-th sample and in the last one: they
// are
//   half of the values of a machine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "farfault/engine/probes.hpp"

namespace farfault::cli {

constexpr std::uint32_t kHistogramsEvery = 16;

// The group in which a statistic of the group `kind` is stored.
std::string stored_kind(std::string const& kind, StatInfo const& stat);

class StoredSeries {
 public:
  // `gpu_of`: by group and instance, the GPU of the component. `gpus`: their names.
  StoredSeries(std::vector<SeriesGroup> const& groups, std::vector<std::vector<std::uint32_t>> const& gpu_of,
               std::vector<std::string> const& gpus);

  std::vector<SeriesGroup> const& groups() const { return groups_; }
  // The values of groups(): group, statistic, instance, bin.
  std::vector<std::uint64_t> const& values() const { return values_; }
  // The mean number of values that a sample stores.
  std::size_t values_per_sample() const { return values_per_sample_; }

  // Replaces the values of one instance of a statistic of the given groups: `had` by `has`.
  void put(std::size_t group, std::size_t stat, std::size_t instance, std::uint64_t const* had,
           std::uint64_t const* has) {
    auto const& part = parts_[first_part_[group] + stat];
    if (part.place_of == nullptr) {
      std::copy_n(has, part.bins, values_.data() + part.to + instance * part.bins);
      return;
    }
    auto* const to = values_.data() + part.to + std::size_t{(*part.place_of)[instance]} * part.bins;
    for (std::uint32_t b = 0; b < part.bins; ++b) to[b] += has[b] - had[b];
  }

 private:
  struct Part {  // one statistic
    std::size_t to = 0;
    std::uint32_t bins = 1;
    std::vector<std::uint32_t> const* place_of =
        nullptr;  // by instance: its place in the sum; null: not summed
  };

  std::vector<SeriesGroup> groups_;
  std::vector<Part> parts_;
  std::vector<std::size_t> first_part_;            // by given group
  std::deque<std::vector<std::uint32_t>> places_;  // for groups that are summed
  std::vector<std::uint64_t> values_;
  std::size_t values_per_sample_ = 0;
};

}  // namespace farfault::cli
