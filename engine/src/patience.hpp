// Private: waiting for what another process does, without keeping a core from whoever could use it.
//
// A wait begins by looking again and again, where there are cores to spare, because most waits are shorter
// than falling asleep; then it naps, each time a little longer, so that it ends at most a quarter later than
// it could (or kLongestNap) and costs next to nothing however long it lasts.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace farfault {

class Patience {
 public:
  // `cores_to_spare`: nobody needs the core while a wait looks again.
  explicit Patience(bool cores_to_spare) : cores_to_spare_(cores_to_spare) {}

  template <class Done>
  void wait_until(Done const& done) const {
    for (int i = 0; i < kLooks; ++i)
      if (done()) return;
    auto const began = Clock::now();
    for (;;) {
      if (done()) return;
      auto const waited = Clock::now() - began;
      if (cores_to_spare_ && waited < kSpin) continue;
      std::this_thread::sleep_for(std::clamp<Clock::duration>(waited, kShortestNap, kLongestNap));
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int kLooks = 4;
  static constexpr std::chrono::microseconds kSpin{100};
  static constexpr std::chrono::microseconds kShortestNap{10};
  static constexpr std::chrono::microseconds kLongestNap{1000};

  bool cores_to_spare_;
};

}  // namespace farfault
