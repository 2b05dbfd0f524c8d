// SPDX-License-Identifier: Apache-2.0
// Routing table of a node: for each destination, the next links on all shortest routes.
//
// - Each packet has a flow number. A node with n equal links selects link flow % n and passes flow / n on. A
//   source that counts its packets therefore uses all routes of a network evenly, stage by stage; packets
//   with one flow number take one route.
// - Links that keep flows together (ECMP) are selected by a fixed hash of source, destination and node; the
//   flow is passed on unchanged.
// - Cost: one array look-up, and a division if there are several links. Memory: 4 bytes per destination.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "farfault/engine/error.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

class RouteTable {
 public:
  static constexpr std::uint16_t kNone = 0xffff;

  struct Step {
    std::uint16_t link = kNone;
    std::uint32_t flow = 0;  // for the next node
  };

  RouteTable() = default;
  RouteTable(NodeId node, std::size_t nodes) : node_(node), entries_(nodes) {}

  std::size_t nodes() const { return entries_.size(); }

  void set(NodeId destination, std::vector<std::uint16_t> const& links, bool together = false) {
    if (links.empty()) return;
    auto& entry = entries_[destination];
    entry = {links.front(), 0};
    if (links.size() == 1) return;
    for (std::size_t i = 0; i < sets_.size() && entry.set == 0; ++i)
      if (sets_[i].links == links && sets_[i].together == together)
        entry.set = static_cast<std::uint16_t>(i + 1);
    if (entry.set != 0) return;
    FF_CHECK(sets_.size() < UINT16_MAX, "a node has more than 65534 sets of equal links");
    sets_.push_back({links, together});
    entry.set = static_cast<std::uint16_t>(sets_.size());
  }

  Step next(RouteHeader const& p) const {
    auto const entry = entries_[p.destination];
    if (entry.set == 0) return {entry.link, p.flow};
    auto const& set = sets_[entry.set - 1U];
    auto const n = static_cast<std::uint32_t>(set.links.size());
    if (set.together) return {set.links[route_hash(p.source, p.destination, node_) % n], p.flow};
    return {set.links[p.flow % n], p.flow / n};
  }

  // splitmix64's finalizer over three numbers.
  static std::uint32_t route_hash(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    auto x = a << 40U ^ b << 20U ^ c;
    x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
    return static_cast<std::uint32_t>((x ^ (x >> 31U)) >> 32U);
  }

 private:
  struct Entry {
    std::uint16_t link = kNone;
    std::uint16_t set = 0;  // 0: only `link`; else one more than the position in sets_
  };
  struct Set {
    std::vector<std::uint16_t> links;
    bool together = false;
  };

  NodeId node_ = 0;
  std::vector<Entry> entries_;
  std::vector<Set> sets_;
};

}  // namespace farfault
