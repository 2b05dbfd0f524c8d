// SPDX-License-Identifier: Apache-2.0
// Connections between components and their latencies: within a GPU, within a CPU, over the fabric.
#include "assembly_devices.hpp"

namespace farfault::topologies {

void Assembly::wire_gpu(Gpu& gpu) {
  auto& system = *system_;
  Latency const crossbar{gpu_clock().cycles(config_.gpu.crossbar_latency)};
  // Each partition of the SMs has its own slices, unless SMs send requests to all; all other components use
  // the home slices.
  auto const& l2 = config_.l2_cache;
  std::vector<In<MemRequest>> slice_requests;
  std::vector<Family<MemRequest>> partitions;
  for (std::uint32_t first = 0; first < l2.slices; first += l2.slices_of_sm()) {
    std::vector<In<MemRequest>> own;
    for (std::uint32_t i = first; i < first + l2.slices_of_sm(); ++i)
      own.push_back(gpu.memory.slices[i]->request);
    partitions.push_back(system.family(own));
    slice_requests.insert(slice_requests.end(), own.begin(), own.end());
  }
  auto const slices = system.family(slice_requests);
  wire_sms(gpu, partitions);
  wire_tlbs(gpu);
  wire_gmmu(gpu, slices);
  gpu.slice_clients.connect(gpu.rdma->spec().memory_port, gpu.rdma->memory_response);
  gpu.slice_clients.connect(gpu.copy_engine->spec().memory_port, gpu.copy_engine->memory_response);
  gpu.remote_clients.connect(gpu.copy_engine->spec().remote_port, gpu.copy_engine->remote_response);
  auto const client_family = system.family(gpu.slice_clients.ports());
  for (auto* slice : gpu.memory.slices) system.connect(slice->response, client_family, crossbar);
  wire_memory(gpu.memory, gpu_clock());
  if (l2.hardware_coherent()) wire_partitions(gpu.memory, l2, gpu_clock());
  if (config_.writes_back_at_kernel_end()) wire_flushes(gpu);
  system.connect(gpu.dispatcher->counts, gpu.instance->host->counted, Latency{config_.host.done_latency});
  system.connect(gpu.dispatcher->done, gpu.instance->host->kernel_done, Latency{config_.host.done_latency});
  system.connect(gpu.rdma->memory_request, slices, crossbar);
  system.connect(gpu.rdma->remote_response, system.family(gpu.remote_clients.ports()), crossbar);
  system.connect(gpu.copy_engine->remote_request, gpu.rdma->remote_request, crossbar);
  system.connect(gpu.copy_engine->memory_request, slices, crossbar);
  system.connect(gpu.copy_engine->copied, gpu.instance->driver->copied,
                 Latency{config_.driver.notify_latency});
}

// SMs, their read-only caches and the dispatcher; each SM reaches the slices of its partition.
void Assembly::wire_sms(Gpu& gpu, std::vector<Family<MemRequest>> const& partitions) {
  auto& system = *system_;
  Latency const crossbar{gpu_clock().cycles(config_.gpu.crossbar_latency)};
  Latency const cycle{gpu_clock().cycles(1)};
  auto const slices_of_sm = [&](std::size_t sm) {
    return partitions[sm * partitions.size() / gpu.sms.size()];
  };
  std::vector<In<StartBlock>> starts;
  std::vector<In<BlockControl>> controls;
  for (auto* sm : gpu.sms) {
    gpu.slice_clients.connect(sm->spec().index, sm->memory_response);
    gpu.remote_clients.connect(sm->spec().index, sm->remote_response);
    starts.push_back(sm->start);
    if (gpu.dispatcher->spec().controls_sms()) controls.push_back(sm->control);
    system.connect(sm->memory_request, slices_of_sm(sm->spec().index), crossbar);
    system.connect(sm->remote_request, gpu.rdma->remote_request, crossbar);
    system.connect(sm->counts, gpu.dispatcher->counted, crossbar);
    system.connect(sm->done, gpu.dispatcher->block_done, crossbar);
  }
  for (std::size_t kind = 0; kind < read_only_.size(); ++kind) {
    auto const sms = read_only_[kind].params.sms;
    std::size_t first = 0;
    for (auto* const cache : gpu.read_only[kind].caches) {
      std::vector<In<ReadOnlyResponse>> responses;
      for (auto i = first; i < first + sms && i < gpu.sms.size(); ++i) {
        system.connect(gpu.sms[i]->*read_only_[kind].request, cache->request, cycle);
        responses.push_back(gpu.sms[i]->*read_only_[kind].response);
      }
      system.connect(cache->response, system.family(responses), cycle);
      system.connect(cache->memory_request, slices_of_sm(first), crossbar);
      system.connect(cache->remote_request, gpu.rdma->remote_request, crossbar);
      gpu.slice_clients.connect(cache->spec().memory_port, cache->memory_response);
      gpu.remote_clients.connect(cache->spec().remote_port, cache->remote_response);
      first += sms;
    }
  }
  system.connect(gpu.dispatcher->start, system.family(starts), crossbar);
  if (!controls.empty()) system.connect(gpu.dispatcher->control, system.family(controls), crossbar);
}

// The GMMU to the L2 slices, directly or through a page-walk cache, and to the port.
void Assembly::wire_gmmu(Gpu& gpu, Family<MemRequest> slices) {
  auto& system = *system_;
  auto& gmmu = *gpu.gmmu;
  Latency const crossbar{gpu_clock().cycles(config_.gpu.crossbar_latency)};
  Latency const cycle{gpu_clock().cycles(1)};
  if (auto* const walk_cache = gpu.page_walk_cache; walk_cache == nullptr) {
    for (std::uint32_t p = 0; p < gmmu.spec().walker_partitions; ++p)
      gpu.slice_clients.connect(gmmu.spec().memory_port + p, gmmu.entry_read);
    system.connect(gmmu.read_entry, slices, crossbar);
  } else {
    gpu.slice_clients.connect(walk_cache->spec().dram_port, walk_cache->filled);
    system.connect(gmmu.read_entry, system.family(std::vector{walk_cache->request}), cycle);
    system.connect(walk_cache->response, system.family(std::vector{gmmu.entry_read}), cycle);
    system.connect(walk_cache->dram, slices, crossbar);
  }
  system.connect(gmmu.acknowledge, gpu.rdma->invalidated, crossbar);
  system.connect(gmmu.to_iommu, gpu.rdma->translate_request, crossbar);
  if (gmmu.spec().records_faults) system.connect(gmmu.to_driver, gpu.rdma->to_driver, crossbar);
  if (gmmu.spec().fault_batches) system.connect(gpu.rdma->from_driver, gmmu.from_driver, crossbar);
  system.connect(gpu.rdma->translate_response, gmmu.from_iommu, crossbar);
  system.connect(gpu.rdma->invalidate, gmmu.invalidate, crossbar);
  if (config_.pressure_epoch() != 0) {
    std::vector<In<WalkPressure>> channels;
    for (auto* channel : gpu.memory.channels) channels.push_back(channel->pressure);
    // The latency of a walk's read, from the L2 TLB through the GMMU to the L2 cache.
    auto const cycles = config_.gpu.translation_latency + config_.gpu.crossbar_latency;
    system.connect(gpu.tlbs[0][0]->pressure, system.family(channels), Latency{gpu_clock().cycles(cycles)});
  }
}

// Flush requesters: the dispatcher, and the GMMU if software keeps partitions coherent.
void Assembly::wire_flushes(Gpu& gpu) {
  Latency const crossbar{gpu_clock().cycles(config_.gpu.crossbar_latency)};
  std::vector<In<Flush>> flushes;
  for (auto* slice : gpu.memory.slices) flushes.push_back(slice->flush);
  auto const slices = system_->family(flushes);
  std::vector<In<Flushed>> requesters{gpu.dispatcher->flushed};
  system_->connect(gpu.dispatcher->flush, slices, crossbar);
  if (config_.l2_cache.software_coherent()) {
    requesters.push_back(gpu.gmmu->flushed);
    system_->connect(gpu.gmmu->flush, slices, crossbar);
  }
  auto const responses = system_->family(requesters);
  for (auto* slice : gpu.memory.slices) system_->connect(slice->flushed, responses, crossbar);
}

void Assembly::wire_cpu(Cpu& cpu) {
  auto& system = *system_;
  auto& driver = *cpu.instance->driver;
  Latency const cycle{config_.cpu.clock.clock().cycles(1)};
  std::vector<In<MemRequest>> requests;
  for (auto* slice : cpu.memory.slices) requests.push_back(slice->request);
  auto const slices = system.family(requests);
  cpu.slice_clients.connect(cpu.iommu->spec().memory_port, cpu.iommu->entry_read);
  cpu.slice_clients.connect(cpu.port->spec().memory_port, cpu.port->memory_response);
  auto const clients = system.family(cpu.slice_clients.ports());
  for (auto* slice : cpu.memory.slices) system.connect(slice->response, clients, cycle);
  wire_memory(cpu.memory, config_.cpu.clock.clock());
  system.connect(cpu.iommu->read_entry, slices, cycle);
  system.connect(cpu.iommu->response, cpu.port->translated, cycle);
  system.connect(cpu.iommu->fault, driver.fault, Latency{config_.driver.notify_latency});
  system.connect(cpu.iommu->first_touch, driver.fault, first_touch_latency(cpu));
  system.connect(cpu.iommu->step_done, driver.step_done, Latency{config_.driver.notify_latency});
  if (cpu.port->spec().page_faults || cpu.port->spec().access_counters)
    system.connect(cpu.port->to_driver, driver.fault, Latency{config_.driver.notify_latency});
  system.connect(cpu.port->translate, cpu.iommu->request, cycle);
  system.connect(cpu.port->invalidated, cpu.iommu->invalidated, cycle);
  system.connect(cpu.port->memory_request, slices, cycle);
}

// Latency from an IOMMU that finds a page unmapped to the selection of a frame, and back.
Latency Assembly::first_touch_latency(Cpu const& cpu) const {
  if (config_.memory.first_touch_by == FirstTouchBy::iommu && cpu.number == 0)
    return Latency{config_.iommu.clock.clock().cycles(1)};
  return Latency{config_.driver.notify_latency};
}

void Assembly::build_fabric() {
  auto& system = *system_;
  // By node: its input ports, and the receivers of credits for each link.
  std::vector<Family<Packet>> inputs(machine_.nodes.size());
  std::vector<std::vector<In<Credit>>> credit_ins(machine_.nodes.size());
  std::vector<FabricPort*> ports(machine_.nodes.size());
  std::vector<std::vector<SwitchOutput*>> outputs(machine_.nodes.size());
  for (auto& gpu : gpus_) ports[gpu->node] = gpu->rdma;
  for (auto& cpu : cpus_) ports[cpu->node] = cpu->port;
  for (auto* nic : nics_) ports[nic->spec().fabric.node] = nic;
  for (std::uint32_t n = 0; n < machine_.nodes.size(); ++n) {
    if (!is_switch(n)) {
      inputs[n] = system.family(std::vector{ports[n]->packet_in});
      credit_ins[n].assign(links_of_[n].size(), ports[n]->credit_in);
      continue;
    }
    auto const& node = machine_.nodes[n];
    auto const spec = fabric_spec(n, std::string(name_of(node.kind)), 0);
    std::vector<In<Packet>> packet_ins;
    for (std::uint32_t i = 0; i < links_of_[n].size(); ++i) {
      begin_group(n, i % kGroups);
      auto& output =
          system.add<SwitchOutput>(node.name + ".output" + std::to_string(i), SwitchOutputSpec{spec, i});
      outputs[n].push_back(&output);
      packet_ins.push_back(output.packet_in);
      credit_ins[n].push_back(output.credit_in);
    }
    inputs[n] = system.family(packet_ins);
  }
  for (std::uint32_t n = 0; n < machine_.nodes.size(); ++n) {
    for (std::uint32_t i = 0; i < links_of_[n].size(); ++i) {
      auto const l = links_of_[n][i];
      auto const far = routes_.other_end(l, n);
      auto const sender = credit_ins[far][number_of(far, l)];
      Latency const latency{machine_.links[l].latency};
      if (is_switch(n)) {
        system.connect(outputs[n][i]->packet_out, inputs[far], latency);
        for (auto* output : outputs[n]) system.connect(output->credit_out[i], sender, latency);
      } else {
        system.connect(ports[n]->packet_out[i], inputs[far], latency);
        system.connect(ports[n]->credit_out[i], sender, latency);
      }
    }
  }
}

}  // namespace farfault::topologies
