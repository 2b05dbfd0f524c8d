// SPDX-License-Identifier: Apache-2.0
// Batches of faults.
//
// - A GPU's GMMU interrupts the driver at the first entry of its fault buffer. An idle driver starts
//   `batch.interrupt_time` later, reads up to `batch.faults` entries, merges entries of one page, and
//   processes the faulted 2 MiB VA blocks in address order.
// - Driver time: `batch.time` before the first block; per block `block_time`, `page_time` per faulted page
//   and `prefetched_page_time` per prefetched page, plus `first_touch_time` in the first batch of the block
//   on this GPU.
// - After a block is processed, its pages migrate in order. A page is admitted (page_transition.hpp) when no
//   IOMMU and no GPU maps it and there is a frame on the GPU. Copies overlap at the copy engine. A page
//   without contents arrives immediately. Prefetched pages arrive as read-only copies, if these exist.
// - The batch ends when all its pages are mapped and all evictions are complete. The buffers of GPUs that
//   have interrupted are read next, then this GPU's again; this GPU's first if its accesses are replayed when
//   its buffer is empty. A buffer that is found empty interrupts at its next entry.
// - Faults on pages that have become resident are duplicates.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "farfault/paging/driver_turn.hpp"
#include "farfault/paging/fault_batch.hpp"
#include "farfault/paging/fault_replay.hpp"
#include "farfault/paging/incoming_pages.hpp"
#include "farfault/paging/page_records.hpp"
#include "farfault/paging/prefetcher.hpp"
#include "farfault/parts/ring.hpp"

namespace farfault {

// interrupted: an interrupt has arrived and the bottom half will run; reading: fault-buffer entries are in
// transit; serving: pages migrate.
enum class BatchPhase : std::uint64_t { idle, interrupted, reading, serving };

class BatchClient {
 public:
  BatchClient() = default;
  explicit BatchClient(PagingDriverSpec const& spec);

  // Messages of a GPU: an interrupt, and the answers to the read of its buffer.
  void interrupted(FaultInterrupt const& m, DriverTurn& t);
  void entry_arrived(FaultEntry const& m, DriverTurn& t);
  void drained(FaultsDrained const& m, DriverTurn& t);
  // The driver's work is done.
  void worked(DriverTurn& t);
  // Starts as many migrations and evictions as possible.
  void serve(DriverTurn& t);

  // Transitions of its pages.
  void ready(PageInFlight const& page) { pages_[page.tag].stage = IncomingPage::Stage::ready; }
  void transfer_begins(DriverTurn& t);
  void changed(PageInFlight const& page, DriverTurn& t);
  void ended(PageInFlight const& done, DriverTurn& t);

  // For evictions. keep_next(): the next page keeps its place.
  std::uint64_t gpu() const { return gpu_; }
  DeviceId device(PagingDriverSpec const& spec) const {
    return spec.devices.gpu(static_cast<std::uint32_t>(gpu_));
  }
  BatchRecord& record() { return record_; }
  BatchRecord const& record() const { return record_; }
  IncomingPages const& incoming() const { return pages_; }
  bool next_needs_frame(Time now) const;
  void keep_next(DriverTurn& t);

  // Time of the current batch so far.
  bool is_serving() const { return phase_ == BatchPhase::serving; }
  Duration time_until(Time at) const { return is_serving() ? at - record_.began : Duration{}; }
  // For the deadlock report; empty if idle.
  std::string waiting_for(PagingDriverSpec const& spec, PagingDriverState const& s) const;

  auto members() {
    return std::tie(phase_, interrupts_, gpu_, expected_, faults_, worked_, timer_, pages_, prefetch_,
                    served_blocks_, replay_pending_, record_);
  }

 private:
  static constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();

  void order(FaultOrder const& m, DriverTurn& t) const;
  void order_replay(FaultReplay::Point point, DriverTurn& t);
  void next(DriverTurn& t);
  void read_buffer(std::uint64_t gpu, DriverTurn& t);
  void begin(DriverTurn& t);
  void end(DriverTurn& t);
  // Plans the pages of a block that migrate, and the end of the driver's work on it.
  void plan_block(std::span<FaultBatch::Entry const> faults, DriverTurn& t);
  // The batch can bring the page to its GPU: a page that is elsewhere and may migrate, or an unmapped
  // page that may be mapped.
  bool may_bring(std::uint64_t page, Access access, DriverTurn const& t) const;
  // The same for a page without a fault: it must be in CPU memory or in a buffer.
  bool may_prefetch(std::uint64_t page, DriverTurn const& t) const;
  // Assigns numbers to the next pages and unmaps them. Numbers for one eviction unit stay in reserve.
  void begin_pages(DriverTurn& t);
  Duration remaining_residency(std::uint64_t page, PhysAddr frame, DriverTurn const& t) const;
  // True if a page has received a frame or needs none.
  bool admit_pages(DriverTurn& t);
  void page_mapped(IncomingPage& page, DriverTurn& t);
  PageFault fault_of(IncomingPage const& page, DriverTurn const& t) const;

  BatchPhase phase_ = BatchPhase::idle;
  Ring<std::uint32_t> interrupts_;     // GPUs whose buffers are to be read, by the driver's own numbers
  std::uint64_t gpu_ = 0;              // GPU whose buffer is read or whose batch is served
  std::uint64_t expected_ = kUnknown;  // entries to expect from its buffer
  FaultBatch faults_;
  Time worked_{};  // end of the driver's work; interrupted: start of the bottom half
  Time timer_ = Time::max();
  IncomingPages pages_;
  Policy<Prefetcher> prefetch_;
  std::vector<PageRecords<std::uint64_t>>
      served_blocks_;                          // by GPU and block's first page: 1 if a page has arrived
  std::vector<std::uint64_t> replay_pending_;  // by GPU
  BatchRecord record_;
};

}  // namespace farfault
