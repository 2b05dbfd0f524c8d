// SPDX-License-Identifier: Apache-2.0
// Lists in an untrusted file: columns of a table, coordinates, figures of the summary.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "result_file.hpp"

namespace farfault::analysis {

// Maximum rows that are read of a table: the first ones.
inline constexpr std::uint64_t kMaxRows = 2'000'000;

// The columns of a group, all of the same length.
class Columns {
 public:
  // Throws Hdf5Failure if the group is missing. `key`: a column that it must have.
  Columns(ObjectId file, std::string folder, std::string const& key);

  std::uint64_t rows() const { return rows_; }  // read
  std::uint64_t rows_in_file() const { return rows_in_file_; }
  bool has(std::string const& name) const;
  // Throw Hdf5Failure if the column is missing or has another type or length.
  std::vector<std::uint64_t> numbers(std::string const& name) const;
  std::vector<std::string> texts(std::string const& name) const;
  std::vector<std::string> names() const;

 private:
  ObjectId file_;
  std::string folder_;
  std::uint64_t rows_in_file_ = 0;
  std::uint64_t rows_ = 0;
};

}  // namespace farfault::analysis
