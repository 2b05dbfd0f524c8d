// SPDX-License-Identifier: Apache-2.0
// Device-specific parts of a port: the RDMA engine of a GPU and the root port of a CPU.
#include <utility>

#include "farfault/fabric/fabric.hpp"

namespace farfault {

// ---- Rdma

Rdma::Rdma(Slot<PortSpec> slot) : FabricPort(std::move(slot)) {
  if (spec().page_faults) page_fault = in<&Rdma::on_page_fault>("page_fault");
  if (spec().fault_batches) fault_order = out<FaultOrder>("fault_order");
}

void Rdma::on_remote(MemRequest const& m, Cx& cx) const {
  auto& s = cx.state();
  FF_CHECK(!s.free_outbound.empty(), path() + ": more remote accesses than credits");
  auto const entry = s.free_outbound.take(s.outbound);
  s.outbound[entry] = {m.tag, m.from, static_cast<std::uint16_t>(m.train.lines())};
  (m.access == Access::read ? s.stats.reads_sent : s.stats.writes_sent) += m.train.lines();
  Packet p{};
  p.kind = m.access == Access::read ? PacketKind::read_request : PacketKind::write_request;
  p.address = m.address;
  p.tag = entry;
  p.bytes = m.bytes;
  p.requester = m.requester;
  p.set_train(m.train);
  p.destination = spec().nodes->of(device_of(m.address));
  post(p, cx);
}

Packet Rdma::to_iommu(PacketKind kind) const {
  Packet p{};
  p.kind = kind;
  p.destination = spec().iommu_node;
  p.device = spec().device;
  return p;
}

void Rdma::on_translate(TranslateRequest const& m, Cx& cx) const {
  ++cx.state().stats.translations_sent;
  auto p = to_iommu(PacketKind::translate_request);
  p.address = m.page;
  p.tag = m.from;
  p.bytes = static_cast<std::uint8_t>(m.access);
  p.requester.application = m.application;
  post(p, cx);
}

void Rdma::on_invalidated(Invalidated const& m, Cx& cx) const {
  auto p = to_iommu(PacketKind::invalidate_response);
  p.tag = m.move;
  post(p, cx);
}

void Rdma::on_page_fault(PageFault const& m, Cx& cx) const {
  auto p = to_iommu(PacketKind::page_fault);
  p.address = m.page;
  p.tag = m.entry;
  p.bytes = static_cast<std::uint8_t>(static_cast<unsigned>(m.kind) |
                                      (m.access == Access::write ? kRaisedByWrite : 0U));
  p.frame = static_cast<PhysAddr>(picoseconds(m.raised));
  p.requester.space = static_cast<std::uint8_t>(m.note);
  p.requester.application = m.application;
  post(p, cx);
}

void Rdma::receive(Packet const& m, Cx& cx) const {
  auto& s = cx.state();
  if (m.kind == PacketKind::translate_response) {
    TranslateResponse r{m.address, m.frame, m.tag, m.found_by};
    if (m.found_by == FoundBy::unrecorded)
      r.kind = static_cast<FaultKind>(m.bytes);
    else
      r.size = m.bytes;
    r.stages.iommu = unpack_duration(m.device);
    cx.send(translate_response, r);
    return;
  }
  if (m.kind == PacketKind::invalidate_request || m.kind == PacketKind::flush_request ||
      m.kind == PacketKind::map_request) {
    auto const step = m.kind == PacketKind::flush_request ? MoveStep::flush
                      : m.kind == PacketKind::map_request ? MoveStep::map
                                                          : MoveStep::unmap;
    cx.send(invalidate, Invalidate{m.address, m.frame, m.tag, step, m.bytes, {}});
    return;
  }
  if (m.kind == PacketKind::fault_order) {
    cx.send(fault_order,
            FaultOrder{m.tag, m.device, static_cast<FaultOrderKind>(m.requester.space), m.bytes});
    return;
  }
  FF_CHECK(m.kind == PacketKind::read_response || m.kind == PacketKind::write_response,
           path() + ": unexpected packet kind at a GPU");
  FF_INVARIANT(m.tag < s.outbound.size(), path() + ": response without a request");
  auto& requester = s.outbound[m.tag];
  requester.lines = static_cast<std::uint16_t>(requester.lines - m.train().lines());
  if (requester.lines == 0) s.free_outbound.give_back(m.tag);
  auto const access = m.kind == PacketKind::read_response ? Access::read : Access::write;
  cx.send(
      remote_response, requester.from,
      MemResponse{
          m.address, requester.tag, access, m.found_by, {}, m.train(), {0, 0, unpack_duration(m.device)}});
}

// ---- CpuPort

CpuPort::CpuPort(Slot<PortSpec> slot) : FabricPort(std::move(slot)) {
  if (spec().page_faults) fault = out<PageFault>("fault");
  if (spec().fault_batches) fault_order = in<&CpuPort::on_fault_order>("fault_order");
}

void CpuPort::on_translated(Packet const& m, Cx& cx) const {
  post(m, cx);
}

void CpuPort::on_fault_order(FaultOrder const& m, Cx& cx) const {
  Packet p{};
  p.kind = PacketKind::fault_order;
  p.destination = spec().nodes->of(m.gpu);
  p.device = m.gpu;
  p.tag = m.entries;
  p.bytes = m.retry;
  p.requester.space = static_cast<std::uint8_t>(m.kind);
  post(p, cx);
}

void CpuPort::receive(Packet const& m, Cx& cx) const {
  if (m.kind == PacketKind::invalidate_response) {
    cx.send(invalidated, Invalidated{m.tag});
    return;
  }
  if (m.kind == PacketKind::page_fault) {
    cx.send(fault, PageFault{m.address,
                             m.device,
                             spec().iommu,
                             m.tag,
                             static_cast<FaultKind>(m.bytes & ~kRaisedByWrite),
                             1,
                             m.requester.application,
                             static_cast<FaultNote>(m.requester.space),
                             (m.bytes & kRaisedByWrite) != 0 ? Access::write : Access::read,
                             {},
                             Time{Duration{static_cast<std::int64_t>(m.frame)}}});
    return;
  }
  FF_CHECK(m.kind == PacketKind::translate_request, path() + ": unexpected packet kind at a CPU");
  cx.send(translate, m);
}

}  // namespace farfault
