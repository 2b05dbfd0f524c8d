// SPDX-License-Identifier: Apache-2.0
// Private: the points of a study: all combinations of a point of its list, a random sample, a value of each
// axis of its grid, and a seed. The last one varies fastest, in the order of the file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "study.hpp"

namespace farfault::cli {

// "workload.size = 8 MiB, run.seed = 2"
std::string text_of(std::vector<StudySetting> const& settings);

class Points {
 public:
  static constexpr std::uint64_t kMax = 100'000;

  // Throws UserError if there are more than kMax.
  explicit Points(Study const& study);

  std::uint64_t count() const { return count_; }
  std::uint64_t seeds() const { return seeds_; }
  // The keys that vary, each once; the first `of_list()` keys are the keys of the list.
  std::vector<std::string> const& keys() const { return keys_; }
  std::size_t of_list() const { return of_list_; }
  // The settings of run `number`, in the order of keys(); keys that its point of the list omits are omitted.
  std::vector<StudySetting> settings(std::uint64_t number) const;
  // Name of its point of the list; empty if the points have no names.
  std::string name(std::uint64_t number) const;
  // Cost relative to the other runs; 1 by default.
  double cost(std::uint64_t number) const;

 private:
  StudyPoint const* point_of(std::uint64_t number) const;

  Study const& study_;
  std::vector<std::string> keys_;
  std::size_t of_list_ = 0;
  std::uint64_t count_ = 1;
  std::uint64_t seeds_ = 1;
};

}  // namespace farfault::cli
