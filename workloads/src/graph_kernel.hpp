// SPDX-License-Identifier: Apache-2.0
// Graph kernels of GraphBIG's GPU suite as instruction streams. The accesses of a kernel to one vertex and
// the mapping of vertices to threads are separate.
//
// - A Visit defines the accesses and groups of computation of a kernel, as tables of Steps.
// - ThreadCentric assigns each item (a vertex, or an entry of a work list) to a thread; WarpCentric assigns
//   `chunk` items to each 32 threads.
// - The instruction of a step is found by counting the lengths of rows: nothing is stored per step.
// - Atomics are modelled as in traces: with a result as a load, without one as a store.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include "farfault/workloads/kernel_support.hpp"

namespace farfault::workloads {

inline constexpr std::uint32_t kLogicalWarp = 32;  // WARP_SZ of GraphBIG's kernels
inline constexpr VirtAddr kNone = ~VirtAddr{0};

struct Step {
  Op op = Op::compute;
  std::uint32_t bytes = 0;
  bool wait = false;
  Work work{};
};

constexpr Step load(std::uint32_t bytes, bool wait = false) {
  return {Op::load, bytes, wait, {}};
}
constexpr Step store(std::uint32_t bytes, bool wait = false) {
  return {Op::store, bytes, wait, {}};
}
// With a result: the thread uses the previous value.
constexpr Step atomic_load(std::uint32_t bytes, bool wait = false) {
  return load(bytes, wait);
}
constexpr Step atomic_store(std::uint32_t bytes, bool wait = false) {
  return store(bytes, wait);
}
// Computation on loaded values.
constexpr Step compute(Work work) {
  return {Op::compute, 0, kWait, work};
}

// Instruction counts of the pieces that the kernels consist of, as LLVM 14 compiles the same statements for
// gfx803: the address of an element with a 64-bit index; a condition (compare, mask, branch, restoring the
// mask); the end of a loop over edges (advance of index and edge address, compare, mask, branch).
inline constexpr std::uint32_t kAddressVector = 4;
inline constexpr std::uint32_t kIfVector = 1, kIfScalar = 3;
inline constexpr std::uint32_t kLoopVector = 5, kLoopScalar = 3;

// Work of the given numbers of pieces.
constexpr Work pieces(std::uint32_t addresses, std::uint32_t ifs, std::uint32_t loops = 0,
                      std::uint32_t arithmetic = 0) {
  return {.vector = kAddressVector * addresses + kIfVector * ifs + kLoopVector * loops + arithmetic,
          .scalar = kIfScalar * ifs + kLoopScalar * loops};
}

struct Item {
  std::uint64_t at;  // position in the work list; without a list, the vertex
  std::uint64_t vertex;
};

struct Row {
  std::uint64_t first;  // first edge
  std::uint64_t count;
};

// Defaults of a Visit: tables of Steps, and for each table the function that returns a Step's address (kNone:
// the thread does not access memory).
//   begin   per warp, before it checks for work; the same address for all lanes
//   head    per item
//   row     per item for which visits() is true: the ends of its row, and its own properties
//   edge    per edge of visited(item), for these items
//   tail    per item of this kind, at its end
//   finish  per thread of a warp that had work, at the end (WarpCentric only)
//   push    per push of a thread, pushes() in all, after `finish` (WarpCentric only)
struct Visit {
  static constexpr std::uint32_t arguments = 4;  // scalar loads
  static constexpr std::array<Step, 0> begin{}, head{}, row{}, edge{}, tail{}, finish{}, push{};

  std::uint64_t vertex(std::uint64_t at) const { return at; }
  bool visits(Item) const { return false; }
  Row visited(Item) const { return {0, 0}; }
  VirtAddr begin_at(std::size_t) const { return kNone; }
  VirtAddr head_at(std::size_t, Item) const { return kNone; }
  VirtAddr row_at(std::size_t, Item) const { return kNone; }
  VirtAddr edge_at(std::size_t, Item, std::uint64_t) const { return kNone; }
  VirtAddr tail_at(std::size_t, Item) const { return kNone; }
  VirtAddr finish_at(std::size_t, std::uint64_t) const { return kNone; }
  std::uint64_t pushes(std::uint64_t) const { return 0; }
  VirtAddr push_at(std::size_t, std::uint64_t, std::uint64_t) const { return kNone; }
};

// Calls use(lane) for each lane.
template <class Use>
void for_lanes(std::uint64_t lanes, Use use) {
  for (; lanes != 0; lanes &= lanes - 1) use(static_cast<std::uint32_t>(std::countr_zero(lanes)));
}

// The step for `lanes`, each at address(lane). An access without any active lane is the branch around it.
template <class Address>
void play(Step const& s, std::uint64_t lanes, WarpInstruction& out, Address address) {
  if (s.op == Op::compute) return set_compute(out, s.work, s.wait);
  std::uint64_t taking = 0;
  for_lanes(lanes, [&](std::uint32_t lane) {
    auto const a = address(lane);
    if (a == kNone) return;
    out.address[lane] = a;
    taking |= std::uint64_t{1} << lane;
  });
  if (taking == 0) return set_compute(out, {.scalar = 1}, s.wait);
  set_access(out, s.op, s.bytes, taking, s.wait);
}

// Each item has a thread: the lanes of a warp process their rows in lockstep until none of them has edges
// left.
template <class V>
class ThreadCentric final : public LinearKernel {
 public:
  ThreadCentric(KernelShape shape, std::uint32_t warp_width, V visit)
      : LinearKernel(std::move(shape), warp_width, visit.items()), visit_(std::move(visit)) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    if (take(step, 1)) return set_arguments(out, V::arguments);
    auto const t = threads(block, warp);
    // Index and compare; the first property's address.
    if (take(step, 1))
      return set_compute(out, {.vector = t.lanes ? 5U + kAddressVector : 5U, .scalar = 4}, kWait);
    if (take(step, V::begin.size()))
      return play(V::begin[step], 1, out, [&](auto) { return visit_.begin_at(step); });
    if (t.lanes == 0) return set_end(out);
    auto const item = [&](std::uint32_t lane) { return Item{t.first + lane, visit_.vertex(t.first + lane)}; };
    if (take(step, V::head.size()))
      return play(V::head[step], low_lanes(t.lanes), out,
                  [&](auto lane) { return visit_.head_at(step, item(lane)); });
    std::uint64_t lanes = 0;
    std::uint64_t longest = 0;
    std::array<Row, kMaxLanes> rows;  // valid for `lanes` only
    for (std::uint32_t i = 0; i < t.lanes; ++i) {
      if (!visit_.visits(item(i))) continue;
      lanes |= std::uint64_t{1} << i;
      rows[i] = visit_.visited(item(i));
      longest = std::max(longest, rows[i].count);
    }
    if (lanes == 0) return set_end(out);
    if (take(step, V::row.size()))
      return play(V::row[step], lanes, out, [&](auto lane) { return visit_.row_at(step, item(lane)); });
    if constexpr (V::edge.size() > 0)
      if (take(step, longest * V::edge.size())) {
        auto const k = step / V::edge.size();
        auto const phase = step % V::edge.size();
        return play(V::edge[phase], lanes, out, [&](auto lane) {
          auto const& r = rows[lane];
          return k < r.count ? visit_.edge_at(phase, item(lane), r.first + k) : kNone;
        });
      }
    if (take(step, V::tail.size()))
      return play(V::tail[step], lanes, out, [&](auto lane) { return visit_.tail_at(step, item(lane)); });
    set_end(out);
  }

 private:
  V visit_;
};

// Each 32 threads process their items one after the other and read the edges of an item side by side; one
// lane reads the values that all of them need. GraphBIG numbers these warps of 32 by the thread's number in
// the grid: a wavefront of 64 holds two of them, and with a block size that is not a multiple of 32 a warp of
// the machine may hold parts of two.
template <class V>
class WarpCentric final : public LinearKernel {
 public:
  WarpCentric(KernelShape const& shape, std::uint32_t warp_width, std::uint32_t chunk, V visit)
      : LinearKernel(shape, warp_width, shape.blocks * shape.threads_per_block),
        chunk_(chunk),
        visit_(std::move(visit)) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    if (take(step, 1)) return set_arguments(out, V::arguments);
    // Index, lane, warp, the bounds of the chunk; compares.
    if (take(step, 1)) return set_compute(out, {.vector = 5 + 8, .scalar = 4 + 2}, kWait);
    if (take(step, V::begin.size()))
      return play(V::begin[step], 1, out, [&](auto) { return visit_.begin_at(step); });
    auto const t = threads(block, warp);
    Parts parts(t, chunk_, visit_.items());
    if (parts.busy == 0) return set_end(out);
    for (std::uint32_t j = 0; j < chunk_; ++j) {
      auto const now = parts.at(j, visit_);
      if (now.first == 0) break;
      // The first lane of a part reads the values that all its threads need.
      if (take(step, V::head.size()))
        return play(V::head[step], now.first, out,
                    [&](auto lane) { return visit_.head_at(step, now.item(parts, lane)); });
      if (now.visiting == 0) continue;
      if (take(step, V::row.size()))
        return play(V::row[step], now.first & now.visiting, out,
                    [&](auto lane) { return visit_.row_at(step, now.item(parts, lane)); });
      if constexpr (V::edge.size() > 0)
        if (take(step, now.rounds * V::edge.size())) {
          auto const k = step / V::edge.size();
          auto const phase = step % V::edge.size();
          return play(V::edge[phase], now.visiting, out, [&](auto lane) {
            auto const& r = now.row[parts.of(lane)];
            auto const i = k * kLogicalWarp + (t.first + lane) % kLogicalWarp;
            return i < r.count ? visit_.edge_at(phase, now.item(parts, lane), r.first + i) : kNone;
          });
        }
      if (take(step, V::tail.size()))
        return play(V::tail[step], now.first & now.visiting, out,
                    [&](auto lane) { return visit_.tail_at(step, now.item(parts, lane)); });
    }
    if (take(step, V::finish.size()))
      return play(V::finish[step], parts.busy, out,
                  [&](auto lane) { return visit_.finish_at(step, t.first + lane); });
    if constexpr (V::push.size() > 0) {
      auto const r = step / V::push.size();
      auto const phase = step % V::push.size();
      std::uint64_t pushing = 0;
      for_lanes(parts.busy, [&](auto lane) {
        if (r < visit_.pushes(t.first + lane)) pushing |= std::uint64_t{1} << lane;
      });
      if (pushing != 0)
        return play(V::push[phase], pushing, out,
                    [&](auto lane) { return visit_.push_at(phase, t.first + lane, r); });
    }
    set_end(out);
  }

 private:
  static constexpr std::uint32_t kMaxParts = kMaxLanes / kLogicalWarp + 1;

  struct Now;

  // The logical warps, or parts of them, that a warp of the machine holds.
  struct Parts {
    struct Part {
      std::uint64_t items_begin = 0, items_end = 0;
      std::uint64_t lanes = 0;
    };

    Parts(ThreadRange t, std::uint32_t chunk, std::uint64_t items) : lead(t.first % kLogicalWarp) {
      auto const logical = t.first / kLogicalWarp;
      std::uint64_t lane = 0;
      for (count = 0; lane < t.lanes; ++count) {
        auto const end = std::min<std::uint64_t>(t.lanes, (count + 1) * kLogicalWarp - lead);
        auto& p = part[count];
        p.items_begin = std::min(items, (logical + count) * chunk);
        p.items_end = std::min(items, p.items_begin + chunk);
        p.lanes = low_lanes(static_cast<std::uint32_t>(end)) & ~low_lanes(static_cast<std::uint32_t>(lane));
        if (p.items_begin < p.items_end) busy |= p.lanes;
        lane = end;
      }
    }

    std::uint32_t of(std::uint32_t lane) const {
      return static_cast<std::uint32_t>((lane + lead) / kLogicalWarp);
    }

    // The j-th item of each part.
    Now at(std::uint32_t j, V const& visit) const {
      Now now;
      for (std::uint32_t i = 0; i < count; ++i) {
        auto const& p = part[i];
        auto const at = p.items_begin + j;
        if (at >= p.items_end) continue;
        now.first |= p.lanes & -p.lanes;
        now.items[i] = {at, visit.vertex(at)};
        if (!visit.visits(now.items[i])) continue;
        now.visiting |= p.lanes;
        auto const& r = now.row[i] = visit.visited(now.items[i]);
        auto const first_lane = (lead + static_cast<std::uint64_t>(std::countr_zero(p.lanes))) % kLogicalWarp;
        if (r.count > first_lane)
          now.rounds = std::max(now.rounds, ceil_div(r.count - first_lane, kLogicalWarp));
      }
      return now;
    }

    std::uint64_t lead;      // position of lane 0 in its logical warp
    std::uint64_t busy = 0;  // lanes of parts that have items
    std::uint32_t count = 0;
    std::array<Part, kMaxParts> part{};
  };

  struct Now {
    std::uint64_t first = 0;     // first lane of each part that has an item
    std::uint64_t visiting = 0;  // lanes of parts that visit their item
    std::uint64_t rounds = 0;    // iterations of the loop over edges
    std::array<Item, kMaxParts> items{};
    std::array<Row, kMaxParts> row{};

    Item item(Parts const& parts, std::uint32_t lane) const { return items[parts.of(lane)]; }
  };

  std::uint32_t chunk_;
  V visit_;
};

}  // namespace farfault::workloads
