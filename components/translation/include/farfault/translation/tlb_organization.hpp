// SPDX-License-Identifier: Apache-2.0
// How a translation lookaside buffer is organized: virtual page -> translation. The TLBs of
// SMs, GPUs, scalar caches and IOMMUs are all of these; what a look-up costs is their owners' business.
//
// Contract. fill() puts a translation in, in the place of the page's former one if there was one; from then
// on it is there until something else is filled or invalidated: then it may have had to give way. A
// translation is that of a page of any of the sizes that the owner has declared, and of all base pages in it,
// whichever was asked for: look-ups and invalidations name one of them. A large page and base pages in it may
// be there side by side, as where base pages were coalesced in place: a fill leaves pages of other sizes
// where they are, and a look-up gives any translation that holds the base page, for they agree. It gives only
// what was filled, and not invalidated since, of several fills of a page the last; it counts as a use of what
// it finds. invalidate() removes every translation that holds the base page, whatever its size, and says
// whether there was one; others may go with them. The owner fills a page that overlaps one of another size
// only where both give the same frames, unless that was invalidated since it was filled. Page numbers have 52
// bits, which name the address space. A TLB has as many `entries` as its owner says; how many translations
// one holds, and whether there is an end to them, is the organization's. One may also hold what its owner
// says is mapped, as if that had been filled at first. Of no entries every look-up misses. Calls allocate
// nothing after the first ones, unless there is no end to what it holds.
//
// What a look-up has found may come later than the owner's look-ups take: hit_delay() says by how many cycles
// what the last one has found does. Owners whose setup has `takes_delays` ask for it, and an organization has
// no delays with others.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "farfault/engine/policy.hpp"
#include "farfault/parts/set_associative.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

class PageTable;

class TlbOrganization : public HasArrays {
 public:
  using Interface = TlbOrganization;
  struct Setup {
    std::uint32_t entries;
    std::uint32_t ways;  // a divisor of entries, unless there are none
    unsigned page_bits;
    PolicyChoice<Replacement> const& replacement;  // for its arrays
    std::uint32_t sizes = 1;                       // bit s: pages of 2^s base pages; bit 0 always
    PageTable const* mapped = nullptr;             // at time zero, of these sizes; outlives the TLB
    bool takes_delays = false;
  };
  static PolicyList<TlbOrganization> known();

  virtual std::optional<PageTranslation> lookup(std::uint64_t page) = 0;
  virtual void fill(std::uint64_t page, PageTranslation const& translation) = 0;
  virtual bool invalidate(std::uint64_t page) = 0;
  virtual std::uint64_t hit_delay() const { return 0; }

  // Every translation that is there, with the first base page of its page.
  using EntryFunction = std::function<void(std::uint64_t page, PageTranslation const& translation)>;
  virtual void each_entry(EntryFunction const& f) const = 0;

  // Removes every translation that is there; returns how many that were. What was mapped at time zero counts
  // no more.
  virtual std::uint64_t invalidate_all() {
    std::vector<std::uint64_t> pages;
    each_entry([&](std::uint64_t page, PageTranslation const&) { pages.push_back(page); });
    for (auto const page : pages) invalidate(page);
    return pages.size();
  }

 protected:
  // A page as the key of an array. That of a large page has the top bit, and of the low
  // bits, which its number does not need, the highest one.
  static constexpr std::uint64_t key(std::uint64_t page, unsigned size) {
    return size == 0 ? page : kLarge | ((page >> size << 1U) | 1U) << (size - 1);
  }
  static constexpr std::uint8_t size_of(std::uint64_t key) {
    return static_cast<std::uint8_t>((key & kLarge) == 0 ? 0 : std::countr_zero(key) + 1);
  }
  // The first base page.
  static constexpr std::uint64_t page_of(std::uint64_t key) {
    return (key & ~kLarge) >> size_of(key) << size_of(key);
  }

  // What `probe` gives for one of the sizes, smallest first, up to the first at which it finds something.
  template <class F>
  static auto find_by_size(std::uint64_t sizes, F&& probe) {
    decltype(probe(std::uint8_t{0})) found{};
    for (auto left = sizes; left != 0 && !found; left &= left - 1)
      found = probe(static_cast<std::uint8_t>(std::countr_zero(left)));
    return found;
  }
  // Whether `erase` found something to erase of any of the sizes; it is called for all.
  template <class F>
  static bool erase_by_size(std::uint64_t sizes, F&& erase) {
    bool any = false;
    for (auto left = sizes; left != 0; left &= left - 1)
      any = erase(static_cast<std::uint8_t>(std::countr_zero(left))) || any;
    return any;
  }

 private:
  static constexpr std::uint64_t kLarge = std::uint64_t{1} << 63;
};

// What is chosen of a TLB, in the section of its owner.
struct TlbPolicies {
  PolicyChoice<TlbOrganization> organization{"plain"};
  PolicyChoice<Replacement> replacement{"lru"};

  // `prefix` stands before the names in a section that has more than the TLB ("tlb_").
  void describe(ParamTable& t, std::string const& prefix, std::string_view replacement_source) {
    organization.describe(t, prefix + "organization", "how the TLB is organized",
                          "plain; GMMU Bypass says no more than sets and ways", prefix);
    replacement.describe(t, prefix + "replacement", "which translation gives way to another",
                         replacement_source, prefix);
  }
  Policy<TlbOrganization> make(std::uint32_t entries, std::uint32_t ways, unsigned page_bits,
                               std::uint32_t page_sizes, PageTable const* mapped_at_start,
                               bool takes_delays = false) const {
    return organization.make(
        {entries, ways, page_bits, replacement, page_sizes, mapped_at_start, takes_delays});
  }
};

extern template class PolicyChoice<TlbOrganization>;

}  // namespace farfault
