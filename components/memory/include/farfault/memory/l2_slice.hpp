// SPDX-License-Identifier: Apache-2.0
// Slice of a device's last-level cache, or of a cache in front of a DRAM channel: a bank with tags, MSHRs and
// a response port. The model: docs/model/memory.md.
//
// - Timing: a request takes `cycles_per_line` cycles of the slice, in order of arrival (simultaneous ones in
//   port order). A hit responds `latency` cycles later; a response takes the response port as long. `ports`
//   sets the number of look-ups, and of responses, per cycle.
// - Write-back; a write miss allocates its line without a fetch.
// - Misses go to one or several DRAM channels, or slices of a cache in front of them.
// - Back-pressure: a request without an MSHR, a credit or room for its victim stalls all later ones, except
//   page-walk reads that overtake them: in a place for such reads (walk_queue), or past the cache
//   (walk_reads.hpp). These stall in order among themselves, and go first when a resource is free.
// - Guarantees: a dirty line is never read from memory. Requests of other partitions cause no cyclic wait
//   (FarState).
#pragma once

#include <array>
#include <string>
#include <tuple>
#include <vector>

#include "farfault/engine/component.hpp"
#include "farfault/engine/params.hpp"
#include "farfault/memory/cache.hpp"
#include "farfault/memory/l2_cache_params.hpp"
#include "farfault/memory/walk_reads.hpp"
#include "farfault/parts/address_map.hpp"
#include "farfault/parts/mshr.hpp"
#include "farfault/parts/part_time.hpp"
#include "farfault/parts/ports.hpp"
#include "farfault/parts/ring.hpp"
#include "farfault/parts/train.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

struct L2SliceSpec {
  L2CacheParams params;
  std::string kind = "l2_slice";                             // of the series in the results
  std::string replacement_key = "gpu.l2_cache.replacement";  // parameter that selects it
  Clock clock{1'000'000'000};
  std::uint32_t index = 0;
  DeviceId device = 0;
  std::uint32_t line_bytes = 64;
  AddressMap memory;                  // of the slices of all partitions
  std::uint32_t in_partition = 0;     // slices per partition; 0: all
  AddressMap channels;                // an address belongs to the slice's channel number
  std::uint32_t banks = 1;            // channels.slice(offset) / banks
  std::uint32_t dram_channels = 1;    // of this slice
  std::uint32_t dram_credits = 32;    // per channel
  std::uint32_t walk_credits = 0;     // per channel, for reads of page walks only; 0: they use dram_credits
  std::uint32_t queue = 1024;         // maximum requests, by the credits of the clients
  std::uint32_t cycles_per_line = 1;  // cycles of a request and of a response
  std::uint32_t train = 1;            // maximum lines per message
  std::uint32_t train_block = 64;     // bytes, a power of two; no train crosses a block boundary
  std::uint16_t dram_port = 0;        // number of this slice among the clients of its channels
  std::uint32_t flushes = 0;          // maximum outstanding flush requests; 0: no flushes
  std::vector<Duration> to_client = {};  // additional latency of responses, by client; empty: none
  unsigned page_bits = 12;
  std::uint32_t walk_levels = 4;               // of page tables: maximum depth of page-walk reads
  std::vector<std::string> applications = {};  // names of the applications that make requests

  WalkReads::Setup walk_reads() const { return {clock, walk_levels}; }
};

// Requests of warps and of page walks. Copies and write-backs are not counted by application.
struct L2RequesterStats {
  std::uint64_t data_requests = 0;
  std::uint64_t data_hits = 0;
  std::uint64_t walk_reads = 0;
  std::uint64_t walk_hits = 0;

  static std::span<Stat<L2RequesterStats> const> list() {
    using S = L2RequesterStats const&;
    static constexpr auto all = std::to_array<Stat<L2RequesterStats>>({
        {"data_requests", "count", "Warp requests", StatKind::counter, [](S s) { return s.data_requests; }},
        {"data_hits", "count", "Warp requests that hit", StatKind::counter, [](S s) { return s.data_hits; }},
        {"walk_reads", "count", "Page-walk reads", StatKind::counter, [](S s) { return s.walk_reads; }},
        {"walk_hits", "count", "Page-walk reads that hit", StatKind::counter,
         [](S s) { return s.walk_hits; }},
    });
    return all;
  }
};

struct L2SliceStats {
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t writebacks = 0;
  std::uint64_t mshr_stalls = 0;
  std::uint64_t far_misses = 0;
  std::uint64_t far_requests = 0;
  std::uint64_t kernel_end_writebacks = 0;
  std::uint64_t page_writebacks = 0;
  std::uint64_t copy_requests = 0;
  std::uint64_t copy_hits = 0;
  std::uint64_t busy_ps = 0;
};

struct L2Waiter {
  std::uint32_t tag = 0;
  std::uint16_t from = 0;
  std::uint8_t far = 0;  // the requester is a slice of another partition
  // cache: a hit here or in the home slice, not in a memory-side cache.
  FoundBy found_by = FoundBy::memory;
  Time since{};  // end of its look-up
};

// Forwarded write: its request, and the number of lines that are not acknowledged.
struct FarWrite {
  L2Waiter waiter{};
  std::uint32_t lines = 0;
};

// Outstanding accesses to slices of other partitions; empty without partitions. They have separate queues and
// MSHRs at both ends, so that no cyclic wait is possible; a slice alternates between its two queues.
struct FarState {
  FarState() = default;
  explicit FarState(L2CacheParams const& p);
  auto members() { return std::tie(mshrs, writes, free_writes, credits, stalled, turn); }

  MshrTable<L2Waiter> mshrs;     // lines read from their home
  std::vector<FarWrite> writes;  // forwarded; the tag is the index
  FreeNumbers free_writes;
  std::vector<std::uint32_t> credits;  // by partition: of the home slice there
  Ring<MemRequest> stalled;            // requests of other partitions, in order
  std::uint64_t turn = 0;              // 1: these requests are next when a resource is free
};

// Flushes for the dispatcher (end of a kernel) and the GMMU (a page moves away), one at a time. Dirty lines
// are written to memory, one per cycle within the credits; the response follows the last acknowledgement.
// Flushes do not wait for earlier write-backs.
struct FlushState {
  Ring<Flush> pending;       // the first one is in progress
  std::uint64_t next = 0;    // next place in the cache to check
  std::uint64_t writes = 0;  // not acknowledged yet
};

struct L2SliceState {
  Cache cache;
  Policy<WalkReads> walk_reads;
  MshrTable<L2Waiter> mshrs;
  std::vector<std::uint8_t> passing;  // by MSHR, if reads may bypass the cache: its line is not kept
  MshrTable<L2Waiter> own_mshrs;      // for reads that bypass the cache, if they have separate MSHRs
  Ring<MemRequest> stalled;           // in order, behind a request without an MSHR
  Ring<MemRequest> stalled_walks;     // page-walk reads that overtake them
  Ring<std::uint64_t> writebacks;     // lines that wait for a DRAM credit
  Ports ports;
  Ports response_ports;
  std::vector<std::uint32_t> dram_credits;  // by channel of this slice
  std::vector<std::uint32_t> walk_credits;  // the same, for reads of page walks
  FarState far;
  FlushState flush;
  PartTime stall;  // any request is stalled
  L2SliceStats stats;
  ByApplication<L2RequesterStats> by_requester;

  void count_request(MemRequest const& m) {
    auto const lines = m.train.lines();
    (m.access == Access::read ? stats.reads : stats.writes) += lines;
    auto const kind = m.requester.kind;
    if (kind == RequestKind::data) by_requester[m.requester.application].data_requests += lines;
    if (is_walk(kind)) by_requester[m.requester.application].walk_reads += lines;
    if (kind == RequestKind::copy) stats.copy_requests += lines;
  }
  void count_hit(Requester const& r) {
    ++stats.hits;
    if (r.kind == RequestKind::data) ++by_requester[r.application].data_hits;
    if (is_walk(r.kind)) ++by_requester[r.application].walk_hits;
    if (r.kind == RequestKind::copy) ++stats.copy_hits;
  }

  static std::span<Stat<L2SliceState> const> list() {
    using S = L2SliceState const&;
    static constexpr auto all = std::to_array<Stat<L2SliceState>>({
        {"reads", "count", "Read requests, page-walk reads included", StatKind::counter,
         [](S s) { return s.stats.reads; }},
        {"writes", "count", "Write requests", StatKind::counter, [](S s) { return s.stats.writes; }},
        {"hits", "count", "Requests that hit", StatKind::counter, [](S s) { return s.stats.hits; }},
        {"misses", "count", "Requests that missed", StatKind::counter, [](S s) { return s.stats.misses; }},
        {"writebacks", "count", "Evicted dirty lines written to DRAM", StatKind::counter,
         [](S s) { return s.stats.writebacks; }},
        {"mshr_stalls", "count", "Requests stalled without a free MSHR", StatKind::counter,
         [](S s) { return s.stats.mshr_stalls; }},
        {"far_misses", "count", "Requests sent to another partition's slice or memory", StatKind::counter,
         [](S s) { return s.stats.far_misses; }},
        {"far_requests", "count", "Requests of other partitions, counted as hits or misses of this slice",
         StatKind::counter, [](S s) { return s.stats.far_requests; }},
        {"kernel_end_writebacks", "count", "Dirty lines written to memory at the end of a kernel",
         StatKind::counter, [](S s) { return s.stats.kernel_end_writebacks; }},
        {"page_writebacks", "count", "Dirty lines flushed by page migration", StatKind::counter,
         [](S s) { return s.stats.page_writebacks; }},
        {"copy_requests", "count", "Copy-engine requests", StatKind::counter,
         [](S s) { return s.stats.copy_requests; }},
        {"copy_hits", "count", "Copy-engine requests that hit", StatKind::counter,
         [](S s) { return s.stats.copy_hits; }},
        {"busy_time", "ps", "Busy time of the look-up ports, divided by their number", StatKind::counter,
         [](S s) { return s.stats.busy_ps / s.ports.number(); }},
        {"mshr_stall_time", "ps", "Time with requests stalled without a free MSHR or write-back entry",
         StatKind::counter, [](S s) { return s.stall.ps(); }},
    });
    return all;
  }
};

class L2Slice final : public Component<L2SliceSpec, L2SliceState> {
 public:
  explicit L2Slice(Slot<L2SliceSpec> slot);
  In<MemRequest> request = in<&L2Slice::on_request>("request");
  In<MemResponse> filled = in<&L2Slice::on_dram>("filled");
  Out<MemResponse> response = out<MemResponse>("response");
  Out<MemRequest> dram = out<MemRequest>("dram");
  // Only if there are other partitions, and a client that flushes.
  In<MemRequest> far_request;
  In<MemResponse> home_response;
  Out<MemResponse> far_response;
  Out<MemRequest> home_request;
  In<Flush> flush;
  Out<Flushed> flushed;

  std::string_view kind() const override { return spec().kind; }
  std::string waiting_for() const override;
  L2SliceState initial() const override;
  ApplicationStats application_stats() const override;
  std::vector<PolicyStats> policy_stats() const override;

  void on_request(MemRequest const& m, Cx& cx) const;
  void on_dram(MemResponse const& m, Cx& cx) const;
  void on_far_request(MemRequest const& m, Cx& cx) const;
  void on_home_response(MemResponse const& m, Cx& cx) const;
  void on_flush(Flush const& m, Cx& cx) const;

  // Calls f(address, whether this is its home slice) for each cached line.
  template <class F>
  void each_line(F&& f) const {
    state().cache.each_line([&](std::uint64_t line) {
      auto const address = address_of(line);
      f(address, partition_of(address) == partition());
    });
  }

 private:
  // Additional latency to and from a client.
  Duration further(std::uint32_t client) const {
    return spec().to_client.empty() ? Duration::zero() : spec().to_client[client];
  }
  bool settle(L2SliceState& s, Time at) const override { return s.stall.settle(at); }
  // Lines of one event that form one message, such as lines of a train with equal responses, or its misses;
  // sent when a line does not continue the run.
  struct Run {
    PhysAddr address = 0;
    Time first{};
    Time last{};
    std::uint32_t tag = 0;
    std::uint32_t lines = 0;  // 0: empty
    std::uint16_t to = 0;     // port, channel or partition
    Access access = Access::read;
    FoundBy found_by = FoundBy::memory;
    Requester requester{};
    std::uint8_t bytes = 0;  // per line
    std::uint8_t far = 0;    // to a slice of another partition
    MemoryStages stages{};   // of a response: stages of its first line

    Train train() const { return train_between(first, last, lines - 1); }
    // Begins with one line. Field by field: building a whole Run and copying it in wider pieces would stall
    // on the preceding stores.
    void begin(PhysAddr a, Access kind, Time at, std::uint32_t its_tag, std::uint16_t where) {
      address = a;
      first = at;
      last = at;
      tag = its_tag;
      lines = 1;
      to = where;
      access = kind;
    }
  };
  struct Outgoing {
    Run responses;
    Run to_memory;
    Run to_home;
  };
  bool continues(Run const& run, PhysAddr address, Access access, std::uint16_t to) const {
    return run.lines != 0 && run.lines < spec().train &&
           address == run.address + std::uint64_t{run.lines} * spec().line_bytes && access == run.access &&
           to == run.to && (address ^ run.address) < spec().train_block;
  }
  void send_responses(Run& run, Cx& cx) const;
  void send_to_memory(Run& run, Cx& cx) const;
  void send_to_home(Run& run, Cx& cx) const;
  void send_all(Outgoing& outgoing, Cx& cx) const;

  // False if lines must stall; `m` is then reduced to these lines.
  bool serve(MemRequest& m, bool far, Outgoing& outgoing, Cx& cx) const;
  // True if the request is a page-walk read that bypasses the cache; never for a dirty line, because
  // memory has an old copy of it.
  bool bypasses(MemRequest const& m, Cx& cx) const;
  // Takes no cycle of the slice. The read has an MSHR or merges with an outstanding read of its line; a
  // cached read that merges with it fills the line. Only bypassing reads merge with one in `own_mshrs`. False
  // if it must stall.
  [[gnu::noinline]] bool bypass(MemRequest const& m, Outgoing& outgoing, Cx& cx) const;
  [[gnu::noinline]] bool bypass_with_own_mshr(MemRequest const& m, Outgoing& outgoing, Cx& cx) const;
  [[gnu::noinline]] void on_bypass_response(MemResponse const& m, Outgoing& outgoing, Cx& cx) const;
  // True if it overtakes stalled requests and waits only for earlier requests that do.
  bool overtakes(MemRequest const& m, Cx& cx) const {
    return (overtakes_ && bypasses(m, cx)) || (spec().params.walk_queue != 0 && has_place(m, cx.state()));
  }
  bool has_place(MemRequest const& m, L2SliceState const& s) const {
    return is_walk(m.requester.kind) && m.access == Access::read &&
           s.stalled_walks.size() < spec().params.walk_queue;
  }
  static bool stalls(L2SliceState const& s) {
    return !s.stalled.empty() || !s.far.stalled.empty() || !s.stalled_walks.empty();
  }
  // Serves one line of a request that has `left` lines, including this one; false if they must stall. A miss
  // needs room for all of them.
  bool serve_line(MemRequest const& m, bool far, std::uint32_t left, Time at, Outgoing& outgoing,
                  Cx& cx) const;
  bool serve_from_home(MemRequest const& m, std::uint64_t line, std::uint32_t left, L2Waiter waiter,
                       Time looked_up, Outgoing& outgoing, Cx& cx) const;
  bool read_from_home(MemRequest const& m, std::uint64_t line, std::uint32_t left, L2Waiter waiter,
                      Time looked_up, Outgoing& outgoing, Cx& cx) const;
  // Requires a credit of the line's channel.
  void to_memory(PhysAddr line, Access access, std::uint32_t tag, Requester requester, Time at, Run& run,
                 Cx& cx) const;
  void respond(L2Waiter to, PhysAddr address, Access access, Time at, MemoryStages const& stages, Run& run,
               Cx& cx) const;
  void put(std::optional<Cache::Victim> const& victim, Run& to_memory, Cx& cx) const;
  void write_back(Run& to_memory, Cx& cx) const;
  void continue_flushes(Outgoing& outgoing, Cx& cx) const;
  // Issues the writes of a flush; true when all are acknowledged.
  bool write_dirty(Flush const& wanted, Run& to_memory, Cx& cx) const;
  void resume_stalled(Outgoing& outgoing, Cx& cx) const;

  // A filled line may evict a dirty one, so every outstanding fill reserves a write-back entry. Fills from
  // other partitions have separate entries, so that no other fill waits for them.
  static bool has_room_for_victims(L2SliceState const& s, std::uint32_t lines) {
    return s.writebacks.size() + s.mshrs.in_use() + lines <= s.writebacks.capacity() - s.far.mshrs.entries();
  }
  static bool has_room_for_far_victims(L2SliceState const& s, std::uint32_t lines) {
    return s.writebacks.size() + s.mshrs.in_use() + s.far.mshrs.in_use() + lines <= s.writebacks.capacity();
  }

  std::uint32_t partition_of(PhysAddr a) const {
    return spec().in_partition == 0 ? 0 : spec().memory.slice(offset_of(a)) / spec().in_partition;
  }
  std::uint32_t partition() const {
    return spec().in_partition == 0 ? 0 : spec().index / spec().in_partition;
  }
  Time busy_until(Time from) const { return spec().clock.after(from) + other_cycles_; }
  bool has_walk_credits(RequestKind kind) const { return walk_credits_ && is_walk(kind); }
  // Credits for a read.
  std::uint32_t credits(L2SliceState const& s, std::uint32_t channel, RequestKind kind) const {
    return has_walk_credits(kind) ? s.walk_credits[channel] : s.dram_credits[channel];
  }
  std::uint32_t channel_of(PhysAddr a) const { return spec().channels.slice(offset_of(a)) / spec().banks; }
  // Lines are numbered within their home slice, so that the lines of each partition use all sets.
  static constexpr unsigned kPartitionBit = 48;
  std::uint64_t line_of(PhysAddr a) const {
    return spec().memory.local(offset_of(a)) / spec().line_bytes | std::uint64_t{partition_of(a)}
                                                                       << kPartitionBit;
  }
  PhysAddr address_of(std::uint64_t line) const {
    auto const of = static_cast<std::uint32_t>(line >> kPartitionBit);
    auto const home = spec().in_partition == 0
                          ? spec().index
                          : of * spec().in_partition + spec().index % spec().in_partition;
    auto const local = (line & ((std::uint64_t{1} << kPartitionBit) - 1)) * spec().line_bytes;
    return physical(spec().device, spec().memory.offset(home, local));
  }
  bool in_page(std::uint64_t line, Flush const& pending) const {
    return (address_of(line) ^ pending.frame) >> (spec().page_bits + pending.size) == 0;
  }

  Duration other_cycles_{};  // additional cycles of a line after the first cycle
  bool one_port_ = true;
  bool walk_credits_ = false;    // reads of walks have separate credits
  bool may_bypass_ = false;      // reads of walks may bypass the cache
  bool overtakes_ = false;       // bypassing reads overtake stalled requests
  std::uint32_t own_mshrs_ = 0;  // MSHRs for bypassing reads only
  bool counts_stores_ = true;    // in the hit rate of warps' requests
};
extern template class Component<L2SliceSpec, L2SliceState>;  // compiled in l2_slice.cpp

}  // namespace farfault
