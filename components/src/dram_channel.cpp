#include "farfault/components/dram_channel.hpp"

#include <algorithm>
#include <array>

namespace farfault {

void DramParams::describe(ParamTable& t) {
  t.bytes("capacity", capacity, {ByteSize{1 << 20}, ByteSize{std::uint64_t{1} << 44}},
          "bytes of all channels", "GMMU Bypass, Table 1: 8 x 512 MB");
  t.count(
      "channels", channels, {0, 1024},
      "DRAM channels of a GPU; a power of two; 0: one for each L2 slice. Fewer are shared by neighbouring "
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
  t.choice("scheduler", scheduler, {{"frfcfs", DramOrder::frfcfs}, {"fcfs", DramOrder::fcfs}},
           "which request is next", "FR-FCFS: Rixner et al., ISCA 2000");
}

DramChannelState DramChannel::initial() const {
  DramChannelState s;
  s.queue.reserve(spec().params.queue);
  s.banks = DramBanks(spec().params.banks);
  return s;
}

std::span<Stat<DramChannelState> const> DramChannel::stats() const {
  using S = DramChannelState const&;
  static constexpr std::array<Stat<DramChannelState>, 6> all{{
      {"reads", "count", "lines read", StatKind::counter, [](S s) { return s.stats.reads; }},
      {"writes", "count", "lines written", StatKind::counter, [](S s) { return s.stats.writes; }},
      {"row_hits", "count", "accesses that found their row open", StatKind::counter,
       [](S s) { return s.stats.row_hits; }},
      {"row_misses", "count", "accesses that had to open their row", StatKind::counter,
       [](S s) { return s.stats.row_misses; }},
      {"bytes", "bytes", "bytes transferred", StatKind::counter, [](S s) { return s.stats.bytes; }},
      {"busy_time", "ps", "time the data bus was busy", StatKind::counter,
       [](S s) { return s.stats.busy_ps; }},
  }};
  return all;
}

std::string DramChannel::waiting_for() const {
  if (state().queue.empty()) return {};
  return std::to_string(state().queue.size()) + " requests queued";
}

void DramChannel::on_request(MemRequest const& m, Cx& cx) const {
  auto& s = cx.state();
  FF_CHECK(s.queue.size() < spec().params.queue, path() + ": a request came without a credit");
  auto const local = spec().memory.local(offset_of(m.address));
  auto const row = local / spec().params.row.bytes;
  s.queue.push_back({m, row, DramBanks::bank_of(row, spec().params.banks), 0});
  if (s.choose_at == Time::max()) schedule(cx);
}

void DramChannel::on_choose(Tick const&, Cx& cx) const {
  cx.state().choose_at = Time::max();
  schedule(cx);
}

std::size_t DramChannel::pick(DramChannelState const& s, Time now) const {
  if (spec().params.scheduler == DramOrder::fcfs) return 0;
  std::size_t best = 0;
  auto earliest = Time::max();
  for (std::size_t i = 0; i < s.queue.size(); ++i) {
    auto const& q = s.queue[i];
    if (s.banks.row_open(q.bank, q.row)) return i;
    auto const data = s.banks.earliest_data(q.bank, q.row, now, timing());
    if (data < earliest) {
      earliest = data;
      best = i;
    }
  }
  return best;
}

void DramChannel::schedule(Cx& cx) const {
  auto& s = cx.state();
  auto const t = timing();
  auto const ahead = t.t_rp + t.t_rcd + t.t_cl;
  while (!s.queue.empty()) {
    if (s.bus_free - ahead > cx.now()) {
      s.choose_at = s.bus_free - ahead;
      cx.wake_at(choose, Tick{}, s.choose_at);
      return;
    }
    auto const i = pick(s, cx.now());
    auto const chosen = s.queue[i];
    s.queue.erase(s.queue.begin() + static_cast<std::ptrdiff_t>(i));
    ++(s.banks.row_open(chosen.bank, chosen.row) ? s.stats.row_hits : s.stats.row_misses);
    auto const data = std::max(s.bus_free, s.banks.earliest_data(chosen.bank, chosen.row, cx.now(), t));
    s.banks.access(chosen.bank, chosen.row, data, t);
    auto const burst = spec().params.bandwidth.time_for(chosen.request.bytes);
    s.bus_free = data + burst;
    ++(chosen.request.access == Access::read ? s.stats.reads : s.stats.writes);
    s.stats.bytes += chosen.request.bytes;
    s.stats.busy_ps += static_cast<std::uint64_t>(picoseconds(burst));
    cx.send(response, chosen.request.from,
            MemResponse{chosen.request.address, chosen.request.tag, chosen.request.access, {}},
            s.bus_free - cx.now() + spec().params.controller_latency);
  }
}

}  // namespace farfault
