// SPDX-License-Identifier: Apache-2.0
// Operations of programs (operation.hpp), page by page: copies, allocations, frees.
//
// - Concurrent streams alternate page by page.
// - Copy: the copy engine of the GPU that holds a page copies it from or to the CPU frame with the host's
//   contents. Skipped: pages in CPU memory, and unmapped pages.
// - Allocate: a frame on the planned device, or as at a first touch if its memory is full. Skipped: pages
//   that are mapped or not planned. If all memory is full, the operation waits for a free.
// - Free: skipped are unmapped pages.
// - The driver spends `allocation_latency` per page that is allocated or freed.
// - A fault on a page that is planned and not allocated is answered without a frame. Either no access waits
//   for it (an IOMMU look-up that the GMMU has overtaken), or the program accesses unallocated memory and
//   never completes.
// - Allocated pages are not evicted.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "farfault/paging/driver_turn.hpp"

namespace farfault {

// Addresses from `next` on have not been started.
struct ProgramOrder {
  VirtAddr next = 0;
  VirtAddr end = 0;             // 0: no operation
  std::uint32_t in_flight = 0;  // pages in flight
  OperationKind kind = OperationKind::kernel;
  std::uint8_t unused[3] = {};
};

class ProgramClient {
 public:
  ProgramClient() = default;
  explicit ProgramClient(PagingDriverSpec const& spec)
      : orders_(spec.host_pages != nullptr ? spec.application_of_stream.size() : 0) {}

  void begin_order(MemoryOrder const& m, DriverTurn& t);
  // Starts as many pages as possible.
  void start_pages(DriverTurn& t);
  void ended(PageInFlight const& done) { --orders_[done.tag].in_flight; }

  std::uint64_t operations() const;
  bool allocates() const;

  auto members() { return std::tie(orders_, turn_); }

 private:
  enum class Start : std::uint8_t { started, skipped, stalled };
  // Starts one page of a stream; false if none is left or it must wait.
  bool start_next(std::uint32_t stream, DriverTurn& t);
  Start copy(std::uint64_t page, std::uint32_t stream, DriverTurn& t);
  Start allocate(std::uint64_t page, std::uint32_t stream, DriverTurn& t);
  Start free(std::uint64_t page, std::uint32_t stream, DriverTurn& t);
  // A page of the stream's operation.
  PageInFlight page_of(std::uint32_t stream, std::uint64_t page, unsigned size, Transition transition,
                       DriverTurn& t);

  std::vector<ProgramOrder> orders_;  // by stream
  std::uint64_t turn_ = 0;            // stream that starts the next page
};

}  // namespace farfault
