// SPDX-License-Identifier: Apache-2.0
// Compressed TLBs of every kind against a slow reference, over a million random calls each. The reference
// keeps lists of translations by set, most recently used first, and bases separately.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "tlb_traffic.hpp"

namespace compressed_tlb_random_test {

using namespace farfault;
using test::TlbTraffic;

namespace {

struct Kind {
  std::string name;
  std::vector<test::Setting> settings;
  // The same parameters for the reference.
  unsigned uncompressed = 4;  // translations per set of eight ways
  unsigned compressed = 8;
  unsigned virtual_delta = 13;
  unsigned physical_delta = 9;
  unsigned bases = 8;  // per eight sets
  int after = 16;
  bool rebases = true;
  bool consecutive = false;
  bool counts_hits = false;
  bool searched = false;
  // Entries for large pages. No sets: they share the sets of base pages.
  unsigned large_sets = 0;
  unsigned large_uncompressed = 0;
  unsigned large_compressed = 0;
};

std::vector<Kind> kinds() {
  std::vector<Kind> all;
  auto const add = [&](std::string name, std::vector<test::Setting> settings, auto&& change) {
    Kind k{std::move(name), std::move(settings)};
    change(k);
    all.push_back(k);
  };
  add("as in the paper", {}, [](Kind&) {});
  add("ratio 3", {{"ratio", "3"}, {"virtual_delta", "9"}, {"physical_delta", "6"}}, [](Kind& k) {
    k.compressed = 12;
    k.virtual_delta = 9;
    k.physical_delta = 6;
  });
  add("75/25", {{"compressed_percent", "25"}}, [](Kind& k) {
    k.uncompressed = 6;
    k.compressed = 4;
  });
  add("25/75", {{"compressed_percent", "75"}}, [](Kind& k) {
    k.uncompressed = 2;
    k.compressed = 12;
  });
  add("base of 2 sets", {{"sets_per_base", "2"}}, [](Kind& k) { k.bases = 4; });
  add("base of 4 sets", {{"sets_per_base", "4"}}, [](Kind& k) { k.bases = 2; });
  add("one base", {{"sets_per_base", "0"}}, [](Kind& k) { k.bases = 1; });
  add("searched", {{"base", "searched"}}, [](Kind& k) { k.searched = true; });
  add("searched for 2 sets", {{"base", "searched"}, {"sets_per_base", "2"}}, [](Kind& k) {
    k.searched = true;
    k.bases = 4;
  });
  add("without re-basing", {{"rebasing", "none"}}, [](Kind& k) { k.rebases = false; });
  add("consecutive", {{"rebasing", "consecutive"}}, [](Kind& k) { k.consecutive = true; });
  add("consecutive after 3", {{"rebasing", "consecutive"}, {"rebase_after", "3"}}, [](Kind& k) {
    k.consecutive = true;
    k.after = 3;
  });
  add("stream", {{"rebasing", "stream"}}, [](Kind& k) { k.consecutive = k.counts_hits = true; });
  add("stream after 3, base of 2 sets",
      {{"rebasing", "stream"}, {"rebase_after", "3"}, {"sets_per_base", "2"}}, [](Kind& k) {
        k.consecutive = k.counts_hits = true;
        k.after = 3;
        k.bases = 4;
      });
  add("stream, searched", {{"rebasing", "stream"}, {"base", "searched"}},
      [](Kind& k) { k.consecutive = k.counts_hits = k.searched = true; });
  add("after each", {{"rebase_after", "1"}}, [](Kind& k) { k.after = 1; });
  add("large pages apart", {{"large_entries", "16"}}, [](Kind& k) {
    k.large_sets = 1;
    k.large_uncompressed = 8;
    k.large_compressed = 16;
  });
  add("large pages apart, in sets", {{"large_entries", "16"}, {"large_ways", "4"}, {"sets_per_base", "2"}},
      [](Kind& k) {
        k.bases = 4;
        k.large_sets = 4;
        k.large_uncompressed = 2;
        k.large_compressed = 4;
      });
  return all;
}

struct Held {
  std::uint64_t number;  // of the page, in units of its size
  std::uint64_t frame;   // likewise
  unsigned size;
  bool read_only;
  bool is(std::uint64_t n, unsigned s) const { return number == n && size == s; }
  PageTranslation translation() const {
    PhysAddr const frame_address = frame << (12 + size);
    return {read_only ? farfault::read_only(frame_address) : frame_address, static_cast<std::uint8_t>(size)};
  }
};

// For pages of several sizes.
class ObviousArray {
 public:
  ObviousArray(Kind const& k, unsigned sets, unsigned uncompressed, unsigned compressed, unsigned bases)
      : k_(k), uncompressed_(uncompressed), compressed_(compressed), sets_(sets), bases_(bases) {}

  std::optional<PageTranslation> lookup(std::uint64_t page, unsigned size) {
    auto const number = page >> size;
    auto& set = sets_[number % sets_.size()];
    for (auto* list : {&set.uncompressed, &set.compressed}) {
      auto const it = std::ranges::find_if(*list, [&](Held const& h) { return h.is(number, size); });
      if (it == list->end()) continue;
      bool const fits = list == &set.compressed;
      ++(fits ? compressed_hits : uncompressed_hits);
      list->splice(list->begin(), *list, it);
      auto const found = it->translation();
      if (k_.counts_hits) count(number % sets_.size(), fits);
      return found;
    }
    return std::nullopt;
  }
  bool invalidate(std::uint64_t page, unsigned size) {
    auto& set = sets_[(page >> size) % sets_.size()];
    auto const is = [&](Held const& h) { return h.is(page >> size, size); };
    return std::erase_if(set.uncompressed, is) + std::erase_if(set.compressed, is) != 0;
  }
  void fill(std::uint64_t page, PageTranslation const& t) {
    Held const incoming{page >> t.size, (t.frame & ~kReadOnly) >> (12U + t.size), t.size,
                        is_read_only(t.frame)};
    auto const s = incoming.number % sets_.size();
    auto& base = bases_[s % bases_.size()];
    if (!base.of || base.next_is_base) {
      if (base.of) flush(s % bases_.size());
      base = {incoming, k_.after, false};
    }
    invalidate(page, t.size);
    bool const fits = upper(incoming) == upper(*base.of);
    auto& list = fits ? sets_[s].compressed : sets_[s].uncompressed;
    list.push_front(incoming);
    if (list.size() > (fits ? compressed_ : uncompressed_)) list.pop_back();
    count(s, fits);
  }
  // Calls f(page, translation).
  template <class F>
  void each(F&& f) const {
    for (auto const& set : sets_)
      for (auto const* list : {&set.uncompressed, &set.compressed})
        for (auto const& h : *list) f(h.number << h.size, h.translation());
  }
  std::uint64_t compressed_hits = 0;
  std::uint64_t uncompressed_hits = 0;
  std::uint64_t flushed = 0;
  std::uint64_t rebasings = 0;

 private:
  // Counts a translation of the set that was filled or hit.
  void count(std::uint64_t set, bool fits) {
    auto& base = bases_[set % bases_.size()];
    if (fits && k_.consecutive) {
      base.left = k_.after;
      base.next_is_base = false;
    }
    if (base.next_is_base || fits || !k_.rebases || --base.left > 0) return;
    base.next_is_base = true;
    if (k_.searched) search(set % bases_.size());
  }
  struct Set {
    std::list<Held> uncompressed;
    std::list<Held> compressed;
  };
  struct Base {
    std::optional<Held> of;
    int left = 0;
    bool next_is_base = false;
  };
  std::array<std::uint64_t, 3> upper(Held const& h) const {
    return {h.number / sets_.size() >> k_.virtual_delta, h.frame >> k_.physical_delta, h.size};
  }
  void flush(std::uint64_t base) {
    ++rebasings;
    for (auto s = base; s < sets_.size(); s += bases_.size()) {
      flushed += sets_[s].compressed.size();
      sets_[s].compressed.clear();
    }
  }
  void search(std::uint64_t base) {
    flush(base);
    std::vector<Held> all;
    for (auto s = base; s < sets_.size(); s += bases_.size())
      all.insert(all.end(), sets_[s].uncompressed.begin(), sets_[s].uncompressed.end());
    auto const bits = [&](Held const& from) {
      std::uint64_t sum = 0;
      for (auto const& h : all) {
        auto const tags = h.number / sets_.size() ^ from.number / sets_.size();
        auto const differ = std::bit_width(tags) + std::bit_width(h.frame ^ from.frame);
        sum += h.size != from.size ? 128U : static_cast<unsigned>(differ);
      }
      return sum;
    };
    auto const order = [&](Held const& h) { return std::tuple(bits(h), h.number << h.size, h.size); };
    auto best = all.front();
    for (auto const& h : all)
      if (order(h) < order(best)) best = h;
    bases_[base] = {best, k_.after, false};
  }

  Kind k_;
  std::size_t uncompressed_;
  std::size_t compressed_;
  std::vector<Set> sets_;
  std::vector<Base> bases_;
};

class Obvious {
 public:
  explicit Obvious(Kind const& k)
      : base(k, 8, k.uncompressed, k.compressed, k.bases),
        large(k, std::max(k.large_sets, 1U), k.large_uncompressed, k.large_compressed,
              std::max(k.large_sets * k.bases / 8, 1U)),
        apart_(k.large_sets != 0) {}

  std::optional<PageTranslation> lookup(std::uint64_t page) {
    for (auto const size : apart_ ? std::vector<unsigned>{2, 9, 0} : std::vector<unsigned>{0, 2, 9})
      if (auto const found = of(size).lookup(page, size)) return found;
    return std::nullopt;
  }
  bool invalidate(std::uint64_t page) {
    bool any = false;
    for (auto const size : {0U, 2U, 9U}) any = of(size).invalidate(page, size) || any;
    return any;
  }
  void fill(std::uint64_t page, PageTranslation const& t) { of(t.size).fill(page, t); }
  test::Entries entries() const {
    test::Entries all;
    auto const add = [&](std::uint64_t page, PageTranslation const& t) { all[{t.size, page}] = t.frame; };
    base.each(add);
    large.each(add);
    return all;
  }

  ObviousArray base;
  ObviousArray large;

 private:
  ObviousArray& of(unsigned size) { return apart_ && size != 0 ? large : base; }
  bool apart_;
};

}  // namespace

TEST_CASE("compressed TLBs of every kind match a simple reference over a million random calls") {
  for (auto const& kind : kinds()) {
    CAPTURE(kind.name);
    test::ChosenTlb tlb("compressed", kind.settings,
                        {.entries = 64,
                         .ways = 8,
                         .page_bits = 12,
                         .replacement = test::kLru,
                         .sizes = 1U | 1U << 2U | 1U << 9U});
    Obvious obvious(kind);
    TlbTraffic traffic(kind.name.size(), true);
    for (int i = 0; i < 1'000'000; ++i) {
      traffic.step([&](auto const& call) {
        using Call = std::decay_t<decltype(call)>;
        if constexpr (std::is_same_v<Call, TlbTraffic::Fill>) {
          tlb->fill(call.page, call.to);
          obvious.fill(call.page, call.to);
        } else if constexpr (std::is_same_v<Call, TlbTraffic::Invalidation>) {
          REQUIRE(tlb->invalidate(call.page) == obvious.invalidate(call.page));
        } else {
          auto const found = tlb->lookup(call.page);
          REQUIRE(found == obvious.lookup(call.page));
          // Never a wrong frame, whatever the reference contains.
          if (found) REQUIRE(found->base_page(call.page, 12).frame == traffic.at_home(call.page));
        }
      });
      if (i % 4096 != 0) continue;
      auto const there = test::entries_of(tlb.tlb);
      REQUIRE(there == obvious.entries());
      std::vector<std::size_t> of_set(8);
      for (auto const& [page, frame] : there)
        if (kind.large_sets == 0 || page.first == 0) ++of_set[(page.second >> page.first) % 8];
      for (auto const n : of_set) REQUIRE(n <= kind.uncompressed + kind.compressed);
    }
    CHECK(tlb.stat("compressed_hits") == obvious.base.compressed_hits + obvious.large.compressed_hits);
    CHECK(tlb.stat("uncompressed_hits") == obvious.base.uncompressed_hits + obvious.large.uncompressed_hits);
    CHECK(tlb.stat("rebasings") == obvious.base.rebasings + obvious.large.rebasings);
    CHECK(tlb.stat("flushed_translations") == obvious.base.flushed + obvious.large.flushed);
    // The traffic is meaningful: both partitions were hit, and bases changed if they may.
    CHECK(tlb.stat("compressed_hits") > 1000);
    CHECK(tlb.stat("uncompressed_hits") > 1000);
    CHECK((tlb.stat("rebasings") > 1000) == kind.rebases);
    test::ChosenTlb copy("compressed", kind.settings,
                         {.entries = 64,
                          .ways = 8,
                          .page_bits = 12,
                          .replacement = test::kLru,
                          .sizes = 1U | 1U << 2U | 1U << 9U});
    test::copy_state(tlb.tlb, copy.tlb);
    CHECK(test::entries_of(copy.tlb) == test::entries_of(tlb.tlb));
    CHECK(test::hash_of(copy.tlb) == test::hash_of(tlb.tlb));
  }
}

}  // namespace compressed_tlb_random_test
