// SPDX-License-Identifier: Apache-2.0
#include "sweep_work.hpp"

#include <algorithm>

namespace farfault::cli {

void SweepWork::start(std::size_t run, double cost, double time) {
  active_[run] = {cost, time, {}};
  waiting_ -= cost;
}

void SweepWork::report(std::size_t run, RunShare share) {
  auto const now = std::clamp(share.now, 0.0, 1.0);
  active_.at(run).share = {std::clamp(share.before, 0.0, now), now};
}

void SweepWork::end(std::size_t run) {
  auto const& ended = active_.at(run);
  ended_here_ += ended.cost * (1 - ended.share.before);
  active_.erase(run);
}

void SweepWork::put_back(std::size_t run) {
  waiting_ += active_.at(run).cost;
  active_.erase(run);
}

void SweepWork::skip(double cost) {
  all_ -= cost;
  waiting_ -= cost;
}

double SweepWork::left() const {
  auto left = std::max(waiting_, 0.0);
  for (auto const& [run, active] : active_) left += active.cost * (1 - active.share.now);
  return left;
}

double SweepWork::done() const {
  return all_ > 0 ? std::clamp(1 - left() / all_, 0.0, 1.0) : 1;
}

std::optional<double> SweepWork::time_left(double time) const {
  auto here = ended_here_, longest = 0.0;
  bool known = ended_here_ > 0;
  for (auto const& [run, active] : active_) {
    here += active.cost * active.here();
    if (active.here() < kFirstShare) continue;
    known = true;
    longest = std::max(longest, (time - active.start) * (1 - active.share.now) / active.here());
  }
  if (!known) return std::nullopt;
  return std::max(longest, time * left() / here);
}

}  // namespace farfault::cli
