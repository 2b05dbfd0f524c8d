// SPDX-License-Identifier: Apache-2.0
// Creates the components of a GPU: its translation, its ports, its memory, and its SMs.
#include <algorithm>
#include <numeric>

#include "assembly_devices.hpp"
#include "tlb_level.hpp"

namespace farfault::topologies {

void Assembly::build_gpus() {
  gpu_layout_ = config_.gpu_memory();
  gpu_hash_ = gpu_layout_.hash_of(config_.l2_cache.hash.facts().mask);
  if (gpu_hash_) gpu_layout_.hash = &*gpu_hash_;
  plan_translation();
  for (std::uint32_t g = 0; g < gpus_.size(); ++g) {
    auto& gpu = *gpus_[g];
    gpu.device = static_cast<DeviceId>(g);
    gpu.slice_clients.add(sms_, config_.l1_cache.slice_credits);  // first: an SM's port number is its index
    gpu.remote_clients.add(sms_, config_.l1_cache.remote());
    for (auto const& kind : read_only_)
      gpu.read_only.push_back({.memory_port = gpu.slice_clients.add(kind.caches(sms_), kind.params.mshrs),
                               .remote_port = gpu.remote_clients.add(kind.caches(sms_), kind.params.mshrs),
                               .caches = {}});
    auto const copies = copy_engine_of(gpu);
    begin_group(gpu.node, kTranslationGroup);
    add_dispatcher(gpu);
    build_tlbs(gpu, gpu_layout_.channels);
    add_gmmu(gpu);
    begin_group(gpu.node, kPortGroup);
    add_rdma(gpu);
    gpu.copy_engine = &system_->add<CopyEngine>(gpu_name(gpu) + ".copy_engine", copies);
    add_memory(gpu);
    for (std::uint32_t i = 0; i < sms_; ++i) {
      begin_group(gpu.node, (i - i % sms_together()) * kSmGroups / sms_);
      for (std::size_t kind = 0; kind < read_only_.size(); ++kind)
        if (i % read_only_[kind].params.sms == 0)
          add_read_only_cache(gpu, kind, i / read_only_[kind].params.sms);
      add_sm(gpu, i);
    }
  }
}

std::string const& Assembly::gpu_name(Gpu const& gpu) const {
  return device_names_.gpus[gpu.device];
}

CopyEngineSpec Assembly::copy_engine_of(Gpu& gpu) const {
  CopyEngineSpec copies;
  copies.clock = gpu_clock();
  copies.device = gpu.device;
  copies.line_bytes = config_.gpu.line_bytes;
  copies.memory = gpu_layout_.slice_map();
  copies.slices = config_.l2_cache.slices;
  copies.queue = config_.driver.migrations;
  copies.cpu_latency = config_.fabric.copies.facts().latency;
  copies.window = config_.copy_engine.window_of(lines_of_links(gpu));
  copies.slice_credits = config_.copy_engine.slice_credits_of(
      copies.window, copies.slices,
      static_cast<std::uint32_t>(config_.l2_cache.interleave.bytes / copies.line_bytes),
      config_.memory.train);
  find_trains_of(copies);
  copies.memory_port = gpu.slice_clients.add(1, copies.slice_credits);
  copies.remote_port = gpu.remote_clients.add(1, 2 * copies.window);
  return copies;
}

void Assembly::add_dispatcher(Gpu& gpu) {
  gpu.dispatcher = &system_->add<Dispatcher>(
      gpu_name(gpu) + ".dispatcher",
      {.sm = config_.sm,
       .clock = gpu_clock(),
       .gpu = gpu.number,
       .gpus = static_cast<std::uint32_t>(gpu.instance->gpus.size()),
       .sms = sms_,
       .warp_width = config_.gpu.warp_width,
       .block_order = config_.host.block_order,
       .partitions = config_.gpu.blocks_by_partition() ? config_.l2_cache.parts().count : 1,
       .applications = &applications_,
       .slices_to_write_back = config_.writes_back_at_kernel_end() ? config_.l2_cache.slices : 0,
       .counts_evictions = config_.in_batches() && config_.has_periods(),
       .may_stall = config_.memory.stalls_gpus(),
       .notifies_balancer = tlb_levels_[0]->params().is_balanced(),
       .fetches = code_.has_value()});
}

void Assembly::add_gmmu(Gpu& gpu) {
  GmmuSpec gmmu;
  gmmu.params = config_.gmmu;
  gmmu.router = config_.router;
  gmmu.clock = gpu_clock();
  gmmu.applications = applications_.names();
  gmmu.device = gpu.device;
  gmmu.tlbs = last_tlbs();
  bool const walk_cache = config_.page_walk_cache.present();
  auto const parts = config_.l2_cache.parts().count;
  if (!walk_cache && gmmu.walker_groups() % parts == 0) gmmu.walker_partitions = parts;
  if (!walk_cache) gmmu.to_slices = to_slices(0);
  auto const table_port = gpu.slice_clients.add(gmmu.walker_partitions, config_.reads_of_gmmu(last_tlbs()));
  gmmu.memory_port = walk_cache ? std::uint16_t{0} : table_port;
  gmmu.memory = walk_cache ? AddressMap(1, config_.l2_cache.interleave.bytes) : gpu_layout_.slice_map();
  gmmu.queue = 0;
  for (auto const* tlb : gpu.tlbs.back()) gmmu.queue += tlb->spec().params.mshrs;
  for (auto const& level : gpu.tlbs)
    gmmu.invalidates_all = gmmu.invalidates_all || level[0]->spec().params.fill.facts().invalidates_all;
  gmmu.invalidates_banks = gpu.balancer != nullptr;
  gmmu.preloaded = &gpu.instance->memory->gpu_table(gpu.number);
  gmmu.slices_to_flush = config_.l2_cache.software_coherent() ? config_.l2_cache.slices : 0;
  gmmu.moves = config_.driver.migrations;
  gmmu.iommu = static_cast<std::uint16_t>(cpus_[gpu.cpu]->number);
  gmmu.records_faults = config_.faults_recorded_by_gpus() != 0;
  gmmu.ends_walks = config_.gpus_end_walks();
  gmmu.fault_batches = config_.in_batches();
  gmmu.sms = sms_;
  gmmu.has_copies = config_.memory.makes_copies();
  gmmu.page_bits = page_bits_;
  gmmu.line_bytes = config_.gpu.line_bytes;
  gmmu.application_of_space = application_of_space();
  if (config_.memory.coalesces())
    gmmu.coalesces = (InitialMemory::data_bytes(config_.dram.capacity.bytes) >> page_bits_ >>
                      config_.memory.large_size()) +
                     1;
  gpu.gmmu = &system_->add<Gmmu>(gpu_name(gpu) + ".gmmu", gmmu);
  if (!walk_cache) return;
  auto cache = page_walk_cache();
  cache.device = gpu.device;
  cache.memory = gmmu.memory;
  cache.channels = gpu_layout_.slice_map();
  cache.dram_port = table_port;
  gpu.page_walk_cache = &system_->add<L2Slice>(gpu_name(gpu) + ".page_walk_cache", cache);
}

void Assembly::add_rdma(Gpu& gpu) {
  auto const& gmmu = gpu.gmmu->spec();
  auto port = port_spec(gpu.node, gpu.device, config_.l2_cache.slices);
  port.outbound = gpu.remote_clients.requests();
  port.page_faults = gmmu.records_faults;
  port.fault_batches = gmmu.fault_batches;
  constexpr std::uint32_t kNotes = 2;  // interrupt, end of a read of the buffer
  port.fabric = fabric_spec(gpu.node, "rdma",
                            port.outbound + config_.gmmu.pending + config_.driver.migrations + port.inbound +
                                (gmmu.records_faults ? config_.gmmu.fault_buffer + kNotes : 0) +
                                (port.access_counters ? config_.access_counters.notifications : 0));
  port.memory_port = gpu.slice_clients.add(1, port.memory_credits);
  port.memory = gpu_layout_.slice_map();
  port.iommu_node = static_cast<NodeId>(cpus_[gpu.cpu]->node);
  gpu.rdma = &system_->add<Rdma>(gpu_name(gpu) + ".rdma", port);
}

// After all clients of the slices.
void Assembly::add_memory(Gpu& gpu) {
  L2SliceSpec slice;
  slice.params = config_.l2_cache;
  slice.kind = "l2_slice";
  slice.clock = gpu_clock();
  slice.device = gpu.device;
  slice.line_bytes = config_.gpu.line_bytes;
  slice.queue = gpu.slice_clients.requests();
  if (config_.writes_back_at_kernel_end())
    slice.flushes = applications_.streams() + config_.driver.migrations;
  slice.page_bits = page_bits_;
  slice.walk_levels = PageLevels(page_bits_).count();
  auto dram = config_.dram;
  dram.controller_latency += config_.gpu.memory_contents.facts().latency;
  gpu.memory = build_memory(gpu.node, gpu_name(gpu),
                            {"l2_slice",
                             slice,
                             config_.memory_cache,
                             {.params = dram,
                              .kind = "dram",
                              .section = "gpu.dram",
                              .receives_pressure = config_.pressure_epoch() != 0},
                             gpu_layout_,
                             latencies_to_clients(gpu)});
}

std::uint32_t Assembly::partition_of_sm(std::uint32_t sm) const {
  return static_cast<std::uint32_t>(std::uint64_t{sm} * config_.l2_cache.parts().count / sms_);
}

PartitionHop Assembly::to_slices(std::uint32_t partition) const {
  auto const& l2 = config_.l2_cache;
  if (!l2.direct()) return {};
  return {partition, l2.slices_per_partition(), gpu_clock().cycles(l2.partition_latency)};
}

// Additional latencies of responses by partition of the slice and client. The GPU's ports and copy engine are
// near all slices.
std::vector<std::vector<Duration>> Assembly::latencies_to_clients(Gpu const& gpu) const {
  auto const& l2 = config_.l2_cache;
  if (!l2.direct()) return {};
  auto const latency = gpu_clock().cycles(l2.partition_latency);
  std::vector<std::vector<Duration>> all(l2.partitions,
                                         std::vector(gpu.slice_clients.ports().size(), Duration::zero()));
  auto const add = [&](std::uint32_t client, std::uint32_t partition) {
    for (std::uint32_t p = 0; p < l2.partitions; ++p)
      if (p != partition) all[p][client] = latency;
  };
  for (std::uint32_t sm = 0; sm < sms_; ++sm) add(sm, partition_of_sm(sm));
  for (std::size_t kind = 0; kind < read_only_.size(); ++kind)
    for (std::uint32_t c = 0; c < read_only_[kind].caches(sms_); ++c)
      add(gpu.read_only[kind].memory_port + c, partition_of_sm(c * read_only_[kind].params.sms));
  auto const& gmmu = gpu.gmmu->spec();
  if (gmmu.to_slices.receivers != 0)
    for (std::uint32_t p = 0; p < gmmu.walker_partitions; ++p) add(gmmu.memory_port + p, p);
  return all;
}

void Assembly::add_sm(Gpu& gpu, std::uint32_t index) {
  SmSpec sm;
  sm.sm = config_.sm;
  sm.tlbs = route_of_client(index);
  sm.l1_tlb = config_.l1_tlb;
  sm.l1_cache = config_.l1_cache;
  sm.clock = gpu_clock();
  sm.index = index;
  sm.device = gpu.device;
  sm.warp_width = config_.gpu.warp_width;
  sm.line_bytes = config_.gpu.line_bytes;
  sm.page_bits = page_bits_;
  sm.page_sizes = config_.memory.sizes_of_pages();
  sm.mapped_at_start = &mapped_for(gpu);
  sm.slices = config_.l2_cache.slices_of_sm();
  sm.memory = AddressMap(sm.slices, gpu_layout_.interleave, gpu_layout_.hash, gpu_layout_.parts);
  sm.to_slices = to_slices(partition_of_sm(index));
  sm.local_train = local_train_;
  sm.remote_train = remote_train_;
  sm.train_block = train_block_;
  sm.moves = config_.driver.migrations;
  sm.scalar_index = static_cast<std::uint16_t>(index % config_.scalar_cache.sms);
  sm.scalar_requests = config_.scalar_cache.requests;
  sm.page_uses = config_.page_uses();
  sm.contexts = physical(gpu.device, contexts_of_sm(index));
  sm.applications = &applications_;
  sm.may_stall = config_.memory.stalls_gpus();
  sm.reports_stalled_warps = config_.pressure_epoch() != 0;
  if (code_) sm.fetch = fetch_of(gpu, read_only_.back(), index);
  gpu.sms.push_back(&system_->add<Sm>(gpu_name(gpu) + ".sm" + std::to_string(index), sm));
}

// Below the arguments of kernels, at the end of the memory for page tables.
std::uint64_t Assembly::contexts_of_sm(std::uint32_t sm) const {
  auto const of_sm = SmSpec::areas(config_.sm) * SmSpec::area_bytes(config_.sm);
  return config_.dram.capacity.bytes - kArgumentBlock * kArgumentBlocks - (sm + 1) * of_sm;
}

// The SMs of a read-only cache, which is one cycle away, stay together.
std::uint32_t Assembly::sms_together() const {
  std::uint32_t together = 1;
  for (auto const& kind : read_only_) together = std::min(std::lcm(together, kind.params.sms), sms_);
  return together;
}

void Assembly::add_read_only_cache(Gpu& gpu, std::size_t kind, std::uint32_t index) {
  auto const& caches = read_only_[kind];
  auto& of_gpu = gpu.read_only[kind];
  ReadOnlyCacheSpec spec;
  spec.params = caches.params;
  spec.kind = caches.name;
  spec.cleared_at_launch = caches.cleared_at_launch;
  spec.outstanding = caches.params.sms * caches.requests_of_sm;
  spec.clock = gpu_clock();
  spec.index = sms_ + index;
  for (std::size_t before = 0; before < kind; ++before) spec.index += read_only_[before].caches(sms_);
  spec.tlbs = route_of_client(spec.index);
  spec.memory_port = static_cast<std::uint16_t>(of_gpu.memory_port + index);
  spec.remote_port = static_cast<std::uint16_t>(of_gpu.remote_port + index);
  spec.device = gpu.device;
  spec.line_bytes = config_.gpu.line_bytes;
  spec.page_bits = page_bits_;
  spec.page_sizes = config_.memory.sizes_of_pages();
  spec.mapped_at_start = &mapped_for(gpu);
  spec.moves = config_.driver.migrations;
  spec.page_uses = caches.page_uses;
  spec.applications = &applications_;
  spec.arguments = physical(spec.device, config_.dram.capacity.bytes - kArgumentBlock * kArgumentBlocks);
  spec.memory = AddressMap(config_.l2_cache.slices_of_sm(), gpu_layout_.interleave, gpu_layout_.hash,
                           gpu_layout_.parts);
  spec.to_slices = to_slices(partition_of_sm(index * caches.params.sms));
  of_gpu.caches.push_back(
      &system_->add<ReadOnlyCache>(gpu_name(gpu) + "." + spec.kind + std::to_string(index), spec));
}

}  // namespace farfault::topologies
