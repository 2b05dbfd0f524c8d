// SPDX-License-Identifier: Apache-2.0
// Maximum number of cache lines that travel as one message.
//
// A train stays within one block of memory: one L2 slice, DRAM channel and row, also on the far side of the
// fabric. In every queue it occupies an entry per line. To fit always, and not to block others, it has at
// most a quarter of the lines that any queue, credit allowance or buffer on its way holds. The smallest one
// in the machine decides.
#include <algorithm>
#include <bit>

#include "assembly_devices.hpp"

namespace farfault::topologies {

namespace {

// The longest train that all given queues allow.
class LongestTrain {
 public:
  explicit LongestTrain(std::uint64_t lines) : lines_(lines) {}

  void through(std::uint64_t room) { lines_ = std::min(lines_, std::max<std::uint64_t>(1, room / 4)); }
  void at_most(std::uint64_t lines) { lines_ = std::min(lines_, std::max<std::uint64_t>(1, lines)); }
  std::uint32_t lines() const { return static_cast<std::uint32_t>(lines_); }

 private:
  std::uint64_t lines_;
};

}  // namespace

void Assembly::find_trains() {
  auto const& c = config_;
  auto const line = c.gpu.line_bytes;
  train_block_ = static_cast<std::uint32_t>(
      std::min({std::uint64_t{std::bit_ceil(c.memory.train)} * line, c.l2_cache.interleave.bytes,
                c.cpu_llc.interleave.bytes, c.dram.row.bytes, c.cpu_dram.row.bytes}));
  LongestTrain local(std::min(c.memory.train, train_block_ / line));
  auto const through_memory = [](LongestTrain& train, SlicedCacheParams const& cache, DramParams const& dram,
                                 MemoryLayout const& layout, MemoryCacheParams const& in_front) {
    train.through(cache.mshrs);
    train.through(cache.waiters);
    train.through(dram.shared_queue() / (in_front.present() ? 1 : layout.slices_per_channel()));
    if (!in_front.present()) return;
    train.through(in_front.mshrs);
    train.through(in_front.queue / layout.slices_per_channel());
  };
  local.through(c.l1_cache.mshrs);
  local.through(c.l1_cache.slice_credits);
  through_memory(local, c.l2_cache, c.dram, c.gpu_memory(), c.memory_cache);
  local_train_ = local.lines();

  auto to_cpus = local;
  through_memory(to_cpus, c.cpu_llc, c.cpu_dram, c.cpu_memory(), MemoryCacheParams{});
  for (std::uint32_t l = 0; l < machine_.links.size(); ++l) {
    auto const& link = machine_.links[l];
    auto const packet = c.packet_format(link.kind, nics_known_).bytes(line);
    for (auto const bandwidth : {link.forward, link.backward}) {
      to_cpus.through(buffer_of(l, bandwidth) / packet);
      // The time between lines is stored in 32 bits of picoseconds.
      to_cpus.at_most(bandwidth.time_for(packet) < 1ms ? c.memory.train : 1);
    }
  }
  // `slices`: slices of the device's memory, each with its own credits; 0: none.
  auto const through_port = [&](LongestTrain& train, std::uint32_t node, std::uint32_t slices) {
    auto const inbound = c.fabric.inbound_of(bandwidth_of_links(node), line);
    train.through(inbound);
    if (slices != 0) train.through(c.fabric.memory_credits_of(inbound, slices));
  };
  for (auto const& cpu : cpus_) through_port(to_cpus, cpu->node, c.cpu_llc.slices);
  cpu_train_ = to_cpus.lines();

  auto remote = to_cpus;
  remote.through(c.l1_cache.remote());
  for (auto const& gpu : gpus_) through_port(remote, gpu->node, c.l2_cache.slices);
  for (auto const nic : machine_.nodes_of(NodeKind::nic)) through_port(remote, nic, 0);
  remote_train_ = remote.lines();
}

// Requires the copy engine's window and slice credits. Lines sent to a CPU pass no GPU's port.
void Assembly::find_trains_of(CopyEngineSpec& engine) const {
  LongestTrain local(local_train_), cpu(cpu_train_), remote(remote_train_);
  for (auto* train : {&local, &cpu, &remote}) train->through(engine.window);
  local.through(engine.slice_credits);
  engine.local_train = local.lines();
  engine.cpu_train = cpu.lines();
  engine.remote_train = remote.lines();
  engine.train_block = train_block_;
}

}  // namespace farfault::topologies
