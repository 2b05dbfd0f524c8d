// SPDX-License-Identifier: Apache-2.0
// Predictor of GMMU Bypass. Two saturating counters count the translations of local and remote pages in the
// current epoch. At its end the ratio L / T selects the route of the next epoch: above T1 the GMMU, below T2
// the IOMMU, otherwise both. An epoch without a translation keeps the last decision. Before the first ratio,
// requests are routed as in the distributed architecture, without a prediction. When a counter would
// overflow, both are halved, which keeps the ratio, or it stays at its maximum: the paper has the width, 8
// bits, and not the overflow. At the maximum the ratio tends to one half in long epochs.
#include "farfault/translation/router.hpp"

namespace farfault::routers {
namespace {

class GmmuBypass final : public Router {
 public:
  enum class Overflow : std::uint8_t { halves, sticks };
  struct Params {
    Duration epoch = 10us;
    double t1 = 0.85;
    double t2 = 0.15;
    std::uint32_t counter_bits = 8;
    Overflow overflow = Overflow::halves;
    void describe(ParamTable& t) {
      t.duration("epoch", epoch, {1ns, 1s}, "Length of a sampling epoch",
                 "GMMU Bypass (NPC 2020), section 6.1: 10 us");
      t.number("t1", t1, {0.0, 1.0},
               "Fraction of an epoch's translations that are of local pages, above which the next epoch's "
               "requests are sent to the GMMU only",
               "GMMU Bypass (NPC 2020), section 6.1: 0.85");
      t.number("t2", t2, {0.0, 1.0},
               "Fraction of an epoch's translations that are of local pages, below which the next epoch's "
               "requests are sent to the IOMMU only. Must not be above t1",
               "GMMU Bypass (NPC 2020), section 6.1: 0.15");
      t.count("counter_bits", counter_bits, {1, 24}, "Width of the two saturating counters in bits",
              "GMMU Bypass (NPC 2020), section 6.3: 8");
      t.choice("overflow", overflow,
               {{"halves", Overflow::halves, "both counters are halved"},
                {"sticks", Overflow::sticks, "it stays at its maximum"}},
               "Reaction to the overflow of a counter", "assumed: halves");
    }
  };

  explicit GmmuBypass(Params const& p) : params_{p} {
    if (p.t2 > p.t1)
      throw UserError("t2 = " + std::to_string(p.t2) + " must not be above t1, " + std::to_string(p.t1));
  }

  Routing route(TranslateRequest const&, PageTable const&, Time now) override {
    roll(now);
    if (decided_ == 0) return {Route::gmmu, kNoPrediction};
    ++(decision_ == kLocal ? local_predictions_ : decision_ == kRemote ? remote_predictions_ : undecided_);
    constexpr Route kTo[] = {Route::gmmu, Route::iommu, Route::both};
    return {kTo[decision_], static_cast<std::uint8_t>(decision_)};
  }

  void observe(TranslateRequest const&, Routing const& routing, bool local, Time now) override {
    roll(now);
    auto& counter = local ? local_ : remote_;
    bool const full = counter == (std::uint64_t{1} << params_->counter_bits) - 1;
    if (full && params_->overflow == Overflow::halves) {
      local_ /= 2;
      remote_ /= 2;
    }
    if (!full || params_->overflow == Overflow::halves) ++counter;
    if (routing.note == kLocal && local) ++correct_local_;
    if (routing.note == kRemote && !local) ++correct_remote_;
  }

  auto members() {
    return std::tie(params_, epoch_, local_, remote_, decision_, decided_, local_predictions_,
                    remote_predictions_, undecided_, correct_local_, correct_remote_, local_epochs_,
                    remote_epochs_, correct_local_epochs_, correct_remote_epochs_);
  }

  static auto stats() {
    using R = GmmuBypass const&;
    return std::array<Stat<GmmuBypass>, 11>{{
        {"local_predictions", "count", "Requests predicted local, sent to the GMMU only", StatKind::counter,
         [](R r) { return r.local_predictions_; }},
        {"remote_predictions", "count", "Requests predicted remote, sent to the IOMMU only",
         StatKind::counter, [](R r) { return r.remote_predictions_; }},
        {"undecided_requests", "count", "Requests without a prediction, sent to both GMMU and IOMMU",
         StatKind::counter, [](R r) { return r.undecided_; }},
        {"correct_local_predictions", "count", "Local predictions whose page was mapped in this GPU's memory",
         StatKind::counter, [](R r) { return r.correct_local_; }},
        {"correct_remote_predictions", "count",
         "Remote predictions whose page was not mapped in this GPU's memory", StatKind::counter,
         [](R r) { return r.correct_remote_; }},
        {"local_epochs", "count", "Epochs with a translation that were predicted local", StatKind::counter,
         [](R r) { return r.local_epochs_; }},
        {"remote_epochs", "count", "Epochs with a translation that were predicted remote", StatKind::counter,
         [](R r) { return r.remote_epochs_; }},
        {"correct_local_epochs", "count",
         "Epochs predicted local whose fraction of local pages was above gpu.router.gmmu_bypass.t1",
         StatKind::counter, [](R r) { return r.correct_local_epochs_; }},
        {"correct_remote_epochs", "count",
         "Epochs predicted remote whose fraction of local pages was below gpu.router.gmmu_bypass.t2",
         StatKind::counter, [](R r) { return r.correct_remote_epochs_; }},
        {"local_pages", "count", "Counter of local pages in the current epoch", StatKind::level,
         [](R r) { return r.local_; }},
        {"remote_pages", "count", "Counter of remote pages in the current epoch", StatKind::level,
         [](R r) { return r.remote_; }},
    }};
  }

 private:
  static constexpr std::uint64_t kLocal = 0;
  static constexpr std::uint64_t kRemote = 1;
  static constexpr std::uint64_t kBoth = 2;
  static constexpr std::uint8_t kNoPrediction = 3;

  void roll(Time now) {
    auto const epoch = static_cast<std::uint64_t>(picoseconds(now) / picoseconds(params_->epoch));
    if (epoch == epoch_) return;
    epoch_ = epoch;
    if (auto const total = local_ + remote_; total != 0) {
      auto const ratio = static_cast<double>(local_) / static_cast<double>(total);
      auto const found = ratio > params_->t1 ? kLocal : ratio < params_->t2 ? kRemote : kBoth;
      if (decided_ != 0) judge(found);
      decision_ = found;
      decided_ = 1;
    }
    local_ = 0;
    remote_ = 0;
  }

  // Ends an epoch that was predicted as decision_; `found` is the decision that its own share of local pages
  // gives.
  void judge(std::uint64_t found) {
    if (decision_ == kLocal) {
      ++local_epochs_;
      correct_local_epochs_ += found == kLocal;
    } else if (decision_ == kRemote) {
      ++remote_epochs_;
      correct_remote_epochs_ += found == kRemote;
    }
  }

  Fixed<Params> params_;
  std::uint64_t epoch_ = 0;
  std::uint64_t local_ = 0;
  std::uint64_t remote_ = 0;
  std::uint64_t decision_ = kLocal;
  std::uint64_t decided_ = 0;  // decision_ was computed from a ratio
  std::uint64_t local_predictions_ = 0;
  std::uint64_t remote_predictions_ = 0;
  std::uint64_t undecided_ = 0;
  std::uint64_t correct_local_ = 0;
  std::uint64_t correct_remote_ = 0;
  std::uint64_t local_epochs_ = 0;
  std::uint64_t remote_epochs_ = 0;
  std::uint64_t correct_local_epochs_ = 0;
  std::uint64_t correct_remote_epochs_ = 0;
};

}  // namespace

void gmmu_bypass(PolicyList<Router>& list) {
  list.add<GmmuBypass>(
      "gmmu_bypass",
      "to the GMMU, the IOMMU or both, predicted from the share of local pages in the last epoch");
}

}  // namespace farfault::routers
