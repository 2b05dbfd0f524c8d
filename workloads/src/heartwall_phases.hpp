// SPDX-License-Identifier: Apache-2.0
// The phases of heartwall's kernel as tables: the accesses of each thread of a block between two barriers.
//
// A block has its own arrays for each point, stored column by column. Threads process elements with a stride
// of the block's threads. For each element a thread makes the phase's accesses: a list (map); a line of
// elements, position by position (walk); or a product of two windows that slide over each other (convolve).
// In some phases only one thread, or one thread per warp, makes the accesses of the list once.
#pragma once

#include <cstdint>
#include <vector>

#include "farfault/workloads/kernel_support.hpp"

namespace farfault::workloads::heartwall {

inline constexpr std::uint32_t kThreads = 256;

// Arrays per point, except `frame`.
enum class Array : std::uint8_t {
  frame,
  row,  // position of the point, found in each frame
  column,
  row_found,
  column_found,
  pattern,  // the pattern that is searched
  pattern_squared,
  area,  // around the point, where the pattern is searched
  area_squared,
  product,     // products of pattern and area, at each offset
  padded,      // the area or its squares with a border of zeros; sums down the columns
  padded_low,  // parts of `padded`
  sums,        // sums of a pattern's rows; along the rows
  sums_low,
  local,          // sums under the pattern, at each offset
  local_squared,  // sums of squares; then deviations; then correlations
  mask,
  masked,
  count,
};

enum class Index : std::uint8_t {
  element,  // the element's number
  window,   // of `rows` rows, from (row, column) on, in an array of `source_rows` rows
  image,    // the same in the frame, from (row, column) before the point on
  rotated,  // of `rows` rows and columns, in reverse order
  padding,  // within the window only; outside it no access
  point,    // element `row` of this point's `source_rows` elements; one lane accesses it for all
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
  std::vector<Access> accesses{};  // per element, or per position
  Work work{};                     // before a store, or after the last load
  // walk: positions per element, and the strides of elements and of positions
  std::uint32_t positions = 0, element_step = 0, position_step = 0;
  // convolve: a window of side `first` slides over one of side `second`, beginning at `offset`; reads_second
  // selects the window that is read from `read`
  std::uint32_t first = 0, second = 0, offset = 0;
  bool reads_second = false;
  Array read = Array::area;
  bool barrier = true;
};

struct Sizes {
  std::uint32_t pattern_half, search_half;
  std::uint32_t frames;

  std::uint32_t pattern() const { return 2 * pattern_half + 1; }  // side length in elements
  std::uint32_t area() const { return 2 * search_half + 1; }
  std::uint32_t offsets() const { return pattern() + area() - 1; }
  std::uint32_t padded() const { return area() + 2 * pattern(); }
};

inline constexpr std::uint32_t kMove = 10;     // side of the mask's window
inline constexpr std::uint32_t kRenewed = 10;  // patterns are updated every this many frames

// Size in bytes of an array of one point.
std::uint64_t bytes_of(Array array, Sizes const& sizes);

// The phases of a frame's kernel.
std::vector<Phase> phases_of(std::uint32_t frame, Sizes const& sizes);

}  // namespace farfault::workloads::heartwall
