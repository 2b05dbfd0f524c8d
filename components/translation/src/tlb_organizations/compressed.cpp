// SPDX-License-Identifier: Apache-2.0
// TLB compression of Tang et al. (PACT 2020, sections 4.2 to 4.7). The ways of a set form two partitions,
// uncompressed and compressed, which are looked up in parallel; each replaces only its own translations. A
// set has a base: the upper bits of a virtual and of a physical page number. A translation with equal upper
// bits (compared, not subtracted) is compressed: only its lower bits, the deltas, are stored. An entry of a
// compressed way has room for `ratio` of them. Any other translation takes an entry of an uncompressed way.
//
// - Re-basing: the first translation of a set is its first base. Uncompressed translations decrement a
//   counter. At zero, the next inserted translation is the new base, and the set's compressed translations
//   are flushed.
// - The paper defines the counter twice (`rebasing`): section 4.5 counts all insertions since the last base,
//   section 5.2 "consecutive uncompressible address translations". A hit is an address translation, too:
//   `stream` counts hits and insertions alike.
// - Widths: a virtual page number here includes the address space above the paper's 36 bits; a frame includes
//   the device above its memory's bits, which may exceed the paper's 19. A base holds all bits above the
//   deltas.
// - Assumed, not in the paper: large pages share the array, as in a plain TLB, or have their own
//   (`large_entries`). They are numbered in pages of their size, with deltas of the same width; a base has
//   one page size. Read-only is stored with the deltas, like valid and dirty bits. A new base equal to the
//   old one flushes the compressed ways too: the bits are not compared.
// - Assumed: a searched base (section 4.6) is selected when the counter reaches zero, among the translations
//   in the uncompressed ways: the one from which the others differ in the fewest low bits; of equal ones,
//   that of the lowest page. Those ways keep their translations.
#include <array>
#include <bit>
#include <string>
#include <vector>

#include "farfault/translation/tlb_organization.hpp"

namespace farfault::tlb_organizations {
namespace {

// Entry format of the paper (Figs. 2 and 9), for a TLB of 32 sets. Entries have the same width for all page
// sizes.
constexpr unsigned kStatusBits = 2;  // valid, dirty; per translation
constexpr unsigned kPageBits = 36;
constexpr unsigned kFrameBits = 19;
constexpr unsigned kVirtualDelta = 13;
constexpr unsigned kPhysicalDelta = 9;
constexpr unsigned kRatio = 2;
constexpr unsigned kRebaseAfter = 16;

constexpr unsigned tag_bits(std::uint32_t sets) {
  return kPageBits + 1 - static_cast<unsigned>(std::bit_width(sets));
}
constexpr unsigned entry_bits(std::uint32_t sets) {
  return kStatusBits + tag_bits(sets) + kFrameBits;
}
constexpr unsigned compressed_bits(unsigned ratio, unsigned virtual_delta, unsigned physical_delta) {
  return ratio * (kStatusBits + virtual_delta + physical_delta);
}

static_assert(tag_bits(32) == 31 && entry_bits(32) == 2 + 31 + 19);
static_assert(18 + kVirtualDelta == tag_bits(32), "virtual base and delta make up the tag");
static_assert(10 + kPhysicalDelta == kFrameBits, "physical base and delta make up the frame");
static_assert(compressed_bits(kRatio, kVirtualDelta, kPhysicalDelta) <= entry_bits(32));
static_assert(32 * (18 + 10 + std::bit_width(kRebaseAfter - 1)) == 128 * 8,
              "section 4.8: 128 bytes of bases");

class Compressed final : public TlbOrganization {
 public:
  enum class Rebasing : std::uint8_t { cumulative, consecutive, stream, none };
  enum class NewBase : std::uint8_t { next, searched };
  struct Params {
    std::uint32_t ratio = kRatio;
    std::uint32_t compressed_percent = 50;
    std::uint32_t virtual_delta = kVirtualDelta;
    std::uint32_t physical_delta = kPhysicalDelta;
    std::uint32_t sets_per_base = 1;
    Rebasing rebasing = Rebasing::cumulative;
    std::uint32_t rebase_after = kRebaseAfter;
    NewBase base = NewBase::next;
    std::uint32_t latency = 0;
    std::uint32_t large_entries = 0;
    std::uint32_t large_ways = 0;
    void describe(ParamTable& t) {
      t.count("ratio", ratio, {1, 16}, "Translations per entry of a compressed way",
              "TLB compression (PACT 2020), section 4.2: 2; 3 in section 5.2");
      t.count("compressed_percent", compressed_percent, {0, 100},
              "Percentage of a set's ways that are compressed. Must yield a whole number of ways",
              "TLB compression (PACT 2020), section 4.6: 50; 25 and 75 in section 5.2");
      t.count("virtual_delta", virtual_delta, {1, 63},
              "Width of the virtual delta in bits: the part of the virtual page number, above the set index, "
              "that a compressed translation stores. The base has the higher bits",
              "TLB compression (PACT 2020), section 4.2: 13");
      t.count("physical_delta", physical_delta, {1, 63},
              "Width of the physical delta in bits: the low part of the physical page number that a "
              "compressed translation stores. The base has the higher bits",
              "TLB compression (PACT 2020), section 4.2: 9");
      t.count("sets_per_base", sets_per_base, {0, 65536},
              "Sets that share a base. Must divide the number of sets. 0: all sets",
              "TLB compression (PACT 2020), section 4.3: 1; 2 and 4 in section 5.2, all in section 4.7 (L1)");
      t.choice(
          "rebasing", rebasing,
          {{"cumulative", Rebasing::cumulative, "all insertions"},
           {"consecutive", Rebasing::consecutive, "insertions; a compressed insertion resets the counter"},
           {"stream", Rebasing::stream,
            "insertions and hits; a compressed insertion or hit resets the counter"},
           {"none", Rebasing::none, "none, the base never changes"}},
          "Uncompressed translations that decrement the re-basing counter",
          "TLB compression (PACT 2020), section 4.5: cumulative; section 5.2: consecutive or stream");
      t.count("rebase_after", rebase_after, {1, 1'000'000},
              "Uncompressed translations counted before re-basing",
              "TLB compression (PACT 2020), section 4.5: 16")
          .only_when(sibling("rebasing").is_not("none"));
      t.choice("base", base,
               {{"next", NewBase::next, "the next translation filled"},
                {"searched", NewBase::searched,
                 "the translation in the uncompressed ways from which the others of its sets differ in the "
                 "fewest low bits"}},
               "New base when the re-basing counter reaches zero",
               "TLB compression (PACT 2020), section 4.6: the next")
          .only_when(sibling("rebasing").is_not("none"));
      t.count("latency", latency, {0, 10'000},
              "Additional latency of a hit on a compressed translation, in cycles. 0: none, required in all "
              "TLBs except the L2 TLB",
              "TLB compression (PACT 2020), section 4.4: 0, bases and deltas are compared in parallel");
      t.count("large_entries", large_entries, {0, 65536},
              "Entries for large pages, in addition to the entries for base pages. 0: shared entries",
              "assumed: shared; in the paper all pages have one size");
      t.count("large_ways", large_ways, {0, 65536},
              "Ways of the array for large pages. Must divide large_entries. 0: fully associative",
              "assumed: fully associative, as in Mosaic (MICRO 2017), Table 1")
          .only_when(sibling("large_entries").is_above(0));
    }
  };

  Compressed(Params const& p, Setup const& s)
      : form_{{.sizes = {},
               .page_bits = s.page_bits,
               .virtual_delta = p.virtual_delta,
               .physical_delta = p.physical_delta,
               .rebase_after = p.rebase_after,
               .rebasing = p.rebasing,
               .base = p.base,
               .latency = p.latency}} {
    if (s.entries == 0) return;
    if (p.latency != 0 && !s.takes_delays)
      refuse("latency", p.latency,
             "must be 0: only the L2 TLB has an additional latency of compressed translations");
    check_widths(p, s.entries / s.ways);
    make_array(kBase, p, s, s.entries / s.ways, s.ways, p.sets_per_base);
    form_.value.sizes[kBase] = s.sizes;
    if (p.large_entries == 0) return;
    auto const ways = p.large_ways == 0 ? p.large_entries : p.large_ways;
    if (p.large_entries % ways != 0)
      refuse("large_ways", p.large_ways, "must divide large_entries, " + std::to_string(p.large_entries));
    auto const sets = p.large_entries / ways;
    make_array(kLarge, p, s, sets, ways, std::min(p.sets_per_base, sets));
    form_.value.sizes[kBase] = 1;
    form_.value.sizes[kLarge] = s.sizes & ~std::uint64_t{1};
  }

  std::optional<PageTranslation> lookup(std::uint64_t page) override {
    if (form_->sizes[kLarge] != 0)
      if (auto const found = lookup_in(kLarge, page)) return found;
    return lookup_in(kBase, page);
  }
  void fill(std::uint64_t page, PageTranslation const& t) override {
    auto const which = form_->sizes[kLarge] != 0 && t.size != 0 ? kLarge : kBase;
    if (form_->sizes[which] == 0) return;
    auto const at = place_of(which, page, t.size);
    auto const number = number_of(t);
    auto& base = bases_[which][at.group];
    if (base.page == kNone) set_base(base, at, number);
    if (base.left == 0) {
      flush(which, at.group);
      set_base(base, at, number);
    }
    if (base.has(at) && base.frame == number >> form_->physical_delta)
      fill_compressed(which, page, t, at, number);
    else
      fill_uncompressed(which, page, t, at);
  }
  bool invalidate(std::uint64_t page) override {
    bool any = false;
    for (auto const which : {kBase, kLarge})
      any = erase_by_size(form_->sizes[which],
                          [&](std::uint8_t size) {
                            auto const at = place_of(which, page, size);
                            bool const uncompressed = whole(which).erase(at.set, key(page, size));
                            return erase_compressed(which, at) || uncompressed;
                          }) ||
            any;
    return any;
  }
  std::uint64_t hit_delay() const override { return hit_delay_; }
  void each_entry(EntryFunction const& f) const override {
    for (auto const which : {kBase, kLarge}) {
      whole(which).each([&](std::uint32_t slot, std::uint64_t k) {
        f(page_of(k), {frames_[which][slot], size_of(k)});
      });
      for (std::uint32_t set = 0; set < whole(which).sets(); ++set)
        each_compressed(which, set, [&](std::uint32_t slot) {
          auto const& base = bases_[which][group_of(which, set)];
          auto const tag = base.page << form_->virtual_delta | deltas(which).key(slot);
          auto const number = tag * deltas(which).sets() + set;
          f(number << base.size, translation_of(base, lower_[which][slot]));
        });
    }
  }
  std::span<SetAssociative const> arrays() const override { return arrays_; }

  auto members() {
    return std::tie(form_, arrays_, frames_, lower_, bases_, uncompressed_hits_, compressed_hits_,
                    uncompressed_fills_, compressed_fills_, rebasings_, flushed_, hit_delay_);
  }
  static auto stats() {
    using T = Compressed const&;
    return std::array<Stat<Compressed>, 6>{{
        {"compressed_hits", "count",
         "Look-ups that hit a compressed translation. A retried access looks up again", StatKind::counter,
         [](T t) { return t.compressed_hits_; }},
        {"uncompressed_hits", "count",
         "Look-ups that hit an uncompressed translation. A retried access looks up again", StatKind::counter,
         [](T t) { return t.uncompressed_hits_; }},
        {"compressed_fills", "count", "Translations filled compressed", StatKind::counter,
         [](T t) { return t.compressed_fills_; }},
        {"uncompressed_fills", "count", "Translations filled uncompressed", StatKind::counter,
         [](T t) { return t.uncompressed_fills_; }},
        {"rebasings", "count", "Changes of a base, not counting the first base of a set", StatKind::counter,
         [](T t) { return t.rebasings_; }},
        {"flushed_translations", "count", "Compressed translations removed by a change of their base",
         StatKind::counter, [](T t) { return t.flushed_; }},
    }};
  }

 private:
  static constexpr std::size_t kBase = 0;
  static constexpr std::size_t kLarge = 1;
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  static constexpr std::uint32_t kNoWrite = std::uint32_t{1} << 31;  // stored with the physical delta

  struct Form {
    std::array<std::uint64_t, 2> sizes;     // by array: bit s: pages of 2^s base pages exist
    std::array<std::uint32_t, 2> groups{};  // by array: groups of sets that share a base
    unsigned page_bits;
    unsigned virtual_delta;
    unsigned physical_delta;
    std::uint32_t rebase_after;
    Rebasing rebasing;
    NewBase base;
    std::uint32_t latency;
  };
  // Location of a page of some size in an array.
  struct Place {
    std::uint32_t set;
    std::uint32_t group;  // group of sets that share a base
    std::uint64_t tag;
    std::uint64_t upper;  // upper bits of the tag
    std::uint64_t size;
  };
  struct Base {
    std::uint64_t page = kNone;  // upper bits of tags
    std::uint64_t frame = 0;     // upper bits of physical page numbers
    std::uint64_t size = 0;
    std::uint64_t left = 1;  // the counter
    bool has(Place const& at) const { return page == at.upper && size == at.size; }
  };

  [[noreturn]] static void refuse(std::string const& name, std::uint32_t value, std::string const& why) {
    throw UserError(invalid_value(name, std::to_string(value), why));
  }
  static void check_widths(Params const& p, std::uint32_t sets) {
    auto const tag = tag_bits(sets);
    auto const entry = entry_bits(sets);
    if (p.virtual_delta > tag)
      refuse("virtual_delta", p.virtual_delta,
             "must not be above the tag's " + std::to_string(tag) + " bits");
    if (p.physical_delta > kFrameBits)
      refuse("physical_delta", p.physical_delta,
             "must not be above the frame's " + std::to_string(kFrameBits) + " bits");
    if (auto const bits = compressed_bits(p.ratio, p.virtual_delta, p.physical_delta); bits > entry)
      refuse("ratio", p.ratio,
             "deltas of " + std::to_string(p.virtual_delta) + " and " + std::to_string(p.physical_delta) +
                 " bits, each with 2 status bits, take " + std::to_string(bits) + " bits, but an entry has " +
                 std::to_string(entry));
  }
  void make_array(std::size_t which, Params const& p, Setup const& s, std::uint32_t sets, std::uint32_t ways,
                  std::uint32_t sets_per_base) {
    auto const hundredths = std::uint64_t{ways} * p.compressed_percent;
    auto const compressed = static_cast<std::uint32_t>(hundredths / 100);
    std::string const of_what = which == kLarge ? " for large pages" : "";
    if (hundredths % 100 != 0 || compressed == 0 || compressed == ways)
      refuse("compressed_percent", p.compressed_percent,
             "must leave both partitions a whole number of the " + std::to_string(ways) + " ways" + of_what +
                 ", at least one");
    if (sets_per_base > sets)
      refuse("sets_per_base", p.sets_per_base,
             "must not be above the number of sets, " + std::to_string(sets));
    if (sets_per_base != 0 && sets % sets_per_base != 0)
      refuse("sets_per_base", p.sets_per_base,
             "must divide the number of sets" + of_what + ", " + std::to_string(sets));
    for (auto const w : {ways - compressed, compressed * p.ratio})
      if (auto const why = s.replacement.why_not({sets, w}); !why.empty())
        refuse("compressed_percent", p.compressed_percent, "invalid for the replacement policy: " + why);
    whole(which) = SetAssociative(sets, ways - compressed, s.replacement);
    deltas(which) = SetAssociative(sets, compressed * p.ratio, s.replacement);
    form_.value.groups[which] = sets_per_base == 0 ? 1 : sets / sets_per_base;
    bases_[which].resize(form_->groups[which]);
  }

  SetAssociative& whole(std::size_t which) { return arrays_[2 * which]; }
  SetAssociative const& whole(std::size_t which) const { return arrays_[2 * which]; }
  SetAssociative& deltas(std::size_t which) { return arrays_[2 * which + 1]; }
  SetAssociative const& deltas(std::size_t which) const { return arrays_[2 * which + 1]; }

  // Sets that share a base are not adjacent (section 4.6).
  std::uint32_t group_of(std::size_t which, std::uint32_t set) const { return set % form_->groups[which]; }
  Place place_of(std::size_t which, std::uint64_t page, std::uint8_t size) const {
    auto const number = page >> size;
    auto const sets = whole(which).sets();
    auto const set = static_cast<std::uint32_t>(number % sets);
    auto const tag = number / sets;
    return {.set = set,
            .group = group_of(which, set),
            .tag = tag,
            .upper = tag >> form_->virtual_delta,
            .size = size};
  }
  static std::uint64_t low(std::uint64_t bits, unsigned n) { return bits & ((std::uint64_t{1} << n) - 1); }
  // Physical page number.
  std::uint64_t number_of(PageTranslation const& t) const {
    return (t.frame & ~kReadOnly) >> (form_->page_bits + t.size);
  }
  PageTranslation translation_of(Base const& base, std::uint32_t lower) const {
    auto const number = base.frame << form_->physical_delta | (lower & ~kNoWrite);
    auto const frame = number << (form_->page_bits + base.size);
    return {(lower & kNoWrite) != 0 ? read_only(frame) : frame, static_cast<std::uint8_t>(base.size)};
  }

  std::optional<PageTranslation> lookup_in(std::size_t which, std::uint64_t page) {
    return find_by_size(form_->sizes[which], [&](std::uint8_t size) -> std::optional<PageTranslation> {
      auto const at = place_of(which, page, size);
      if (auto const slot = whole(which).find(at.set, key(page, size))) {
        ++uncompressed_hits_;
        hit_delay_ = 0;
        PageTranslation const found{frames_[which][*slot], size};
        if (form_->rebasing == Rebasing::stream) count_uncompressed(which, at.group);
        return found;
      }
      auto& base = bases_[which][at.group];
      if (!base.has(at)) return std::nullopt;
      auto const slot = deltas(which).find(at.set, low(at.tag, form_->virtual_delta));
      if (!slot) return std::nullopt;
      ++compressed_hits_;
      hit_delay_ = form_->latency;
      if (form_->rebasing == Rebasing::stream) count_compressed(base);
      return translation_of(base, lower_[which][*slot]);
    });
  }

  void fill_compressed(std::size_t which, std::uint64_t page, PageTranslation const& t, Place const& at,
                       std::uint64_t number) {
    whole(which).erase(at.set, key(page, t.size));
    auto const slot = deltas(which).put(at.set, low(at.tag, form_->virtual_delta));
    deltas(which).hold_slots(lower_[which]);
    lower_[which][slot] = static_cast<std::uint32_t>(low(number, form_->physical_delta)) |
                          (is_read_only(t.frame) ? kNoWrite : 0);
    ++compressed_fills_;
    if (form_->rebasing == Rebasing::consecutive || form_->rebasing == Rebasing::stream)
      count_compressed(bases_[which][at.group]);
  }
  void fill_uncompressed(std::size_t which, std::uint64_t page, PageTranslation const& t, Place const& at) {
    erase_compressed(which, at);
    auto const slot = whole(which).put(at.set, key(page, t.size));
    whole(which).hold_slots(frames_[which]);
    frames_[which][slot] = t.frame;
    ++uncompressed_fills_;
    if (form_->rebasing != Rebasing::none) count_uncompressed(which, at.group);
  }
  void count_compressed(Base& base) const { base.left = form_->rebase_after; }
  // The counter stays at zero until the next insertion, which changes the base, or a compressed hit.
  void count_uncompressed(std::size_t which, std::uint32_t group) {
    auto& base = bases_[which][group];
    if (base.left != 0 && --base.left == 0 && form_->base == NewBase::searched) search_base(which, group);
  }
  bool erase_compressed(std::size_t which, Place const& at) {
    return bases_[which][at.group].has(at) && deltas(which).erase(at.set, low(at.tag, form_->virtual_delta));
  }

  void set_base(Base& base, Place const& at, std::uint64_t number) const {
    base = {at.upper, number >> form_->physical_delta, at.size, form_->rebase_after};
  }
  // Removes the compressed translations of the group.
  void flush(std::size_t which, std::uint32_t group) {
    for (auto set = group; set < deltas(which).sets(); set += form_->groups[which])
      each_compressed(which, set, [&](std::uint32_t slot) {
        deltas(which).erase_slot(slot);
        ++flushed_;
      });
    ++rebasings_;
  }
  void search_base(std::size_t which, std::uint32_t group) {
    struct {
      std::uint64_t bits, page, size, number;
      auto order() const { return std::tie(bits, page, size); }
    } best{kNone, kNone, 0, 0};
    each_uncompressed(which, group, [&](std::uint64_t k, std::uint64_t number) {
      auto const tag = tag_of(which, k);
      std::uint64_t bits = 0;
      each_uncompressed(which, group, [&](std::uint64_t other, std::uint64_t other_number) {
        bits += size_of(other) != size_of(k)
                    ? 128U
                    : static_cast<unsigned>(std::bit_width(tag ^ tag_of(which, other)) +
                                            std::bit_width(number ^ other_number));
      });
      decltype(best) const candidate{bits, page_of(k), size_of(k), number};
      if (candidate.order() < best.order()) best = candidate;
    });
    flush(which, group);
    auto const at = place_of(which, best.page, static_cast<std::uint8_t>(best.size));
    set_base(bases_[which][group], at, best.number);
  }
  std::uint64_t tag_of(std::size_t which, std::uint64_t k) const {
    return (page_of(k) >> size_of(k)) / whole(which).sets();
  }

  // Calls f(slot) for each compressed translation of a set.
  template <class F>
  void each_compressed(std::size_t which, std::uint32_t set, F&& f) const {
    auto const first = deltas(which).first_slot(set);
    for (std::uint32_t way = 0; first && way < deltas(which).ways(); ++way)
      if (deltas(which).key(*first + way) != SetAssociative::kEmpty) f(*first + way);
  }
  // Calls f(key, physical page number) for each uncompressed translation of a group.
  template <class F>
  void each_uncompressed(std::size_t which, std::uint32_t group, F&& f) const {
    for (auto set = group; set < whole(which).sets(); set += form_->groups[which]) {
      auto const first = whole(which).first_slot(set);
      for (std::uint32_t way = 0; first && way < whole(which).ways(); ++way) {
        auto const k = whole(which).key(*first + way);
        if (k != SetAssociative::kEmpty) f(k, number_of({frames_[which][*first + way], size_of(k)}));
      }
    }
  }

  Fixed<Form> form_;
  std::array<SetAssociative, 4> arrays_;             // by array: keys of pages; deltas of tags
  std::array<std::vector<PhysAddr>, 2> frames_;      // of uncompressed translations, by slot
  std::array<std::vector<std::uint32_t>, 2> lower_;  // of compressed ones: physical deltas, kNoWrite
  std::array<std::vector<Base>, 2> bases_;           // by group
  std::uint64_t uncompressed_hits_ = 0;
  std::uint64_t compressed_hits_ = 0;
  std::uint64_t uncompressed_fills_ = 0;
  std::uint64_t compressed_fills_ = 0;
  std::uint64_t rebasings_ = 0;
  std::uint64_t flushed_ = 0;
  std::uint64_t hit_delay_ = 0;  // of the last hit
};

}  // namespace

void compressed(PolicyList<TlbOrganization>& list) {
  list.add<Compressed>("compressed", "base-delta compression in some of the ways");
}

}  // namespace farfault::tlb_organizations
