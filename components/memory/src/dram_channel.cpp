// SPDX-License-Identifier: Apache-2.0
#include "farfault/memory/dram_channel.hpp"

#include <algorithm>

#include "farfault/parts/train.hpp"

namespace farfault {

DramChannel::DramChannel(Slot<DramChannelSpec> slot) : Component(std::move(slot)) {
  if (spec().receives_pressure) pressure = in<&DramChannel::on_pressure>("pressure");
}

DramChannelState DramChannel::initial() const {
  DramChannelState s;
  s.banks = DramBanks(spec().params.banks);
  s.by_requester = ByApplication<DramRequesterStats>(static_cast<std::uint32_t>(spec().applications.size()));
  s.scheduler = spec().params.scheduler.make(spec().setup());
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

std::optional<BankHash> DramChannel::bank_hash() const {
  AddressHash::Mask const mask = spec().params.bank_hash.facts().mask;
  if (mask == nullptr) return std::nullopt;
  return BankHash(mask, spec().params.banks, 1);
}

void DramChannel::on_request(MemRequest const& m, Cx& cx) const {
  auto& s = cx.state();
  FF_CHECK(s.queue.size() < spec().params.queue, path() + ": request without a credit");
  auto const lines = m.train.lines();
  s.queue_depth.add(s.queued_lines, lines);
  auto const local = spec().memory.local(offset_of(m.address));
  auto const row = local / spec().params.row.bytes;
  s.queue.push_back({.request = m, .row = row, .bank = bank_of(row), .since = cx.now()});
  s.queued_lines += lines;
  if (m.access == Access::write) s.queued_writes += lines;
  if (s.choose_at == Time::max()) schedule(cx);
}

void DramChannel::on_choose(Tick const&, Cx& cx) const {
  cx.state().choose_at = Time::max();
  schedule(cx);
}

void DramChannel::on_pressure(WalkPressure const& m, Cx& cx) const {
  cx.state().scheduler->pressure(m);
}

// Applies all refreshes that begin by `until`; the last one determines the state of the banks.
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
    auto const i = s.scheduler->pick({.queue = s.queue,
                                      .lines = s.queued_lines,
                                      .writes = s.queued_writes,
                                      .banks = s.banks,
                                      .timing = t,
                                      .now = cx.now(),
                                      .last = s.last});
    FF_CHECK(i < s.queue.size(),
             path() + ": " + spec().section + ".scheduler selected a request that does not exist");
    auto const chosen = s.queue[i];
    s.queue.erase(s.queue.begin() + static_cast<std::ptrdiff_t>(i));
    s.queued_lines -= chosen.request.train.lines();
    if (chosen.request.access == Access::write) s.queued_writes -= chosen.request.train.lines();
    transfer(chosen, cx);
  }
}

// Transfers all lines of a request back to back: its row stays open.
void DramChannel::transfer(DramPending const& chosen, Cx& cx) const {
  auto& s = cx.state();
  auto const t = timing();
  auto const& m = chosen.request;
  auto const lines = m.train.lines();
  auto const burst = spec().params.bandwidth.time_for(m.bytes);
  if (m.access != s.last) ++s.stats.turn_arounds;
  Passage done{};
  for (std::uint32_t i = 0; i < lines; ++i) {
    auto const bus = earliest_on_bus(s, m.access);
    s.last = m.access;
    auto data = std::max(bus, s.banks.earliest_data(chosen.bank, chosen.row, cx.now(), t));
    if (data + burst > s.next_refresh) {
      refresh(s, s.next_refresh);
      data = std::max(bus, s.banks.earliest_data(chosen.bank, chosen.row, cx.now(), t));
      ++s.stats.refresh_stalls;
    }
    ++(s.banks.row_open(chosen.bank, chosen.row) ? s.stats.row_hits : s.stats.row_misses);
    s.banks.access(chosen.bank, chosen.row, data, t);
    s.bus_free = data + burst;
    if (i == 0) done.first = s.bus_free;
  }
  done.last = std::max(s.bus_free, cx.now() + m.train.length() + t.t_cl + burst);
  (m.access == Access::read ? s.stats.reads : s.stats.writes) += lines;
  auto const& requester = m.requester;
  if (is_walk(requester.kind)) s.by_requester[requester.application].walk_reads += lines;
  if (requester.kind == RequestKind::data && m.access == Access::read)
    s.by_requester[requester.application].data_reads += lines;
  if (requester.kind == RequestKind::copy) s.stats.copies += lines;
  s.stats.bytes += std::uint64_t{m.bytes} * lines;
  s.stats.busy_ps += static_cast<std::uint64_t>(picoseconds(burst)) * lines;
  auto const served = done.first - cx.now() + spec().params.controller_latency;
  MemoryStages const stages{stage_time(cx.now() - chosen.since), stage_time(served), 0};
  cx.send(response, m.from,
          MemResponse{.address = m.address,
                      .tag = m.tag,
                      .access = m.access,
                      .found_by = FoundBy::memory,
                      .train = done.train(m.train.more),
                      .stages = stages},
          served);
}

template class Component<DramChannelSpec, DramChannelState>;

}  // namespace farfault
