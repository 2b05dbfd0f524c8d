// SPDX-License-Identifier: Apache-2.0
// The execution units of an SM, shared by its warps: SIMDs, the scalar unit, shared memory. The model and its
// closed forms: docs/model/sm.md.
//
// - Groups: instructions are given to the units in groups. A unit takes groups in order of arrival and is
//   busy for as long as their instructions take, so it neither exceeds its rate nor idles while a group
//   waits.
// - Hardware interleaves groups of different warps per instruction; the latency of a group's dependent
//   instructions therefore counts from its issue and overlaps with other groups.
// - A warp belongs to one SIMD: its slot modulo their number.
// - Cost: no events, no loops.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "farfault/protocols/kernel.hpp"

namespace farfault {

// In cycles of the SM, and per cycle.
struct ExecutionRates {
  std::uint32_t simds;
  std::uint32_t vector_cycles;   // of a SIMD, per vector instruction of a whole warp
  std::uint32_t special_cycles;  // and per special-function instruction
  std::uint32_t scalar_rate;     // instructions
  std::uint32_t shared_bytes_per_cycle;
  std::uint32_t dependent_latency;
  std::uint32_t shared_latency;
  std::uint32_t warp_width;
  // Every instruction takes an issue slot of its SIMD. False: instructions of different kinds issue in the
  // same cycle, from different warps, memory instructions among them.
  bool single_issue = false;
};

class ExecutionUnits {
 public:
  static constexpr std::uint32_t kMaxSimds = 16;

  // Gives the units the work of the warp in `slot`, at cycle `now`, which must not decrease. Returns the
  // cycle at which the warp's next instruction may issue, after `now`.
  std::uint64_t execute(ExecutionRates const& r, std::uint32_t slot, Work const& work, std::uint64_t now) {
    auto const latency = std::uint64_t{work.instructions()} * r.dependent_latency;
    auto ready = now + std::max<std::uint64_t>(latency, 1);
    if (r.single_issue) ready = std::max(ready, take_cycles(issue_free_, r, slot, work.instructions(), now));
    if (auto const cycles =
            std::uint64_t{work.vector} * r.vector_cycles + std::uint64_t{work.special} * r.special_cycles;
        cycles != 0)
      ready = std::max(ready, take_simd(r, slot, cycles, now));
    if (work.scalar != 0) ready = std::max(ready, take(scalar_free_, work.scalar, r.scalar_rate, now));
    if (work.shared != 0) {
      auto const bytes = std::uint64_t{work.shared} * work.shared_bytes_per_lane * r.warp_width;
      shared_bytes_ += bytes;
      ready = std::max(ready, take(shared_free_, bytes, r.shared_bytes_per_cycle, now) + r.shared_latency);
    }
    return ready;
  }

  // A memory instruction of the warp in `slot`: issues immediately, and with `single_issue` delays its
  // scheduler's next issue by one cycle.
  void take_issue_slot(ExecutionRates const& r, std::uint32_t slot, std::uint64_t now) {
    if (r.single_issue) take_cycles(issue_free_, r, slot, 1, now);
  }

  std::uint64_t simd_cycles() const { return simd_cycles_; }
  std::uint64_t shared_bytes() const { return shared_bytes_; }

 private:
  using BySimd = std::array<std::uint64_t, kMaxSimds>;

  static std::uint64_t take_cycles(BySimd& free, ExecutionRates const& r, std::uint32_t slot,
                                   std::uint64_t cycles, std::uint64_t now) {
    auto& f = free[slot % r.simds];
    return f = std::max(f, now) + cycles;
  }
  std::uint64_t take_simd(ExecutionRates const& r, std::uint32_t slot, std::uint64_t cycles,
                          std::uint64_t now) {
    simd_cycles_ += cycles;
    return take_cycles(simd_free_, r, slot, cycles, now);
  }
  // `free` counts in instructions or bytes since time zero, so that rates above one per cycle need
  // no fractions. Returns the cycle at which the unit completes `amount` more.
  static std::uint64_t take(std::uint64_t& free, std::uint64_t amount, std::uint64_t rate,
                            std::uint64_t now) {
    free = std::max(free, now * rate) + amount;
    return (free + rate - 1) / rate;
  }

  BySimd simd_free_{};             // cycles
  BySimd issue_free_{};            // cycles
  std::uint64_t scalar_free_ = 0;  // instructions
  std::uint64_t shared_free_ = 0;  // bytes
  std::uint64_t simd_cycles_ = 0;
  std::uint64_t shared_bytes_ = 0;
};

}  // namespace farfault
