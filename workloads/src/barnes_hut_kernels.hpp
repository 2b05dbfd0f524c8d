// SPDX-License-Identifier: Apache-2.0
// The kernels of bh with a thread per body or cell, as tables of accesses (graph_kernel.hpp), and the arrays
// that all its kernels share. catalogue/bh.cpp describes the kernels.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "barnes_hut.hpp"
#include "graph_kernel.hpp"

namespace farfault::workloads::gravity {

struct Run {
  BarnesHut tree;
  VirtAddr error, child, mass, position[3], velocity[3], acceleration[3], count, start, sort, most[3],
      least[3];
  VirtAddr step, bottom, depth, blocks, radius;  // single values

  VirtAddr at(VirtAddr base, std::uint64_t i) const { return base + 4 * i; }
};
using Shared = std::shared_ptr<Run const>;

struct OfRun : Visit {
  Shared run;

  static constexpr std::uint32_t arguments = 4;
  VirtAddr at(VirtAddr base, std::uint64_t i) const { return run->at(base, i); }
};

struct InitializeTree : OfRun {
  static constexpr std::uint32_t arguments = 1;
  static constexpr std::array head{store(4), store(4), store(4), store(4)};
  std::uint64_t items() const { return 1; }
  VirtAddr head_at(std::size_t i, Item) const {
    return i == 0 ? run->error : i == 1 ? run->step : i == 2 ? run->depth : run->blocks;
  }
};

struct ClearChildren : OfRun {
  static constexpr std::array head{store(4)};
  // The first cell, rounded down to a multiple of 32.
  std::uint64_t first() const { return 8 * std::uint64_t{run->tree.bodies} / 32 * 32; }
  std::uint64_t items() const { return 8 * std::uint64_t{run->tree.root} - first(); }
  VirtAddr head_at(std::size_t, Item v) const {
    auto const i = first() + v.vertex;
    return i < 8 * std::uint64_t{run->tree.bodies} ? kNone : at(run->child, i);
  }
};

// A thread per cell, from the last created cell on, rounded down to a multiple of 32.
struct OfCells : OfRun {
  std::uint64_t first() const { return run->tree.bottom / 32 * 32; }
  std::uint64_t items() const { return run->tree.root + 1 - first(); }
  std::uint64_t cell(Item v) const { return first() + v.vertex; }
  bool there(Item v) const { return cell(v) >= run->tree.bottom; }
  Row visited(Item) const { return {0, 8}; }
};

struct ClearCells : OfCells {
  static constexpr std::array head{load(4), compute({.vector = 4, .scalar = 2}), store(4), store(4)};
  VirtAddr head_at(std::size_t i, Item v) const {
    if (i == 0) return run->bottom;
    if (!there(v) || cell(v) == run->tree.root) return kNone;  // the root is already initialized
    return at(i == 2 ? run->mass : run->start, cell(v));
  }
};

// Per child: its number of bodies, or its mass, and its centre of mass; then the values of the cell itself.
constexpr auto kSummary = [] {
  std::array<Step, 8 * 5 + 6> steps{};
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < 4; ++j) steps[5 * i + j] = load(4);
    steps[5 * i + 4] = compute({.vector = 12, .scalar = 4, .shared = 2});
  }
  steps[40] = compute({.vector = 12, .special = 1});
  for (std::size_t i = 41; i < 46; ++i) steps[i] = store(4);
  return steps;
}();

struct Summarization : OfCells {
  static constexpr std::array head{load(4), load(4), compute({.vector = 4, .scalar = 2})};
  static constexpr std::array edge{load(4), compute({.vector = 6, .scalar = 3, .shared = 1}), load(4),
                                   compute({.vector = 2, .scalar = 2, .shared = 1})};
  static constexpr auto tail = kSummary;

  VirtAddr head_at(std::size_t i, Item v) const {
    if (i == 0) return run->bottom;
    return there(v) ? at(run->mass, cell(v)) : kNone;
  }
  bool visits(Item v) const { return there(v); }
  std::int32_t octant(Item v, std::uint64_t i) const { return run->tree.octants[8 * cell(v) + i]; }
  VirtAddr edge_at(std::size_t i, Item v, std::uint64_t e) const {
    if (i == 0) return at(run->child, 8 * cell(v) + e);
    auto const child = octant(v, e);
    return run->tree.is_body(child) ? kNone : at(run->mass, static_cast<std::uint64_t>(child));
  }
  VirtAddr tail_at(std::size_t i, Item v) const {
    if (i > 40) {
      VirtAddr const base[] = {run->count, run->position[0], run->position[1], run->position[2], run->mass};
      return at(base[i - 41], cell(v));
    }
    auto const child = octant(v, i / 5);
    if (child == BarnesHut::kNothing) return kNone;
    auto const base = i % 5 != 0                 ? run->position[i % 5 - 1]
                      : run->tree.is_body(child) ? run->mass
                                                 : run->count;
    return at(base, static_cast<std::uint64_t>(child));
  }
};

struct Sort : OfCells {
  static constexpr std::array head{load(4), load(4), compute({.vector = 4, .scalar = 2})};
  static constexpr std::array edge{load(4), compute({.vector = 6, .scalar = 3}), store(4), store(4), store(4),
                                   load(4), compute({.vector = 6, .scalar = 4})};

  VirtAddr head_at(std::size_t i, Item v) const {
    if (i == 0) return run->bottom;
    return there(v) ? at(run->start, cell(v)) : kNone;
  }
  bool visits(Item v) const { return there(v); }
  VirtAddr edge_at(std::size_t i, Item v, std::uint64_t e) const {
    auto const& tree = run->tree;
    auto const first = 8 * cell(v);
    if (i == 0) return at(run->child, first + e);
    auto const child = tree.octants[first + e];
    if (child == BarnesHut::kNothing) return kNone;
    // Its rank among the children that exist, and the first of its bodies.
    std::uint64_t place = 0, start = tree.start[cell(v)];
    for (std::uint64_t j = 0; j < e; ++j) {
      auto const before = tree.octants[first + j];
      if (before == BarnesHut::kNothing) continue;
      ++place;
      start += tree.count[static_cast<std::size_t>(before)];
    }
    if (i < 4) return place == e ? kNone : at(run->child, first + (i == 2 ? e : place));
    if (tree.is_body(child)) return i == 4 ? at(run->sort, start) : kNone;
    return at(i == 4 ? run->start : run->count, static_cast<std::uint64_t>(child));
  }
};

struct Integration : OfRun {
  static constexpr std::array head{load(4),  load(4),  load(4),  load(4),  load(4),
                                   load(4),  load(4),  load(4),  load(4),  compute({.vector = 18 + 8}),
                                   store(4), store(4), store(4), store(4), store(4),
                                   store(4)};
  std::uint64_t items() const { return run->tree.bodies; }
  VirtAddr head_at(std::size_t i, Item v) const {
    auto const& base = i < 3    ? run->acceleration[i]
                       : i < 6  ? run->velocity[i - 3]
                       : i < 9  ? run->position[i - 6]
                       : i < 13 ? run->position[i - 10]
                                : run->velocity[i - 13];
    return at(base, v.vertex);
  }
};

}  // namespace farfault::workloads::gravity
