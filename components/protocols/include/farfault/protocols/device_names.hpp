// SPDX-License-Identifier: Apache-2.0
// Device names that users see: the name of the device's node in the machine (`gpu3`; `m1.gpu3` in a cluster).
// All parts of a result use the same name for a device.
#pragma once

#include <string>
#include <vector>

#include "farfault/protocols/messages.hpp"

namespace farfault {

struct DeviceNames {
  std::vector<std::string> gpus;  // indexed by the device's number in the cluster
  std::vector<std::string> cpus;
  std::vector<std::string> nics;

  // A device that is not listed is named by its kind and number.
  std::string of(DeviceId device) const {
    auto const& list = device >= kFirstNic ? nics : device >= kFirstCpu ? cpus : gpus;
    auto const number = device >= kFirstNic   ? device - kFirstNic
                        : device >= kFirstCpu ? device - kFirstCpu
                                              : static_cast<int>(device);
    auto const place = static_cast<std::size_t>(number);
    return place < list.size() ? list[place] : device_name(device);
  }
};

// Kind and number if the component has no names, as in unit tests.
inline std::string name_of(DeviceNames const* names, DeviceId device) {
  return names == nullptr ? device_name(device) : names->of(device);
}

}  // namespace farfault
