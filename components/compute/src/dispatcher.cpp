#include "farfault/compute/dispatcher.hpp"

#include <algorithm>
#include <array>

namespace farfault {

void HostParams::describe(ParamTable& t) {
  t.duration(
      "launch_latency", launch_latency, {1ns, 1s}, "from the host's launch to a GPU's first block",
      "MGPUSim 4.2, MI300A: 5400 cycles for the first kernel, taken as ns; the 1800 of later ones are not "
      "told apart");
  t.duration(
      "done_latency", done_latency, {1ns, 1s},
      "from a GPU's last block to the host; where several GPUs write back their L2 caches then, also from "
      "the host's word to do so, and back",
      "assumed");
  block_order.describe(t, "block_order", "how a kernel's blocks are distributed over the GPUs",
                       "MGPUSim, driver: round_robin until March 2021, then runs of ceil(blocks / GPUs); "
                       "contiguous_per_sm in 4.2");
}

std::string Dispatcher::why_not(KernelShape const& shape, SmParams const& sm, std::uint32_t warp_width) {
  auto const warps = (shape.threads_per_block + warp_width - 1) / warp_width;
  if (warps > sm.max_warps)
    return std::to_string(warps) + " warps where an SM holds " + std::to_string(sm.max_warps);
  if (shape.threads_per_block > sm.max_threads)
    return std::to_string(shape.threads_per_block) + " threads where an SM holds " +
           std::to_string(sm.max_threads);
  auto const registers = std::uint64_t{shape.registers_per_thread} * warps * warp_width;
  if (registers > sm.registers)
    return std::to_string(registers) + " registers where an SM has " + std::to_string(sm.registers);
  if (shape.shared_bytes_per_block > sm.shared_bytes)
    return std::to_string(shape.shared_bytes_per_block) + " bytes of shared memory where an SM has " +
           std::to_string(sm.shared_bytes);
  return {};
}

Dispatcher::Dispatcher(Slot<DispatcherSpec> slot) : Component(std::move(slot)) {
  if (spec().slices_to_write_back == 0) return;
  if (spec().gpus > 1) kernel_end = in<&Dispatcher::on_kernel_end>("kernel_end");
  flushed = in<&Dispatcher::on_flushed>("flushed");
  flush = out<Flush>("flush");
}

DispatcherState Dispatcher::initial() const {
  DispatcherState s;
  s.use.resize(spec().sms);
  s.block_order = spec().block_order.make({spec().gpus, spec().sms});
  return s;
}

std::span<Stat<DispatcherState> const> Dispatcher::stats() const {
  using S = DispatcherState const&;
  static constexpr auto all = std::to_array<Stat<DispatcherState>>({
      {"blocks_dispatched", "count", "thread blocks dispatched", StatKind::counter,
       [](S s) { return s.dispatched; }},
      {"blocks_running", "count", "thread blocks running", StatKind::level, [](S s) { return s.running; }},
  });
  return all;
}

std::vector<Dispatcher::PolicyStats> Dispatcher::policy_stats() const {
  return {{{"host.block_order", spec().block_order.stats()},
           [](DispatcherState const& s) -> StatSource const& { return s.block_order; }}};
}

std::string Dispatcher::waiting_for() const {
  auto const& s = state();
  if (s.slices_writing != 0) return std::to_string(s.slices_writing) + " slices that write back";
  if (s.running == 0 && s.next == s.share) return {};
  return std::to_string(s.running) + " running blocks, " + std::to_string(s.share - s.next) +
         " not dispatched";
}

SmUse Dispatcher::need(std::uint32_t kernel) const {
  auto const& shape = spec().workload->kernel(kernel).shape();
  auto const warps = (shape.threads_per_block + spec().warp_width - 1) / spec().warp_width;
  return {warps, shape.threads_per_block, 1, shape.registers_per_thread * warps * spec().warp_width,
          shape.shared_bytes_per_block};
}

void Dispatcher::on_launch(LaunchKernel const& m, Cx& cx) const {
  auto& s = cx.state();
  auto const blocks = spec().workload->kernel(m.kernel).shape().blocks;
  s.kernel = m.kernel;
  s.next = 0;
  s.share = s.block_order->share(blocks, spec().gpu).count;
  s.free_at = cx.now();
  if (s.share == 0)
    cx.send(done, KernelDone{spec().gpu, s.kernel});
  else
    dispatch(cx);
}

void Dispatcher::dispatch(Cx& cx) const {
  auto& s = cx.state();
  auto const mine = s.block_order->share(spec().workload->kernel(s.kernel).shape().blocks, spec().gpu);
  auto const n = need(s.kernel);
  auto const& sm = spec().sm;
  std::uint32_t full = 0;
  while (s.next < s.share && full < spec().sms) {
    auto& u = s.use[s.next_sm];
    bool const fits = u.warps + n.warps <= sm.max_warps && u.threads + n.threads <= sm.max_threads &&
                      u.blocks < sm.max_blocks && u.registers + n.registers <= sm.registers &&
                      u.shared_bytes + n.shared_bytes <= sm.shared_bytes;
    if (fits) {
      full = 0;
      u.warps += n.warps;
      u.threads += n.threads;
      ++u.blocks;
      u.registers += n.registers;
      u.shared_bytes += n.shared_bytes;
      s.free_at = std::max(s.free_at, cx.now());
      cx.send(start, s.next_sm, StartBlock{mine.first + s.next * mine.step, s.kernel, 0},
              s.free_at - cx.now());
      s.free_at += spec().clock.cycles(1);
      ++s.next;
      ++s.running;
      ++s.dispatched;
    } else {
      ++full;
    }
    s.next_sm = s.next_sm + 1 == spec().sms ? 0 : s.next_sm + 1;
  }
}

void Dispatcher::on_block_done(BlockDone const& m, Cx& cx) const {
  auto& s = cx.state();
  auto const n = need(s.kernel);
  auto& u = s.use[m.sm];
  u.warps -= n.warps;
  u.threads -= n.threads;
  --u.blocks;
  u.registers -= n.registers;
  u.shared_bytes -= n.shared_bytes;
  --s.running;
  s.next_sm = m.sm;
  dispatch(cx);
  if (s.running != 0 || s.next != s.share) return;
  if (spec().slices_to_write_back != 0 && spec().gpus == 1)
    on_kernel_end(KernelEnd{s.kernel}, cx);
  else
    cx.send(done, KernelDone{spec().gpu, s.kernel});
}

void Dispatcher::on_kernel_end(KernelEnd const& m, Cx& cx) const {
  auto const slices = spec().slices_to_write_back;
  cx.state().slices_writing = slices;
  for (std::uint32_t i = 0; i < slices; ++i) cx.send(flush, i, Flush{kNoFrame, m.kernel, 0});
}

void Dispatcher::on_flushed(Flushed const& m, Cx& cx) const {
  if (--cx.state().slices_writing == 0) cx.send(done, KernelDone{spec().gpu, m.number});
}

Host::Host(Slot<HostSpec> slot) : Component(std::move(slot)) {
  if (spec().asks_for_write_back) kernel_end = out<KernelEnd>("kernel_end");
}

HostState Host::initial() const {
  HostState s;
  s.records.reserve(spec().kernels);
  return s;
}

std::span<Stat<HostState> const> Host::stats() const {
  static constexpr auto all = std::to_array<Stat<HostState>>({
      {"kernels", "count", "kernels finished", StatKind::counter,
       [](HostState const& s) { return std::uint64_t{s.kernel}; }},
  });
  return all;
}

std::vector<TableInfo> Host::tables() const {
  return {
      {"kernels",
       "one row for each kernel that ran",
       {{"kernel", "count", "number of the kernel, from 0", ColumnType::u64},
        {"name", "text", "name of the kernel", ColumnType::text},
        {"blocks", "count", "thread blocks of the grid", ColumnType::u64},
        {"launched", "ps", "simulated time of the launch by the host", ColumnType::u64},
        {"finished", "ps", "simulated time at which the host learned that it is done", ColumnType::u64}}}};
}

void Host::take_rows(HostState& s, TableRows& rows) const {
  for (auto const& r : s.records) {
    auto const& shape = spec().workload->kernel(s.in_table).shape();
    rows.add(0, {s.in_table, shape.name, shape.blocks, count_of(r.launched), count_of(r.finished)});
    ++s.in_table;
  }
  s.records.clear();
}

std::string Host::waiting_for() const {
  auto const& s = state();
  if (s.kernel >= spec().kernels) return {};
  return "kernel " + std::to_string(s.kernel) + (s.writing_back != 0 ? ", written back by " : ", done by ") +
         std::to_string(s.reported) + " of " + std::to_string(spec().gpus) + " GPUs";
}

void Host::on_begin(Tick const&, Cx& cx) const {
  auto& s = cx.state();
  s.reported = 0;
  s.launched = cx.now();
  s.first_launch = std::min(s.first_launch, cx.now());
  for (std::uint32_t g = 0; g < spec().gpus; ++g) cx.send(launch, g, LaunchKernel{s.kernel, 0});
}

void Host::on_done(KernelDone const&, Cx& cx) const {
  auto& s = cx.state();
  if (++s.reported < spec().gpus) return;
  if (spec().asks_for_write_back && s.writing_back == 0) {
    s.reported = 0;
    s.writing_back = 1;
    for (std::uint32_t g = 0; g < spec().gpus; ++g) cx.send(kernel_end, g, KernelEnd{s.kernel});
    return;
  }
  s.writing_back = 0;
  s.records.push_back({s.launched, cx.now()});
  if (++s.kernel < spec().kernels) on_begin(Tick{}, cx);
}

}  // namespace farfault
