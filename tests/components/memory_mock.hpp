// Memories made of mocks: they answer every request after a delay.
#pragma once

#include "farfault/protocols/messages.hpp"
#include "mock.hpp"

namespace farfault::mock {

using Memory = Responder<MemRequest, MemResponse>;

inline ResponderSpec<MemRequest, MemResponse> memory(std::function<Duration(std::uint64_t)> delay) {
  ResponderSpec<MemRequest, MemResponse> spec;
  spec.reply = [](MemRequest const& m) { return MemResponse{m.address, m.tag, m.access, {}}; };
  spec.delay = std::move(delay);
  return spec;
}

inline MemRequest read(PhysAddr address, std::uint32_t tag = 0, std::uint16_t from = 0) {
  return {address, tag, from, Access::read, 64};
}
inline MemRequest write(PhysAddr address, std::uint32_t tag = 0, std::uint16_t from = 0) {
  return {address, tag, from, Access::write, 64};
}

inline std::vector<std::uint32_t> tags(Sink<MemResponse> const& sink) {
  std::vector<std::uint32_t> all;
  for (auto const& r : sink.records()) all.push_back(r.message.tag);
  return all;
}

}  // namespace farfault::mock
