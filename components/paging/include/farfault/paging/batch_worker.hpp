// SPDX-License-Identifier: Apache-2.0
// One worker of the driver: it serves one batch of faults at a time, of one GPU (batch_client.hpp).
//
// - Planning, when all entries have arrived: entries of one page are merged, the prefetcher adds pages, and
//   the faulted 2 MiB VA blocks are processed in address order. Faults on resident pages are duplicates. A
//   large page is brought whole, and counts as one page.
// - Driver time: `batch.time` before the first block; per block `block_time`, `page_time` per faulted page
//   and `prefetched_page_time` per prefetched page, plus `first_touch_time` in the first batch of the block
//   on this GPU.
// - After a block is processed, its pages migrate in order. A page is admitted (page_transition.hpp) when no
//   IOMMU and no GPU maps it and there is a frame on the GPU. Copies overlap at the copy engine. A page
//   without contents arrives immediately. Prefetched pages arrive as read-only copies, if these exist.
// - A faulted page that stays on its device is mapped remotely, if walks end in the GPUs (fault_path.hpp).
// - Units of a full GPU are evicted meanwhile (eviction_client.hpp). The batch ends when all its pages are
//   mapped and all evictions are complete.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <tuple>

#include "farfault/paging/batches.hpp"
#include "farfault/paging/driver_turn.hpp"
#include "farfault/paging/fault_batch.hpp"
#include "farfault/paging/fault_replay.hpp"
#include "farfault/paging/incoming_pages.hpp"

namespace farfault {

// interrupted: an interrupt has arrived and the bottom half will run; reading: fault-buffer entries are in
// transit; serving: pages migrate.
enum class BatchPhase : std::uint64_t { idle, interrupted, reading, serving };

class BatchWorker {
 public:
  bool is_idle() const { return phase_ == BatchPhase::idle; }
  bool is_reading() const { return phase_ == BatchPhase::reading; }
  bool is_serving() const { return phase_ == BatchPhase::serving; }
  // GPU whose buffer is read or whose batch is served, by the driver's own number.
  std::uint64_t gpu() const { return gpu_; }
  DeviceId device(PagingDriverSpec const& spec) const {
    return spec.devices.gpu(static_cast<std::uint32_t>(gpu_));
  }

  // Reads the buffer of the GPU `after` this time; an interrupt's bottom half starts late.
  void take(std::uint64_t gpu, Duration after, DriverTurn& t);
  // True: the time has passed, and the buffer is being read.
  bool read_when_due(DriverTurn& t);
  void read_buffer(DriverTurn& t);
  // Answers to the read.
  void add(FaultBatch::Entry const& entry) { faults_.add(entry); }
  void expect(std::uint64_t entries) { expected_ = entries; }
  bool has_all_entries() const { return faults_.entries() == expected_; }
  std::uint64_t entries() const { return faults_.entries(); }

  // Plans the batch. block_locks.hpp then gives the times of the work on its blocks.
  void begin(DriverTurn& t);
  // Starts as many migrations and evictions as possible. True: other workers may go on.
  bool serve(DriverTurn& t);
  bool is_complete(DriverTurn const& t) const;
  // Wakes the driver when the work on the next page is done.
  void wake_for_work(DriverTurn& t);
  void end(DriverTurn& t);
  void release() { phase_ = BatchPhase::idle; }
  void order_replay(FaultReplay::Point point, DriverTurn& t);

  // Transitions of its pages.
  void ready(PageInFlight const& page) { pages_[page.tag].stage = IncomingPage::Stage::ready; }
  void transfer_begins(PageInFlight const& page, DriverTurn& t);
  void changed(PageInFlight const& page, DriverTurn& t);
  void ended(PageInFlight const& done, DriverTurn& t);

  // Answers the fault; of a large page, the fault on each of its base pages that has an entry.
  void answer(PageFault const& fault, unsigned size, DriverTurn& t) const;

  // The driver's work: its begin, the work on each block of `incoming()`, its end.
  Time work_begins() const { return work_begins_; }
  Time work_ends() const { return pages_.blocks().empty() ? work_begins_ : pages_.blocks().back().worked; }
  IncomingPages& incoming() { return pages_; }
  IncomingPages const& incoming() const { return pages_; }
  BatchRecord& record() { return record_; }
  BatchRecord const& record() const { return record_; }

  // For evictions. keep_next(): the next page keeps its place. lacks_frame(): the next page, which is ready,
  // finds no free frame of its size. needed_frames(): of all pages that have none, in base pages; of the
  // begun ones if the driver decides then whether a page stays.
  bool lacks_frame(DriverTurn const& t) const;
  std::uint64_t needed_frames(DriverTurn const& t) const;
  void keep_next(DriverTurn& t);
  // Pages that need no frame are admitted before a page that waits for one. False: there is none.
  bool admit_local(DriverTurn& t);
  // Pages that wait for a frame and are on one of the devices keep their places. Their accesses fault again,
  // or use them where they are. False: there is none.
  bool give_back(std::span<DeviceId const> devices, DriverTurn& t);

  // Time of the current batch so far.
  Duration time_until(Time at) const { return is_serving() ? at - record_.began : Duration{}; }
  // For the deadlock report; empty if idle.
  std::string waiting_for(PagingDriverSpec const& spec, PagingDriverState const& s) const;

  auto members() { return std::tie(phase_, gpu_, expected_, faults_, work_begins_, timer_, pages_, record_); }

 private:
  static constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();

  void order(FaultOrder const& m, DriverTurn& t) const;
  // Size of the page that contains the base page, as it is or will be mapped.
  static unsigned size_of(std::uint64_t page, DriverTurn const& t);
  // Adds all base pages of the large pages of a block that have one of their base pages in the set.
  static void make_whole(BlockPages& pages, std::uint64_t first, DriverTurn const& t);
  // Plans the pages of a block that migrate, and the driver's work on it.
  void plan_block(std::span<FaultBatch::Entry const> faults, DriverTurn& t);
  // The batch can bring the page to its GPU: a page that is elsewhere and may migrate or be mapped remotely,
  // or an unmapped page that may be mapped.
  bool may_bring(std::uint64_t page, Access access, DriverTurn const& t) const;
  // The same for a page without a fault: it must be in CPU memory or in a buffer.
  bool may_prefetch(std::uint64_t page, DriverTurn const& t) const;
  // Assigns numbers to the next pages and unmaps them. Numbers for one eviction unit stay in reserve. True:
  // the next page now waits for a replay of another GPU, or a page that was left out may have ended a block.
  bool begin_pages(DriverTurn& t);
  PageAction decide(IncomingPage const& page, std::optional<PageTranslation> const& home,
                    DriverTurn& t) const;
  // A program or another worker was faster, or the page is accessed where it is.
  bool is_skipped(IncomingPage const& page, std::optional<PageTranslation> const& home, PageAction action,
                  DriverTurn const& t) const;
  // The page thrashes: it stays on another GPU until its time there ends.
  bool is_throttled(std::uint64_t page, DriverTurn const& t) const;
  // End of the page's minimum time on other GPUs.
  Time stays_until(std::uint64_t page, DriverTurn const& t) const;
  // True if a page has received a frame or needs none.
  bool admit_pages(DriverTurn& t);
  void admit(IncomingPage& page, DriverTurn& t);
  void page_mapped(IncomingPage& page, DriverTurn& t);
  void keep(IncomingPage& page, DriverTurn& t);
  PageFault fault_of(IncomingPage const& page, DriverTurn const& t) const;

  BatchPhase phase_ = BatchPhase::idle;
  std::uint64_t gpu_ = 0;
  std::uint64_t expected_ = kUnknown;  // entries to expect from its buffer
  FaultBatch faults_;
  Time work_begins_{};  // on the first block; interrupted: start of the bottom half
  Time timer_ = Time::max();
  IncomingPages pages_;
  BatchRecord record_;
};

}  // namespace farfault
