// SPDX-License-Identifier: Apache-2.0
// Fill policy of the L2 TLB: selects the translations that enter the TLB when their walk ends, and may keep
// others in a cache of its own. A `Requester` is the source of a request to the TLB.
//
// - lookup_bypassed() looks up the policy's own cache, in parallel with the TLB, for a page that misses the
//   TLB or is read-only there. A result allows the access and counts as a hit. It returns only translations
//   that keep_bypassed() received and that have not been invalidated since.
// - looked_up() is called for every look-up that ends in a hit, in either cache, or in a miss, merged misses
//   included. A request that stalls for an MSHR is looked up later.
// - fills() is called when a walk has ended, for each waiter, until it returns true: then the translation
//   fills the TLB. Otherwise it is passed to keep_bypassed(). A settled page always fills the TLB.
// - invalidate() removes the base page from the policy's cache, whatever the page size, and returns whether
//   it was cached.
// - invalidates_all: if true, every invalidation empties all TLBs of the GPU, and invalidate_all() empties
//   the policy's cache.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "farfault/engine/policy.hpp"
#include "farfault/engine/time.hpp"
#include "farfault/parts/replacement.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

class TlbFill {
 public:
  using Interface = TlbFill;
  struct Setup {
    Clock clock{1'000'000'000};
    std::vector<std::vector<std::uint32_t>> sms = {{0}};  // by application: SMs that run it, ascending
    unsigned page_bits = 12;
    std::uint32_t page_sizes = 1;                            // bit s: pages of 2^s base pages exist
    PolicyChoice<Replacement> const* replacement = nullptr;  // of the TLB; outlives the policy
  };
  struct Requester {
    std::uint16_t client = 0;  // an SM or, with numbers above the SMs, a scalar cache
    std::uint8_t application = 0;
    std::uint8_t warp = 0;  // slot in the SM
  };
  struct Facts {
    bool invalidates_all = false;
  };
  static PolicyList<TlbFill> known();

  virtual ~TlbFill() = default;
  virtual std::optional<PageTranslation> lookup_bypassed(std::uint64_t page, Access access) = 0;
  virtual void looked_up(Requester const& requester, bool hit, Time now) = 0;
  virtual bool fills(Requester const& requester, Time now) = 0;
  virtual void keep_bypassed(std::uint64_t page, PageTranslation const& translation) = 0;
  virtual bool invalidate(std::uint64_t page) = 0;
  virtual std::uint64_t invalidate_all() = 0;  // number of translations removed
};

extern template class PolicyChoice<TlbFill>;

}  // namespace farfault
