// SPDX-License-Identifier: Apache-2.0
// Messages between components: trivially copyable, at most 40 bytes. The size of a message on a link is that
// of the modelled protocol (header and Packet::payload), never sizeof.
//
// - A PhysAddr holds the device in its upper 16 bits (GPU g: g; CPU c: kFirstCpu + c; NIC n: kFirstNic + n)
//   and an offset in that device's memory below. A frame is the PhysAddr of a page, on a GPU or a CPU.
// - A page number is always that of a base page (memory.page_size), even within a large page. `size`: log2 of
//   the number of base pages in the page; 0: base page. Large pages and their frames are aligned to their
//   size.
// - The frame in a translation is that of the whole page, for any requested base page in it.
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

// Flag in a translation's frame, in a bit that frames do not use: the page is read-only because it has copies
// (paging/remote_touch.hpp).
inline constexpr PhysAddr kReadOnly = PhysAddr{1} << 47;
constexpr PhysAddr read_only(PhysAddr frame) {
  return frame | kReadOnly;
}
constexpr bool is_read_only(PhysAddr frame) {
  return frame != kNoFrame && (frame & kReadOnly) != 0;
}

enum class Access : std::uint8_t { read, write };

// Purpose of a memory request.
// - data: access of a warp. copy: access of a copy engine. write_back: dirty line of a cache.
// - context: save or restore of a thread block. table_write: write of page-table entries.
// - walk: a page walk's read of an entry of the root. walk_read(n): n levels below the root.
enum class RequestKind : std::uint8_t { data, copy, write_back, context, table_write, walk };

constexpr RequestKind walk_read(unsigned levels_below_root) {
  return static_cast<RequestKind>(static_cast<unsigned>(RequestKind::walk) + levels_below_root);
}
constexpr bool is_walk(RequestKind k) {
  return k >= RequestKind::walk;
}

// Address space, application and kind that a request belongs to. A request carries them as far as the DRAM
// queue. Requests merged in a cache carry the first one's.
struct Requester {
  std::uint8_t space = 0;  // address space
  std::uint8_t application = 0;
  RequestKind kind = RequestKind::data;
  friend bool operator==(Requester const&, Requester const&) = default;
};
// A write-back has no requester that waits for it.
inline constexpr Requester kWriteBack{0, 0, RequestKind::write_back};

// Source of a response, for the requester's statistics: shared devices need not know kernels.
enum class FoundBy : std::uint8_t {
  // A memory access (read or write).
  memory,  // missed the L2 cache of its device
  cache,   // hit it

  // A translation. A TLB passes the source of a fill on to all merged misses.
  l2_tlb,
  gmmu,   // the GPU's own page table
  iommu,  // the IOMMU
  fault,  // the page was mapped by a fault while the request waited at the IOMMU

  // A fault response, without a translation. The requester stalls the access until the page is replayed, then
  // requests the translation again.
  nothing,

  // Sent without a request to each GPU that received `nothing`: the access is issued again. It has the page's
  // current frame or none, stays behind all earlier messages about the page and is not cached in TLBs. With
  // batches of faults, one replay may cover all pages (kEveryPage): all stalled accesses are issued again.
  replay,

  // The replay of a page that was to migrate, after the driver has decided its final device. Its frame is
  // used directly and fills the TLBs: if it were requested again, the page could move each time before the
  // access is made. A later invalidation finds it.
  settled,

  // As `nothing`, but the fault has no record: the requesting GPU records it and sends it to the driver.
  unrecorded,
};
inline constexpr std::uint64_t kEveryPage = ~std::uint64_t{0};
constexpr bool is_replay(FoundBy f) {
  return f == FoundBy::replay || f == FoundBy::settled;
}

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
  PhysAddr address;
  std::uint32_t tag;
  std::uint16_t from;
  Access access;
  std::uint8_t bytes;  // per line: 1 to 128
  Requester requester{};
  std::uint8_t unused = 0;
  Train train{};
  std::uint32_t unused_2 = 0;
};

// Several responses may answer the lines of a train, in any order. The stages describe the first line.
// Later lines spent longer in the stage where the train is.
struct MemResponse {
  PhysAddr address;
  std::uint32_t tag;
  Access access;
  FoundBy found_by = FoundBy::memory;
  std::uint8_t unused[2] = {};
  Train train{};
  MemoryStages stages{};
  std::uint32_t unused_2 = 0;
};

// Between an SM and its scalar cache. `sm` is the SM's number at that cache; `warp` is private to the SM.
// Addresses are virtual, or addresses of kernel arguments. `launch` counts the application's kernel launches.
struct ScalarRequest {
  VirtAddr address;
  std::uint32_t launch;
  std::uint16_t sm;
  std::uint16_t warp;
  Requester requester{};
  std::uint8_t unused[5] = {};
};
// hit, missed: the data has arrived, from the cache or after a fill. Before that, a request may receive
// `faulted` (its page is faulted) and then `replayed` (its translation is requested again).
enum class ScalarStatus : std::uint8_t { hit, missed, faulted, replayed };
struct ScalarResponse {
  std::uint32_t warp;
  ScalarStatus status = ScalarStatus::missed;
  std::uint8_t unused[3] = {};
};

struct TranslateRequest {
  std::uint64_t page;  // virtual page number
  std::uint32_t from;
  std::uint8_t application = 0;  // requester; merged requests carry the first one's
  Access access = Access::read;  // likewise
  std::uint8_t warp = 0;         // likewise: the warp's slot, in an SM's request
  std::uint8_t stalled = 0;      // stalled warps, in an SM's request: see WalkPressure
};

// Content of a page table for a page: the frame and the size of the page that contains it.
struct PageTranslation {
  PhysAddr frame = kNoFrame;
  std::uint8_t size = 0;

  friend bool operator==(PageTranslation const&, PageTranslation const&) = default;
  bool allows(Access access) const { return access == Access::read || !is_read_only(frame); }
  // Translation of base page `page` within this page.
  PageTranslation base_page(std::uint64_t page, unsigned page_bits) const {
    return {frame + ((page & ((std::uint64_t{1} << size) - 1)) << page_bits), 0};
  }
  // Physical address of a virtual address within the page.
  PhysAddr physical_of(VirtAddr address, unsigned page_bits) const {
    return (frame & ~kReadOnly) | (address & ((std::uint64_t{1} << (page_bits + size)) - 1));
  }
};

// Reason for the fault: no table maps the page (not_mapped); the page is on another device and is to migrate
// (remote); it is being migrated (moving). In a driver's response, `copied`: the GPU has a copy of the page,
// which no other GPU uses.
enum class FaultKind : std::uint8_t { not_mapped, remote, moving, copied };

struct TranslateResponse {
  std::uint64_t page;
  PhysAddr frame;
  std::uint32_t tag;
  FoundBy found_by = FoundBy::gmmu;
  std::uint8_t size = 0;
  FaultKind kind = FaultKind::not_mapped;  // if not recorded
  std::uint8_t unused[1] = {};
  TranslationStages stages{};

  PageTranslation translation() const { return {frame, size}; }
};

// Steps of a page that migrates (unmap, flush, remap), is freed (forget, flush) or allocated (map), or of a
// GPU's copy of it (map, drop), which only that GPU knows.
enum class MoveStep : std::uint8_t { unmap, flush, remap, forget, map, drop };

// unmap: translations to the page's frame become invalid. flush: once all are, the L2 slices of the GPU that
// holds the page write back and drop its lines. map: the page has a frame on this GPU. `move` is the page's
// number among the driver's moves.
struct Invalidate {
  std::uint64_t page;
  PhysAddr frame;
  std::uint32_t move;
  MoveStep step = MoveStep::unmap;
  std::uint8_t size = 0;
  std::uint8_t all = 0;  // to an SM or a scalar cache: invalidate the whole TLB, not only this page
  std::uint8_t unused[1] = {};
};
// Acknowledges a step: no translation to the frame and no access that used one is left (unmap); no line of it
// is cached (flush); the page is mapped (map).
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
  invalidate_response,  // also of a flush or a mapping
  flush_request,
  map_request,
  page_fault,
  fault_order,
};
inline constexpr std::uint8_t kPacketKinds = 12;

// Requests and responses use separate virtual channels, so that requests cannot block responses. An
// invalidation uses the response channel and the route of its page's translations: it must not overtake an
// earlier translation response.
enum class Channel : std::uint8_t { request, response };
inline constexpr std::uint8_t kChannels = 2;

constexpr Channel channel_of(PacketKind k) {
  return k == PacketKind::read_request || k == PacketKind::write_request ||
                 k == PacketKind::translate_request || k == PacketKind::page_fault
             ? Channel::request
             : Channel::response;
}

// Message between devices. Fields by kind; a field that is not listed is 0:
//   kind                              address   frame   bytes              device  requester
//   read_request, write_request       physical  Train   per line           -       all
//   read_response, write_response     physical  Train   per line           held    kind
//   translate_request                 page      -       Access             GPU     application
//   translate_response                page      frame   size (1)           held    -
//   invalidate_, flush_, map_request  page      frame   size               -       -
//   invalidate_response               -         -       -                  GPU     -
//   page_fault                        page      raised  FaultKind (2)      GPU     application (3)
//   fault_order                       -         -       FaultOrder::retry  GPU     (3)
// frame, size: of the page. raised: PageFault::raised in ps. GPU: the one that sent the request, the fault or
// the acknowledgement; of a fault_order, the receiver. held: time from the request's arrival to the response
// (pack_duration). (1) FoundBy::unrecorded: FaultKind. (2) with kRaisedByWrite. (3) `space`: FaultNote,
// FaultOrderKind. `tag` is private to the sender of a request; of invalidations the number of the move, of a
// page_fault PageFault::entry, of a fault_order FaultOrder::entries.
struct Packet {
  std::uint64_t address;
  PhysAddr frame;
  std::uint32_t tag;
  NodeId source;
  NodeId destination;
  std::uint16_t payload;  // bytes on the wire in addition to the header, per line
  std::uint16_t via;      // receiver's number of the link on which it arrived
  PacketKind kind;
  std::uint8_t bytes;
  std::uint16_t device;
  std::uint32_t flow;  // selects among equally short routes from here on
  FoundBy found_by;    // responses only
  Requester requester;

  Train train() const { return kind < PacketKind::translate_request ? std::bit_cast<Train>(frame) : Train{}; }
  void set_train(Train t) {
    if (kind < PacketKind::translate_request) frame = std::bit_cast<PhysAddr>(t);
  }
  // Removes the first `lines` lines of the train, which have been sent ahead.
  void leave(std::uint32_t lines) {
    auto t = train();
    t.more -= lines;
    set_train(t);
    address += std::uint64_t{lines} * bytes;
  }
};

// Flag of a fault packet, next to the FaultKind.
inline constexpr std::uint8_t kRaisedByWrite = 0x80;

// Buffer space returned to the sender of a link.
struct Credit {
  std::uint16_t link;  // sender's number of the link
  std::uint16_t channel;
  std::uint32_t bytes;
};

// Kernels are numbered over all applications (applications.hpp). `launch` counts this application's launches,
// from 0.
struct LaunchKernel {
  std::uint32_t kernel;
  std::uint32_t launch;
};
// `reports`: number of KernelCounts messages about the kernel that its sender sent together with this one.
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
// Increments of an SM's counters on behalf of one kernel: a run of counters from number `first` on, in the
// order of SmStats, seven bits per byte (kernel_counts.hpp). The SM sends it to the dispatcher with the
// BlockDone of the kernel's last block there; the dispatcher sends it to the host with the KernelDone. It is
// handled before these: it is sent at the same time, over a link of the same latency, to a port with a lower
// number.
struct KernelCounts {
  static constexpr std::uint32_t kBytes = 34;
  std::uint32_t kernel;
  std::uint8_t first = 0;
  std::uint8_t count = 0;  // used bytes
  std::array<std::uint8_t, kBytes> bytes{};
};

// From the host to the driver: a copy, allocation or free of a stream. Addresses include the address space.
// MemoryOrderDone reports its completion.
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

// From the host to every GPU, after all GPUs have reported the last block of a kernel: write back all dirty
// lines.
struct KernelEnd {
  std::uint32_t kernel;
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

// Entry of the GPU's fault buffer, if the driver serves faults in batches. The L2 TLB sends one to the GMMU
// for each SM or scalar cache (`client`) that receives a fault on the page.
struct RawFault {
  std::uint64_t page;
  std::uint16_t client;
  std::uint8_t application = 0;
  Access access = Access::read;
  std::uint8_t unused[4] = {};
};

// Content of a PageFault: serve: a fault to serve. Batches only: interrupt: the buffer is no longer empty;
// entry: one fault-buffer entry; drained: all requested entries have been sent, `entry` in total.
enum class FaultNote : std::uint8_t { serve, interrupt, entry, drained };

// Fault sent to the driver by the IOMMU, or by the GMMU of `gpu`, which then holds its record
// (`recorded_by_gpu`). The driver answers to the IOMMU of that GPU with the page's frame, or no frame if the
// page is unmapped.
struct PageFault {
  std::uint64_t page;
  std::uint16_t gpu;
  std::uint16_t iommu;
  std::uint32_t entry;  // private to the holder of the record; fault-buffer entry: the client that raised it
  FaultKind kind;
  std::uint8_t recorded_by_gpu = 0;
  std::uint8_t application = 0;  // application of the request that raised it
  FaultNote note = FaultNote::serve;
  Access access = Access::read;  // of the access that raised it
  std::uint8_t unused[3] = {};
  Time raised{};  // fault-buffer entry: time at which it was written
};

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
// From the driver to an IOMMU: answer to a PageFault. frame: of the page; kNoFrame: the page is unmapped.
// entry: that of the PageFault.
struct PageMapped {
  std::uint64_t page;
  PhysAddr frame;
  std::uint32_t entry;
  std::uint8_t size = 0;
  FaultKind kind = FaultKind::not_mapped;
  std::uint16_t recorder = 0;  // holder of the fault's record: 0 the IOMMU, n the GMMU of GPU n - 1
};

// From the driver to every IOMMU. unmap: the page leaves `frame`. flush: the old GPU drops its lines, if
// software keeps the partitions of an L2 cache coherent. remap: the page is at `frame` from now on. A freed
// page is unmapped likewise and gets no new frame; an allocated page gets one. A read-only frame that is not
// the page's own is that of a copy.
struct PageMove {
  std::uint64_t page;
  PhysAddr frame;
  std::uint32_t move;
  MoveStep step;
  std::uint8_t size = 0;
  std::uint8_t unused[2] = {};
};
// Acknowledges each step except remap. unmap, forget: no GPU behind this IOMMU can reach the frame any more.
// flush: none of their L2 slices holds a line of it. map: the tables of this IOMMU contain it.
struct StepDone {
  std::uint32_t move;
};
// To a copy engine: copies at least one byte on behalf of an application. CopyDone follows when all bytes are
// written. `tag` is private to the sender.
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

// From the driver to a GPU's dispatcher: lifetimes of pages evicted from the GPU.
struct PageLifetimes {
  std::uint64_t pages = 0;
  std::uint64_t premature = 0;    // pages that were faulted on again after an eviction
  std::uint64_t lifetime_ps = 0;  // sum of the times from arrival to eviction
};
// From a dispatcher to an SM.
struct BlockControl {
  std::uint32_t extra = 0;    // maximum number of begun blocks that wait (ThreadBlocks::extra)
  std::uint32_t stopped = 0;  // 1: the SM stops issuing
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

// Pressure of page walks on the applications of a GPU: sent periodically by its L2 TLB to each of its DRAM
// channels, if the DRAM scheduler uses it (memory/dram_scheduler.hpp). The value of application first + i is
// the maximum number of outstanding L2 TLB misses times the maximum number of warps of one SM that waited for
// one translation. Each factor saturates at 63: six-bit counters. Each request of an SM carries the maximum
// since the SM's previous request of that application.
struct WalkPressure {
  static constexpr std::uint32_t kApplications = 16;
  static constexpr std::uint8_t kMax = 63;
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
