// SPDX-License-Identifier: Apache-2.0
// The conservative engine: runs a System's events in the documented order, on threads and ranks.
//
// Guarantees: the sequence of events that each component handles is a function of the System alone; threads,
// ranks, partitions and the merging of partitions onto lanes do not show. Synchronization: a lane may run
// every event earlier than
//   min over lanes j of (next event time of j + shortest link path from j to it; for itself, the shortest
//   cycle),
// events in flight counted as pending where they arrive; idle stretches are jumped. When rounds hold too few
// events to be worth sharing, one worker runs all local lanes as one queue, and tries again later. Errors:
// UserError from the constructor (open ports, a placement that does not fit); handlers do not throw.
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

// Where components run. It cannot change a result.
struct Placement {
  std::vector<std::uint32_t> partition_of;  // by component; empty: all in partition 0
  std::uint32_t partitions = 1;
  std::vector<std::uint32_t> rank_of;  // by partition; empty: contiguous blocks
};

struct EngineOptions {
  std::uint32_t threads = 1;
  bool merge_lanes = true;  // partitions that share a thread may share a lane; off: a lane for each partition
  bool run_sparse_merged = true;
  bool bind_threads = false;  // each to a core of its own, by hwloc, where it is built in
  bool record_path = false;   // see path_recorder.hpp; needs one rank, runs on one lane
};

enum class RunState {
  reached,  // every event before the end was handled, later ones are pending
  drained,  // no event is left anywhere
  stopped,  // request_stop()
};

// What the engine did, in host terms. Never part of a result.
struct EngineProfile {
  std::uint64_t events = 0;         // on this rank
  std::uint64_t rounds = 0;         // synchronizations of this rank's lanes
  std::uint64_t shared_rounds = 0;  // of these, run by several workers
  std::uint64_t longest_lanes = 0;  // events of the lane with most, summed over the rounds of several lanes
  std::uint64_t leader_looks =
      0;                        // at lanes, mailboxes and pairs of lanes, between those rounds, by one thread
  std::uint64_t exchanges = 0;  // with other ranks
  std::uint64_t summaries = 0;  // of these, that asked for the summary of all ranks
  std::uint64_t messages_sent = 0;  // to other ranks, in exchanges
  std::uint64_t bytes_sent = 0;     // to other ranks
  std::uint64_t merges = 0;         // times that sparse lanes were run as one
  double blocked_seconds = 0;       // waiting for other ranks
  std::vector<std::uint64_t> lane_events;
};

class Engine {
 public:
  Engine(System& system, Placement placement, EngineOptions options, Transport& transport);
  ~Engine();
  Engine(Engine const&) = delete;
  Engine& operator=(Engine const&) = delete;

  // Handles every event earlier than `end`, on all ranks; all ranks call it alike.
  RunState run_until(Time end);

  // Async-signal-safe and thread-safe: run_until returns `stopped` on all ranks, at a moment when every rank
  // has handled the events of the same prefix or can go on without them; run_until may be called again.
  void request_stop() { stop_.store(true, std::memory_order_relaxed); }

  bool is_local(ComponentId id) const;
  std::uint32_t rank_of(ComponentId id) const;
  // The time of the last event handled on any rank.
  Time last_event() const;
  // The time of the next pending event on any rank, as of the last return of run_until.
  Time next_event() const;
  // A hash of the states of all components on all ranks: equal for every placement. All ranks call it alike.
  std::uint64_t state_digest();
  // The states of this rank's components and its pending events. Call it between two run_until, on all ranks.
  std::vector<std::byte> save();
  // Continues from what save() returned, on whatever ranks: every rank is given all parts. Throws UserError
  // when they do not fit this System; nothing can be run afterwards.
  void load(std::vector<std::vector<std::byte>> const& parts);

  // Appends this rank's components that have received events since the last call, each once, in no
  // particular order: the state of all others is what it was. Cost: theirs alone.
  void take_worked(std::vector<ComponentId>& ids);

  // From here on these look on, by component, null for nobody; none: no one does. Of components on other
  // ranks they are not called. Between two run_until; a rank may do so by itself. The observers outlive it.
  void observe(std::vector<Observer*> observers);

  // From here on calls f after every `every`-th exchange with other ranks, within run_until and on all ranks
  // alike. f may use profile() and the collective functions of the transport.
  void watch_exchanges(std::uint64_t every, std::function<void()> f);

  EngineProfile profile() const;
  // Of what has run so far; nothing unless it was asked for.
  std::optional<PathProfile> critical_path() const;
  std::uint64_t pending_events() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::atomic<bool> stop_{false};
};

}  // namespace farfault
