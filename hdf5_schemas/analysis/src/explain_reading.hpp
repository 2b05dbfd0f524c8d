// SPDX-License-Identifier: Apache-2.0
// Private: input of explain() from the file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "farfault/results/reading/walk.hpp"
#include "result_file.hpp"

namespace farfault::analysis {

constexpr std::uint64_t kParts = 20;  // of the run, for values over time

inline double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

// One number, or text, per row. Throws Hdf5Failure if the dataset has another type or length.
std::vector<std::uint64_t> words(ObjectId file, std::string const& path, std::uint64_t rows);
// One real number; nullopt if the dataset is missing.
std::optional<double> real_number(ObjectId file, std::string const& path);
std::vector<std::string> texts(ObjectId file, std::string const& path);

// The summary of the machine. Throws UserError if it is missing.
std::map<std::string, std::uint64_t> figures_of_machine(ObjectId file);

// Counters of a group, interpolated linearly between their samples.
class Growth {
 public:
  Growth(ObjectId file, std::string const& folder, std::string const& metric);
  bool empty() const { return times_.empty() || names_.empty(); }
  std::vector<std::string> const& names() const { return names_; }
  std::vector<std::uint64_t> last() const { return row(times_.size() - 1); }
  // Rate of an instance's counter per ps, divided by `among`, in equal parts up to `end`. An amount that is
  // counted when the activity begins carries over to the next part if this part is full. Empty if that is not
  // enough: a counter that adds the whole of a long activity at its start does not show when the activity
  // took place.
  std::vector<double> rates(std::size_t instance, std::uint64_t end, std::uint64_t among) const;

 private:
  std::vector<std::uint64_t> row(std::size_t number) const { return read_words(dataset_, shape_, number, 1); }
  double at(std::size_t instance, double time) const;

  Handle dataset_;
  Shape shape_;
  std::vector<std::uint64_t> times_;
  std::vector<std::string> names_;
};

// nullopt if the series is missing or empty.
std::optional<Growth> growth_of(ObjectId file, std::string const& series, std::string const& metric);

}  // namespace farfault::analysis
