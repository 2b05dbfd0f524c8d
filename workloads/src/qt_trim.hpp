// SPDX-License-Identifier: Apache-2.0
// The kernel of `qtc` that removes a cluster from the list of points.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "qt_kernel.hpp"

namespace farfault::workloads {

// One block gathers the winner's cluster again, now with a list of its members, and removes them from the
// list of points.
class QtTrim final : public QtKernel {
 public:
  QtTrim(std::uint32_t warp_width, std::shared_ptr<QtRun const> run, QtRound const& round)
      : QtKernel({"trim_ungrouped", 1, kQtThreads, 67, kQtThreads * 12 + 8}, warp_width, std::move(run)),
        round_(round),
        winner_(run_->clustering.candidate(round.winner)),
        row_(run_->clustering.neighbours(winner_.members.front())) {
    std::vector<std::uint32_t> sorted = winner_.members;
    std::sort(sorted.begin(), sorted.end());
    std::uint64_t kept = 0;
    std::array<std::uint64_t, 2> at{};
    for (std::size_t i = 0; i < round_.left.size(); i += kQtThreads) {
      Turn turn{.start = at, .kept = kept};
      auto const points =
          static_cast<std::uint32_t>(std::min<std::size_t>(kQtThreads, round_.left.size() - i));
      for (std::uint32_t t = 0; t < points; ++t)
        if (!std::binary_search(sorted.begin(), sorted.end(), round_.left[i + t]))
          turn.stay |= std::uint64_t{1} << t;
      turn.all_stay = turn.stay == low_lanes(points);
      if (!turn.all_stay) turn.moves = static_cast<std::uint32_t>(std::popcount(turn.stay));
      kept += static_cast<std::uint64_t>(std::popcount(turn.stay));
      for (std::uint32_t warp = 0; warp < kQtThreads / warp_width_; ++warp)
        at[warp] += steps_of_turn(turn, warp);
      list_.push_back(turn);
    }
    auto const steps = run_->steps_of(round_, winner_);
    auto const turns_of_row = ceil_div(run_->row(), kQtThreads);
    for (std::uint64_t r = 0; r < steps; ++r)
      for (std::uint64_t turn = 0; turn < turns_of_row; ++turn) {
        std::uint64_t grows = 0;
        for (auto i = turn * kQtThreads; i < std::min<std::uint64_t>(row_.size(), (turn + 1) * kQtThreads);
             ++i)
          if (winner_.dropped[i] > r && run_->clustering.farthest(row_[i], winner_.members, r))
            grows |= std::uint64_t{1} << (i % kQtThreads);
        grows_.push_back(grows);
      }
  }

  void instruction(std::uint64_t, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const seed = winner_.members.front();
    if (step-- == 0) return set_arguments(out, 16);
    if (step-- == 0) return set_compute(out, {.vector = 4, .scalar = 4}, kWait);
    if (step-- == 0) return set_uniform(out, Op::load, 4, run_->degrees + 4 * std::uint64_t{seed});
    if (warp == 0 && step-- == 0) return set_uniform(out, Op::store, 4, run_->result);  // the seed
    if (step < steps_to_clear(warp)) return clear(out, 0, warp, seed, step);
    step -= steps_to_clear(warp);
    auto const in_row = kStepsOfNeighbour * turns(run_->row(), warp);
    auto const per_round = in_row + steps_to_reduce(warp, true);
    auto const rounds = run_->steps_of(round_, winner_);
    if (step < rounds * per_round) {
      auto const r = step / per_round;
      step %= per_round;
      if (step >= in_row) return reduce(out, 0, warp, winner_, r, true, step - in_row);
      return neighbour(out, warp, r, step / kStepsOfNeighbour, step % kStepsOfNeighbour);
    }
    step -= rounds * per_round;
    if (step-- == 0) return set_barrier(out);
    if (step-- == 0) return set_compute(out, {.vector = 3, .scalar = 2, .shared = 2});  // counter, flag
    if (step-- == 0) return set_barrier(out);
    auto const n = static_cast<std::size_t>(
        std::upper_bound(list_.begin(), list_.end(), step,
                         [&](auto s, auto const& turn) { return s < turn.start[warp]; }) -
        list_.begin() - 1);
    step -= list_[n].start[warp];
    if (step < steps_of_turn(list_[n], warp) && n < turns(round_.left.size(), warp))
      return take_off(out, warp, n, step);
    set_end(out);
  }

 private:
  static constexpr std::uint64_t kStepsOfNeighbour = 7;

  // 64 points of the list.
  struct Turn {
    std::array<std::uint64_t, 2> start{};  // step of each warp
    std::uint64_t kept = 0;                // points kept before this turn
    std::uint64_t stay = 0;                // a bit for each of these points
    bool all_stay = false;
    std::uint32_t moves = 0;  // points that one thread writes, if any point is removed
  };

  std::uint64_t steps_of_turn(Turn const& turn, std::uint32_t warp) const {
    return 7 + (warp == 0 ? 1 + turn.moves : 0);
  }

  void neighbour(WarpInstruction& out, std::uint32_t warp, std::uint64_t r, std::uint64_t turn,
                 std::uint64_t step) const {
    auto const points = run_->points();
    auto const place = run_->neighbours + 4 * winner_.members.front() * run_->row();
    auto const of_row = [&](Op op, std::uint32_t bytes, bool wait, auto test, auto address) {
      access(out, op, bytes, row_.size(), turn, warp, wait, test, address);
    };
    auto const open = [&](auto i) { return winner_.dropped[i] > r; };
    auto const to_cluster = [&](auto i) { return run_->to_cluster + 4 * i; };
    switch (step) {
      case 0:
        return set_linear(out, Op::load, 4, place + 4 * item(turn, warp), 4, lanes(run_->row(), turn, warp));
      case 1:
        return of_row(
            Op::load, 1, kWait, [](auto) { return true; }, [&](auto i) { return run_->mask + row_[i]; });
      case 2:
        return of_row(
            Op::load, 1, kWait, [&](auto i) { return open(i) || winner_.dropped[i] == 0; },
            [&](auto i) { return run_->clustered + row_[i]; });
      case 3:
        return of_row(Op::load, 4, kWait, open, to_cluster);
      case 4:
        return of_row(Op::load, 4, false, open,
                      [&](auto i) { return run_->distances + 4 * (row_[i] * points + winner_.members[r]); });
      case 5:  // compares, addresses, the loop
        return set_compute(out, {.vector = 10, .scalar = 5}, kWait);
      default: {
        auto const grows = grows_[r * ceil_div(run_->row(), kQtThreads) + turn];
        return of_row(
            Op::store, 4, false, [&](auto i) { return (grows >> (i % kQtThreads) & 1) != 0; }, to_cluster);
      }
    }
  }

  void take_off(WarpInstruction& out, std::uint32_t warp, std::size_t n, std::uint64_t step) const {
    auto const& turn = list_[n];
    auto const list = round_.left.size();
    auto const all = [](auto) { return true; };
    if (step == 0)
      return access(out, Op::load, 4, list, n, warp, false, all, [&](auto i) { return run_->left + 4 * i; });
    if (step == 1) return set_compute(out, {.vector = 2, .shared = 1}, kWait);
    if (step == 2)
      return access(out, Op::load, 1, list, n, warp, false, all,
                    [&](auto i) { return run_->mask + round_.left[i]; });
    if (step == 3) return set_compute(out, {.vector = 3, .scalar = 2, .shared = 1}, kWait);
    if (step == 4)
      return access(
          out, Op::store, 4, list, n, warp, false,
          [&](auto i) { return (turn.stay >> (i % kQtThreads) & 1) != 0; },
          [&](auto i) { return run_->left + 4 * (turn.kept + i % kQtThreads); });
    if (step == 5) return set_barrier(out);
    step -= 6;
    if (warp == 0) {
      if (step < turn.moves) return set_uniform(out, Op::store, 4, run_->left + 4 * (turn.kept + step));
      step -= turn.moves;
      // The first thread examines every point of the turn, or finds that none is removed.
      if (step-- == 0) {
        auto const looks = turn.all_stay ? 1 : kQtThreads;
        return set_compute(out, {.vector = 3 * looks, .scalar = 2 * looks, .shared = 2 + looks});
      }
    }
    set_barrier(out);
  }

  QtRound const& round_;
  QtCandidate const& winner_;
  std::vector<std::uint32_t> const& row_;
  std::vector<Turn> list_;
  std::vector<std::uint64_t> grows_;  // per step and turn of the row: lanes that write their distance
};

}  // namespace farfault::workloads
