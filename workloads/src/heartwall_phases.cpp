// SPDX-License-Identifier: Apache-2.0
#include "heartwall_phases.hpp"

#include <utility>

namespace farfault::workloads::heartwall {
namespace {

// Row and column of an element: an integer division and a remainder.
constexpr Work kPlace{.vector = 26, .special = 4, .scalar = 3};
constexpr Work kPlain{.vector = 7, .scalar = 3};
constexpr Work kWithDivision{.vector = 18, .special = 1, .scalar = 3};

Access load(Array array) {
  return {Op::load, array};
}
Access store(Array array) {
  return {Op::store, array};
}
Access at_point(Op op, Array array, std::uint32_t per_point = 1, std::uint32_t number = 0) {
  return {.op = op, .array = array, .index = Index::point, .source_rows = per_point, .row = number};
}

Phase map(std::uint32_t elements, std::vector<Access> accesses, Work const& work, bool barrier = true) {
  Phase p;
  p.elements = elements;
  p.accesses = std::move(accesses);
  p.work = work;
  p.barrier = barrier;
  return p;
}

Phase list(Kind kind, std::vector<Access> accesses, bool barrier) {
  auto p = map(1, std::move(accesses), {.vector = 4, .scalar = 2}, barrier);
  p.kind = kind;
  return p;
}

// Copies a part of `rows` x `columns` of an array, from (row, column) on, to a separate array.
Phase part(Array from, std::uint32_t source_rows, std::uint32_t row, std::uint32_t column, Array to,
           std::uint32_t rows, std::uint32_t columns) {
  return map(rows * columns,
             {{.op = Op::load,
               .array = from,
               .index = Index::window,
               .rows = rows,
               .source_rows = source_rows,
               .row = row,
               .column = column},
              store(to)},
             kPlace);
}

// Prefix sums along lines, in place.
Phase add_up(Array array, std::uint32_t lines, std::uint32_t positions, std::uint32_t element_step,
             std::uint32_t position_step) {
  Phase p;
  p.kind = Kind::walk;
  p.elements = lines;
  p.accesses = {load(array), store(array)};
  p.work = {.vector = 5, .scalar = 2};
  p.positions = positions;
  p.element_step = element_step;
  p.position_step = position_step;
  return p;
}

Phase read_lines(Array array, std::uint32_t lines, std::uint32_t element_step, std::uint32_t position_step) {
  auto p = add_up(array, lines, lines, element_step, position_step);
  p.accesses.pop_back();
  return p;
}

// Sums of `from` under the pattern at each offset: prefix sums down columns and along rows, and differences.
void local_sums(std::vector<Phase>& phases, Sizes const& s, Array from, Array to) {
  auto const side = s.pattern(), padded = s.padded(), n = s.offsets();
  phases.push_back(map(padded * padded,
                       {{.op = Op::load,
                         .array = from,
                         .index = Index::padding,
                         .rows = padded,
                         .source_rows = s.area(),
                         .row = side,
                         .column = side},
                        store(Array::padded)},
                       kPlace));
  phases.push_back(add_up(Array::padded, padded, padded, padded, 1));
  phases.push_back(part(Array::padded, padded, side, 0, Array::padded_low, n, padded));
  phases.push_back(part(Array::padded, padded, 0, 0, Array::sums, n, padded));
  phases.push_back(map(n * padded, {load(Array::padded_low), load(Array::sums), store(Array::sums)}, kPlain));
  phases.push_back(add_up(Array::sums, n, padded, 1, n));
  phases.push_back(part(Array::sums, n, 0, side, Array::sums_low, n, n));
  phases.push_back(part(Array::sums, n, 0, 0, to, n, n));
  phases.push_back(map(n * n, {load(Array::sums_low), load(to), store(to)}, kPlain));
}

Phase convolve(std::uint32_t elements, std::uint32_t first, std::uint32_t second, std::uint32_t offset,
               Array read, bool reads_second, std::vector<Access> accesses) {
  Phase p;
  p.kind = Kind::convolve;
  p.elements = elements;
  p.accesses = std::move(accesses);
  p.work = {.vector = 4, .scalar = 2, .shared = reads_second ? 1U : 0U};
  p.first = first;
  p.second = second;
  p.offset = offset;
  p.read = read;
  p.reads_second = reads_second;
  return p;
}

}  // namespace

std::uint64_t bytes_of(Array array, Sizes const& s) {
  std::uint64_t const pattern = s.pattern(), area = s.area(), n = s.offsets(), padded = s.padded();
  switch (array) {
    case Array::row:
    case Array::column:
      return 4;
    case Array::row_found:
    case Array::column_found:
      return 4 * std::uint64_t{s.frames};
    case Array::pattern:
    case Array::pattern_squared:
      return 4 * pattern * pattern;
    case Array::area:
    case Array::area_squared:
      return 4 * area * area;
    case Array::padded:
      return 4 * padded * padded;
    case Array::padded_low:
    case Array::sums:
      return 4 * n * padded;
    default:
      return 4 * n * n;
  }
}

std::vector<Phase> phases_of(std::uint32_t frame, Sizes const& s) {
  auto const side = s.pattern(), n = s.offsets();
  auto const image = [](std::uint32_t rows, std::uint32_t before) {
    return Access{.op = Op::load,
                  .array = Array::frame,
                  .index = Index::image,
                  .rows = rows,
                  .row = before,
                  .column = before};
  };
  // The accesses of the first frame and of every tenth.
  auto const place = [](Op op, bool found, std::uint32_t number, std::uint32_t frames, bool column) {
    if (!found) return at_point(op, column ? Array::column : Array::row);
    return at_point(op, column ? Array::column_found : Array::row_found, frames, number);
  };
  auto const both = [&](bool from_found, bool to_found) {
    return std::vector<Access>{place(Op::load, from_found, frame, s.frames, false),
                               place(Op::store, to_found, frame, s.frames, false),
                               place(Op::load, from_found, frame, s.frames, true),
                               place(Op::store, to_found, frame, s.frames, true)};
  };
  auto const point =
      std::vector<Access>{place(Op::load, false, 0, 0, false), place(Op::load, false, 0, 0, true)};
  auto const with_point = [&](std::vector<Access> accesses) {
    accesses.insert(accesses.begin(), point.begin(), point.end());
    return accesses;
  };
  std::vector<Phase> p;
  if (frame == 0) {
    p.push_back(list(Kind::one_thread, both(false, true), false));
    p.push_back(map(side * side, with_point({image(side, s.pattern_half + 1), store(Array::pattern)}), kPlace,
                    false));
    return p;
  }
  p.push_back(list(Kind::each_warp, point, false));
  p.push_back(map(s.area() * s.area(), {image(s.area(), s.search_half + 1), store(Array::area)}, kPlace));
  p.push_back(map(side * side, {{Op::load, Array::pattern, Index::rotated, side}},
                  {.vector = 30, .special = 5, .scalar = 3, .shared = 1}));
  p.push_back(convolve(n * n, side, s.area(), 0, Array::area, true, {store(Array::product)}));
  local_sums(p, s, Array::area, Array::local);
  p.push_back(map(s.area() * s.area(), {load(Array::area), store(Array::area_squared)}, kPlain));
  local_sums(p, s, Array::area_squared, Array::local_squared);
  p.push_back(map(n * n, {load(Array::local), load(Array::local_squared), store(Array::local_squared)},
                  {.vector = 22, .special = 2, .scalar = 3}));
  p.push_back(map(side * side, {load(Array::pattern), store(Array::pattern_squared)}, kPlain));
  p.push_back(read_lines(Array::pattern, side, side, 1));
  p.push_back(read_lines(Array::pattern_squared, side, 1, side));
  // One thread per sum, then one thread for the pattern's deviation.
  p.push_back(list(Kind::one_thread, {}, true));
  p.back().work = {.vector = 4 * side, .scalar = 2 * side, .shared = side};
  p.push_back(list(Kind::one_thread, {}, true));
  p.back().work = {.vector = 30, .special = 4, .shared = 3};
  p.push_back(map(n * n, {load(Array::local_squared), store(Array::local_squared)}, kPlain));
  p.push_back(map(n * n, {load(Array::product), load(Array::local), store(Array::product)}, kWithDivision));
  p.push_back(map(n * n, {load(Array::product), load(Array::local_squared), store(Array::local_squared)},
                  kWithDivision));
  p.push_back(list(Kind::each_warp,
                   {at_point(Op::load, Array::row_found, s.frames, frame - 1), point[0],
                    at_point(Op::load, Array::column_found, s.frames, frame - 1), point[1]},
                   false));
  p.push_back(map(n * n, {store(Array::mask)}, kPlain));
  p.push_back(convolve(n * n, n, kMove, kMove / 2, Array::mask, false,
                       {load(Array::local_squared), store(Array::masked)}));
  p.push_back(read_lines(Array::masked, n, n, 1));
  p.push_back(list(Kind::one_thread, both(false, true), true));
  if (frame % kRenewed == 0) {
    p.push_back(list(Kind::each_warp, both(true, false), false));
    p.push_back(
        map(side * side,
            with_point({load(Array::pattern), image(side, s.pattern_half + 1), store(Array::pattern)}),
            kPlace, false));
  }
  return p;
}

}  // namespace farfault::workloads::heartwall
