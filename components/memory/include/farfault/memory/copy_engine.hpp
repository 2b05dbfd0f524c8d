// SPDX-License-Identifier: Apache-2.0
// The copy engine (DMA) of a GPU: it copies bytes between the memories of any two devices, as it is ordered.
//
// An order is (from, to, bytes, tag), whole lines at either end, apart from a last one that is shorter.
// Orders that write this GPU's memory (in) and all others (out) are two directions: both of a link can be
// full. Those of a direction begin in the order in which they come, and overlap: line by line, at most one
// per cycle and direction and `window` under way, an order's lines are read, then those of the next; each is
// written when it has arrived. An order is done, and its tag sent back, when all its writes are acknowledged.
// Lines of this GPU's memory are read and written through the L2 slice they belong to, others over the RDMA
// engine. (That orders overlap is assumed. MGPUSim 4.2, page migration controller: one page at a time, in
// pieces of a cache line.)
//
// Lines that follow each other in a block of memory are one message, a train (parts/train.hpp), at either
// end: each takes its own cycle to be read and is written no sooner than it arrives, and what an order alone
// takes is to the picosecond what its lines take by themselves. A train waits until the window, or its
// slice's credits, have room for all of it. The lines of a response go on together, in as many trains as the
// blocks of the other memory make of them.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "farfault/engine/component.hpp"
#include "farfault/engine/params.hpp"
#include "farfault/parts/address_map.hpp"
#include "farfault/parts/ring.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

struct CopyEngineParams {
  std::uint32_t window = 0;
  std::uint32_t slice_credits = 0;
  void describe(ParamTable& t) {
    t.count(
        "window", window, {0, 1 << 20},
        "lines under way at a time, in each direction; 0: what each of the GPU's links carries in a round "
        "trip over the longest route that begins there, and fabric.service_time",
        "assumed: engines are built to fill their links");
    t.count(
        "slice_credits", slice_credits, {0, 1 << 16},
        "lines that one L2 slice reads or writes for it at a time; 0: twice its even share of the window, "
        "and at least four of the longest trains (memory.train)",
        "assumed");
  }
  // `of_links`: lines that the links carry in a round trip.
  std::uint32_t window_of(std::uint64_t of_links) const;
  // `in_block`: consecutive lines that lie in one slice.
  std::uint32_t slice_credits_of(std::uint32_t lines, std::uint32_t slices, std::uint32_t in_block,
                                 std::uint32_t train) const;
};

struct CopyEngineSpec {
  Clock clock{1'000'000'000};
  DeviceId device = 0;
  std::uint32_t line_bytes = 64;
  std::uint16_t remote_port = 0;  // the engine's number among the clients of the RDMA engine
  std::uint16_t memory_port = 0;  // and among those of the L2 slices
  AddressMap memory;
  std::uint32_t slices = 1;
  std::uint32_t queue = 1;  // orders that can wait for each direction
  std::uint32_t window = 64;
  std::uint32_t slice_credits = 16;
  // Lines that travel as one message: in this GPU, no more than credits of a slice; to CPUs; and to others.
  // None is more than the window.
  std::uint32_t local_train = 1;
  std::uint32_t cpu_train = 1;
  std::uint32_t remote_train = 1;
  std::uint32_t train_block = 64;  // bytes: a power of two; no train leaves a block of this size
  Duration cpu_latency{};          // what a copy from or to a CPU takes longer
};

struct CopyRun {
  CopyOrder order{};
  std::uint32_t read = 0;     // lines requested
  std::uint32_t written = 0;  // and acknowledged
  Time done{};                // when the last of those is
};
// Lines of a run that have arrived and are to be written: the first one at `at`, each following `gap`
// picoseconds later.
struct CopyPiece {
  std::uint32_t run = 0;
  std::uint32_t first = 0;
  std::uint32_t lines = 0;
  std::uint32_t gap = 0;
  Time at{};
};
// One direction.
struct CopyLane {
  std::vector<CopyRun> runs;  // orders, by a number that each has for as long as it is here: their lines' tag
  std::vector<std::uint32_t> free_runs;
  Ring<std::uint32_t> to_read;   // runs with lines that are to be requested
  std::uint32_t free_lines = 0;  // of the window
  std::uint32_t unused = 0;
  Ring<CopyPiece> arrived;
  Time port_free{};
};

struct CopyEngineState {
  std::array<CopyLane, 2> lanes;  // in, out
  std::vector<std::uint32_t> slice_credits;
  std::uint64_t orders = 0;
  std::uint64_t lines_in = 0;
  std::uint64_t lines_out = 0;
  std::uint64_t local_accesses = 0;

  static std::span<Stat<CopyEngineState> const> list() {
    using S = CopyEngineState const&;
    static constexpr auto all = std::to_array<Stat<CopyEngineState>>({
        {"orders", "count", "copies done", StatKind::counter, [](S s) { return s.orders; }},
        {"lines_in", "count", "cache lines written into this GPU's memory", StatKind::counter,
         [](S s) { return s.lines_in; }},
        {"lines_out", "count", "cache lines written into the memory of other devices", StatKind::counter,
         [](S s) { return s.lines_out; }},
        {"local_accesses", "count", "cache lines of this GPU's memory read or written", StatKind::counter,
         [](S s) { return s.local_accesses; }},
        {"queued_orders", "count", "copies waiting or under way", StatKind::level,
         [](S s) {
           std::uint64_t queued = 0;
           for (auto const& lane : s.lanes) queued += lane.runs.size() - lane.free_runs.size();
           return queued;
         }},
    });
    return all;
  }
};

class CopyEngine final : public Component<CopyEngineSpec, CopyEngineState> {
 public:
  using Component::Component;
  In<CopyOrder> copy = in<&CopyEngine::on_copy>("copy");
  In<MemResponse> remote_response = in<&CopyEngine::on_remote>("remote_response");
  In<MemResponse> memory_response = in<&CopyEngine::on_memory>("memory_response");
  Out<MemRequest> remote_request = out<MemRequest>("remote_request");
  Out<MemRequest> memory_request = out<MemRequest>("memory_request");
  Out<CopyDone> copied = out<CopyDone>("copied");

  std::string_view kind() const override { return "copy_engine"; }
  std::string waiting_for() const override;
  CopyEngineState initial() const override;

  void on_copy(CopyOrder const& m, Cx& cx) const;
  void on_remote(MemResponse const& m, Cx& cx) const;
  void on_memory(MemResponse const& m, Cx& cx) const;

 private:
  static constexpr std::uint32_t kLaneShift = 31;  // of a tag: the lane above the run

  std::uint32_t lines(CopyOrder const& o) const {
    return (o.bytes + spec().line_bytes - 1) / spec().line_bytes;
  }
  std::uint32_t longest(DeviceId at) const {
    if (at == spec().device) return spec().local_train;
    return at >= kFirstCpu && at < kFirstNic ? spec().cpu_train : spec().remote_train;
  }
  // How many of `left` lines from line `line` on can be one message, where the order's memory at that end
  // begins at `base`: a last one that is shorter goes alone.
  std::uint32_t together(CopyOrder const& o, PhysAddr base, std::uint32_t line, std::uint32_t left) const;
  // Sends an access to lines of a run, the first at `first` and the last at `last`; false when their slice
  // lacks the credits.
  bool access(std::uint32_t lane, std::uint32_t run, std::uint32_t line, std::uint32_t lines, Access access,
              Time first, Time last, Cx& cx) const;
  void fetch(std::uint32_t lane, Cx& cx) const;
  void answered(MemResponse const& m, Cx& cx) const;
  void end_lines(std::uint32_t lane, std::uint32_t run, Train train, Cx& cx) const;
  void write_arrived(std::uint32_t lane, Cx& cx) const;
};

}  // namespace farfault
