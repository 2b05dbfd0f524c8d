// SPDX-License-Identifier: Apache-2.0
// DRAM channel: banks with row buffers, a bounded request queue, a shared data bus, and a scheduler.
//
// - The scheduler (dram_scheduler.hpp) selects the next request, which reserves the data bus. The next
//   selection takes place when the bus will be free within the time of a row conflict, so that accesses to
//   several banks overlap.
// - Bandwidth: saturated and without row misses, the channel delivers exactly `bandwidth`.
// - `controller_latency` models the path between cache and banks beyond the banks' own timing (clock
//   crossings, controller pipeline, PHY). It delays every response and takes no bandwidth.
// - Refresh (off unless t_refi is set): the n-th refresh of all banks takes from n x t_refi for t_rfc, in all
//   channels at the same time. No burst overlaps it, and it closes all rows: of every t_refi, a saturated
//   channel loses t_rfc + t_rcd + t_cl. Refreshes of single banks, which some controllers prefer, are not
//   modelled.
// - Turn-around (off unless t_wtr or t_rtw is set): t_wtr + t_cl between the data of a write and of a read
//   (the read is commanded t_wtr after the data); t_rtw between the data of a read and of a write.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "farfault/engine/component.hpp"
#include "farfault/engine/params.hpp"
#include "farfault/memory/dram_bank.hpp"
#include "farfault/memory/dram_scheduler.hpp"
#include "farfault/parts/address_hash.hpp"
#include "farfault/parts/address_map.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

struct DramParams {
  ByteSize capacity{4096ULL * 1024 * 1024};
  std::uint32_t channels = 0;
  Bandwidth bandwidth{32'000'000'000};
  std::uint32_t banks = 16;
  PolicyChoice<AddressHash> bank_hash{"xor"};
  ByteSize row{2048};
  Duration t_cl = 14ns;
  Duration t_rcd = 14ns;
  Duration t_rp = 14ns;
  Duration t_ras = 33ns;
  Duration controller_latency = Duration::zero();
  std::uint32_t queue = 64;
  std::uint32_t walk_queue = 0;
  PolicyChoice<DramScheduler> scheduler{"frfcfs"};
  Duration t_refi = 0ns;
  Duration t_rfc = 0ns;
  Duration t_wtr = 0ns;
  Duration t_rtw = 0ns;
  void describe(ParamTable& t) {
    t.bytes("capacity", capacity, {ByteSize{1 << 20}, ByteSize{std::uint64_t{1} << 44}},
            "Memory capacity of one GPU or CPU, all channels together",
            "GMMU Bypass (NPC 2020), Table 1: 8 x 512 MB");
    t.count("channels", channels, {0, 1024},
            "DRAM channels. Must divide the number of slices of the last-level cache or be a multiple of it. "
            "0: one per slice",
            "assumed");
    t.bandwidth("bandwidth", bandwidth, {Bandwidth{1'000'000}, Bandwidth{10'000'000'000'000}},
                "Bandwidth of one channel", "assumed: R9 Nano's 512 GB/s of HBM over 16 channels");
    t.count("banks", banks, {1, 1024}, "Banks per channel. Must be a power of two",
            "MGPUSim 4.2, MI300A: 16");
    bank_hash.describe(t, "bank_hash", "Distribution of rows over the banks of a channel",
                       "Zhang et al., MICRO 2000: permuted by the exclusive or of higher bits");
    t.bytes("row", row, {ByteSize{128}, ByteSize{1 << 20}}, "Row-buffer size. Must be a power of two",
            "HBM: 2 KiB pages (JESD235)");
    t.duration("t_cl", t_cl, {1ns, 1us}, "Column command to data", "HBM: 14 ns (JESD235, 500 MHz x 7)");
    t.duration("t_rcd", t_rcd, {1ns, 1us}, "Activate to column command", "HBM: 14 ns");
    t.duration("t_rp", t_rp, {1ns, 1us}, "Precharge to activate", "HBM: 14 ns");
    t.duration("t_ras", t_ras, {1ns, 1us}, "Activate to precharge, minimum", "HBM: 33 ns");
    t.duration(
        "controller_latency", controller_latency, {0ns, 1us},
        "Access latency in addition to the timing of the bank (clock crossings, controller, PHY). 0: none",
        "assumed: 0; the presets of real GPUs state theirs");
    t.count("queue", queue, {1, 4096}, "Maximum queued requests of a channel",
            "Accel-Sim, SM7_QV100: FR-FCFS queue of 64");
    t.count("walk_queue", walk_queue, {0, 4095},
            "Entries of queue for page-walk reads only, which then use no others. Must be below queue. 0: "
            "none, shared by all requests",
            "assumed: 0; MASK (ASPLOS 2018), section 7.4: 16, the golden queue");
    scheduler.describe(t, "scheduler", "Scheduling policy", "FR-FCFS: Rixner et al., ISCA 2000");
    t.duration("t_refi", t_refi, {0ns, 1ms}, "Interval between refreshes of all banks. 0: no refresh",
               "assumed: off; HBM2, HBM3, and DDR4 above 85 C: 3900 ns (JESD235, JESD238, JESD79-4)");
    t.duration("t_rfc", t_rfc, {0ns, 100us}, "Duration of a refresh. 0: no refresh",
               "assumed: off; Ramulator 2, HBM2 and HBM3: 160, 260, 350 and 450 ns at 2, 4, 8 and 16 Gb per "
               "channel; DRAMsim3, HBM2_8Gb_x128: 260")
        .only_when(sibling("t_refi").is_above(0));
    t.duration("t_wtr", t_wtr, {0ns, 1us}, "Turn-around time from write data to a read command. 0: none",
               "assumed: off; DRAMsim3: HBM2_8Gb_x128 6 to 8 ns, DDR4_8Gb_x8_3200 2.5 to 7.5 ns");
    t.duration("t_rtw", t_rtw, {0ns, 1us}, "Turn-around time from read data to write data. 0: none",
               "assumed: off; Ramulator 2, HBM3: 2 cycles of 1 ns; DRAMsim3: 1 cycle");
  }
  // Queue entries for requests other than reads of page walks.
  std::uint32_t shared_queue() const { return queue - walk_queue; }
};

struct DramChannelSpec {
  DramParams params;
  std::string kind = "dram";                   // of the series in the results
  std::string section = "gpu.dram";            // of its parameters
  AddressMap memory{};                         // of all channels of the device
  std::vector<std::string> applications = {};  // names of the applications that make requests
  bool receives_pressure = false;              // the scheduler receives WalkPressure

  DramScheduler::Setup setup() const {
    return {params.queue, static_cast<std::uint32_t>(std::max<std::size_t>(applications.size(), 1))};
  }
};

// Lines read for warps and for page walks.
struct DramRequesterStats {
  std::uint64_t data_reads = 0;
  std::uint64_t walk_reads = 0;

  static std::span<Stat<DramRequesterStats> const> list() {
    using S = DramRequesterStats const&;
    static constexpr auto all = std::to_array<Stat<DramRequesterStats>>({
        {"data_reads", "count", "Lines read for warps", StatKind::counter, [](S s) { return s.data_reads; }},
        {"walk_reads", "count", "Lines read for page walks", StatKind::counter,
         [](S s) { return s.walk_reads; }},
    });
    return all;
  }
};

struct DramStats {
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t row_hits = 0;
  std::uint64_t row_misses = 0;
  std::uint64_t bytes = 0;
  std::uint64_t busy_ps = 0;
  std::uint64_t refresh_stalls = 0;
  std::uint64_t turn_arounds = 0;
  std::uint64_t copies = 0;
};

struct DramChannelState {
  std::vector<DramPending> queue;  // oldest first
  DramBanks banks;
  Policy<DramScheduler> scheduler;
  Time bus_free{};
  Time choose_at = Time::max();     // pending timer, if any
  Time next_refresh = Time::max();  // first refresh that is not applied to the banks yet
  std::uint64_t queued_lines = 0;
  std::uint64_t queued_writes = 0;  // queued lines to write
  Access last = Access::read;       // last access on the bus
  DramStats stats;
  ByApplication<DramRequesterStats> by_requester;
  DepthHistogram queue_depth;  // at arrival of a request

  static std::span<Stat<DramChannelState> const> list() {
    using S = DramChannelState const&;
    static constexpr auto all = std::to_array<Stat<DramChannelState>>({
        {"reads", "count", "Lines read", StatKind::counter, [](S s) { return s.stats.reads; }},
        {"writes", "count", "Lines written", StatKind::counter, [](S s) { return s.stats.writes; }},
        {"row_hits", "count", "Row hits: accesses that found their row open", StatKind::counter,
         [](S s) { return s.stats.row_hits; }},
        {"row_misses", "count", "Row misses and conflicts: accesses that had to open their row",
         StatKind::counter, [](S s) { return s.stats.row_misses; }},
        {"bytes", "bytes", "Bytes transferred", StatKind::counter, [](S s) { return s.stats.bytes; }},
        {"busy_time", "ps", "Busy time of the data bus", StatKind::counter,
         [](S s) { return s.stats.busy_ps; }},
        {"refresh_stalls", "count", "Refreshes that delayed an access", StatKind::counter,
         [](S s) { return s.stats.refresh_stalls; }},
        {"turn_arounds", "count", "Turn-arounds of the data bus between reads and writes", StatKind::counter,
         [](S s) { return s.stats.turn_arounds; }},
        {"copies", "count", "Lines read or written for copy engines", StatKind::counter,
         [](S s) { return s.stats.copies; }},
        Stat<DramChannelState>::of_histogram(
            "queue_depth", "count", "Queue depth seen by an arriving request, in lines",
            [](S s) -> auto const& { return s.queue_depth; }),
    });
    return all;
  }
};

class DramChannel final : public Component<DramChannelSpec, DramChannelState> {
 public:
  explicit DramChannel(Slot<DramChannelSpec> slot);
  In<MemRequest> request = in<&DramChannel::on_request>("request");
  Self<Tick> choose = timer<&DramChannel::on_choose>("choose");
  Out<MemResponse> response = out<MemResponse>("response");
  In<WalkPressure> pressure;  // only if the scheduler uses it

  std::string_view kind() const override { return spec().kind; }
  std::string waiting_for() const override;
  DramChannelState initial() const override;
  ApplicationStats application_stats() const override;
  std::vector<PolicyStats> policy_stats() const override;

  void on_request(MemRequest const& m, Cx& cx) const;
  void on_choose(Tick const& m, Cx& cx) const;
  void on_pressure(WalkPressure const& m, Cx& cx) const;

 private:
  void schedule(Cx& cx) const;
  void transfer(DramPending const& chosen, Cx& cx) const;
  void refresh(DramChannelState& s, Time until) const;
  Time earliest_on_bus(DramChannelState const& s, Access access) const;
  DramTiming timing() const {
    return {spec().params.t_cl, spec().params.t_rcd, spec().params.t_rp, spec().params.t_ras};
  }
  std::optional<BankHash> bank_hash() const;

  std::uint32_t bank_of(std::uint64_t row) const {
    return hash_ ? hash_->bank(row) : static_cast<std::uint32_t>(row) & (spec().params.banks - 1);
  }

  std::optional<BankHash> const hash_ = bank_hash();
};
extern template class Component<DramChannelSpec, DramChannelState>;  // compiled in dram_channel.cpp

}  // namespace farfault
