// SPDX-License-Identifier: Apache-2.0
// Private: what explaining a run reads from its file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "walk.hpp"

namespace farfault::results {

constexpr std::uint64_t kParts = 20;  // of the run, over time

inline double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

// One number for each of the rows, or texts; Hdf5Failure where the file has something else there.
std::vector<std::uint64_t> words(hid_t file, std::string const& path, std::uint64_t rows);
// One real number; nullopt if the dataset is missing.
std::optional<double> real_number(hid_t file, std::string const& path);
std::vector<std::string> texts(hid_t file, std::string const& path);

// The summary of the machine; UserError where there is none yet.
std::map<std::string, std::uint64_t> figures_of_machine(hid_t file);

// Counters of a group, between their samples as if they grew evenly.
class Growth {
 public:
  Growth(hid_t file, std::string const& folder, std::string const& metric);
  bool empty() const { return times_.empty() || names_.empty(); }
  std::vector<std::string> const& names() const { return names_; }
  std::vector<std::uint64_t> last() const { return row(times_.size() - 1); }
  // In equal parts until `end`, by how much the counter of an instance grew for each ps, divided by `among`.
  // What is counted when it begins lasts into the next part where this one is full. None where that does not
  // help: what counts all of a long work when it is taken on does not say when it was done.
  std::vector<double> rates(std::size_t instance, std::uint64_t end, std::uint64_t among) const;

 private:
  std::vector<std::uint64_t> row(std::size_t number) const { return read_words(dataset_, shape_, number, 1); }
  double at(std::size_t instance, double time) const;

  Handle dataset_;
  Shape shape_;
  std::vector<std::uint64_t> times_;
  std::vector<std::string> names_;
};

// None where there is no such series, or nothing in it.
std::optional<Growth> growth_of(hid_t file, std::string const& series, std::string const& metric);

}  // namespace farfault::results
