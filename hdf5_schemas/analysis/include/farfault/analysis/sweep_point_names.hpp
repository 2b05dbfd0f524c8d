// SPDX-License-Identifier: Apache-2.0
// Names of a sweep's runs: the name of their point and their values of the other varied keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "farfault/analysis/sweep_axes.hpp"
#include "farfault/results/sweep.hpp"

namespace farfault::analysis {

using SweepValues = std::vector<std::pair<std::string, std::string>>;  // keys and values

// "bfs, distributed, entries 64": texts alone, numbers and quantities with the last part of their key.
std::string short_text(SweepValues const& values);

// The table outlives the names.
class SweepPointNames {
 public:
  enum class Seed : std::uint8_t { shown, omitted };

  explicit SweepPointNames(results::SweepTable const& table, Seed seed = Seed::shown);
  explicit SweepPointNames(std::vector<results::SweepColumn> const& columns, Seed seed = Seed::shown);

  std::string of(std::size_t row) const;      // "bfs, distributed, seed 2"
  std::string of_run(std::size_t run) const;  // "run 4 (bfs, distributed, seed 2)"

 private:
  std::vector<results::SweepColumn const*> dimensions_;
};

}  // namespace farfault::analysis
