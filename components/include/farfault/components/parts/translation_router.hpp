// Where an L2 TLB miss goes: to the GPU's own walkers (GMMU), to the IOMMU on the CPU side, or to both at
// once.
//
// A policy decides for each translation, and learns the outcome of each (local or remote page). Source: Wei
// et al., "Dynamic GMMU Bypass for Address Translation in Multi-GPU Systems", NPC 2020, sections 2.3 and 4.
#pragma once

#include <cstdint>
#include <string_view>

#include "farfault/engine/params.hpp"
#include "farfault/engine/time.hpp"

namespace farfault {

enum class Route : std::uint32_t { gmmu, iommu, both };
enum class RouterPolicy : std::uint8_t { distributed, centralized, gmmu_bypass, oracle };

struct RouterParams {
  RouterPolicy policy = RouterPolicy::distributed;
  Duration epoch = 10us;
  double t1 = 0.85;
  double t2 = 0.15;
  std::uint32_t counter_bits = 8;
  void describe(ParamTable& t);
};

struct RouterStats {
  std::uint64_t local_predictions = 0;          // routed to the GMMU only by the predictor
  std::uint64_t remote_predictions = 0;         // routed to the IOMMU only
  std::uint64_t undecided_requests = 0;         // routed to both
  std::uint64_t correct_local_predictions = 0;  // of local_predictions, those whose page this GPU's table had
  std::uint64_t correct_remote_predictions = 0;
};

// The predictor of GMMU bypass: two saturating counters of the translations that touched local and remote
// pages in the running epoch; their ratio L / T, once the epoch is over, decides for the next: above T1 the
// GMMU alone, below T2 the IOMMU alone, between them both. Epochs without a translation keep the last
// decision; before the first ratio requests go as in the distributed architecture, which is no prediction.
// When a counter saturates both are halved, so that the ratio is kept (the paper gives the width, 8 bits,
// and not what happens at its end: assumed).
class BypassPredictor {
 public:
  Route decision(Time now, RouterParams const& p) {
    roll(now, p);
    return decision_;
  }
  // Whether decision() comes from a ratio.
  bool decided() const { return decided_ != 0; }
  void observe(bool local, Time now, RouterParams const& p) {
    roll(now, p);
    auto const limit = (std::uint32_t{1} << p.counter_bits) - 1;
    auto& counter = local ? local_ : remote_;
    if (counter == limit) {
      local_ /= 2;
      remote_ /= 2;
    }
    ++counter;
  }
  std::uint32_t local() const { return local_; }
  std::uint32_t remote() const { return remote_; }

 private:
  void roll(Time now, RouterParams const& p) {
    auto const epoch = static_cast<std::uint64_t>(picoseconds(now) / picoseconds(p.epoch));
    if (epoch == epoch_) return;
    epoch_ = epoch;
    auto const total = local_ + remote_;
    if (total != 0) {
      auto const ratio = static_cast<double>(local_) / static_cast<double>(total);
      decision_ = ratio > p.t1 ? Route::gmmu : ratio < p.t2 ? Route::iommu : Route::both;
      decided_ = 1;
    }
    local_ = 0;
    remote_ = 0;
  }

  std::uint64_t epoch_ = 0;
  std::uint32_t local_ = 0;
  std::uint32_t remote_ = 0;
  Route decision_ = Route::gmmu;
  std::uint32_t decided_ = 0;
};

}  // namespace farfault
