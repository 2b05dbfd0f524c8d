// SPDX-License-Identifier: Apache-2.0
// GPUs and CPU memory that one driver manages. The driver numbers its GPUs from 0, independently of the
// cluster.
//
// Default: GPU n is device n, and the CPU is the first one, as in a machine that is not a cluster.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "farfault/protocols/messages.hpp"

namespace farfault {

class NodeDevices {
 public:
  NodeDevices() : NodeDevices(1U) {}
  explicit NodeDevices(std::uint32_t gpus) : gpus_(gpus) {
    std::iota(gpus_.begin(), gpus_.end(), DeviceId{0});
  }
  // `gpus`: ascending.
  NodeDevices(std::vector<DeviceId> gpus, DeviceId cpu) : gpus_(std::move(gpus)), cpu_(cpu) {}

  std::uint32_t gpus() const { return static_cast<std::uint32_t>(gpus_.size()); }
  DeviceId gpu(std::uint32_t number) const { return gpus_[number]; }
  DeviceId cpu() const { return cpu_; }
  // `gpu` must be one of these GPUs.
  std::uint32_t number_of(DeviceId gpu) const {
    return static_cast<std::uint32_t>(std::lower_bound(gpus_.begin(), gpus_.end(), gpu) - gpus_.begin());
  }

 private:
  std::vector<DeviceId> gpus_;
  DeviceId cpu_ = kFirstCpu;
};

}  // namespace farfault
