// SPDX-License-Identifier: Apache-2.0
#include "farfault/results/digest.hpp"

#include <hdf5.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>

#include "config_text.hpp"
#include "digest_of.hpp"
#include "farfault/results/reading/guard.hpp"
#include "farfault/results/reading/walk.hpp"
#include "file/object_type.hpp"

namespace farfault::results {
namespace {

// Two 64-bit lanes, each updated by every word and by the other lane; two final rounds of full avalanche.
class Hash128 {
 public:
  void word(std::uint64_t w) {
    a_ = std::rotl(a_ ^ std::rotl(w * kA, 31) * kB, 27) + b_;
    a_ = a_ * 5 + 0x9e3779b97f4a7c15;
    b_ = std::rotl(b_ ^ std::rotl(w * kB, 33) * kA, 31) + a_;
    b_ = b_ * 5 + 0xc2b2ae3d27d4eb4f;
    ++count_;
  }
  void text(std::string_view s) {
    word(s.size());
    for (std::size_t at = 0; at < s.size(); at += 8) {
      std::uint64_t w = 0;
      for (std::size_t i = std::min(s.size() - at, std::size_t{8}); i-- > 0;)
        w = w << 8 | static_cast<unsigned char>(s[at + i]);
      word(w);
    }
  }
  std::string hex() {
    word(count_);
    for (int round = 0; round < 2; ++round) {
      a_ = avalanche(a_ + b_);
      b_ = avalanche(b_ + a_);
    }
    std::string digits;
    for (auto const half : {a_, b_})
      for (int shift = 60; shift >= 0; shift -= 4) digits += "0123456789abcdef"[half >> shift & 15];
    return digits;
  }

 private:
  static constexpr std::uint64_t kA = 0x9fb21c651e98df25, kB = 0xd6e8feb86659fd93;
  static std::uint64_t avalanche(std::uint64_t x) {
    x = (x ^ x >> 32) * kB;
    x = (x ^ x >> 29) * kA;
    return x ^ x >> 32;
  }
  std::uint64_t a_ = 0x243f6a8885a308d3, b_ = 0x13198a2e03707344, count_ = 0;
};

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

void add_dataset(Hash128& hash, hid_t dataset) {
  auto const shape = shape_of_dataset(dataset);
  add_shape(hash, shape);
  if (shape.kind == Kind::other) return;
  for_pieces(shape, [&](std::uint64_t row, std::uint64_t rows) {
    if (shape.kind == Kind::text) {
      for (auto const& value : read_texts(dataset, shape, row, rows)) hash.text(value);
    } else {
      for (auto const value : read_words(dataset, shape, row, rows)) hash.word(value);
    }
  });
}

void add_group(Hash128& hash, hid_t group, std::string const& path, int depth) {
  if (depth > kMaxDepth) throw Hdf5Failure("groups are nested too deeply");
  for (auto const& name : link_names(group)) {
    auto const child = path + "/" + name;
    if (among(kPathsLeftOut, child)) continue;
    auto const object = open_object(group, name);
    auto const type = type_of(object);
    hash.text(child);
    hash.word(static_cast<std::uint64_t>(type));
    if (type == H5O_TYPE_GROUP || type == H5O_TYPE_DATASET) add_attributes(hash, object, false);
    if (type == H5O_TYPE_GROUP) add_group(hash, object, child, depth + 1);
    if (type != H5O_TYPE_DATASET) continue;
    if (child == "/config/toml")
      hash.text(config_without_file_names(object));
    else
      add_dataset(hash, object);
  }
}

}  // namespace

std::string digest_of(hid_t file) {
  Hash128 hash;
  auto const root = open_group(file, "/");
  add_attributes(hash, root, true);
  add_group(hash, root, "", 0);
  return hash.hex();
}

std::string result_digest(std::string const& path) {
  return read_guarded(path, [](hid_t file) {
    check_is_result(file);
    return digest_of(file);
  });
}

}  // namespace farfault::results
