// The building blocks of the layout: described datasets, strings, dimension scales, and datasets that grow.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "commit_file.hpp"
#include "handle.hpp"

namespace farfault::results {

// Every object of the file is created without times, and every dataset of more than one value is chunked,
// shuffled and deflated.
Handle create_group(hid_t parent, std::string const& name);

// A copy of the variable-length UTF-8 string type.
Handle string_type();

void set_attribute(hid_t object, char const* name, std::string const& value);
void set_attribute(hid_t object, char const* name, std::int64_t value);
void set_attribute(hid_t object, char const* name, std::uint64_t value);

struct Description {
  std::string unit;
  std::string text;
};

Handle write_scalar(hid_t parent, std::string const& name, std::string const& value,
                    Description const& about);
Handle write_scalar(hid_t parent, std::string const& name, std::uint64_t value, Description const& about);
Handle write_scalar(hid_t parent, std::string const& name, double value, Description const& about);

Handle write_column(hid_t parent, std::string const& name, std::span<std::string const> values,
                    Description const& about);
Handle write_column(hid_t parent, std::string const& name, std::span<std::uint64_t const> values,
                    Description const& about);
Handle write_column(hid_t parent, std::string const& name, std::span<double const> values,
                    Description const& about);

// Makes `dataset` the coordinate of a dimension called `name`; attach_scale ties axis `axis` of `dataset` to
// it.
void make_scale(hid_t dataset, std::string const& name);
void attach_scale(hid_t dataset, hid_t scale, unsigned axis);

enum class Element : std::uint8_t { u64, i64, text };

// A dataset that grows along its first dimension.
class GrowingDataset {
 public:
  GrowingDataset(hid_t parent, std::string const& name, Element element, std::vector<hsize_t> row_shape,
                 Description const& about);

  // `rows` rows of uint64_t, int64_t or char const*, as the element says.
  void append(std::uint64_t rows, void const* data);
  // After H5Fflush: tells `file` which blocks the last chunks have left behind.
  void release_replaced(CommitFile& file);

  hid_t get() const { return dataset_; }
  std::uint64_t rows() const { return rows_; }
  std::uint64_t values_per_row() const { return values_per_row_; }

 private:
  struct Block {
    haddr_t address;
    hsize_t size;
  };
  std::vector<Block> blocks_at(std::uint64_t row) const;

  Handle dataset_;
  Handle memory_type_;
  std::vector<hsize_t> shape_, chunk_;
  std::uint64_t rows_ = 0;
  std::uint64_t values_per_row_ = 1;
  std::uint64_t tail_row_ = 0;  // where the incomplete last chunks begin
  std::vector<Block> tail_;     // and where they lie in the file
};

}  // namespace farfault::results
