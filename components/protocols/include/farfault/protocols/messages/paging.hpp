// SPDX-License-Identifier: Apache-2.0
// Paging: faults, the driver's orders and answers, moves of pages, allocations and copies of programs.
#pragma once

#include <cstdint>

#include "farfault/engine/event.hpp"
#include "farfault/protocols/messages/translation.hpp"
#include "farfault/protocols/operation.hpp"

namespace farfault {

// Packets to the driver with the payload of a fault-buffer entry.
struct WireToDriver : WireTo<Channel::request, Endpoint::driver> {
  template <class M>
  static std::uint32_t payload(M const& /*m*/, WireSizes const& sizes) {
    return sizes.fault_bytes;
  }
};

// Entry of the GPU's fault buffer, if the driver serves faults in batches. The L2 TLB sends one to the GMMU
// for each SM or scalar cache (`client`) that receives a fault on the page.
struct RawFault {
  std::uint64_t page = 0;
  std::uint16_t client = 0;
  std::uint8_t application = 0;
  Access access = Access::read;
  std::uint8_t unused[4] = {};
};

// Fault to serve, sent to the driver by the IOMMU, or by the GMMU of `gpu`, which then holds its record
// (`recorded_by_gpu`). The driver answers to the IOMMU of that GPU with the page's frame, or no frame if the
// page is unmapped.
struct PageFault {
  std::uint64_t page = 0;
  std::uint16_t gpu = 0;
  std::uint16_t iommu = 0;
  std::uint32_t entry = 0;                 // private to the holder of the record; kNoRecord: none
  FaultKind kind = FaultKind::not_mapped;  // if walks end in the GPU, the driver finds the kind
  std::uint8_t recorded_by_gpu = 0;
  std::uint8_t application = 0;  // application of the request that raised it
  Access access = Access::read;  // of the access that raised it
  std::uint8_t unused[4] = {};
};
template <>
struct Wire<PageFault> : WireToDriver {};

// With batches, from a GMMU to the driver: the GPU's fault buffer is no longer empty.
struct FaultInterrupt {
  std::uint16_t gpu;
};
template <>
struct Wire<FaultInterrupt> : WireToDriver {};

// With batches: one fault-buffer entry of `gpu` that the driver has ordered.
struct FaultEntry {
  std::uint64_t page = 0;
  Time raised{};  // time at which it was written
  std::uint16_t client = 0;
  std::uint8_t application = 0;
  Access access = Access::read;
  std::uint16_t gpu = 0;
  std::uint8_t unused[2] = {};
};
template <>
struct Wire<FaultEntry> : WireToDriver {};

// With batches: all ordered entries of `gpu` have been sent, `entries` in total.
struct FaultsDrained {
  std::uint32_t entries = 0;
  std::uint16_t gpu = 0;
  std::uint8_t unused[2] = {};
};
template <>
struct Wire<FaultsDrained> : WireToDriver {};

// From the driver to the GMMU of `gpu`. drain: send up to `entries` fault-buffer entries, which frees them.
// With `retry`, accesses whose faults found the buffer full are issued again. replay: issue all faulted
// accesses again. flush_replay: the same, after the buffer has been emptied.
enum class FaultOrderKind : std::uint8_t { drain, replay, flush_replay };
struct FaultOrder {
  std::uint32_t entries = 0;
  std::uint16_t gpu = 0;
  FaultOrderKind kind = FaultOrderKind::drain;
  std::uint8_t retry = 0;
};
template <>
struct Wire<FaultOrder> : HeaderTo<Channel::response, Endpoint::gmmu> {};

// Entry of an access counters' notification buffer, written by the port of `counter`, the GPU that counts:
// accesses of `gpu` to the region at `region` have reached the threshold. sub_regions: mask of the accessed
// ones since the last clear (counter_regions.hpp).
struct CounterNotification {
  PhysAddr region = 0;
  std::uint32_t sub_regions = 0;
  std::uint16_t count = 0;
  std::uint16_t gpu = 0;
  std::uint16_t counter = 0;
  std::uint8_t unused[6] = {};
};
template <>
struct Wire<CounterNotification> : WireTo<Channel::request, Endpoint::driver> {
  template <class M>
  static std::uint32_t payload(M const& /*m*/, WireSizes const& sizes) {
    return sizes.notification_bytes;
  }
};

// From the driver to the port of `gpu`: `entries` entries of its notification buffer have been read and are
// free.
struct CounterRead {
  std::uint32_t entries = 0;
  std::uint16_t gpu = 0;
  std::uint8_t unused[2] = {};
};
template <>
struct Wire<CounterRead> : HeaderTo<Channel::response, Endpoint::counters> {};

// From the driver to the port of `gpu`: its counter of accesses of `requester` to the region is cleared, and
// may notify again.
struct CounterClear {
  PhysAddr region = 0;
  std::uint16_t gpu = 0;
  std::uint16_t requester = 0;
  std::uint8_t unused[4] = {};
};
template <>
struct Wire<CounterClear> : HeaderTo<Channel::response, Endpoint::counters> {};

// Between GPUs and the driver. The port of a CPU sends a message of the driver to the GPU named by its `gpu`.
using PagingPackets = MessageList<PageFault, FaultInterrupt, FaultEntry, FaultsDrained, FaultOrder,
                                  CounterNotification, CounterRead, CounterClear>;

// From the driver to an IOMMU: answer to a PageFault. frame: of the page; kNoFrame: the page is unmapped.
// entry: that of the PageFault. gpu: the GPU that recorded the fault; kNoGpu: the IOMMU did.
inline constexpr std::uint16_t kNoGpu = 0xffff;
struct PageMapped {
  std::uint64_t page = 0;
  PhysAddr frame = kNoFrame;
  std::uint32_t entry = 0;
  std::uint8_t size = 0;
  FaultKind kind = FaultKind::not_mapped;
  std::uint16_t gpu = kNoGpu;
};

// From the driver to every IOMMU. unmap: the page leaves `frame`. flush: the old GPU drops its lines, if
// software keeps the partitions of an L2 cache coherent. remap: the page is at `frame` from now on. A freed
// page is unmapped likewise and gets no new frame; an allocated page gets one. map_copy, drop: `frame` is a
// copy's, which only its GPU maps. If walks end in the GPUs (translation/fault_path.hpp): map_remote: `gpu`
// maps the page, which is on another device; remap: the GPU `gpu` has `frame` and maps it again.
struct PageMove {
  std::uint64_t page = 0;
  PhysAddr frame = 0;
  std::uint32_t move = 0;
  MoveStep step = MoveStep::unmap;
  std::uint8_t size = 0;
  DeviceId gpu = kNoGpu;
};
// Acknowledges each step except remap. unmap, forget: no GPU behind this IOMMU can reach the frame any more.
// flush: none of their L2 slices holds a line of it. map, map_copy, map_remote: the tables behind this IOMMU
// contain it.
struct StepDone {
  std::uint32_t move;
};

// From the host to the driver: a copy, allocation or free of a stream. Addresses include the address space.
// MemoryOrderDone reports its completion.
struct MemoryOrder {
  VirtAddr first = 0;
  std::uint64_t bytes = 0;
  std::uint32_t stream = 0;
  OperationKind kind{};
  std::uint8_t unused[3] = {};
};
struct MemoryOrderDone {
  std::uint32_t stream;
};

// From the driver to a GPU's dispatcher: lifetimes of pages evicted from the GPU.
struct PageLifetimes {
  std::uint64_t pages = 0;
  std::uint64_t premature = 0;    // pages that were faulted on again after an eviction
  std::uint64_t lifetime_ps = 0;  // sum of the times from arrival to eviction
};
// From the driver to a GPU's dispatcher: its SMs stop issuing while pages are moved within its memory, or
// resume.
struct GpuStall {
  std::uint64_t stalled = 0;
};

// From an SM or a scalar cache to the driver, if it needs them: a use of a page (parts/page_uses.hpp).
struct PageUse {
  std::uint64_t page;
  std::uint16_t gpu;
  Access access = Access::read;
  std::uint8_t unused[5] = {};
};

static_assert(Message<RawFault> && Message<PageMapped> && Message<PageMove> && Message<StepDone>);
static_assert(Message<MemoryOrder> && Message<MemoryOrderDone>);
static_assert(Message<PageLifetimes> && Message<GpuStall> && Message<PageUse>);

}  // namespace farfault
