// SPDX-License-Identifier: Apache-2.0
// GRIT (Wang et al., HPCA 2024): every page has a scheme of its own, chosen from its faults.
//
// - Schemes. on_touch: the page moves to the GPU that faults. counted: the GPU that faults maps it remotely,
//   and the page moves when the GPU's counted accesses reach the threshold (gpu.access_counters).
//   duplicated: a reader gets a copy, and a write drops the copies.
// - A page begins on_touch. At its `faults`-th fault since the last choice, it becomes duplicated if none of
//   these faults was a write, otherwise counted.
// - Prediction: if more than half of the eight pages of an aligned group have the chosen scheme, all of them
//   get it; likewise for the eight groups of 8, and the eight groups of 64. It takes effect at their next
//   fault. A page that chooses another scheme than its group divides the group into the next smaller ones.
//   The choice of counted for a counted page predicts nothing. Groups are of page numbers, whatever buffers
//   they contain.
// - The record of writes begins again at each choice, also of the same scheme.
// - Not modelled: the time of a look-up in GRIT's table of page attributes, and its cache.
#include <array>

#include "farfault/paging/page_decision.hpp"
#include "farfault/paging/page_records.hpp"

namespace farfault::page_decisions {
namespace {

class Grit final : public PageDecision {
 public:
  struct Params {
    std::uint32_t faults = 4;
    bool predicts = true;
    void describe(ParamTable& t) {
      t.count("faults", faults, {1, 255}, "Faults on a page after which its scheme is chosen",
              "GRIT (HPCA 2024): 4");
      t.flag("predicts", predicts, "The scheme chosen for a page is predicted for its neighbours",
             "GRIT (HPCA 2024), neighbouring-aware prediction");
    }
  };

  static constexpr Facts facts() {
    using enum PageEventKind;
    return {.moves_pages = true, .makes_copies = true, .events = {fault, counted}, .stays_at_faults = true};
  }

  Grit(Params const& p, Setup const& setup) : params_{p}, pages_(setup.page_bits, setup.spaces) {}

  PageAction decide(PageEvent const& e) override {
    if (e.kind == PageEventKind::counted)
      return pages_.of(e.page).scheme == Scheme::counted ? PageAction::move_here : PageAction::stay;
    bool const writes = e.access == Access::write;
    auto& page = pages_.of(e.page);
    if (writes) page.written = 1;
    if (!e.is_prefetch && ++page.faults >= params_->faults) choose(e.page);
    if (writes && e.has_copies) return PageAction::move_here;
    switch (pages_.of(e.page).scheme) {
      case Scheme::on_touch:
        return PageAction::move_here;
      case Scheme::counted:
        return PageAction::stay;
      case Scheme::duplicated:
        return writes ? PageAction::move_here : PageAction::copy_here;
    }
    return PageAction::stay;
  }
  void forget(std::uint64_t page) override { pages_.forget(page); }

  static auto stats() {
    using S = Grit const&;
    return std::to_array<Stat<Grit>>({
        {"counted_pages", "count", "Choices of remote access with counters for a page", StatKind::counter,
         [](S s) { return s.counts_.counted; }},
        {"duplicated_pages", "count", "Choices of duplication for a page", StatKind::counter,
         [](S s) { return s.counts_.duplicated; }},
        {"predicted_pages", "count",
         "Page numbers of groups whose scheme was changed by the choice for a neighbour", StatKind::counter,
         [](S s) { return s.counts_.predicted; }},
    });
  }
  auto members() { return std::tie(params_, pages_, counts_); }

 private:
  enum class Scheme : std::uint8_t { on_touch, counted, duplicated };
  struct Page {
    Scheme scheme = Scheme::on_touch;
    std::uint8_t level = 0;  // it is in a group of 8^level pages of one scheme
    std::uint8_t faults = 0;
    std::uint8_t written = 0;
  };
  struct Counts {
    std::uint64_t counted = 0;
    std::uint64_t duplicated = 0;
    std::uint64_t predicted = 0;
  };
  static constexpr unsigned kFanOut = 3;  // log2
  static constexpr unsigned kLevels = 3;

  void choose(std::uint64_t number) {
    auto& page = pages_.of(number);
    auto const before = page;
    auto const scheme = page.written != 0 ? Scheme::counted : Scheme::duplicated;
    ++(scheme == Scheme::counted ? counts_.counted : counts_.duplicated);
    page = {.scheme = scheme};
    if (scheme == before.scheme) {
      page.level = before.level;
      if (scheme == Scheme::counted) return;
    } else if (before.level != 0) {
      each_of_group(number, before.level, [&](Page& p) {
        if (p.level == before.level) p.level = static_cast<std::uint8_t>(before.level - 1U);
      });
      pages_.of(number).level = 0;
    }
    if (params_->predicts) predict(number, scheme);
  }

  void predict(std::uint64_t number, Scheme scheme) {
    for (unsigned level = 1; level <= kLevels; ++level) {
      auto const part = kFanOut * (level - 1);
      auto const first = first_of(number, part + kFanOut);
      unsigned alike = 0;
      for (std::uint64_t i = 0; i < 1U << kFanOut; ++i)
        alike += is_group(first + (i << part), level - 1, scheme);
      if (2 * alike <= 1U << kFanOut) return;
      each_of_group(number, level, [&](Page& p) {
        counts_.predicted += p.scheme != scheme ? 1 : 0;
        p.scheme = scheme;
        p.level = static_cast<std::uint8_t>(level);
      });
    }
  }

  // All pages of the group of 8^level pages are in it and have the scheme.
  bool is_group(std::uint64_t first, unsigned level, Scheme scheme) const {
    for (std::uint64_t i = 0; i < std::uint64_t{1} << (kFanOut * level); ++i) {
      auto const* p = pages_.find(first + i);
      if (p == nullptr || p->scheme != scheme || p->level < level) return false;
    }
    return true;
  }

  template <class F>
  void each_of_group(std::uint64_t number, unsigned level, F&& f) {
    auto const first = first_of(number, kFanOut * level);
    for (std::uint64_t i = 0; i < std::uint64_t{1} << (kFanOut * level); ++i) f(pages_.of(first + i));
  }

  Fixed<Params> params_;
  PageRecords<Page> pages_;
  Counts counts_;
};

}  // namespace

void grit(PolicyList<PageDecision>& list) {
  list.add<Grit>("grit", "a scheme for each page, chosen from its faults: move, duplicate or count accesses");
}

}  // namespace farfault::page_decisions
