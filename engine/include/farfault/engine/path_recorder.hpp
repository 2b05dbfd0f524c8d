// The critical path of a run: how much of it had to happen one after the other, whatever the number of cores.
//
// Events form a graph: an event depends on the event that sent it and on the one before it in the same
// partition (which runs its events in order). The critical path is the longest chain of costs through that
// graph; total cost over its length bounds the speed-up of any schedule. For P cores a greedy list schedule
// (each event on the core that is free first) gives what P cores could reach if synchronization cost nothing.
// Costs are counted in events, which makes them a function of the model, and beside that in host nanoseconds
// of the handlers (one over kInterrupted is taken to have been interrupted and counts as that). Recording
// needs the whole model on one lane and slows a run down several times; it never changes a result.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <queue>
#include <unordered_map>
#include <vector>

#include "farfault/engine/event.hpp"

namespace farfault {

struct PathProfile {
  static constexpr std::array<std::uint32_t, 12> kCores = {2,   4,   8,   16,   32,   64,
                                                           128, 256, 512, 1024, 2048, 4096};

  std::uint64_t events = 0;
  std::uint64_t path = 0;            // events of the longest chain, those of a partition in order
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

  // Around the handling of an event; sent() for each event it sends, in between.
  void begin(Event const& e, std::uint32_t component);
  void sent(PortId from, std::uint64_t sequence) { sent_.push_back({from, sequence}); }
  void end();

  PathProfile profile() const;

 private:
  struct Point {  // when something is done, along the chains that lead to it
    std::uint64_t path = 0;
    std::uint64_t component_path = 0;
    double host_path = 0;
    std::array<std::uint64_t, PathProfile::kCores.size()> finish{};
  };
  struct Record {
    Point point;
    std::uint32_t uses = 0;  // events in flight that this one sent
  };
  struct Key {
    PortId from;
    std::uint64_t sequence;
    bool operator==(Key const&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(Key const& k) const {
      return static_cast<std::size_t>((k.sequence * 0x9E3779B97F4A7C15ULL) ^ (std::uint64_t{k.from} << 20));
    }
  };
  using Cores = std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>>;

  static Key key(Event const& e) { return {e.from, e.sequence}; }
  static double now();

  std::vector<std::uint32_t> const& partition_of_;
  std::vector<Point> partition_done_;
  std::vector<std::uint64_t> component_done_;
  std::vector<std::uint64_t> partition_events_;
  std::vector<Cores> cores_;
  std::unordered_map<Key, std::uint32_t, KeyHash> sender_;  // of events in flight: looked up, never walked
  std::vector<Record> records_;
  std::vector<std::uint32_t> free_records_;
  std::vector<Key> sent_;
  Point ready_;
  std::uint32_t component_ = 0;
  double began_ = 0;
  std::uint64_t events_ = 0;
  double host_ns_ = 0;
  Point last_;
};

}  // namespace farfault
