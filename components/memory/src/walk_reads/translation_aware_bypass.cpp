// SPDX-License-Identifier: Apache-2.0
// Address-translation-aware L2 bypass of MASK (Ausavarungnirun et al., ASPLOS 2018, section 5.3): page-walk
// reads of a depth bypass the cache if the depth's hit rate is below that of warps' requests.
//
// - Hit rates are measured over an epoch and decide for the next; in the first epoch nothing bypasses. A
//   depth, or warps, without a look-up in an epoch keep their rate or lose it (`unmeasured`). A depth without
//   a rate does not bypass, so it is measured again in the next epoch with a read of it.
// - Assumed, not in the paper: a bypassed depth is measured by the reads of one in `sampled` lines, which
//   never bypass, so their hit rate is what the depth's would be. One in so many reads would miss lines that
//   earlier reads did not leave in the cache. A depth of few lines may have no sampled line; if `unmeasured`
//   is kept, it then bypasses forever. With `sampled` = 1 no read bypasses, as with `cached`, and all are
//   counted.
// - Each slice has its own counters and decisions. The paper has counters at the L2 TLB for the whole GPU,
//   without the signal to the slices; section 7.4 has them in each core.
#include <array>

#include "farfault/memory/walk_reads.hpp"

namespace farfault::walk_reads {
namespace {

class TranslationAwareBypass final : public WalkReads {
 public:
  enum class Unmeasured : std::uint8_t { kept, forgotten };
  enum class DataRate : std::uint8_t { loads_and_stores, loads };
  struct Params {
    std::uint32_t epoch = 100'000;
    std::uint32_t sampled = 32;
    bool overtakes = false;
    std::uint32_t own_mshrs = 0;
    Unmeasured unmeasured = Unmeasured::kept;
    DataRate data_rate = DataRate::loads_and_stores;
    void describe(ParamTable& t) {
      t.count("epoch", epoch, {1, 1'000'000'000},
              "Epoch length in GPU cycles, for which hit rates are measured",
              "assumed: as MASK's other epochs (ASPLOS 2018, section 5.2)");
      t.count("sampled", sampled, {1, 1 << 20},
              "One in this many page-table lines never bypasses, to measure a bypassed depth's hit rate. 1: "
              "no read bypasses",
              "assumed; MASK (ASPLOS 2018) does not specify how a bypassed depth's hit rate is measured");
      t.flag("overtakes", overtakes, "Serve reads that bypass before requests stalled at the slice",
             "assumed: off; MASK (ASPLOS 2018), section 7.1: on (\"a lower L2 cache queuing latency for "
             "bypassed address translation requests\")")
          .only_when(sibling("sampled").is_above(1));
      t.count("own_mshrs", own_mshrs, {0, 4096},
              "Additional MSHRs of a slice for reads that bypass. 0: use the cache's MSHRs",
              "assumed: 0; MASK (ASPLOS 2018), section 5.3: these reads skip the cache, without naming their "
              "MSHRs")
          .only_when(sibling("sampled").is_above(1));
      t.choice(
          "unmeasured", unmeasured,
          {{"kept", Unmeasured::kept, "unchanged"},
           {"forgotten", Unmeasured::forgotten, "none; a depth without a rate does not bypass"}},
          "Hit rate of a depth, or of warps, after an epoch without look-ups",
          "assumed: kept; MASK (ASPLOS 2018) does not specify how a bypassed depth's hit rate is measured");
      t.choice("data_rate", data_rate,
               {{"loads_and_stores", DataRate::loads_and_stores, "loads and stores"},
                {"loads", DataRate::loads, "loads only"}},
               "Requests of warps whose hit rate is compared with a depth's",
               "assumed: loads_and_stores; MASK (ASPLOS 2018), section 5.3: \"data demand requests\"");
    }
  };

  static constexpr Facts facts(Params const& p) {
    return {.may_bypass = true,
            .overtakes = p.overtakes,
            .own_mshrs = p.own_mshrs,
            .counts_stores = p.data_rate == DataRate::loads_and_stores};
  }

  TranslationAwareBypass(Params const& p, Setup const& s)
      : epoch_ps_{static_cast<std::uint64_t>(picoseconds(s.clock.cycles(p.epoch)))},
        sampled_{p.sampled},
        forgets_{p.unmeasured == Unmeasured::forgotten ? 1U : 0U} {}

  bool bypasses(std::uint32_t depth, std::uint64_t line, Time now) override {
    roll(now);
    return (passes_ >> depth & 1) != 0 && mixed(line) % sampled_.value != 0;
  }
  void bypassed(Time) override { ++bypassed_; }
  void looked_up(std::uint32_t depth, bool hit, Time now) override {
    roll(now);
    for (auto* const c : {&counts_[depth], &all_[depth]}) {
      ++c->requests;
      if (hit) ++c->hits;
    }
  }

  auto members() {
    return std::tie(epoch_ps_, sampled_, forgets_, epoch_, passes_, counts_, rates_, all_, bypassed_,
                    changes_);
  }
  static auto stats() {
    using T = TranslationAwareBypass const&;
    return std::array<Stat<TranslationAwareBypass>, 11>{{
        {"bypassed_reads", "count",
         "Page-walk reads that bypassed the L2 cache. Not counted as hits or misses", StatKind::counter,
         [](T t) { return t.bypassed_; }},
        {"bypassed_depths", "count", "Page-table depths whose reads bypass the L2 cache, summed over slices",
         StatKind::level, [](T t) { return static_cast<std::uint64_t>(std::popcount(t.passes_)); }},
        {"changes", "count", "Times that a page-table depth started or stopped bypassing the L2 cache",
         StatKind::counter, [](T t) { return t.changes_; }},
        {"root_reads", "count", "Page-walk reads of the page-table root looked up in the L2 cache",
         StatKind::counter, reads_at<1>},
        {"root_hits", "count", "Page-walk reads of the page-table root that hit the L2 cache",
         StatKind::counter, hits_at<1>},
        {"second_reads", "count", "Page-walk reads one level below the root looked up in the L2 cache",
         StatKind::counter, reads_at<2>},
        {"second_hits", "count", "Page-walk reads one level below the root that hit the L2 cache",
         StatKind::counter, hits_at<2>},
        {"third_reads", "count", "Page-walk reads two levels below the root looked up in the L2 cache",
         StatKind::counter, reads_at<3>},
        {"third_hits", "count", "Page-walk reads two levels below the root that hit the L2 cache",
         StatKind::counter, hits_at<3>},
        {"fourth_reads", "count", "Page-walk reads three levels below the root looked up in the L2 cache",
         StatKind::counter, reads_at<4>},
        {"fourth_hits", "count", "Page-walk reads three levels below the root that hit the L2 cache",
         StatKind::counter, hits_at<4>},
    }};
  }

 private:
  static constexpr std::uint64_t kWhole = 1'000'000;
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  struct Counts {
    std::uint64_t requests = 0;
    std::uint64_t hits = 0;
  };

  template <std::size_t Depth>
  static std::uint64_t reads_at(TranslationAwareBypass const& t) {
    return t.all_[Depth].requests;
  }
  template <std::size_t Depth>
  static std::uint64_t hits_at(TranslationAwareBypass const& t) {
    return t.all_[Depth].hits;
  }

  // Hashed, so that sampling does not depend on the set of a line.
  static std::uint64_t mixed(std::uint64_t line) { return line * 0x9e3779b97f4a7c15ULL >> 32; }

  void roll(Time now) {
    auto const epoch = static_cast<std::uint64_t>(picoseconds(now)) / epoch_ps_.value;
    if (epoch == epoch_) return;
    epoch_ = epoch;
    for (std::size_t depth = 0; depth < kDepths; ++depth) {
      auto& c = counts_[depth];
      if (c.requests != 0)
        rates_[depth] = c.hits * kWhole / c.requests;
      else if (forgets_.value != 0)
        rates_[depth] = kNone;
      c = {};
    }
    std::uint64_t passes = 0;
    for (std::size_t depth = 1; depth < kDepths; ++depth)
      if (rates_[0] != kNone && rates_[depth] != kNone && rates_[depth] < rates_[0])
        passes |= std::uint64_t{1} << depth;
    changes_ += static_cast<std::uint64_t>(std::popcount(passes ^ passes_));
    passes_ = passes;
  }

  Fixed<std::uint64_t> epoch_ps_;
  Fixed<std::uint64_t> sampled_;
  Fixed<std::uint64_t> forgets_;
  std::uint64_t epoch_ = 0;
  std::uint64_t passes_ = 0;              // bit d: reads at depth d bypass the cache
  std::array<Counts, kDepths> counts_{};  // of the current epoch; depth 0: warps
  std::array<std::uint64_t, kDepths> rates_ =
      all_unknown();  // hit rate in millionths, of the last epoch or the last one with requests
  std::array<Counts, kDepths> all_{};  // since the start
  std::uint64_t bypassed_ = 0;
  std::uint64_t changes_ = 0;

  static constexpr std::array<std::uint64_t, kDepths> all_unknown() {
    std::array<std::uint64_t, kDepths> rates{};
    rates.fill(kNone);
    return rates;
  }
};

}  // namespace

void translation_aware_bypass(PolicyList<WalkReads>& list) {
  list.add<TranslationAwareBypass>(
      "translation_aware_bypass",
      "reads of a depth bypass the cache if its hit rate is below that of warp requests (MASK, ASPLOS 2018)");
}

}  // namespace farfault::walk_reads
