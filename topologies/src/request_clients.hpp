// SPDX-License-Identifier: Apache-2.0
// Private: the clients of a device's memory slices, or of its RDMA engine.
//
// Each client is added once, with the maximum number of outstanding requests per port. The numbers of the
// response ports, which are the `from` of its requests, and the capacity of the server follow.
#pragma once

#include <cstdint>
#include <vector>

#include "farfault/engine/component.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault::topologies {

class RequestClients {
 public:
  // Adds `ports` ports; returns the number of the first.
  std::uint16_t add(std::uint32_t ports, std::uint32_t requests_of_each) {
    auto const first = static_cast<std::uint16_t>(ports_.size());
    ports_.resize(ports_.size() + ports);
    requests_ += ports * requests_of_each;
    return first;
  }
  // Maximum outstanding requests of all clients: at one slice, or at the RDMA engine.
  std::uint32_t requests() const { return requests_; }

  void connect(std::uint32_t number, In<MemResponse> const& port) { ports_.at(number) = port; }
  std::vector<In<MemResponse>> const& ports() const { return ports_; }

 private:
  std::vector<In<MemResponse>> ports_;
  std::uint32_t requests_ = 0;
};

}  // namespace farfault::topologies
