// SPDX-License-Identifier: Apache-2.0
// What users see a device called: as its node of the machine is, `gpu3`, of a cluster `m1.gpu3`. One name for
// one device in everything that a result holds.
#pragma once

#include <string>
#include <vector>

#include "farfault/protocols/messages.hpp"

namespace farfault {

struct DeviceNames {
  std::vector<std::string> gpus;  // each by its number in the cluster
  std::vector<std::string> cpus;
  std::vector<std::string> nics;

  // Of a device that is not listed, its kind and number.
  std::string of(DeviceId device) const {
    auto const& list = device >= kFirstNic ? nics : device >= kFirstCpu ? cpus : gpus;
    auto const number = device >= kFirstNic   ? device - kFirstNic
                        : device >= kFirstCpu ? device - kFirstCpu
                                              : static_cast<int>(device);
    auto const place = static_cast<std::size_t>(number);
    return place < list.size() ? list[place] : device_name(device);
  }
};

// Of a component whose description names none, as in tests: kinds and numbers.
inline std::string name_of(DeviceNames const* names, DeviceId device) {
  return names == nullptr ? device_name(device) : names->of(device);
}

}  // namespace farfault
