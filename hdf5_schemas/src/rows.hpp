// SPDX-License-Identifier: Apache-2.0
// A dataset whose first dimension is rows that come one after another, or all at once.
//
// One that grows is chunked, and HDF5 keeps an index of its chunks. Rows are written when they complete a
// chunk, which is compressed as a whole; those behind wait in memory, or are written by write_tail(). Where
// all rows are known when it is made, as at the end of a short run, it is stored like any other dataset,
// which takes a tenth of the room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "commit_file.hpp"
#include "layout.hpp"
#include "packed_chunk.hpp"
#include "text.hpp"

namespace farfault::results {

class RowDataset {
 public:
  // `total`: all the rows there will be; nothing where it grows.
  RowDataset(hid_t parent, std::string const& name, Element element, std::vector<hsize_t> row_shape,
             std::optional<std::uint64_t> total, Description const& about);
  // Rows of one text each, of this form.
  RowDataset(hid_t parent, std::string const& name, TextForm form, std::optional<std::uint64_t> total,
             Description const& about);

  void append(std::uint64_t rows, std::uint64_t const* words);
  void append(std::span<std::string const> texts);  // well-formed ones that fit the form
  // Writes the rows that wait. Their chunk is compressed again with those to come.
  void write_tail();
  // After H5Fflush: tells `file` which blocks the last chunks have left behind.
  void release_replaced(CommitFile& file);

  hid_t get() const { return dataset_; }
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
  std::vector<hsize_t> shape_, chunk_;
  bool grows_ = true;
  std::size_t width_ = 0;  // of a text
  std::size_t row_bytes_ = 0;
  std::uint64_t rows_ = 0;           // written
  std::vector<std::byte> waiting_;   // rows of a chunk that is not complete
  std::vector<PackedChunk> packed_;  // by piece of a row, where a chunk holds no whole one
  std::uint64_t tail_row_ = 0;       // where the incomplete last chunks begin
  std::vector<Block> tail_;          // and where they lie in the file
};

}  // namespace farfault::results
