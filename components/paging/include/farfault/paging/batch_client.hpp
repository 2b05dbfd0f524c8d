// SPDX-License-Identifier: Apache-2.0
// Batches of faults. Model: docs/model/batches.md.
//
// - A GPU's GMMU interrupts the driver at the first entry of its fault buffer. An idle worker of the driver
//   starts `batch.interrupt_time` later and reads up to `batch.faults` entries (batch_worker.hpp).
// - `batch.workers` batches are served side by side, each by one worker. GPUs get the lowest-numbered idle
//   worker in order of their interrupts. A GPU has one worker at a time, and a VA block, too
//   (block_locks.hpp). A page in flight for another worker is waited for, and a page that a batch of
//   another GPU has brought, until accesses to it are replayed (replay_stays.hpp).
// - After a batch, the buffers of GPUs that have interrupted are read, then this GPU's again; this GPU's
//   first if its accesses are replayed when its buffer is empty. A buffer that is found empty interrupts at
//   its next entry.
// - Deadlock: each worker waits for a frame, and all pages on its GPU are in flight to the others' GPUs. Then
//   the worker of the highest-numbered of these GPUs gives such pages back (batch_deadlocks.cpp).
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "farfault/paging/batch_worker.hpp"
#include "farfault/paging/page_records.hpp"
#include "farfault/paging/prefetcher.hpp"
#include "farfault/paging/replay_stays.hpp"
#include "farfault/paging/thrashing.hpp"
#include "farfault/parts/ring.hpp"

namespace farfault {

// State of a GPU between its batches.
struct BatchesOfGpu {
  PageRecords<std::uint64_t> served_blocks;  // by block's first page: 1 if a page has arrived
  ReplayStays stays;  // only if several batches are served side by side and a replay ends them
  std::uint64_t replay_pending = 0;
  std::uint64_t worker = 0;  // that reads its buffer or serves its batch
  auto members() { return std::tie(served_blocks, stays, replay_pending, worker); }
};

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
  // All workers start as many migrations and evictions as possible, in order of their numbers.
  void serve(DriverTurn& t);

  // The worker of a GPU whose batch is served.
  BatchWorker& worker_of(std::uint64_t gpu) { return workers_[of_gpu_[gpu].worker]; }
  BatchWorker const& worker_of(std::uint64_t gpu) const { return workers_[of_gpu_[gpu].worker]; }
  BatchWorker& worker_of(PageInFlight const& page, PagingDriverSpec const& spec) {
    return worker_of(spec.devices.number_of(page.request.gpu));
  }
  std::vector<BatchWorker> const& workers() const { return workers_; }
  BatchesOfGpu& of_gpu(std::uint64_t gpu) { return of_gpu_[gpu]; }
  ThrashingPages& thrashing() { return thrashing_; }
  ThrashingPages const& thrashing() const { return thrashing_; }
  // End of the stays of the page on the other GPUs that have it. max: one of them has accesses to it to
  // replay, and its worker does not wait for this one (batch_deadlocks.cpp).
  Time stays_until(BatchWorker const& worker, std::uint64_t page, DriverTurn const& t) const;
  Prefetcher& prefetcher() { return *prefetch_; }

  bool is_serving() const { return serving() != 0; }
  // Time of the current batches so far.
  Duration time_until(Time at) const;
  // For the deadlock report; empty if all workers are idle.
  std::string waiting_for(PagingDriverSpec const& spec, PagingDriverState const& s) const;

  auto members() { return std::tie(interrupts_, prefetch_, workers_, of_gpu_, thrashing_, done_); }

 private:
  std::size_t serving() const;
  // Gives GPUs that have interrupted to idle workers, which read their buffers `after` this time.
  void assign(Duration after, DriverTurn& t);
  void begin(BatchWorker& worker, DriverTurn& t);
  void end(BatchWorker& worker, DriverTurn& t);
  // Records the work of a batch that ends, as far as the plan of a batch whose buffer is being read may
  // overlap it.
  void record_work(BatchWorker const& ended, DriverTurn const& t);
  // The GPU's worker waits for a replay of the other worker's GPU, directly or through workers of
  // higher-numbered GPUs than this.
  bool waits_for(std::uint64_t gpu, BatchWorker const& other, DriverTurn const& t) const;
  bool has_to_replay(std::uint64_t gpu, std::uint64_t page, DriverTurn const& t) const;
  // Workers that wait for a frame, while all pages on their GPUs are in flight.
  std::vector<BatchWorker*> stuck(DriverTurn const& t);
  // True: such a worker goes on, or one has given pages back.
  bool end_deadlock(DriverTurn& t);

  Ring<std::uint32_t> interrupts_;  // GPUs whose buffers are to be read, by the driver's own numbers
  Policy<Prefetcher> prefetch_;
  std::vector<BatchWorker> workers_;
  std::vector<BatchesOfGpu> of_gpu_;
  ThrashingPages thrashing_;         // only if several batches are served side by side and a replay ends them
  std::vector<IncomingBlock> done_;  // in order of the ends of their batches
};

}  // namespace farfault
