// SPDX-License-Identifier: Apache-2.0
#include "barnes_hut.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <unordered_set>
#include <utility>

#include "farfault/workloads/registry.hpp"
#include "random.hpp"

namespace farfault::workloads {
namespace {

using Point = BarnesHut::Point;

void draw_bodies(BarnesHut& t, std::uint64_t seed) {
  Random random(seed);
  std::unordered_set<std::uint64_t> taken;
  while (taken.size() < t.bodies) {
    auto const shrink = std::min(std::countr_zero(random.next()), 7);
    auto const half = std::uint64_t{1} << (21 - shrink);
    Point p;
    std::uint64_t key = 0;
    for (auto& c : p) {
      auto const drawn = random.below(half);  // even numbers from -half up to half
      c = 2 * static_cast<std::int64_t>(drawn) - static_cast<std::int64_t>(half);
      key = key << 21 | static_cast<std::uint64_t>(c / 2 + (1 << 20));
    }
    if (taken.insert(key).second) t.position.push_back(p);
  }
}

// Returns the octant of p around `middle`, and moves `middle` to that octant's centre.
std::uint8_t descend(Point& middle, std::int64_t half, Point const& p) {
  std::uint8_t octant = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    bool const above = middle[i] < p[i];
    octant = static_cast<std::uint8_t>(octant | above << i);
    middle[i] += above ? half : -half;
  }
  return octant;
}

void insert(BarnesHut& t, Point const& centre, std::uint32_t body) {
  auto const p = t.position[body];
  auto middle = centre;
  auto half = t.half / 2;
  auto node = t.root;
  std::uint32_t depth = 1;
  auto slot = 8 * node + descend(middle, half, p);
  t.slots.push_back(slot);
  while (!t.is_body(t.octants[slot])) {
    node = static_cast<std::uint32_t>(t.octants[slot]);
    ++depth;
    half /= 2;
    slot = 8 * node + descend(middle, half, p);
    t.slots.push_back(slot);
  }
  auto const there = t.octants[slot];
  t.first_cell.push_back(t.bottom - 1);
  t.other.push_back(static_cast<std::uint32_t>(std::max(there, 0)));
  if (there == BarnesHut::kNothing) {
    t.octants[slot] = static_cast<std::int32_t>(body);
  } else {
    std::uint8_t other, own;
    do {
      if (--t.bottom <= t.bodies)
        throw ParameterError("bodies", t.bodies,
                             "their tree needs more cells than its array has; use fewer bodies");
      ++depth;
      t.octants[slot] = static_cast<std::int32_t>(t.bottom);
      half /= 2;
      auto of_other = middle;
      other = descend(of_other, half, t.position[static_cast<std::size_t>(there)]);
      own = descend(middle, half, p);
      t.made.push_back({other, own});
      t.octants[8 * t.bottom + other] = there;
      slot = 8 * t.bottom + own;
    } while (own == other);
    t.octants[slot] = static_cast<std::int32_t>(body);
  }
  t.depth = std::max(t.depth, depth);
}

// Cells in reverse order of creation: children precede their parents.
void summarize(BarnesHut& t) {
  t.position.resize(t.root + std::size_t{1});
  t.count.assign(t.root + std::size_t{1}, 1);
  for (auto cell = t.bottom; cell <= t.root; ++cell) {
    Point sum{};
    std::uint32_t count = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      auto const child = t.octants[8 * std::size_t{cell} + i];
      if (child == BarnesHut::kNothing) continue;
      auto const c = static_cast<std::size_t>(child);
      count += t.count[c];
      for (std::size_t axis = 0; axis < 3; ++axis) sum[axis] += t.position[c][axis] * t.count[c];
    }
    t.count[cell] = count;
    for (auto& c : sum) c = (c - (c < 0 ? static_cast<std::int64_t>(count) - 1 : 0)) / count;
    t.position[cell] = sum;
  }
}

void sort_bodies(BarnesHut& t) {
  t.children = t.octants;
  t.start.assign(t.root + std::size_t{1}, 0);
  t.sorted.resize(t.bodies);
  for (auto cell = t.root; cell >= t.bottom; --cell) {
    auto start = t.start[cell];
    auto const first = t.children.begin() + 8 * static_cast<std::ptrdiff_t>(cell);
    std::stable_partition(first, first + 8, [](auto child) { return child != BarnesHut::kNothing; });
    for (std::ptrdiff_t i = 0; i < 8 && first[i] != BarnesHut::kNothing; ++i) {
      auto const child = static_cast<std::uint32_t>(first[i]);
      if (t.is_body(first[i]))
        t.sorted[start] = child;
      else
        t.start[child] = start;
      start += t.count[child];
    }
  }
}

}  // namespace

BarnesHut barnes_hut(std::uint32_t bodies, std::uint64_t seed) {
  BarnesHut t;
  t.bodies = bodies;
  t.root = (2 * bodies + 31) / 32 * 32 - 1;
  t.bottom = t.root;
  draw_bodies(t, seed);
  Point centre;
  std::int64_t longest = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    auto const [low, high] =
        std::minmax_element(t.position.begin(), t.position.end(),
                            [axis](auto const& a, auto const& b) { return a[axis] < b[axis]; });
    centre[axis] = ((*low)[axis] + (*high)[axis]) / 2;
    longest = std::max(longest, (*high)[axis] - (*low)[axis]);
  }
  t.half = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(longest) / 2 + 1));
  t.octants.assign(8 * (t.root + std::size_t{1}), BarnesHut::kNothing);
  for (std::uint32_t b = 0; b < bodies; ++b) {
    t.first_slot.push_back(static_cast<std::uint32_t>(t.slots.size()));
    t.first_made.push_back(static_cast<std::uint32_t>(t.made.size()));
    insert(t, centre, b);
  }
  t.first_slot.push_back(static_cast<std::uint32_t>(t.slots.size()));
  t.first_made.push_back(static_cast<std::uint32_t>(t.made.size()));
  summarize(t);
  sort_bodies(t);
  return t;
}

std::vector<Look> looks(BarnesHut const& t, std::uint32_t first, std::uint32_t end) {
  std::vector<Look> all;
  struct Level {
    std::uint32_t node, next;
  };
  std::vector<Level> stack{{t.root, 0}};
  while (!stack.empty()) {
    if (stack.back().next == 8) {
      stack.pop_back();
      continue;
    }
    auto const slot = 8 * stack.back().node + stack.back().next++;
    auto const child = t.children[slot];
    if (child == BarnesHut::kNothing) {  // all further children are empty, too
      all.push_back({slot, false});
      stack.pop_back();
      continue;
    }
    bool opens = false;
    if (!t.is_body(child)) {
      // The threshold is twice the side of the parent, whose depth is the stack's height minus one.
      auto const side = 4 * t.half >> (stack.size() - 1);
      auto const& q = t.position[static_cast<std::size_t>(child)];
      for (auto i = first; i < end && !opens; ++i) {
        auto const& p = t.position[t.sorted[i]];
        std::int64_t distance = 0;
        for (std::size_t axis = 0; axis < 3; ++axis) distance += (q[axis] - p[axis]) * (q[axis] - p[axis]);
        opens = distance < side * side;
      }
    }
    all.push_back({slot, opens});
    if (opens) stack.push_back({static_cast<std::uint32_t>(child), 0});
  }
  return all;
}

}  // namespace farfault::workloads
