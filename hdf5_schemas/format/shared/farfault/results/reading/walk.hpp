// SPDX-License-Identifier: Apache-2.0
// Reading of untrusted files: sorted attribute names, and values in pieces after a check of their size.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "farfault/results/reading/handle.hpp"
#include "farfault/results/reading/open.hpp"

namespace farfault::results {

inline constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxRowBytes = std::size_t{256} << 20;

enum class Kind : std::uint8_t { integer, unsigned_integer, real, text, other };

struct Shape {
  Kind kind = Kind::other;
  std::vector<std::uint64_t> extents;  // empty for a scalar
  std::uint64_t row_values = 1;        // values per index of the first dimension
  std::uint64_t rows() const { return extents.empty() ? 1 : extents[0]; }
};

std::vector<std::string> attribute_names(ObjectId object);  // sorted

Shape shape_of_dataset(ObjectId dataset);  // throws if the dataset claims more than its storage can hold
Shape shape_of_attribute(ObjectId attribute);

// Numbers as 64-bit words: reals by their bits, others by their value.
std::vector<std::uint64_t> read_words(ObjectId dataset, Shape const& shape, std::uint64_t first_row,
                                      std::uint64_t rows);
std::vector<std::string> read_texts(ObjectId dataset, Shape const& shape, std::uint64_t first_row,
                                    std::uint64_t rows);
std::string scalar_text(ObjectId file, std::string const& path);  // throws unless the dataset is one text
std::vector<std::uint64_t> attribute_words(ObjectId attribute, Shape const& shape);
std::vector<std::string> attribute_texts(ObjectId attribute, Shape const& shape);

// Calls `visit(first_row, rows)` for pieces of at most kPieceBytes (or one row).
void for_pieces(Shape const& shape, std::function<void(std::uint64_t, std::uint64_t)> const& visit);

bool has_attribute(ObjectId object, char const* name);
std::string text_attribute(ObjectId object, char const* name);  // empty if missing or not one text

}  // namespace farfault::results
