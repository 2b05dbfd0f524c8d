// SPDX-License-Identifier: Apache-2.0
// The messages between components: plain bytes, at most 40 of them. Sizes on a wire are those of the protocol
// modelled (a header and a payload), never sizeof.
//
// Addresses: a PhysAddr names a device in its upper 16 bits (GPU g is device g, CPU c is device kFirstCpu +
// c, NIC n is device kFirstNic + n) and an offset in that device's memory below. A frame is the PhysAddr of a
// page; pages lie on GPUs and CPUs.
//
// Pages: a page number is that of a base page (memory.page_size), also where the page that holds it is a
// large one, of 2^size base pages: `size` is 0 for a base page. Large pages and their frames are aligned to
// their size. The frame in a translation is that of the whole page, whichever base page was asked for.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>

#include "farfault/engine/event.hpp"
#include "farfault/protocols/kernel.hpp"
#include "farfault/protocols/operation.hpp"
#include "farfault/protocols/stages.hpp"

namespace farfault {

using PhysAddr = std::uint64_t;
using DeviceId = std::uint16_t;
using NodeId = std::uint16_t;

inline constexpr unsigned kDeviceShift = 48;
inline constexpr DeviceId kFirstCpu = 0x8000;
inline constexpr DeviceId kFirstNic = 0xc000;
inline constexpr PhysAddr kNoFrame = ~PhysAddr{0};

constexpr PhysAddr physical(DeviceId device, std::uint64_t offset) {
  return (static_cast<PhysAddr>(device) << kDeviceShift) | offset;
}
constexpr DeviceId device_of(PhysAddr a) {
  return static_cast<DeviceId>(a >> kDeviceShift);
}
constexpr std::uint64_t offset_of(PhysAddr a) {
  return a & ((PhysAddr{1} << kDeviceShift) - 1);
}

// "gpu3", "cpu0", "nic1".
inline std::string device_name(DeviceId d) {
  if (d >= kFirstNic) return "nic" + std::to_string(d - kFirstNic);
  return d < kFirstCpu ? "gpu" + std::to_string(d) : "cpu" + std::to_string(d - kFirstCpu);
}

// Beside the frame a translation says, in a bit that no frame needs, that the page must not be written: it
// has copies (memory.remote_touch = duplicate).
inline constexpr PhysAddr kReadOnly = PhysAddr{1} << 47;
constexpr PhysAddr read_only(PhysAddr frame) {
  return frame | kReadOnly;
}
constexpr bool is_read_only(PhysAddr frame) {
  return frame != kNoFrame && (frame & kReadOnly) != 0;
}

enum class Access : std::uint8_t { read, write };

// What a memory request is for: a warp's access, a copy engine's, a dirty line that leaves a cache, the
// context of a thread block that is saved or restored, the write of page-table entries, or a page walk's read
// of an entry, of the root (walk) or n levels below it (walk_read(n)).
enum class RequestKind : std::uint8_t { data, copy, write_back, context, table_write, walk };

constexpr RequestKind walk_read(unsigned levels_below_root) {
  return static_cast<RequestKind>(static_cast<unsigned>(RequestKind::walk) + levels_below_root);
}
constexpr bool is_walk(RequestKind k) {
  return k >= RequestKind::walk;
}

// On whose behalf a request is made. It stays with the request up to the DRAM queue; of several that a cache
// merges, that of the first.
struct Requester {
  std::uint8_t space = 0;  // address space
  std::uint8_t application = 0;
  RequestKind kind = RequestKind::data;
  friend bool operator==(Requester const&, Requester const&) = default;
};
// Nobody waits for a line that is written back.
inline constexpr Requester kWriteBack{0, 0, RequestKind::write_back};

// What a response says of where it comes from, so that whoever asked can count it for what it was asked for:
// shared devices need not know kernels. Of a memory access: the L2 cache of its device had the line (a write
// too), or had not.
//
// Of a translation: who had it. The L2 TLB; the GMMU, in the GPU's own page table; the IOMMU; or it comes
// from a fault: no table mapped the page to this frame when the translation was requested. A TLB that a
// translation fills passes on what it was told, to all who have waited.
//
// Or there is none: the access is faulted, whoever made it keeps it, and asks again when the page is
// replayed. The replay is a translation that nobody has asked for, to each GPU that was told so. It says
// where the page is now or, without a frame, no more than that it may be asked for again. It travels behind
// all that was said of the page before, and is no entry of a TLB.
//
// A page that has been on another device, and was to move, is replayed as `settled`: it is where the driver
// has left it. That translation is used as it is, and enters the TLBs: were it to be asked for again, the
// page could leave each time before the access is made. An invalidation that follows finds it.
//
// Of a fault that is `unrecorded` the asker is to keep a record, and to send the fault to the driver.
//
// Where the driver serves faults in batches, one replay may be of every page (kEveryPage): whoever keeps
// accesses makes all of them again.
enum class FoundBy : std::uint8_t {
  memory,
  cache,
  l2_tlb,
  gmmu,
  iommu,
  fault,
  nothing,
  replay,
  settled,
  unrecorded,
};
inline constexpr std::uint64_t kEveryPage = ~std::uint64_t{0};
constexpr bool is_replay(FoundBy f) {
  return f == FoundBy::replay || f == FoundBy::settled;
}

// Consecutive whole cache lines that travel as one message: `more` beside the one that is addressed. The
// message arrives with the first of them, each following one `gap` picoseconds after the one before it. The
// lines lie in one block of memory: in one page, L2 slice, DRAM channel and row (parts/train.hpp).
struct Train {
  std::uint32_t more = 0;
  std::uint32_t gap = 0;

  std::uint32_t lines() const { return more + 1; }
  // From the first line to line `i`, and to the last.
  Duration until(std::uint32_t i) const { return Duration{std::int64_t{gap} * i}; }
  Duration length() const { return until(more); }
};

// To an L2 slice, a DRAM channel, a NIC's memory or the RDMA engine. `from` selects the response port, `tag`
// is for the sender alone.
struct MemRequest {
  PhysAddr address;
  std::uint32_t tag;
  std::uint16_t from;
  Access access;
  std::uint8_t bytes;  // of each line: 1 to 128
  Requester requester{};
  std::uint8_t unused = 0;
  Train train{};
  std::uint32_t unused_too = 0;
};

// The lines of a train may be answered by several responses, in any order. The stages are those of the first
// line; the others were longer where the train is.
struct MemResponse {
  PhysAddr address;
  std::uint32_t tag;
  Access access;
  FoundBy found_by = FoundBy::memory;
  std::uint8_t unused[2] = {};
  Train train{};
  MemoryStages stages{};
  std::uint32_t unused_too = 0;
};

// From an SM to its scalar cache, and back. `sm` is the SM's number there, `warp` for the SM alone. Addresses
// are virtual, or those of the kernel's arguments. `launch` counts the kernels that the application has
// launched.
struct ScalarRequest {
  VirtAddr address;
  std::uint32_t launch;
  std::uint16_t sm;
  std::uint16_t warp;
  Requester requester{};
  std::uint8_t unused[5] = {};
};
// The data is there: it was in the cache, or had to be read. Before that may come that the page of the
// request is faulted, and then that it is asked for again.
enum class ScalarStatus : std::uint8_t { hit, missed, faulted, replayed };
struct ScalarResponse {
  std::uint32_t warp;
  ScalarStatus status = ScalarStatus::missed;
  std::uint8_t unused[3] = {};
};

struct TranslateRequest {
  std::uint64_t page;  // virtual page number
  std::uint32_t from;
  std::uint8_t application = 0;  // on whose behalf; of several that a TLB merges, that of the first
  Access access = Access::read;  // the same
  std::uint8_t warp = 0;         // the same: its slot, of a request of an SM
  std::uint8_t stalled = 0;      // warps, of a request of an SM: see WalkPressure
};

// What a page table says of a page: the frame of the page that holds it, and that page's size.
struct PageTranslation {
  PhysAddr frame = kNoFrame;
  std::uint8_t size = 0;

  friend bool operator==(PageTranslation const&, PageTranslation const&) = default;
  bool allows(Access access) const { return access == Access::read || !is_read_only(frame); }
  // Of base page `page` in the page.
  PageTranslation base_page(std::uint64_t page, unsigned page_bits) const {
    return {frame + ((page & ((std::uint64_t{1} << size) - 1)) << page_bits), 0};
  }
  // The physical address of a virtual one in the page.
  PhysAddr physical_of(VirtAddr address, unsigned page_bits) const {
    return (frame & ~kReadOnly) | (address & ((std::uint64_t{1} << (page_bits + size)) - 1));
  }
};

// Why: no table maps the page; it is on another device than the GPU that touches it, and is to move there; or
// it is moving. Of the driver's answer: the GPU has a copy of the page, of which nobody else is told.
enum class FaultKind : std::uint8_t { not_mapped, remote, moving, copied };

struct TranslateResponse {
  std::uint64_t page;
  PhysAddr frame;
  std::uint32_t tag;
  FoundBy found_by = FoundBy::gmmu;
  std::uint8_t size = 0;
  FaultKind kind = FaultKind::not_mapped;  // of what is not recorded
  std::uint8_t unused[1] = {};
  TranslationStages stages{};

  PageTranslation translation() const { return {frame, size}; }
};

// What becomes of a page that moves (unmap, flush, remap), is freed (forget, flush) or allocated (map); or of
// a GPU's copy of it (map, drop), which that GPU alone knows.
enum class MoveStep : std::uint8_t { unmap, flush, remap, forget, map, drop };

// A page leaves its frame: translations to it become invalid (unmap), or, when all are, the L2 slices of the
// GPU that has it write back and drop its lines (flush). Or it has got one, of this GPU (map). `move` is its
// number among the pages that the driver moves.
struct Invalidate {
  std::uint64_t page;
  PhysAddr frame;
  std::uint32_t move;
  MoveStep step = MoveStep::unmap;
  std::uint8_t size = 0;
  std::uint8_t all = 0;  // to an SM or a scalar cache: its TLB is emptied, not of this page alone
  std::uint8_t unused[1] = {};
};
// No translation to the frame is left there, and no access that used one is under way; or no line of it; or
// the page is mapped.
struct Invalidated {
  std::uint32_t move;
};

enum class PacketKind : std::uint8_t {
  read_request,
  write_request,
  read_response,
  write_response,
  translate_request,
  translate_response,
  invalidate_request,
  invalidate_response,  // of a flush or a mapping as well
  flush_request,
  map_request,
  page_fault,
  fault_order,
};
inline constexpr std::uint8_t kPacketKinds = 12;

// Requests and responses use separate virtual channels, so that responses always get through. An invalidation
// uses the response channel, and the route of the translations of its page: it must not overtake an earlier
// translation response.
enum class Channel : std::uint8_t { request, response };
inline constexpr std::uint8_t kChannels = 2;

constexpr Channel channel_of(PacketKind k) {
  return k == PacketKind::read_request || k == PacketKind::write_request ||
                 k == PacketKind::translate_request || k == PacketKind::page_fault
             ? Channel::request
             : Channel::response;
}

struct Packet {
  std::uint64_t address;  // physical of a memory access, virtual page number of a translation
  PhysAddr frame;         // of a translation response, an invalidation, a flush, or a page allocated; of a
                          // memory access its Train
  std::uint32_t tag;
  NodeId source;
  NodeId destination;
  std::uint16_t payload;  // bytes on the wire beside the header, of each line
  std::uint16_t via;      // the receiver's number of the link it came over
  PacketKind kind;
  std::uint8_t bytes;    // of the access; of a translation response, an invalidation or a page allocated that
                         // page's size; of a translation request its Access; of a fault its FaultKind,
                         // and kRaisedByWrite
  std::uint16_t device;  // the requesting GPU, of a translation or a page fault; of a response, to a memory
                         // access or a translation: how long its sender had the request (pack_duration)
  std::uint32_t flow;    // which of equally short routes it takes from here on
  FoundBy found_by;      // of a response
  Requester requester;   // of a memory access; of a translation request or a fault the application alone

  Train train() const { return kind < PacketKind::translate_request ? std::bit_cast<Train>(frame) : Train{}; }
  void set_train(Train t) {
    if (kind < PacketKind::translate_request) frame = std::bit_cast<PhysAddr>(t);
  }
  // The first lines of the train go ahead of it: these are left.
  void leave(std::uint32_t lines) {
    auto t = train();
    t.more -= lines;
    set_train(t);
    address += std::uint64_t{lines} * bytes;
  }
};

// Of a fault packet: beside the FaultKind.
inline constexpr std::uint8_t kRaisedByWrite = 0x80;

// Buffer space returned to the sender of a link.
struct Credit {
  std::uint16_t link;  // the sender's number of the link
  std::uint16_t channel;
  std::uint32_t bytes;
};

// Kernels are numbered over all applications (applications.hpp); `launch` counts those that this application
// has launched, from 0.
struct LaunchKernel {
  std::uint32_t kernel;
  std::uint32_t launch;
};
// `reports`: messages of KernelCounts about the kernel that its sender has sent with this one.
struct KernelDone {
  std::uint32_t gpu;
  std::uint32_t kernel;
  std::uint32_t reports = 0;
};
struct StartBlock {
  std::uint64_t block;
  std::uint32_t kernel;
  std::uint32_t launch;
};
struct BlockDone {
  std::uint64_t block;
  std::uint32_t sm;
  std::uint32_t kernel;
  std::uint32_t reports = 0;
  std::uint32_t unused = 0;
};
// By how much the counters of an SM have grown on behalf of a kernel: of some, from the `first` on, in the
// order of SmStats, seven bits to a byte (kernel_counts.hpp). From an SM to the dispatcher with the BlockDone
// of the kernel's last block there, and from there to the host with the KernelDone. It is there before these:
// it leaves when they do, over a link as long, to a port that comes before theirs.
struct KernelCounts {
  static constexpr std::uint32_t kBytes = 34;
  std::uint32_t kernel;
  std::uint8_t first = 0;
  std::uint8_t count = 0;  // of bytes
  std::array<std::uint8_t, kBytes> bytes{};
};

// From the host to the driver: an operation of a stream that copies, allocates or frees. Addresses name the
// address space. Back, when it has ended.
struct MemoryOrder {
  VirtAddr first;
  std::uint64_t bytes;
  std::uint32_t stream;
  OperationKind kind;
  std::uint8_t unused[3] = {};
};
struct MemoryOrderDone {
  std::uint32_t stream;
};

// From the host to every GPU, once all have reported the last block of a kernel: write back what is dirty.
struct KernelEnd {
  std::uint32_t kernel;
};
// To an L2 slice: write back what is dirty of the page at `frame`, and drop the page; or of everything (no
// frame), at the end of a kernel. Back, to the asker, when that is done. `number` is for the asker alone.
struct Flush {
  PhysAddr frame;
  std::uint32_t number;
  std::uint16_t from;
  std::uint8_t size = 0;  // of the page
  std::uint8_t unused = 0;
};
struct Flushed {
  std::uint32_t number;
};

// Where the driver serves faults in batches: from the L2 TLB to the GMMU, for each SM or scalar cache
// (`client`) that is told that the page is faulted. An entry of the GPU's fault buffer.
struct RawFault {
  std::uint64_t page;
  std::uint16_t client;
  std::uint8_t application = 0;
  Access access = Access::read;
  std::uint8_t unused[4] = {};
};

// What a PageFault says: the driver is to serve this one; or, in batches: the buffer is no longer empty; one
// of its entries; all that the driver has asked for are there, `entry` of them.
enum class FaultNote : std::uint8_t { serve, interrupt, entry, drained };

// A fault from the IOMMU to the driver, or from the GMMU of `gpu`, which has a record of it then
// (`kept_by_gpu`). Back, to the IOMMU of that GPU: where the page is now, or that it is nowhere (no frame).
struct PageFault {
  std::uint64_t page;
  std::uint16_t gpu;
  std::uint16_t iommu;
  std::uint32_t entry;  // for whoever keeps the fault; of an entry of the buffer the client that raised it
  FaultKind kind;
  std::uint8_t kept_by_gpu = 0;
  std::uint8_t application = 0;  // that of the request that raised it
  FaultNote note = FaultNote::serve;
  Access access = Access::read;  // that raised it
  std::uint8_t unused[3] = {};
  Time raised{};  // of an entry of the buffer: when it was written
};

// From the driver to the GMMU of `gpu`. Send up to `entries` entries of the fault buffer, which are free then
// (drain); make all faulted accesses again (replay), and empty the buffer before (flush_replay). With
// `retry`, a drain has the accesses made again whose faults found no room in the buffer.
enum class FaultOrderKind : std::uint8_t { drain, replay, flush_replay };
struct FaultOrder {
  std::uint32_t entries = 0;
  std::uint16_t gpu = 0;
  FaultOrderKind kind = FaultOrderKind::drain;
  std::uint8_t retry = 0;
};
struct PageMapped {
  std::uint64_t page;
  PhysAddr frame;
  std::uint32_t entry;
  std::uint8_t size = 0;
  FaultKind kind = FaultKind::not_mapped;
  std::uint16_t keeper = 0;  // of the record: 0 the IOMMU, n the GMMU of GPU n - 1
};

// From the driver to every IOMMU: the page leaves `frame`; then, where software keeps the partitions of an L2
// cache coherent: the old GPU drops its lines; at last: the page is at `frame` from now on. A page that is
// freed leaves its frame likewise, but is not at another one then; one that is allocated gets a frame. A
// frame that may only be read, and is not where the page is, is that of a copy.
struct PageMove {
  std::uint64_t page;
  PhysAddr frame;
  std::uint32_t move;
  MoveStep step;
  std::uint8_t size = 0;
  std::uint8_t unused[2] = {};
};
// Back, but for a remap. After an unmap, or when the page is to be forgotten: no GPU behind this IOMMU can
// reach the frame any more; after a flush: no L2 slice of one holds a line of it; after a map: the tables
// here have it.
struct StepDone {
  std::uint32_t move;
};
// To a copy engine: at least a byte, on behalf of an application; and back when all is written. `tag` is for
// the asker alone.
struct CopyOrder {
  PhysAddr from;
  PhysAddr to;
  std::uint32_t bytes;
  std::uint32_t tag;
  std::uint8_t space = 0;
  std::uint8_t application = 0;
  std::uint8_t unused[6] = {};
};
struct CopyDone {
  std::uint32_t tag;
};

// From the driver to a GPU's dispatcher: of pages that have left the GPU for want of room. And from there to
// an SM: how many of its blocks may have begun and wait, and whether it stops issuing.
struct PageLifetimes {
  std::uint64_t pages = 0;
  std::uint64_t premature = 0;    // pages that faulted and came again after an eviction
  std::uint64_t lifetime_ps = 0;  // from arrival to eviction, summed
};
struct BlockControl {
  std::uint32_t extra = 0;
  std::uint32_t stopped = 0;
};
// From the driver to a GPU's dispatcher: its SMs stop issuing, while pages are moved within its memory, or go
// on.
struct GpuStall {
  std::uint64_t stalled = 0;
};

// From an SM or a scalar cache to the driver, where it wants to know: a use of a page (parts/page_uses.hpp).
struct PageUse {
  std::uint64_t page;
  std::uint16_t gpu;
  Access access = Access::read;
  std::uint8_t unused[5] = {};
};

// How much page walks hold up the applications of a GPU: from its L2 TLB to each of its DRAM channels, once
// in a while, where the DRAM scheduler wants to know (memory/dram_scheduler.hpp). Of application first + i it
// is the most misses that the L2 TLB had outstanding at once, times the most warps of an SM that waited for
// one translation, each 63 at most: counters of six bits. An SM says with each request for how many warps
// that was since its last one of the application.
struct WalkPressure {
  static constexpr std::uint32_t kApplications = 16;
  static constexpr std::uint8_t kMost = 63;
  std::uint32_t first = 0;
  std::array<std::uint16_t, kApplications> of{};
};

struct Tick {};

static_assert(Message<WalkPressure>);
static_assert(Message<MemRequest> && Message<MemResponse> && Message<TranslateRequest> &&
              Message<TranslateResponse>);
static_assert(Message<ScalarRequest> && Message<ScalarResponse>);
static_assert(Message<Packet> && Message<Credit> && Message<StartBlock> && Message<BlockDone> &&
              Message<Tick>);
static_assert(Message<KernelDone> && Message<KernelCounts>);
static_assert(Message<Flush> && Message<Flushed> && Message<MemoryOrder> && Message<MemoryOrderDone>);
static_assert(Message<RawFault> && Message<FaultOrder> && Message<PageLifetimes> && Message<BlockControl>);
static_assert(Message<PageUse>);
static_assert(Message<Invalidate> && Message<PageFault> && Message<PageMove> && Message<CopyOrder>);

}  // namespace farfault
