// SPDX-License-Identifier: Apache-2.0
// Access counters at a port: they count the accesses of warps that pass it, and exchange messages with the
// driver. Ports without counters register other handlers.
#include <algorithm>

#include "farfault/fabric/fabric.hpp"

namespace farfault {

void Rdma::on_counted_remote(MemRequest const& m, Cx& cx) const {
  if (m.requester.kind == RequestKind::data)
    count_accesses(spec().nodes->of(device_of(m.address)), m.address, m.train.lines(), cx);
  on_remote(m, cx);
}

void FabricPort::on_counted_packet(Packet const& m, Cx& cx) const {
  if (m.is<RemoteRequest>() && m.route.destination == spec().fabric.node) {
    auto const lines = m.lines();
    if (lines.kind == RequestKind::data)
      count_accesses(m.route.source, lines.address, lines.train().lines(), cx);
  }
  on_packet(m, cx);
}

void FabricPort::count_accesses(NodeId peer, PhysAddr address, std::uint32_t lines, Cx& cx) const {
  auto const reached = cx.state().counters.count(peer, offset_of(address), lines);
  if (!reached) return;
  auto const of_gpu = spec().counts(CounterPlace::outbound) ? spec().device : spec().nodes->gpu_at(peer);
  post(CounterNotification{.region = physical(device_of(address), reached->first),
                           .sub_regions = reached->sub_regions,
                           .count = reached->count,
                           .gpu = of_gpu,
                           .counter = spec().device},
       spec().iommu_node, cx);
}

// The driver has read notifications, or clears a counter.
void Rdma::control_counters(Packet const& m, Cx& cx) const {
  auto& counters = cx.state().counters;
  if (m.is<CounterRead>()) return counters.read(m.as<CounterRead>().entries);
  auto const clear = m.as<CounterClear>();
  bool const outbound = spec().counts(CounterPlace::outbound);
  counters.clear(spec().nodes->of(outbound ? device_of(clear.region) : clear.requester),
                 offset_of(clear.region));
}

}  // namespace farfault
