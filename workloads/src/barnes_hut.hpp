// SPDX-License-Identifier: Apache-2.0
// One time step of Barnes and Hut's algorithm on the host, as LonestarGPU's bh goes about it: a tree of cubes
// around bodies, each halved three ways until a body is alone; centres of mass; forces, for which a cube that
// is far enough away from all bodies of a warp counts as one body.
//
// All in whole numbers, the same on every machine: coordinates are even and below 2^22 in size, the root's
// half side is a power of two, centres of mass are rounded down. Bodies have equal masses.
//
// A tree has 2 n nodes, rounded up to a multiple of 32. Bodies have numbers from 0 on; the root has the last
// one, and cells the numbers below it, in the order in which they are made. Bodies are inserted one after the
// other; on hardware threads insert them at the same time, and cells' numbers depend on who is first.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace farfault::workloads {

struct BarnesHut {
  static constexpr std::int32_t kNothing = -1;
  using Point = std::array<std::int64_t, 3>;

  std::uint32_t bodies = 0, root = 0;
  std::uint32_t bottom = 0;  // the lowest number of a cell
  std::int64_t half = 0;     // of the root's side
  std::uint32_t depth = 0;   // of the tree; the root's children are at 1

  std::vector<Point> position;         // of bodies and of cells' centres of mass, by number
  std::vector<std::uint32_t> count;    // bodies in a cell, by number
  std::vector<std::int32_t> octants;   // eight children of each node, by where they lie
  std::vector<std::int32_t> children;  // the same, those that there are in front
  std::vector<std::uint32_t> start;    // of each cell's bodies among the sorted ones
  std::vector<std::uint32_t> sorted;   // bodies as they follow in the tree

  // Of each body, where its insertion looked for a child, from the root on; octants as 8 x node + octant.
  std::vector<std::uint32_t> slots;
  std::vector<std::uint32_t> first_slot;  // and the end of the last
  // Of each body the cells that its insertion made, from the first one's number down: the octant of the body
  // that was there, and its own, which is another one in the last cell.
  struct Made {
    std::uint8_t there, own;
  };
  std::vector<Made> made;
  std::vector<std::uint32_t> first_made;
  std::vector<std::uint32_t> first_cell;  // its number
  std::vector<std::uint32_t> other;       // the body that was there

  bool is_body(std::int32_t node) const { return node < static_cast<std::int32_t>(bodies); }
};

// Of bodies in a cluster that the seed gives: each lies within a cube around the middle, whose half side is
// 2^21 for half of them, 2^20 for a quarter, and so on down to 2^14. No two lie at the same place. Throws
// UserError if there is not enough room for cells.
BarnesHut barnes_hut(std::uint32_t bodies, std::uint64_t seed);

// What a warp looks at while it computes the forces on its bodies.
struct Look {
  std::uint32_t slot;  // of a child, as in `slots`
  bool opens;          // the child is a cell that is too near for one of the bodies
};

// Of the sorted bodies from `first` to `end`, of one warp.
std::vector<Look> looks(BarnesHut const& tree, std::uint32_t first, std::uint32_t end);

}  // namespace farfault::workloads
