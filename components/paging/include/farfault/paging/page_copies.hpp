// The read-only copies of pages, beside the page itself: at most one on a device, in a frame of its memory.
// Finding one takes time in the number of copies of the page.
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

  bool any(std::uint64_t page) const { return first(page) != 0; }
  // The frame of the copy on a device.
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
    record.node = node;
  }
  // There are none from now on; calls f(frame) for each, the latest first.
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
