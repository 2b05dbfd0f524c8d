// SPDX-License-Identifier: Apache-2.0
// The front end of address translation: the part that an SM, a scalar cache, or any other component holds to
// translate its accesses. Its owner sends requests and counts time.
//
// - An access is looked up in the client's TLB. After a miss it waits in the MSHR of its page or, if the page
//   has faulted, until the page's replay (faulted_accesses.hpp).
// - An access that has its physical address, but is not sent yet, is in translated(), in order.
// - An invalidation is acknowledged when all accesses translated before are done (access_drain.hpp).
// - `Access` is plain data. It may be a write if it has a member `access`; otherwise it is a read. A write to
//   a page that is read-only waits for a replay.
// - A replay of all pages takes effect with as many messages as the next level has banks. The last one that
//   arrives always does, behind all earlier responses of every bank.
// - Limits: place() reports what an access lacks: room for faulted accesses, or an MSHR.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "farfault/engine/archive.hpp"
#include "farfault/parts/access_drain.hpp"
#include "farfault/parts/draining_invalidations.hpp"
#include "farfault/parts/faulted_accesses.hpp"
#include "farfault/parts/mshr.hpp"
#include "farfault/parts/page_uses.hpp"
#include "farfault/parts/ring.hpp"
#include "farfault/protocols/messages.hpp"
#include "farfault/translation/tlb_banks.hpp"
#include "farfault/translation/tlb_organization.hpp"

namespace farfault {

// The place in which an access waits after a TLB miss. no_room, no_mshr: none, so it must be looked up later.
enum class MissPlace : std::uint8_t {
  mshr,      // in an MSHR of its page
  new_mshr,  // in an MSHR that has been allocated: the owner requests the translation
  replay,    // for the replay of its page
  no_room,   // the limits of faulted pages or accesses are reached
  no_mshr,
};

template <class Access>
class TranslationClient {
 public:
  // Maximum numbers of pages and accesses that wait, and of outstanding invalidations.
  struct Limits {
    std::uint32_t mshrs = 1;
    std::uint32_t waiters = 1;
    std::uint32_t faulted_pages = 1;
    std::uint32_t faulted_accesses = 1;
    // Maximum of each that accesses in MSHRs may add when the limit is reached (faulted_accesses.hpp).
    std::uint32_t late_pages = 0;
    std::uint32_t late_accesses = 0;
    bool stops_at_miss = false;  // no look-up while a miss is outstanding
    std::uint32_t banks = 1;     // of the next level
    std::size_t translated = 1;
    std::size_t invalidations = 1;
  };

  TranslationClient() = default;
  TranslationClient(Policy<TlbOrganization> tlb, Limits const& limits, PageUseRule uses)
      : tlb_(std::move(tlb)),
        mshrs_(limits.mshrs, limits.waiters),
        faulted_(limits.faulted_pages, limits.faulted_accesses, limits.late_pages, limits.late_accesses),
        translated_(limits.translated),
        invalidations_(limits.invalidations),
        uses_(uses),
        stops_at_miss_{limits.stops_at_miss ? 1U : 0U},
        banks_{limits.banks} {}

  // False while accesses must wait for an outstanding miss.
  bool may_look_up() const { return stops_at_miss_.value == 0 || mshrs_.in_use() == 0; }
  std::optional<PageTranslation> lookup(std::uint64_t page) { return tlb_->lookup(page); }

  // Finds a place for an access to `page` that has missed the TLB. `again`: it is looked up after a replay,
  // and keeps its room among the faulted accesses; otherwise it could wait for itself. `entry`: the page's
  // MSHR, if the caller knows it; set to the MSHR in which the access must wait.
  MissPlace place(std::uint64_t page, bool again, std::optional<std::uint32_t>& entry) {
    if (!again && !faulted_.has_room()) return MissPlace::no_room;
    if (!entry && faulted_.holds(page)) return MissPlace::replay;
    if (!mshrs_.can_wait()) return MissPlace::no_mshr;
    if (!entry) entry = mshrs_.find(page);
    if (entry) return MissPlace::mshr;
    if (mshrs_.full()) return MissPlace::no_mshr;
    entry = mshrs_.allocate(page);
    return MissPlace::new_mshr;
  }
  // A place in the MSHR, for the caller to fill in.
  Access& wait(std::uint32_t entry) { return mshrs_.one_more(entry); }
  void park(std::uint64_t page, Access const& access) { faulted_.park(page, access); }

  // A response of the next level, or a replay. `owner` is called for each access that it concerns, in order:
  //   translated(access)  it has waited in the page's MSHR, and may use m.translation()
  //   faulted(access)     the same, but it may not: park() it
  //   settled(access)     it has waited for a replay, and may use m.translation()
  //   again(access&)      the same, but it is looked up again; the call may change it
  //   requester(access)   for a replay of all pages: round-robin over requesters
  // Returns false if no access is concerned.
  template <class Owner>
  bool respond(TranslateResponse const& m, Owner&& owner) {
    auto const again = [&](Access& a) { owner.again(a); };
    if (m.found_by == FoundBy::replay && m.page == kEveryPage) {
      if (++replays_of_all_ < banks_.value) return false;
      replays_of_all_ = 0;
      faulted_.replay_all([&](Access const& a) { return owner.requester(a); }, again);
      return true;
    }
    if (is_replay(m.found_by)) {
      if (!faulted_.holds(m.page)) return false;
      bool const settles = m.found_by == FoundBy::settled;
      if (settles) tlb_->fill(m.page, m.translation());
      if (!settles || (kWrites && is_read_only(m.frame)))
        faulted_.replay(m.page, again);  // writes to a read-only page fault once more
      else
        faulted_.settle(m.page, [&](Access const& a) { owner.settled(a); });
      return true;
    }
    answer(m, owner, again);
    return true;
  }
  // Accesses to look up again, oldest first.
  Ring<Access>& again() { return faulted_.again(); }
  Ring<Access> const& again() const { return faulted_.again(); }

  Ring<Access>& translated() { return translated_; }
  // The oldest translated access leaves the queue, after its send().
  void pop_translated() {
    translated_.pop();
    drain_.leave_queue();
  }
  // Counts an access that is sent with a physical address. Returns its generation, for responded().
  std::uint32_t send() { return drain_.send(); }
  void responded(std::uint32_t generation, std::uint64_t accesses = 1) {
    drain_.responded(generation, accesses);
  }

  // The distribution of pages over the banks of the next level (tlb_balance.hpp).
  std::uint64_t distribution() const { return distribution_; }
  void distribute(std::uint64_t number) { distribution_ = number; }

  // Returns the number of TLB entries removed.
  std::uint64_t invalidate(Invalidate const& m) {
    auto const removed =
        m.all != 0 ? tlb_->invalidate_all() : static_cast<std::uint64_t>(tlb_->invalidate(m.page));
    uses_.forget(m.page, m.size);
    invalidations_.push(m);
    return removed;
  }
  bool is_invalidating() const { return !invalidations_.empty(); }
  // Calls f for each invalidation whose accesses are done.
  template <class F>
  void acknowledge(F&& f) {
    invalidations_.advance(drain_, translated_.size(), f);
  }

  // True if this use of the page must be reported to the driver.
  bool must_report(std::uint64_t page, farfault::Access access, Time now) {
    return uses_.enabled() && uses_.must_report(page, access, now);
  }

  // For readers.
  Policy<TlbOrganization> const& tlb() const { return tlb_; }
  MshrTable<Access> const& mshrs() const { return mshrs_; }
  FaultedAccesses<Access> const& faulted() const { return faulted_; }
  Ring<Access> const& translated() const { return translated_; }

  auto members() {
    return std::tie(tlb_, mshrs_, faulted_, translated_, drain_, invalidations_, uses_, stops_at_miss_,
                    banks_, replays_of_all_, distribution_);
  }

 private:
  static constexpr bool kWrites = requires(Access a) { a.access; };

  static bool allows(PageTranslation const& found, Access const& a) {
    if constexpr (kWrites)
      return found.allows(a.access);
    else
      return true;
  }
  template <class Owner, class Again>
  void answer(TranslateResponse const& m, Owner&& owner, Again&& again) {
    auto const found = m.translation();
    bool const mapped = m.found_by != FoundBy::nothing;
    if (mapped) tlb_->fill(m.page, found);
    auto const entry = mshrs_.find(m.page);
    FF_CHECK(entry.has_value(), "translation of page " + std::to_string(m.page) + " without a request");
    bool refused = false;  // a write that was merged with a read
    // Inlined: a call per access costs 0.3% of all instructions.
    mshrs_.release(
        *entry, [&](Access const& waiting) __attribute__((always_inline)) {
          if (mapped && allows(found, waiting)) return owner.translated(waiting);
          refused = refused || mapped;
          owner.faulted(waiting);
        });
    if (refused) faulted_.replay(m.page, again);
  }

  Policy<TlbOrganization> tlb_;
  MshrTable<Access> mshrs_;
  FaultedAccesses<Access> faulted_;
  Ring<Access> translated_;
  AccessDrain drain_;
  DrainingInvalidations invalidations_;
  PageUses uses_;
  Fixed<std::uint64_t> stops_at_miss_{};
  Fixed<std::uint64_t> banks_{1};
  std::uint64_t replays_of_all_ = 0;  // banks that have sent the current one
  std::uint64_t distribution_ = 0;
};

}  // namespace farfault
