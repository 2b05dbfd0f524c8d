// SPDX-License-Identifier: Apache-2.0
// Translations: requests and responses between TLBs, GMMU and IOMMU, replays, and invalidations.
#pragma once

#include <array>
#include <cstdint>

#include "farfault/engine/event.hpp"
#include "farfault/protocols/messages/wire.hpp"
#include "farfault/protocols/stages.hpp"

namespace farfault {

struct TranslateRequest {
  std::uint64_t page = 0;        // virtual page number
  std::uint32_t from = 0;        // number of the sender among the requesters of the receiver
  std::uint8_t application = 0;  // requester; merged requests carry the first one's
  Access access = Access::read;  // likewise
  std::uint8_t warp = 0;         // likewise: the warp's slot, in an SM's request
  std::uint8_t stalled = 0;      // stalled warps, in an SM's request: see WalkPressure
  std::uint16_t gpu = 0;         // to the IOMMU: the requesting GPU
  std::uint16_t client = 0;      // within a GPU: the SM or scalar cache, of the first one if merged
  std::uint8_t unused[4] = {};
};
template <>
struct Wire<TranslateRequest> : HeaderTo<Channel::request, Endpoint::iommu> {};

// Content of a page table for a page: the frame and the size of the page that contains it.
struct PageTranslation {
  PhysAddr frame = kNoFrame;
  std::uint8_t size = 0;

  friend bool operator==(PageTranslation const&, PageTranslation const&) = default;
  bool allows(Access access) const { return access == Access::read || !is_read_only(frame); }
  // Translation of base page `page` within this page.
  PageTranslation base_page(std::uint64_t page, unsigned page_bits) const {
    return {frame + ((page & ((std::uint64_t{1} << size) - 1)) << page_bits), 0};
  }
  // Physical address of a virtual address within the page.
  PhysAddr physical_of(VirtAddr address, unsigned page_bits) const {
    return (frame & ~kReadOnly) | (address & ((std::uint64_t{1} << (page_bits + size)) - 1));
  }
};

// Within a GPU.
struct TranslateResponse {
  std::uint64_t page = 0;
  PhysAddr frame = 0;
  FoundBy found_by = FoundBy::gmmu;
  std::uint8_t size = 0;
  std::uint8_t unused[6] = {};
  TranslationStages stages{};

  PageTranslation translation() const { return {frame, size}; }
};

// From a bank of TLBs in several partitions to its balancer: the requests since the last report, or the wish
// for a report of all banks.
struct TlbCounts {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t far = 0;  // of other partitions
  std::uint32_t bank = 0;
  std::uint32_t asks = 0;  // only a wish
};
// From the balancer to SMs and read-only caches: which distribution of pages over the banks they use.
struct TlbDistribution {
  std::uint64_t number = 0;
};

// Reason for the fault: no table maps the page (not_mapped); the page is on another device, or has copies,
// and the GPU may not access it there (remote); it is being migrated (moving). In a driver's response,
// `copied`: the GPU has a copy of the page, which no other GPU uses.
enum class FaultKind : std::uint8_t { not_mapped, remote, moving, copied };

// Packets with the payload of a translation response, from an IOMMU to a GMMU.
struct WireToGmmu : WireTo<Channel::response, Endpoint::gmmu> {
  template <class M>
  static std::uint32_t payload(M const& /*m*/, WireSizes const& sizes) {
    return sizes.translation_bytes;
  }
};

// From the IOMMU to a GMMU. `tag`: TranslateRequest::from.
struct IommuResponse {
  std::uint64_t page = 0;
  PhysAddr frame = kNoFrame;
  std::uint32_t tag = 0;
  FoundBy found_by = FoundBy::iommu;
  std::uint8_t size = 0;
  FaultKind kind = FaultKind::not_mapped;  // of an unrecorded fault
  std::uint8_t unused = 0;

  PageTranslation translation() const { return {frame, size}; }
};
template <>
struct Wire<IommuResponse> : WireToGmmu {};

// Entry of a fault that no fault buffer holds, as in batches.
inline constexpr std::uint32_t kNoRecord = ~0U;

// Replay of a page (FoundBy::replay or settled), from the IOMMU to a GMMU. It frees the GMMU's fault-buffer
// entry `entry`, if the GMMU has recorded the fault; without a frame it then reports that the page is
// unmapped. once: the stalled accesses use the frame, and the GPU's table is not written, because nothing was
// decided about a page elsewhere: the next walk faults.
struct Replay {
  std::uint64_t page = 0;
  PhysAddr frame = kNoFrame;
  std::uint32_t entry = kNoRecord;
  std::uint8_t size = 0;
  FoundBy found_by = FoundBy::replay;
  std::uint8_t once = 0;
  std::uint8_t unused[1] = {};
};
template <>
struct Wire<Replay> : WireToGmmu {};

// Steps of a page that migrates (unmap, flush, remap), is freed (forget, flush) or allocated (map), of a
// GPU's copy of it (map_copy, drop), which only that GPU knows, or of a GPU's mapping of a page elsewhere
// (map_remote).
enum class MoveStep : std::uint8_t { unmap, flush, remap, forget, map, map_copy, drop, map_remote };

// unmap: translations to the page's frame become invalid. flush: once all are, the L2 slices of the GPU that
// holds the page write back and drop its lines. map: the GPU maps the page to this frame. remap: the same,
// without an acknowledgement. `move` is the page's number among the driver's moves.
struct Invalidate {
  std::uint64_t page = 0;
  PhysAddr frame = 0;
  std::uint32_t move = 0;
  MoveStep step = MoveStep::unmap;
  std::uint8_t size = 0;
  std::uint8_t all = 0;  // within a GPU: invalidate whole TLBs, not only this page
  std::uint8_t unused[1] = {};
};
template <>
struct Wire<Invalidate> : WireToGmmu {};

// Acknowledges a step: no translation to the frame and no access that used one is left (unmap); no line of it
// is cached (flush); the page is mapped (map). remap has none.
struct Invalidated {
  std::uint32_t move;
};
template <>
struct Wire<Invalidated> : HeaderTo<Channel::response, Endpoint::iommu> {};

using TranslationPackets = MessageList<TranslateRequest, IommuResponse, Replay, Invalidate, Invalidated>;

// Pressure of page walks on the applications of a GPU: sent periodically by its L2 TLB to each of its DRAM
// channels, if the DRAM scheduler uses it (memory/dram_scheduler.hpp). The value of application first + i is
// the maximum number of outstanding L2 TLB misses times the maximum number of warps of one SM that waited for
// one translation. Each factor saturates at 63: six-bit counters. Each request of an SM carries the maximum
// since the SM's previous request of that application.
struct WalkPressure {
  static constexpr std::uint32_t kApplications = 16;
  static constexpr std::uint8_t kMax = 63;
  std::uint32_t first = 0;
  std::array<std::uint16_t, kApplications> of{};
};

static_assert(Message<TranslateResponse> && Message<WalkPressure>);

}  // namespace farfault
