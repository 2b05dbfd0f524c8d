// SPDX-License-Identifier: Apache-2.0
// Read-only copies of pages: at most one per device, in a frame of its memory, in addition to the page
// itself.
//
// A page that has had a copy stays read-only until take_all(), even if its copies are dropped one by one.
// Look-up time is linear in the number of copies of the page.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "farfault/paging/page_records.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

class PageCopies {
 public:
  PageCopies() = default;
  PageCopies(unsigned page_bits, std::uint32_t spaces) : first_(page_bits, spaces) {}

  bool read_only(std::uint64_t page) const {
    auto const* record = first_.find(page);
    return record != nullptr && record->read_only != 0;
  }
  // Frame of the copy on a device.
  std::optional<PhysAddr> find(std::uint64_t page, DeviceId device) const {
    for (auto node = first(page); node != 0; node = nodes_[node].next)
      if (device_of(nodes_[node].frame) == device) return nodes_[node].frame;
    return std::nullopt;
  }
  void add(std::uint64_t page, PhysAddr frame) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(nodes_.size()));
      nodes_.emplace_back();
    }
    auto const node = free_.back();
    free_.pop_back();
    auto& record = first_.of(page);
    nodes_[node] = {frame, record.node, 0};
    record = {node, 1};
  }
  // Removes the copy on a device, which must exist, and returns its frame.
  PhysAddr take(std::uint64_t page, DeviceId device) {
    auto& record = first_.of(page);
    auto* at = &record.node;
    while (device_of(nodes_[*at].frame) != device) at = &nodes_[*at].next;
    auto const node = *at;
    *at = nodes_[node].next;
    free_.push_back(node);
    return nodes_[node].frame;
  }
  // Device of the latest copy.
  std::optional<DeviceId> latest(std::uint64_t page) const {
    auto const node = first(page);
    return node != 0 ? std::optional(device_of(nodes_[node].frame)) : std::nullopt;
  }
  // Likewise, of the copies that are not on `device`.
  std::optional<DeviceId> latest_except(std::uint64_t page, DeviceId device) const {
    for (auto node = first(page); node != 0; node = nodes_[node].next)
      if (device_of(nodes_[node].frame) != device) return device_of(nodes_[node].frame);
    return std::nullopt;
  }
  // Removes all copies and makes the page writable; calls f(frame) for each copy, the latest first.
  template <class F>
  void take_all(std::uint64_t page, F&& f) {
    for (auto node = first(page); node != 0; node = nodes_[node].next) {
      f(nodes_[node].frame);
      free_.push_back(node);
    }
    first_.forget(page);
  }

  auto members() { return std::tie(first_, nodes_, free_); }

 private:
  struct First {
    std::uint32_t node = 0;  // 0: none
    std::uint32_t read_only = 0;
  };
  struct Node {
    PhysAddr frame = kNoFrame;
    std::uint32_t next = 0;
    std::uint32_t unused = 0;
  };
  std::uint32_t first(std::uint64_t page) const {
    auto const* record = first_.find(page);
    return record != nullptr ? record->node : 0;
  }

  PageRecords<First> first_;
  std::vector<Node> nodes_ = std::vector<Node>(1);
  std::vector<std::uint32_t> free_;
};

}  // namespace farfault
