// SPDX-License-Identifier: Apache-2.0
// Pages by the frame to which they were mapped last, on every device of a driver.
//
// - An entry is not removed when its page leaves the frame. The caller compares the page's present frame.
// - Memory: one entry per frame, up to the last one used on each device.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "farfault/paging/node_devices.hpp"

namespace farfault {

class FrameOwners {
 public:
  FrameOwners() = default;
  explicit FrameOwners(NodeDevices const& devices) : pages_(devices.gpus() + 1) {}

  // Frames are numbered from 0 in the memory of a device: the GPUs by the driver's numbers, then the CPU.
  void set(std::uint32_t memory, std::uint64_t frame, std::uint64_t page) {
    auto& pages = pages_[memory];
    if (frame >= pages.size()) pages.resize(frame + 1, kNone);
    pages[frame] = page;
  }
  std::optional<std::uint64_t> page_at(std::uint32_t memory, std::uint64_t frame) const {
    auto const& pages = pages_[memory];
    return frame < pages.size() && pages[frame] != kNone ? std::optional(pages[frame]) : std::nullopt;
  }
  // Frames from this one on have no page.
  std::uint64_t end(std::uint32_t memory) const { return pages_[memory].size(); }

  auto members() { return std::tie(pages_); }

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  std::vector<std::vector<std::uint64_t>> pages_;  // by memory and frame
};

}  // namespace farfault
