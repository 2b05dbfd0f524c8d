// SPDX-License-Identifier: Apache-2.0
// Memory accesses: of SMs to caches and DRAM, of read-only caches, of copy engines, and between devices.
#pragma once

#include <cstdint>

#include "farfault/engine/event.hpp"
#include "farfault/protocols/messages/wire.hpp"
#include "farfault/protocols/stages.hpp"

namespace farfault {

// Train: several consecutive whole cache lines in one message, all in one page, L2 slice, DRAM channel and
// row (parts/train.hpp). The message arrives with the first line. more: lines in addition to the addressed
// one. gap: picoseconds from each line to the next.
struct Train {
  std::uint32_t more = 0;
  std::uint32_t gap = 0;

  std::uint32_t lines() const { return more + 1; }
  // Delay from the first line to line `i`, and to the last line.
  Duration until(std::uint32_t i) const { return Duration{std::int64_t{gap} * i}; }
  Duration length() const { return until(more); }
};

// Sent to an L2 slice, a DRAM channel, a NIC's memory or the RDMA engine. `from` selects the response port;
// `tag` is private to the sender.
struct MemRequest {
  PhysAddr address = 0;
  std::uint32_t tag = 0;
  std::uint16_t from = 0;
  Access access = Access::read;
  std::uint8_t bytes = 0;  // per line: 1 to 128
  Requester requester{};
  std::uint8_t unused = 0;
  Train train{};
  std::uint32_t unused_2 = 0;
};

// Several responses may answer the lines of a train, in any order. The stages describe the first line.
// Later lines spent longer in the stage where the train is.
struct MemResponse {
  PhysAddr address = 0;
  std::uint32_t tag = 0;
  Access access = Access::read;
  FoundBy found_by = FoundBy::memory;
  std::uint8_t unused[2] = {};
  Train train{};
  MemoryStages stages{};
  std::uint32_t unused_2 = 0;
};

// Between an SM and a read-only cache of a few SMs. `sm` is the SM's number at that cache; `tag` is private
// to the SM. Addresses are virtual, or addresses of kernel arguments. `launch` counts the application's
// kernel launches.
struct ReadOnlyRequest {
  VirtAddr address = 0;
  std::uint32_t launch = 0;
  std::uint32_t tag = 0;
  std::uint16_t sm = 0;
  Requester requester{};
  std::uint8_t unused[3] = {};
};
// hit, missed: the data has arrived, from the cache or after a fill. Before that, a request may receive
// `faulted` (its page is faulted) and then `replayed` (its translation is requested again).
enum class ReadOnlyStatus : std::uint8_t { hit, missed, faulted, replayed };
struct ReadOnlyResponse {
  std::uint32_t tag;
  ReadOnlyStatus status = ReadOnlyStatus::missed;
  std::uint8_t unused[3] = {};
};

// To an L2 slice: write back the dirty lines of the page at `frame` and drop the page; without a frame, at
// the end of a kernel, write back all dirty lines. Flushed reports completion. `number` is private to the
// sender.
struct Flush {
  PhysAddr frame;
  std::uint32_t number;
  std::uint16_t from;
  std::uint8_t size = 0;  // page size
  std::uint8_t unused = 0;
};
struct Flushed {
  std::uint32_t number;
};

// To a copy engine: copies at least one byte on behalf of an application. CopyDone follows when all bytes are
// written. `tag` is private to the sender.
struct CopyOrder {
  PhysAddr from = 0;
  PhysAddr to = 0;
  std::uint32_t bytes = 0;
  std::uint32_t tag = 0;
  std::uint8_t space = 0;
  std::uint8_t application = 0;
  std::uint8_t unused[6] = {};
};
struct CopyDone {
  std::uint32_t tag;
};

// The lines of an access to another device: a train of `more` + 1 lines of `bytes` bytes.
struct RemoteLines {
  PhysAddr address = 0;
  std::uint32_t gap = 0;
  std::uint8_t more = 0;
  std::uint8_t bytes = 0;
  Access access = Access::read;
  RequestKind kind = RequestKind::data;

  Train train() const { return {more, gap}; }
  void set_train(Train t) {
    more = static_cast<std::uint8_t>(t.more);
    gap = t.gap;
  }
  // Removes the first `n` lines, which have been sent ahead.
  void leave(std::uint32_t n) {
    more = static_cast<std::uint8_t>(more - n);
    address += std::uint64_t{n} * bytes;
  }
};

// Between the ports of two devices; a port holds the access as long as it is outstanding. `tag` is private to
// the requester. The unused bytes have room for a sector mask.
struct RemoteRequest {
  RemoteLines lines{};
  std::uint32_t tag = 0;
  std::uint8_t space = 0;  // of the requester, as `application`
  std::uint8_t application = 0;
  std::uint8_t unused[2] = {};

  Requester requester() const { return {space, application, lines.kind}; }
};
template <>
struct Wire<RemoteRequest> : WireTo<Channel::request, Endpoint::memory> {
  static std::uint32_t payload(RemoteRequest const& m, WireSizes const& sizes) {
    return m.lines.access == Access::write ? sizes.line(m.lines.address, m.lines.bytes, m.lines.kind) : 0;
  }
};

struct RemoteResponse {
  RemoteLines lines{};
  std::uint32_t tag = 0;
  FoundBy found_by = FoundBy::memory;
  std::uint8_t unused[3] = {};
};
template <>
struct Wire<RemoteResponse> : WireTo<Channel::response, Endpoint::requester> {
  static std::uint32_t payload(RemoteResponse const& m, WireSizes const& sizes) {
    return m.lines.access == Access::read ? sizes.line(m.lines.address, m.lines.bytes, m.lines.kind) : 0;
  }
};

using MemoryPackets = MessageList<RemoteRequest, RemoteResponse>;

static_assert(Message<MemRequest> && Message<MemResponse> && Message<ReadOnlyRequest> &&
              Message<ReadOnlyResponse>);
static_assert(Message<Flush> && Message<Flushed> && Message<CopyOrder> && Message<CopyDone>);

}  // namespace farfault
