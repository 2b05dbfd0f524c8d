// SPDX-License-Identifier: Apache-2.0
// Eviction of units from GPUs whose memory is full, for the pages of their batches, and the record of the
// pages that each GPU holds.
//
// - Each GPU evicts for its own batch. Units of several GPUs may be evicted at the same time; numbers of
//   transitions for one unit are always in reserve.
// - Policies: eviction order (eviction_order.hpp) and schedule (eviction_schedule.hpp).
// - A unit is unmapped everywhere. The GPU's copy engine copies its pages, clean or dirty, to CPU memory,
//   where they are mapped. With `batch.clean_pages` = dropped, clean pages are mapped there without a copy.
//   Read-only copies are dropped without a transfer, and an evicted page that has copies passes to one of
//   them.
// - Once all faulted pages of the batch have a frame, units with pages of the batch are not evicted. A
//   prefetched page that then finds no free frame keeps its place.
// - Allocated pages are not registered, so they are not evicted.
// - A large page is evicted whole, to a large frame of CPU memory, and has one record (NVIDIA's open driver,
//   uvm_pmm_gpu.c: root chunks). Units are evicted until a large page of the batch finds a large frame.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "farfault/paging/driver_turn.hpp"
#include "farfault/paging/eviction_order.hpp"
#include "farfault/paging/eviction_schedule.hpp"
#include "farfault/paging/page_records.hpp"
#include "farfault/parts/ring.hpp"

namespace farfault {

class BatchWorker;

// An eviction unit of a GPU, from its selection until its last frame is free.
struct EvictedUnit {
  std::uint64_t unit = 0;
  std::uint64_t gpu = 0;
  std::uint32_t pages = 0;      // base pages that still hold a frame
  std::uint32_t unmapping = 0;  // pages that some TLB may still map
};

// Evictions of a GPU.
struct EvictionsOfGpu {
  Time first = Time::max();        // max: none
  Ring<std::uint32_t> unmapped;    // units that wait for their transfer
  std::uint64_t unmapping = 0;     // units being unmapped
  std::uint64_t out = 0;           // units being transferred
  std::uint64_t lacks_victim = 0;  // a page waits for a frame, and all pages on the GPU are in flight
  PageLifetimes lifetimes{};       // since the last report

  std::uint64_t units() const { return unmapping + unmapped.size() + out; }
  auto members() { return std::tie(first, unmapped, unmapping, out, lacks_victim, lifetimes); }
};

// Record of a page on one GPU, by its first base page.
struct PageResidency {
  Time arrived{};
  std::uint32_t evictions = 0;
  std::uint8_t dirty = 0;  // differs from the CPU memory's latest data
  std::uint8_t application = 0;
  std::uint8_t unused[2] = {};
};

struct EvictionCounts {
  std::uint64_t premature = 0;    // faulted pages that had been evicted before
  std::uint64_t lifetime_ps = 0;  // from arrival to eviction; sum over evictions
};

class EvictionClient {
 public:
  EvictionClient() = default;
  // With the pages placed at time zero.
  explicit EvictionClient(PagingDriverSpec const& spec);

  void used(PageUse const& m, DriverTurn& t);
  // A program has written the page on the device.
  void wrote(std::uint64_t page, DeviceId device, DriverTurn& t);
  // The page or a copy has arrived on its GPU; `was_there`: it had been there before its transition.
  void arrived(PageInFlight const& page, bool was_there, DriverTurn& t);
  // The page is not resident on the device any more.
  void left(std::uint64_t page, DeviceId device, DriverTurn& t);
  // A faulted page returns to the GPU: counted if it had been evicted from there.
  void returns(std::uint64_t page, std::uint64_t gpu);
  // Latest arrival of the page, or a copy, at a GPU other than `gpu` that has it; Time{}: none.
  Time latest_arrival(std::uint64_t page, std::uint64_t gpu, DriverTurn const& t) const;

  // Progress of evictions for a worker's batch. evict(): true if frames have become free immediately.
  // drop_prefetched(): a prefetched page for which no unit may be evicted keeps its place; true if there was
  // one.
  bool evict(BatchWorker const& worker, DriverTurn& t);
  bool drop_prefetched(BatchWorker& worker, DriverTurn& t);
  EvictionSchedule::Snapshot snapshot(BatchWorker const& worker, DriverTurn const& t) const;
  bool reads_in(BatchWorker const& worker, DriverTurn const& t) const {
    return schedule_->reads_in(snapshot(worker, t));
  }
  bool lacks_victim(std::uint64_t gpu) const { return of_gpu_[gpu].lacks_victim != 0; }
  void ready(PageInFlight const& page);
  void transfer_begins(PageInFlight const& page, DriverTurn& t);
  void ended(PageInFlight const& done, DriverTurn& t);
  std::uint64_t pages_of_unit() const { return std::uint64_t{1} << unit_size_.value; }
  std::uint64_t units(std::uint64_t gpu) const { return of_gpu_[gpu].units(); }
  std::uint64_t units_in_transfer(std::uint64_t gpu) const { return of_gpu_[gpu].out; }
  void report_lifetimes(std::uint64_t gpu, DriverTurn& t);

  PageResidency const* residency(std::uint64_t gpu, std::uint64_t page) const {
    return residency_[gpu].find(page);
  }
  StatSource const& order_statistics() const { return orders_; }
  EvictionCounts const& counts() const { return counts_; }

  auto members() {
    return std::tie(unit_size_, orders_, schedule_, residency_, of_gpu_, units_, free_units_, counts_);
  }

 private:
  std::uint64_t unit_of(std::uint64_t page) const {
    return first_of(page, static_cast<unsigned>(unit_size_.value));
  }
  // Returns the number of base pages in the unit whose eviction begins; 0: none may be evicted now.
  std::uint64_t begin_unit(BatchWorker const& worker, DriverTurn& t);
  std::optional<std::uint64_t> victim(BatchWorker const& worker, bool allow_in_flight, DriverTurn& t);
  bool is_local(std::uint64_t page, DeviceId device, DriverTurn const& t) const;
  // The frames that are free or about to be are too few for the pages of the batch, or no large frame is
  // among them.
  bool lacks_frames(BatchWorker const& worker, std::uint64_t about_to_be_free, DriverTurn const& t) const;
  bool is_starved(BatchWorker const& worker, DriverTurn const& t) const;
  // Pages of the unit that are in flight to other GPUs are on the GPU for now. They may be given back, so the
  // unit must remain evictable.
  bool keeps_pages(std::uint32_t index, DriverTurn const& t) const;
  bool send_units(BatchWorker const& worker, DriverTurn& t);
  bool send_page(std::uint64_t page, std::uint32_t index, DriverTurn& t);
  // CPU frames that an unmapped unit needs, in base pages.
  std::uint64_t pages_for_cpu(std::uint32_t index, DriverTurn const& t) const;

  Fixed<std::uint64_t> unit_size_{};   // log2 of its base pages
  PolicyArray<EvictionOrder> orders_;  // indexed by GPU
  Policy<EvictionSchedule> schedule_;
  std::vector<PageRecords<PageResidency>> residency_;  // indexed by GPU
  std::vector<EvictionsOfGpu> of_gpu_;
  std::vector<EvictedUnit> units_;  // indexed by number, of all GPUs
  std::vector<std::uint32_t> free_units_;
  EvictionCounts counts_;
};

}  // namespace farfault
