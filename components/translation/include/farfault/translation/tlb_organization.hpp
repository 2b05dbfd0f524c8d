// SPDX-License-Identifier: Apache-2.0
// TLB organization: maps virtual pages to translations, in TLBs of SMs, GPUs, scalar caches and IOMMUs. The
// owner models the time of a look-up.
//
// - A translation is that of a page of any size that the owner has declared. It covers all base pages in the
//   page; look-ups, fills and invalidations name any one of them. Page numbers have 52 bits and include the
//   address space.
// - The owner fills a page that overlaps one of another size only if both give the same frames, or if the
//   other has been invalidated since its fill.
// - Capacity: the owner sets the number of `entries`; the organization defines how many translations an entry
//   holds, and whether the capacity is limited.
// - Steady state allocates no memory, unless the capacity is unlimited.
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
    std::uint32_t entries;  // 0: every look-up misses
    std::uint32_t ways;     // a divisor of entries, unless entries is 0
    unsigned page_bits;
    PolicyChoice<Replacement> const& replacement;  // for its arrays
    std::uint32_t sizes = 1;                       // bit s: pages of 2^s base pages; bit 0 is always set
    // Mappings of time zero, of these sizes; outlives the TLB. The organization may hold them as if they had
    // been filled.
    PageTable const* mapped = nullptr;
    bool takes_delays = false;  // the owner adds hit_delay()
  };
  static PolicyList<TlbOrganization> known();

  // Returns a translation that covers the base page, was filled and has not been invalidated since; of
  // several fills of a page, the last. It counts as a use. If a large page and base pages in it are both
  // present, as after coalescing in place, it returns any of them: they agree.
  virtual std::optional<PageTranslation> lookup(std::uint64_t page) = 0;
  // Inserts a translation or replaces the former one of the page. It remains until it is invalidated, or
  // evicted by another fill or invalidation. Entries of other page sizes are not removed.
  virtual void fill(std::uint64_t page, PageTranslation const& translation) = 0;
  // Removes every translation that covers the base page, of any size, and returns whether there was one. It
  // may remove others.
  virtual bool invalidate(std::uint64_t page) = 0;
  // Additional latency of the last hit, in cycles; 0 without `takes_delays`.
  virtual std::uint64_t hit_delay() const { return 0; }

  // Calls f for every translation, with the first base page of its page.
  using EntryFunction = std::function<void(std::uint64_t page, PageTranslation const& translation)>;
  virtual void each_entry(EntryFunction const& f) const = 0;

  // Removes every translation and returns their number. Mappings of time zero no longer count.
  virtual std::uint64_t invalidate_all() {
    std::vector<std::uint64_t> pages;
    each_entry([&](std::uint64_t page, PageTranslation const&) { pages.push_back(page); });
    for (auto const page : pages) invalidate(page);
    return pages.size();
  }

 protected:
  // Key of a page in an array. A large page has the top bit set and, as its size, the highest of the low bits
  // that its number does not use.
  static constexpr std::uint64_t key(std::uint64_t page, unsigned size) {
    return size == 0 ? page : kLarge | ((page >> size << 1U) | 1U) << (size - 1);
  }
  static constexpr std::uint8_t size_of(std::uint64_t key) {
    return static_cast<std::uint8_t>((key & kLarge) == 0 ? 0 : std::countr_zero(key) + 1);
  }
  // First base page.
  static constexpr std::uint64_t page_of(std::uint64_t key) {
    return (key & ~kLarge) >> size_of(key) << size_of(key);
  }

  // Calls `probe` for each size, smallest first, and returns the first result.
  template <class F>
  static auto find_by_size(std::uint64_t sizes, F&& probe) {
    decltype(probe(std::uint8_t{0})) found{};
    for (auto left = sizes; left != 0 && !found; left &= left - 1)
      found = probe(static_cast<std::uint8_t>(std::countr_zero(left)));
    return found;
  }
  // Calls `erase` for each size; true if any call erased an entry.
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

// Choices of policies of a TLB, in the section of its owner.
struct TlbPolicies {
  PolicyChoice<TlbOrganization> organization{"plain"};
  PolicyChoice<Replacement> replacement{"lru"};

  // `prefix` precedes the names in a section that configures more than the TLB ("tlb_").
  void describe(ParamTable& t, std::string const& prefix, std::string_view replacement_source) {
    organization.describe(t, prefix + "organization", "TLB organization",
                          "GMMU Bypass (NPC 2020), which specifies only sets and ways: plain", prefix);
    replacement.describe(t, prefix + "replacement", "Replacement policy of the TLB", replacement_source,
                         prefix);
  }
  Policy<TlbOrganization> make(std::uint32_t entries, std::uint32_t ways, unsigned page_bits,
                               std::uint32_t page_sizes, PageTable const* mapped_at_start,
                               bool takes_delays = false) const {
    return organization.make({.entries = entries,
                              .ways = ways,
                              .page_bits = page_bits,
                              .replacement = replacement,
                              .sizes = page_sizes,
                              .mapped = mapped_at_start,
                              .takes_delays = takes_delays});
  }
};

extern template class PolicyChoice<TlbOrganization>;

}  // namespace farfault
