// SPDX-License-Identifier: Apache-2.0
#include "rows.hpp"

#include <hdf5.h>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace farfault::results {
namespace {

constexpr hsize_t kRowChunkBytes = 64 << 10;
constexpr hsize_t kChunkRows = 1024;

// A chunk holds whole rows if possible, otherwise part of one row.
std::vector<hsize_t> chunk_of(std::vector<hsize_t> const& shape, std::size_t value_bytes) {
  auto chunk = shape;
  auto room = std::max<hsize_t>(kRowChunkBytes / value_bytes, 1);
  for (std::size_t axis = chunk.size(); axis-- > 1;) {
    chunk[axis] = std::clamp<hsize_t>(chunk[axis], 1, std::max<hsize_t>(room, 1));
    room /= chunk[axis];
  }
  chunk[0] = std::clamp<hsize_t>(room, 1, kChunkRows);
  return chunk;
}

bool all_zero(std::byte const* data, std::size_t bytes) {
  return std::all_of(data, data + std::min<std::size_t>(bytes, 8),
                     [](auto b) { return b == std::byte{0}; }) &&
         (bytes <= 8 || std::memcmp(data, data + 8, bytes - 8) == 0);
}

}  // namespace

RowDataset::RowDataset(hid_t parent, std::string const& name, Element element, std::vector<hsize_t> row_shape,
                       std::optional<std::uint64_t> total, Description const& about)
    : file_type_(H5Tcopy(file_type_of(element)), "cannot create a datatype"),
      memory_type_(H5Tcopy(memory_type_of(element)), "cannot create a datatype"),
      shape_(std::move(row_shape)),
      element_(element) {
  hash_.emplace(std::accumulate(shape_.begin(), shape_.end(), std::size_t{1}, std::multiplies<>{}));
  make(parent, name, element, total, about);
}

RowDataset::RowDataset(hid_t parent, std::string const& name, TextForm form,
                       std::optional<std::uint64_t> total, Description const& about)
    : file_type_(text_type(form)),
      memory_type_(text_type(form)),
      width_(form.width),
      element_(Element::text) {
  make(parent, name, Element::text, total, about);
}

void RowDataset::make(hid_t parent, std::string const& name, Element element,
                      std::optional<std::uint64_t> total, Description const& about) {
  grows_ = !total;
  shape_.insert(shape_.begin(), total.value_or(0));
  auto const value_bytes = H5Tget_size(file_type_);
  row_bytes_ = H5Tget_size(memory_type_);
  for (std::size_t axis = 1; axis < shape_.size(); ++axis) row_bytes_ *= shape_[axis];
  auto limits = shape_;
  Handle list, access(H5Pcreate(H5P_DATASET_ACCESS), "cannot set access properties");
  if (grows_) {
    chunk_ = chunk_of(shape_, value_bytes);
    limits[0] = H5S_UNLIMITED;
    list = storage_of({}, 0);
    compress(list, chunk_);
    // Chunks are written whole, so the cache needs space for only one.
    check(H5Pset_chunk_cache(access, 7, kRowChunkBytes, 1.0), "cannot set the chunk cache");
  } else {
    list = storage_of(shape_, value_bytes);
    if (H5Pget_layout(list) == H5D_CHUNKED) {
      chunk_.resize(shape_.size());
      check(H5Pget_chunk(list, static_cast<int>(chunk_.size()), chunk_.data()), "cannot read the chunk size");
    }
  }
  Handle const space(H5Screate_simple(static_cast<int>(shape_.size()), shape_.data(), limits.data()),
                     "cannot create a dataspace");
  dataset_ = Handle(H5Dcreate2(parent, name.c_str(), file_type_, space, H5P_DEFAULT, list, access),
                    "cannot add a dataset");
  for (auto const& [key, value] : description_of(element, about)) set_attribute(key.c_str(), value);
}

void RowDataset::set_attribute(char const* name, std::string const& value) {
  results::set_attribute(dataset_, name, value);
  attributes_[name] = well_formed(value);
}

KnownDataset RowDataset::known() const {
  auto extents = std::vector<std::uint64_t>(shape_.begin(), shape_.end());
  extents[0] = rows_ + (row_bytes_ == 0 ? 0 : waiting_.size() / row_bytes_);
  return {element_ == Element::i64 ? Kind::integer : Kind::unsigned_integer, extents, attributes_,
          hash_->value()};
}

void RowDataset::append(std::uint64_t rows, std::uint64_t const* words) {
  hash_->add(rows, words);
  add(rows, reinterpret_cast<std::byte const*>(words));
}

void RowDataset::append(std::span<std::string const> texts) {
  auto const block = text_block(texts, width_);
  add(texts.size(), reinterpret_cast<std::byte const*>(block.data()));
}

void RowDataset::add(std::uint64_t rows, std::byte const* data) {
  if (!grows_ || row_bytes_ == 0) return write(rows, data);
  auto const waiting = waiting_.size() / row_bytes_;
  auto const there_are = rows_ + waiting;
  auto const complete = (there_are + rows) / chunk_[0] * chunk_[0];
  auto const* const end = data + rows * row_bytes_;
  if (complete > rows_) {
    if (waiting != 0) {
      // The rest of the chunk that the waiting rows begin.
      auto const rest = chunk_[0] - there_are % chunk_[0];
      waiting_.insert(waiting_.end(), data, data + rest * row_bytes_);
      data += rest * row_bytes_;
      write_tail();
    }
    write(complete - rows_, data);
    data = end - (there_are + rows - complete) * row_bytes_;
  }
  waiting_.insert(waiting_.end(), data, end);
}

void RowDataset::write_tail() {
  if (waiting_.empty()) return;
  write(waiting_.size() / row_bytes_, waiting_.data());
  waiting_.clear();
}

void RowDataset::extend(std::uint64_t rows) {
  rows_ += rows;
  if (!grows_) return;
  shape_[0] = rows_;
  check(H5Dset_extent(dataset_, shape_.data()), "cannot extend a dataset");
}

// Writes complete chunks, and the incomplete last one of a dataset that does not grow. The values of each
// chunk are contiguous in `data`, because a chunk holds either whole rows or a piece of one row.
void RowDataset::write_chunks(std::uint64_t rows, std::byte const* data) {
  auto const value_bytes = H5Tget_size(file_type_);
  std::size_t chunk_bytes = value_bytes;
  for (auto const extent : chunk_) chunk_bytes *= extent;
  std::vector<std::byte> padded;
  std::vector<hsize_t> at(shape_.size(), 0);
  at[0] = rows_;
  extend(rows);
  std::size_t pieces = 1;
  for (std::size_t axis = 1; axis < at.size(); ++axis)
    pieces *= (shape_[axis] + chunk_[axis] - 1) / chunk_[axis];
  packed_.resize(pieces);
  for (std::size_t piece = 0; at[0] < rows_; piece = (piece + 1) % pieces) {
    auto bytes = value_bytes * std::min<hsize_t>(chunk_[0], rows_ - at[0]);
    for (std::size_t axis = 1; axis < at.size(); ++axis)
      bytes *= std::min(chunk_[axis], shape_[axis] - at[axis]);
    std::span chunk(data, bytes);
    if (bytes < chunk_bytes) {  // at the end of a row, or the last rows
      padded.assign(chunk_bytes, std::byte{0});
      std::ranges::copy(chunk, padded.begin());
      chunk = padded;
    }
    auto const packed = packed_[piece].pack(chunk, value_bytes);
    check(H5Dwrite_chunk(dataset_, H5P_DEFAULT, 0, at.data(), packed.size(), packed.data()),
          "cannot write a chunk");
    data += bytes;
    for (std::size_t axis = at.size(); axis-- > 0;) {
      at[axis] += chunk_[axis];
      if (axis == 0 || at[axis] < shape_[axis]) break;
      at[axis] = 0;
    }
  }
  if (!grows_) packed_ = {};
}

void RowDataset::write(std::uint64_t rows, std::byte const* data) {
  if (rows == 0) return;
  // HDF5 reads a chunk that was never written as zeros.
  if (!grows_ && chunk_ == shape_ && rows == shape_[0] && all_zero(data, rows * row_bytes_))
    return extend(rows);
  if (!chunk_.empty() && row_bytes_ != 0 && rows_ % chunk_[0] == 0 &&
      (rows % chunk_[0] == 0 || (!grows_ && rows_ + rows == shape_[0])))
    return write_chunks(rows, data);
  auto start = std::vector<hsize_t>(shape_.size(), 0);
  start[0] = rows_;
  auto count = shape_;
  count[0] = rows;
  extend(rows);
  Handle const space(H5Dget_space(dataset_), "cannot create a dataspace");
  check(H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr),
        "cannot select rows");
  Handle const memory(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr),
                      "cannot create a dataspace");
  check(H5Dwrite(dataset_, memory_type_, memory, space, H5P_DEFAULT, data), "cannot write rows");
}

std::vector<RowDataset::Block> RowDataset::blocks_at(std::uint64_t row) const {
  std::vector<Block> blocks;
  std::vector<hsize_t> at(shape_.size(), 0);
  at[0] = row;
  for (;;) {
    unsigned filters = 0;
    Block block{HADDR_UNDEF, 0};
    check(H5Dget_chunk_info_by_coord(dataset_, at.data(), &filters, &block.address, &block.size),
          "cannot find a chunk");
    blocks.push_back(block);
    std::size_t axis = at.size();
    while (--axis > 0) {
      at[axis] += chunk_[axis];
      if (at[axis] < shape_[axis]) break;
      at[axis] = 0;
    }
    if (axis == 0) return blocks;
  }
}

void RowDataset::release_replaced(CommitFile& file) {
  if (!grows_) return;
  if (!tail_.empty()) {
    auto const now = blocks_at(tail_row_);
    for (std::size_t i = 0; i < tail_.size(); ++i)
      if (now[i].address != tail_[i].address && tail_[i].address != HADDR_UNDEF)
        file.release(tail_[i].address, tail_[i].size);
    tail_.clear();
  }
  tail_row_ = rows_ / chunk_[0] * chunk_[0];
  if (tail_row_ < rows_) tail_ = blocks_at(tail_row_);
}

}  // namespace farfault::results
