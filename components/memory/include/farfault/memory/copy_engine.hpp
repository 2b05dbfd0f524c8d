// The copy engine (DMA) of a GPU: it copies bytes between the memories of any two devices, as it is ordered.
//
// An order is (from, to, bytes, tag), whole lines at either end, apart from a last one that is shorter.
// Orders that write this GPU's memory (in) and all others (out) wait in a queue each, and one of each
// direction is under way at a time: both directions of a link can be full. An order is copied line by line: a
// line is read, at most one per cycle and direction and `window` under way, and written when it has arrived;
// the order is done, and its tag sent back, when all writes are acknowledged. Lines of this GPU's memory are
// read and written through the L2 slice they belong to, others over the RDMA engine. (MGPUSim 4.2, page
// migration controller: one page at a time, in pieces of a cache line.)
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
  void describe(ParamTable& t);
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

// One direction.
struct CopyLane {
  Ring<CopyOrder> orders;       // the first is under way
  Ring<std::uint32_t> arrived;  // lines that are to be written
  std::uint32_t fetched = 0;    // lines of the first order requested
  std::uint32_t under_way = 0;  // lines requested and not written yet
  std::uint64_t written = 0;    // lines of the first order acknowledged
  Time port_free{};
};

struct CopyEngineState {
  std::array<CopyLane, 2> lanes;  // in, out
  std::vector<std::uint32_t> slice_credits;
  std::uint64_t orders = 0;
  std::uint64_t lines_in = 0;
  std::uint64_t lines_out = 0;
  std::uint64_t local_accesses = 0;
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
  std::span<Stat<CopyEngineState> const> stats() const override;

  void on_copy(CopyOrder const& m, Cx& cx) const;
  void on_remote(MemResponse const& m, Cx& cx) const;
  void on_memory(MemResponse const& m, Cx& cx) const;

 private:
  static constexpr std::uint32_t kLaneShift = 31;  // of a tag: the lane above the line

  std::uint32_t lines(CopyOrder const& o) const {
    return (o.bytes + spec().line_bytes - 1) / spec().line_bytes;
  }
  // Sends an access to a line of the lane's first order; false when its slice has no credit.
  bool access(std::uint32_t lane, PhysAddr base, std::uint32_t line, Access access, Duration extra,
              Cx& cx) const;
  void fetch(std::uint32_t lane, Cx& cx) const;
  void write_arrived(std::uint32_t lane, Cx& cx) const;
  void answered(MemResponse const& m, Cx& cx) const;
};

}  // namespace farfault
