#include "layout.hpp"

#include <hdf5_hl.h>

#include <algorithm>

namespace farfault::results {
namespace {

constexpr hsize_t kChunkValues = 8192;  // 64 KiB of numbers
constexpr unsigned kDeflateLevel = 4;

Handle dataset_list() {
  Handle list(H5Pcreate(H5P_DATASET_CREATE), "no dataset properties");
  check(H5Pset_obj_track_times(list, false), "no dataset properties");
  return list;
}

void compress(hid_t list, std::vector<hsize_t> const& chunk) {
  check(H5Pset_chunk(list, static_cast<int>(chunk.size()), chunk.data()), "no chunks");
  check(H5Pset_shuffle(list), "no shuffle filter");
  check(H5Pset_deflate(list, kDeflateLevel), "no deflate filter");
}

void write_attribute(hid_t object, char const* name, hid_t type, void const* value) {
  if (check(H5Aexists(object, name), "cannot look for an attribute") > 0)
    check(H5Adelete(object, name), "cannot replace an attribute");
  Handle const space(H5Screate(H5S_SCALAR), "no scalar");
  Handle const attribute(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT),
                         "cannot add an attribute");
  check(H5Awrite(attribute, type, value), "cannot write an attribute");
}

void describe(hid_t dataset, Description const& about) {
  set_attribute(dataset, "unit", about.unit);
  set_attribute(dataset, "description", about.text);
}

Handle write_values(hid_t parent, std::string const& name, hid_t file_type, hid_t memory_type,
                    std::size_t count, bool scalar, void const* data, Description const& about) {
  hsize_t const size = count;
  Handle const space(scalar ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &size, nullptr), "no dataspace");
  Handle const list = dataset_list();
  if (!scalar && count > 1) compress(list, {std::min(size, kChunkValues)});
  Handle dataset(H5Dcreate2(parent, name.c_str(), file_type, space, H5P_DEFAULT, list, H5P_DEFAULT),
                 "cannot add a dataset");
  if (count > 0)
    check(H5Dwrite(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), "cannot write a dataset");
  describe(dataset, about);
  return dataset;
}

}  // namespace

Handle create_group(hid_t parent, std::string const& name) {
  Handle const list(H5Pcreate(H5P_GROUP_CREATE), "no group properties");
  check(H5Pset_obj_track_times(list, false), "no group properties");
  return {H5Gcreate2(parent, name.c_str(), H5P_DEFAULT, list, H5P_DEFAULT), "cannot add a group"};
}

Handle string_type() {
  Handle type(H5Tcopy(H5T_C_S1), "no string type");
  check(H5Tset_size(type, H5T_VARIABLE), "no string type");
  check(H5Tset_cset(type, H5T_CSET_UTF8), "no string type");
  return type;
}

void set_attribute(hid_t object, char const* name, std::string const& value) {
  char const* const text = value.c_str();
  write_attribute(object, name, string_type(), &text);
}

void set_attribute(hid_t object, char const* name, std::int64_t value) {
  write_attribute(object, name, H5T_NATIVE_INT64, &value);
}

void set_attribute(hid_t object, char const* name, std::uint64_t value) {
  write_attribute(object, name, H5T_NATIVE_UINT64, &value);
}

Handle write_scalar(hid_t parent, std::string const& name, std::string const& value,
                    Description const& about) {
  char const* const text = value.c_str();
  Handle const type = string_type();
  return write_values(parent, name, type, type, 1, true, &text, about);
}

Handle write_scalar(hid_t parent, std::string const& name, std::uint64_t value, Description const& about) {
  return write_values(parent, name, H5T_STD_U64LE, H5T_NATIVE_UINT64, 1, true, &value, about);
}

Handle write_scalar(hid_t parent, std::string const& name, double value, Description const& about) {
  return write_values(parent, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 1, true, &value, about);
}

Handle write_column(hid_t parent, std::string const& name, std::span<std::string const> values,
                    Description const& about) {
  std::vector<char const*> texts;
  texts.reserve(values.size());
  for (auto const& value : values) texts.push_back(value.c_str());
  Handle const type = string_type();
  return write_values(parent, name, type, type, texts.size(), false, texts.data(), about);
}

Handle write_column(hid_t parent, std::string const& name, std::span<std::uint64_t const> values,
                    Description const& about) {
  return write_values(parent, name, H5T_STD_U64LE, H5T_NATIVE_UINT64, values.size(), false, values.data(),
                      about);
}

Handle write_column(hid_t parent, std::string const& name, std::span<double const> values,
                    Description const& about) {
  return write_values(parent, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, values.size(), false, values.data(),
                      about);
}

void make_scale(hid_t dataset, std::string const& name) {
  check(H5DSset_scale(dataset, name.c_str()), "cannot make a dimension scale");
}

void attach_scale(hid_t dataset, hid_t scale, unsigned axis) {
  check(H5DSattach_scale(dataset, scale, axis), "cannot attach a dimension scale");
}

GrowingDataset::GrowingDataset(hid_t parent, std::string const& name, Element element,
                               std::vector<hsize_t> row_shape, Description const& about) {
  for (auto const extent : row_shape) values_per_row_ *= extent;
  shape_ = {0};
  shape_.insert(shape_.end(), row_shape.begin(), row_shape.end());
  chunk_ = shape_;
  // One chunk holds whole rows where it can, else a part of one row.
  auto room = kChunkValues;
  for (std::size_t axis = chunk_.size(); axis-- > 1;) {
    chunk_[axis] = std::clamp<hsize_t>(chunk_[axis], 1, std::max<hsize_t>(room, 1));
    room /= chunk_[axis];
  }
  chunk_[0] = std::clamp<hsize_t>(room, 1, 1024);

  Handle file_type;
  switch (element) {
    case Element::u64:
      file_type = Handle(H5Tcopy(H5T_STD_U64LE), "no type");
      memory_type_ = Handle(H5Tcopy(H5T_NATIVE_UINT64), "no type");
      break;
    case Element::i64:
      file_type = Handle(H5Tcopy(H5T_STD_I64LE), "no type");
      memory_type_ = Handle(H5Tcopy(H5T_NATIVE_INT64), "no type");
      break;
    case Element::text:
      file_type = string_type();
      memory_type_ = string_type();
      break;
  }
  auto limits = shape_;
  limits[0] = H5S_UNLIMITED;
  Handle const space(H5Screate_simple(static_cast<int>(shape_.size()), shape_.data(), limits.data()),
                     "no dataspace");
  Handle const list = dataset_list();
  compress(list, chunk_);
  Handle const access(H5Pcreate(H5P_DATASET_ACCESS), "no access properties");
  // Chunks are written whole, once a flush: the cache need not hold more than one of them.
  check(H5Pset_chunk_cache(access, 7, kChunkValues * sizeof(std::uint64_t), 1.0), "no chunk cache");
  dataset_ = Handle(H5Dcreate2(parent, name.c_str(), file_type, space, H5P_DEFAULT, list, access),
                    "cannot add a dataset");
  describe(dataset_, about);
}

void GrowingDataset::append(std::uint64_t rows, void const* data) {
  if (rows == 0) return;
  auto start = std::vector<hsize_t>(shape_.size(), 0);
  start[0] = rows_;
  auto count = shape_;
  count[0] = rows;
  shape_[0] = rows_ + rows;
  check(H5Dset_extent(dataset_, shape_.data()), "cannot extend a dataset");
  Handle const space(H5Dget_space(dataset_), "no dataspace");
  check(H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr),
        "no selection");
  Handle const memory(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr),
                      "no dataspace");
  check(H5Dwrite(dataset_, memory_type_, memory, space, H5P_DEFAULT, data), "cannot write rows");
  rows_ = shape_[0];
}

std::vector<GrowingDataset::Block> GrowingDataset::blocks_at(std::uint64_t row) const {
  std::vector<Block> blocks;
  std::vector<hsize_t> at(shape_.size(), 0);
  at[0] = row;
  for (;;) {
    unsigned filters = 0;
    Block block{HADDR_UNDEF, 0};
    check(H5Dget_chunk_info_by_coord(dataset_, at.data(), &filters, &block.address, &block.size),
          "cannot find a chunk");
    blocks.push_back(block);
    std::size_t axis = at.size();
    while (--axis > 0) {
      at[axis] += chunk_[axis];
      if (at[axis] < shape_[axis]) break;
      at[axis] = 0;
    }
    if (axis == 0) return blocks;
  }
}

void GrowingDataset::release_replaced(CommitFile& file) {
  if (!tail_.empty()) {
    auto const now = blocks_at(tail_row_);
    for (std::size_t i = 0; i < tail_.size(); ++i)
      if (now[i].address != tail_[i].address && tail_[i].address != HADDR_UNDEF)
        file.release(tail_[i].address, tail_[i].size);
    tail_.clear();
  }
  tail_row_ = rows_ / chunk_[0] * chunk_[0];
  if (tail_row_ < rows_) tail_ = blocks_at(tail_row_);
}

}  // namespace farfault::results
