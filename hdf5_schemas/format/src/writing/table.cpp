// SPDX-License-Identifier: Apache-2.0
#include "table.hpp"

#include <hdf5.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "farfault/engine/error.hpp"
#include "farfault/results/reading/walk.hpp"
#include "store.hpp"

namespace farfault::results {
namespace {

constexpr std::size_t kMinWidth = 32;  // of texts in a growing column

TextForm joined(TextForm a, TextForm b) {
  return {std::max(a.width, b.width), a.ascii && b.ascii};
}

}  // namespace

Table::Table(TableInfo const& info) : info_(info), columns_(info.columns.size()) {
  FF_CHECK(is_object_name(info.name), "the name of a table is invalid");
  for (auto const& column : info.columns)
    FF_CHECK(is_object_name(column.name) && column.name != "row", "the name of a table column is invalid");
}

std::size_t Table::add(std::span<Cell const> row) {
  FF_CHECK(row.size() == columns_.size(), "the number of cells of a row differs from its table");
  std::size_t bytes = 8;
  for (std::size_t c = 0; c < row.size(); ++c) {
    auto& column = columns_[c];
    FF_CHECK(row[c].index() == static_cast<std::size_t>(info_.columns[c].type),
             "the type of a cell differs from its column");
    bytes += 8;
    if (auto const* u = std::get_if<std::uint64_t>(&row[c])) column.words.push_back(*u);
    if (auto const* i = std::get_if<std::int64_t>(&row[c]))
      column.words.push_back(static_cast<std::uint64_t>(*i));
    if (auto const* s = std::get_if<std::string>(&row[c])) {
      column.texts.push_back(well_formed(*s));
      bytes += sizeof(std::string) + s->size();
    }
  }
  ++waiting_;
  return bytes;
}

void Table::make_column(std::size_t number, std::optional<std::uint64_t> total, std::string const& name) {
  auto& column = columns_[number];
  auto const& info = info_.columns[number];
  Description const about{info.unit, info.text};
  if (info.type == ColumnType::text)
    column.dataset.emplace(group_, name, column.form, total, about);
  else
    column.dataset.emplace(group_, name, info.type == ColumnType::i64 ? Element::i64 : Element::u64,
                           std::vector<hsize_t>{}, total, about);
}

void Table::make(hid_t tables, std::optional<std::uint64_t> total) {
  group_ = create_group(tables, info_.name, info_.columns.size() + 1);
  set_attribute(group_, "description", info_.text);
  index_.emplace(group_, "row", Element::u64, std::vector<hsize_t>{}, total,
                 Description{"1", "Index of the row"});
  make_scale(index_->get(), "row");
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    auto& form = columns_[c].form;
    form = form_of(columns_[c].texts);
    if (!total) form.width = std::max(std::bit_ceil(form.width), kMinWidth);
    make_column(c, total, info_.columns[c].name);
  }
  tie();
}

void Table::tie() {
  ScaleTies ties;
  for (auto const& column : columns_) ties.tie(column.dataset->get(), {index_->get()});
  ties.write();
}

// Replaces the column by a dataset of longer texts; the space of the old one is lost.
void Table::widen(std::size_t number, TextForm form) {
  auto& column = columns_[number];
  auto const& name = info_.columns[number].name;
  form.width = std::bit_ceil(form.width);
  column.form = form;
  auto narrow = std::move(*column.dataset);
  narrow.write_tail();
  make_column(number, std::nullopt, name + ".wider");
  auto const shape = shape_of_dataset(narrow.get());
  for_pieces(shape, [&](std::uint64_t row, std::uint64_t rows) {
    column.dataset->append(read_texts(narrow.get(), shape, row, rows));
  });
  check(H5Ldelete(group_, name.c_str(), H5P_DEFAULT), "cannot replace a column");
  check(H5Lmove(group_, (name + ".wider").c_str(), group_, name.c_str(), H5P_DEFAULT, H5P_DEFAULT),
        "cannot replace a column");
  tie();
}

void Table::write(hid_t tables, bool last) {
  if (!index_) {
    if (waiting_ == 0 && !last) return;
    make(tables, last ? std::optional(waiting_) : std::nullopt);
  }
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    auto& column = columns_[c];
    if (info_.columns[c].type == ColumnType::text) {
      auto const form = form_of(column.texts);
      if (!fits(form, column.form)) widen(c, joined(form, column.form));
      column.dataset->append(column.texts);
    } else {
      column.dataset->append(waiting_, column.words.data());
    }
    column.words.clear();
    column.texts.clear();
  }
  std::vector<std::uint64_t> numbers(waiting_);
  std::iota(numbers.begin(), numbers.end(), written_);
  index_->append(waiting_, numbers.data());
  written_ += waiting_;
  waiting_ = 0;
}

void Table::write_tails() {
  if (!index_) return;
  for (auto& column : columns_) column.dataset->write_tail();
  index_->write_tail();
}

void Table::release_replaced(CommitFile& file) {
  if (!index_) return;
  index_->release_replaced(file);
  for (auto& column : columns_) column.dataset->release_replaced(file);
}

void Table::add_known(KnownDatasets& to) const {
  if (!index_) return;
  auto const folder = "/tables/" + info_.name + "/";
  to.emplace(folder + "row", index_->known());
  for (std::size_t c = 0; c < columns_.size(); ++c)
    if (info_.columns[c].type != ColumnType::text)
      to.emplace(folder + info_.columns[c].name, columns_[c].dataset->known());
}

}  // namespace farfault::results
