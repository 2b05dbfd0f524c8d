// SPDX-License-Identifier: Apache-2.0
#include "farfault/results/reading/open.hpp"

#include <hdf5.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"
#include "object_type.hpp"
#include "renamed.hpp"

namespace farfault::results {
namespace {

// The non-empty components of a path.
std::vector<std::string> components_of(std::string_view path) {
  std::vector<std::string> components;
  while (!path.empty()) {
    auto const end = std::min(path.find('/'), path.size());
    if (end > 0) components.emplace_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return components;
}

// Path of the object from the root group.
std::string path_of(hid_t object) {
  std::string path(4096, '\0');
  auto const length = H5Iget_name(object, path.data(), path.size());
  path.resize(length <= 0 ? 0 : std::min(static_cast<std::size_t>(length), path.size() - 1));
  return path;
}

// True if `group` has a member of this name. Does not follow links. Throws for a link that is not a hard
// link.
bool has_member(hid_t group, std::string const& name) {
  if (check(H5Lexists(group, name.c_str(), H5P_DEFAULT), "a group cannot be read") == 0) return false;
  H5L_info_t link{};
  check(H5Lget_info(group, name.c_str(), &link, H5P_DEFAULT), "a group cannot be read");
  if (link.type == H5L_TYPE_HARD) return true;
  auto const above = path_of(group);
  throw Hdf5Failure(above + (above == "/" ? "" : "/") + name +
                    " is not a hard link; a result must contain all of its data");
}

// The name of a member in this file: `name`, or its name before schema_version 3. Empty if it is missing.
std::string stored_name(hid_t group, std::string const& name) {
  if (has_member(group, name)) return name;
  std::string const before(name_before(name));
  return before != name && has_member(group, before) ? before : std::string();
}

void check_has_one_name(hid_t object) {
  H5O_info_t info{};
#if H5_VERSION_GE(1, 12, 0)
  check(H5Oget_info3(object, &info, H5O_INFO_BASIC), "an object cannot be read");
#else
  check(H5Oget_info2(object, &info, H5O_INFO_BASIC), "an object cannot be read");
#endif
  // A few groups that link to each other several times would form millions of paths.
  if (info.rc > 1) throw Hdf5Failure("an object has several names");
}

// HDF5 unpacks a whole chunk, so a small file could allocate any amount of memory.
void check_chunks(hid_t dataset, hid_t list) {
  constexpr std::uint64_t kMaxBytes = std::uint64_t{64} << 20;  // as in python/farfault/objects.py
  std::array<hsize_t, H5S_MAX_RANK> chunk{};
  auto const rank = static_cast<std::size_t>(
      check(H5Pget_chunk(list, H5S_MAX_RANK, chunk.data()), "the chunk size of a dataset cannot be read"));
  Handle const type(H5Dget_type(dataset), "a dataset has no type");
  std::uint64_t bytes = std::max<std::uint64_t>(H5Tget_size(type), 1);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (chunk[axis] > kMaxBytes / bytes)
      throw Hdf5Failure(path_of(dataset) + " has chunks larger than 64 MiB");
    bytes *= std::max<hsize_t>(chunk[axis], 1);
  }
}

void check_storage(hid_t dataset) {
  Handle const list(H5Dget_create_plist(dataset), "a dataset has no properties");
  auto const layout = H5Pget_layout(list);
  if (layout != H5D_COMPACT && layout != H5D_CONTIGUOUS && layout != H5D_CHUNKED)
    throw Hdf5Failure(path_of(dataset) + " is a virtual dataset; a result must contain all of its data");
  if (check(H5Pget_external_count(list), "a dataset has no properties") > 0)
    throw Hdf5Failure(path_of(dataset) + " has external storage; a result must contain all of its data");
  if (layout == H5D_CHUNKED) check_chunks(dataset, list);
  auto const filters = check(H5Pget_nfilters(list), "a dataset has no properties");
  int seen = 0;  // shuffle is 2, deflate is 1
  for (unsigned i = 0; i < static_cast<unsigned>(filters); ++i) {
    unsigned flags = 0, settings = 0;
    std::size_t values = 0;
    auto const filter = H5Pget_filter2(list, i, &flags, &values, nullptr, 0, nullptr, &settings);
    if (filter != H5Z_FILTER_SHUFFLE && filter != H5Z_FILTER_DEFLATE)
      throw Hdf5Failure(path_of(dataset) + " is stored with filter " + std::to_string(filter) +
                        "; results use only shuffle and deflate");
    if ((seen & filter) != 0) throw Hdf5Failure(path_of(dataset) + " is stored with the same filter twice");
    seen |= filter;
  }
}

// True if the object exists. Opens it into `object` if that is given; otherwise only looks up the last
// component.
bool find(hid_t parent, std::string const& path, Handle* object) {
  auto const names = components_of(path);
  Handle group;  // opened last
  auto at = parent;
  auto const enter = [&](char const* name) {
    group = Handle(H5Oopen(at, name, H5P_DEFAULT), (path + " cannot be opened").c_str());
    at = group;
  };
  if (names.empty() || (path.starts_with('/') && H5Iget_type(parent) != H5I_FILE))
    enter(path.starts_with('/') ? "/" : ".");
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (type_of(at) != H5O_TYPE_GROUP) return false;
    auto const name = stored_name(at, names[i]);
    if (name.empty()) return false;
    if (object == nullptr && i + 1 == names.size()) return true;
    enter(name.c_str());
    check_has_one_name(at);
  }
  if (object == nullptr) return true;
  if (type_of(at) == H5O_TYPE_DATASET) check_storage(at);
  *object = std::move(group);
  return true;
}

Handle open_as(H5O_type_t type, char const* what, hid_t parent, std::string const& path) {
  Handle object;
  if (!find(parent, path, &object) || type_of(object) != type)
    throw Hdf5Failure("the " + std::string(what) + " " + path + " is missing");
  return object;
}

// While an object of this class exists, this process may open files again after forbid_opening.
class OpeningAllowed {
 public:
  OpeningAllowed() {
    if (::getrlimit(RLIMIT_NOFILE, &before_) != 0) return;
    auto raised = before_;
    raised.rlim_cur = raised.rlim_max;
    changed_ = before_.rlim_cur == 0 && ::setrlimit(RLIMIT_NOFILE, &raised) == 0;
  }
  OpeningAllowed(OpeningAllowed const&) = delete;
  OpeningAllowed& operator=(OpeningAllowed const&) = delete;
  ~OpeningAllowed() {
    if (changed_) ::setrlimit(RLIMIT_NOFILE, &before_);
  }

 private:
  struct rlimit before_ {};
  bool changed_ = false;
};

}  // namespace

Handle open_to_read(std::string const& path, char const* failure) {
  if (auto const why = why_not_readable(path); !why.empty()) throw Hdf5Failure(failure + (": " + why));
  Handle const access(H5Pcreate(H5P_FILE_ACCESS), "cannot set file access properties");
#if H5_VERSION_GE(1, 10, 7)
  check(H5Pset_file_locking(access, false, true), "cannot set file access properties");
#endif
  OpeningAllowed const allowed;
  return Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access), failure);
}

void forbid_opening() {
  struct rlimit limits {};
  if (::getrlimit(RLIMIT_NOFILE, &limits) != 0) return;
  limits.rlim_cur = 0;
  ::setrlimit(RLIMIT_NOFILE, &limits);
}

Handle open_object(hid_t parent, std::string const& path) {
  Handle object;
  if (!find(parent, path, &object)) throw Hdf5Failure(path + " is missing");
  return object;
}

Handle open_group(hid_t parent, std::string const& path) {
  return open_as(H5O_TYPE_GROUP, "group", parent, path);
}

Handle open_dataset(hid_t parent, std::string const& path) {
  return open_as(H5O_TYPE_DATASET, "dataset", parent, path);
}

H5O_type_t type_of(hid_t object) {
  switch (H5Iget_type(object)) {
    case H5I_FILE:
    case H5I_GROUP:
      return H5O_TYPE_GROUP;
    case H5I_DATASET:
      return H5O_TYPE_DATASET;
    case H5I_DATATYPE:
      return H5O_TYPE_NAMED_DATATYPE;
    default:
      return H5O_TYPE_UNKNOWN;
  }
}

bool has(hid_t parent, std::string const& path) {
  return find(parent, path, nullptr);
}

std::vector<std::string> stored_names(hid_t group) {
  H5G_info_t info{};
  check(H5Gget_info(group, &info), "a group cannot be read");
  if (info.nlinks > kMaxNames) throw Hdf5Failure("a group claims an implausible number of members");
  std::vector<std::string> names;
  auto const add = [](hid_t, char const* name, H5L_info_t const* link, void* to) -> herr_t {
    if (link->type == H5L_TYPE_HARD) static_cast<std::vector<std::string>*>(to)->emplace_back(name);
    return static_cast<std::vector<std::string>*>(to)->size() > kMaxNames ? -1 : 0;
  };
  check(H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, nullptr, add, &names), "a group cannot be read");
  for (auto const& name : names)
    if (name.empty() || name.find('/') != std::string::npos)
      throw Hdf5Failure("a group has a member '" + shown(name) + "', which is not a valid name");
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> link_names(hid_t group) {
  auto names = stored_names(group);
  for (auto& name : names) name = name_now(name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace farfault::results
