// SPDX-License-Identifier: Apache-2.0
#include "farfault/results/reading/walk.hpp"

#include <hdf5.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace farfault::results {
namespace {

Kind kind_of(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      if (H5Tget_size(type) > 8) return Kind::other;
      return H5Tget_sign(type) == H5T_SGN_NONE ? Kind::unsigned_integer : Kind::integer;
    case H5T_FLOAT:
      return H5Tget_size(type) > 8 ? Kind::other : Kind::real;
    case H5T_STRING:
      return Kind::text;
    default:
      return Kind::other;
  }
}

hid_t memory_type_of(Kind kind) {
  switch (kind) {
    case Kind::unsigned_integer:
      return H5T_NATIVE_UINT64;
    case Kind::integer:
      return H5T_NATIVE_INT64;
    default:
      return H5T_NATIVE_DOUBLE;
  }
}

Shape shape_of_space(hid_t space, Kind kind) {
  Shape shape;
  shape.kind = kind;
  auto const rank = check(H5Sget_simple_extent_ndims(space), "the shape cannot be read");
  if (H5Sget_simple_extent_type(space) == H5S_NULL) shape.extents = {0};
  if (rank > 0) {
    std::vector<hsize_t> extents(static_cast<std::size_t>(rank));
    check(H5Sget_simple_extent_dims(space, extents.data(), nullptr), "the shape cannot be read");
    shape.extents.assign(extents.begin(), extents.end());
  }
  for (std::size_t axis = 1; axis < shape.extents.size(); ++axis) {
    auto const extent = shape.extents[axis];
    if (extent != 0 && shape.row_values > kMaxRowBytes / 8 / extent)
      throw Hdf5Failure("a dataset claims an implausible shape");
    shape.row_values *= extent;
  }
  return shape;
}

struct Selection {
  Handle file, memory;
};

Selection select(hid_t dataset, Shape const& shape, std::uint64_t first_row, std::uint64_t rows) {
  Selection selection{Handle(H5Dget_space(dataset), "the shape cannot be read"), {}};
  if (shape.extents.empty()) {
    selection.memory = Handle(H5Screate(H5S_SCALAR), "cannot create a dataspace");
    return selection;
  }
  std::vector<hsize_t> start(shape.extents.size(), 0);
  std::vector<hsize_t> count(shape.extents.begin(), shape.extents.end());
  start[0] = first_row;
  count[0] = rows;
  check(H5Sselect_hyperslab(selection.file, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr),
        "cannot select rows");
  selection.memory = Handle(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr),
                            "the shape cannot be read");
  return selection;
}

std::size_t value_count(Shape const& shape, std::uint64_t rows) {
  auto const limit = kMaxRowBytes / 8;
  if (shape.row_values != 0 && rows > limit / shape.row_values)
    throw Hdf5Failure("a dataset claims an implausible shape");
  return static_cast<std::size_t>(rows * shape.row_values);
}

// Extracts the strings from the output of `read`: variable-length pointers, or one block of fixed-length
// strings.
template <class Read>
std::vector<std::string> texts(hid_t file_type, hid_t space, std::size_t count, Read read) {
  std::vector<std::string> result;
  if (count == 0) return result;
  // Without a conversion: several times faster.
  if (H5Tis_variable_str(file_type) == 0 && H5Tget_strpad(file_type) == H5T_STR_NULLPAD) {
    auto const width = H5Tget_size(file_type);
    if (width == 0 || width > kMaxRowBytes / count)
      throw Hdf5Failure("a dataset claims an implausible text width");
    std::vector<char> block(count * width);
    check(read(file_type, block.data()), "texts cannot be read");
    for (std::size_t i = 0; i < count; ++i)
      result.emplace_back(block.data() + i * width, strnlen(block.data() + i * width, width));
    return result;
  }
  Handle const type(H5Tcopy(H5T_C_S1), "cannot create a string datatype");
  check(H5Tset_cset(type, H5Tget_cset(file_type)), "cannot create a string datatype");
  if (check(H5Tis_variable_str(file_type), "cannot create a string datatype") > 0) {
    check(H5Tset_size(type, H5T_VARIABLE), "cannot create a string datatype");
    std::vector<char*> pointers(count, nullptr);
    check(read(type, pointers.data()), "texts cannot be read");
    for (auto const* text : pointers) result.emplace_back(text == nullptr ? "" : text);
    H5Dvlen_reclaim(type, space, H5P_DEFAULT, pointers.data());
    return result;
  }
  auto const width = H5Tget_size(file_type) + 1;
  if (width == 0 || width > kMaxRowBytes / count)
    throw Hdf5Failure("a dataset claims an implausible text width");
  check(H5Tset_size(type, width), "cannot create a string datatype");
  std::vector<char> block(count * width, '\0');
  check(read(type, block.data()), "texts cannot be read");
  for (std::size_t i = 0; i < count; ++i) {
    auto const* const text = block.data() + i * width;
    result.emplace_back(text, strnlen(text, width));
  }
  return result;
}

}  // namespace

std::vector<std::string> attribute_names(hid_t object) {
  std::vector<std::string> names;
  auto const add = [](hid_t, char const* name, H5A_info_t const*, void* to) -> herr_t {
    static_cast<std::vector<std::string>*>(to)->emplace_back(name);
    return static_cast<std::vector<std::string>*>(to)->size() > kMaxNames ? -1 : 0;
  };
  check(H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, nullptr, add, &names), "attributes cannot be read");
  std::sort(names.begin(), names.end());
  return names;
}

Shape shape_of_dataset(hid_t dataset) {
  Handle const type(H5Dget_type(dataset), "a dataset has no type");
  Handle const space(H5Dget_space(dataset), "a dataset has no shape");
  auto const shape = shape_of_space(space, kind_of(type));
  // Deflate shrinks data at most about a thousandfold.
  auto const stored = H5Dget_storage_size(dataset);
  auto const limit = stored > (std::uint64_t{1} << 50) ? std::uint64_t{1} << 60 : (stored + 4096) * 1100;
  auto const row_bytes = std::max<std::uint64_t>(shape.row_values, 1) * 8;
  if (shape.rows() > limit / row_bytes && shape.row_values != 0)
    throw Hdf5Failure("a dataset claims more values than it stores");
  return shape;
}

Shape shape_of_attribute(hid_t attribute) {
  Handle const type(H5Aget_type(attribute), "an attribute has no type");
  Handle const space(H5Aget_space(attribute), "an attribute has no shape");
  return shape_of_space(space, kind_of(type));
}

std::vector<std::uint64_t> read_words(hid_t dataset, Shape const& shape, std::uint64_t first_row,
                                      std::uint64_t rows) {
  std::vector<std::uint64_t> words(value_count(shape, rows));
  if (words.empty()) return words;
  auto const selection = select(dataset, shape, first_row, rows);
  // Doubles are read into words of the same size.
  check(H5Dread(dataset, memory_type_of(shape.kind), selection.memory, selection.file, H5P_DEFAULT,
                words.data()),
        "values cannot be read");
  return words;
}

std::vector<std::string> read_texts(hid_t dataset, Shape const& shape, std::uint64_t first_row,
                                    std::uint64_t rows) {
  Handle const type(H5Dget_type(dataset), "a dataset has no type");
  if (check(H5Tis_variable_str(type), "a dataset has no type") > 0)
    throw Hdf5Failure("a dataset has variable-length texts; results have only fixed-length texts");
  auto const count = value_count(shape, rows);
  if (count == 0) return {};
  auto const selection = select(dataset, shape, first_row, rows);
  return texts(type, selection.memory, count, [&](hid_t memory_type, void* to) {
    return H5Dread(dataset, memory_type, selection.memory, selection.file, H5P_DEFAULT, to);
  });
}

std::string scalar_text(hid_t file, std::string const& path) {
  auto const dataset = open_dataset(file, path);
  auto const shape = shape_of_dataset(dataset);
  if (shape.kind != Kind::text || !shape.extents.empty()) throw Hdf5Failure(path + " is not a single text");
  return read_texts(dataset, shape, 0, 1).at(0);
}

std::vector<std::uint64_t> attribute_words(hid_t attribute, Shape const& shape) {
  std::vector<std::uint64_t> words(value_count(shape, shape.rows()));
  if (!words.empty())
    check(H5Aread(attribute, memory_type_of(shape.kind), words.data()), "an attribute cannot be read");
  return words;
}

std::vector<std::string> attribute_texts(hid_t attribute, Shape const& shape) {
  Handle const type(H5Aget_type(attribute), "an attribute has no type");
  Handle const space(H5Aget_space(attribute), "an attribute has no shape");
  return texts(type, space, value_count(shape, shape.rows()),
               [&](hid_t memory_type, void* to) { return H5Aread(attribute, memory_type, to); });
}

void for_pieces(Shape const& shape, std::function<void(std::uint64_t, std::uint64_t)> const& visit) {
  auto const row_bytes = std::max<std::uint64_t>(shape.row_values, 1) * 8;
  auto const step = std::max<std::uint64_t>(kPieceBytes / row_bytes, 1);
  for (std::uint64_t row = 0; row < shape.rows(); row += step) visit(row, std::min(step, shape.rows() - row));
}

bool has_attribute(hid_t object, char const* name) {
  return H5Aexists(object, name) > 0;
}

std::string text_attribute(hid_t object, char const* name) {
  if (H5Aexists(object, name) <= 0) return {};
  Handle const attribute(H5Aopen(object, name, H5P_DEFAULT), "an attribute cannot be read");
  auto const shape = shape_of_attribute(attribute);
  if (shape.kind != Kind::text) return {};
  auto const values = attribute_texts(attribute, shape);
  return values.size() == 1 ? values[0] : std::string();
}

}  // namespace farfault::results
