// SPDX-License-Identifier: Apache-2.0
// Units of eviction in an order: each is there once, and can be put at the end, be taken out, and be found in
// constant time. A unit is named by its first base page.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "farfault/paging/page_records.hpp"

namespace farfault {

class UnitList {
 public:
  UnitList() = default;
  UnitList(unsigned page_bits, std::uint32_t spaces) : place_(page_bits, spaces) {}

  bool holds(std::uint64_t unit) const {
    auto const* place = place_.find(unit);
    return place != nullptr && place->node != 0;
  }
  // At the end, wherever it was.
  void put_last(std::uint64_t unit) {
    remove(unit);
    auto const node = take();
    nodes_[node] = {unit, nodes_[0].before, 0};
    nodes_[nodes_[0].before].after = node;
    nodes_[0].before = node;
    place_.of(unit).node = node;
  }
  void remove(std::uint64_t unit) {
    if (!holds(unit)) return;
    auto const node = place_.of(unit).node;
    auto const& n = nodes_[node];
    nodes_[n.before].after = n.after;
    nodes_[n.after].before = n.before;
    free_.push_back(node);
    place_.of(unit).node = 0;
  }
  // The first one of which may(unit) holds.
  template <class May>
  std::optional<std::uint64_t> first(May&& may) const {
    for (auto node = nodes_[0].after; node != 0; node = nodes_[node].after)
      if (may(nodes_[node].unit)) return nodes_[node].unit;
    return std::nullopt;
  }

  auto members() { return std::tie(place_, nodes_, free_); }

 private:
  struct Place {
    std::uint32_t node = 0;  // 0: it is not there
  };
  struct Node {
    std::uint64_t unit = 0;
    std::uint32_t before = 0;
    std::uint32_t after = 0;
  };
  std::uint32_t take() {
    if (free_.empty()) {
      nodes_.emplace_back();
      return static_cast<std::uint32_t>(nodes_.size() - 1);
    }
    auto const node = free_.back();
    free_.pop_back();
    return node;
  }

  PageRecords<Place> place_;
  std::vector<Node> nodes_ = std::vector<Node>(1);  // the first one joins the ends
  std::vector<std::uint32_t> free_;
};

}  // namespace farfault
