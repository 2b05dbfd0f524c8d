// SPDX-License-Identifier: Apache-2.0
// Device-specific parts of a port: the RDMA engine of a GPU and the root port of a CPU.
#include <utility>

#include "farfault/fabric/fabric.hpp"

namespace farfault {

// ---- Rdma

Rdma::Rdma(Slot<PortSpec> slot) : FabricPort(std::move(slot)) {
  if (spec().page_faults) to_driver = in<&Rdma::on_to_driver>("to_driver");
  if (spec().fault_batches) from_driver = out<Packet>("from_driver");
}

void Rdma::on_remote(MemRequest const& m, Cx& cx) const {
  auto& s = cx.state();
  FF_CHECK(!s.free_outbound.empty(), path() + ": more remote accesses than credits");
  auto const entry = s.free_outbound.take(s.outbound);
  s.outbound[entry] = {m.tag, m.from, static_cast<std::uint16_t>(m.train.lines())};
  (m.access == Access::read ? s.stats.reads_sent : s.stats.writes_sent) += m.train.lines();
  RemoteRequest request{
      .lines = {.address = m.address, .bytes = m.bytes, .access = m.access, .kind = m.requester.kind},
      .tag = entry,
      .space = m.requester.space,
      .application = m.requester.application};
  request.lines.set_train(m.train);
  post(request, spec().nodes->of(device_of(m.address)), cx);
}

void Rdma::on_translate(TranslateRequest const& m, Cx& cx) const {
  ++cx.state().stats.translations_sent;
  post(m, spec().iommu_node, cx);
}

void Rdma::on_invalidated(Invalidated const& m, Cx& cx) const {
  post(m, spec().iommu_node, cx);
}

void Rdma::on_to_driver(Packet const& m, Cx& cx) const {
  auto p = m;
  p.route.destination = spec().iommu_node;
  post(p, cx);
}

void Rdma::receive(Packet const& m, Cx& cx) const {
  if (m.is<RemoteResponse>()) return receive_lines(m.as<RemoteResponse>(), m.route.held, cx);
  auto const endpoint = endpoint_of(m);
  if (endpoint == Endpoint::counters && spec().counts_accesses()) return control_counters(m, cx);
  FF_CHECK(endpoint == Endpoint::gmmu, path() + ": unexpected packet kind at a GPU");
  if (m.is<IommuResponse>() || m.is<Replay>())
    cx.send(translate_response, m);
  else if (m.is<Invalidate>())
    cx.send(invalidate, m.as<Invalidate>());
  else
    cx.send(from_driver, m);
}

void Rdma::receive_lines(RemoteResponse const& m, std::uint16_t held, Cx& cx) const {
  auto& s = cx.state();
  FF_INVARIANT(m.tag < s.outbound.size(), path() + ": response without a request");
  auto const train = m.lines.train();
  auto& requester = s.outbound[m.tag];
  requester.lines = static_cast<std::uint16_t>(requester.lines - train.lines());
  if (requester.lines == 0) s.free_outbound.give_back(m.tag);
  cx.send(remote_response, requester.from,
          MemResponse{.address = m.lines.address,
                      .tag = requester.tag,
                      .access = m.lines.access,
                      .found_by = m.found_by,
                      .train = train,
                      .stages = {0, 0, unpack_duration(held)}});
}

// ---- CpuPort

CpuPort::CpuPort(Slot<PortSpec> slot) : FabricPort(std::move(slot)) {
  bool const counts = spec().access_counters;
  if (spec().page_faults || counts) to_driver = out<Packet>("to_driver");
  if (spec().fault_batches || counts) from_driver = in<&CpuPort::on_from_driver>("from_driver");
}

void CpuPort::on_translated(Packet const& m, Cx& cx) const {
  post(m, cx);
}

void CpuPort::on_from_driver(Packet const& m, Cx& cx) const {
  auto p = m;
  visit(m, [&](auto const& message) {
    if constexpr (requires { message.gpu; })
      p.route.destination = spec().nodes->of(message.gpu);
    else
      FF_CHECK(false, path() + ": a message of the driver names no GPU");
  });
  post(p, cx);
}

void CpuPort::receive(Packet const& m, Cx& cx) const {
  auto const endpoint = endpoint_of(m);
  if (m.is<Invalidated>()) return cx.send(invalidated, m.as<Invalidated>());
  if (endpoint == Endpoint::iommu) return cx.send(translate, m);
  FF_CHECK(endpoint == Endpoint::driver, path() + ": unexpected packet kind at a CPU");
  cx.send(to_driver, m);
}

}  // namespace farfault
