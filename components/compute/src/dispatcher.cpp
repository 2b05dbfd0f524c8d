// SPDX-License-Identifier: Apache-2.0
#include "farfault/compute/dispatcher.hpp"

#include <algorithm>

#include "farfault/engine/units.hpp"

namespace farfault {

std::string Dispatcher::why_not(KernelShape const& shape, SmParams const& sm, std::uint32_t warp_width) {
  auto const warps = SmUse::of(shape, warp_width).warps;
  if (warps > sm.max_warps)
    return std::to_string(warps) + " warps, but an SM holds " + std::to_string(sm.max_warps);
  if (shape.threads_per_block > sm.max_threads)
    return std::to_string(shape.threads_per_block) + " threads, but an SM holds " +
           std::to_string(sm.max_threads);
  auto const registers = std::uint64_t{shape.registers_per_thread} * warps * warp_width;
  if (registers > sm.registers)
    return std::to_string(registers) + " registers, but an SM has " + std::to_string(sm.registers);
  if (shape.shared_bytes_per_block > sm.shared_bytes)
    return to_text(ByteSize{shape.shared_bytes_per_block}) + " of shared memory, but an SM has " +
           to_text(ByteSize{sm.shared_bytes});
  return {};
}

Dispatcher::Dispatcher(Slot<DispatcherSpec> slot) : Component(std::move(slot)) {
  if (spec().notifies_balancer) launched = out<Tick>("launched");
  auto const& applications = *spec().applications;
  for (std::uint32_t a = 0; a < applications.count(); ++a) {
    sms_.push_back(applications.sms_of(a, spec().sms));
    auto const gpus = applications.gpus_of(a, spec().gpus);
    number_.push_back(static_cast<std::uint32_t>(std::ranges::find(gpus, spec().gpu) - gpus.begin()));
    auto& parts = parts_.emplace_back();
    std::uint32_t last = 0;
    for (auto const sm : sms_.back()) {
      auto const partition = static_cast<std::uint32_t>(std::uint64_t{sm} * spec().partitions / spec().sms);
      if (parts.of_sm.empty() || partition != last) ++parts.count;
      last = partition;
      parts.of_sm.push_back(parts.count - 1);
    }
  }
  if (thread_blocks_.adapts) {
    period_end = timer<&Dispatcher::on_period_end>("period_end");
    if (spec().counts_evictions) lifetimes = in<&Dispatcher::on_lifetimes>("lifetimes");
  }
  if (spec().may_stall) stall = in<&Dispatcher::on_stall>("stall");
  if (spec().controls_sms()) control = out<BlockControl>("control");
  if (spec().slices_to_write_back == 0) return;
  if (spec().gpus > 1) kernel_end = in<&Dispatcher::on_kernel_end>("kernel_end");
  flushed = in<&Dispatcher::on_flushed>("flushed");
  flush = out<Flush>("flush");
}

DispatcherState Dispatcher::initial() const {
  auto const& applications = *spec().applications;
  DispatcherState s;
  s.shares.resize(applications.streams());
  s.next_sm.resize(applications.count());
  if (spec().partitions > 1) s.next_of_part.resize(std::size_t{applications.streams()} * spec().partitions);
  s.sms.resize(spec().sms);
  s.thread_blocks = spec().sm.thread_blocks.make(spec().blocks_setup());
  FF_CHECK(
      s.thread_blocks->extra() == thread_blocks_.first_extra &&
          (s.thread_blocks->period() != Duration::zero()) == thread_blocks_.adapts,
      "gpu.sm.thread_blocks = " + spec().sm.thread_blocks.name() + ": its facts and its behaviour differ");
  s.stats = ByApplication<DispatcherStats>(applications.count());
  s.counts = KernelSums(applications.streams());
  for (std::uint32_t stream = 0; stream < applications.streams(); ++stream) {
    auto const a = applications.application_of_stream(stream);
    auto const gpus = static_cast<std::uint32_t>(applications.gpus_of(a, spec().gpus).size());
    s.block_orders.add(spec().block_order.make({gpus, static_cast<std::uint32_t>(sms_[a].size())}));
  }
  return s;
}

Dispatcher::ApplicationStats Dispatcher::application_stats() const {
  return counted_by_application<&DispatcherState::stats>(spec().applications->names());
}

std::vector<Dispatcher::PolicyStats> Dispatcher::policy_stats() const {
  return {{{"host.block_order", spec().block_order.stats()},
           [](DispatcherState const& s) -> StatSource const& { return s.block_orders; }},
          {{"gpu.sm.thread_blocks", spec().sm.thread_blocks.stats()},
           [](DispatcherState const& s) -> StatSource const& { return s.thread_blocks; }}};
}

std::vector<TableInfo> Dispatcher::tables() const {
  if (!has_table()) return {};
  return {kernels_by_gpu_table(*spec().applications, spec().fetches)};
}

void Dispatcher::take_rows(DispatcherState& s, TableRows& rows) const {
  if (s.records.empty()) return;
  auto const gpu = path().substr(0, path().rfind('.'));
  for (auto const& record : s.records)
    rows.add(0, cells_of(record, gpu, *spec().applications, spec().fetches));
  s.records.clear();
}

std::string Dispatcher::waiting_for() const {
  std::uint64_t slices = 0;
  std::uint64_t running = 0;
  std::uint64_t left = 0;
  for (auto const& share : state().shares) {
    slices += share.slices_writing;
    running += share.running;
    left += share.count - share.next;
  }
  if (slices != 0) return std::to_string(slices) + " slices writing back";
  if (running == 0 && left == 0) return {};
  return std::to_string(running) + " running blocks, " + std::to_string(left) + " not dispatched";
}

BlockOrder::Share Dispatcher::share_of(std::uint32_t stream, DispatcherState const& s) const {
  auto const& shape = spec().applications->kernel(s.shares[stream].kernel).shape();
  return s.block_orders[stream].share(shape.blocks,
                                      number_[spec().applications->application_of_stream(stream)]);
}

void Dispatcher::on_launch(LaunchKernel const& m, Cx& cx) const {
  auto& s = cx.state();
  auto const stream = spec().applications->stream_of(m.kernel);
  auto& share = s.shares[stream];
  share.kernel = m.kernel;
  share.launch = m.launch;
  if (spec().notifies_balancer) cx.send(launched, Tick{});
  share.next = 0;
  share.count = share_of(stream, s).count;
  auto const application = spec().applications->application_of_stream(stream);
  for (std::uint64_t part = 0; !s.next_of_part.empty() && part < parts_[application].count; ++part)
    s.next_of_part[stream * spec().partitions + part] = first_of_part(part, share.count, application);
  if (share.count == 0)
    end_kernel(stream, cx);
  else
    dispatch(cx, kEverySm);
}

void Dispatcher::dispatch(Cx& cx, std::uint32_t only) const {
  auto& s = cx.state();
  auto const count = s.shares.size();
  for (std::size_t in_vain = 0; in_vain < count;) {
    auto const stream = static_cast<std::uint32_t>(s.turn);
    s.turn = s.turn + 1 == count ? 0 : s.turn + 1;
    in_vain = place(stream, only, cx) ? 0 : in_vain + 1;
  }
}

std::uint32_t Dispatcher::running_sms(DispatcherState const& s) const {
  return s.all_run != 0 ? spec().sms : std::min(s.thread_blocks->running_sms(), spec().sms);
}

bool Dispatcher::takes(std::uint32_t sm, SmUse const& need, bool extra, DispatcherState const& s) const {
  if (sm >= running_sms(s)) return false;
  auto const& limits = spec().sm;
  auto const& on = s.sms[sm];
  auto const with = on.use + need;
  bool const capacity = with.has_capacity(limits);
  if (capacity && with.can_issue(limits)) return !extra;
  return extra && on.extra < thread_blocks_.max_extra &&
         s.thread_blocks->takes(static_cast<std::uint32_t>(on.extra), capacity);
}

bool Dispatcher::place(std::uint32_t stream, std::uint32_t only, Cx& cx) const {
  auto& s = cx.state();
  auto& share = s.shares[stream];
  if (share.next == share.count) return false;
  auto const application = spec().applications->application_of_stream(stream);
  auto const& sms = sms_[application];
  auto const n = need(share.kernel);
  bool const may_be_extra = thread_blocks_.max_extra != 0;
  auto& next = s.next_sm[application];
  if (only != kEverySm) {
    auto const at = number_of(only, application);
    if (at == sms.size() || sms[at] != only) return false;
    if (!has_block(stream, part_of(at, application), application, s)) return false;
    bool const issues = takes(only, n, false, s);
    if (!issues && !(may_be_extra && takes(only, n, true, s))) return false;
    next = at;
    start_on_next(stream, n, !issues, cx);
    return true;
  }
  auto const turns = may_be_extra ? 2 * sms.size() : sms.size();
  for (std::size_t tried = 0; tried < turns; ++tried) {
    bool const extra = tried >= sms.size();
    if (has_block(stream, part_of(next, application), application, s) && takes(sms[next], n, extra, s)) {
      start_on_next(stream, n, extra, cx);
      return true;
    }
    next = next + 1 == sms.size() ? 0 : next + 1;
  }
  return false;
}

std::uint32_t Dispatcher::number_of(std::uint32_t sm, std::uint32_t application) const {
  auto const& sms = sms_[application];
  return static_cast<std::uint32_t>(std::ranges::lower_bound(sms, sm) - sms.begin());
}

void Dispatcher::start_on_next(std::uint32_t stream, SmUse const& need, bool extra, Cx& cx) const {
  auto& s = cx.state();
  auto& share = s.shares[stream];
  auto const application = spec().applications->application_of_stream(stream);
  auto const& sms = sms_[application];
  auto& next = s.next_sm[application];
  auto const at = sms[next];
  auto const block = take_block(stream, part_of(next, application), s);
  next = next + 1 == sms.size() ? 0 : next + 1;
  s.sms[at].use += need;
  if (extra) ++s.sms[at].extra;
  s.free_at = std::max(s.free_at, cx.now());
  auto const mine = share_of(stream, s);
  cx.send(start, at, StartBlock{mine.first + block * mine.step, share.kernel, share.launch},
          s.free_at - cx.now());
  s.free_at += spec().clock.cycles(1);
  ++share.running;
  ++s.stats[application].dispatched;
  if (thread_blocks_.adapts && s.period_ends == Time::max()) {
    s.period_ends = cx.now() + s.thread_blocks->period();
    cx.wake_at(period_end, Tick{}, s.period_ends);
  }
}

void Dispatcher::on_lifetimes(PageLifetimes const& m, Cx& cx) const {
  auto& e = cx.state().evictions;
  e.pages += m.pages;
  e.premature += m.premature;
  e.lifetime_ps += m.lifetime_ps;
  set_period_timer(cx);
}

// An idle machine must have no pending events, this timer included.
void Dispatcher::set_period_timer(Cx& cx) const {
  auto& s = cx.state();
  if (s.timer_rests == 0) return;
  s.timer_rests = 0;
  while (s.period_ends <= cx.now()) {
    s.thread_blocks->period_ended({});
    s.period_ends += s.thread_blocks->period();
  }
  cx.wake_at(period_end, Tick{}, s.period_ends);
}

void Dispatcher::on_period_end(Tick const&, Cx& cx) const {
  auto& s = cx.state();
  s.period_ends = Time::max();
  if (std::ranges::all_of(s.shares, [](KernelShare const& k) { return k.running == 0; })) return;
  s.thread_blocks->period_ended(s.evictions);
  s.evictions = {};
  s.all_run = 0;
  control_sms(cx);
  run_all_if_others_are_idle(cx);
  dispatch(cx, kEverySm);
  if (s.period_ends != Time::max()) return;
  s.period_ends = cx.now() + s.thread_blocks->period();
  s.timer_rests = 1;
  if (!s.thread_blocks->is_steady()) set_period_timer(cx);
}

void Dispatcher::control_sms(Cx& cx) const {
  auto const& s = cx.state();
  for (std::uint32_t i = 0; i < spec().sms; ++i)
    cx.send(control, i,
            BlockControl{s.thread_blocks->extra(), s.stalled != 0 || i >= running_sms(s) ? 1U : 0U});
}

void Dispatcher::on_stall(GpuStall const& m, Cx& cx) const {
  cx.state().stalled = m.stalled;
  control_sms(cx);
}

void Dispatcher::run_all_if_others_are_idle(Cx& cx) const {
  auto& s = cx.state();
  auto const running = running_sms(s);
  if (running == spec().sms) return;
  auto const has_blocks = [](SmBlocks const& b) { return b.use.blocks != 0; };
  auto const first_off = s.sms.begin() + running;
  if (std::any_of(s.sms.begin(), first_off, has_blocks) || std::none_of(first_off, s.sms.end(), has_blocks))
    return;
  s.all_run = 1;
  control_sms(cx);
}

void Dispatcher::on_counts(KernelCounts const& m, Cx& cx) const {
  cx.state().counts.add(spec().applications->stream_of(m.kernel), m);
}

void Dispatcher::end_kernel(std::uint32_t stream, Cx& cx) const {
  auto& s = cx.state();
  auto const kernel = s.shares[stream].kernel;
  auto const did = notify_host(kernel, cx);
  if (has_table()) s.records.push_back({kernel, s.shares[stream].launch, cx.now(), did});
}

SmStats Dispatcher::notify_host(std::uint32_t kernel, Cx& cx) const {
  auto const did = cx.state().counts.take(spec().applications->stream_of(kernel));
  std::uint32_t reports = 0;
  if (did != SmStats{})
    reports = report_growth(kernel, {}, did, [&](KernelCounts const& m) { cx.send(counts, m); });
  cx.send(done, KernelDone{spec().gpu, kernel, reports});
  return did;
}

void Dispatcher::on_block_done(BlockDone const& m, Cx& cx) const {
  auto& s = cx.state();
  auto const application = spec().applications->application_of(m.kernel);
  auto const stream = spec().applications->stream_of(m.kernel);
  auto& share = s.shares[stream];
  s.counts.expect(stream, m.reports);
  auto const n = need(m.kernel);
  auto& on = s.sms[m.sm];
  on.use -= n;
  if (on.extra != 0)
    on.extra = on.use.can_issue(spec().sm) && on.use.has_capacity(spec().sm)
                   ? 0
                   : std::max<std::uint64_t>(on.extra - 1, 1);
  --share.running;
  if (std::ranges::all_of(s.shares, [](KernelShare const& k) { return k.running == 0; }))
    set_period_timer(cx);
  s.next_sm[application] = number_of(m.sm, application);
  // The answers of a policy that does not adapt never change: other SMs refuse what they have refused before.
  bool const others_are_full = !thread_blocks_.adapts && s.all_run == 0;
  dispatch(cx, others_are_full ? m.sm : kEverySm);
  run_all_if_others_are_idle(cx);
  if (share.running != 0 || share.next != share.count) return;
  if (spec().slices_to_write_back != 0 && spec().gpus == 1)
    on_kernel_end(KernelEnd{m.kernel}, cx);
  else
    end_kernel(stream, cx);
}

void Dispatcher::on_kernel_end(KernelEnd const& m, Cx& cx) const {
  auto const slices = spec().slices_to_write_back;
  cx.state().shares[spec().applications->stream_of(m.kernel)].slices_writing = slices;
  for (std::uint32_t i = 0; i < slices; ++i) cx.send(flush, i, Flush{kNoFrame, m.kernel, 0});
}

void Dispatcher::on_flushed(Flushed const& m, Cx& cx) const {
  auto& share = cx.state().shares[spec().applications->stream_of(m.number)];
  if (--share.slices_writing == 0) notify_host(m.number, cx);
}

template class Component<DispatcherSpec, DispatcherState>;

}  // namespace farfault
