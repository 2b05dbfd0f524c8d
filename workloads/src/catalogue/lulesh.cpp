// SPDX-License-Identifier: Apache-2.0
// LULESH 1.0, the CUDA version: shock hydrodynamics on a cube of hexahedral elements, double precision. A
// time step is 28 kernels: forces of elements on their nodes, motion of the nodes, then volumes, viscosity,
// energy and pressure of the elements, and two reductions for the next time step.
//
// One thread per element or per node, except in the hourglass force: eight threads, one per corner, process
// an element, with 32 elements per block, and corners are summed through shared memory between barriers.
// Elements read their eight nodes through the node list; nodes add up the forces of up to eight corners
// through a corner list. Arrays of corners have a row per corner. The neighbours that an element's viscosity
// reads follow from the border of the cube.
//
// A kernel executes a table of steps (lulesh_programs.hpp). The host's computation of the time increment
// takes no simulated time.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "lulesh_programs.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::lulesh {
namespace {

struct Spec {
  std::uint64_t side = 20;
  std::uint32_t steps = 2;

  void describe(ParamTable& t) {
    t.count("side", side, {2, 512}, "Elements along each side of the cube (LULESH: 45)", "assumed");
    t.count("steps", steps, {1, 100'000}, "Time steps (LULESH: until a simulated time of 10 ms)", "assumed");
  }
};

class Play final : public Kernel {
 public:
  Play(std::shared_ptr<Program const> program, std::shared_ptr<Cube const> cube, std::uint32_t warp_width)
      : program_(std::move(program)), cube_(std::move(cube)), warp_width_(warp_width) {}

  KernelShape const& shape() const override { return program_->shape; }

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    if (warp * warp_width_ >= kBlock || step >= program_->steps.size() + 2) return set_end(out);
    if (step-- == 0) return set_arguments(out, 5);
    if (step-- == 0) return set_compute(out, {.vector = 4, .special = 1, .scalar = 4}, kWait);  // index
    auto const& s = program_->steps[step];
    if (!program_->barriers && block * kBlock + warp * warp_width_ >= program_->items) return set_end(out);
    if (s.op == Op::barrier) return set_barrier(out);
    if (warp * warp_width_ >= s.threads) return set_compute(out, {.scalar = 1}, s.wait);
    if (s.op == Op::compute) return set_compute(out, s.work, s.wait);
    access(s, block, warp, out);
  }

 private:
  void access(Step const& s, std::uint64_t block, std::uint32_t warp, WarpInstruction& out) const {
    std::uint64_t lanes = 0;
    for (std::uint32_t lane = 0; lane < warp_width_; ++lane) {
      auto const thread = warp * warp_width_ + lane;
      auto item = block * kBlock + thread;
      std::uint32_t corner = 0;
      if (program_->item == Item::element_corner) {
        // Threads beyond the last element repeat it, because all threads must reach the barriers.
        item = std::min(block * kGroup + thread % kGroup, cube_->elements - 1);
        corner = thread / kGroup;
      } else if (s.where != Where::block && item >= program_->items) {
        break;
      }
      if (thread >= s.threads) break;
      std::uint64_t index = 0;
      if (!index_of(s, item, corner, block, index)) continue;
      lanes |= std::uint64_t{1} << lane;
      out.address[lane] = s.base + s.bytes * index;
    }
    if (lanes == 0) return set_compute(out, {.scalar = 1}, s.wait);  // the branch around the access
    set_access(out, s.op, s.bytes, lanes, s.wait);
  }

  bool index_of(Step const& s, std::uint64_t item, std::uint32_t corner, std::uint64_t block,
                std::uint64_t& index) const {
    auto const& c = *cube_;
    switch (s.where) {
      case Where::item:
        index = item;
        return true;
      case Where::row:
        index = item + c.elements * s.k;
        return true;
      case Where::node:
        index = c.node(item, s.k);
        return true;
      case Where::own_row:
        index = item + c.elements * corner;
        return true;
      case Where::own_node:
        index = c.node(item, corner);
        return true;
      case Where::corner_row:
        index = item + c.nodes * s.k;
        return s.k < c.corner_count[item];
      case Where::corner:
        index = c.corners[kCorners * item + s.k];
        return s.k < c.corner_count[item];
      case Where::adjacent_list:
        index = item;
        return (c.adjacent[item] >> s.k & 1) != 0;
      case Where::adjacent:
        index = c.neighbour(item, s.k);
        return (c.adjacent[item] >> s.k & 1) != 0;
      case Where::border:
        index = c.border(item, s.k);
        return true;
      case Where::block:
        index = block;
        return true;
    }
    return false;
  }

  std::shared_ptr<Program const> program_;
  std::shared_ptr<Cube const> cube_;
  std::uint32_t warp_width_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  auto const cube = std::make_shared<Cube const>(spec.side);
  BufferLayout layout(context.buffers);
  auto const programs = time_step(*cube, layout);
  std::vector<std::unique_ptr<Kernel const>> kernels;
  for (std::uint32_t i = 0; i < spec.steps; ++i)
    for (auto const& p : programs) kernels.push_back(std::make_unique<Play>(p, cube, context.warp_width));
  return {"lulesh", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"lulesh",
          "Shock hydrodynamics on a cube of hexahedra, 28 kernels per time step (LULESH 1.0)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"side", "8"}}},
           {kMedium, {}},
           {kPaper,
            {{"side", "45"}},
            "LULESH 1.0, as in Mosaic (MICRO 2017): 45^3 elements; two of its time steps"}}};
}

}  // namespace farfault::workloads::lulesh
