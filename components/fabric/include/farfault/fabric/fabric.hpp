// SPDX-License-Identifier: Apache-2.0
// The fabric: switches, and the ports that attach GPUs, CPUs and NICs. The model: docs/model/fabric.md.
//
// - Links: serialization at the link's bandwidth; credits for the bytes of the receiver's buffer, one buffer
//   per virtual channel and link (credit-based flow control of PCIe and NVLink).
// - Switches: store and forward. Credits return when the packet has left. An output serves packets in order
//   of arrival, responses before requests.
// - Ports: translations and data have separate queues, served alternately (MGPUSim 4.2: two ports at the PCIe
//   endpoint).
// - Guarantee: translations and invalidations of a page take one route, and arrive in the order in which they
//   were sent. Data is striped over equally short routes per packet.
// - Not modelled: virtual cut-through.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "farfault/engine/component.hpp"
#include "farfault/engine/params.hpp"
#include "farfault/fabric/access_counters.hpp"
#include "farfault/fabric/copy_data.hpp"
#include "farfault/fabric/egress.hpp"
#include "farfault/fabric/route_table.hpp"
#include "farfault/parts/address_map.hpp"
#include "farfault/parts/free_numbers.hpp"
#include "farfault/parts/ring.hpp"
#include "farfault/protocols/device_names.hpp"
#include "farfault/protocols/facts.hpp"
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
        "Header bytes of a packet, except on NVLink and on networks of NICs with known bandwidth",
        "PCIe 3.0: 4 framing + 12..16 header + 4 LCRC, rounded to 24; assumed for xGMI and other networks");
    t.count(
         "nvlink_flit_bytes", nvlink_flit_bytes, {1, 128},
         "Bytes of an NVLink flit, a power of two. A packet is one header flit and its payload in whole "
         "flits",
         "WikiChip, NVLink: packets of 1 to 18 flits of 128 bits; 64 bytes take a header flit and 4 of data")
        .only_when(facts::kNvlinks);
    t.count(
         "network_header_bytes", network_header_bytes, {1, 1024},
         "Header bytes of a network packet, divided among the lines of network_mtu and rounded up per line",
         "InfiniBand: LRH 8 + BTH 12 + ICRC 4 + VCRC 2 (RoCE v2: 82, with IP, UDP and Ethernet's preamble "
         "and gap)")
        .only_when(facts::kNicBandwidths);
    t.bytes("network_mtu", network_mtu, {ByteSize{64}, ByteSize{65'536}},
            "Payload of a network packet. gpu.line_bytes: one line per packet",
            "InfiniBand: path MTU of 256 bytes to 4 KiB")
        .only_when(facts::kNicBandwidths);
    t.count("translation_bytes", translation_bytes, {0, 1024},
            "Payload bytes of a translation response or an invalidation request",
            "PCIe ATS 1.1: 8 bytes per translation completion entry and per invalidate request");
    t.count("fault_bytes", fault_bytes, {0, 1024},
            "Payload bytes of a fault packet to the driver (one fault-buffer entry)",
            "NVIDIA, clb069.h: 32 bytes per entry")
        .only_when(facts::kFaultsAtGpus);
    t.bytes("buffer", buffer, {ByteSize{0}, ByteSize{kLargestBuffer}},
            "Receive buffer per link and virtual channel. 0: twice the link's bandwidth x round-trip time",
            "assumed: enough for the full bandwidth of a link; twice, because the receiver may hold half of "
            "the credits");
    t.choice("network_spread", network_spread,
             {{"packet", NetworkSpread::packet, "per packet"},
              {"flow", NetworkSpread::flow, "per flow: a pair of nodes keeps its link"}},
             "Load balancing over equally short network links",
             "NVIDIA Quantum InfiniBand: adaptive routing of each packet; ECMP (RFC 2992): flow")
        .only_when(facts::kNetwork);
    t.duration("service_time", service_time, {Duration{1}, 1ms},
               "Loaded latency of a remote line, from which inbound and memory_credits follow if they are 0",
               "assumed");
    t.count(
        "inbound", inbound, {0, 1 << 20},
        "Maximum outstanding lines of other devices' requests. 0: lines that the links carry in service_time",
        "assumed; MGPUSim 4.2, RDMA builder: 256 for links of 16 GB/s, where this gives 250");
    t.count("memory_credits", memory_credits, {0, 1 << 20},
            "Maximum outstanding lines of other devices' requests per L2 slice. 0: twice the even share",
            "assumed");
    copies.describe(t, "copies", "Encoding of copies between a GPU and a CPU", "PCIe: raw");
  }

  PacketFormat format(bool nvlink) const {
    return nvlink ? PacketFormat{nvlink_flit_bytes, nvlink_flit_bytes} : PacketFormat{header_bytes, 1};
  }
  // Network links between NICs of known bandwidth: lines of `line_bytes` bytes share a packet.
  PacketFormat network_format(std::uint32_t line_bytes) const {
    auto const share =
        (std::uint64_t{network_header_bytes} * line_bytes + network_mtu.bytes - 1) / network_mtu.bytes;
    return {static_cast<std::uint32_t>(share), 1};
  }
  // Requests of other devices served at a time, if the parameters do not set it: the lines that the links
  // carry in service_time, and for one of `slices` twice its even share, because addresses are not
  // distributed evenly.
  std::uint32_t inbound_of(Bandwidth all_links, std::uint32_t line_bytes) const;
  std::uint32_t memory_credits_of(std::uint32_t inbound_entries, std::uint32_t slices) const;
};

// Number of lines that one or several links carry in a time; headers are not counted.
std::uint64_t lines_in(Bandwidth bandwidth, Duration time, std::uint32_t line_bytes);

// One link, seen from a node.
struct LinkEnd {
  Bandwidth bandwidth;        // outwards
  PacketFormat format;        // the same at both ends
  std::uint64_t buffer = 0;   // bytes per channel at the far end
  std::uint32_t batch = 1;    // bytes of arrived packets after which this node returns credits
  std::uint16_t far_via = 0;  // number of the link at the far node
  // Routing table of a switch at the far end, in which the sender looks up its output (look-ahead routing);
  // null: a device, which has one input.
  RouteTable const* far_route = nullptr;
  std::uint32_t number = 0;   // number of the link in the machine
  std::string far_name = {};  // name of the far node
};

struct FabricNodeSpec {
  std::string kind;  // kind of the time series in the results
  std::string name;  // name of the node
  NodeId node = 0;
  std::vector<LinkEnd> links;
  RouteTable const* route = nullptr;
  std::size_t passing = 1024;  // maximum packets in transit here, per channel: capacity of all buffers
  std::size_t queue = 1024;    // maximum packets waiting for one link and channel
};

struct SwitchOutputSpec {
  FabricNodeSpec fabric;
  std::uint32_t link = 0;  // the switch's link that this output drives
};

struct SwitchOutputState {
  Egress egress;
  std::vector<std::uint32_t> unreturned;  // credit bytes to return, by link and channel of arrival

  static std::span<Stat<SwitchOutputState> const> list() {
    using S = SwitchOutputState const&;
    static constexpr auto all = std::to_array<Stat<SwitchOutputState>>({
        {"packets", "count", "Packets forwarded", StatKind::counter,
         [](S s) { return s.egress.stats().packets; }},
        {"bytes", "bytes", "Bytes forwarded, headers included", StatKind::counter,
         [](S s) { return s.egress.stats().bytes; }},
        {"busy_time", "ps", "Time the output link was busy", StatKind::counter,
         [](S s) { return s.egress.stats().busy_so_far(); }},
        {"credit_wait_time", "ps", "Time the output link was idle while a packet waited for credits",
         StatKind::counter, [](S s) { return s.egress.stats().credit_wait_ps; }},
        {"queued_packets", "count", "Packets waiting for the output", StatKind::level,
         [](S s) { return s.egress.queued(); }},
    });
    return all;
  }
};

// An output of a switch. Each is a component, so that a busy switch does not serialize the simulation.
// Outputs share only the input buffers, which only the sender's credits track.
class SwitchOutput final : public Component<SwitchOutputSpec, SwitchOutputState> {
 public:
  explicit SwitchOutput(Slot<SwitchOutputSpec> slot);
  In<Packet> packet_in = in<&SwitchOutput::on_packet>("packet");
  In<Credit> credit_in = in<&SwitchOutput::on_credit>("credit");
  Out<Packet> packet_out = out<Packet>("packet_out");
  std::vector<Out<Credit>> credit_out;  // indexed by link of the switch

  std::string_view kind() const override { return spec().fabric.kind; }
  std::string waiting_for() const override;
  SwitchOutputState initial() const override;
  std::vector<TableInfo> tables() const override;
  void final_rows(TableRows& rows) const override;

  void on_packet(Packet const& m, Cx& cx) const;
  void on_credit(Credit const& m, Cx& cx) const;

 private:
  bool settle(SwitchOutputState& s, Time at) const override { return s.egress.settle(at); }
  auto departure(Cx& cx) const;
};
extern template class Component<SwitchOutputSpec, SwitchOutputState>;  // compiled in fabric.cpp

// Nodes of the machine's devices.
struct DeviceNodes {
  std::vector<NodeId> gpus;
  std::vector<NodeId> cpus;
  std::vector<NodeId> nics;
  NodeId of(DeviceId d) const {
    if (d < kFirstCpu) return gpus[d];
    return d < kFirstNic ? cpus[d - kFirstCpu] : nics[d - kFirstNic];
  }
  // Search in linear time; the node must be a GPU's.
  DeviceId gpu_at(NodeId node) const {
    return static_cast<DeviceId>(std::ranges::find(gpus, node) - gpus.begin());
  }
};

struct PortSpec {
  FabricNodeSpec fabric;
  DeviceId device = 0;
  std::uint16_t memory_port = 0;  // this port's number among the clients of the L2 slices
  AddressMap memory;
  std::uint32_t slices = 1;
  DeviceNodes const* nodes = nullptr;  // must outlive the port
  DeviceNames const* names = nullptr;  // likewise; null: kinds and numbers
  NodeId iommu_node = 0;               // GPU: destination of its translation requests
  std::uint32_t outbound = 1;          // maximum outstanding requests of this device
  std::uint32_t inbound = 1;           // maximum requests of other devices in service
  std::uint32_t memory_credits = 1;    // likewise, at one slice
  WireSizes wire;
  bool page_faults = false;    // GPUs send page faults to the driver
  bool fault_batches = false;  // the driver serves them in batches
  // GPU: it has access counters. CPU: GPUs have them, and exchange messages about them with the driver.
  bool access_counters = false;
  AccessCounterParams counters;

  bool counts_accesses() const { return access_counters && device < kFirstCpu; }
  bool limits_counters() const { return counts_accesses() && counters.counters != 0; }
  bool counts(CounterPlace place) const { return counts_accesses() && counters.place == place; }
};

struct Outbound {
  std::uint32_t tag = 0;
  std::uint16_t from = 0;
  std::uint16_t lines = 0;  // unanswered
};
struct Inbound {
  std::uint32_t tag = 0;
  NodeId source = 0;
  std::uint8_t bytes = 0;
  std::uint8_t lines = 0;  // unanswered
  RequestKind kind = RequestKind::data;
  std::uint8_t unused[7] = {};
  Time since{};
};

// Data sent from one device to another.
struct Traffic {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;  // data without headers
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
  std::vector<std::uint32_t> unreturned;  // credit bytes to return, by link and channel
  // Flow of the next data packet, by destination node: without payload, with payload. A common count would
  // send all payload over one of two links if a kernel alternates loads and stores.
  std::vector<std::uint32_t> next_flow;
  std::vector<Traffic> sent;  // by destination node
  std::vector<Outbound> outbound;
  FreeNumbers free_outbound;
  std::vector<Inbound> inbound;
  FreeNumbers free_inbound;
  std::uint64_t free_lines = 0;  // lines that other devices may still request
  std::vector<std::uint32_t> slice_credits;
  std::uint64_t queued_responses = 0;  // lines of responses to other devices that wait for a link
  Ring<Packet> held;  // requests that wait for an entry or an L2 credit; their link credit is not returned
  AccessCounters counters;  // only with access counters
  PortStats stats;

  static std::span<Stat<PortState> const> list() {
    using S = PortState const&;
    static constexpr auto all = std::to_array<Stat<PortState>>({
        {"reads_sent", "count", "Read requests sent to other devices", StatKind::counter,
         [](S s) { return s.stats.reads_sent; }},
        {"writes_sent", "count", "Write requests sent to other devices", StatKind::counter,
         [](S s) { return s.stats.writes_sent; }},
        {"translations_sent", "count", "Translation requests sent", StatKind::counter,
         [](S s) { return s.stats.translations_sent; }},
        {"reads_received", "count", "Read requests received from other devices", StatKind::counter,
         [](S s) { return s.stats.reads_received; }},
        {"writes_received", "count", "Write requests received from other devices", StatKind::counter,
         [](S s) { return s.stats.writes_received; }},
        {"translations_received", "count", "Translation requests (CPU) or responses (GPU) received",
         StatKind::counter, [](S s) { return s.stats.translations_received; }},
        {"packets", "count", "Packets sent over all links", StatKind::counter,
         [](S s) { return s.sum(&EgressStats::packets); }},
        {"bytes", "bytes", "Bytes sent, headers included", StatKind::counter,
         [](S s) { return s.sum(&EgressStats::bytes); }},
        {"busy_time", "ps", "Time the outgoing links were busy, summed over links", StatKind::counter,
         [](S s) { return s.sum(&EgressStats::busy_ps) - s.sum(&EgressStats::ahead_ps); }},
        {"credit_wait_time", "ps",
         "Time the outgoing links were idle while a packet waited for credits, summed over links",
         StatKind::counter, [](S s) { return s.sum(&EgressStats::credit_wait_ps); }},
        {"queued_packets", "count", "Packets waiting for a link", StatKind::level,
         [](S s) { return s.queued(); }},
        Stat<PortState>{"counted_regions", "count",
                        "Regions with counted accesses since their counter was cleared, per peer",
                        StatKind::level, [](S s) { return s.counters.counts().regions; }}
            .only_when<&PortSpec::counts_accesses>(),
        Stat<PortState>{"counter_notifications", "count",
                        "Access-counter notifications written to the notification buffer", StatKind::counter,
                        [](S s) { return s.counters.counts().notifications; }}
            .only_when<&PortSpec::counts_accesses>(),
        Stat<PortState>{"dropped_notifications", "count",
                        "Access-counter notifications dropped because the notification buffer was full",
                        StatKind::counter, [](S s) { return s.counters.counts().dropped; }}
            .only_when<&PortSpec::counts_accesses>(),
        Stat<PortState>{"cleared_counters", "count", "Access counters cleared by the driver",
                        StatKind::counter, [](S s) { return s.counters.counts().cleared; }}
            .only_when<&PortSpec::counts_accesses>(),
        Stat<PortState>{"dropped_counters", "count",
                        "Access counters whose region lost them to another region, with their counts",
                        StatKind::counter, [](S s) { return s.counters.dropped_counters(); }}
            .only_when<&PortSpec::limits_counters>(),
    });
    return all;
  }
  // Sum over all links.
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

// Port of a device: RDMA engine of a GPU, root port of a CPU, or NIC. It converts the device's requests for
// other devices' memory into packets, and other devices' requests into requests to its own L2 slices. It also
// forwards packets of routes through the device, such as from one CPU's GPUs to another's.
class FabricPort : public Component<PortSpec, PortState> {
 public:
  explicit FabricPort(Slot<PortSpec> slot);
  In<Packet> packet_in = spec().counts(CounterPlace::inbound) ? in<&FabricPort::on_counted_packet>("packet")
                                                              : in<&FabricPort::on_packet>("packet");
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
  void on_counted_packet(Packet const& m, Cx& cx) const;
  void on_credit(Credit const& m, Cx& cx) const;
  void on_memory(MemResponse const& m, Cx& cx) const;

 protected:
  // Counts accesses to an address: outbound, to the memory of node `peer`; inbound, of that node.
  void count_accesses(NodeId peer, PhysAddr address, std::uint32_t lines, Cx& cx) const;
  // Sends a packet of this device; its destination is set. The flow of messages about a page is a hash of the
  // page, that of data counts packets.
  void post(Packet p, Cx& cx) const {
    visit(p, [&](auto const& m) { complete(p.route, m, cx.state()); });
    send(p, cx);
  }
  template <class M>
  void post(M const& m, NodeId destination, Cx& cx, std::uint16_t held = 0) const {
    auto p = Packet::of(m);
    p.route.destination = destination;
    p.route.held = held;
    complete(p.route, m, cx.state());
    send(p, cx);
  }
  // Handles a message that is not a request for this device's memory; the caller returns the packet's credit.
  virtual void receive(Packet const& m, Cx& cx) const = 0;

 private:
  template <class M>
  void complete(RouteHeader& route, M const& m, PortState& s) const {
    route.source = spec().fabric.node;
    route.payload = static_cast<std::uint16_t>(Wire<M>::payload(m, spec().wire));
    if constexpr (has_lines(kind_of<M>))
      route.flow = s.next_flow[2 * std::size_t{route.destination} + (route.payload != 0)]++;
    else if constexpr (requires { m.page; })
      route.flow = RouteTable::route_hash(m.page, 0, 0);
    else
      route.flow = RouteTable::route_hash(0, 0, 0);
  }
  void send(Packet const& p, Cx& cx) const;
  bool settle(PortState& s, Time at) const override;
  void enqueue(Packet p, std::size_t client, Cx& cx) const;
  bool serve(Packet const& m, Cx& cx) const;
  void release_buffer(Packet const& packet, Time at, Cx& cx) const;
  void serve_stalled(Cx& cx) const;
  auto departure(std::uint32_t link, Cx& cx) const;
};
extern template class Component<PortSpec, PortState>;  // compiled in fabric.cpp

class Rdma final : public FabricPort {
 public:
  explicit Rdma(Slot<PortSpec> slot);
  In<MemRequest> remote_request = spec().counts(CounterPlace::outbound)
                                      ? in<&Rdma::on_counted_remote>("remote_request")
                                      : in<&Rdma::on_remote>("remote_request");
  In<TranslateRequest> translate_request = in<&Rdma::on_translate>("translate_request");
  In<Invalidated> invalidated = in<&Rdma::on_invalidated>("invalidated");
  Out<MemResponse> remote_response = out<MemResponse>("remote_response");
  Out<Packet> translate_response = out<Packet>("translate_response");  // and replays
  Out<Invalidate> invalidate = out<Invalidate>("invalidate");
  In<Packet> to_driver;     // only with page faults
  Out<Packet> from_driver;  // only with fault batches

  void on_remote(MemRequest const& m, Cx& cx) const;
  void on_counted_remote(MemRequest const& m, Cx& cx) const;
  void on_translate(TranslateRequest const& m, Cx& cx) const;
  void on_invalidated(Invalidated const& m, Cx& cx) const;
  void on_to_driver(Packet const& m, Cx& cx) const;

 private:
  void receive(Packet const& m, Cx& cx) const override;
  void receive_lines(RemoteResponse const& m, std::uint16_t held, Cx& cx) const;
  void control_counters(Packet const& m, Cx& cx) const;
};

class CpuPort final : public FabricPort {
 public:
  explicit CpuPort(Slot<PortSpec> slot);
  In<Packet> translated = in<&CpuPort::on_translated>("translated");
  Out<Packet> translate = out<Packet>("translate");
  Out<Invalidated> invalidated = out<Invalidated>("invalidated");
  Out<Packet> to_driver;   // only with page faults or access counters
  In<Packet> from_driver;  // only with fault batches or access counters

  void on_translated(Packet const& m, Cx& cx) const;
  void on_from_driver(Packet const& m, Cx& cx) const;

 private:
  void receive(Packet const& m, Cx& cx) const override;
};

}  // namespace farfault
