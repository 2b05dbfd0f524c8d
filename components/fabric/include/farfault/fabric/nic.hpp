// SPDX-License-Identifier: Apache-2.0
// A NIC: forwards packets between PCIe and the network; other devices access its doorbells and buffers.
//
// - Latency: nic.latency between its port and its memory, each way.
// - Outstanding accesses: at most fabric.inbound; if that is 0, the lines that its links carry in
//   fabric.service_time. Memory contents are not simulated.
// - A NIC sends no requests; copy engines move data to and from it.
// - Errors: a paging or translation packet sent to a NIC stops the program.
#pragma once

#include "farfault/fabric/fabric.hpp"

namespace farfault {

struct NicParams {
  Duration latency = 50ns;
  void describe(ParamTable& t) {
    auto const if_present = t.only_when(facts::kNicAccesses);
    t.duration("latency", latency, {Duration{1}, 1ms},
               "Latency between a NIC's port and its memory, each way", "assumed");
  }
};

class Nic final : public FabricPort {
 public:
  explicit Nic(Slot<PortSpec> slot);
  // The NIC's own memory, behind memory_request and memory_response.
  In<MemRequest> access = in<&Nic::on_access>("access");
  Out<MemResponse> response = out<MemResponse>("response");

  void on_access(MemRequest const& m, Cx& cx) const;

 private:
  void receive(Packet const& m, Cx& cx) const override;
};

}  // namespace farfault
