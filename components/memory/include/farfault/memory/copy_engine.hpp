// SPDX-License-Identifier: Apache-2.0
// Copy engine (DMA) of a GPU: copies bytes between the memories of any two devices.
//
// - Order: (from, to, bytes, tag), in whole lines, except a last one that may be shorter. It is complete,
//   and its tag returned, when all its writes are acknowledged.
// - Directions are independent: in (to this GPU's memory) and out (all others).
// - Per direction: orders start in order of arrival and overlap; at most one line is read per cycle, and at
//   most `window` lines are in flight. Each line is written when it has arrived.
// - Lines of this GPU's memory are accessed through their L2 slice, with `slice_credits` per slice, others
//   through the RDMA engine.
// - Consecutive lines in a block of memory are one message, a train (parts/train.hpp), which needs window
//   and credits for all its lines. A single order takes exactly the time of its separate lines.
// - Assumed: orders overlap. MGPUSim 4.2: one page at a time, in pieces of a cache line.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
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
    t.count("window", window, {0, 1 << 20},
            "Maximum lines in flight in each direction. 0: enough to fill the GPU's links for a round trip "
            "on their longest routes plus fabric.service_time",
            "assumed: engines are designed to fill their links");
    t.count("slice_credits", slice_credits, {0, 1 << 16},
            "Maximum outstanding lines at one L2 slice. 0: twice its even share of the window, at least four "
            "trains of memory.train lines",
            "assumed");
  }
  // `of_links`: lines that the links carry in a round trip.
  std::uint32_t window_of(std::uint64_t of_links) const;
  // `in_block`: consecutive lines in one slice.
  std::uint32_t slice_credits_of(std::uint32_t lines, std::uint32_t slices, std::uint32_t in_block,
                                 std::uint32_t train) const;
};

struct CopyEngineSpec {
  Clock clock{1'000'000'000};
  DeviceId device = 0;
  std::uint32_t line_bytes = 64;
  std::uint16_t remote_port = 0;  // number of the engine among the clients of the RDMA engine
  std::uint16_t memory_port = 0;  // number among the clients of the L2 slices
  AddressMap memory;
  std::uint32_t slices = 1;
  std::uint32_t queue = 1;  // maximum queued orders per direction
  std::uint32_t window = 64;
  std::uint32_t slice_credits = 16;
  // Maximum lines per message: within this GPU, at most the credits of a slice; to CPUs; to other devices.
  // None exceeds the window.
  std::uint32_t local_train = 1;
  std::uint32_t cpu_train = 1;
  std::uint32_t remote_train = 1;
  std::uint32_t train_block = 64;  // bytes, a power of two; no train crosses a block boundary
  Duration cpu_latency{};          // additional latency of a copy from or to a CPU
};

struct CopyRun {
  CopyOrder order{};
  std::uint32_t read = 0;     // lines requested
  std::uint32_t written = 0;  // lines acknowledged
  Time done{};                // time of the last acknowledgement
};
// Lines of a run that have arrived and are to be written: the first at `at`, each following one `gap`
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
  std::vector<CopyRun> runs;  // orders by number, which is the tag of their lines
  std::vector<std::uint32_t> free_runs;
  Ring<std::uint32_t> to_read;   // runs with lines to request
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
        {"orders", "count", "Copies completed", StatKind::counter, [](S s) { return s.orders; }},
        {"lines_in", "count", "Cache lines written into this GPU's memory", StatKind::counter,
         [](S s) { return s.lines_in; }},
        {"lines_out", "count", "Cache lines written into the memory of other devices", StatKind::counter,
         [](S s) { return s.lines_out; }},
        {"local_accesses", "count", "Cache lines of this GPU's memory read or written", StatKind::counter,
         [](S s) { return s.local_accesses; }},
        {"queued_orders", "count", "Copies queued or in progress", StatKind::level,
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
  explicit CopyEngine(Slot<CopyEngineSpec> slot);
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
  static constexpr std::uint32_t kLaneShift = 31;  // position in a tag of the lane, above the run

  std::uint32_t lines(CopyOrder const& o) const {
    return (o.bytes + spec().line_bytes - 1) / spec().line_bytes;
  }
  std::uint32_t longest(DeviceId at) const {
    if (at == spec().device) return spec().local_train;
    return at >= kFirstCpu && at < kFirstNic ? spec().cpu_train : spec().remote_train;
  }
  // Number of the `left` lines from line `line` on that can be one message; the order's memory at that end
  // begins at `base`. A shorter last line is sent alone.
  std::uint32_t together(CopyOrder const& o, PhysAddr base, std::uint32_t line, std::uint32_t left) const;
  // Sends an access to lines of a run, the first at `first` and the last at `last`; false if their slice
  // lacks credits.
  bool access(std::uint32_t lane, std::uint32_t run, std::uint32_t line, std::uint32_t lines, Access access,
              Time first, Time last, Cx& cx) const;
  void fetch(std::uint32_t lane, Cx& cx) const;
  void responded(MemResponse const& m, Cx& cx) const;
  void end_lines(std::uint32_t lane, std::uint32_t run, Train train, Cx& cx) const;
  void write_arrived(std::uint32_t lane, Cx& cx) const;
};
extern template class Component<CopyEngineSpec, CopyEngineState>;  // compiled in copy_engine.cpp

}  // namespace farfault
