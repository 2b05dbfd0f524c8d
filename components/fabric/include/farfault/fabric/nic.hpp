// SPDX-License-Identifier: Apache-2.0
// A NIC: forwards packets between PCIe and the network, and is a device whose doorbells and buffers other
// devices can address.
//
// - Accesses to its memory take nic.latency each way, in addition to the port.
// - Concurrent accesses are limited as for any device: fabric.inbound, or the lines that its links carry in
//   fabric.service_time. Nothing else limits them. Memory contents are not simulated.
// - A NIC sends no requests; copy engines move data to and from it.
// - Errors: a paging or translation packet sent to a NIC stops the program.
#pragma once

#include "farfault/fabric/fabric.hpp"

namespace farfault {

struct NicParams {
  Duration latency = 50ns;
  void describe(ParamTable& t) {
    auto const if_present = t.only_when(facts::kNics);
    t.duration("latency", latency, {Duration{1}, 1ms},
               "Latency between a NIC's port and its memory, each way", "assumed");
  }
};

class Nic final : public FabricPort {
 public:
  using FabricPort::FabricPort;
  // The NIC's own memory, behind memory_request and memory_response.
  In<MemRequest> access = in<&Nic::on_access>("access");
  Out<MemResponse> response = out<MemResponse>("answer");

  void on_access(MemRequest const& m, Cx& cx) const;

 private:
  void receive(Packet const& m, Cx& cx) const override;
};

}  // namespace farfault
