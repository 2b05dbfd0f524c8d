// SPDX-License-Identifier: Apache-2.0
#include "component_places.hpp"

#include <string>
#include <unordered_map>

#include "farfault/compute/sm.hpp"
#include "farfault/fabric/fabric.hpp"
#include "farfault/fabric/nic.hpp"
#include "farfault/memory/dram_channel.hpp"
#include "farfault/memory/l2_slice.hpp"
#include "farfault/translation/iommu.hpp"
#include "farfault/translation/l2_tlb.hpp"

namespace farfault::cli {

ComponentPlaces::ComponentPlaces(System const& system) {
  std::unordered_map<std::string, ComponentId> by_path;
  std::unordered_map<std::string, DeviceId> device_of_prefix;
  auto const prefix_of = [](std::string const& path) { return path.substr(0, path.rfind('.')); };
  auto const find = [&](std::string const& path) {
    auto const found = by_path.find(path);
    return found == by_path.end() ? ComponentId{0} : found->second;
  };
  for (ComponentId id = 0; id < system.component_count(); ++id) by_path[system.component(id).path()] = id;
  for (ComponentId id = 0; id < system.component_count(); ++id) {
    auto const& component = system.component(id);
    auto const prefix = prefix_of(component.path());
    if (auto const* slice = dynamic_cast<L2Slice const*>(&component)) {
      if (component.kind() == "memory_cache_slice") continue;
      auto& device = devices_[slice->spec().device];
      device_of_prefix[prefix] = slice->spec().device;
      device.slices.push_back(id);
      device.slice_map = slice->spec().memory;
      device.gmmu = find(prefix + ".gmmu");
      auto const rdma = by_path.find(prefix + ".rdma");
      device.port = rdma != by_path.end() ? rdma->second : find(prefix + ".port");
    } else if (auto const* nic = dynamic_cast<Nic const*>(&component)) {
      devices_[nic->spec().device].port = id;
    }
  }
  for (ComponentId id = 0; id < system.component_count(); ++id) {
    auto const& component = system.component(id);
    if (auto const* channel = dynamic_cast<DramChannel const*>(&component)) {
      auto const owner = device_of_prefix.find(prefix_of(component.path()));
      if (owner == device_of_prefix.end()) continue;
      devices_[owner->second].channels.push_back(id);
      devices_[owner->second].channel_map = channel->spec().memory;
    } else if (auto const* sm = dynamic_cast<Sm const*>(&component)) {
      auto const& spec = sm->spec();
      sms_[id] = {.device = spec.device,
                  .index = spec.index,
                  .slices = spec.slices,
                  .memory = spec.memory,
                  .tlbs = spec.tlbs,
                  .page_bits = spec.page_bits};
      ++devices_[sm->spec().device].sms;
    } else if (auto const* tlb = dynamic_cast<L2Tlb const*>(&component)) {
      auto const owner = device_of_prefix.find(prefix_of(component.path()));
      if (owner != device_of_prefix.end() && tlb->spec().level == 0)
        devices_[owner->second].tlbs.push_back(id);
    } else if (auto const* iommu = dynamic_cast<Iommu const*>(&component)) {
      for (auto const& gpu : iommu->spec().gpus) devices_[gpu.device].iommu = id;
    }
  }
}

ComponentId ComponentPlaces::of(AccessTrace const& access, Place place) const {
  auto const& sm = sms_.at(access.sm);
  auto const& device = devices_.at(sm.device);
  auto const offset = offset_of(access.physical);
  switch (place) {
    case Place::sm:
      return access.sm;
    case Place::l2_tlb:
      return device.tlbs[sm.tlbs.group * sm.tlbs.banks.count() +
                         sm.tlbs.banks.bank_of(access.address >> sm.page_bits)];
    case Place::gmmu:
      return device.gmmu;
    case Place::port:
      return device.port;
    case Place::iommu:
      return device.iommu;
    case Place::dram:
      return device.channels[device.channel_map.slice(offset)];
    case Place::remote: {
      auto const owner = devices_.find(device_of(access.physical));
      return owner == devices_.end() ? device.port : memory_of(owner->second, access.physical);
    }
    case Place::l2_slice:
      break;
  }
  // In a partitioned L2 cache, the partition of the SM.
  auto const partitions = device.slices.size() / sm.slices;
  auto const own = sm.index * partitions / device.sms * sm.slices;
  return device.slices[own + sm.memory.slice(offset)];
}

}  // namespace farfault::cli
