// SPDX-License-Identifier: Apache-2.0
// The fabric: switches, and the ports by which GPUs, CPUs and NICs are attached to it.
//
// Every node sends over its links with serialization at the link's bandwidth and credits for the bytes of the
// receiver's buffers, one buffer for each virtual channel and link (PCIe's and NVLink's credit-based flow
// control). A switch stores a packet until it can be forwarded (virtual cut-through is not modelled), returns
// the credits when the packet has left, and serves an output's packets in order of arrival, responses before
// requests; a source's share of a full output is therefore that of its buffers. At a device's own port,
// translations and data wait in separate queues that are served alternately (MGPUSim 4.2: two ports at the
// PCIe endpoint).
//
// Routing is a table by destination node. Data is striped over equally short routes packet by packet: a port
// counts its packets to each destination, those with data and those without (else a kernel that loads and
// stores in turn would send all data over one of two links). Translations and invalidations of a page take
// one route, a hash of the page, so that they arrive in the order in which they were sent.
//
// Each output of a switch is a component, so that a busy switch is no sequential bottleneck of the
// simulation: what two outputs share, the buffers of an input, is known by the sender's credits alone. The
// sender looks up the output in the switch's table, as hardware with look-ahead routing does.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "farfault/engine/component.hpp"
#include "farfault/engine/params.hpp"
#include "farfault/fabric/copy_data.hpp"
#include "farfault/fabric/egress.hpp"
#include "farfault/fabric/route_table.hpp"
#include "farfault/parts/address_map.hpp"
#include "farfault/parts/free_numbers.hpp"
#include "farfault/parts/ring.hpp"
#include "farfault/protocols/device_names.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

enum class NetworkSpread : std::uint8_t { packet, flow };

struct FabricParams {
  std::uint32_t header_bytes = 24;
  std::uint32_t nvlink_flit_bytes = 16;
  std::uint32_t network_header_bytes = 26;
  ByteSize network_mtu{4096};
  std::uint32_t translation_bytes = 8;
  std::uint32_t fault_bytes = 32;
  ByteSize buffer{0};
  NetworkSpread network_spread = NetworkSpread::packet;
  Duration service_time = 1us;
  std::uint32_t inbound = 0;
  std::uint32_t memory_credits = 0;
  PolicyChoice<CopyData> copies{"raw"};
  void describe(ParamTable& t) {
    t.count(
        "header_bytes", header_bytes, {1, 1024},
        "bytes on the wire of a packet without data, on all links but NVLink and networks of NICs of known "
        "bandwidth",
        "PCIe 3.0: 4 framing + 12..16 header + 4 LCRC, rounded to 24; for xGMI and other networks assumed");
    t.count(
        "nvlink_flit_bytes", nvlink_flit_bytes, {1, 128},
        "bytes of an NVLink flit; a packet is one header flit and its payload in whole flits; a power of two",
        "WikiChip, NVLink: packets of 1 to 18 flits of 128 bits; 64 bytes take a header flit and 4 of data");
    t.count(
        "network_header_bytes", network_header_bytes, {1, 1024},
        "header bytes of a network packet, shared by the lines of network_mtu: a line, or the request for "
        "one, has its share, rounded up to a byte",
        "InfiniBand: LRH 8 + BTH 12 + ICRC 4 + VCRC 2 (RoCE v2: 82, with IP, UDP and Ethernet's preamble "
        "and gap)");
    t.bytes("network_mtu", network_mtu, {ByteSize{64}, ByteSize{65'536}},
            "data of a network packet; gpu.line_bytes: each line has a packet of its own",
            "InfiniBand: path MTU of 256 bytes to 4 KiB");
    t.count("translation_bytes", translation_bytes, {0, 1024},
            "payload bytes of a translation response or an invalidation request",
            "PCIe ATS 1.1: 8 bytes a translation completion entry, and of an invalidate request");
    t.count("fault_bytes", fault_bytes, {0, 1024},
            "payload bytes of a packet that tells the driver of a fault: an entry of a GPU's fault buffer",
            "NVIDIA, clb069.h: 32 bytes an entry");
    t.bytes(
        "buffer", buffer, {ByteSize{0}, ByteSize{kLargestBuffer}},
        "bytes that the receiver of a link buffers, per virtual channel; 0: each link's bandwidth x round "
        "trip, twice",
        "assumed: links are built to be filled; twice, because half of the credits may be on hold at the "
        "receiver");
    t.choice("network_spread", network_spread,
             {{"packet", NetworkSpread::packet}, {"flow", NetworkSpread::flow}},
             "what is spread over equally short network links: packet by packet, or all from one node to "
             "another over one of them",
             "NVIDIA Quantum InfiniBand: adaptive routing of each packet; ECMP (RFC 2992): flow");
    t.duration("service_time", service_time, {Duration{1}, 1ms},
               "how long a device takes to serve a line for another one, under load; sizes inbound and "
               "memory_credits",
               "assumed");
    t.count("inbound", inbound, {0, 1 << 20},
            "requests of other devices that a device serves at a time; 0: the lines that its links carry in "
            "service_time",
            "assumed; MGPUSim 4.2, RDMA builder: 256 for links of 16 GB/s, where this gives 250");
    t.count("memory_credits", memory_credits, {0, 1 << 20},
            "of these, at one L2 slice; 0: twice its even share", "assumed");
    copies.describe(t, "copies", "how the data of copies between a GPU and a CPU travel", "PCIe: raw");
  }

  PacketFormat format(bool nvlink) const {
    return nvlink ? PacketFormat{nvlink_flit_bytes, nvlink_flit_bytes} : PacketFormat{header_bytes, 1};
  }
  // On network links of NICs of known bandwidth: lines of `line_bytes` share a packet.
  PacketFormat network_format(std::uint32_t line_bytes) const {
    auto const share =
        (std::uint64_t{network_header_bytes} * line_bytes + network_mtu.bytes - 1) / network_mtu.bytes;
    return {static_cast<std::uint32_t>(share), 1};
  }
  // What a device serves for others at a time, where the parameters leave it to its links: the lines that
  // they carry in service_time, and twice its even share for one of `slices`, because addresses are not
  // spread evenly.
  std::uint32_t inbound_of(Bandwidth all_links, std::uint32_t line_bytes) const;
  std::uint32_t memory_credits_of(std::uint32_t inbound_entries, std::uint32_t slices) const;
};

// The number of lines that one link, or several together, can carry in a time: headers not counted.
std::uint64_t lines_in(Bandwidth bandwidth, Duration time, std::uint32_t line_bytes);

// One link as seen from a node.
struct LinkEnd {
  Bandwidth bandwidth;        // outwards
  PacketFormat format;        // the same at both ends
  std::uint64_t buffer = 0;   // bytes for each channel at the other end
  std::uint32_t batch = 1;    // bytes after which this node gives credits back for what arrived
  std::uint16_t far_via = 0;  // the link's number at the node at the other end
  // Of a switch at the other end, to choose among its outputs; null: a device, which has one input.
  RouteTable const* far_route = nullptr;
  std::uint32_t number = 0;   // of the link in the machine
  std::string far_name = {};  // of the node at the other end
};

struct FabricNodeSpec {
  std::string kind;  // of the series in the results
  std::string name;  // of the node
  NodeId node = 0;
  std::vector<LinkEnd> links;
  RouteTable const* route = nullptr;
  std::size_t passing = 1024;  // packets of others that may be here, for each channel: what all buffers hold
  std::size_t queue = 1024;    // packets that may wait for one link and channel
};

struct SwitchOutputSpec {
  FabricNodeSpec fabric;
  std::uint32_t link = 0;  // of the switch: where this output leads
};

struct SwitchOutputState {
  Egress egress;
  std::vector<std::uint32_t> owed;  // bytes of credit to return, by link and channel of arrival

  static std::span<Stat<SwitchOutputState> const> list() {
    using S = SwitchOutputState const&;
    static constexpr auto all = std::to_array<Stat<SwitchOutputState>>({
        {"packets", "count", "packets forwarded", StatKind::counter,
         [](S s) { return s.egress.stats().packets; }},
        {"bytes", "bytes", "bytes forwarded, headers included", StatKind::counter,
         [](S s) { return s.egress.stats().bytes; }},
        {"busy_time", "ps", "time the output link was busy", StatKind::counter,
         [](S s) { return s.egress.stats().busy_so_far(); }},
        {"credit_wait_time", "ps", "time the output link was idle while a packet waited for credits",
         StatKind::counter, [](S s) { return s.egress.stats().credit_wait_ps; }},
        {"queued_packets", "count", "packets waiting for the output", StatKind::level,
         [](S s) { return s.egress.queued(); }},
    });
    return all;
  }
};

class SwitchOutput final : public Component<SwitchOutputSpec, SwitchOutputState> {
 public:
  explicit SwitchOutput(Slot<SwitchOutputSpec> slot);
  In<Packet> packet_in = in<&SwitchOutput::on_packet>("packet");
  In<Credit> credit_in = in<&SwitchOutput::on_credit>("credit");
  Out<Packet> packet_out = out<Packet>("packet_out");
  std::vector<Out<Credit>> credit_out;  // by link of the switch

  std::string_view kind() const override { return spec().fabric.kind; }
  std::string waiting_for() const override;
  SwitchOutputState initial() const override;
  std::vector<TableInfo> tables() const override;
  void final_rows(TableRows& rows) const override;

  void on_packet(Packet const& m, Cx& cx) const;
  void on_credit(Credit const& m, Cx& cx) const;

 private:
  bool settle(SwitchOutputState& s, Time at) const override { return s.egress.settle(at); }
  auto leaves(Cx& cx) const;
};

// Where the devices of a machine are.
struct DeviceNodes {
  std::vector<NodeId> gpus;
  std::vector<NodeId> cpus;
  std::vector<NodeId> nics;
  NodeId of(DeviceId d) const {
    if (d < kFirstCpu) return gpus[d];
    return d < kFirstNic ? cpus[d - kFirstCpu] : nics[d - kFirstNic];
  }
};

struct PortSpec {
  FabricNodeSpec fabric;
  DeviceId device = 0;
  std::uint16_t memory_port = 0;  // this port's number among the clients of the L2 slices
  AddressMap memory;
  std::uint32_t slices = 1;
  DeviceNodes const* nodes = nullptr;   // must outlive the port
  DeviceNames const* names = nullptr;   // the same; null: kinds and numbers
  NodeId iommu_node = 0;                // of a GPU: where its translation requests go
  std::uint32_t outbound = 1;           // requests of this device that may be under way
  std::uint32_t inbound = 1;            // requests of other devices that are served at a time
  std::uint32_t memory_credits = 1;     // of these, at one slice
  std::uint32_t translation_bytes = 8;  // payload of a translation response or an invalidation request
  std::uint32_t fault_bytes = 32;       // payload of a page fault
  // Of copies between a GPU and a CPU, by the bytes of a line that they have.
  std::vector<std::uint8_t> copy_payload;
  bool page_faults = false;    // whether GPUs send some to the driver,
  bool fault_batches = false;  // which orders them in batches
  std::uint16_t iommu = 0;     // of a CPU: the number of its IOMMU among those of the driver
};

struct Outbound {
  std::uint32_t tag = 0;
  std::uint16_t from = 0;
  std::uint16_t lines = 0;  // not answered yet
};
struct Inbound {
  std::uint32_t tag = 0;
  NodeId source = 0;
  std::uint8_t bytes = 0;
  std::uint8_t lines = 0;  // not answered yet
  RequestKind kind = RequestKind::data;
  std::uint8_t unused[7] = {};
  Time since{};
};

// What a device has sent to another one.
struct Traffic {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;  // of data, without headers
};

struct PortStats {
  std::uint64_t reads_sent = 0;
  std::uint64_t writes_sent = 0;
  std::uint64_t translations_sent = 0;
  std::uint64_t reads_received = 0;
  std::uint64_t writes_received = 0;
  std::uint64_t translations_received = 0;
};

struct PortState {
  std::vector<Egress> egress;
  std::vector<std::uint32_t> owed;       // bytes of credit to return, by link and channel
  std::vector<std::uint32_t> next_flow;  // of data, by destination node: without payload, with payload
  std::vector<Traffic> sent;             // by destination node
  std::vector<Outbound> outbound;
  FreeNumbers free_outbound;
  std::vector<Inbound> inbound;
  FreeNumbers free_inbound;
  std::uint64_t free_lines = 0;  // that may be asked of this device still
  std::vector<std::uint32_t> slice_credits;
  std::uint64_t queued_responses = 0;  // lines, of responses to other devices that wait for a link
  Ring<Packet>
      held;  // arrived memory requests that wait for an entry or an L2 credit; their link credit is kept
  PortStats stats;

  static std::span<Stat<PortState> const> list() {
    using S = PortState const&;
    static constexpr auto all = std::to_array<Stat<PortState>>({
        {"reads_sent", "count", "read requests sent to other devices", StatKind::counter,
         [](S s) { return s.stats.reads_sent; }},
        {"writes_sent", "count", "write requests sent to other devices", StatKind::counter,
         [](S s) { return s.stats.writes_sent; }},
        {"translations_sent", "count", "translation requests sent", StatKind::counter,
         [](S s) { return s.stats.translations_sent; }},
        {"reads_received", "count", "read requests received from other devices", StatKind::counter,
         [](S s) { return s.stats.reads_received; }},
        {"writes_received", "count", "write requests received from other devices", StatKind::counter,
         [](S s) { return s.stats.writes_received; }},
        {"translations_received", "count", "translation requests (CPU) or responses (GPU) received",
         StatKind::counter, [](S s) { return s.stats.translations_received; }},
        {"packets", "count", "packets sent over all links", StatKind::counter,
         [](S s) { return s.sum(&EgressStats::packets); }},
        {"bytes", "bytes", "bytes sent, headers included", StatKind::counter,
         [](S s) { return s.sum(&EgressStats::bytes); }},
        {"busy_time", "ps", "time the outgoing links were busy, summed over links", StatKind::counter,
         [](S s) { return s.sum(&EgressStats::busy_ps) - s.sum(&EgressStats::ahead_ps); }},
        {"credit_wait_time", "ps",
         "time the outgoing links were idle while a packet waited for credits, summed over links",
         StatKind::counter, [](S s) { return s.sum(&EgressStats::credit_wait_ps); }},
        {"queued_packets", "count", "packets waiting for a link", StatKind::level,
         [](S s) { return s.queued(); }},
    });
    return all;
  }
  // Over all links.
  std::uint64_t sum(std::uint64_t EgressStats::*counter) const {
    std::uint64_t total = 0;
    for (auto const& e : egress) total += e.stats().*counter;
    return total;
  }
  std::uint64_t queued() const {
    std::uint64_t n = 0;
    for (auto const& e : egress) n += e.queued();
    return n;
  }
};

// A device's port: RDMA engine of a GPU, root port of a CPU, or a NIC. It turns the device's requests for
// other devices' memory into packets, and other devices' requests into requests to its own L2 slices. Where a
// route leads through the device (from one CPU's GPUs to another's, say), it passes packets on as a switch
// does.
class FabricPort : public Component<PortSpec, PortState> {
 public:
  explicit FabricPort(Slot<PortSpec> slot);
  In<Packet> packet_in = in<&FabricPort::on_packet>("packet");
  In<Credit> credit_in = in<&FabricPort::on_credit>("credit");
  In<MemResponse> memory_response = in<&FabricPort::on_memory>("memory_response");
  Out<MemRequest> memory_request = out<MemRequest>("memory_request");
  std::vector<Out<Packet>> packet_out;
  std::vector<Out<Credit>> credit_out;

  std::string_view kind() const override { return spec().fabric.kind; }
  std::string waiting_for() const override;
  PortState initial() const override;
  std::vector<TableInfo> tables() const override;
  void final_rows(TableRows& rows) const override;

  void on_packet(Packet const& m, Cx& cx) const;
  void on_credit(Credit const& m, Cx& cx) const;
  void on_memory(MemResponse const& m, Cx& cx) const;

 protected:
  std::uint16_t payload_of(Packet const& p) const;
  std::uint16_t payload_of_copy(Packet const& p) const;
  void post(Packet p, Cx& cx) const;
  // Handles a response, a translation or an invalidation; the caller returns the packet's credit.
  virtual void receive(Packet const& m, Cx& cx) const = 0;

 private:
  bool settle(PortState& s, Time at) const override;
  void enqueue(Packet p, std::size_t client, Cx& cx) const;
  bool serve(Packet const& m, Cx& cx) const;
  void release_buffer(Packet const& packet, Time at, Cx& cx) const;
  void serve_held(Cx& cx) const;
  auto leaves(std::uint32_t link, Cx& cx) const;
};

class Rdma final : public FabricPort {
 public:
  explicit Rdma(Slot<PortSpec> slot);
  In<MemRequest> remote_request = in<&Rdma::on_remote>("remote_request");
  In<TranslateRequest> translate_request = in<&Rdma::on_translate>("translate_request");
  In<Invalidated> invalidated = in<&Rdma::on_invalidated>("invalidated");
  Out<MemResponse> remote_response = out<MemResponse>("remote_response");
  Out<TranslateResponse> translate_response = out<TranslateResponse>("translate_response");
  Out<Invalidate> invalidate = out<Invalidate>("invalidate");
  In<PageFault> page_fault;     // where there are some
  Out<FaultOrder> fault_order;  // where the driver serves them in batches

  void on_remote(MemRequest const& m, Cx& cx) const;
  void on_translate(TranslateRequest const& m, Cx& cx) const;
  void on_page_fault(PageFault const& m, Cx& cx) const;
  void on_invalidated(Invalidated const& m, Cx& cx) const;

 private:
  Packet to_iommu(PacketKind kind) const;
  void receive(Packet const& m, Cx& cx) const override;
};

class CpuPort final : public FabricPort {
 public:
  explicit CpuPort(Slot<PortSpec> slot);
  In<Packet> translated = in<&CpuPort::on_translated>("translated");
  Out<Packet> translate = out<Packet>("translate");
  Out<Invalidated> invalidated = out<Invalidated>("invalidated");
  Out<PageFault> fault;        // where there are some
  In<FaultOrder> fault_order;  // where the driver serves them in batches

  void on_translated(Packet const& m, Cx& cx) const;
  void on_fault_order(FaultOrder const& m, Cx& cx) const;

 private:
  void receive(Packet const& m, Cx& cx) const override;
};

}  // namespace farfault
