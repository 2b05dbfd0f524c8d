#include "farfault/memory/dram_channel.hpp"

#include <algorithm>

namespace farfault {

void DramParams::describe(ParamTable& t) {
  t.bytes("capacity", capacity, {ByteSize{1 << 20}, ByteSize{std::uint64_t{1} << 44}},
          "bytes of all channels", "GMMU Bypass, Table 1: 8 x 512 MB");
  t.count("channels", channels, {0, 1024},
          "DRAM channels of a GPU; a divisor or a multiple of the L2 slices; 0: one for each. Fewer are "
          "shared by neighbouring "
          "slices, of more each slice has several",
          "assumed");
  t.bandwidth("bandwidth", bandwidth, {Bandwidth{1'000'000}, Bandwidth{10'000'000'000'000}}, "of one channel",
              "assumed: R9 Nano's 512 GB/s of HBM over 16 channels");
  t.count("banks", banks, {1, 1024}, "banks per channel; a power of two", "MGPUSim 4.2, MI300A: 16");
  t.bytes("row", row, {ByteSize{128}, ByteSize{1 << 20}}, "bytes of a row buffer; a power of two",
          "HBM: 2 KiB pages (JESD235)");
  t.duration("t_cl", t_cl, {1ns, 1us}, "column command to data", "HBM: 14 ns (JESD235, 500 MHz x 7)");
  t.duration("t_rcd", t_rcd, {1ns, 1us}, "activate to column command", "HBM: 14 ns");
  t.duration("t_rp", t_rp, {1ns, 1us}, "precharge to activate", "HBM: 14 ns");
  t.duration("t_ras", t_ras, {1ns, 1us}, "activate to precharge, at least", "HBM: 33 ns");
  t.duration(
      "controller_latency", controller_latency, {0ns, 1us},
      "what an access takes beyond the timing of its bank (clock crossings, controller, PHY); 0: nothing",
      "assumed: 0; the presets of real GPUs state theirs");
  t.count("queue", queue, {1, 4096}, "requests a channel holds", "Accel-Sim, SM7_QV100: FR-FCFS queue of 64");
  scheduler.describe(t, "scheduler", "which request is next", "FR-FCFS: Rixner et al., ISCA 2000");
  t.duration("t_refi", t_refi, {0ns, 1ms}, "from one refresh of all banks to the next; 0: none",
             "off; HBM2, HBM3, and DDR4 above 85 C: 3900 ns (JESD235, JESD238, JESD79-4)");
  t.duration("t_rfc", t_rfc, {0ns, 100us}, "how long a refresh takes; 0: none",
             "off; Ramulator 2, HBM2 and HBM3: 160, 260, 350 and 450 ns at 2, 4, 8 and 16 Gb a channel; "
             "DRAMsim3, HBM2_8Gb_x128: 260");
  t.duration("t_wtr", t_wtr, {0ns, 1us}, "a write's data to a read command; 0: none",
             "off; DRAMsim3: HBM2_8Gb_x128 6 to 8 ns, DDR4_8Gb_x8_3200 2.5 to 7.5 ns");
  t.duration("t_rtw", t_rtw, {0ns, 1us}, "a read's data to a write's; 0: none",
             "off; Ramulator 2, HBM3: 2 cycles of 1 ns; DRAMsim3: 1 cycle");
}

DramChannelState DramChannel::initial() const {
  DramChannelState s;
  s.queue.reserve(spec().params.queue);
  s.banks = DramBanks(spec().params.banks);
  s.by_requester = ByApplication<DramRequesterStats>(static_cast<std::uint32_t>(spec().applications.size()));
  s.scheduler = spec().params.scheduler.make({spec().params.queue});
  if (spec().params.t_refi != Duration::zero()) s.next_refresh = Time{spec().params.t_refi};
  return s;
}

DramChannel::ApplicationStats DramChannel::application_stats() const {
  return counted_by_application<&DramChannelState::by_requester>(spec().applications);
}

std::vector<DramChannel::PolicyStats> DramChannel::policy_stats() const {
  return {{{spec().section + ".scheduler", spec().params.scheduler.stats()},
           [](DramChannelState const& s) -> StatSource const& { return s.scheduler; }}};
}

std::string DramChannel::waiting_for() const {
  if (state().queue.empty()) return {};
  return std::to_string(state().queue.size()) + " requests queued";
}

void DramChannel::on_request(MemRequest const& m, Cx& cx) const {
  auto& s = cx.state();
  FF_CHECK(s.queue.size() < spec().params.queue, path() + ": a request came without a credit");
  s.queue_depth.add(s.queue.size());
  auto const local = spec().memory.local(offset_of(m.address));
  auto const row = local / spec().params.row.bytes;
  s.queue.push_back({m, row, DramBanks::bank_of(row, spec().params.banks), 0});
  if (m.access == Access::write) ++s.queued_writes;
  if (s.choose_at == Time::max()) schedule(cx);
}

void DramChannel::on_choose(Tick const&, Cx& cx) const {
  cx.state().choose_at = Time::max();
  schedule(cx);
}

// All refreshes that begin by `until`: of several the last one tells how the banks are.
void DramChannel::refresh(DramChannelState& s, Time until) const {
  auto const& p = spec().params;
  auto const begin = until - until.time_since_epoch() % p.t_refi;
  s.banks.refresh(begin + p.t_rfc);
  s.next_refresh = begin + p.t_refi;
}

Time DramChannel::earliest_on_bus(DramChannelState const& s, Access access) const {
  if (access == s.last) return s.bus_free;
  auto const& p = spec().params;
  if (access == Access::write) return s.bus_free + p.t_rtw;
  return p.t_wtr == Duration::zero() ? s.bus_free : s.bus_free + p.t_wtr + p.t_cl;
}

void DramChannel::schedule(Cx& cx) const {
  auto& s = cx.state();
  auto const t = timing();
  if (cx.now() >= s.next_refresh) {
    refresh(s, cx.now());
    if (s.next_refresh - spec().params.t_refi + spec().params.t_rfc > cx.now()) ++s.stats.refresh_stalls;
  }
  auto const ahead = t.t_rp + t.t_rcd + t.t_cl;
  while (!s.queue.empty()) {
    if (s.bus_free - ahead > cx.now()) {
      s.choose_at = s.bus_free - ahead;
      cx.wake_at(choose, Tick{}, s.choose_at);
      return;
    }
    auto const i = s.scheduler->pick({s.queue, s.queued_writes, s.banks, t, cx.now(), s.last});
    FF_CHECK(i < s.queue.size(),
             path() + ": " + spec().section + ".scheduler picks a request that is not there");
    auto const chosen = s.queue[i];
    s.queue.erase(s.queue.begin() + static_cast<std::ptrdiff_t>(i));
    auto const access = chosen.request.access;
    auto const burst = spec().params.bandwidth.time_for(chosen.request.bytes);
    auto const bus = earliest_on_bus(s, access);
    auto data = std::max(bus, s.banks.earliest_data(chosen.bank, chosen.row, cx.now(), t));
    if (data + burst > s.next_refresh) {
      refresh(s, s.next_refresh);
      data = std::max(bus, s.banks.earliest_data(chosen.bank, chosen.row, cx.now(), t));
      ++s.stats.refresh_stalls;
    }
    ++(s.banks.row_open(chosen.bank, chosen.row) ? s.stats.row_hits : s.stats.row_misses);
    s.banks.access(chosen.bank, chosen.row, data, t);
    s.bus_free = data + burst;
    if (access == Access::write) --s.queued_writes;
    if (access != s.last) ++s.stats.turn_arounds;
    s.last = access;
    ++(access == Access::read ? s.stats.reads : s.stats.writes);
    auto const& requester = chosen.request.requester;
    if (is_walk(requester.kind)) ++s.by_requester[requester.application].walk_reads;
    if (requester.kind == RequestKind::data && access == Access::read)
      ++s.by_requester[requester.application].data_reads;
    if (requester.kind == RequestKind::copy) ++s.stats.copies;
    s.stats.bytes += chosen.request.bytes;
    s.stats.busy_ps += static_cast<std::uint64_t>(picoseconds(burst));
    cx.send(response, chosen.request.from,
            MemResponse{chosen.request.address, chosen.request.tag, chosen.request.access},
            s.bus_free - cx.now() + spec().params.controller_latency);
  }
}

}  // namespace farfault
