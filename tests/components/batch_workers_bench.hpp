// SPDX-License-Identifier: Apache-2.0
// Stories of several GPUs whose batches are served side by side: machines, times in nanoseconds, rows of
// batches.
#pragma once

#include <string>
#include <vector>

#include "story_bench.hpp"

namespace farfault::batch_workers_bench {

using namespace story_bench;

using Times = std::vector<std::int64_t>;

inline PagingDriverSpec with_workers(std::uint32_t workers, PagingDriverSpec spec) {
  spec.batch_workers = workers;
  return spec;
}

// In nanoseconds. A batch begins a link after its fault, the driver's time of a batch passes before the first
// block, and each unmapping and copy is ordered and answered over a link.
inline constexpr std::int64_t kBegins = 1, kWorkBegins = kBegins + 10'000, kUnmap = 5'000 + 2,
                              kCopy = 40'000 + 2;

inline std::int64_t whole_ns(Time t) {
  return picoseconds(t) % 1000 == 0 ? picoseconds(t) / 1000 : -1;
}
// GPU of each row, in order of the end of batches.
inline std::vector<std::uint64_t> gpus(Story const& b) {
  std::vector<std::uint64_t> all;
  for (auto const& r : b.rows()) all.push_back(r.gpu);
  return all;
}
inline Times began(Story const& b) {
  Times all;
  for (auto const& r : b.rows()) all.push_back(whole_ns(r.began));
  return all;
}
inline Times ended(Story const& b) {
  Times all;
  for (auto const& r : b.rows()) all.push_back(whole_ns(r.ended));
  return all;
}
inline std::int64_t lock_wait(Story const& b) {
  return static_cast<std::int64_t>(b.state().work.lock_wait_ps() / 1000);
}

// Page 520, in the second VA block, is in frame 6 of the CPU.
inline PagingDriverSpec with_next_block(PagingDriverSpec spec) {
  static auto const table = [] {
    auto t = pages_of_cpu();
    t.map(520, physical(kFirstCpu, kPages << 12));
    return t;
  }();
  spec.preloaded = &table;
  spec.placed = in_use(std::vector<std::uint64_t>(spec.devices.gpus()), kPages + 1);
  return spec;
}

}  // namespace farfault::batch_workers_bench
