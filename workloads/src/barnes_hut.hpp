// SPDX-License-Identifier: Apache-2.0
// One time step of the Barnes-Hut algorithm on the host, as in LonestarGPU's bh: an octree of cubes down to
// single bodies, centres of mass, and forces. A cube that is far enough away from all bodies of a warp counts
// as one body.
//
// - Integer arithmetic, the same on every machine: coordinates are even and below 2^22 in magnitude, the
//   root's half side is a power of two, centres of mass are rounded down. Bodies have equal masses.
// - Numbering: a tree has 2 n nodes, rounded up to a multiple of 32. Bodies are numbered from 0; the root has
//   the last number, and cells have descending numbers below it in the order of creation.
// - Bodies are inserted one after the other. On hardware, threads insert them concurrently, and the numbers
//   of cells depend on the race.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace farfault::workloads {

struct BarnesHut {
  static constexpr std::int32_t kNothing = -1;
  using Point = std::array<std::int64_t, 3>;

  std::uint32_t bodies = 0, root = 0;
  std::uint32_t bottom = 0;  // lowest number of a cell
  std::int64_t half = 0;     // half side of the root
  std::uint32_t depth = 0;   // depth of the tree; the root's children are at 1

  std::vector<Point> position;         // bodies, and centres of mass of cells, by number
  std::vector<std::uint32_t> count;    // bodies in a cell, by number
  std::vector<std::int32_t> octants;   // eight children of each node, by octant
  std::vector<std::int32_t> children;  // the same, with empty children at the end
  std::vector<std::uint32_t> start;    // each cell's first body in `sorted`
  std::vector<std::uint32_t> sorted;   // bodies in tree order

  // Per body: the children that its insertion looked up, from the root on, as 8 x node + octant.
  std::vector<std::uint32_t> slots;
  std::vector<std::uint32_t> first_slot;  // per body, and the end of the last
  // Per body: the cells that its insertion created, with descending numbers. Each has the octant of the body
  // that occupied the place and the octant of the inserted body; the two differ only in the last cell.
  struct Made {
    std::uint8_t there, own;
  };
  std::vector<Made> made;
  std::vector<std::uint32_t> first_made;
  std::vector<std::uint32_t> first_cell;  // number of the first cell created
  std::vector<std::uint32_t> other;       // the body that occupied the place

  bool is_body(std::int32_t node) const { return node < static_cast<std::int32_t>(bodies); }
};

// Draws the bodies of a cluster from the seed. Each body is inside a cube around the centre. The cube's half
// side is 2^21 for half of the bodies, 2^20 for a quarter, and so on down to 2^14. No two bodies have the
// same position. Throws UserError if the tree has no room for its cells.
BarnesHut barnes_hut(std::uint32_t bodies, std::uint64_t seed);

// One child that a warp examines while it computes the forces on its bodies.
struct Look {
  std::uint32_t slot;  // the child, as in `slots`
  bool opens;          // the child is a cell that is too near to one of the bodies
};

// The children that the warp of the sorted bodies from `first` to `end` examines.
std::vector<Look> looks(BarnesHut const& tree, std::uint32_t first, std::uint32_t end);

}  // namespace farfault::workloads
