// SPDX-License-Identifier: Apache-2.0
// Packets of scripts, and the messages of packets that a sink has recorded.
#pragma once

#include <optional>
#include <vector>

#include "farfault/protocols/messages.hpp"
#include "mock.hpp"

namespace farfault::mock {

template <class M>
Packet packet_to(NodeId destination, M const& m) {
  auto p = Packet::of(m);
  p.route.destination = destination;
  return p;
}

// The script as packets.
template <class M>
std::vector<Record<Packet>> as_packets(std::vector<Record<M>> const& script) {
  std::vector<Record<Packet>> all;
  for (auto const& r : script) all.push_back({r.at, Packet::of(r.message)});
  return all;
}

// Members that an IOMMU's response and its replay share. tag: only of a response.
struct Answer {
  std::uint64_t page = 0;
  PhysAddr frame = 0;
  std::uint8_t size = 0;
  FoundBy found_by = FoundBy::iommu;
  std::optional<std::uint32_t> tag = {};

  friend bool operator==(Answer const&, Answer const&) = default;
};
inline std::optional<Answer> answer_in(Packet const& p) {
  if (p.is<IommuResponse>()) {
    auto const m = p.as<IommuResponse>();
    return Answer{.page = m.page, .frame = m.frame, .size = m.size, .found_by = m.found_by, .tag = m.tag};
  }
  if (!p.is<Replay>()) return std::nullopt;
  auto const m = p.as<Replay>();
  return Answer{m.page, m.frame, m.size, m.found_by};
}
// The answer in the n-th packet; requires one.
inline Answer answer(Sink<Packet> const& sink, std::size_t n) {
  return answer_in(sink.records().at(n).message).value();
}

}  // namespace farfault::mock
