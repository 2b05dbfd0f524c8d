// SPDX-License-Identifier: Apache-2.0
// Results that try to make their reader read another file: an object of a sound result is replaced by one
// whose data is in the other file. That file contains a marker, which no reader may repeat.
#pragma once

#include <hdf5.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace farfault::results::outside {

// Eight bytes, so that a file of markers is the same text and the same number at any aligned offset.
inline constexpr std::string_view kMarker = "SECRET!!";

inline bool has_marker(std::string_view text) {
  std::uint64_t number = 0;
  std::memcpy(&number, kMarker.data(), sizeof number);
  return text.find(kMarker) != text.npos || text.find(std::to_string(number)) != text.npos;
}

inline void write_secret(std::string const& path) {
  std::ofstream out(path, std::ios::binary);
  for (int i = 0; i < 4096; ++i) out << kMarker;
}

// The paths of all groups and datasets except the root.
inline std::vector<std::string> objects(hid_t file) {
  std::vector<std::string> found;
  auto const visit = [](hid_t, char const* name, H5O_info_t const*, void* to) -> herr_t {
    if (std::string_view(name) != ".")
      static_cast<std::vector<std::string>*>(to)->push_back("/" + std::string(name));
    return 0;
  };
  H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_INC, visit, &found, H5O_INFO_BASIC);
  return found;
}

// Overwrites the values of a dataset, texts and 64-bit integers, with the marker.
inline void fill_with_marker(hid_t dataset) {
  auto const type = H5Dget_type(dataset);
  auto const space = H5Dget_space(dataset);
  auto const width = H5Tget_size(type);
  std::vector<char> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)) * width);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = kMarker[i % width % kMarker.size()];
  if (H5Tget_class(type) != H5T_FLOAT && !values.empty())
    H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  H5Sclose(space);
  H5Tclose(type);
}

inline void fill_all_with_marker(hid_t file) {
  for (auto const& path : objects(file)) {
    auto const object = H5Oopen(file, path.c_str(), H5P_DEFAULT);
    if (H5Iget_type(object) == H5I_DATASET) fill_with_marker(object);
    H5Oclose(object);
  }
}

enum class Way : std::uint8_t {
  external_storage,
  external_link,
  soft_then_external,
  virtual_layout,
  other_filter
};
inline constexpr std::array kWays = {Way::external_storage, Way::external_link, Way::soft_then_external,
                                     Way::virtual_layout, Way::other_filter};

struct Targets {
  std::string raw;     // target of external storage
  std::string result;  // target of links and views
};

namespace detail {

// Copies the attributes of fixed size, which describe the content of a dataset.
inline void copy_attributes(hid_t from, hid_t to) {
  auto const copy = [](hid_t object, char const* name, H5A_info_t const*, void* target) -> herr_t {
    auto const source = H5Aopen(object, name, H5P_DEFAULT);
    auto const type = H5Aget_type(source);
    auto const space = H5Aget_space(source);
    if (H5Tget_class(type) == H5T_STRING || H5Tget_class(type) == H5T_INTEGER) {
      std::vector<char> bytes(H5Tget_size(type) *
                              static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
      H5Aread(source, type, bytes.data());
      auto const made = H5Acreate2(*static_cast<hid_t*>(target), name, type, space, H5P_DEFAULT, H5P_DEFAULT);
      H5Awrite(made, type, bytes.data());
      H5Aclose(made);
    }
    H5Sclose(space);
    H5Tclose(type);
    H5Aclose(source);
    return 0;
  };
  H5Aiterate2(from, H5_INDEX_NAME, H5_ITER_INC, nullptr, copy, &to);
}

// A data space with the extents of a dataset, not extensible.
inline hid_t fixed_space(hid_t dataset, bool scalar_allowed) {
  auto const space = H5Dget_space(dataset);
  std::vector<hsize_t> extents(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space)));
  H5Sget_simple_extent_dims(space, extents.data(), nullptr);
  H5Sclose(space);
  if (extents.empty() && scalar_allowed) return H5Screate(H5S_SCALAR);
  if (extents.empty()) extents = {1};
  return H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr);
}

inline bool replace_dataset(hid_t file, std::string const& path, Way way, Targets const& to) {
  auto const old = H5Dopen2(file, path.c_str(), H5P_DEFAULT);
  auto const type = H5Dget_type(old);
  auto const space = fixed_space(old, way == Way::external_storage);
  auto const list = H5Pcreate(H5P_DATASET_CREATE);
  if (way == Way::external_storage) {
    H5Pset_external(list, to.raw.c_str(), 0, H5F_UNLIMITED);
  } else if (way == Way::virtual_layout) {
    H5Pset_virtual(list, space, to.result.c_str(), path.c_str(), space);
  } else {
    std::vector<hsize_t> const chunk(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space)), 1);
    H5Pset_chunk(list, static_cast<int>(chunk.size()), chunk.data());
    H5Pset_fletcher32(list);
  }
  auto const fresh = H5Dcreate2(file, "replacement", type, space, H5P_DEFAULT, list, H5P_DEFAULT);
  if (fresh >= 0) {
    copy_attributes(old, fresh);
    H5Dclose(fresh);
    H5Ldelete(file, path.c_str(), H5P_DEFAULT);
    H5Lmove(file, "replacement", file, path.c_str(), H5P_DEFAULT, H5P_DEFAULT);
  }
  H5Pclose(list);
  H5Sclose(space);
  H5Tclose(type);
  H5Dclose(old);
  return fresh >= 0;
}

}  // namespace detail

// Replaces the group or dataset at `path`. False if HDF5 does not allow it: a group has no storage, a scalar
// no view.
inline bool replace(hid_t file, std::string const& path, Way way, Targets const& to) {
  if (way == Way::external_link || way == Way::soft_then_external) {
    H5Ldelete(file, path.c_str(), H5P_DEFAULT);
    auto const* const link = way == Way::external_link ? path.c_str() : "/elsewhere";
    H5Ldelete(file, "/elsewhere", H5P_DEFAULT);
    H5Lcreate_external(to.result.c_str(), path.c_str(), file, link, H5P_DEFAULT, H5P_DEFAULT);
    if (way == Way::soft_then_external) H5Lcreate_soft(link, file, path.c_str(), H5P_DEFAULT, H5P_DEFAULT);
    return true;
  }
  auto const object = H5Oopen(file, path.c_str(), H5P_DEFAULT);
  bool const is_dataset = H5Iget_type(object) == H5I_DATASET;
  if (object >= 0) H5Oclose(object);
  return is_dataset && detail::replace_dataset(file, path, way, to);
}

}  // namespace farfault::results::outside
