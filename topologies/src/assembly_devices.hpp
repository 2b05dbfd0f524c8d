// Private: the components of a GPU and of a CPU, between their making and their wiring.
#pragma once

#include <string>
#include <vector>

#include "farfault/topologies/assembly.hpp"
#include "request_clients.hpp"

namespace farfault::topologies {

struct Assembly::MemorySpec {
  std::string slice_name;
  L2SliceSpec slice;  // what all slices have in common,
  MemoryCacheParams cache;
  DramChannelSpec dram;  // and all channels
  MemoryLayout layout;
};

struct Assembly::Memory {
  MemoryLayout layout;
  std::vector<L2Slice*> slices;
  std::vector<L2Slice*> caches;  // in front of the channels, or none
  std::vector<DramChannel*> channels;
};

struct Assembly::Gpu {
  std::uint32_t node;
  std::uint32_t cpu = 0;  // the nearest one, whose IOMMU serves this GPU
  std::vector<Sm*> sms;
  std::vector<ScalarCache*> scalar_caches;
  Memory memory;
  RequestClients slice_clients;
  RequestClients remote_clients;
  L2Tlb* l2_tlb = nullptr;
  Gmmu* gmmu = nullptr;
  Rdma* rdma = nullptr;
  CopyEngine* copy_engine = nullptr;
  Dispatcher* dispatcher = nullptr;
};

struct Assembly::Cpu {
  std::uint32_t node;
  std::uint32_t served = 0;  // GPUs whose nearest CPU this is
  Memory memory;
  RequestClients slice_clients;
  Iommu* iommu = nullptr;
  CpuPort* port = nullptr;
};

}  // namespace farfault::topologies
