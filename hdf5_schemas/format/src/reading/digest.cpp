// SPDX-License-Identifier: Apache-2.0
#include "farfault/results/digest.hpp"

#include <hdf5.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "config_text.hpp"
#include "digest_of.hpp"
#include "farfault/results/reading/guard.hpp"
#include "farfault/results/reading/walk.hpp"
#include "file/object_type.hpp"
#include "file/value_hash.hpp"

namespace farfault::results {
namespace {

constexpr std::array<std::string_view, 2> kRootAttributesLeftOut{"result_digest", "farfault_version"};
constexpr std::array<std::string_view, 4> kPathsLeftOut{"/engine", "/config/command_line",
                                                        "/config/inputs/path", "/config/unused"};
constexpr std::array<std::string_view, 4> kScaleAttributes{"CLASS", "DIMENSION_LIST", "NAME",
                                                           "REFERENCE_LIST"};

template <std::size_t N>
bool among(std::array<std::string_view, N> const& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void add_shape(Hash128& hash, Shape const& shape) {
  hash.word(static_cast<std::uint64_t>(shape.kind));
  hash.word(shape.extents.size());
  for (auto const extent : shape.extents) hash.word(extent);
}

void add_attributes(Hash128& hash, hid_t object, bool root) {
  for (auto const& name : attribute_names(object)) {
    if (among(kScaleAttributes, name) || (root && among(kRootAttributesLeftOut, name))) continue;
    Handle const attribute(H5Aopen(object, name.c_str(), H5P_DEFAULT), "an attribute cannot be read");
    auto const shape = shape_of_attribute(attribute);
    hash.text("attribute");
    hash.text(name);
    add_shape(hash, shape);
    if (shape.kind == Kind::text) {
      for (auto const& value : attribute_texts(attribute, shape)) hash.text(value);
    } else if (shape.kind != Kind::other) {
      for (auto const value : attribute_words(attribute, shape)) hash.word(value);
    }
  }
}

class Digest {
 public:
  Digest(hid_t file, KnownDatasets const& known) : known_(known), root_(open_group(file, "/")) {
    hashes_values_ = version_of(root_) >= kFirstOfValueHashes;
  }
  std::string run() {
    add_attributes(hash_, root_, true);
    add_group(root_, "", 0);
    return hash_.hex();
  }

 private:
  // Before, every value was a word of the whole file's hash.
  static constexpr std::int64_t kFirstOfValueHashes = 3;

  void add_values(Shape const& shape, hid_t dataset) {
    if (!hashes_values_) {
      for_pieces(shape, [&](std::uint64_t row, std::uint64_t rows) {
        for (auto const value : read_words(dataset, shape, row, rows)) hash_.word(value);
      });
      return;
    }
    ValueHash values(shape.row_values);
    for_pieces(shape, [&](std::uint64_t row, std::uint64_t rows) {
      values.add(rows, read_words(dataset, shape, row, rows).data());
    });
    add_hash(values.value());
  }

  void add_hash(std::array<std::uint64_t, 2> const& value) {
    for (auto const half : value) hash_.word(half);
  }

  void add_dataset(hid_t dataset) {
    auto const shape = shape_of_dataset(dataset);
    add_shape(hash_, shape);
    if (shape.kind == Kind::other) return;
    if (shape.kind != Kind::text) return add_values(shape, dataset);
    for_pieces(shape, [&](std::uint64_t row, std::uint64_t rows) {
      for (auto const& value : read_texts(dataset, shape, row, rows)) hash_.text(value);
    });
  }

  // The same words as for the dataset in the file.
  void add_known(KnownDataset const& known) {
    hash_.word(static_cast<std::uint64_t>(H5O_TYPE_DATASET));
    for (auto const& [name, value] : known.attributes) {
      hash_.text("attribute");
      hash_.text(name);
      add_shape(hash_, {Kind::text, {}, 1});
      hash_.text(value);
    }
    add_shape(hash_, {known.kind, known.extents, 1});
    add_hash(known.values);
  }

  void add_group(hid_t group, std::string const& path, int depth) {
    if (depth > kMaxDepth) throw Hdf5Failure("groups are nested too deeply");
    for (auto const& name : stored_names(group)) {
      auto const child = path + "/" + name;
      if (among(kPathsLeftOut, child)) continue;
      hash_.text(child);
      if (auto const known = known_.find(child); known != known_.end()) {
        add_known(known->second);
        continue;
      }
      auto const object = open_object(group, name);
      auto const type = type_of(object);
      hash_.word(static_cast<std::uint64_t>(type));
      if (type == H5O_TYPE_GROUP || type == H5O_TYPE_DATASET) add_attributes(hash_, object, false);
      if (type == H5O_TYPE_GROUP) add_group(object, child, depth + 1);
      if (type != H5O_TYPE_DATASET) continue;
      if (child == "/config/toml")
        hash_.text(config_without_file_names(object));
      else
        add_dataset(object);
    }
  }

  KnownDatasets const& known_;
  Handle root_;
  bool hashes_values_ = true;
  Hash128 hash_;
};

}  // namespace

std::string digest_of(hid_t file, KnownDatasets const& known) {
  return Digest(file, known).run();
}

std::string result_digest(std::string const& path) {
  return read_guarded(path, [](hid_t file) {
    check_is_result(file);
    return digest_of(file);
  });
}

}  // namespace farfault::results
