// SPDX-License-Identifier: Apache-2.0
// Gravity between bodies by the Barnes-Hut algorithm, from LonestarGPU 2.0 (bh), one time step:
//   BoundingBox       the cube around all bodies: a block per 1,024 bodies; the last block combines them
//   ClearKernel1      all children
//   TreeBuilding      a body descends the tree and takes an empty place by an atomic. If the place has a
//                     body, it locks the place and makes cells until the two bodies separate
//   ClearKernel2      mass and start of the cells
//   Summarization     a cell's mass, centre of mass and number of bodies, from its children's
//   Sort              bodies in tree order; a cell's children move to the front
//   ForceCalculation  a warp traverses the tree for 32 bodies that are adjacent in this order: one load per
//                     child for all of them; a cell that is far enough from all of them counts as one body
//   Integration       velocities and positions
// The host computes the tree and the path of each thread (barnes_hut.hpp).
//
// The suite launches as many blocks as fit on the GPU, whose threads process several bodies or cells; here
// each thread has one. Repeated polls of threads that wait for another thread are omitted: for a lock, for a
// cell's children, for the start of a cell. A warp of 64 threads traverses the tree for 64 bodies.
//
// Blocks and registers are from the version for Kepler, compiled by nvcc 13.0 -O3 for sm_75. Counts: a
// child's distance is 8 vector instructions, its force 10 and a root; other counts are assumed.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "barnes_hut_kernels.hpp"
#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::bh {
namespace {

using namespace gravity;

struct Spec {
  std::uint32_t bodies = 8192;

  void describe(ParamTable& t) {
    t.count("bodies", bodies, {64, 1U << 20},
            "Bodies of a cluster with higher density towards its centre (LonestarGPU: 30,000 and more)",
            "assumed, smaller than published to shorten runs");
  }
};

KernelShape shape_of(char const* name, std::uint64_t items, std::uint32_t block, std::uint32_t registers,
                     std::uint64_t shared = 0) {
  return {.name = name,
          .blocks = ceil_div(items, block),
          .threads_per_block = block,
          .registers_per_thread = registers,
          .shared_bytes_per_block = shared};
}

class BoundingBox final : public LinearKernel {
 public:
  static constexpr std::uint32_t kBlock = 1024;

  BoundingBox(std::uint32_t warp_width, Shared run)
      : LinearKernel(shape_of("BoundingBoxKernel", run->tree.bodies, kBlock, 35, 6 * kBlock * 4), warp_width,
                     run->tree.bodies),
        run_(std::move(run)) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const t = threads(block, warp);
    auto const& r = *run_;
    if (take(step, 1)) return set_arguments(out, 8);
    if (take(step, 3)) return set_uniform(out, Op::load, 4, r.position[step]);
    if (take(step, 1)) return set_compute(out, {.vector = 8, .special = 1, .scalar = 4}, kWait);
    if (t.lanes != 0 && take(step, 3))
      return set_linear(out, Op::load, 4, r.at(r.position[step], t.first), 4, t.lanes);
    if (take(step, 1)) return set_compute(out, {.vector = 6 + 4, .scalar = 3, .shared = 6}, kWait);
    if (take(step, 20)) {  // half of the threads, then a quarter and so on, merge another thread's bounds
      if (step % 2 == 0) return set_barrier(out);
      bool const takes = warp * warp_width() < kBlock >> (step / 2 + 1);
      return set_compute(out, {.vector = takes ? 9U : 2U, .scalar = 2, .shared = takes ? 12U : 0U});
    }
    if (warp != 0) return set_end(out);
    auto const bounds = [&](std::uint64_t i) { return i % 2 == 0 ? r.least[i / 2] : r.most[i / 2]; };
    if (take(step, 6)) return set_uniform(out, Op::store, 4, r.at(bounds(step), block));
    if (take(step, 1)) return set_uniform(out, Op::load, 4, r.blocks);  // an atomic with a result
    if (take(step, 1)) return set_compute(out, {.vector = 2, .scalar = 3}, kWait);
    auto const all = shape().blocks;
    if (block + 1 != all) return set_end(out);
    if (take(step, 7 * all)) {
      if (step % 7 == 6) return set_compute(out, {.vector = 6 + 2, .scalar = 3}, kWait);
      return set_uniform(out, Op::load, 4, r.at(bounds(step % 7), step / 7));
    }
    if (take(step, 1)) return set_compute(out, {.vector = 8});
    auto const root = r.tree.root;
    VirtAddr const values[] = {r.radius,
                               r.bottom,
                               r.at(r.mass, root),
                               r.at(r.start, root),
                               r.at(r.position[0], root),
                               r.at(r.position[1], root),
                               r.at(r.position[2], root)};
    if (take(step, 7)) return set_uniform(out, Op::store, 4, values[step]);
    if (take(step, 8)) return set_uniform(out, Op::store, 4, r.at(r.child, 8 * std::uint64_t{root} + step));
    if (take(step, 1)) return set_uniform(out, Op::load, 4, r.step);
    if (take(step, 1)) return set_uniform(out, Op::store, 4, r.step, kWait);
    set_end(out);
  }

 private:
  Shared run_;
};

class TreeBuilding final : public LinearKernel {
 public:
  TreeBuilding(std::uint32_t warp_width, Shared run)
      : LinearKernel(shape_of("TreeBuildingKernel", run->tree.bodies, 1024, 40), warp_width,
                     run->tree.bodies),
        run_(std::move(run)) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const t = threads(block, warp);
    auto const& r = *run_;
    auto const& tree = r.tree;
    if (take(step, 1)) return set_arguments(out, 6);
    if (take(step, 1)) return set_uniform(out, Op::load, 4, r.radius);
    if (take(step, 3)) return set_uniform(out, Op::load, 4, r.at(r.position[step], tree.root));
    if (take(step, 1)) return set_compute(out, {.vector = 8, .special = 1, .scalar = 4}, kWait);
    if (t.lanes == 0) {
      if (take(step, 1)) return set_barrier(out);
      return set_end(out);
    }
    auto const all = low_lanes(t.lanes);
    if (take(step, 3)) return set_linear(out, Op::load, 4, r.at(r.position[step], t.first), 4, t.lanes);
    if (take(step, 1)) return set_compute(out, {.vector = 16, .scalar = 2}, kWait);
    auto const way = [&](std::uint32_t lane) {
      return tree.first_slot[t.first + lane + 1] - tree.first_slot[t.first + lane];
    };
    auto const cells = [&](std::uint32_t lane) {
      return tree.first_made[t.first + lane + 1] - tree.first_made[t.first + lane];
    };
    std::uint32_t longest = 0, max_cells = 0;
    std::uint64_t making = 0;
    for (std::uint32_t i = 0; i < t.lanes; ++i) {
      longest = std::max(longest, way(i));
      max_cells = std::max(max_cells, cells(i));
      making |= std::uint64_t{cells(i) != 0} << i;
    }
    auto const slot = [&](std::uint32_t lane, std::uint64_t i) {
      return r.at(r.child, tree.slots[tree.first_slot[t.first + lane] + i]);
    };
    auto const last = [&](std::uint32_t lane) { return slot(lane, way(lane) - 1); };
    if (take(step, 2 * std::uint64_t{longest})) {
      if (step % 2 != 0) return set_compute(out, {.vector = 16, .scalar = 4}, kWait);
      return play(load(4), all, out,
                  [&](auto lane) { return step / 2 < way(lane) ? slot(lane, step / 2) : kNone; });
    }
    if (take(step, 1)) return play(atomic_load(4), all & ~making, out, last);
    if (take(step, 1)) return play(atomic_load(4), making, out, last);
    if (take(step, 1)) return set_compute(out, {.vector = 4, .scalar = 4}, kWait);
    // The place, in the i-th cell that a lane makes, of the body found there (own is false) or of the lane's
    // body.
    auto const octant = [&](std::uint32_t lane, std::uint64_t i, bool own) {
      auto const& m = tree.made[tree.first_made[t.first + lane] + i];
      return r.at(r.child, 8 * (tree.first_cell[t.first + lane] - i) + (own ? m.own : m.there));
    };
    if (take(step, 10 * std::uint64_t{max_cells})) {
      auto const i = step / 10;
      auto const cell = [&](Step const& s, auto address) {
        return play(s, making, out, [&](auto lane) { return i < cells(lane) ? address(lane) : kNone; });
      };
      switch (step % 10) {
        case 0:
          return cell(atomic_load(4), [&](auto) { return r.bottom; });
        case 2:
          return cell(store(4), [&](auto lane) { return i == 0 ? kNone : octant(lane, i - 1, true); });
        case 3:
        case 4:
        case 5:
          return cell(load(4),
                      [&](auto lane) { return r.at(r.position[step % 10 - 3], tree.other[t.first + lane]); });
        case 7:
          return cell(store(4), [&](auto lane) { return octant(lane, i, false); });
        case 8:
          return cell(load(4), [&](auto lane) { return octant(lane, i, true); });
        default:
          return set_compute(out, {.vector = 8, .scalar = 3}, kWait);
      }
    }
    if (take(step, 1))
      return play(store(4), making, out, [&](auto lane) { return octant(lane, cells(lane) - 1, true); });
    if (take(step, 1)) return set_barrier(out);
    if (take(step, 1)) return play(store(4), making, out, last);
    if (take(step, 1)) return play(atomic_store(4), all, out, [&](auto) { return r.depth; });
    set_end(out);
  }

 private:
  Shared run_;
};

class Force final : public LinearKernel {
 public:
  static constexpr std::uint32_t kBlock = 1024;

  Force(std::uint32_t warp_width, Shared run)
      : LinearKernel(shape_of("ForceCalculationKernel", run->tree.bodies, kBlock, 29, 12'288), warp_width,
                     run->tree.bodies),
        run_(std::move(run)) {
    auto const& tree = run_->tree;
    for (std::uint32_t first = 0; first < tree.bodies; first += warp_width) {
      first_.push_back(looks_.size());
      std::uint32_t step = 0;
      for (auto const& l :
           farfault::workloads::looks(tree, first, std::min(first + warp_width, tree.bodies))) {
        looks_.push_back({l, step});
        step += tree.children[l.slot] == BarnesHut::kNothing ? 2 : l.opens ? 7 : 8;
      }
      steps_.push_back(step);
      if (looks_.size() > (1U << 26))
        throw ParameterError(
            "bodies", tree.bodies,
            "their forces need more than 1 GiB of host memory, the maximum; use fewer bodies");
    }
    first_.push_back(looks_.size());
  }

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const t = threads(block, warp);
    auto const& r = *run_;
    auto const& tree = r.tree;
    if (take(step, 1)) return set_arguments(out, 10);
    if (take(step, 1)) return set_compute(out, {.vector = 6, .scalar = 3}, kWait);
    if (warp == 0) {  // the first thread computes the distances, level by level
      if (take(step, 1)) return set_uniform(out, Op::load, 4, r.radius);
      if (take(step, 2 * std::uint64_t{tree.depth})) {
        if (step % 2 == 0) return set_uniform(out, Op::load, 4, r.depth);
        return set_compute(out, {.vector = 3, .scalar = 3, .shared = 2}, kWait);
      }
      if (take(step, 1)) return set_uniform(out, Op::load, 4, r.depth);
    }
    if (take(step, 1)) return set_barrier(out);
    if (take(step, 1)) return set_uniform(out, Op::load, 4, r.depth);
    if (take(step, 1)) return set_compute(out, {.vector = 8, .scalar = 4, .shared = 2}, kWait);
    if (take(step, 1)) return set_barrier(out);
    if (t.lanes == 0) return set_end(out);
    if (take(step, 1)) return set_linear(out, Op::load, 4, r.at(r.sort, t.first), 4, t.lanes);
    if (take(step, 1)) return set_compute(out, {.vector = 12}, kWait);
    auto const body = [&](Step const& s, VirtAddr const(&base)[3], std::uint64_t axis) {
      play(s, low_lanes(t.lanes), out,
           [&](auto lane) { return r.at(base[axis], tree.sorted[t.first + lane]); });
    };
    if (take(step, 3)) return body(load(4), r.position, step);
    if (take(step, 1)) return set_compute(out, {.vector = 4, .scalar = 2, .shared = 2}, kWait);
    auto const group = t.first / warp_width();
    if (take(step, steps_[group])) return look(group, step, out);
    if (take(step, 1)) return set_uniform(out, Op::load, 4, r.step);
    if (take(step, 1)) return set_compute(out, {.vector = 12, .scalar = 2}, kWait);
    if (take(step, 3)) return body(store(4), r.acceleration, step);
    set_end(out);
  }

 private:
  struct Placed {
    Look look;
    std::uint32_t step;  // first step, counted over the warp's looks
  };

  void look(std::uint64_t group, std::uint64_t step, WarpInstruction& out) const {
    auto const& r = *run_;
    auto const begin = looks_.begin() + static_cast<std::ptrdiff_t>(first_[group]);
    auto const end = looks_.begin() + static_cast<std::ptrdiff_t>(first_[group + 1]);
    auto const& l =
        *std::prev(std::partition_point(begin, end, [step](Placed const& p) { return p.step <= step; }));
    auto const child = static_cast<std::uint64_t>(r.tree.children[l.look.slot]);
    switch (step - l.step) {
      case 0:
        return set_uniform(out, Op::load, 4, r.at(r.child, l.look.slot));
      case 1:
        return set_compute(out, {.vector = 8, .scalar = 4}, kWait);
      case 2:
      case 3:
      case 4:
        return set_uniform(out, Op::load, 4, r.at(r.position[step - l.step - 2], child));
      case 5:  // distance, vote
        return set_compute(out, {.vector = 8 + 4, .scalar = 4}, kWait);
      case 6:
        if (l.look.opens) return set_compute(out, {.vector = 3, .scalar = 2, .shared = 3});
        return set_uniform(out, Op::load, 4, r.at(r.mass, child));
      default:
        return set_compute(out, {.vector = 10, .special = 1, .scalar = 2}, kWait);
    }
  }

  Shared run_;
  std::vector<Placed> looks_;         // warp by warp
  std::vector<std::uint64_t> first_;  // per warp
  std::vector<std::uint32_t> steps_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  auto run = std::make_shared<Run>();
  run->tree = barnes_hut(spec.bodies, context.seed);
  BufferLayout layout(context.buffers);
  auto const nodes = 4 * (std::uint64_t{run->tree.root} + 1);
  auto const blocks = ceil_div(spec.bodies, BoundingBox::kBlock);
  auto const axes = [&](VirtAddr(&base)[3], std::string const& name, std::uint64_t bytes, bool given) {
    for (int i = 0; i < 3; ++i) {
      auto const full = name + "xyz"[i];
      base[i] = given ? layout.add(full, bytes) : layout.add_result(full, bytes);
    }
  };
  run->error = layout.add_result("err", 4);
  run->child = layout.add_result("child", 8 * nodes);
  run->mass = layout.add("mass", nodes);
  axes(run->position, "pos", nodes, true);
  axes(run->velocity, "vel", nodes, true);
  axes(run->acceleration, "acc", nodes, false);
  run->count = layout.add_result("count", nodes);
  run->start = layout.add_result("start", nodes);
  run->sort = layout.add_result("sort", nodes);
  axes(run->most, "max", 4 * blocks, false);
  axes(run->least, "min", 4 * blocks, false);
  auto const values = layout.add_result("values", 20);
  VirtAddr* const single[] = {&run->step, &run->bottom, &run->depth, &run->blocks, &run->radius};
  for (std::uint64_t i = 0; i < 5; ++i) *single[i] = values + 4 * i;

  std::vector<std::unique_ptr<Kernel const>> kernels;
  auto const width = context.warp_width;
  auto const each = [&](char const* name, std::uint32_t block, std::uint32_t registers, auto visit,
                        std::uint64_t shared = 0) {
    kernels.push_back(std::make_unique<ThreadCentric<decltype(visit)>>(
        shape_of(name, visit.items(), block, registers, shared), width, std::move(visit)));
  };
  OfRun const of{{}, run};
  each("InitializationKernel", 1, 5, InitializeTree{of});
  kernels.push_back(std::make_unique<BoundingBox>(width, run));
  each("ClearKernel1", 1024, 12, ClearChildren{of});
  kernels.push_back(std::make_unique<TreeBuilding>(width, run));
  each("ClearKernel2", 1024, 14, ClearCells{{of}});
  each("SummarizationKernel", 768, 39, Summarization{{of}}, 49'152);
  each("SortKernel", 128, 20, Sort{{of}});
  kernels.push_back(std::make_unique<Force>(width, run));
  each("IntegrationKernel", 1024, 30, Integration{of});
  return {"bh", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {
      "bh",
      "Barnes-Hut n-body simulation with an octree, one time step (LonestarGPU)",
      &SpecBuilder<Spec, build>::make,
      {{kSmall, {{"bodies", "512"}}},
       {kMedium, {}},
       {kPaper,
        {{"bodies", "30000"}},
        "LonestarGPU, bh, as in TLB compression (PACT 2020): 30,000 bodies and more; one of several steps"}}};
}

}  // namespace farfault::workloads::bh
