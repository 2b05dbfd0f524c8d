// SPDX-License-Identifier: Apache-2.0
// The conservative engine: runs a System's events in the documented order, on threads and ranks.
//
// Guarantees: the sequence of events that each component handles is a function of the System alone. It is
// independent of threads, ranks, partitions and the merging of partitions onto lanes.
// Synchronization: a lane may run every event earlier than
//   min over lanes j of (next event time of j + shortest link path from j to it; for itself, the shortest
//   cycle),
// where events in flight count as pending at their destination. Idle stretches are skipped. If rounds hold
// too few events to be worth sharing, one worker runs all local lanes as one queue, and retries later.
// Errors: UserError from the constructor (open ports, an inconsistent placement); handlers do not throw.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "farfault/engine/observer.hpp"
#include "farfault/engine/path_recorder.hpp"
#include "farfault/engine/system.hpp"
#include "farfault/engine/transport.hpp"

namespace farfault {

// The assignment of components to partitions and ranks. It cannot change a result.
struct Placement {
  std::vector<std::uint32_t> partition_of;  // by component; empty: all in partition 0
  std::uint32_t partitions = 1;
  std::vector<std::uint32_t> rank_of;  // by partition; empty: contiguous blocks
};

struct EngineOptions {
  std::uint32_t threads = 1;
  bool merge_lanes = true;  // partitions that share a thread may share a lane; off: one lane per partition
  bool run_sparse_merged = true;
  bool bind_threads = false;  // each to its own core, through hwloc, if built with it
  bool record_path = false;   // see path_recorder.hpp; needs one rank, runs on one lane
};

enum class RunState {
  reached,  // every event before the end was handled; later ones are pending
  drained,  // no event is pending on any rank
  stopped,  // request_stop()
};

// Activity of the engine on the host. Never part of a result.
struct EngineProfile {
  std::uint64_t events = 0;         // on this rank
  std::uint64_t rounds = 0;         // synchronizations of this rank's lanes
  std::uint64_t shared_rounds = 0;  // of these, run by several workers
  std::uint64_t longest_lanes = 0;  // events of the longest lane, summed over the rounds of several lanes
  std::uint64_t leader_polls =
      0;                        // lanes, mailboxes and pairs of lanes examined by the leader between rounds
  std::uint64_t exchanges = 0;  // with other ranks
  std::uint64_t summaries = 0;  // of these, with a summary of all ranks
  std::uint64_t messages_sent = 0;  // to other ranks, in exchanges
  std::uint64_t bytes_sent = 0;     // to other ranks
  std::uint64_t merges = 0;         // times that sparse lanes were merged into one
  double blocked_seconds = 0;       // waiting for other ranks
  std::vector<std::uint64_t> lane_events;
};

class Engine {
 public:
  Engine(System& system, Placement placement, EngineOptions options, Transport& transport);
  ~Engine();
  Engine(Engine const&) = delete;
  Engine& operator=(Engine const&) = delete;

  // Handles every event earlier than `end`, on all ranks. Collective.
  RunState run_until(Time end);

  // Async-signal-safe and thread-safe: run_until returns `stopped` on all ranks, at a point where every rank
  // has handled the events of the same prefix or can continue without them; run_until may be called again.
  void request_stop() { stop_.store(true, std::memory_order_relaxed); }

  bool is_local(ComponentId id) const;
  std::uint32_t rank_of(ComponentId id) const;
  // The time of the last event handled on any rank.
  Time last_event() const;
  // The time of the next pending event on any rank, as of the last return of run_until.
  Time next_event() const;
  // A hash of the states of all components on all ranks: equal for every placement. Collective.
  std::uint64_t state_digest();
  // The states of this rank's components and its pending events. Collective; call between two run_until.
  std::vector<std::byte> save();
  // Continues from the result of save(), on any number of ranks: every rank passes all parts. Throws
  // UserError if they do not fit this System; nothing can be run afterwards.
  void load(std::vector<std::vector<std::byte>> const& parts);

  // Appends this rank's components that have received events since the last call, each once, in no
  // particular order; the states of all others are unchanged. Cost: proportional to the listed components.
  void take_worked(std::vector<ComponentId>& ids);

  // Installs observers, by component; null: not observed. An empty vector removes all. Components on other
  // ranks are not observed. Call between two run_until, on any rank alone. The observers must outlive the
  // engine.
  void observe(std::vector<Observer*> observers);

  // Calls f after every `every`-th exchange with other ranks from now on, within run_until and on all ranks
  // alike. f may use profile() and the collective functions of the transport.
  void watch_exchanges(std::uint64_t every, std::function<void()> f);

  EngineProfile profile() const;
  // The critical path of the run so far; empty unless record_path is set.
  std::optional<PathProfile> critical_path() const;
  std::uint64_t pending_events() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::atomic<bool> stop_{false};
};

}  // namespace farfault
