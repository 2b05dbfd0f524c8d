// SPDX-License-Identifier: Apache-2.0
// Range TLB: entries for pages, as in a plain TLB, and entries for ranges, looked up in parallel. A range
// maps any number of pages that are contiguous both in the address space and in one memory: first page,
// number of pages, first frame. Source: Redundant Memory Mappings (Karakostas et al., ISCA 2015), which the
// TLB compression paper (PACT 2020, section 5.3) names as a range TLB, together with Translation Ranger (ISCA
// 2019). The coverage of a range depends on the contiguity that frame allocation and page moves have left.
//
// Assumed:
// - A filled translation is merged with adjacent ranges and pages. Up to `fetched_pages` contiguous
//   neighbours in the page table are filled with it on each side, as a walk of the range table would, as long
//   as none of them has been invalidated since time zero. Pages mapped later are merged when they are
//   requested.
// - A page is in one entry. The victim is the least recently used range.
// - An invalidation removes its page from a range. The longer part remains; the other part gets a free entry
//   or is dropped.
// - A range has pages of one size, in one address space, and all writable or all read-only.
// - After an invalidation of all entries (gpu.l2_tlb.tokens.invalidation), neighbours are no longer
//   fetched.
// - Pages that changed since time zero are recorded as intervals, without a limit.
#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "farfault/protocols/kernel.hpp"
#include "farfault/translation/page_table.hpp"
#include "farfault/translation/tlb_organization.hpp"

namespace farfault::tlb_organizations {
namespace {

class Range final : public TlbOrganization {
 public:
  struct Params {
    std::uint32_t range_entries = 32;
    std::uint32_t fetched_pages = 1 << 20;
    void describe(ParamTable& t) {
      t.count("range_entries", range_entries, {1, 65536},
              "Entries for ranges, fully associative, in addition to the entries for pages",
              "assumed: 32, as in Redundant Memory Mappings (ISCA 2015)");
      t.count("fetched_pages", fetched_pages, {0, 1 << 20},
              "Maximum contiguous pages on each side of a filled page that are filled with it from the page "
              "table. 0: none",
              "assumed: all, as with a range table (ISCA 2015)");
    }
  };

  Range(Params const& p, Setup const& s)
      : array_(s.entries / s.ways, s.entries == 0 ? 0 : s.ways, s.replacement),
        form_{{s.entries == 0 ? 0 : s.sizes, p.range_entries, p.fetched_pages, s.page_bits}} {
    if (s.entries == 0) return;
    if (s.mapped != nullptr && p.fetched_pages != 0) mapped_.value = *s.mapped;
    ranges_.reserve(p.range_entries);
  }

  std::optional<PageTranslation> lookup(std::uint64_t page) override {
    for (auto& r : ranges_)
      if (holds(r, page)) {
        r.used = ++clock_;
        ++range_hits_;
        return translation_in(r, page);
      }
    return find_by_size(form_->sizes, [&](std::uint8_t size) -> std::optional<PageTranslation> {
      auto const slot = array_.find(set_of(page >> size), key(page, size));
      if (!slot) return std::nullopt;
      ++page_hits_;
      return PageTranslation{frames_[*slot], size};
    });
  }
  void fill(std::uint64_t page, PageTranslation const& t) override {
    if (form_->sizes == 0) return;
    Run run{.first = page >> t.size << t.size, .pages = 1, .frame = t.frame, .used = 0, .size = t.size};
    for (auto& r : ranges_) {
      if (r.size != t.size || !holds(r, run.first)) continue;
      if (translation_in(r, run.first) == t) {
        r.used = ++clock_;
        return;
      }
      take_out(r, run.first);
      break;
    }
    array_.erase(set_of(run.first >> t.size), key(run.first, t.size));
    if (mapped_.value && mapped_.value->get().find(run.first) != t) note_change(run.first, step_of(run));
    fetch(run);
    while (join(run)) {
    }
    put(run);
  }
  bool invalidate(std::uint64_t page) override {
    bool any = false;
    auto const it_holds = [&](Run const& r) { return holds(r, page); };
    for (auto r = std::ranges::find_if(ranges_, it_holds); r != ranges_.end();
         r = std::ranges::find_if(ranges_, it_holds)) {
      take_out(*r, page >> r->size << r->size);
      any = true;
    }
    if (mapped_.value) note_change(page, 1);
    return erase_by_size(
               form_->sizes,
               [&](std::uint8_t size) { return array_.erase(set_of(page >> size), key(page, size)); }) ||
           any;
  }
  std::uint64_t invalidate_all() override {
    std::uint64_t entries = 0;
    each_entry([&](std::uint64_t, PageTranslation const&) { ++entries; });
    ranges_.clear();
    array_.clear();
    all_changed_ = 1;
    return entries;
  }
  void each_entry(EntryFunction const& f) const override {
    for (auto const& r : ranges_)
      for (auto page = r.first; page != end_of(r); page += step_of(r)) f(page, translation_in(r, page));
    array_.each([&](std::uint32_t slot, std::uint64_t k) { f(page_of(k), {frames_[slot], size_of(k)}); });
  }
  std::span<SetAssociative const> arrays() const override { return {&array_, 1}; }

  auto members() {
    return std::tie(array_, frames_, ranges_, changed_, form_, mapped_, clock_, all_changed_, range_hits_,
                    page_hits_, fetched_, joined_, splits_);
  }
  static auto stats() {
    using T = Range const&;
    return std::array<Stat<Range>, 7>{{
        {"range_hits", "count", "Look-ups that hit a range. A retried access looks up again",
         StatKind::counter, [](T t) { return t.range_hits_; }},
        {"page_hits", "count", "Look-ups that hit the entry of a page. A retried access looks up again",
         StatKind::counter, [](T t) { return t.page_hits_; }},
        {"fetched_pages", "count", "Contiguous neighbours filled with a requested page", StatKind::counter,
         [](T t) { return t.fetched_; }},
        {"joined", "count", "Ranges and page entries merged into another range", StatKind::counter,
         [](T t) { return t.joined_; }},
        {"splits", "count", "Ranges split in two by the removal of a page", StatKind::counter,
         [](T t) { return t.splits_; }},
        {"ranges", "count", "Ranges in the TLB", StatKind::level,
         [](T t) { return std::uint64_t{t.ranges_.size()}; }},
        {"pages_in_ranges", "count", "Pages in the ranges of the TLB", StatKind::level,
         [](T t) {
           std::uint64_t pages = 0;
           for (auto const& r : t.ranges_) pages += r.pages;
           return pages;
         }},
    }};
  }

 private:
  struct Run {
    std::uint64_t first;  // first base page
    std::uint64_t pages;  // in pages of its size
    PhysAddr frame;       // of the first page
    std::uint64_t used;   // time of the last use, in uses
    std::uint64_t size;
  };
  struct Interval {
    std::uint64_t first;
    std::uint64_t end;
  };
  struct Form {
    std::uint64_t sizes;  // bit s: pages of 2^s base pages exist
    std::uint32_t range_entries;
    std::uint32_t fetched_pages;
    unsigned page_bits;
  };

  static std::uint64_t step_of(Run const& r) { return std::uint64_t{1} << r.size; }
  static std::uint64_t end_of(Run const& r) { return r.first + (r.pages << r.size); }
  static bool holds(Run const& r, std::uint64_t page) { return page - r.first < r.pages << r.size; }
  // Translation of the page, of the range's size, that holds base page `page`; extrapolates beyond the
  // range's ends.
  PageTranslation translation_in(Run const& r, std::uint64_t page) const {
    auto const away = (page - r.first) >> r.size << r.size;
    return {r.frame + (away << form_->page_bits), static_cast<std::uint8_t>(r.size)};
  }
  bool is_of_its_space(Run const& r, std::uint64_t page) const {
    return (r.first ^ page) >> (kVirtualBits - form_->page_bits) == 0;
  }
  std::uint32_t set_of(std::uint64_t number) const {
    return static_cast<std::uint32_t>(number % array_.sets());
  }

  // True if the page table continues the range at `page`, unchanged since time zero.
  bool is_mapped_next_to(Run const& r, std::uint64_t page) const {
    return is_of_its_space(r, page) && !has_changed(page, page + step_of(r)) &&
           mapped_.value->get().find(page) == translation_in(r, page);
  }
  // Extends the range by contiguous neighbours in the page table, and removes other entries of these pages.
  void fetch(Run& r) {
    if (!mapped_.value || all_changed_ != 0) return;
    auto const most = form_->fetched_pages;
    std::uint32_t before = 0, behind = 0;
    auto const step = step_of(r);
    for (; before < most && is_mapped_next_to(r, r.first - (before + 1) * step); ++before) {
    }
    for (; behind < most && is_mapped_next_to(r, end_of(r) + behind * step); ++behind) {
    }
    r.frame = translation_in(r, r.first - before * step).frame;
    r.first -= before * step;
    r.pages += before + behind;
    fetched_ += before + behind;
    if (r.pages == 1) return;
    for (auto page = r.first; page != end_of(r); page += step)
      array_.erase(set_of(page >> r.size), key(page, static_cast<unsigned>(r.size)));
    for (std::size_t i = 0; i < ranges_.size();) {
      auto const& other = ranges_[i];
      bool const overlaps = other.size == r.size && other.first < end_of(r) && r.first < end_of(other);
      if (overlaps)
        absorb(r, i);
      else
        ++i;
    }
  }
  // Merges one adjacent entry into the range; false if there is none.
  bool join(Run& r) {
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      auto const& other = ranges_[i];
      bool const next = other.first == end_of(r) || end_of(other) == r.first;
      if (!next || other.size != r.size || !is_of_its_space(r, other.first) ||
          translation_in(r, other.first).frame != other.frame)
        continue;
      absorb(r, i);
      return true;
    }
    for (auto const page : {r.first - step_of(r), end_of(r)}) {
      auto const set = set_of(page >> r.size);
      auto const slot = array_.peek(set, key(page, static_cast<unsigned>(r.size)));
      if (!slot || !is_of_its_space(r, page) || frames_[*slot] != translation_in(r, page).frame) continue;
      array_.erase_slot(*slot);
      r.frame = std::min(r.frame, frames_[*slot]);
      r.first = std::min(r.first, page);
      ++r.pages;
      ++joined_;
      return true;
    }
    return false;
  }
  void absorb(Run& r, std::size_t i) {
    auto const other = ranges_[i];
    auto const end = std::max(end_of(r), end_of(other));
    r.frame = std::min(r.frame, other.frame);
    r.first = std::min(r.first, other.first);
    r.pages = (end - r.first) >> r.size;
    erase_range(i);
    ++joined_;
  }
  void put(Run& r) {
    if (r.pages == 1) {
      auto const size = static_cast<unsigned>(r.size);
      auto const slot = array_.put(set_of(r.first >> size), key(r.first, size));
      array_.hold_slots(frames_);
      frames_[slot] = r.frame;
      return;
    }
    r.used = ++clock_;
    if (ranges_.size() < form_->range_entries)
      ranges_.push_back(r);
    else
      *std::ranges::min_element(ranges_, {}, &Run::used) = r;
  }
  // Removes the page whose first base page is `page` from the range.
  void take_out(Run& r, std::uint64_t page) {
    auto before = r, behind = r;
    before.pages = (page - r.first) >> r.size;
    behind.first = page + step_of(r);
    behind.frame = translation_in(r, behind.first).frame;
    behind.pages -= before.pages + 1;
    auto const& longer = before.pages >= behind.pages ? before : behind;
    auto const& shorter = before.pages >= behind.pages ? behind : before;
    r = longer;
    if (longer.pages == 0) return erase_range(static_cast<std::size_t>(&r - ranges_.data()));
    if (shorter.pages == 0) return;
    ++splits_;
    if (ranges_.size() < form_->range_entries) ranges_.push_back(shorter);
  }
  void erase_range(std::size_t i) {
    ranges_[i] = ranges_.back();
    ranges_.pop_back();
  }

  // The intervals are sorted and do not touch each other.
  bool has_changed(std::uint64_t first, std::uint64_t end) const {
    auto const it = std::ranges::upper_bound(changed_, first, {}, &Interval::end);
    return it != changed_.end() && it->first < end;
  }
  void note_change(std::uint64_t page, std::uint64_t pages) {
    Interval noted{page, page + pages};
    auto const from = std::ranges::lower_bound(changed_, noted.first, {}, &Interval::end);
    auto to = from;
    for (; to != changed_.end() && to->first <= noted.end; ++to)
      noted = {std::min(noted.first, to->first), std::max(noted.end, to->end)};
    if (from == to) {
      changed_.insert(from, noted);
    } else {
      *from = noted;
      changed_.erase(from + 1, to);
    }
  }

  SetAssociative array_;
  std::vector<PhysAddr> frames_;  // by slot
  std::vector<Run> ranges_;
  std::vector<Interval> changed_;  // pages that changed since time zero
  Fixed<Form> form_;
  using Mapped = Fixed<std::optional<std::reference_wrapper<PageTable const>>>;
  static_assert(!Bytes<Mapped>);  // a pointer's bytes are not state
  Mapped mapped_;                 // only if neighbours are fetched
  std::uint64_t clock_ = 0;
  std::uint64_t all_changed_ = 0;
  std::uint64_t range_hits_ = 0;
  std::uint64_t page_hits_ = 0;
  std::uint64_t fetched_ = 0;
  std::uint64_t joined_ = 0;
  std::uint64_t splits_ = 0;
};

}  // namespace

void range(PolicyList<TlbOrganization>& list) {
  list.add<Range>("range", "separate entries for pages and for ranges of contiguous pages");
}

}  // namespace farfault::tlb_organizations
