// SPDX-License-Identifier: Apache-2.0
// Mock memories: they answer every request after a delay.
#pragma once

#include "farfault/protocols/messages.hpp"
#include "mock.hpp"

namespace farfault::mock {

using Memory = Responder<MemRequest, MemResponse>;

// As caches, they report a hit for lines with even numbers.
enum class Below { memory, cache };
inline FoundBy line_found(PhysAddr address, Below below = Below::cache) {
  return below == Below::cache && address / 64 % 2 == 0 ? FoundBy::cache : FoundBy::memory;
}

inline ResponderSpec<MemRequest, MemResponse> memory(std::function<Duration(std::uint64_t)> delay,
                                                     Below below = Below::memory) {
  ResponderSpec<MemRequest, MemResponse> spec;
  spec.reply = [below](MemRequest const& m) {
    return MemResponse{.address = m.address,
                       .tag = m.tag,
                       .access = m.access,
                       .found_by = line_found(m.address, below),
                       .train = m.train};
  };
  spec.delay = std::move(delay);
  return spec;
}

inline MemRequest read(PhysAddr address, std::uint32_t tag = 0, std::uint16_t from = 0) {
  return {.address = address, .tag = tag, .from = from, .access = Access::read, .bytes = 64};
}
inline MemRequest write(PhysAddr address, std::uint32_t tag = 0, std::uint16_t from = 0) {
  return {.address = address, .tag = tag, .from = from, .access = Access::write, .bytes = 64};
}

using Found = std::vector<FoundBy>;
template <class M>
Found found_by(Sink<M> const& sink) {
  Found all;
  for (auto const& r : sink.records()) all.push_back(r.message.found_by);
  return all;
}

inline std::vector<std::uint32_t> tags(Sink<MemResponse> const& sink) {
  std::vector<std::uint32_t> all;
  for (auto const& r : sink.records()) all.push_back(r.message.tag);
  return all;
}

}  // namespace farfault::mock
