// SPDX-License-Identifier: Apache-2.0
// TLB-fill tokens of MASK (Ausavarungnirun et al., ASPLOS 2018, section 5.2). An application has tokens for a
// share of its warps, and only a warp with a token fills the L2 TLB. Misses of other warps fill a small fully
// associative bypass cache, which is looked up in parallel with the TLB.
//
// - Epochs: the share follows the application's miss rate of TLB and bypass cache together. It falls after a
//   rise of the rate and rises after a fall (section 5.2). Section 7.4 has "direction registers to record
//   whether the token count increased or decreased during the previous epoch", but not their use. With
//   direction = hill_climbing, the share repeats its last change when the rate has fallen and reverses it
//   when the rate has risen. The change after the first epoch, from a token for every warp, counts as a
//   decrease.
// - Number of warps: all that an application's SMs run at a time. Section 5.2 counts "all warps in each
//   core"; section 7.4 has a bit per warp in each core, set when the warp first uses the core. The L2 TLB
//   observes only warps that send requests, not warps that hit their L1 TLB or merge with a miss there. An SM
//   fills its slots from the lowest on, and an application's blocks are distributed over its SMs, so each SM
//   is assumed to have as many warps as the highest slot of any request, since the start or in the epoch
//   (`warps`). The paper's bits are reset every epoch, but any instruction sets them, not only a request to
//   the L2 TLB. Slots are counted, as many per SM as it runs warps at a time: successive blocks in a slot
//   count once.
// - Order: the paper gives tokens to the warps with the lowest numbers within a core and limits the warps of
//   each core. So n tokens go to the first warp of each SM, then to the second of each, and so on; a share of
//   100% is a token for every warp.
// - Assumed, not in the paper: the share changes by a fixed step, not the number of tokens. An application's
//   first epoch, in which all its warps fill, is the first one with requests; an epoch without requests
//   changes nothing. If several SMs wait for a translation, it fills the TLB if one of their requests is from
//   a warp with a token. Scalar caches have no warps and always fill. An SM requests on behalf of the warp
//   that missed first; warps that merge with its miss in the L1 TLB send no request, and their tokens do not
//   count.
#include <algorithm>
#include <array>
#include <cmath>

#include "farfault/translation/tlb_fill.hpp"
#include "farfault/translation/tlb_organization.hpp"

namespace farfault::tlb_fills {
namespace {

class Tokens final : public TlbFill {
 public:
  enum class Change : std::uint8_t { points, relative };
  enum class Empties : std::uint8_t { page, all };
  enum class Direction : std::uint8_t { none, hill_climbing };
  enum class Warps : std::uint8_t { start, epoch };
  struct Params {
    double initial = 0.8;
    double step = 0.1;
    double threshold = 0.02;
    Change change = Change::points;
    std::uint32_t epoch = 100'000;
    std::uint32_t bypass_entries = 32;
    Empties invalidation = Empties::page;
    Direction direction = Direction::none;
    Warps warps = Warps::start;
    void describe(ParamTable& t) {
      t.number("initial", initial, {0.0, 1.0},
               "Share of an application's warps with a token after its first epoch",
               "MASK (ASPLOS 2018), section 6: 80%");
      t.number("step", step, {0.0, 1.0},
               "Share of an application's warps that gain or lose a token after an epoch",
               "assumed; MASK's published code: 0.1 of all tokens");
      t.number("threshold", threshold, {0.0, 1.0},
               "Change of the miss rate between epochs above which tokens are added or removed",
               "MASK (ASPLOS 2018), section 5.2: 2%");
      t.choice("change", change,
               {{"points", Change::points, "absolute change of the miss rate (0.02: 50% to 52%)"},
                {"relative", Change::relative, "change relative to the previous rate (0.02: 50% to 51%)"}},
               "Unit of threshold", "assumed: points; MASK (ASPLOS 2018), section 5.2: 2%, without a unit");
      t.count("epoch", epoch, {1, 1'000'000'000},
              "Epoch length in GPU cycles: time between changes of the tokens",
              "MASK (ASPLOS 2018), section 5.2: 100K cycles");
      t.count("bypass_entries", bypass_entries, {1, 65536}, "Entries of the bypass cache, fully associative",
              "MASK (ASPLOS 2018), section 5.2: 32");
      t.choice("invalidation", invalidation,
               {{"page", Empties::page, "translations of its page"}, {"all", Empties::all, "all"}},
               "Translations removed from the GPU's TLBs and the bypass cache when a page-table entry is "
               "invalidated",
               "assumed: page; MASK (ASPLOS 2018), section 5.2: all");
      t.choice("direction", direction,
               {{"none", Direction::none, "down with a higher miss rate, up with a lower one"},
                {"hill_climbing", Direction::hill_climbing,
                 "a higher miss rate reverses the last change, a lower one repeats it"}},
               "Direction of a change of the tokens",
               "MASK (ASPLOS 2018), section 5.2: none; section 7.4 has a direction register for each "
               "application, without its use");
      t.choice("warps", warps,
               {{"start", Warps::start, "all requests since the start"},
                {"epoch", Warps::epoch, "requests of the epoch"}},
               "Requests that determine an application's number of warps",
               "assumed: start; MASK (ASPLOS 2018), section 7.4: a bit for each warp, reset every epoch");
    }
  };

  static constexpr Facts facts(Params const& p) {
    return {.invalidates_all = p.invalidation == Empties::all};
  }

  Tokens(Params const& p, Setup const& s)
      : epoch_ps_{static_cast<std::uint64_t>(picoseconds(s.clock.cycles(p.epoch)))},
        initial_{millionths(p.initial)},
        step_{millionths(p.step)},
        threshold_{millionths(p.threshold)},
        relative_{p.change == Change::relative ? 1U : 0U},
        hill_climbing_{p.direction == Direction::hill_climbing ? 1U : 0U},
        warps_of_epoch_{p.warps == Warps::epoch ? 1U : 0U},
        sms_{s.sms},
        bypass_(organization().make({.entries = p.bypass_entries,
                                     .ways = p.bypass_entries,
                                     .page_bits = s.page_bits,
                                     .replacement = *s.replacement,
                                     .sizes = s.page_sizes})),
        applications_(s.sms.size()) {}

  std::optional<PageTranslation> lookup_bypassed(std::uint64_t page, Access access) override {
    auto const found = bypass_->lookup(page);
    if (!found || !found->allows(access)) return std::nullopt;
    ++bypass_hits_;
    return found;
  }
  void looked_up(Requester const& requester, bool hit, Time now) override {
    auto& a = application(requester.application, now);
    ++(hit ? a.hits : a.misses);
    if (place_of(requester)) a.slots = std::max(a.slots, std::uint64_t{requester.warp} + 1);
  }
  bool fills(Requester const& requester, Time now) override {
    auto const& a = application(requester.application, now);
    auto const sm = place_of(requester);
    if (a.has_rate == 0 || a.share == kWhole || !sm) return true;
    return requester.warp * sms_.value[requester.application].size() + *sm < a.tokens;
  }
  void keep_bypassed(std::uint64_t page, PageTranslation const& translation) override {
    bypass_->fill(page, translation);
    ++bypass_fills_;
  }
  bool invalidate(std::uint64_t page) override { return bypass_->invalidate(page); }
  std::uint64_t invalidate_all() override { return bypass_->invalidate_all(); }

  auto members() {
    return std::tie(epoch_ps_, initial_, step_, threshold_, relative_, hill_climbing_, warps_of_epoch_, sms_,
                    bypass_, applications_, bypass_hits_, bypass_fills_, increases_, decreases_);
  }
  static auto stats() {
    using T = Tokens const&;
    return std::array<Stat<Tokens>, 5>{{
        {"tokens", "count",
         "Tokens of all applications (warps that fill the TLB). 0 in an application's first epoch, when all "
         "its warps fill it",
         StatKind::level,
         [](T t) {
           std::uint64_t sum = 0;
           for (auto const& a : t.applications_) sum += a.tokens;
           return sum;
         }},
        {"bypass_hits", "count", "Look-ups that hit the bypass cache and not the TLB", StatKind::counter,
         [](T t) { return t.bypass_hits_; }},
        {"bypass_fills", "count", "Translations filled into the bypass cache", StatKind::counter,
         [](T t) { return t.bypass_fills_; }},
        {"increases", "count", "Epochs after which an application gained tokens", StatKind::counter,
         [](T t) { return t.increases_; }},
        {"decreases", "count", "Epochs after which an application lost tokens", StatKind::counter,
         [](T t) { return t.decreases_; }},
    }};
  }

 private:
  // Rates and shares are in millionths, so that equal values compare equal.
  static constexpr std::int64_t kWhole = 1'000'000;
  struct Application {
    std::uint64_t epoch = 0;  // current epoch
    std::uint64_t hits = 0;   // in the current epoch
    std::uint64_t misses = 0;
    std::uint64_t tokens = 0;
    std::uint64_t slots = 0;     // highest slot + 1 of its warps in any SM
    std::int64_t share = 0;      // of its warps, with a token
    std::int64_t rate = 0;       // misses / look-ups of the last epoch with requests
    std::uint64_t has_rate = 0;  // an epoch with requests has ended
    std::uint64_t rises = 0;     // direction of the last change of the share
  };

  static std::int64_t millionths(double share) { return std::llround(share * static_cast<double>(kWhole)); }
  static PolicyChoice<TlbOrganization> const& organization() {
    static PolicyChoice<TlbOrganization> const plain("plain");
    return plain;
  }

  // Position of the source among its application's SMs; nothing if it is a scalar cache.
  std::optional<std::size_t> place_of(Requester const& requester) const {
    auto const& sms = sms_.value[requester.application];
    auto const at = std::lower_bound(sms.begin(), sms.end(), requester.client);
    if (at == sms.end() || *at != requester.client) return std::nullopt;
    return static_cast<std::size_t>(at - sms.begin());
  }

  // State of the application after the last completed epoch.
  Application& application(std::uint8_t number, Time now) {
    auto& a = applications_[number];
    auto const epoch = static_cast<std::uint64_t>(picoseconds(now)) / epoch_ps_.value;
    if (epoch != a.epoch) {
      a.epoch = epoch;
      if (a.hits + a.misses != 0) end_epoch(a, number);
    }
    return a;
  }
  void end_epoch(Application& a, std::uint8_t number) {
    auto const rate = static_cast<std::int64_t>(a.misses * kWhole / (a.hits + a.misses));
    if (a.has_rate == 0)
      a.share = initial_.value;
    else
      move(a, rate - a.rate);
    auto const warps = a.slots * sms_.value[number].size();
    a.tokens = warps * static_cast<std::uint64_t>(a.share) / kWhole;
    a.rate = rate;
    a.has_rate = 1;
    if (warps_of_epoch_.value != 0) a.slots = 0;
    a.hits = 0;
    a.misses = 0;
  }
  void move(Application& a, std::int64_t change) {
    auto const of = relative_.value != 0 ? a.rate : kWhole;
    if (std::abs(change) * kWhole <= threshold_.value * of) return;
    bool const worse = change > 0;
    bool const rises = hill_climbing_.value != 0 ? (a.rises != 0) != worse : !worse;
    a.rises = rises ? 1U : 0U;
    auto const share = std::clamp(a.share + (rises ? step_.value : -step_.value), std::int64_t{0}, kWhole);
    if (share > a.share) ++increases_;
    if (share < a.share) ++decreases_;
    a.share = share;
  }

  Fixed<std::uint64_t> epoch_ps_;
  Fixed<std::int64_t> initial_;
  Fixed<std::int64_t> step_;
  Fixed<std::int64_t> threshold_;
  Fixed<std::uint64_t> relative_;
  Fixed<std::uint64_t> hill_climbing_;
  Fixed<std::uint64_t> warps_of_epoch_;
  Fixed<std::vector<std::vector<std::uint32_t>>> sms_;  // by application
  Policy<TlbOrganization> bypass_;
  std::vector<Application> applications_;
  std::uint64_t bypass_hits_ = 0;
  std::uint64_t bypass_fills_ = 0;
  std::uint64_t increases_ = 0;
  std::uint64_t decreases_ = 0;
};

}  // namespace

void tokens(PolicyList<TlbFill>& list) {
  list.add<Tokens>("tokens", "translations for warps with a token, all others fill a bypass cache");
}

}  // namespace farfault::tlb_fills
