// SPDX-License-Identifier: Apache-2.0
// A NIC: it passes packets on between PCIe and the network, and is itself a device that others can address,
// by its doorbells and its buffers.
//
// A read or write of its memory takes nic.latency from the NIC's port to the memory, and as much back. Like
// any device it takes as many at a time as fabric.inbound says, or its links carry in fabric.service_time;
// nothing else limits them, and what the memory holds is not simulated. A NIC asks for nothing by itself:
// data moves to and from it by a copy engine. Errors: a packet of paging or translation for a NIC stops the
// program.
#pragma once

#include "farfault/fabric/fabric.hpp"

namespace farfault {

struct NicParams {
  Duration latency = 50ns;
  void describe(ParamTable& t) {
    t.duration("latency", latency, {Duration{1}, 1ms},
               "between a NIC's port and its memory, which other devices can read and write; each way",
               "assumed");
  }
};

class Nic final : public FabricPort {
 public:
  using FabricPort::FabricPort;
  // Its own memory, behind memory_request and memory_response.
  In<MemRequest> access = in<&Nic::on_access>("access");
  Out<MemResponse> answer = out<MemResponse>("answer");

  void on_access(MemRequest const& m, Cx& cx) const;

 private:
  void receive(Packet const& m, Cx& cx) const override;
};

}  // namespace farfault
