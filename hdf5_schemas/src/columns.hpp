// SPDX-License-Identifier: Apache-2.0
// Lists of an untrusted file: the columns of a table, coordinates, figures of the summary.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "handle.hpp"

namespace farfault::results {

// Rows of a table that are read at most: of a longer one the first.
inline constexpr std::uint64_t kMostRows = 2'000'000;

// The columns of a group, all of one length.
class Columns {
 public:
  // Throws Hdf5Failure where there is no such group; `key` is a column that it has.
  Columns(hid_t file, std::string folder, std::string const& key);

  std::uint64_t rows() const { return rows_; }  // that are read
  std::uint64_t rows_in_file() const { return rows_in_file_; }
  bool has(std::string const& name) const;
  // Throw Hdf5Failure where it has no such column, or one of another kind or length.
  std::vector<std::uint64_t> numbers(std::string const& name) const;
  std::vector<std::string> texts(std::string const& name) const;
  std::vector<std::string> names() const;

 private:
  hid_t file_;
  std::string folder_;
  std::uint64_t rows_in_file_ = 0;
  std::uint64_t rows_ = 0;
};

}  // namespace farfault::results
