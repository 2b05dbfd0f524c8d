// SPDX-License-Identifier: Apache-2.0
// The critical path of a run: the longest dependent chain of events, for any number of cores.
//
// Events form a graph: an event depends on the event that sent it and on the one before it in the same
// partition (which runs its events in order). The critical path is the longest chain of costs through that
// graph; total cost over its length bounds the speed-up of any schedule. For P cores, a greedy schedule, in
// which no core is idle while an event could run, gives the speed-up on P cores if synchronization cost
// nothing: by Graham's bound at most events / P + (1 - 1/P) * path steps, and less than twice the best
// schedule.
// Units: events, which makes costs a function of the model, and host nanoseconds of the handlers (a time
// above kInterrupted is attributed to an interruption and counts as kInterrupted). Limits: needs the whole
// model on one lane; slows a run several times; never changes a result. Memory: about 2 bytes per number of
// cores and step that the pending events could still fill.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "farfault/engine/event.hpp"

namespace farfault {

struct PathProfile {
  static constexpr std::array<std::uint32_t, 12> kCores = {2,   4,   8,   16,   32,   64,
                                                           128, 256, 512, 1024, 2048, 4096};

  std::uint64_t events = 0;
  std::uint64_t path = 0;            // events of the longest chain, with each partition's events in order
  std::uint64_t component_path = 0;  // the same if every component were a partition
  double host_ns = 0;                // cost of all events
  double host_path_ns = 0;           // the most costly chain
  std::array<std::uint64_t, 12> list_schedule{};  // steps until the last event is done, for kCores
  std::uint32_t busiest_partition = 0;
  std::uint64_t busiest = 0;  // its events
};

class PathRecorder {
 public:
  static constexpr double kInterrupted = 5000;  // ns

  // `partition_of_component` must outlive the recorder.
  PathRecorder(std::uint32_t partitions, std::vector<std::uint32_t> const& partition_of_component);
  ~PathRecorder();
  PathRecorder(PathRecorder const&) = delete;
  PathRecorder& operator=(PathRecorder const&) = delete;

  // Discards the recording. `pending`: pending events whose senders are unknown.
  void restart(std::uint64_t pending);

  // Called around the handling of an event; sent() in between, for each event it sends.
  void begin(Event const& e, ComponentId component);
  void sent(PortId from, std::uint64_t sequence);
  void end();

  PathProfile profile() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace farfault
