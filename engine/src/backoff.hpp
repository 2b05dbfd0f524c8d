// SPDX-License-Identifier: Apache-2.0
// Private: waiting for another process without occupying a core that other processes could use.
//
// A wait begins by polling, and soon yields the core after each poll,
// because most waits are shorter than the time to fall asleep; then it naps, each nap an eighth of the wait
// so far. A nap must stay short relative to the wait: two processes that wait for each other alternately
// would otherwise lengthen each other's naps to the maximum.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace farfault {

class Backoff {
 public:
  // `cores_to_spare`: there is a core for each waiting process, so none must yield immediately.
  explicit Backoff(bool cores_to_spare) : cores_to_spare_(cores_to_spare) {}

  template <class Done>
  void wait_until(Done const& done) const {
    for (int i = 0; i < kPolls; ++i)
      if (done()) return;
    auto const began = Clock::now();
    for (;;) {
      if (done()) return;
      auto const waited = Clock::now() - began;
      if (cores_to_spare_ && waited < kSpin) continue;
      if (waited < kYield)
        std::this_thread::yield();
      else
        std::this_thread::sleep_for(std::clamp<Clock::duration>(waited / 8, kMinSleep, kMaxSleep));
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int kPolls = 4;
  static constexpr std::chrono::microseconds kSpin{5};
  static constexpr std::chrono::microseconds kYield{2000};
  static constexpr std::chrono::microseconds kMinSleep{100};
  static constexpr std::chrono::microseconds kMaxSleep{1000};

  bool cores_to_spare_;
};

}  // namespace farfault
