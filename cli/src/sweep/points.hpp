// SPDX-License-Identifier: Apache-2.0
// Private: the points of a study: every combination of a point of its list, a random sample, a value of each
// axis of its grid, and a seed. The last of them varies fastest, in the order of the file.
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
  static constexpr std::uint64_t kMost = 100'000;

  // Throws UserError where there are more than kMost.
  explicit Points(Study const& study);

  std::uint64_t count() const { return count_; }
  std::uint64_t seeds() const { return seeds_; }
  // The keys that vary, each once: first `of_list()` keys of the list.
  std::vector<std::string> const& keys() const { return keys_; }
  std::size_t of_list() const { return of_list_; }
  // What the settings of run `number` are, in the order of keys(); a key that its point of the list does not
  // have is left out.
  std::vector<StudySetting> settings(std::uint64_t number) const;
  // Of its point of the list; empty where the points have no names.
  std::string name(std::uint64_t number) const;
  // How long it takes beside the others: 1 where nothing is said.
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
