// SPDX-License-Identifier: Apache-2.0
// Reads and changes a result without the library: one element of a dataset, or an attribute.
#pragma once

#include <doctest/doctest.h>
#include <hdf5.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace edit {

// Opens a file for writing. Its destructor closes all objects in it.
class File {
 public:
  explicit File(std::string const& path) : id_(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT)) {
    REQUIRE(id_ >= 0);
  }
  File(File const&) = delete;
  File& operator=(File const&) = delete;
  ~File() { H5Fclose(id_); }
  operator hid_t() const { return id_; }

 private:
  hid_t id_;
};

// The paths of all datasets, in order.
inline std::vector<std::string> datasets(std::string const& path) {
  File const file(path);
  std::vector<std::string> found;
  auto const visit = [](hid_t at, char const* name, H5O_info_t const* info, void* to) -> herr_t {
    static_cast<void>(at);
    if (info->type == H5O_TYPE_DATASET)
      static_cast<std::vector<std::string>*>(to)->push_back("/" + std::string(name));
    return 0;
  };
  REQUIRE(H5Ovisit(file, H5_INDEX_NAME, H5_ITER_INC, visit, &found) >= 0);
  return found;
}

// The elements of a dataset as bytes, whatever their type.
class Elements {
 public:
  Elements(hid_t file, std::string const& path) : dataset_(H5Dopen2(file, path.c_str(), H5P_DEFAULT)) {
    REQUIRE(dataset_ >= 0);
    type_ = H5Dget_type(dataset_);
    auto const space = H5Dget_space(dataset_);
    count_ = static_cast<std::size_t>(H5Sget_simple_extent_npoints(space));
    H5Sclose(space);
    size_ = H5Tget_size(type_);
    bytes_.resize(count_ * size_);
    if (count_ > 0) REQUIRE(H5Dread(dataset_, type_, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes_.data()) >= 0);
  }
  Elements(Elements const&) = delete;
  Elements& operator=(Elements const&) = delete;
  ~Elements() {
    H5Tclose(type_);
    H5Dclose(dataset_);
  }

  std::size_t count() const { return count_; }
  std::string text(std::size_t element) const {
    std::string const padded(bytes_.begin() + static_cast<std::ptrdiff_t>(element * size_),
                             bytes_.begin() + static_cast<std::ptrdiff_t>((element + 1) * size_));
    return padded.substr(0, padded.find('\0'));
  }
  // Flips the lowest bit of the first byte of one element; a second call restores it.
  void flip(std::size_t element) {
    bytes_[element * size_] ^= 1;
    REQUIRE(H5Dwrite(dataset_, type_, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes_.data()) >= 0);
  }
  // Sets a 64-bit integer.
  void set(std::size_t element, std::uint64_t value) {
    REQUIRE(size_ == 8);
    std::memcpy(bytes_.data() + element * 8, &value, 8);
    REQUIRE(H5Dwrite(dataset_, type_, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes_.data()) >= 0);
  }

 private:
  hid_t dataset_, type_ = -1;
  std::size_t count_ = 0, size_ = 0;
  std::vector<unsigned char> bytes_;
};

inline std::vector<std::string> texts(hid_t file, std::string const& path) {
  Elements const elements(file, path);
  std::vector<std::string> found;
  for (std::size_t i = 0; i < elements.count(); ++i) found.push_back(elements.text(i));
  return found;
}

inline void add_group(std::string const& path, std::string const& name) {
  File const file(path);
  auto const id = H5Gcreate2(file, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  REQUIRE(id >= 0);
  H5Gclose(id);
}

inline void remove(std::string const& path, std::string const& name) {
  File const file(path);
  REQUIRE(H5Ldelete(file, name.c_str(), H5P_DEFAULT) >= 0);
}

inline void rename(std::string const& path, std::string const& from, std::string const& to) {
  File const file(path);
  REQUIRE(H5Lmove(file, from.c_str(), file, to.c_str(), H5P_DEFAULT, H5P_DEFAULT) >= 0);
}

// Truncates a dataset to its first rows.
inline void shorten(std::string const& path, std::string const& name, std::uint64_t rows) {
  File const file(path);
  auto const dataset = H5Dopen2(file, name.c_str(), H5P_DEFAULT);
  REQUIRE(dataset >= 0);
  auto const space = H5Dget_space(dataset);
  std::vector<hsize_t> extents(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space)));
  H5Sget_simple_extent_dims(space, extents.data(), nullptr);
  H5Sclose(space);
  extents.at(0) = rows;
  REQUIRE(H5Dset_extent(dataset, extents.data()) >= 0);
  H5Dclose(dataset);
}

inline void set_number(std::string const& path, char const* attribute, std::int64_t value) {
  File const file(path);
  auto const id = H5Aopen(file, attribute, H5P_DEFAULT);
  REQUIRE(id >= 0);
  REQUIRE(H5Awrite(id, H5T_NATIVE_INT64, &value) >= 0);
  H5Aclose(id);
}

}  // namespace edit
