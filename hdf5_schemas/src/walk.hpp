// SPDX-License-Identifier: Apache-2.0
// Reading of untrusted files: names in sorted order, and values piece by piece with sizes checked
// first.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "handle.hpp"

namespace farfault::results {

inline constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxRowBytes = std::size_t{256} << 20;
inline constexpr hsize_t kMaxNames = 1'000'000;
inline constexpr int kMaxDepth = 16;

enum class Kind : std::uint8_t { integer, unsigned_integer, real, text, other };

struct Shape {
  Kind kind = Kind::other;
  std::vector<hsize_t> extents;  // empty for a scalar
  std::uint64_t row_values = 1;  // values of one step along the first dimension
  std::uint64_t rows() const { return extents.empty() ? 1 : extents[0]; }
};

// Opens a file for reading, without a lock: a run that is under way is read like one that has ended. Within
// read_guarded all files are opened so; HDF5 refuses one file in two ways.
Handle open_to_read(std::string const& path, char const* failure);

Handle open_dataset(hid_t file, std::string const& path);  // throws where there is none
Handle open_group(hid_t file, std::string const& path);    // the same

std::vector<std::string> link_names(hid_t group);           // of hard links, sorted
std::vector<std::string> attribute_names(hid_t object);     // sorted
H5O_type_t type_of(hid_t parent, std::string const& name);  // throws where the object has another name too
bool has(hid_t parent, std::string const& name);

Shape shape_of_dataset(hid_t dataset);  // throws when the dataset claims more than its storage can hold
Shape shape_of_attribute(hid_t attribute);

// Numbers as 64-bit words: reals by their bits, others by their value.
std::vector<std::uint64_t> read_words(hid_t dataset, Shape const& shape, std::uint64_t first_row,
                                      std::uint64_t rows);
std::vector<std::string> read_texts(hid_t dataset, Shape const& shape, std::uint64_t first_row,
                                    std::uint64_t rows);
std::string scalar_text(hid_t file, std::string const& path);  // throws where there is not one text
std::vector<std::uint64_t> attribute_words(hid_t attribute, Shape const& shape);
std::vector<std::string> attribute_texts(hid_t attribute, Shape const& shape);

// Calls `visit(first_row, rows)` for pieces of at most kPieceBytes (or one row).
void for_pieces(Shape const& shape, std::function<void(std::uint64_t, std::uint64_t)> const& visit);

std::string text_attribute(hid_t object, char const* name);  // empty when it is not there or not one text

}  // namespace farfault::results
