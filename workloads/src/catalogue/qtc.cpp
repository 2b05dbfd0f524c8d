// SPDX-License-Identifier: Apache-2.0
// Quality-threshold clustering (SHOC, level 2, qtclustering, with the full distance matrix in global memory).
//
// Each round finds one cluster. Up to 256 blocks of 64 threads try the remaining points as seeds, one after
// the other. A seed is skipped if it has at most as many neighbours as the block's best cluster has members.
// For a seed, a thread keeps up to twelve of its neighbours in registers. In every step all threads read, for
// each neighbour that is still available, its byte in the block's mask, its byte in the mask of all clusters
// and its distance to the last member, a gather down a column of the matrix; a reduction in shared memory by
// one thread finds the next member. Three small kernels follow: one thread finds the best block, one block
// gathers the winner's cluster again and removes its members from the list of points, and one block marks
// them.
//
// The clustering is real, on generated points (qt_clustering.hpp). Rounds end when a cluster has one point,
// as in SHOC, or after `clusters` rounds.
//
// A step of a thread without any neighbour left costs a warp a branch if no other of its threads has one. As
// in the source, threads that have left a loop do not wait at the barriers inside it.
//
// Counts: a 64-bit address is two instructions, a compare one, and a loop's end two; the reduction reads
// distances and points of the 63 other threads one after the other. Registers are from nvcc 13.0 -O3 for
// sm_75.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "qt_trim.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::qtc {
namespace {

constexpr std::uint32_t kMaxBlocks = 256;
constexpr std::uint32_t kKept = 12;  // neighbours in a thread's registers

struct Spec {
  std::uint32_t points = 2048;
  std::uint32_t threshold = 1;
  std::uint32_t clusters = 4;

  void describe(ParamTable& t) {
    t.count("points", points, {60, 16'384}, "Points (SHOC, size 1: 4096, with a matrix of 64 MiB)",
            "assumed; SHOC, qtclustering: 4096");
    t.count("threshold", threshold, {1, 20},
            "Maximum diameter of a cluster; the points are in a square of side 20", "SHOC, qtclustering");
    t.count("clusters", clusters, {1, 16'384}, "Maximum clusters (SHOC: until a cluster has one point)",
            "assumed");
  }
};

// Counts each point's neighbours in its row of the neighbour matrix, four at a time.
class Degrees final : public QtKernel {
 public:
  Degrees(std::uint32_t warp_width, std::shared_ptr<QtRun const> run)
      : QtKernel({"compute_degrees", std::min<std::uint64_t>(run->points(), kMaxBlocks), kQtThreads, 38, 0},
                 warp_width, run) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    if (step-- == 0) return set_arguments(out, 4);
    if (step-- == 0)  // the block's share of the points (a division), its first row
      return set_compute(out, {.vector = 20, .special = 4, .scalar = 14}, kWait);
    auto const share = ceil_div(run_->points(), shape().blocks);
    auto const first = block * share;
    auto const own = std::min(share, run_->points() - std::min(run_->points(), first));
    auto const per_turn = run_->row() + ceil_div(run_->row(), 4) + 1;
    auto const turn = step / per_turn;
    if (turn >= turns(own, warp)) return set_end(out);
    auto const in_turn = step % per_turn;
    auto const point = first + item(turn, warp);
    if (in_turn == per_turn - 1)
      return set_linear(out, Op::store, 4, run_->degrees + 4 * point, 4, lanes(own, turn, warp));
    auto const entry = in_turn / 5 * 4 + in_turn % 5;
    if (in_turn % 5 == 4 || entry >= run_->row())  // compares, sums; the address, the loop
      return set_compute(out, {.vector = 2 * 4 + 2, .scalar = 2}, kWait);
    set_linear(out, Op::load, 4, run_->neighbours + 4 * (point * run_->row() + entry), 4 * run_->row(),
               lanes(own, turn, warp));
  }
};

// Tries all seeds of a round.
class Trials final : public QtKernel {
 public:
  Trials(std::uint32_t warp_width, std::shared_ptr<QtRun const> run, QtRound const& round)
      : QtKernel({"qtc_device", round.blocks, kQtThreads, 64, kQtThreads * 8}, warp_width, run),
        round_(round) {
    for (std::uint32_t block = 0; block < round_.blocks; ++block) {
      std::array<std::uint64_t, 2> at{2, 2};
      for (auto t = round_.first[block]; t < round_.first[block + 1]; ++t) {
        start_.push_back(at);
        for (std::uint32_t warp = 0; warp < kQtThreads / warp_width_; ++warp)
          at[warp] += steps_of(round_.trials[t], warp);
      }
    }
  }

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    if (step == 0) return set_arguments(out, 16);
    if (step == 1)  // the block's masks (a product each), its first seed
      return set_compute(out, {.vector = 12, .special = 2, .scalar = 10}, kWait);
    // The last trial that begins at or before this step.
    auto const begin = start_.begin() + round_.first[block], end = start_.begin() + round_.first[block + 1];
    auto const at =
        std::upper_bound(begin, end, step, [&](auto s, auto const& starts) { return s < starts[warp]; });
    auto const n = static_cast<std::size_t>(at - start_.begin()) - 1;
    auto const& trial = round_.trials[n];
    step -= start_[n][warp];
    auto const steps = steps_of(trial, warp);
    if (step < steps) return attempt(out, block, warp, trial, n, step);
    step -= steps;
    if (warp != 0 || step >= 2) return set_end(out);
    set_uniform(out, Op::store, 4, run_->sizes + 8 * block + 4 * step);  // the best cluster's size, its seed
  }

 private:
  static constexpr std::uint64_t kStepsToChoose = 3;
  static constexpr std::uint64_t kStepsOfNeighbour = 4;

  std::uint64_t degree(QtTrial const& trial) const { return run_->clustering.neighbours(trial.seed).size(); }

  std::uint64_t steps_of(QtTrial const& trial, std::uint32_t warp) const {
    if (trial.candidate == QtTrial::kSkipped) return kStepsToChoose;
    auto const kept = turns(degree(trial), warp);
    auto const rounds = run_->steps_of(round_, run_->clustering.candidate(trial.candidate));
    return kStepsToChoose + steps_to_clear(warp) + 1 + kept + 1 +
           rounds * (kStepsOfNeighbour * kept + steps_to_reduce(warp, false)) + 1;
  }

  void attempt(WarpInstruction& out, std::uint64_t block, std::uint32_t warp, QtTrial const& trial,
               std::size_t n, std::uint64_t step) const {
    auto const place = block + (n - round_.first[block]) * round_.blocks;  // position in the list
    if (step == 0) return set_uniform(out, Op::load, 4, run_->left + 4 * place);
    if (step == 1) return set_uniform(out, Op::load, 4, run_->degrees + 4 * std::uint64_t{trial.seed}, kWait);
    if (step == 2) return set_compute(out, {.vector = 4, .scalar = 4}, kWait);  // compare, loop
    step -= kStepsToChoose;
    if (step < steps_to_clear(warp)) return clear(out, block, warp, trial.seed, step);
    step -= steps_to_clear(warp);
    auto const& row = run_->clustering.neighbours(trial.seed);
    auto const& c = run_->clustering.candidate(trial.candidate);
    auto const kept = turns(row.size(), warp);
    auto const neighbours = run_->neighbours + 4 * trial.seed * run_->row();
    if (step-- == 0)  // compares with the degree, the address of the row
      return set_compute(out,
                         {.vector = 3 + 2 * static_cast<std::uint32_t>(kept), .special = 1, .scalar = 2});
    if (step < kept)
      return set_linear(out, Op::load, 4, neighbours + 4 * item(step, warp), 4,
                        lanes(row.size(), step, warp));
    step -= kept;
    if (step-- == 0) return set_barrier(out);
    auto const per_round = kStepsOfNeighbour * kept + steps_to_reduce(warp, false);
    auto const round = step / per_round;
    if (round >= run_->steps_of(round_, c)) return set_barrier(out);
    step -= round * per_round;
    if (step >= kStepsOfNeighbour * kept)
      return reduce(out, block, warp, c, round, false, step - kStepsOfNeighbour * kept);
    auto const turn = step / kStepsOfNeighbour;
    auto const in_step = [&](std::uint32_t bytes, auto test, auto address) {
      access(out, Op::load, bytes, row.size(), turn, warp, kWait, test, address);
    };
    auto const points = run_->points();
    switch (step % kStepsOfNeighbour) {
      case 0:
        return in_step(
            1, [&](auto i) { return c.dropped[i] >= round; },
            [&](auto i) { return run_->mask + block * points + row[i]; });
      case 1:
        return in_step(
            1, [&](auto i) { return c.dropped[i] > round || round == 0; },
            [&](auto i) { return run_->clustered + row[i]; });
      case 2:
        return in_step(
            4, [&](auto i) { return c.dropped[i] > round; },
            [&](auto i) { return run_->distances + 4 * (row[i] * points + c.members[round]); });
      default:  // the larger distance, the smaller diameter
        return set_compute(out, {.vector = 6, .scalar = 2}, kWait);
    }
  }

  QtRound const& round_;
  std::vector<std::array<std::uint64_t, 2>> start_;  // per trial, for each warp
};

// One thread finds the block with the largest cluster.
class BestBlock final : public QtKernel {
 public:
  BestBlock(std::uint32_t warp_width, std::shared_ptr<QtRun const> run, QtRound const& round)
      : QtKernel({"reduce_card", 1, 1, 10, 0}, warp_width, std::move(run)), round_(round) {
    std::uint32_t most = 0;
    for (auto const size : round_.sizes) {
      better_.push_back(size > most);
      most = std::max(most, size);
    }
  }

  void instruction(std::uint64_t, std::uint32_t, std::uint64_t step, WarpInstruction& out) const override {
    if (step-- == 0) return set_arguments(out, 2);
    if (step-- == 0) return set_compute(out, {.vector = 3, .scalar = 3}, kWait);
    auto const block = step / 3;
    if (block >= round_.blocks) {
      step -= std::uint64_t{3} * round_.blocks;
      return step < 2 ? set_uniform(out, Op::store, 4, run_->sizes + 4 * step, step == 0) : set_end(out);
    }
    auto const entry = run_->sizes + 8 * block;
    switch (step % 3) {
      case 0:
        return set_uniform(out, Op::load, 4, entry);
      case 1:  // compare; the address, the loop
        return set_compute(out, {.vector = 4, .scalar = 2}, kWait);
      default:
        return better_[block] ? set_uniform(out, Op::load, 4, entry + 4) : set_compute(out, {.scalar = 1});
    }
  }

 private:
  QtRound const& round_;
  std::vector<bool> better_;
};

// One block marks the members of the cluster.
class Mark final : public QtKernel {
 public:
  Mark(std::uint32_t warp_width, std::shared_ptr<QtRun const> run)
      : QtKernel({"update_clustered", 1, kQtThreads, 12, 0}, warp_width, std::move(run)) {}

  void instruction(std::uint64_t, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    if (step-- == 0) return set_arguments(out, 3);
    if (step-- == 0) return set_compute(out, {.vector = 3, .scalar = 2}, kWait);
    auto const turn = step / 4;
    if (turn >= turns(run_->points(), warp))
      return step == 4 * turns(run_->points(), warp) ? set_barrier(out) : set_end(out);
    auto const first = item(turn, warp);
    auto const count = lanes(run_->points(), turn, warp);
    switch (step % 4) {
      case 0:
        return set_linear(out, Op::load, 1, run_->mask + first, 1, count);
      case 1:
        return set_linear(out, Op::load, 1, run_->clustered + first, 1, count);
      case 2:  // the two bytes, addresses, the loop
        return set_compute(out, {.vector = 5, .scalar = 2}, kWait);
      default:
        return set_linear(out, Op::store, 1, run_->clustered + first, 1, count);
    }
  }
};

Workload build(Spec const& spec, BuildContext const& context) {
  auto const run =
      std::make_shared<QtRun>(QtRun{QtClustering(qt_points(spec.points, context.seed), spec.threshold)});
  auto const points = run->points(), row = run->row();
  if (row == 0)
    throw ParameterError("threshold", spec.threshold,
                         "must be higher, because none of the " + std::to_string(points) +
                             " points has a neighbour within it");
  if (row > std::uint64_t{kKept} * kQtThreads)
    throw ParameterError("threshold", spec.threshold,
                         "must be lower, because a point has " + std::to_string(row) +
                             " neighbours within it, more than the 768 that a block keeps in registers");
  run->clustering.run(kMaxBlocks, spec.clusters);
  auto const blocks = std::min<std::uint64_t>(points, kMaxBlocks);
  BufferLayout layout(context.buffers);
  run->distances = layout.add("distances", 4 * points * points);
  run->neighbours = layout.add("neighbours", 4 * points * row);
  run->degrees = layout.add_result("degrees", 4 * points);
  run->left = layout.add("left", 4 * points);
  run->mask = layout.add_result("mask", blocks * points);
  run->to_cluster = layout.add_result("to_cluster", 4 * blocks * row);
  run->clustered = layout.add("clustered", points);
  run->sizes = layout.add_result("sizes", 8 * blocks);
  run->result = layout.add_result("result", 4 * points);
  std::vector<std::unique_ptr<Kernel const>> kernels;
  auto const width = context.warp_width;
  kernels.push_back(std::make_unique<Degrees>(width, run));
  for (auto const& round : run->clustering.rounds()) {
    kernels.push_back(std::make_unique<Trials>(width, run, round));
    if (round.blocks > 1) kernels.push_back(std::make_unique<BestBlock>(width, run, round));
    kernels.push_back(std::make_unique<QtTrim>(width, run, round));
    kernels.push_back(std::make_unique<Mark>(width, run));
  }
  return {"qtc", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"qtc",
          "Quality-threshold clustering of points, one cluster per round (SHOC)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"points", "512"}, {"clusters", "1"}}},
           {kMedium, {}},
           {kPaper,
            {{"points", "4096"}, {"clusters", "4096"}},
            "SHOC, qtclustering, as in Mosaic (MICRO 2017): 4,096 points, all clusters"}}};
}

}  // namespace farfault::workloads::qtc
