// SPDX-License-Identifier: Apache-2.0
// Separate arrays by page size, as in Mosaic (MICRO 2017, section 2.2): the owner's entries hold base pages;
// large pages of all sizes share other entries. The set index is the low bits of the page number, counted in
// pages of its size. A look-up checks large pages first, and base pages only if none is found (section 4.3),
// so a use of a large page does not update the recency of base pages in it.
#include <array>
#include <string>
#include <vector>

#include "farfault/translation/tlb_organization.hpp"

namespace farfault::tlb_organizations {
namespace {

class ByPageSize final : public TlbOrganization {
 public:
  struct Params {
    std::uint32_t large_entries = 16;
    std::uint32_t large_ways = 0;
    void describe(ParamTable& t) {
      t.count("large_entries", large_entries, {1, 65536},
              "Entries for large pages, in addition to the entries for base pages",
              "Mosaic (MICRO 2017), Table 1: 16 at the L1, 256 at the L2 TLB");
      t.count("large_ways", large_ways, {0, 65536},
              "Ways of the array for large pages. Must divide large_entries. 0: fully associative",
              "Mosaic (MICRO 2017), Table 1: fully associative");
    }
  };

  ByPageSize(Params const& p, Setup const& s) : large_sizes_{s.sizes & ~std::uint64_t{1}} {
    if (s.entries == 0) return;
    auto const ways = p.large_ways == 0 ? p.large_entries : p.large_ways;
    auto const sets = p.large_entries / ways;
    auto const refuse = [&](std::string const& why) {
      throw UserError(invalid_value("large_ways", std::to_string(p.large_ways), why));
    };
    if (p.large_entries % ways != 0) refuse("must divide large_entries, " + std::to_string(p.large_entries));
    if (auto const why = s.replacement.why_not({sets, ways}); !why.empty())
      refuse("invalid for the replacement policy: " + why);
    arrays_[kBase] = SetAssociative(s.entries / s.ways, s.ways, s.replacement);
    arrays_[kLarge] = SetAssociative(sets, ways, s.replacement);
  }

  std::optional<PageTranslation> lookup(std::uint64_t page) override {
    if (arrays_[kBase].sets() == 0) return std::nullopt;
    if (large_sizes_.value != 0)
      if (auto const found = lookup_large(page)) return found;
    return lookup_in(kBase, page, 0);
  }
  void fill(std::uint64_t page, PageTranslation const& translation) override {
    if (arrays_[kBase].sets() == 0) return;
    auto const which = translation.size == 0 ? kBase : kLarge;
    auto& array = arrays_[which];
    auto const slot = array.put(set_of(which, page >> translation.size), key(page, translation.size));
    array.hold_slots(frames_[which]);
    frames_[which][slot] = translation.frame;
  }
  bool invalidate(std::uint64_t page) override {
    return arrays_[kBase].sets() != 0 && erase_by_size(large_sizes_.value | 1, [&](std::uint8_t size) {
             auto const which = size == 0 ? kBase : kLarge;
             return arrays_[which].erase(set_of(which, page >> size), key(page, size));
           });
  }
  void each_entry(EntryFunction const& f) const override {
    for (auto const which : {kBase, kLarge})
      arrays_[which].each([&](std::uint32_t slot, std::uint64_t k) {
        f(page_of(k), {frames_[which][slot], size_of(k)});
      });
  }
  std::span<SetAssociative const> arrays() const override { return arrays_; }

  auto members() { return std::tie(arrays_, frames_, hits_, large_sizes_); }
  static auto stats() {
    using T = ByPageSize const&;
    return std::array<Stat<ByPageSize>, 2>{
        {{"large_hits", "count", "Look-ups that hit a large page. A retried access looks up again",
          StatKind::counter, [](T t) { return t.hits_[kLarge]; }},
         {"base_hits", "count",
          "Look-ups that hit a base page and no large page. A retried access looks up again",
          StatKind::counter, [](T t) { return t.hits_[kBase]; }}}};
  }

 private:
  static constexpr std::size_t kBase = 0;
  static constexpr std::size_t kLarge = 1;

  std::optional<PageTranslation> lookup_large(std::uint64_t page) {
    return find_by_size(large_sizes_.value, [&](std::uint8_t size) { return lookup_in(kLarge, page, size); });
  }
  std::optional<PageTranslation> lookup_in(std::size_t which, std::uint64_t page, std::uint8_t size) {
    auto const slot = arrays_[which].find(set_of(which, page >> size), key(page, size));
    if (!slot) return std::nullopt;
    ++hits_[which];
    return PageTranslation{frames_[which][*slot], size};
  }
  std::uint32_t set_of(std::size_t which, std::uint64_t page) const {
    return static_cast<std::uint32_t>(page % arrays_[which].sets());
  }

  std::array<SetAssociative, 2> arrays_;
  std::array<std::vector<PhysAddr>, 2> frames_;  // by slot
  std::array<std::uint64_t, 2> hits_{};
  Fixed<std::uint64_t> large_sizes_;  // bit s: pages of 2^s base pages exist; never bit 0
};

}  // namespace

void by_page_size(PolicyList<TlbOrganization>& list) {
  list.add<ByPageSize>("by_page_size", "separate entries for base pages and large pages");
}

}  // namespace farfault::tlb_organizations
