// SPDX-License-Identifier: Apache-2.0
// The phases of heartwall's kernel as tables: what each thread of a block accesses between two barriers.
//
// A block has arrays of its own for each point, which lie column by column. Threads take elements a block's
// threads apart from each other, and play a phase's accesses for each: those of a list (map); those of a line
// of elements, position by position (walk); or those of a product of two windows that slide over each other
// (convolve). Or a single thread, or one for each warp, plays the list once.
#pragma once

#include <cstdint>
#include <vector>

#include "farfault/workloads/kernel_support.hpp"

namespace farfault::workloads::heartwall {

inline constexpr std::uint32_t kThreads = 256;

// `points` times, but for the frame.
enum class Array : std::uint8_t {
  frame,
  row,  // of the point; found in each frame
  column,
  row_found,
  column_found,
  pattern,  // what is looked for
  pattern_squared,
  area,  // around the point, where it is looked for
  area_squared,
  product,     // of pattern and area, at each offset
  padded,      // the area or its squares, and zeros around it; sums down the columns
  padded_low,  // parts of it
  sums,        // of a pattern's rows; along the rows
  sums_low,
  local,          // sums below the pattern, at each offset
  local_squared,  // of squares; then deviations; then correlations
  mask,
  masked,
  count,
};

enum class Index : std::uint8_t {
  element,  // as it is
  window,   // of `rows` rows, at (row, column) in an array of `source_rows`
  image,    // the same in the frame, from (row, column) before the point on
  rotated,  // of `rows` rows and columns, from the end
  padding,  // within the window; elsewhere none
  point,    // of this point, of `source_rows` per point, the one of number `row`; one lane for all
};

struct Access {
  Op op = Op::load;
  Array array = Array::frame;
  Index index = Index::element;
  std::uint32_t rows = 0, source_rows = 0;
  std::uint32_t row = 0, column = 0;
};

enum class Kind : std::uint8_t { map, walk, convolve, one_thread, each_warp };

struct Phase {
  Kind kind = Kind::map;
  std::uint32_t elements = 0;
  std::vector<Access> accesses{};  // of an element, or of a position
  Work work{};                     // before a store, or behind the last load
  // walk: positions of an element, and how far apart elements and positions lie
  std::uint32_t positions = 0, element_step = 0, position_step = 0;
  // convolve: `first` sides slide over `second`, by `offset` less; reads the second one, or the first
  std::uint32_t first = 0, second = 0, offset = 0;
  bool reads_second = false;
  Array read = Array::area;
  bool barrier = true;
};

struct Sizes {
  std::uint32_t pattern_half, search_half;
  std::uint32_t frames;

  std::uint32_t pattern() const { return 2 * pattern_half + 1; }  // a side, in elements
  std::uint32_t area() const { return 2 * search_half + 1; }
  std::uint32_t offsets() const { return pattern() + area() - 1; }
  std::uint32_t padded() const { return area() + 2 * pattern(); }
};

inline constexpr std::uint32_t kMove = 10;     // a side of the mask's window
inline constexpr std::uint32_t kRenewed = 10;  // frames after which patterns are renewed

// Bytes of an array of one point.
std::uint64_t bytes_of(Array array, Sizes const& sizes);

// Of the kernel of a frame.
std::vector<Phase> phases_of(std::uint32_t frame, Sizes const& sizes);

}  // namespace farfault::workloads::heartwall
