// SPDX-License-Identifier: Apache-2.0
// Devices, physical addresses and pages, as messages contain them.
//
// - A PhysAddr holds the device in its upper 16 bits (GPU g: g; CPU c: kFirstCpu + c; NIC n: kFirstNic + n)
//   and an offset in that device's memory below. A frame is the PhysAddr of a page, on a GPU or a CPU.
// - A page number is always that of a base page (memory.page_size), even within a large page. `size`: log2 of
//   the number of base pages in the page; 0: base page. Large pages and their frames are aligned to their
//   size.
// - The frame in a translation is that of the whole page, for any requested base page in it.
#pragma once

#include <cstdint>
#include <string>

#include "farfault/protocols/kernel.hpp"

namespace farfault {

using PhysAddr = std::uint64_t;
using DeviceId = std::uint16_t;
using NodeId = std::uint16_t;

inline constexpr unsigned kDeviceShift = 48;
inline constexpr DeviceId kFirstCpu = 0x8000;
inline constexpr DeviceId kFirstNic = 0xc000;
inline constexpr PhysAddr kNoFrame = ~PhysAddr{0};

constexpr PhysAddr physical(DeviceId device, std::uint64_t offset) {
  return (static_cast<PhysAddr>(device) << kDeviceShift) | offset;
}
constexpr DeviceId device_of(PhysAddr a) {
  return static_cast<DeviceId>(a >> kDeviceShift);
}
constexpr std::uint64_t offset_of(PhysAddr a) {
  return a & ((PhysAddr{1} << kDeviceShift) - 1);
}

// "gpu3", "cpu0", "nic1".
inline std::string device_name(DeviceId d) {
  if (d >= kFirstNic) return "nic" + std::to_string(d - kFirstNic);
  return d < kFirstCpu ? "gpu" + std::to_string(d) : "cpu" + std::to_string(d - kFirstCpu);
}

// Flag in a translation's frame, in a bit that frames do not use: the page is read-only because it has copies
// (paging/page_decision.hpp).
inline constexpr PhysAddr kReadOnly = PhysAddr{1} << 47;
constexpr PhysAddr read_only(PhysAddr frame) {
  return frame | kReadOnly;
}
constexpr bool is_read_only(PhysAddr frame) {
  return frame != kNoFrame && (frame & kReadOnly) != 0;
}

}  // namespace farfault
