// SPDX-License-Identifier: Apache-2.0
#include "result_changes.hpp"

#include <hdf5.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "farfault/results/reading/handle.hpp"

namespace farfault::fuzz {
namespace {

using results::Handle;

struct Change {
  std::uint8_t what, object, other, type, shape, value, flags, spare;
};

// The paths of all groups and datasets of a file, including the root.
std::vector<std::string> objects_of(hid_t file) {
  std::vector<std::string> paths;
  auto const add = [](hid_t, char const* name, H5O_info_t const*, void* to) -> herr_t {
    static_cast<std::vector<std::string>*>(to)->push_back(std::string("/") + name);
    return 0;
  };
  H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_INC, add, &paths, H5O_INFO_BASIC);
  return paths;
}

constexpr std::array kAttributes = {
    "schema_version", "farfault_version", "result_digest",  "end_reason", "unit",  "description", "kind",
    "_FillValue",     "conventions",      "DIMENSION_LIST", "long_name",  "units", "role"};
constexpr std::array kNames = {"time_ps", "instance", "row",     "name",    "node",
                               "a",       "summary",  "tables",  "engine",  "config",
                               "toml",    "seed",     "bin_low", "index\n", "\xff\xfe"};

Handle text_type(std::size_t size, H5T_cset_t characters, H5T_str_t padding) {
  Handle type(H5Tcopy(H5T_C_S1), "type");
  H5Tset_size(type, size);
  H5Tset_cset(type, characters);
  H5Tset_strpad(type, padding);
  return type;
}

Handle type_of(std::uint8_t which) {
  switch (which % 20) {
    case 0:
      return {H5Tcopy(H5T_STD_U64LE), "type"};
    case 1:
      return {H5Tcopy(H5T_STD_I64LE), "type"};
    case 2:
      return {H5Tcopy(H5T_IEEE_F64LE), "type"};
    case 3:
      return {H5Tcopy(H5T_IEEE_F32BE), "type"};
    case 4:
      return {H5Tcopy(H5T_STD_I8LE), "type"};
    case 5:
      return {H5Tcopy(H5T_STD_U32BE), "type"};
    case 6:
      return text_type(H5T_VARIABLE, H5T_CSET_UTF8, H5T_STR_NULLTERM);
    case 7:
      return text_type(H5T_VARIABLE, H5T_CSET_ASCII, H5T_STR_SPACEPAD);
    case 8:
      return text_type(1, H5T_CSET_ASCII, H5T_STR_NULLTERM);
    case 9:
      return text_type(8, H5T_CSET_UTF8, H5T_STR_NULLPAD);
    case 10:
      return text_type(300, H5T_CSET_ASCII, H5T_STR_SPACEPAD);
    case 11:
      return {H5Tcopy(H5T_STD_REF_OBJ), "type"};
    case 12:
      return {H5Tcreate(H5T_OPAQUE, 16), "type"};
    case 13:
      return {H5Tvlen_create(H5T_STD_U8LE), "type"};
    case 14: {
      Handle type(H5Tcreate(H5T_COMPOUND, 16), "type");
      H5Tinsert(type, "x", 0, H5T_STD_U64LE);
      H5Tinsert(type, "y", 8, H5T_IEEE_F64LE);
      return type;
    }
    case 15: {
      hsize_t const extent = 3;
      return {H5Tarray_create2(H5T_STD_U32LE, 1, &extent), "type"};
    }
    case 16:
      return {H5Tenum_create(H5T_STD_I32LE), "type"};
    case 17:
      return {H5Tcopy(H5T_NATIVE_LDOUBLE), "type"};
    case 18:
      return {H5Tcopy(H5T_STD_B64LE), "type"};
    default: {
      Handle type(H5Tcopy(H5T_STD_I64LE), "type");
      H5Tset_size(type, 16);
      return type;
    }
  }
}

struct Extents {
  std::vector<hsize_t> now;
  bool chunked = false;  // no storage, so the size is only claimed
};

Extents extents_of(std::uint8_t which) {
  switch (which % 16) {
    case 0:
      return {{}, false};
    case 1:
      return {{0}, false};
    case 2:
      return {{1}, false};
    case 3:
      return {{2}, false};
    case 4:
      return {{3}, false};
    case 5:
      return {{4}, false};
    case 6:
      return {{10}, false};
    case 7:
      return {{10, 2}, false};
    case 8:
      return {{10, 2, 4}, false};
    case 9:
      return {{10, 1}, false};
    case 10:
      return {{10, 2, 4, 1}, false};
    case 11:
      return {{4, 0}, false};
    case 12:
      return {{hsize_t{1} << 40U}, true};
    case 13:
      return {{10, hsize_t{1} << 33U}, true};
    case 14:
      return {{hsize_t{1} << 20U, hsize_t{1} << 20U, hsize_t{1} << 20U}, true};
    default:
      return {std::vector<hsize_t>(H5S_MAX_RANK, 1), false};
  }
}

Handle space_of(std::uint8_t shape) {
  if (shape == 255) return {H5Screate(H5S_NULL), "space"};
  auto const extents = extents_of(shape).now;
  if (extents.empty()) return {H5Screate(H5S_SCALAR), "space"};
  return {H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), "space"};
}

// Up to 4 KiB of values that depend on `seed`. Variable-length texts remain as HDF5 fills them, because a
// random value would be a wild pointer.
std::vector<std::uint8_t> values_for(hid_t type, std::uint8_t shape, std::uint8_t seed) {
  if (H5Tdetect_class(type, H5T_VLEN) > 0 || H5Tis_variable_str(type) > 0 ||
      H5Tget_class(type) == H5T_REFERENCE)
    return {};
  auto const extents = extents_of(shape);
  if (extents.chunked || shape == 255) return {};
  std::size_t count = 1;
  for (auto const extent : extents.now) count *= extent;
  std::vector<std::uint8_t> values(count * H5Tget_size(type));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<std::uint8_t>(seed + (seed >> 4U) * i);
  return values;
}

void put_dataset(hid_t file, std::string const& path, Change const& change) {
  auto const type = type_of(change.type);
  auto const space = space_of(change.shape);
  Handle const creation(H5Pcreate(H5P_DATASET_CREATE), "list");
  auto const extents = extents_of(change.shape);
  if (extents.chunked && change.shape != 255) {
    std::vector<hsize_t> const chunk(extents.now.size(), 64);
    H5Pset_chunk(creation, static_cast<int>(chunk.size()), chunk.data());
    if (change.flags & 1U) H5Pset_deflate(creation, 6);
  }
  Handle const set(H5Dcreate2(file, path.c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT),
                   "dataset");
  auto const values = values_for(type, change.shape, change.value);
  if (!values.empty()) H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
}

void put_attribute(hid_t file, std::string const& path, Change const& change) {
  auto const* const name = kAttributes[change.other % kAttributes.size()];
  Handle const object(H5Oopen(file, path.c_str(), H5P_DEFAULT), "object");
  H5Adelete(object, name);
  if (change.flags & 1U) return;
  // An attribute needs all its values: without them HDF5 leaves the object damaged and crashes on its own.
  if (extents_of(change.shape).chunked && change.shape != 255) return;
  auto const type = type_of(change.type);
  auto const space = space_of(change.shape);
  Handle const attribute(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT), "attribute");
  auto const values = values_for(type, change.shape, change.value);
  if (!values.empty()) H5Awrite(attribute, type, values.data());
}

void put_text_attribute(hid_t file, std::string const& path, Change const& change) {
  auto const* const name = kAttributes[change.other % kAttributes.size()];
  Handle const object(H5Oopen(file, path.c_str(), H5P_DEFAULT), "object");
  H5Adelete(object, name);
  auto const type = text_type(H5T_VARIABLE, H5T_CSET_UTF8, H5T_STR_NULLTERM);
  Handle const space(H5Screate(H5S_SCALAR), "space");
  Handle const attribute(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT), "attribute");
  std::string const text(change.shape * std::size_t{50}, static_cast<char>(change.value));
  char const* const pointer = text.c_str();
  H5Awrite(attribute, type, &pointer);
}

void change_extent(hid_t file, std::string const& path, Change const& change) {
  Handle const set(H5Dopen2(file, path.c_str(), H5P_DEFAULT), "dataset");
  Handle const space(H5Dget_space(set), "space");
  std::vector<hsize_t> extents(
      static_cast<std::size_t>(results::check(H5Sget_simple_extent_ndims(space), "rank")));
  if (extents.empty()) return;
  H5Sget_simple_extent_dims(space, extents.data(), nullptr);
  extents[change.other % extents.size()] =
      change.flags & 1U ? hsize_t{change.value} << (change.shape % 48U) : change.value;
  H5Dset_extent(set, extents.data());
}

void write_values(hid_t file, std::string const& path, Change const& change) {
  Handle const set(H5Dopen2(file, path.c_str(), H5P_DEFAULT), "dataset");
  Handle const type(H5Dget_type(set), "type");
  Handle const space(H5Dget_space(set), "space");
  auto const count = H5Sget_simple_extent_npoints(space);
  if (count <= 0 || count > 1000 || H5Tget_class(type) != H5T_INTEGER) return;
  std::vector<std::uint64_t> values(static_cast<std::size_t>(count), change.value);
  if (change.flags & 1U) values[change.other % values.size()] = ~std::uint64_t{0} << (change.shape % 64U);
  H5Dwrite(set, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
}

std::string parent_of(std::string const& path) {
  auto const slash = path.rfind('/');
  return slash == 0 ? "" : path.substr(0, slash);
}

void apply(hid_t file, Change const& change, results::outside::Targets const& targets) {
  auto const objects = objects_of(file);
  if (objects.empty()) return;
  auto const& path = objects[change.object % objects.size()];
  auto const& other = objects[change.other % objects.size()];
  auto const renamed = parent_of(path) + "/" + kNames[change.value % kNames.size()];
  switch (change.what % 16) {
    case 0:
      H5Ldelete(file, path.c_str(), H5P_DEFAULT);
      break;
    case 1:
      H5Ldelete(file, path.c_str(), H5P_DEFAULT);
      put_dataset(file, path, change);
      break;
    case 2:
      H5Lmove(file, path.c_str(), file, renamed.c_str(), H5P_DEFAULT, H5P_DEFAULT);
      break;
    case 3:
      H5Ldelete(file, path.c_str(), H5P_DEFAULT);
      H5Lcopy(file, other.c_str(), file, path.c_str(), H5P_DEFAULT, H5P_DEFAULT);
      break;
    case 4:
      H5Lcreate_hard(file, other.c_str(), file, renamed.c_str(), H5P_DEFAULT, H5P_DEFAULT);
      break;
    case 5:
      H5Ldelete(file, path.c_str(), H5P_DEFAULT);
      H5Lcreate_soft(other.c_str(), file, path.c_str(), H5P_DEFAULT, H5P_DEFAULT);
      break;
    case 6:  // to an object with another name
      H5Ldelete(file, path.c_str(), H5P_DEFAULT);
      H5Lcreate_external(targets.result.c_str(), other.c_str(), file, path.c_str(), H5P_DEFAULT, H5P_DEFAULT);
      break;
    case 14:
    case 15:
      results::outside::replace(
          file, path, results::outside::kWays[change.flags % results::outside::kWays.size()], targets);
      break;
    case 7:
      put_attribute(file, path, change);
      break;
    case 8:
      put_text_attribute(file, path, change);
      break;
    case 9:
      change_extent(file, path, change);
      break;
    case 10:
      write_values(file, path, change);
      break;
    case 11: {
      H5Ldelete(file, path.c_str(), H5P_DEFAULT);
      auto const type = type_of(change.type);
      H5Tcommit2(file, path.c_str(), type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
      break;
    }
    case 12: {
      auto deeper = path;
      for (unsigned i = 0; i < change.value % 32U; ++i) {
        deeper += "/deep";
        Handle const group(H5Gcreate2(file, deeper.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "group");
      }
      break;
    }
    default:
      H5Ldelete(file, path.c_str(), H5P_DEFAULT);
      Handle const group(H5Gcreate2(file, path.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "group");
      break;
  }
}

}  // namespace

Secrets::Secrets(std::function<void(std::string const&)> const& write_sound)
    : sound_(folder_.path() + "/sound.h5"),
      targets_{folder_.path() + "/secret", folder_.path() + "/secret.h5"} {
  results::quiet();
  write_sound(sound_);
  std::ifstream in(sound_, std::ios::binary);
  image_.assign(std::istreambuf_iterator<char>(in), {});
  std::filesystem::copy_file(sound_, targets_.result);
  auto const file = H5Fopen(targets_.result.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  expect(file >= 0, "the file with the secret can be opened");
  results::outside::fill_all_with_marker(file);
  H5Fclose(file);
  results::outside::write_secret(targets_.raw);
}

std::string Secrets::fresh_copy() const {
  folder_.set("changed.h5", image_);
  return folder_.path() + "/changed.h5";
}

void Secrets::expect_kept(std::string_view text) const {
  expect(!results::outside::has_marker(text), "no output contains the content of another file", text);
  auto const files = std::distance(std::filesystem::directory_iterator(folder_.path()), {});
  expect(files == 4, "a reader writes no files", std::to_string(files));
}

bool change_file(std::string const& path, Bytes changes, results::outside::Targets const& targets) {
  constexpr std::size_t kMaxChanges = 32;
  if (changes.size() < sizeof(Change)) return false;
  Handle const access(H5Pcreate(H5P_FILE_ACCESS), "access");
  H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
  // Not through an image in memory: H5Fget_file_image writes a superblock with a wrong checksum, which no
  // reader opens.
  auto const file = H5Fopen(path.c_str(), H5F_ACC_RDWR, access);
  expect(file >= 0, "the file to be changed can be opened");
  for (std::size_t i = 0; i < kMaxChanges && changes.size() >= sizeof(Change); ++i) {
    auto const b = changes.first<sizeof(Change)>();
    try {
      apply(file,
            {.what = b[0],
             .object = b[1],
             .other = b[2],
             .type = b[3],
             .shape = b[4],
             .value = b[5],
             .flags = b[6],
             .spare = b[7]},
            targets);
    } catch (results::Hdf5Failure const&) {
      // HDF5 does not allow this one.
    }
    changes = changes.subspan(sizeof(Change));
  }
  H5Fclose(file);
  return true;
}

}  // namespace farfault::fuzz
