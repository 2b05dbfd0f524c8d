// How a translation lookaside buffer is organized: (address space, virtual page) -> translation. The TLBs of
// SMs, GPUs, scalar caches and IOMMUs are all of these; what a look-up costs is their owners' business.
//
// Contract. fill() puts a translation in, in the place of the page's former one if there was one; from then
// on lookup() gives it until something else is filled or invalidated: then it may have had to give way. A
// look-up gives only what was filled for this page of this address space and not invalidated since, of
// several fills the last; it counts as a use of what it finds. invalidate() says whether the page's
// translation was there, which it is not any more; others may go with it. Address spaces have 11 bits, pages
// 52. A TLB has as many `entries` as its owner says; how many translations one holds, and whether there is an
// end to them, is the organization's. Of no entries every look-up misses. Calls allocate nothing after the
// first ones.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "farfault/engine/policy.hpp"
#include "farfault/parts/set_associative.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

struct PageTranslation {
  PhysAddr frame = kNoFrame;
};

class TlbOrganization : public HasArrays {
 public:
  using Interface = TlbOrganization;
  struct Setup {
    std::uint32_t entries;
    std::uint32_t ways;  // a divisor of entries, unless there are none
    unsigned page_bits;
    PolicyChoice<Replacement> const& replacement;  // for its arrays
  };
  static PolicyList<TlbOrganization> known();

  virtual std::optional<PageTranslation> lookup(std::uint32_t asid, std::uint64_t page) = 0;
  virtual void fill(std::uint32_t asid, std::uint64_t page, PageTranslation const& translation) = 0;
  virtual bool invalidate(std::uint32_t asid, std::uint64_t page) = 0;

  // Every translation that a look-up would give; for tests.
  using EntryFunction =
      std::function<void(std::uint32_t asid, std::uint64_t page, PageTranslation const& translation)>;
  virtual void each_entry(EntryFunction const& f) const = 0;

 protected:
  // A page of an address space as the key of an array.
  static constexpr unsigned kPageBits = 52;
  static constexpr std::uint64_t key(std::uint32_t asid, std::uint64_t page) {
    return (static_cast<std::uint64_t>(asid) << kPageBits) | page;
  }
  static constexpr std::uint32_t asid_of(std::uint64_t key) {
    return static_cast<std::uint32_t>(key >> kPageBits);
  }
  static constexpr std::uint64_t page_of(std::uint64_t key) {
    return key & ((std::uint64_t{1} << kPageBits) - 1);
  }
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
  Policy<TlbOrganization> make(std::uint32_t entries, std::uint32_t ways, unsigned page_bits) const {
    return organization.make({entries, ways, page_bits, replacement});
  }
};

}  // namespace farfault
