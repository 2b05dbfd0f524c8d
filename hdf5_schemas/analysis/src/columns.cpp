// SPDX-License-Identifier: Apache-2.0
#include "columns.hpp"

#include <algorithm>
#include <utility>

#include "farfault/results/reading/walk.hpp"

namespace farfault::analysis {

Columns::Columns(ObjectId file, std::string folder, std::string const& key)
    : file_(file), folder_(std::move(folder)) {
  rows_in_file_ = shape_of_dataset(open_dataset(file_, folder_ + "/" + key)).rows();
  rows_ = std::min(rows_in_file_, kMaxRows);
}

bool Columns::has(std::string const& name) const {
  return results::has(file_, folder_ + "/" + name);
}

std::vector<std::uint64_t> Columns::numbers(std::string const& name) const {
  auto const path = folder_ + "/" + name;
  auto const dataset = open_dataset(file_, path);
  auto const shape = shape_of_dataset(dataset);
  bool const counts = shape.kind == Kind::unsigned_integer || shape.kind == Kind::integer;
  if (!counts || shape.extents.size() != 1 || shape.rows() != rows_in_file_)
    throw Hdf5Failure(path + " does not have one number per row");
  return read_words(dataset, shape, 0, rows_);
}

std::vector<std::string> Columns::texts(std::string const& name) const {
  auto const path = folder_ + "/" + name;
  auto const dataset = open_dataset(file_, path);
  auto const shape = shape_of_dataset(dataset);
  if (shape.kind != Kind::text || shape.extents.size() != 1 || shape.rows() != rows_in_file_)
    throw Hdf5Failure(path + " does not have one text per row");
  return read_texts(dataset, shape, 0, rows_);
}

std::vector<std::string> Columns::names() const {
  return link_names(open_group(file_, folder_));
}

}  // namespace farfault::analysis
