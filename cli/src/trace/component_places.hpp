// SPDX-License-Identifier: Apache-2.0
// Private: the component at which an access spent each of its stages.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "farfault/compute/access_trace.hpp"
#include "farfault/engine/system.hpp"
#include "farfault/parts/address_map.hpp"
#include "farfault/translation/tlb_banks.hpp"

namespace farfault::cli {

class ComponentPlaces {
 public:
  explicit ComponentPlaces(System const& system);

  ComponentId of(AccessTrace const& access, Place place) const;

 private:
  struct Device {
    std::vector<ComponentId> slices;
    AddressMap slice_map;
    std::vector<ComponentId> channels;
    AddressMap channel_map;
    std::vector<ComponentId> tlbs;  // of the first level, by group and bank
    ComponentId gmmu = 0;
    ComponentId port = 0;
    ComponentId iommu = 0;
    std::uint32_t sms = 0;
  };
  struct Requester {
    DeviceId device = 0;
    std::uint32_t index = 0;
    std::uint32_t slices = 0;  // that it reaches directly
    AddressMap memory;         // of these slices
    TlbRoute tlbs{};
    unsigned page_bits = 12;
  };
  static ComponentId memory_of(Device const& device, PhysAddr address) {
    return device.slices.empty() ? device.port : device.slices[device.slice_map.slice(offset_of(address))];
  }

  std::map<DeviceId, Device> devices_;
  std::map<ComponentId, Requester> sms_;
};

}  // namespace farfault::cli
