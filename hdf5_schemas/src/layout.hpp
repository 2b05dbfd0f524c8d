// SPDX-License-Identifier: Apache-2.0
// The building blocks of the layout: groups, attributes, datasets that are written at once, dimension scales.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "handle.hpp"

namespace farfault::results {

// `members`: about how many links the group will hold, so that they lie together in the file.
Handle create_group(hid_t parent, std::string const& name, std::size_t members);

void set_attribute(hid_t object, char const* name, std::string const& value);
void set_attribute(hid_t object, char const* name, std::int64_t value);
void set_attribute(hid_t object, char const* name, std::uint64_t value);

struct Description {
  std::string unit;  // as declared; the attribute `units` has it in the words of UDUNITS
  std::string text;  // the attribute `long_name`
};

enum class Element : std::uint8_t { u64, i64, real, text };
hid_t file_type_of(Element element);  // of numbers
hid_t memory_type_of(Element element);

// Of zlib's: the next one takes three times as long, and spares an eighth of the room.
inline constexpr int kDeflateLevel = 3;

// How a dataset of known extents (none: one value) is stored: with its header where it is small, else in
// chunks of whole rows, shuffled and deflated.
Handle storage_of(std::span<hsize_t const> extents, std::size_t value_bytes);
void compress(hid_t list, std::vector<hsize_t> const& chunk);
void describe(hid_t dataset, Element element, Description const& about);

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

// Makes `dataset` the coordinate of a dimension called `name`.
void make_scale(hid_t dataset, std::string const& name);

// Ties datasets to the scales of their axes, all of a group at once: HDF5's own H5DSattach_scale writes the
// list of a scale anew for every dataset, and the room of the old lists is lost.
class ScaleTies {
 public:
  void tie(hid_t dataset, std::vector<hid_t> const& scales);  // scales[axis]
  void write();                                               // once, when all are tied

 private:
  struct Use {
    hobj_ref_t dataset;
    int axis;
    int unused;  // the bytes between two uses: written, so given a value
  };
  std::vector<std::pair<hid_t, std::vector<Use>>> scales_;
};

}  // namespace farfault::results
