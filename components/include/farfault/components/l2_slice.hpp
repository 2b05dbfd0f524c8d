// One slice of a device's last-level cache: a bank with its tags, MSHRs and response port, in front of one
// DRAM channel or several.
//
// A request takes one cycle of the slice, first come first served (simultaneous ones in port order); a hit
// responds `latency` cycles later; a response takes one cycle of the response port. Write-back; a write that
// misses allocates its line without a fetch (sectored lines with byte masks, as gfx9 and NVIDIA). Page-walk
// reads are requests like others. This is also where the crossbar's output port is: the crossbar has one
// stage, its outputs are output-queued, and its latency is that of the links.
#pragma once

#include <string>
#include <vector>

#include "farfault/components/parts/address_map.hpp"
#include "farfault/components/parts/cache.hpp"
#include "farfault/components/parts/mshr.hpp"
#include "farfault/components/parts/ring.hpp"
#include "farfault/engine/component.hpp"
#include "farfault/engine/params.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

struct L2CacheParams {
  std::uint32_t slices = 16;
  ByteSize size{std::uint64_t{2} << 20};
  std::uint32_t ways = 16;
  std::uint32_t latency = 14;
  std::uint32_t mshrs = 64;
  std::uint32_t waiters = 512;
  ByteSize interleave{256};
  void describe(ParamTable& t);
};

struct L2SliceSpec {
  L2CacheParams params;
  std::string kind = "l2_slice";  // of the series in the results
  Clock clock{1'000'000'000};
  std::uint32_t index = 0;
  DeviceId device = 0;
  std::uint32_t line_bytes = 64;
  AddressMap memory;
  AddressMap channels;              // an address belongs to the slice's channel number
  unsigned channel_shift = 0;       // channels.slice(offset) >> channel_shift
  std::uint32_t dram_channels = 1;  // of this slice
  std::uint32_t dram_credits = 32;  // for each of them
  std::uint32_t queue = 1024;       // requests that clients hold credits for
  std::uint16_t dram_port = 0;      // this slice's number among the clients of its channels
};

struct L2SliceStats {
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t writebacks = 0;
  std::uint64_t mshr_stalls = 0;
};

struct L2Waiter {
  std::uint32_t tag = 0;
  std::uint16_t from = 0;
  std::uint16_t unused = 0;
};

struct L2SliceState {
  Cache cache;
  MshrTable<L2Waiter> mshrs;
  Ring<MemRequest> stalled;        // in order, behind a request that finds no MSHR
  Ring<std::uint64_t> writebacks;  // lines that wait for a DRAM credit
  Time port_free{};
  Time answer_free{};
  std::vector<std::uint32_t> dram_credits;  // by channel of this slice
  L2SliceStats stats;
};

class L2Slice final : public Component<L2SliceSpec, L2SliceState> {
 public:
  using Component::Component;
  In<MemRequest> request = in<&L2Slice::on_request>("request");
  In<MemResponse> filled = in<&L2Slice::on_dram>("filled");
  Out<MemResponse> response = out<MemResponse>("response");
  Out<MemRequest> dram = out<MemRequest>("dram");

  std::string_view kind() const override { return spec().kind; }
  std::string waiting_for() const override;
  L2SliceState initial() const override;
  std::span<Stat<L2SliceState> const> stats() const override;

  void on_request(MemRequest const& m, Cx& cx) const;
  void on_dram(MemResponse const& m, Cx& cx) const;

 private:
  bool serve(MemRequest const& m, Cx& cx) const;  // false: it has to wait
  void answer(L2Waiter to, PhysAddr address, Access access, Time at, Cx& cx) const;
  void put(std::uint64_t line, bool dirty, Cx& cx) const;
  void write_back(Cx& cx) const;
  // Every line filled may evict a dirty one: outstanding fills have a write-back entry reserved.
  static bool room_for_victim(L2SliceState const& s) {
    return s.writebacks.size() + s.mshrs.in_use() < s.writebacks.capacity();
  }
  void resume_stalled(Cx& cx) const;
  std::uint32_t channel_of(PhysAddr a) const {
    return spec().channels.slice(offset_of(a)) >> spec().channel_shift;
  }
  std::uint64_t line_of(PhysAddr a) const { return spec().memory.local(offset_of(a)) / spec().line_bytes; }
  PhysAddr address_of(std::uint64_t line) const {
    return physical(spec().device, spec().memory.offset(spec().index, line * spec().line_bytes));
  }
};

}  // namespace farfault
