// SPDX-License-Identifier: Apache-2.0
// The kernels of a LULESH time step as tables of steps, and their mesh.
//
// - A thread reads an element of an array once and keeps it.
// - In two kernels an expanding element skips some reads. These are the few elements that the blast has
//   reached; here all elements read.
// - Arrays that the program allocates in each time step have the same address in all steps, as from an
//   allocator that reuses freed memory.
// - Counts are from the source's arithmetic; a division or a root is one special instruction. Index,
//   addresses and registers are assumed.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "farfault/protocols/kernel.hpp"
#include "farfault/workloads/buffer_layout.hpp"

namespace farfault::workloads::lulesh {

inline constexpr std::uint32_t kBlock = 256;
inline constexpr std::uint32_t kCorners = 8;
inline constexpr std::uint32_t kGroup = 32;  // elements of a block in kernels with a thread per corner

struct Cube {
  explicit Cube(std::uint64_t along);

  // Corners are numbered around the lower face, then around the upper face.
  std::uint64_t node(std::uint64_t element, std::uint32_t corner) const {
    std::uint64_t const round[4] = {0, 1, line + 1, line};
    return first_node[element] + round[corner % 4] + (corner < 4 ? 0 : line * line);
  }
  // The neighbour on side `towards`: two sides per axis, the lower first.
  std::uint64_t neighbour(std::uint64_t element, std::uint32_t towards) const {
    std::uint64_t const apart[3] = {1, side, side * side};
    return towards % 2 == 0 ? element - apart[towards / 2] : element + apart[towards / 2];
  }
  // The i-th node of the plane through the origin perpendicular to an axis.
  std::uint64_t border(std::uint64_t i, std::uint32_t axis) const {
    auto const row = i / line, column = i % line;
    return axis == 0 ? i * line : axis == 1 ? row * line * line + column : i;
  }

  std::uint64_t side, line;  // elements, nodes
  std::uint64_t elements, nodes;
  std::vector<std::uint32_t> first_node;   // per element
  std::vector<std::uint8_t> adjacent;      // per element: a bit for each side with a neighbour
  std::vector<std::uint32_t> corners;      // per node: element + elements x corner
  std::vector<std::uint8_t> corner_count;  // per node
};

// The address of an access, given the thread's item i (an element or a node) and the step's number k.
enum class Where : std::uint8_t {
  item,           // i
  row,            // i of row k of an array with a row per corner
  node,           // the element's k-th node
  own_row,        // i of the row of the thread's corner
  own_node,       // the element's node at the thread's corner
  corner_row,     // i of row k of the corner list, if the node has more than k corners
  corner,         // the k-th entry of the corner list
  adjacent_list,  // i, if there is an element on side k
  adjacent,       // the element on side k
  border,         // the i-th node of the border perpendicular to axis k
  block           // the block's number; first thread only
};

struct Step {
  Op op = Op::compute;
  bool wait = false;
  Where where = Where::item;
  std::uint32_t k = 0;
  std::uint32_t bytes = 0;
  VirtAddr base = 0;
  Work work{};
  std::uint32_t threads = kBlock;  // threads of a block that take part
};

enum class Item { element, element_corner, node, border };

struct Program {
  KernelShape shape;
  Item item = Item::element;
  std::uint64_t items = 0;
  std::vector<Step> steps;
  bool barriers = false;  // if true, warps without an item run to the end
};

// The programs in launch order. Adds their arrays to the layout.
std::vector<std::shared_ptr<Program const>> time_step(Cube const& cube, BufferLayout& layout);

}  // namespace farfault::workloads::lulesh
