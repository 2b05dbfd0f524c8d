// SPDX-License-Identifier: Apache-2.0
// Attributes of requests and responses: access, purpose, requester, and source of a response.
#pragma once

#include <cstdint>

namespace farfault {

enum class Access : std::uint8_t { read, write };

// Purpose of a memory request.
// - data: access of a warp. copy: access of a copy engine. write_back: dirty line of a cache.
// - context: save or restore of a thread block. table_write: write of page-table entries.
// - walk: a page walk's read of an entry of the root. walk_read(n): n levels below the root.
enum class RequestKind : std::uint8_t { data, copy, write_back, context, table_write, walk };

constexpr RequestKind walk_read(unsigned levels_below_root) {
  return static_cast<RequestKind>(static_cast<unsigned>(RequestKind::walk) + levels_below_root);
}
constexpr bool is_walk(RequestKind k) {
  return k >= RequestKind::walk;
}

// Address space, application and kind that a request belongs to. A request carries them as far as the DRAM
// queue. Requests merged in a cache carry the first one's.
struct Requester {
  std::uint8_t space = 0;  // address space
  std::uint8_t application = 0;
  RequestKind kind = RequestKind::data;
  friend bool operator==(Requester const&, Requester const&) = default;
};
// A write-back has no requester that waits for it.
inline constexpr Requester kWriteBack{0, 0, RequestKind::write_back};

// Source of a response, for the requester's statistics: shared devices need not know kernels.
enum class FoundBy : std::uint8_t {
  // A memory access (read or write).
  memory,  // missed the L2 cache of its device
  cache,   // hit it

  // A translation. A TLB passes the source of a fill on to all merged misses.
  l2_tlb,
  gmmu,   // the GPU's own page table
  iommu,  // the IOMMU
  fault,  // the page was mapped by a fault while the request waited at the IOMMU

  // A fault response, without a translation. The requester stalls the access until the page is replayed, then
  // requests the translation again.
  nothing,

  // Sent without a request to each GPU that received `nothing`: the access is issued again. It has the page's
  // current frame or none, stays behind all earlier messages about the page and is not cached in TLBs. With
  // batches of faults, one replay may cover all pages (kEveryPage): all stalled accesses are issued again.
  replay,

  // The replay of a page that was to migrate, after the driver has decided its final device. Its frame is
  // used directly and fills the TLBs: if it were requested again, the page could move each time before the
  // access is made. A later invalidation finds it.
  settled,

  // As `nothing`, but the fault has no record: the requesting GPU records it and sends it to the driver.
  unrecorded,
};
inline constexpr std::uint64_t kEveryPage = ~std::uint64_t{0};
constexpr bool is_replay(FoundBy f) {
  return f == FoundBy::replay || f == FoundBy::settled;
}

}  // namespace farfault
