// SPDX-License-Identifier: Apache-2.0
// Building blocks of the layout: groups, attributes, datasets written in one call, dimension scales.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "farfault/results/reading/handle.hpp"

namespace farfault::results {

// `members`: approximate number of links of the group, so that they are stored together.
Handle create_group(hid_t parent, std::string const& name, std::size_t members);

void set_attribute(hid_t object, char const* name, std::string const& value);
void set_attribute(hid_t object, char const* name, std::int64_t value);
void set_attribute(hid_t object, char const* name, std::uint64_t value);

struct Description {
  std::string unit;  // as declared; the attribute `units` has the UDUNITS unit
  std::string text;  // the attribute `long_name`
};

enum class Element : std::uint8_t { u64, i64, real, text };
hid_t file_type_of(Element element);  // of numbers
hid_t memory_type_of(Element element);

// zlib level. The next level takes three times as long and saves about 12% of the space.
inline constexpr int kDeflateLevel = 3;

// Storage of a dataset of known extents (none: one value): in its object header if it is small, otherwise in
// chunks of whole rows, shuffled and deflated.
Handle storage_of(std::span<hsize_t const> extents, std::size_t value_bytes);
void compress(hid_t list, std::vector<hsize_t> const& chunk);
std::map<std::string, std::string> description_of(Element element, Description const& about);  // attributes
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

// Makes `dataset` the coordinate of the dimension `name`.
void make_scale(hid_t dataset, std::string const& name);

// Attaches datasets to the scales of their axes, all datasets of a group at once. HDF5's H5DSattach_scale
// rewrites the list of a scale for every dataset and wastes the space of the old lists.
class ScaleTies {
 public:
  void tie(hid_t dataset, std::vector<hid_t> const& scales);  // scales[axis]
  void write();                                               // call once, after all tie()

 private:
  struct Use {
    hobj_ref_t dataset;
    int axis;
    int unused;  // padding between two uses: initialized, because it is written
  };
  std::vector<std::pair<hid_t, std::vector<Use>>> scales_;
};

}  // namespace farfault::results
