// SPDX-License-Identifier: Apache-2.0
// Creates the components of a machine with their specs.
#include <algorithm>
#include <bit>

#include "assembly_devices.hpp"
#include "farfault/topologies/sm_count.hpp"
#include "tlb_level.hpp"

namespace farfault::topologies {

std::uint32_t sms_of_gpu(Machine const& machine, std::uint32_t configured) {
  constexpr std::uint32_t kDefault = 36;
  if (configured != 0) return configured;
  auto const gpus = machine.nodes_of(NodeKind::gpu);
  auto const sm_count = gpus.empty() ? 0 : machine.nodes[gpus[0]].sm_count;
  return sm_count != 0 ? sm_count : kDefault;
}

namespace {

// Checks that nodes and devices fit into the numbers of messages, before the slow computation of routes.
Machine const& can_be_numbered(Machine const& machine) {
  auto const check = [&](std::uint64_t there_are, std::uint64_t most, std::string const& what) {
    if (there_are > most)
      throw UserError("machine '" + shown(machine.name) + "' has " + std::to_string(there_are) + " " + what +
                      "; at most " + std::to_string(most) + " can be simulated");
  };
  check(machine.count(NodeKind::gpu), kFirstCpu - 1, "GPUs");
  check(machine.count(NodeKind::cpu), kFirstNic - kFirstCpu, "CPUs");
  check(machine.count(NodeKind::nic), 0x10000 - kFirstNic, "NICs");
  check(machine.nodes.size(), RouteTable::kNone - 1, "nodes");
  return machine;
}

}  // namespace

Assembly::~Assembly() = default;

Assembly::Assembly(Machine const& machine, MachineConfig const& config, Applications const& applications,
                   PagePlacement const& placement)
    : machine_(can_be_numbered(machine)),
      config_(config),
      applications_(applications),
      routes_(machine, config.routing),
      nics_known_(machine.states_nic_bandwidth()),
      page_bits_(config.memory.page_bits()),
      links_of_(machine.nodes.size()),
      read_only_(config.read_only_caches()),
      system_(std::make_unique<System>()) {
  system_->expect_events_at(gpu_clock());
  for (std::uint32_t l = 0; l < machine.links.size(); ++l) {
    auto& at_a = links_of_[machine.links[l].a];
    auto& at_b = links_of_[machine.links[l].b];
    link_numbers_.push_back(
        {static_cast<std::uint16_t>(at_a.size()), static_cast<std::uint16_t>(at_b.size())});
    at_a.push_back(l);
    at_b.push_back(l);
  }
  auto const gpu_nodes = machine.nodes_of(NodeKind::gpu);
  auto const cpu_nodes = machine.nodes_of(NodeKind::cpu);
  if (cpu_nodes.empty())
    throw UserError("machine '" + shown(machine.name) +
                    "' has no CPU, but the IOMMU and the driver need one");
  sms_ = sms_of_gpu(machine, config.gpu.sms);
  for (auto const n : gpu_nodes) {
    gpus_.push_back(std::make_unique<Gpu>());
    gpus_.back()->node = n;
    device_nodes_.gpus.push_back(static_cast<NodeId>(n));
    device_names_.gpus.push_back(machine.nodes[n].name);
  }
  for (auto const n : cpu_nodes) {
    cpus_.push_back(std::make_unique<Cpu>());
    cpus_.back()->node = n;
    device_nodes_.cpus.push_back(static_cast<NodeId>(n));
    device_names_.cpus.push_back(machine.nodes[n].name);
  }
  find_instances();
  check_applications();
  plan_code();
  place_pages(placement);
  make_route_tables();
  find_trains();
  build_cpus();
  build_gpus();
  build_nics();
  build_fabric();
  for (auto& gpu : gpus_) wire_gpu(*gpu);
  for (auto& cpu : cpus_) wire_cpu(*cpu);
  for (auto& instance : instances_) wire_instance(*instance);
}

// Half of the memory for page tables.
std::uint64_t Assembly::room_for_contexts() const {
  return (config_.dram.capacity.bytes - InitialMemory::data_bytes(config_.dram.capacity.bytes)) / 2;
}

// Contexts of swapped-out thread blocks in the memory of a GPU.
std::uint64_t Assembly::bytes_of_contexts() const {
  bool const in_memory = config_.sm.thread_blocks.facts().context.saved_in == ThreadBlocks::SavedIn::memory;
  return in_memory ? sms_ * SmSpec::areas(config_.sm) * SmSpec::area_bytes(config_.sm) : 0;
}

// Checks that each application can run on its GPUs and SMs.
void Assembly::check_applications() const {
  auto const room = room_for_contexts();
  auto const contexts = bytes_of_contexts();
  if (contexts > room)
    throw UserError("gpu.sm.thread_blocks = " + config_.sm.thread_blocks.name() +
                    ": the saved contexts of swapped-out thread blocks may take " +
                    to_text(ByteSize{contexts}) + " of a GPU's memory on " + std::to_string(sms_) +
                    " SMs, but at most " + to_text(ByteSize{room}) +
                    ", 1/16 of gpu.dram.capacity, is reserved for them; increase gpu.dram.capacity or lower "
                    "the extra blocks in gpu.sm." +
                    config_.sm.thread_blocks.section());
  for (std::uint32_t k = 0; k < applications_.kernels(); ++k) {
    auto const& shape = applications_.kernel(k).shape();
    auto const lacking = Dispatcher::why_not(shape, config_.sm, config_.gpu.warp_width);
    if (!lacking.empty())
      throw UserError("a block of kernel '" + shape.name + "' needs " + lacking + " (section gpu.sm)");
  }
  auto const check = [](Application const& a, std::vector<std::uint32_t> const& chosen, std::size_t there_are,
                        std::string const& what, std::string const& where) {
    if (!chosen.empty() && chosen.back() >= there_are)
      throw UserError("application '" + a.name + "' is assigned to " + what + " " +
                      std::to_string(chosen.back()) + ", but " + where + " has " + std::to_string(there_are) +
                      ", numbered from 0");
  };
  for (auto const& application : applications_) {
    for (auto const& instance : instances_)
      check(application, application.gpus, instance->gpus.size(), "GPU", "the machine");
    check(application, application.sms, sms_, "SM", "a GPU");
  }
}

void Assembly::begin_group(std::uint32_t device, std::uint32_t group) {
  groups_.push_back({static_cast<ComponentId>(system_->component_count()), device, group});
}

// The number of link `l` at `node`.
std::uint16_t Assembly::number_of(std::uint32_t node, std::uint32_t l) const {
  auto const& numbers = link_numbers_[l];
  return machine_.links[l].a == node ? numbers.at_a : numbers.at_b;
}

void Assembly::make_route_tables() {
  auto const nodes = static_cast<std::uint32_t>(machine_.nodes.size());
  std::vector<std::uint16_t> numbers;
  for (std::uint32_t node = 0; node < nodes; ++node) {
    RouteTable table(static_cast<NodeId>(node), nodes);
    for (auto const destination : routes_.destinations()) {
      numbers.clear();
      bool network = true;
      for (auto const l : routes_.next_links(node, destination)) {
        numbers.push_back(number_of(node, l));
        network = network && machine_.links[l].kind == LinkKind::network;
      }
      table.set(static_cast<NodeId>(destination), numbers,
                network && config_.fabric.network_spread == NetworkSpread::flow);
    }
    route_tables_.push_back(std::move(table));
  }
}

// Buffer of a virtual channel, at the receiving end of a link.
std::uint64_t Assembly::buffer_of(std::uint32_t l, Bandwidth bandwidth) const {
  auto const& fabric = config_.fabric;
  if (fabric.buffer.bytes != 0) return fabric.buffer.bytes;
  auto const& link = machine_.links[l];
  auto const largest = config_.packet_format(link.kind, nics_known_).bytes(config_.largest_payload());
  return covering_buffer(bandwidth, link.latency, largest);
}

FabricNodeSpec Assembly::fabric_spec(std::uint32_t node, std::string kind, std::size_t own_packets) const {
  FabricNodeSpec spec;
  spec.kind = std::move(kind);
  spec.name = machine_.nodes[node].name;
  spec.node = static_cast<NodeId>(node);
  spec.route = &route_tables_[node];
  spec.passing = 0;
  auto const sharing = is_switch(node) ? static_cast<std::uint32_t>(links_of_[node].size()) : 1U;
  for (auto const l : links_of_[node]) {
    auto const& link = machine_.links[l];
    auto const far = routes_.other_end(l, node);
    auto const inwards = link.a == node ? link.backward : link.forward;
    LinkEnd end;
    end.bandwidth = link.a == node ? link.forward : link.backward;
    end.format = config_.packet_format(link.kind, nics_known_);
    auto const largest = end.format.bytes(config_.largest_payload());
    end.buffer = buffer_of(l, end.bandwidth);
    end.batch = credit_batch(buffer_of(l, inwards), largest, sharing);
    end.far_via = number_of(far, l);
    end.number = l;
    end.far_name = machine_.nodes[far].name;
    if (is_switch(far)) end.far_route = &route_tables_[far];
    spec.links.push_back(end);
    spec.passing += buffer_of(l, inwards) / end.format.bytes(0);
  }
  spec.queue = own_packets + spec.passing;
  return spec;
}

// Sum over the device's links of the bandwidth in the wider direction.
Bandwidth Assembly::bandwidth_of_links(std::uint32_t node) const {
  Bandwidth sum;
  for (auto const l : links_of_[node]) {
    auto const& link = machine_.links[l];
    auto const wider = std::max(link.forward, link.backward).bytes_per_second;
    sum.bytes_per_second += std::min(wider, UINT64_MAX - sum.bytes_per_second);
  }
  return sum;
}

// Lines in flight on each link: its bandwidth in the wider direction, times a round trip to the farthest
// device that is routed over it plus the service time of a line.
std::uint64_t Assembly::lines_of_links(Gpu const& gpu) const {
  std::vector<Duration> longest(machine_.links.size(), Duration::zero());
  auto const look_at = [&](std::uint32_t node) {
    if (node == gpu.node) return;
    auto const latency = routes_.latency(gpu.node, node);
    for (auto const l : routes_.next_links(gpu.node, node)) longest[l] = std::max(longest[l], latency);
  };
  for (auto const g : gpu.instance->gpus) look_at(gpus_[g]->node);
  for (auto const c : gpu.instance->cpus) look_at(cpus_[c]->node);
  std::uint64_t lines = 0;
  for (auto const l : links_of_[gpu.node]) {
    auto const& link = machine_.links[l];
    auto const time = 2 * longest[l] + config_.fabric.service_time;
    lines += lines_in(std::max(link.forward, link.backward), time, config_.copied_line());
  }
  return lines;
}

PortSpec Assembly::port_spec(std::uint32_t node, DeviceId device, std::uint32_t slices) const {
  PortSpec port;
  port.device = device;
  port.nodes = &device_nodes_;
  port.names = &device_names_;
  port.inbound = config_.fabric.inbound_of(bandwidth_of_links(node), config_.copied_line());
  port.slices = slices;
  port.memory_credits = config_.fabric.memory_credits_of(port.inbound, slices);
  port.wire.translation_bytes = config_.fabric.translation_bytes;
  port.wire.fault_bytes = config_.fabric.fault_bytes;
  port.access_counters = config_.memory.counts_accesses();
  port.counters = config_.access_counters;
  port.wire.notification_bytes = config_.access_counters.notification_bytes;
  auto const copies = config_.fabric.copies.facts();
  for (std::uint32_t bytes = 0; bytes <= config_.gpu.line_bytes; ++bytes)
    port.wire.copy_payload.push_back(static_cast<std::uint8_t>(copies.payload(bytes)));
  return port;
}

void Assembly::build_nics() {
  for (auto const node : machine_.nodes_of(NodeKind::nic)) {
    begin_group(node, kPortGroup);
    auto port = port_spec(node, static_cast<DeviceId>(kFirstNic + nics_.size()), 1);
    port.fabric = fabric_spec(node, "nic", port.inbound);
    port.memory_credits = port.inbound;
    auto& nic = system_->add<Nic>(machine_.nodes[node].name + ".port", port);
    Latency const latency{config_.nic.latency};
    system_->connect(nic.memory_request, system_->family(std::vector{nic.access}), latency);
    system_->connect(nic.response, nic.memory_response, latency);
    device_nodes_.nics.push_back(static_cast<NodeId>(node));
    device_names_.nics.push_back(machine_.nodes[node].name);
    nics_.push_back(&nic);
  }
}

void Assembly::build_cpus() {
  auto const clock = config_.cpu.clock.clock();
  auto const layout = config_.cpu_memory();
  auto const memory = layout.slice_map();
  for (std::uint32_t c = 0; c < cpus_.size(); ++c) {
    auto& cpu = *cpus_[c];
    auto const& name = machine_.nodes[cpu.node].name;
    auto const device = static_cast<DeviceId>(kFirstCpu + c);
    begin_group(cpu.node, kTranslationGroup);
    auto& instance = *cpu.instance;
    if (cpu.number == 0) add_host_and_driver(instance);
    IommuSpec iommu;
    if (config_.asks_iommu())
      iommu.params = config_.iommu;
    else
      iommu.params.clock = config_.iommu.clock;  // the others have no effect, and were not checked
    iommu.applications = applications_.names();
    iommu.index = static_cast<std::uint16_t>(cpu.number);
    iommu.memory_port = cpu.slice_clients.add(1, iommu.params.walkers);
    iommu.memory = memory;
    iommu.waiters = cpu.served * config_.gmmu.pending;
    iommu.preloaded = &instance.memory->iommu_table();
    iommu.table_base = physical(device, InitialMemory::data_bytes(config_.cpu_dram.capacity.bytes));
    iommu.decision = config_.memory.remote_touch;
    iommu.page_bits = page_bits_;
    iommu.page_sizes = config_.memory.sizes_of_pages();
    iommu.spaces = applications_.spaces();
    iommu.buffers = instance.driver->spec().buffers;
    iommu.moves = config_.driver.migrations;
    iommu.replays_first_touches = config_.memory.replays_first_touches();
    iommu.coalesces = config_.memory.coalesces();
    iommu.pages_are_moved = config_.pages_leave_frames();
    iommu.recorded_by_gpus = config_.faults_recorded_by_gpus();
    iommu.records_faults = iommu.recorded_by_gpus == 0 || iommu.recorded_by_gpus != config_.faults();
    iommu.gpus_end_walks = config_.gpus_end_walks();
    iommu.receives_requests = config_.asks_iommu();
    iommu.maps_remotely_at_start = config_.maps_remotely_at_start();
    for (auto const g : instance.gpus)
      if (gpus_[g]->cpu == c)
        iommu.gpus.push_back({static_cast<DeviceId>(g), static_cast<NodeId>(gpus_[g]->node)});
    cpu.iommu = &system_->add<Iommu>(name + ".iommu", iommu);

    begin_group(cpu.node, kPortGroup);
    auto port = port_spec(cpu.node, device, config_.cpu_llc.slices);
    port.page_faults = iommu.recorded_by_gpus != 0;
    port.fault_batches = config_.in_batches();
    constexpr std::size_t kOrders = 4;  // fault orders to a GPU: one outstanding, and replays
    // A move that ends with an unacknowledged remap is followed by another one.
    auto const steps = std::size_t{iommu.moves} * (iommu.gpus_end_walks ? 2 : 1);
    port.fabric = fabric_spec(
        cpu.node, "cpu_port",
        iommu.waiters + iommu.gpus.size() * (steps + replays_of_gpu() + kOrders + counter_orders_of_gpu()) +
            port.inbound);
    port.memory_port = cpu.slice_clients.add(1, port.memory_credits);
    port.memory = memory;
    cpu.port = &system_->add<CpuPort>(name + ".port", port);

    L2SliceSpec slice;
    static_cast<SlicedCacheParams&>(slice.params) = config_.cpu_llc;
    slice.kind = "llc_slice";
    slice.replacement_key = "cpu.llc.replacement";
    slice.clock = clock;
    slice.device = device;
    slice.line_bytes = config_.gpu.line_bytes;
    slice.queue = cpu.slice_clients.requests();
    cpu.memory = build_memory(
        cpu.node, name,
        {"llc", slice, MemoryCacheParams{}, {config_.cpu_dram, "cpu_dram", "cpu.dram", {}}, layout});
  }
}

// Maximum number of a GPU's pages that wait for a replay.
std::size_t Assembly::replays_of_gpu() const {
  if (!config_.memory.replays_faults()) return 0;
  auto const& l1 = config_.l1_tlb;
  return sms_ * (std::size_t{l1.faulted_pages} + l1.outstanding() + config_.scalar_cache.requests) +
         config_.gmmu.pending;
}

// Maximum number of orders to a GPU's access counters in one queue: counters that a service clears, then, per
// notification whose read the GPU does not know of, a read and a counter.
std::size_t Assembly::counter_orders_of_gpu() const {
  if (!config_.memory.counts_accesses()) return 0;
  return config_.counter_service.batch + 2 * std::size_t{config_.access_counters.notifications};
}

}  // namespace farfault::topologies
