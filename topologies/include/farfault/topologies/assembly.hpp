// SPDX-License-Identifier: Apache-2.0
// Builds a System from the description of a machine: components, their connections, and the initial page
// placement.
//
// - Each machine of a cluster has its own host, driver and memory, and executes its own instance of the
//   applications. memory.scope can join machines into one instance (memory_scope.hpp).
// - Every rank assembles the same System.
// - Errors: UserError for incompatible parameters, with the key, the value and the rule.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "farfault/engine/engine.hpp"
#include "farfault/paging/application_memory.hpp"
#include "farfault/protocols/device_names.hpp"
#include "farfault/topologies/machine_config.hpp"
#include "farfault/translation/tlb_balancer.hpp"

namespace farfault::topologies {

enum class Granularity : std::uint8_t { one, device, split_gpu };

// Machines that run the applications together, with their host and their driver.
struct InstanceInfo {
  std::string machine;  // the first machine: "m1"; empty with one instance
  Host const* host = nullptr;
  PagingDriver const* driver = nullptr;
};

// A machine with all its components, ready to run its applications.
class Assembly {
 public:
  // `config` must have passed check(); the first three must outlive the assembly.
  Assembly(Machine const& machine, MachineConfig const& config, Applications const& applications,
           PagePlacement const& placement);
  ~Assembly();

  System& system() { return *system_; }
  std::uint32_t gpus() const { return static_cast<std::uint32_t>(gpus_.size()); }
  std::uint32_t sms_a_gpu() const { return sms_; }
  // In the order of their first machines.
  std::vector<InstanceInfo> instances() const;
  Host const& host(std::size_t instance = 0) const;

  // Assigns components to partitions: all in one; one for each device and switch; or GPUs split further,
  // along the links between SMs, L2 slices and the rest. Ranks get whole devices, weighted by their
  // components. `node_loads`, by node of the machine, are weights from an earlier run; empty: the number of
  // components.
  Placement placement(Granularity granularity, std::uint32_t ranks,
                      std::vector<std::uint64_t> const& node_loads = {}) const;
  // By component: the node of the machine that it belongs to.
  std::vector<std::uint32_t> nodes_of_components() const;
  // By component: its GPU; kNone for components outside GPUs.
  static constexpr std::uint32_t kNone = ~0U;
  std::vector<std::uint32_t> gpus_of_components() const;
  // Names of devices, as shown to users.
  DeviceNames const& device_names() const { return device_names_; }
  // By node: its instance, an index into instances(); kNone unless it is a GPU or CPU.
  std::vector<std::uint32_t> instances_of_nodes() const;

 private:
  struct Instance;
  struct MemorySpec;
  struct Memory;
  struct Gpu;
  struct Cpu;
  class TlbLevel;

  void check_applications() const;
  // Checks that each application can allocate a large frame in each memory that it uses, given `frames` per
  // memory.
  void check_large_frames(Instance const& instance, std::uint64_t frames, std::string const& whose) const;
  // Assigns GPUs and CPUs to instances, and each GPU to the nearest CPU of its instance.
  void find_instances();
  void place_pages(PagePlacement const& placement);
  NodePlaces places_of_tables() const;
  void add_host_and_driver(Instance& instance);
  void describe_relocations(PagingDriverSpec& driver) const;
  std::vector<std::uint8_t> application_of_space() const;
  void describe_batches(Instance const& instance, PagingDriverSpec& driver) const;
  std::uint32_t batch_workers(Instance const& instance) const;
  void check_placed(Instance const& instance, PagingDriverSpec const& driver) const;
  void wire_instance(Instance& instance);
  void build_cpus();
  std::size_t replays_of_gpu() const;
  std::size_t counter_orders_of_gpu() const;
  PageTable const& mapped_for(Gpu const& gpu) const;  // initial mappings that its TLBs may hold
  std::uint64_t room_for_contexts() const;
  std::uint64_t bytes_of_contexts() const;
  std::uint64_t contexts_of_sm(std::uint32_t sm) const;
  std::vector<std::vector<std::uint32_t>> sms_by_application() const;
  void plan_code();
  void map_code(InitialMemory& memory, std::uint32_t gpu) const;
  FetchSpec fetch_of(Gpu const& gpu, ReadOnlyCacheKind const& cache, std::uint32_t sm) const;
  std::uint32_t sms_together() const;
  void plan_translation();
  // The first level as an SM reaches it, or a read-only cache (numbered after the SMs).
  TlbRoute route_of_client(std::uint32_t client) const;
  // The TLBs that send requests to the GMMU.
  TlbGroups last_tlbs() const;
  void build_tlbs(Gpu& gpu, std::uint32_t channels);
  void wire_tlbs(Gpu& gpu);
  void wire_balancer(Gpu& gpu);
  L2SliceSpec page_walk_cache() const;  // without the values of its GPU
  void build_gpus();
  std::string const& gpu_name(Gpu const& gpu) const;
  CopyEngineSpec copy_engine_of(Gpu& gpu) const;
  void add_dispatcher(Gpu& gpu);
  void add_gmmu(Gpu& gpu);
  void add_rdma(Gpu& gpu);
  void add_memory(Gpu& gpu);
  void add_sm(Gpu& gpu, std::uint32_t index);
  // If SMs send requests to the slices of all partitions: the partition of an SM, and additional latencies.
  std::uint32_t partition_of_sm(std::uint32_t sm) const;
  PartitionHop to_slices(std::uint32_t partition) const;
  std::vector<std::vector<Duration>> latencies_to_clients(Gpu const& gpu) const;
  void add_read_only_cache(Gpu& gpu, std::size_t kind, std::uint32_t index);
  void build_nics();
  void build_fabric();
  Memory build_memory(std::uint32_t node, std::string const& name, MemorySpec const& spec);
  void wire_memory(Memory& memory, Clock clock);
  void wire_partitions(Memory& memory, L2CacheParams const& params, Clock clock);
  void wire_gpu(Gpu& gpu);
  void wire_sms(Gpu& gpu, std::vector<Family<MemRequest>> const& partitions);
  void wire_gmmu(Gpu& gpu, Family<MemRequest> slices);
  void wire_flushes(Gpu& gpu);
  void wire_cpu(Cpu& cpu);
  Latency first_touch_latency(Cpu const& cpu) const;
  void make_route_tables();
  void find_trains();
  void find_trains_of(CopyEngineSpec& engine) const;
  bool is_switch(std::uint32_t node) const { return !is_device(machine_.nodes[node].kind); }
  std::uint16_t number_of(std::uint32_t node, std::uint32_t l) const;
  // `own_packets`: maximum number of the node's own packets that wait for one link.
  FabricNodeSpec fabric_spec(std::uint32_t node, std::string kind, std::size_t own_packets) const;
  // The parameters that the ports of all devices share.
  PortSpec port_spec(std::uint32_t node, DeviceId device, std::uint32_t slices) const;
  Bandwidth bandwidth_of_links(std::uint32_t node) const;
  // Maximum lines of a copy engine in flight on the links of its GPU.
  std::uint64_t lines_of_links(Gpu const& gpu) const;
  std::uint64_t buffer_of(std::uint32_t l, Bandwidth bandwidth) const;
  Clock gpu_clock() const { return config_.gpu.clock.clock(); }
  // Marks the components added by `build` as belonging to device `device`, group `group` of it.
  void begin_group(std::uint32_t device, std::uint32_t group);

  Machine const& machine_;
  MachineConfig const& config_;
  Applications const& applications_;
  Routes routes_;
  bool nics_known_;  // for MachineConfig::packet_format
  std::uint32_t sms_ = 0;
  unsigned page_bits_ = 12;
  MemoryLayout gpu_layout_{};         // of the memory of every GPU
  std::optional<BankHash> gpu_hash_;  // its hash
  std::uint32_t local_train_ = 1;     // lines that travel as one message, within a GPU and to other devices
  std::uint32_t remote_train_ = 1;
  std::uint32_t cpu_train_ = 1;                       // for a copy engine's lines to CPUs
  std::uint32_t train_block_ = 64;                    // bytes of the block that contains a train
  std::vector<std::vector<std::uint32_t>> links_of_;  // by node: its links, in order
  struct LinkNumbers {
    std::uint16_t at_a = 0;
    std::uint16_t at_b = 0;
  };
  std::vector<LinkNumbers> link_numbers_;              // by link: its place in links_of_ at either end
  std::optional<CodeLayout> code_;                     // if SMs fetch instructions
  std::vector<ReadOnlyCacheKind> read_only_;           // kinds of read-only caches
  std::vector<std::unique_ptr<TlbLevel>> tlb_levels_;  // from the SMs to the GMMU
  std::unique_ptr<System> system_;
  std::vector<std::unique_ptr<Gpu>> gpus_;
  std::vector<std::unique_ptr<Cpu>> cpus_;
  std::vector<std::unique_ptr<Instance>> instances_;
  std::vector<Nic*> nics_;
  DeviceNodes device_nodes_;
  DeviceNames device_names_;

  std::vector<RouteTable> route_tables_;  // by node

  // Groups of a device's components that stay together when a GPU is split: some of its SMs, some slices of
  // memory, its translation, its port. A CPU has the latter three; the outputs of a switch are distributed.
  static constexpr std::uint32_t kSmGroups = 9;
  static constexpr std::uint32_t kMemoryGroups = 4;
  static constexpr std::uint32_t kTranslationGroup = kSmGroups + kMemoryGroups;
  static constexpr std::uint32_t kPortGroup = kTranslationGroup + 1;
  static constexpr std::uint32_t kGroups = kPortGroup + 1;
  struct Group {
    ComponentId first;
    std::uint32_t device;
    std::uint32_t group;
  };
  std::vector<Group> groups_;
};

}  // namespace farfault::topologies
