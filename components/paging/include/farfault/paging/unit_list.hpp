// SPDX-License-Identifier: Apache-2.0
// Ordered list of eviction units: each unit occurs at most once. Append, remove and find take constant time.
// A unit is named by its first base page.
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
  // Moves or adds the unit to the end.
  void move_to_end(std::uint64_t unit) {
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
  // First unit for which accepts(unit) is true.
  template <class Accepts>
  std::optional<std::uint64_t> first(Accepts&& accepts) const {
    for (auto node = nodes_[0].after; node != 0; node = nodes_[node].after)
      if (accepts(nodes_[node].unit)) return nodes_[node].unit;
    return std::nullopt;
  }

  auto members() { return std::tie(place_, nodes_, free_); }

 private:
  struct Place {
    std::uint32_t node = 0;  // 0: not in the list
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
  std::vector<Node> nodes_ = std::vector<Node>(1);  // node 0 links both ends
  std::vector<std::uint32_t> free_;
};

}  // namespace farfault
