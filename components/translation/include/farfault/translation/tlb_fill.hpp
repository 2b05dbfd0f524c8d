// SPDX-License-Identifier: Apache-2.0
// Which translations come into the L2 TLB when their walk has ended, and where others are kept.
//
// Contract. Whoever misses the TLB is an `Asker`. A policy may keep translations of its own: those are
// looked up at the same time, and beside() is asked for a page that the TLB does not have, or has for reads
// alone; what it gives allows the access, and is a hit like any other. looked_up() tells every look-up that
// has ended in a hit, of either, or in a miss (one that joins an outstanding miss is one too); a request that
// has to wait for an MSHR is looked up later. fills() is asked when a page's walk has ended, for those who
// have waited, until it admits one: then the translation comes into the TLB, and else it is handed to
// keep_beside(). A page that the driver has settled comes into the TLB unasked. invalidate() removes what it
// keeps of the base page, whatever the page's size, and says whether there was something; beside()
// gives only what keep_beside() was told and has not been invalidated since. invalidates_all() is asked once:
// then whatever becomes invalid empties all TLBs of the GPU, and invalidate_all() what it keeps.
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
    std::vector<std::vector<std::uint32_t>> sms = {{0}};  // by application: that run it, ascending
    unsigned page_bits = 12;
    std::uint32_t page_sizes = 1;                            // bit s: there may be pages of 2^s base pages
    PolicyChoice<Replacement> const* replacement = nullptr;  // of the TLB; outlives the object
  };
  struct Asker {
    std::uint16_t client = 0;  // an SM or, above them, a scalar cache
    std::uint8_t application = 0;
    std::uint8_t warp = 0;  // its slot in the SM
  };
  static PolicyList<TlbFill> known();

  virtual ~TlbFill() = default;
  virtual std::optional<PageTranslation> beside(std::uint64_t page, Access access) = 0;
  virtual void looked_up(Asker const& asker, bool hit, Time now) = 0;
  virtual bool fills(Asker const& asker, Time now) = 0;
  virtual void keep_beside(std::uint64_t page, PageTranslation const& translation) = 0;
  virtual bool invalidate(std::uint64_t page) = 0;
  virtual std::uint64_t invalidate_all() = 0;  // how many there were
  virtual bool invalidates_all() const { return false; }
};

extern template class PolicyChoice<TlbFill>;

}  // namespace farfault
