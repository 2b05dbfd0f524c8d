// SPDX-License-Identifier: Apache-2.0
#include "layout.hpp"

#include <hdf5.h>
#include <hdf5_hl.h>

#include <algorithm>

#include "file/text.hpp"
#include "units.hpp"

namespace farfault::results {
namespace {

constexpr std::size_t kCompactBytes = 256;
constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
constexpr unsigned kTypicalName = 14;

void write_attribute(hid_t object, char const* name, hid_t type, hid_t space, void const* value) {
  if (check(H5Aexists(object, name), "cannot look for an attribute") > 0)
    check(H5Adelete(object, name), "cannot replace an attribute");
  Handle const attribute(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT),
                         "cannot add an attribute");
  check(H5Awrite(attribute, type, value), "cannot write an attribute");
}

void write_attribute(hid_t object, char const* name, hid_t type, void const* value) {
  Handle const space(H5Screate(H5S_SCALAR), "cannot create a dataspace");
  write_attribute(object, name, type, space, value);
}

Handle write_values(hid_t parent, std::string const& name, Element element, Handle const& file_type,
                    hid_t memory_type, std::span<hsize_t const> extents, void const* data,
                    Description const& about) {
  Handle const space(extents.empty()
                         ? H5Screate(H5S_SCALAR)
                         : H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr),
                     "cannot create a dataspace");
  auto const list = storage_of(extents, H5Tget_size(file_type));
  Handle dataset(H5Dcreate2(parent, name.c_str(), file_type, space, H5P_DEFAULT, list, H5P_DEFAULT),
                 "cannot add a dataset");
  describe(dataset, element, about);
  bool const any = std::find(extents.begin(), extents.end(), hsize_t{0}) == extents.end();
  if (any)
    check(H5Dwrite(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), "cannot write a dataset");
  return dataset;
}

Handle write_numbers(hid_t parent, std::string const& name, Element element, std::span<hsize_t const> extents,
                     void const* data, Description const& about) {
  Handle const type(H5Tcopy(file_type_of(element)), "cannot create a datatype");
  return write_values(parent, name, element, type, memory_type_of(element), extents, data, about);
}

Handle write_texts(hid_t parent, std::string const& name, std::span<std::string const> given,
                   std::span<hsize_t const> extents, Description const& about) {
  std::vector<std::string> texts;
  texts.reserve(given.size());
  for (auto const& text : given) texts.push_back(well_formed(text));
  auto const form = form_of(texts);
  auto const type = text_type(form);
  return write_values(parent, name, Element::text, type, type, extents, text_block(texts, form.width).data(),
                      about);
}

template <class Value>
Handle write_list(hid_t parent, std::string const& name, Element element, std::span<Value const> values,
                  Description const& about) {
  hsize_t const size = values.size();
  return write_numbers(parent, name, element, std::span(&size, 1), values.data(), about);
}

}  // namespace

Handle create_group(hid_t parent, std::string const& name, std::size_t members) {
  Handle const list(H5Pcreate(H5P_GROUP_CREATE), "cannot set group properties");
  check(H5Pset_obj_track_times(list, false), "cannot set group properties");
  // Keep all links in the header of the group: the index that HDF5 builds for more than eight links takes
  // more space.
  check(H5Pset_link_phase_change(list, 4096, 4096), "cannot set group properties");
  check(H5Pset_est_link_info(list, static_cast<unsigned>(std::clamp<std::size_t>(members, 1, 1000)),
                             kTypicalName),
        "cannot set group properties");
  return {H5Gcreate2(parent, name.c_str(), H5P_DEFAULT, list, H5P_DEFAULT), "cannot add a group"};
}

void set_attribute(hid_t object, char const* name, std::string const& value) {
  std::vector<std::string> const texts{well_formed(value)};
  auto const form = form_of(texts);
  write_attribute(object, name, text_type(form), text_block(texts, form.width).data());
}

void set_attribute(hid_t object, char const* name, std::int64_t value) {
  write_attribute(object, name, H5T_NATIVE_INT64, &value);
}

void set_attribute(hid_t object, char const* name, std::uint64_t value) {
  write_attribute(object, name, H5T_NATIVE_UINT64, &value);
}

hid_t file_type_of(Element element) {
  return element == Element::u64 ? H5T_STD_U64LE : element == Element::i64 ? H5T_STD_I64LE : H5T_IEEE_F64LE;
}

hid_t memory_type_of(Element element) {
  return element == Element::u64   ? H5T_NATIVE_UINT64
         : element == Element::i64 ? H5T_NATIVE_INT64
                                   : H5T_NATIVE_DOUBLE;
}

Handle storage_of(std::span<hsize_t const> extents, std::size_t value_bytes) {
  Handle list(H5Pcreate(H5P_DATASET_CREATE), "cannot set dataset properties");
  check(H5Pset_obj_track_times(list, false), "cannot set dataset properties");
  auto bytes = value_bytes;
  for (auto const extent : extents) bytes *= extent;
  if (bytes == 0) return list;
  if (bytes <= kCompactBytes) {
    check(H5Pset_layout(list, H5D_COMPACT), "cannot set a compact layout");
  } else if (!extents.empty()) {
    std::vector<hsize_t> chunk(extents.begin(), extents.end());
    auto room = std::max<hsize_t>(kChunkBytes / value_bytes, 1);
    for (std::size_t axis = chunk.size(); axis-- > 0;) {
      chunk[axis] = std::clamp<hsize_t>(chunk[axis], 1, std::max<hsize_t>(room, 1));
      room /= chunk[axis];
    }
    compress(list, chunk);
  }
  return list;
}

void compress(hid_t list, std::vector<hsize_t> const& chunk) {
  check(H5Pset_chunk(list, static_cast<int>(chunk.size()), chunk.data()), "cannot set a chunked layout");
  check(H5Pset_shuffle(list), "cannot add the shuffle filter");
  check(H5Pset_deflate(list, kDeflateLevel), "cannot add the deflate filter");
}

std::map<std::string, std::string> description_of(Element element, Description const& about) {
  std::map<std::string, std::string> attributes{{"units", udunits(about.unit)},
                                                {"long_name", well_formed(about.text)}};
  if (element == Element::text) attributes.emplace("_Encoding", "utf-8");
  return attributes;
}

void describe(hid_t dataset, Element element, Description const& about) {
  for (auto const& [name, value] : description_of(element, about))
    set_attribute(dataset, name.c_str(), value);
}

Handle write_scalar(hid_t parent, std::string const& name, std::string const& value,
                    Description const& about) {
  return write_texts(parent, name, std::span(&value, 1), {}, about);
}

Handle write_scalar(hid_t parent, std::string const& name, std::uint64_t value, Description const& about) {
  return write_numbers(parent, name, Element::u64, {}, &value, about);
}

Handle write_scalar(hid_t parent, std::string const& name, double value, Description const& about) {
  return write_numbers(parent, name, Element::real, {}, &value, about);
}

Handle write_column(hid_t parent, std::string const& name, std::span<std::string const> values,
                    Description const& about) {
  hsize_t const size = values.size();
  return write_texts(parent, name, values, std::span(&size, 1), about);
}

Handle write_column(hid_t parent, std::string const& name, std::span<std::uint64_t const> values,
                    Description const& about) {
  return write_list(parent, name, Element::u64, values, about);
}

Handle write_column(hid_t parent, std::string const& name, std::span<double const> values,
                    Description const& about) {
  return write_list(parent, name, Element::real, values, about);
}

void make_scale(hid_t dataset, std::string const& name) {
  check(H5DSset_scale(dataset, name.c_str()), "cannot create a dimension scale");
}

void ScaleTies::tie(hid_t dataset, std::vector<hid_t> const& scales) {
  Use use{0, 0, 0};
  check(H5Rcreate(&use.dataset, dataset, ".", H5R_OBJECT, -1), "cannot reference a dataset");
  std::vector<hobj_ref_t> references(scales.size());
  std::vector<hvl_t> axes(scales.size());
  for (std::size_t axis = 0; axis < scales.size(); ++axis) {
    check(H5Rcreate(&references[axis], scales[axis], ".", H5R_OBJECT, -1),
          "cannot reference a dimension scale");
    axes[axis] = {1, &references[axis]};
    use.axis = static_cast<int>(axis);
    auto const known =
        std::find_if(scales_.begin(), scales_.end(), [&](auto const& s) { return s.first == scales[axis]; });
    if (known != scales_.end())
      known->second.push_back(use);
    else
      scales_.push_back({scales[axis], {use}});
  }
  Handle const type(H5Tvlen_create(H5T_STD_REF_OBJ), "cannot create a reference datatype");
  hsize_t const rank = scales.size();
  Handle const space(H5Screate_simple(1, &rank, nullptr), "cannot create a dataspace");
  write_attribute(dataset, DIMENSION_LIST, type, space, axes.data());
}

void ScaleTies::write() {
  Handle const type(H5Tcreate(H5T_COMPOUND, sizeof(Use)), "cannot create a reference datatype");
  check(H5Tinsert(type, "dataset", HOFFSET(Use, dataset), H5T_STD_REF_OBJ),
        "cannot create a reference datatype");
  check(H5Tinsert(type, "dimension", HOFFSET(Use, axis), H5T_NATIVE_INT),
        "cannot create a reference datatype");
  for (auto const& [scale, uses] : scales_) {
    hsize_t const count = uses.size();
    Handle const space(H5Screate_simple(1, &count, nullptr), "cannot create a dataspace");
    write_attribute(scale, REFERENCE_LIST, type, space, uses.data());
  }
  scales_.clear();
}

}  // namespace farfault::results
