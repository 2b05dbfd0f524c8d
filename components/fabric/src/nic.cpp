// SPDX-License-Identifier: Apache-2.0
#include "farfault/fabric/nic.hpp"

namespace farfault {

Nic::Nic(Slot<PortSpec> slot) : FabricPort(std::move(slot)) {}

void Nic::on_access(MemRequest const& m, Cx& cx) const {
  cx.send(response, MemResponse{.address = m.address, .tag = m.tag, .access = m.access, .train = m.train});
}

void Nic::receive(Packet const& m, Cx& /*cx*/) const {
  FF_CHECK(false, path() + ": unexpected packet at a NIC, of kind " +
                      std::to_string(static_cast<unsigned>(m.route.kind)));
}

}  // namespace farfault
