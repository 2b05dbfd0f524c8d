// SPDX-License-Identifier: Apache-2.0
// Decision about a page: the action of the system at an event of the page (memory.remote_touch).
//
// - decide() is called for the events in Facts::events. The other events cost nothing and have the action
//   `stay`.
// - Each IOMMU has its own object, for the requests of its GPUs. The driver has one if the policy decides at
//   faults or at counted accesses. The objects share no state. GPUs have access counters only for a policy
//   that decides at counted accesses.
// - An IOMMU answers a request whose action is `stay`. Otherwise the request faults, and the driver takes the
//   action that the policy decides at the fault.
// - forget(): the page was unmapped at the IOMMU; at the driver, it was freed.
// - A further event is a PageEventKind with its condition, and a call of decide() where it occurs, by a part
//   that exists only if the policy lists the event. A further action is a PageAction, with the row of
//   page_transition.hpp that carries it out.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "farfault/engine/policy.hpp"
#include "farfault/paging/large_pages.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

// - stay: the page stays on its device, and the access is served there. Not for a write to a page with
//   copies, and at an IOMMU not for a read of one: the driver would not know the reader. At a fault, a GPU
//   with remote mappings (translation/fault_path.hpp) maps the page there, unless the page was in flight;
//   then only the stalled accesses are served there.
// - move_here: the page moves to the requester, and its copies are dropped; needs Facts::moves_pages.
// - copy_here: the requester gets a read-only copy; for reads, needs Facts::makes_copies.
enum class PageAction : std::uint8_t { stay, move_here, copy_here };

// At an IOMMU, once per request that is not merged with another one; if the policy makes copies, also for
// each merged request:
//   request          request for the translation of a page on another device
//   write_to_copies  request to write a page that has copies, on any device; it is not a `request`
// At the driver, once per fault:
//   fault            fault on a mapped page that the requester may not access: the page is on another device,
//                    or the access is a write and the page has copies; also for each page that a batch
//                    prefetches, as a read
// A request of a GPU whose walks end in the GPU is one only if the router sends it to the IOMMU.
// At the driver, once per attempt to serve the page:
//   counted          the requester's counted accesses to a region of the owner's memory have reached the
//                    threshold (gpu.access_counters), and some were to the page's part of it; for a mapped
//                    page without a frame on the requester. The counters do not distinguish reads and writes,
//                    so the access is a read
enum class PageEventKind : std::uint8_t { request, write_to_copies, fault, counted };

class PageEvents {
 public:
  constexpr PageEvents() = default;
  constexpr PageEvents(std::initializer_list<PageEventKind> kinds) {
    for (auto const kind : kinds) kinds_ |= bit(kind);
  }
  constexpr bool has(PageEventKind kind) const { return (kinds_ & bit(kind)) != 0; }

 private:
  static constexpr std::uint32_t bit(PageEventKind kind) { return 1U << static_cast<unsigned>(kind); }

  std::uint32_t kinds_ = 0;
};

struct PageEvent {
  PageEventKind kind = PageEventKind::request;
  Access access = Access::read;
  // State of the page at its translation: unmapped, on another device, or in flight. With batches, the state
  // at the time of the decision.
  FaultKind cause = FaultKind::remote;
  bool has_copies = false;
  bool is_prefetch = false;    // fault: the page is prefetched by a batch
  DeviceId gpu = 0;            // requester
  DeviceId owner = 0;          // device of the page
  std::uint32_t accesses = 0;  // counted: accesses to the region
  std::uint64_t page = 0;
};

class PageDecision {
 public:
  using Interface = PageDecision;
  struct Setup {
    unsigned page_bits = 12;
    std::uint32_t spaces = 1;
    std::span<PageRange const> buffers = {};  // pages of each buffer of all applications
    // Events that this object decides, if the policy lists them. It needs no state for others.
    PageEvents events = {PageEventKind::request, PageEventKind::write_to_copies, PageEventKind::fault,
                         PageEventKind::counted};
  };
  struct Facts {
    Needed<bool> moves_pages;  // pages may migrate
    bool makes_copies = false;
    PageEvents events = {};
    // Its decisions depend on the number of requests for a page at an IOMMU. A GPU must not hold remote
    // mappings then (translation/fault_path.hpp), because they answer the next requests.
    bool counts_requests = false;
    // At a fault, it may decide that the page stays on its device.
    bool stays_at_faults = false;

    // It decides nothing at IOMMUs: the driver's object alone has statistics.
    bool decides_at_driver_only() const {
      return !events.has(PageEventKind::request) && !events.has(PageEventKind::write_to_copies);
    }
  };
  static PolicyList<PageDecision> known();

  virtual ~PageDecision() = default;
  virtual PageAction decide(PageEvent const& event) = 0;
  virtual void forget(std::uint64_t page) = 0;
};

extern template class PolicyChoice<PageDecision>;

}  // namespace farfault
