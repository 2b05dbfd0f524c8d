// SPDX-License-Identifier: Apache-2.0
// Private: the components of an instance, a GPU and a CPU, from creation to connection.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "farfault/topologies/assembly.hpp"
#include "request_clients.hpp"

namespace farfault::topologies {

// One host with its driver, and its devices, as indices into gpus_ and cpus_.
struct Assembly::Instance {
  int machine = 0;  // the first machine
  std::vector<std::uint32_t> gpus;
  std::vector<std::uint32_t> cpus;
  std::optional<InitialMemory> memory;
  Host* host = nullptr;
  PagingDriver* driver = nullptr;
};

struct Assembly::MemorySpec {
  std::string slice_name;
  L2SliceSpec slice;  // common to all slices
  MemoryCacheParams cache;
  DramChannelSpec dram;  // common to all channels
  MemoryLayout layout;
  std::vector<std::vector<Duration>> to_clients = {};  // by partition of a slice; empty: no further latency
};

struct Assembly::Memory {
  MemoryLayout layout;
  std::vector<L2Slice*> slices;
  std::vector<L2Slice*> caches;  // in front of the channels; may be empty
  std::vector<DramChannel*> channels;
};

struct Assembly::Gpu {
  std::uint32_t node;
  Instance* instance = nullptr;
  std::uint32_t number = 0;  // among the GPUs of its instance
  DeviceId device = 0;
  std::uint32_t cpu = 0;  // the nearest CPU, whose IOMMU serves this GPU
  std::vector<Sm*> sms;
  struct ReadOnly {
    std::uint16_t memory_port = 0;  // of the first one
    std::uint16_t remote_port = 0;
    std::vector<ReadOnlyCache*> caches;
  };
  std::vector<ReadOnly> read_only;  // by kind
  Memory memory;
  RequestClients slice_clients;
  RequestClients remote_clients;
  std::vector<std::vector<L2Tlb*>> tlbs;  // by level: the banks of each group
  TlbBalancer* balancer = nullptr;        // of the first level; null: it is not balanced
  Gmmu* gmmu = nullptr;
  L2Slice* page_walk_cache = nullptr;  // null if absent
  Rdma* rdma = nullptr;
  CopyEngine* copy_engine = nullptr;
  Dispatcher* dispatcher = nullptr;
};

struct Assembly::Cpu {
  std::uint32_t node;
  Instance* instance = nullptr;
  std::uint32_t number = 0;  // among the CPUs of its instance
  std::uint32_t served = 0;  // GPUs whose nearest CPU this is
  Memory memory;
  RequestClients slice_clients;
  Iommu* iommu = nullptr;
  CpuPort* port = nullptr;
};

}  // namespace farfault::topologies
