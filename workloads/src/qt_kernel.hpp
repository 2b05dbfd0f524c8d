// SPDX-License-Identifier: Apache-2.0
// Code shared by the kernels of `qtc`: the clustering with its buffers, the mapping of items to 64 threads,
// the start of a cluster and the search for its next member.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "farfault/workloads/kernel_support.hpp"
#include "qt_clustering.hpp"

namespace farfault::workloads {

inline constexpr std::uint32_t kQtThreads = 64;

struct QtRun {
  QtClustering clustering;
  VirtAddr distances = 0, neighbours = 0, degrees = 0, left = 0, mask = 0, to_cluster = 0, clustered = 0,
           sizes = 0, result = 0;

  std::uint64_t points() const { return clustering.size(); }
  std::uint64_t row() const { return clustering.max_degree(); }
  // Steps until a cluster is complete. The last step finds nothing, unless no point is left.
  std::uint64_t steps_of(QtRound const& round, QtCandidate const& c) const {
    return c.members.size() - (c.members.size() == round.left.size() ? 1 : 0);
  }
};

class QtKernel : public Kernel {
 public:
  KernelShape const& shape() const override { return shape_; }

 protected:
  QtKernel(KernelShape shape, std::uint32_t warp_width, std::shared_ptr<QtRun const> run)
      : run_(std::move(run)), warp_width_(warp_width), shape_(std::move(shape)) {}

  // Threads process items in turns of 64. Returns the number of turns of the warp.
  std::uint64_t turns(std::uint64_t items, std::uint32_t warp) const {
    auto const first = std::uint64_t{warp} * warp_width_;
    return items > first ? ceil_div(items - first, kQtThreads) : 0;
  }
  // The item of the warp's first thread in a turn; lanes(): the number of its threads with an item.
  std::uint64_t item(std::uint64_t turn, std::uint32_t warp) const {
    return turn * kQtThreads + std::uint64_t{warp} * warp_width_;
  }
  std::uint32_t lanes(std::uint64_t items, std::uint64_t turn, std::uint32_t warp) const {
    auto const first = item(turn, warp);
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(warp_width_, items - std::min(items, first)));
  }

  // An access by the lanes whose item passes the test; a branch if no item does.
  template <class Test, class Address>
  void access(WarpInstruction& out, Op op, std::uint32_t bytes, std::uint64_t items, std::uint64_t turn,
              std::uint32_t warp, bool wait, Test test, Address address) const {
    std::uint64_t active = 0;
    auto const first = item(turn, warp);
    for (std::uint32_t lane = 0; lane < lanes(items, turn, warp); ++lane) {
      if (!test(first + lane)) continue;
      active |= std::uint64_t{1} << lane;
      out.address[lane] = address(first + lane);
    }
    if (active == 0) return set_compute(out, {.scalar = 1}, wait);
    set_access(out, op, bytes, active, wait);
  }

  // Start of a cluster: clears the block's mask and distances, and marks the seed.
  std::uint64_t steps_to_clear(std::uint32_t warp) const {
    return 2 + turns(run_->points(), warp) + turns(run_->row(), warp) + (warp == 0 ? 1 : 0) + 1;
  }
  void clear(WarpInstruction& out, std::uint64_t block, std::uint32_t warp, std::uint32_t seed,
             std::uint64_t step) const {
    auto const mask = run_->mask + block * run_->points();
    auto const to_cluster = run_->to_cluster + 4 * block * run_->row();
    if (clear(out, mask, 1, run_->points(), warp, step)) return;
    if (clear(out, to_cluster, 4, run_->row(), warp, step)) return;
    if (warp == 0 && step-- == 0) return set_uniform(out, Op::store, 1, mask + seed);
    set_barrier(out);
  }

  // The reduction, and the first thread's stores for the member that was found: its byte and, if `list` is
  // true, its number.
  std::uint64_t steps_to_reduce(std::uint32_t warp, bool list) const {
    return warp == 0 ? (list ? 8 : 7) : 5;
  }
  void reduce(WarpInstruction& out, std::uint64_t block, std::uint32_t warp, QtCandidate const& c,
              std::uint64_t round, bool list, std::uint64_t step) const {
    if (step-- == 0) return set_compute(out, {.vector = 2, .shared = 2});
    if (step-- == 0) return set_barrier(out);
    if (warp == 0 && step-- == 0)
      return set_compute(
          out, {.vector = 4 * (kQtThreads - 1), .scalar = 3 * (kQtThreads - 1), .shared = 2 * kQtThreads});
    if (step-- == 0) return set_barrier(out);
    if (step-- == 0) return set_compute(out, {.vector = 2, .scalar = 2, .shared = 1});
    if (warp == 0) {
      auto const found = round + 1 < c.members.size();
      if (!found && step < (list ? 2 : 1)) return set_compute(out, {.scalar = 1});
      auto const member = found ? c.members[round + 1] : 0;
      if (step-- == 0) return set_uniform(out, Op::store, 1, run_->mask + block * run_->points() + member);
      if (list && step-- == 0) return set_uniform(out, Op::store, 4, run_->result + 4 * (round + 1));
    }
    set_barrier(out);
  }

  std::shared_ptr<QtRun const> run_;
  std::uint32_t warp_width_;

 private:
  bool clear(WarpInstruction& out, VirtAddr base, std::uint32_t bytes, std::uint64_t items,
             std::uint32_t warp, std::uint64_t& step) const {
    auto const all = turns(items, warp);
    if (step == 0) {  // addresses and loop ends of all turns, and the start of the loop
      auto const n = static_cast<std::uint32_t>(all);
      set_compute(out, {.vector = 2 + 2 * n, .scalar = 1 + n});
      return true;
    }
    if (step <= all) {
      set_linear(out, Op::store, bytes, base + bytes * item(step - 1, warp), bytes,
                 lanes(items, step - 1, warp));
      return true;
    }
    step -= all + 1;
    return false;
  }

  KernelShape shape_;
};

}  // namespace farfault::workloads
