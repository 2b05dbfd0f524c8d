// SPDX-License-Identifier: Apache-2.0
// Counters of an SM, by stream; each is also a column of the table of kernels (host.hpp).
//
// - Latency stack: access_time is the time from issue to data (stores: to the acknowledgement), summed over
//   transactions. It grows continuously (Little's law: outstanding transactions x time); stages grow at
//   their end.
// - time_outstanding: access_time of outstanding transactions in their current stage (stores: until all
//   stores of their warp are acknowledged). 0 if no transaction is outstanding.
// - Exact: stages + time_outstanding = access_time, in every sample and at the end of a stopped run.
// - A transaction merged in an MSHR counts the last part of the request's stages (protocols/stages.hpp).
// - Excluded: scalar loads, contexts of thread blocks.
// - SM states: SmTime over the SM's whole time; resident_* by stream, while the SM holds blocks of the
//   stream, with the state of the stream's own warps by the same rule (Residents). The parts of a kernel or
//   an application add up to its resident_time exactly.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "farfault/engine/by_application.hpp"
#include "farfault/engine/histogram.hpp"
#include "farfault/engine/probes.hpp"
#include "farfault/engine/time.hpp"
#include "farfault/parts/part_time.hpp"

namespace farfault {

// Time of transactions by stage, in ps.
struct AccessStages {
  std::uint64_t load_store = 0;
  std::uint64_t l1_tlb = 0;
  std::uint64_t l2_tlb = 0;
  std::uint64_t walk_queue = 0;
  std::uint64_t walk = 0;
  std::uint64_t iommu = 0;
  std::uint64_t fault = 0;
  std::uint64_t l1_cache = 0;
  std::uint64_t l2_cache = 0;
  std::uint64_t dram_queue = 0;
  std::uint64_t dram = 0;
  std::uint64_t links = 0;
  std::uint64_t remote_memory = 0;

  bool operator==(AccessStages const&) const = default;
  std::uint64_t sum() const {
    return load_store + l1_tlb + l2_tlb + walk_queue + walk + iommu + fault + l1_cache + l2_cache +
           dram_queue + dram + links + remote_memory;
  }
};

// State of an SM. active: a warp executes or could issue. stopped: by the driver or the thread-block policy.
// idle: no warp is in its slots. Otherwise the most frequent stall cause of its warps; in a tie, the first
// one below. fetch_stall, last because reports of a kernel's counts end with the last one above 0:
// instructions that have not arrived.
enum class SmActivity : std::uint8_t {
  active,
  memory_stall,
  fault_stall,
  load_store_stall,
  scalar_stall,
  barrier_stall,
  stopped,
  idle,
  fetch_stall,
};
inline constexpr std::size_t kSmActivities = 9;
using SmTime = TimeByState<SmActivity, kSmActivities>;

// The cause of a stall of the load/store unit; `none`: it does not stall.
enum class LoadStoreStall : std::uint8_t { none, l1_tlb_mshr, faulted, l1_mshr, l2_credit, remote_credit };
using LoadStoreTime = TimeByState<LoadStoreStall, 6>;

struct SmStats {
  std::uint64_t vector_instructions = 0;
  std::uint64_t scalar_instructions = 0;
  std::uint64_t shared_instructions = 0;
  std::uint64_t memory_instructions = 0;
  std::uint64_t scalar_loads = 0;
  std::uint64_t transactions = 0;
  std::uint64_t scalar_transactions = 0;
  std::uint64_t l1_tlb_hits = 0;
  std::uint64_t l1_tlb_misses = 0;
  std::uint64_t l2_tlb_hits = 0;
  std::uint64_t gmmu_translations = 0;
  std::uint64_t iommu_translations = 0;
  std::uint64_t fault_translations = 0;
  std::uint64_t l1_hits = 0;
  std::uint64_t l1_misses = 0;
  std::uint64_t stores = 0;
  std::uint64_t l2_hits = 0;
  std::uint64_t l2_misses = 0;
  std::uint64_t remote_accesses = 0;
  std::uint64_t remote_l2_hits = 0;
  std::uint64_t remote_l2_misses = 0;
  std::uint64_t scalar_hits = 0;
  std::uint64_t blocks = 0;
  std::uint64_t faulted = 0;
  std::uint64_t replayed = 0;
  std::uint64_t access_time = 0;
  AccessStages stages;
  std::array<std::uint64_t, kSmActivities> resident{};  // by SmActivity, while an SM holds blocks

  // A stage with a known end is counted up to it, some cycles in advance.
  std::uint64_t whole_access_time() const { return std::max(access_time, stages.sum()); }
  std::uint64_t resident_in(SmActivity what) const { return resident[static_cast<std::size_t>(what)]; }

  // Those with a condition exist only if SMs fetch instructions.
  static std::span<Stat<SmStats> const> list();
  bool operator==(SmStats const&) const = default;
  std::uint64_t instructions() const {
    return vector_instructions + scalar_instructions + shared_instructions + memory_instructions +
           scalar_loads;
  }
};

// Outstanding transactions of a stream.
struct OutstandingAccesses {
  std::uint64_t number = 0;
  Time since{};  // the last change of `number`

  // Their addition to access_time until `now`, called when their number changes.
  std::uint64_t advance(Time now) {
    auto const time = number * static_cast<std::uint64_t>(picoseconds(now - since));
    since = now;
    return time;
  }
};

// The streams with blocks on an SM, and the state of each stream's warps. The times of a single stream are
// differences of the SM's times, at no cost per event.
class Residents {
 public:
  Residents() = default;
  explicit Residents(std::uint32_t streams) : streams_(streams) {}

  bool several() const { return present_.size() > 1; }
  // Its first block arrives, or its last one has ended. Called after advance().
  void add(std::uint32_t stream, Time now) {
    present_.push_back(stream);
    for (auto const i : present_) streams_[i].since = now;
  }
  void remove(std::uint32_t stream) { std::erase(present_, stream); }
  // A warp of the stream takes a slot.
  void place(std::uint32_t stream, std::uint32_t slot) {
    if (streams_.size() == 1) return;
    auto const bit = std::uint64_t{1} << slot;
    for (auto& s : streams_) s.slots &= ~bit;
    streams_[stream].slots |= bit;
  }
  // Counts up to `now`: called before any other function, and before `stats` is read.
  void advance(Time now, SmTime& sm, ByStream<SmStats>& stats) {
    sm.advance(now);
    if (several()) {
      for (auto const i : present_) streams_[i].advance(now, stats[i]);
    } else if (!present_.empty()) {
      auto& resident = stats[present_[0]].resident;
      for (std::size_t i = 0; i < resident.size(); ++i) resident[i] += sm.all()[i] - counted_[i];
    }
    counted_ = sm.all();
  }
  // With several streams: sets the state of each from `now` on to activity_of(its slots).
  template <class ActivityOf>
  void change(Time now, ByStream<SmStats>& stats, ActivityOf&& activity_of) {
    for (auto const i : present_) {
      streams_[i].advance(now, stats[i]);
      streams_[i].now = static_cast<std::uint64_t>(activity_of(streams_[i].slots));
    }
  }
  auto members() { return std::tie(present_, counted_, streams_); }

 private:
  struct Stream {
    std::uint64_t slots = 0;  // last taken by this stream, free ones included
    std::uint64_t now = 0;    // with several streams: its current state, since when
    Time since{};

    void advance(Time at, SmStats& stats) {
      stats.resident[now] += static_cast<std::uint64_t>(picoseconds(at - since));
      since = at;
    }
  };

  std::vector<std::uint32_t> present_;
  std::array<std::uint64_t, kSmActivities>
      counted_{};  // the SM's times already attributed to a stream or to none
  std::vector<Stream> streams_;
};

struct SmTimes {
  using Latencies = Histogram<10, 34>;  // in picoseconds: octaves from 1 ns; the last bin begins at 17 ms
  ByStream<OutstandingAccesses> outstanding;
  Latencies load_latency;  // of loads, from issue to data
  Latencies fault_wait;    // of accesses, from the fault response to the replay of their page
  SmTime activity{SmActivity::idle};
  Residents residents;
  LoadStoreTime load_store;
};

}  // namespace farfault
