// SPDX-License-Identifier: Apache-2.0
// The memory of a device: L2 slices, caches before and behind them, DRAM channels, and the links between
// them.
#include "assembly_devices.hpp"

namespace farfault::topologies {

Assembly::Memory Assembly::build_memory(std::uint32_t node, std::string const& name, MemorySpec const& spec) {
  auto const& layout = spec.layout;
  Memory memory;
  memory.layout = layout;
  // All parts of a bank are in one group: the links between them are short.
  auto const group_of = [&](std::uint32_t bank) { return kSmGroups + bank * kMemoryGroups / layout.banks(); };
  bool const cached = spec.cache.present();
  auto slice = spec.slice;
  slice.memory = layout.slice_map();
  slice.applications = applications_.names();
  if (slice.params.partitions > 1 && !slice.params.direct())
    slice.in_partition = slice.params.slices_per_partition();
  slice.train = local_train_;
  slice.train_block = train_block_;
  slice.channels = layout.channel_map();
  slice.banks = layout.banks();
  slice.dram_channels = layout.channels_per_slice();
  slice.dram_credits =
      (cached ? spec.cache.queue : spec.dram.params.shared_queue()) / layout.slices_per_channel();
  if (!cached) slice.walk_credits = spec.dram.params.walk_queue / layout.slices_per_channel();
  for (std::uint32_t i = 0; i < layout.slices; ++i) {
    begin_group(node, group_of(layout.bank_of_slice(i)));
    slice.index = i;
    if (!spec.to_clients.empty()) slice.to_client = spec.to_clients[i / (layout.slices / layout.parts.count)];
    slice.dram_port = static_cast<std::uint16_t>(layout.number_at_channel(i));
    memory.slices.push_back(&system_->add<L2Slice>(name + '.' + spec.slice_name + std::to_string(i), slice));
  }
  L2SliceSpec cache;
  cache.params = spec.cache.slice_params(layout.channels);
  cache.kind = "memory_cache_slice";
  cache.replacement_key = "gpu.memory_cache.replacement";
  cache.clock = slice.clock;
  cache.device = slice.device;
  cache.line_bytes = slice.line_bytes;
  cache.memory = layout.channel_map();
  cache.train = local_train_;
  cache.train_block = train_block_;
  cache.applications = slice.applications;
  cache.dram_credits = spec.dram.params.shared_queue();
  cache.walk_credits = spec.dram.params.walk_queue;
  cache.queue = spec.cache.queue;
  cache.cycles_per_line = spec.cache.cycles_per_line;
  auto dram = spec.dram;
  dram.memory = layout.channel_map();
  dram.applications = slice.applications;
  for (std::uint32_t i = 0; i < layout.channels; ++i) {
    begin_group(node, group_of(layout.bank_of_channel(i)));
    cache.index = i;
    if (cached)
      memory.caches.push_back(&system_->add<L2Slice>(name + ".memory_cache" + std::to_string(i), cache));
    memory.channels.push_back(&system_->add<DramChannel>(name + ".dram" + std::to_string(i), dram));
  }
  return memory;
}

L2SliceSpec Assembly::page_walk_cache() const {
  auto const requests = config_.reads_of_gmmu(last_tlbs());
  L2SliceSpec cache;
  cache.params = config_.page_walk_cache.slice_params(requests);
  cache.kind = "page_walk_cache";
  cache.replacement_key = "gpu.page_walk_cache.replacement";
  cache.clock = gpu_clock();
  cache.line_bytes = config_.gpu.line_bytes;
  cache.page_bits = page_bits_;
  cache.dram_channels = config_.l2_cache.slices;
  cache.dram_credits = requests;
  cache.queue = requests;
  cache.applications = applications_.names();
  return cache;
}

void Assembly::wire_memory(Memory& memory, Clock clock) {
  auto const& layout = memory.layout;
  Latency const cycle{clock.cycles(1)};
  for (std::uint32_t bank = 0; bank < layout.banks(); ++bank) {
    std::vector<In<MemResponse>> filled(layout.slices_per_channel());
    std::vector<L2Slice*> slices;
    for (std::uint32_t i = 0; i < layout.slices; ++i) {
      if (layout.bank_of_slice(i) != bank) continue;
      slices.push_back(memory.slices[i]);
      filled[layout.number_at_channel(i)] = memory.slices[i]->filled;
    }
    auto const to_slices = system_->family(filled);
    std::vector<In<MemRequest>> channels;
    for (auto c = bank; c < layout.channels; c += layout.banks()) {
      auto* channel = memory.channels[c];
      if (memory.caches.empty()) {
        channels.push_back(channel->request);
        system_->connect(channel->response, to_slices, cycle);
        continue;
      }
      auto* cache = memory.caches[c];
      channels.push_back(cache->request);
      system_->connect(cache->response, to_slices, cycle);
      system_->connect(cache->dram, system_->family(std::vector{channel->request}), cycle);
      system_->connect(channel->response, system_->family(std::vector{cache->filled}), cycle);
    }
    auto const to_channels = system_->family(channels);
    for (auto* slice : slices) system_->connect(slice->dram, to_channels, cycle);
  }
}

// Slices for the same addresses are connected across all partitions.
void Assembly::wire_partitions(Memory& memory, L2CacheParams const& params, Clock clock) {
  Latency const latency{clock.cycles(params.partition_latency)};
  auto const in_partition = params.slices_per_partition();
  for (std::uint32_t i = 0; i < in_partition; ++i) {
    std::vector<In<MemRequest>> homes;
    std::vector<In<MemResponse>> copies;
    for (auto k = i; k < params.slices; k += in_partition) {
      homes.push_back(memory.slices[k]->far_request);
      copies.push_back(memory.slices[k]->home_response);
    }
    auto const to_homes = system_->family(homes);
    auto const to_copies = system_->family(copies);
    for (auto k = i; k < params.slices; k += in_partition) {
      system_->connect(memory.slices[k]->home_request, to_homes, latency);
      system_->connect(memory.slices[k]->far_response, to_copies, latency);
    }
  }
}

}  // namespace farfault::topologies
