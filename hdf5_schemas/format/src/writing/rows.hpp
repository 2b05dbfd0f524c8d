// SPDX-License-Identifier: Apache-2.0
// A dataset whose rows (first dimension) are appended over time or written in one call.
//
// A growing dataset is chunked, and HDF5 keeps an index of its chunks. Rows are written when they complete a
// chunk, which is compressed as a whole. The remaining rows wait in memory until write_tail() writes them. A
// dataset whose rows are all known at creation, as at the end of a short run, is stored like any other
// dataset and takes 10% of the space; append() its rows in one call. If it has one chunk of zeros, the chunk
// is not written.
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "file/commit_file.hpp"
#include "file/text.hpp"
#include "file/value_hash.hpp"
#include "layout.hpp"
#include "packed_chunk.hpp"
#include "reading/digest_of.hpp"

namespace farfault::results {

class RowDataset {
 public:
  // `total`: final number of rows; nullopt: it grows.
  RowDataset(hid_t parent, std::string const& name, Element element, std::vector<hsize_t> row_shape,
             std::optional<std::uint64_t> total, Description const& about);
  // Rows of one text each, of this form.
  RowDataset(hid_t parent, std::string const& name, TextForm form, std::optional<std::uint64_t> total,
             Description const& about);

  void append(std::uint64_t rows, std::uint64_t const* words);
  void append(std::span<std::string const> texts);  // well-formed texts that fit the form
  // Writes the waiting rows. Later rows of the same chunk cause it to be compressed again.
  void write_tail();
  // Call after H5Fflush. Releases the blocks of `file` that the last chunks no longer use.
  void release_replaced(CommitFile& file);

  hid_t get() const { return dataset_; }
  void set_attribute(char const* name, std::string const& value);
  // The dataset as the digest needs it; only for numbers.
  KnownDataset known() const;
  bool grows() const { return grows_; }

 private:
  struct Block {
    haddr_t address;
    hsize_t size;
  };
  void make(hid_t parent, std::string const& name, Element element, std::optional<std::uint64_t> total,
            Description const& about);
  void add(std::uint64_t rows, std::byte const* data);
  void write(std::uint64_t rows, std::byte const* data);
  void write_chunks(std::uint64_t rows, std::byte const* data);
  void extend(std::uint64_t rows);
  std::vector<Block> blocks_at(std::uint64_t row) const;

  Handle file_type_, memory_type_, dataset_;
  std::vector<hsize_t> shape_, chunk_;  // chunk_ is empty if the dataset is not chunked
  bool grows_ = true;
  std::size_t width_ = 0;  // of a text
  std::size_t row_bytes_ = 0;
  std::uint64_t rows_ = 0;           // written
  std::vector<std::byte> waiting_;   // rows of an incomplete chunk
  std::vector<PackedChunk> packed_;  // per piece of a row, if a chunk is smaller than a row
  Element element_;
  std::map<std::string, std::string> attributes_;
  std::optional<ValueHash> hash_;  // of all appended rows of numbers
  std::uint64_t tail_row_ = 0;     // first row of the incomplete last chunks
  std::vector<Block> tail_;        // location of these chunks in the file
};

}  // namespace farfault::results
