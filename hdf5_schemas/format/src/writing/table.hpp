// SPDX-License-Identifier: Apache-2.0
// A table of events: the group /tables/<name>, one dataset per column.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "farfault/results/writer.hpp"
#include "rows.hpp"

namespace farfault::results {

class Table {
 public:
  explicit Table(TableInfo const& info);

  TableInfo const& info() const { return info_; }
  std::uint64_t rows() const { return written_ + waiting_; }

  std::size_t add(std::span<Cell const> row);  // to the waiting rows; returns their bytes
  // Writes the waiting rows. `last`: no more rows follow. The file has the group from the first rows on.
  void write(ObjectId tables, bool last);
  void write_tails();  // the rows waiting for a complete chunk
  void release_replaced(CommitFile& file);
  void add_known(KnownDatasets& to) const;

 private:
  struct Column {
    std::vector<std::uint64_t> words;
    std::vector<std::string> texts;
    TextForm form;
    std::optional<RowDataset> dataset;
  };
  void make(ObjectId tables, std::optional<std::uint64_t> total);
  void make_column(std::size_t number, std::optional<std::uint64_t> total, std::string const& name);
  void widen(std::size_t number, TextForm form);
  void tie();

  TableInfo info_;
  Handle group_;  // empty until the file has the table
  std::optional<RowDataset> index_;
  std::vector<Column> columns_;
  std::uint64_t written_ = 0, waiting_ = 0;
};

}  // namespace farfault::results
