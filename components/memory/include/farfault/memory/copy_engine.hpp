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
  std::uint32_t window = 64;
  std::uint32_t slice_credits = 16;
  void describe(ParamTable& t) {
    t.count("window", window, {1, 65536}, "lines under way at a time, in each direction", "assumed");
    t.count("slice_credits", slice_credits, {1, 4096},
            "lines that one L2 slice reads or writes for it at a time", "assumed");
  }
};

struct CopyEngineSpec {
  CopyEngineParams params;
  Clock clock{1'000'000'000};
  DeviceId device = 0;
  std::uint32_t line_bytes = 64;
  std::uint16_t remote_port = 0;  // the engine's number among the clients of the RDMA engine
  std::uint16_t memory_port = 0;  // and among those of the L2 slices
  AddressMap memory;
  std::uint32_t slices = 1;
  std::uint32_t queue = 1;  // orders that can wait for each direction
};

struct CopyRun {
  CopyOrder order{};
  std::uint32_t read = 0;     // lines requested
  std::uint32_t written = 0;  // and acknowledged
};
struct CopyLine {
  std::uint32_t run = 0;
  std::uint32_t line = 0;
};
// One direction.
struct CopyLane {
  std::vector<CopyRun> runs;  // orders, by a number that each has for as long as it is here
  std::vector<std::uint32_t> free_runs;
  Ring<std::uint32_t> to_read;  // runs with lines that are to be requested
  std::vector<CopyLine> lines;  // under way, by the number in their tag
  std::vector<std::uint32_t> free_lines;
  Ring<std::uint32_t> arrived;  // lines that are to be written
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
  static constexpr std::uint32_t kLaneShift = 31;  // of a tag: the lane above the line

  std::uint32_t lines(CopyOrder const& o) const {
    return (o.bytes + spec().line_bytes - 1) / spec().line_bytes;
  }
  // Sends an access to a line under way; false when its slice has no credit.
  bool access(std::uint32_t lane, std::uint32_t number, Access access, Duration extra, Cx& cx) const;
  void fetch(std::uint32_t lane, Cx& cx) const;
  void answered(MemResponse const& m, Cx& cx) const;
  void end_line(std::uint32_t lane, std::uint32_t number, Cx& cx) const;
  void write_arrived(std::uint32_t lane, Cx& cx) const;
};

}  // namespace farfault
