// Switches and the ports of devices between mocks: links of 100 ns and 16 bytes a nanosecond, so that a
// header of 24 bytes takes 1.5 ns and a line with its header 5.5 ns.
#include "farfault/components/fabric.hpp"

#include <doctest/doctest.h>

#include <set>

#include "memory_mock.hpp"

using namespace farfault;
using namespace farfault::mock;

namespace {

using Picoseconds = std::vector<std::int64_t>;
constexpr Bandwidth kBandwidth{16'000'000'000};
constexpr Duration kWire = 100ns;
constexpr PacketFormat kFormat{24, 1};
constexpr std::uint32_t kLine = 88;  // bytes of a packet with a line

// What the ends of a link, and a device, hold; buffers and batches in packets with a line.
struct Sizes {
  std::uint32_t buffer = 8;
  std::uint32_t batch = 1;
  std::uint32_t inbound = 256;
  std::uint32_t memory_credits = 16;
};

LinkEnd link_end(Sizes const& sizes, std::uint16_t far_via, RouteTable const* far_route = nullptr) {
  return {
      kBandwidth, kFormat,  std::uint64_t{sizes.buffer} * kLine, sizes.batch == 1 ? 1 : sizes.batch * kLine,
      far_via,    far_route};
}

// A table of three nodes: by destination, the links that lead there.
RouteTable table(NodeId node, std::vector<std::vector<std::uint16_t>> const& links, bool together = false) {
  RouteTable t(node, links.size());
  for (NodeId destination = 0; destination < links.size(); ++destination)
    t.set(destination, links[destination], together);
  return t;
}

// Node 1, a switch between 0 and 2, over its links 0 and 1.
RouteTable const kMiddle = table(1, {{0}, {}, {1}});

SwitchOutputSpec output_spec(Sizes const& sizes, std::uint32_t link, std::vector<LinkEnd> links) {
  FabricNodeSpec spec;
  spec.kind = "switch";
  spec.node = 1;
  spec.links = std::move(links);
  spec.route = &kMiddle;
  spec.queue = std::size_t{sizes.buffer} * 2 * kLine / kFormat.header;
  return {spec, link};
}

Packet packet(PacketKind kind, std::uint32_t tag, NodeId destination = 2, std::uint16_t via = 0) {
  Packet p{};
  p.kind = kind;
  p.tag = tag;
  p.payload = kLine - kFormat.header;
  p.destination = destination;
  p.via = via;
  return p;
}

// Both outputs of the switch; `packets` are given to the one that leads to their destination.
struct SwitchBench : Bench {
  SwitchBench(Sizes const& p, std::vector<Record<Packet>> const& packets,
              std::vector<Record<Credit>> const& credits) {
    for (std::uint32_t i = 0; i < 2; ++i) {
      auto const spec = output_spec(p, i, {link_end(p, 3), link_end(p, 5)});
      auto& output = system.add<SwitchOutput>(name("output"), spec);
      node.push_back(&output);
      std::vector<Record<Packet>> mine;
      for (auto const& r : packets)
        if (kMiddle.next(r.message).link == i) mine.push_back(r);
      feed(output.packet_in, mine);
      std::vector<Record<Credit>> given;
      for (auto const& r : credits)
        if (r.message.link == i) given.push_back(r);
      feed(output.credit_in, given);
      out.push_back(sinks(output.packet_out, 1, kWire).front());
      for (std::size_t j = 0; j < 2; ++j) back.push_back(&sink(output.credit_out[j], kWire));
    }
    run();
  }
  std::vector<SwitchOutput*> node;
  std::vector<Sink<Packet>*> out;
  std::vector<Sink<Credit>*> back;  // [output * 2 + link]
};

std::vector<std::uint32_t> tags_of(Sink<Packet> const& sink) {
  std::vector<std::uint32_t> all;
  for (auto const& r : sink.records()) all.push_back(r.message.tag);
  return all;
}

}  // namespace

TEST_CASE(
    "switch: a packet takes its serialization and the link's latency, and its credit goes back when it "
    "has left") {
  SwitchBench b(Sizes{4, 1}, {{Time{1000ns}, packet(PacketKind::write_request, 7)}}, {});
  CHECK(b.out[1]->picoseconds() == Picoseconds{1'105'500});
  CHECK(b.out[1]->records()[0].message.via == 5);  // as the far end numbers the link
  CHECK(b.out[0]->count() == 0);
  CHECK(b.back[2]->picoseconds() == Picoseconds{1'105'500});
  auto const& credit = b.back[2]->records()[0].message;
  CHECK(credit.link == 3);
  CHECK(credit.channel == static_cast<std::uint16_t>(Channel::request));
  CHECK(credit.bytes == kLine);
}

TEST_CASE("switch: packets for one output share its wire, those of two outputs do not") {
  SwitchBench b(Sizes{8, 8},
                {{Time{1000ns}, packet(PacketKind::write_request, 1)},
                 {Time{1000ns}, packet(PacketKind::write_request, 2)},
                 {Time{1000ns}, packet(PacketKind::write_request, 3, 0, 1)}},
                {});
  CHECK(b.out[1]->picoseconds() == Picoseconds{1'105'500, 1'111'000});
  CHECK(b.out[0]->picoseconds() == Picoseconds{1'105'500});
}

TEST_CASE("switch: credits are given back in batches, for each channel") {
  std::vector<Record<Packet>> packets;
  for (std::uint32_t i = 0; i < 3; ++i)
    packets.push_back({Time{1000ns}, packet(PacketKind::read_request, i)});
  for (std::uint32_t i = 0; i < 2; ++i)
    packets.push_back({Time{2000ns}, packet(PacketKind::read_response, i)});
  SwitchBench b(Sizes{16, 2}, packets, {});
  REQUIRE(b.back[2]->count() == 2);
  CHECK(b.back[2]->picoseconds() == Picoseconds{1'111'000, 2'111'000});
  CHECK(b.back[2]->records()[0].message.bytes == 2 * kLine);
  CHECK(b.back[2]->records()[1].message.channel == static_cast<std::uint16_t>(Channel::response));
}

TEST_CASE("switch: without credits requests stop, answers pass, and a credit lets the next request go") {
  std::vector<Record<Packet>> packets;
  for (std::uint32_t i = 0; i < 4; ++i)
    packets.push_back({Time{1000ns}, packet(PacketKind::read_request, i)});
  packets.push_back({Time{1100ns}, packet(PacketKind::read_response, 9)});
  SwitchBench b(Sizes{2, 1}, packets,
                {{Time{2000ns}, {1, static_cast<std::uint16_t>(Channel::request), kLine}}});
  CHECK(tags_of(*b.out[1]) == std::vector<std::uint32_t>{0, 1, 9, 2});
  CHECK(b.out[1]->picoseconds() == Picoseconds{1'105'500, 1'111'000, 1'205'500, 2'105'500});
  CHECK(b.node[1]->waiting_for() == "1 packets queued for a link");
  CHECK(b.node[0]->waiting_for().empty());
}

namespace {

PortSpec port_spec(NodeId node, DeviceId device, Sizes const& p, RouteTable const& route) {
  PortSpec spec;
  spec.fabric.kind = "port";
  spec.fabric.node = node;
  spec.fabric.links = {link_end(p, 0)};
  spec.fabric.route = &route;
  spec.fabric.queue = 512;
  spec.device = device;
  spec.memory_port = 9;
  spec.memory = AddressMap(1, 256);
  spec.node_of_gpu = {0, 2};  // GPU 0 is node 0, GPU 1 node 2
  spec.node_of_cpu = {2};     // or the CPU is, in the tests of translations
  spec.iommu_node = 2;
  spec.outbound = 64;
  spec.inbound = p.inbound;
  spec.memory_credits = p.memory_credits;
  return spec;
}

// The only link of node 0 leads to node 2, and the other way round.
RouteTable const kTo2 = table(0, {{}, {}, {0}});
RouteTable const kTo0 = table(2, {{0}, {}, {}});

// Two GPUs with memories of 50 ns, back to back or with a switch between them.
struct TwoGpus : Bench {
  explicit TwoGpus(Sizes const& p, bool with_switch,
                   std::function<Duration(std::uint64_t)> delay = always(50ns)) {
    for (std::uint16_t g = 0; g < 2; ++g) {
      auto spec = g == 0 ? port_spec(0, g, p, kTo2) : port_spec(2, g, p, kTo0);
      if (with_switch) spec.fabric.links[0].far_via = g;
      if (with_switch) spec.fabric.links[0].far_route = &kMiddle;
      gpu.push_back(&system.add<Rdma>(name("rdma"), spec));
      mem.push_back(&responder<MemRequest, MemResponse>(memory(delay), gpu[g]->memory_response));
      join_family(gpu[g]->memory_request, {mem[g]->request});
      feed(gpu[g]->translate_request, {});
      sink(gpu[g]->translate_response);
      idle(gpu[g]->invalidated);
      sink(gpu[g]->invalidate);
    }
    if (!with_switch) {
      for (std::size_t g = 0; g < 2; ++g) {
        join_family(gpu[g]->packet_out[0], {gpu[1 - g]->packet_in}, kWire);
        join(gpu[g]->credit_out[0], gpu[1 - g]->credit_in, kWire);
      }
      return;
    }
    std::vector<In<Packet>> inputs;
    for (std::uint32_t g = 0; g < 2; ++g) {
      auto const spec = output_spec(p, g, {link_end(p, 0), link_end(p, 0)});
      node.push_back(&system.add<SwitchOutput>(name("output"), spec));
      inputs.push_back(node[g]->packet_in);
    }
    auto const all = system.family(inputs);
    for (std::size_t g = 0; g < 2; ++g) {
      system.connect(gpu[g]->packet_out[0], all, Latency{kWire});
      join(gpu[g]->credit_out[0], node[g]->credit_in, kWire);
      join_family(node[g]->packet_out, {gpu[g]->packet_in}, kWire);
      for (std::size_t o = 0; o < 2; ++o) join(node[o]->credit_out[g], gpu[g]->credit_in, kWire);
    }
  }
  std::vector<Rdma*> gpu;
  std::vector<Memory*> mem;
  std::vector<SwitchOutput*> node;
};

}  // namespace

TEST_CASE("RDMA: a remote read or write takes the sum of its stages, there and back") {
  for (bool const with_switch : {false, true}) {
    TwoGpus b(Sizes{8, 1}, with_switch);
    b.feed(b.gpu[0]->remote_request, {{Time{1000ns}, read(physical(1, 0x1240), 77, 1)},
                                      {Time{5000ns}, write(physical(1, 0x80), 78, 0)}});
    b.feed(b.gpu[1]->remote_request, {});
    auto const sms = b.sinks(b.gpu[0]->remote_response, 2);
    b.sinks(b.gpu[1]->remote_response, 1);
    b.run();
    // Header, wire, link to memory, memory, link back, line, wire, link to the SM; twice the wires with a
    // switch.
    auto const one_way = 1500 + 100'000;
    auto const back = 5500 + 100'000;
    auto const hops = with_switch ? 2 : 1;
    CHECK(sms[1]->picoseconds() ==
          Picoseconds{1'000'000 + hops * (one_way + back) + 1000 + 50'000 + 1000 + 1000});
    CHECK(sms[0]->picoseconds() ==
          Picoseconds{5'000'000 + hops * (one_way + back) + 1000 + 50'000 + 1000 + 1000});
    CHECK(sms[1]->records()[0].message.tag == 77);
    CHECK(sms[1]->records()[0].message.address == physical(1, 0x1240));
    CHECK(sms[0]->records()[0].message.access == Access::write);
    REQUIRE(b.mem[1]->records().size() == 2);
    CHECK(b.mem[1]->records()[0].message.address == physical(1, 0x1240));
    CHECK(b.mem[1]->records()[0].message.from == 9);
    CHECK(b.mem[1]->records()[1].message.bytes == 64);
    CHECK(b.gpu[0]->state().stats.reads_sent == 1);
    CHECK(b.gpu[1]->state().stats.writes_received == 1);
    CHECK(b.gpu[0]->waiting_for().empty());
  }
}

TEST_CASE("RDMA: a stream of remote reads is bound by the wire that carries the lines") {
  TwoGpus b({64, 8, 256, 256}, false);
  auto& client = b.system.add<Client<MemRequest, MemResponse>>(
      "client",
      {2000, 64, [](std::uint64_t n) { return read(physical(1, n * 64), static_cast<std::uint32_t>(n)); }});
  b.join(client.request, b.gpu[0]->remote_request);
  b.join_family(b.gpu[0]->remote_response, {client.response});
  b.feed(b.gpu[1]->remote_request, {});
  b.sinks(b.gpu[1]->remote_response, 1);
  b.begin(client);
  b.run();
  CHECK(client.each_answered_once());
  // 64 reads under way cover the round trip of 263 ns: from the first line on the wire is never idle.
  auto const first = 100ns + 1ns + Duration{1500} + 100ns + 1ns + 50ns + 1ns;
  CHECK(client.state().last == Time{first + 2000 * Duration{5500} + 100ns + 1ns});
}

TEST_CASE("RDMA: what a GPU serves at a time is bounded, and the rest is held and served in order") {
  TwoGpus b({8, 1, 256, 1}, false);
  std::vector<Record<MemRequest>> script;
  for (std::uint32_t i = 0; i < 3; ++i) script.push_back({Time{1000ns}, read(physical(1, 64 * i), i)});
  b.feed(b.gpu[0]->remote_request, script);
  b.feed(b.gpu[1]->remote_request, {});
  auto const sms = b.sinks(b.gpu[0]->remote_response, 1);
  b.sinks(b.gpu[1]->remote_response, 1);
  b.run();
  CHECK(tags(*sms[0]) == std::vector<std::uint32_t>{0, 1, 2});
  // One at a time: 52 ns each with the links to the memory and back.
  CHECK(sms[0]->picoseconds() == Picoseconds{1'260'000, 1'312'000, 1'364'000});
}

namespace {

// GPU 0 with two equal links to node 2, and what leaves over each.
struct TwoLinks : Bench {
  TwoLinks(RouteTable const& route, std::vector<Record<MemRequest>> const& requests,
           std::vector<Record<TranslateRequest>> const& translations = {}) {
    auto spec = port_spec(0, 0, Sizes{64, 8}, route);
    spec.fabric.links = {link_end(Sizes{64, 8}, 0), link_end(Sizes{64, 8}, 1)};
    auto& rdma = system.add<Rdma>("rdma", spec);
    feed(rdma.remote_request, requests);
    feed(rdma.translate_request, translations);
    idle(rdma.packet_in, rdma.credit_in, rdma.memory_response, rdma.invalidated);
    sink(rdma.translate_response);
    sink(rdma.invalidate);
    sinks(rdma.remote_response, 1);
    sinks(rdma.memory_request, 1);
    for (std::size_t i = 0; i < 2; ++i) {
      links.push_back(sinks(rdma.packet_out[i], 1, kWire).front());
      sink(rdma.credit_out[i], kWire);
    }
    run();
  }
  std::uint64_t sent(std::size_t link, PacketKind kind) const {
    std::uint64_t n = 0;
    for (auto const& r : links[link]->records()) n += r.message.kind == kind;
    return n;
  }
  std::vector<Sink<Packet>*> links;
};

}  // namespace

TEST_CASE("RDMA: packets alternate between two equal links, with data and without data counted apart") {
  auto const route = table(0, {{}, {}, {0, 1}});
  std::vector<Record<MemRequest>> script;
  for (std::uint32_t i = 0; i < 32; ++i)
    script.push_back(
        {Time{1000ns}, i % 2 == 0 ? read(physical(1, 64 * i), i) : write(physical(1, 64 * i), i)});
  TwoLinks const b(route, script);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(b.sent(i, PacketKind::read_request) == 8);
    CHECK(b.sent(i, PacketKind::write_request) == 8);
  }
  // What the next node chooses by is what is left of the number.
  auto const first = b.links[0]->records()[0].message.flow;
  auto const second = b.links[0]->records()[2].message.flow;
  CHECK(second == first + 1);
}

TEST_CASE("RDMA: links that keep flows together carry all packets to one node over one of them") {
  auto const route = table(0, {{}, {}, {0, 1}}, true);
  std::vector<Record<MemRequest>> script;
  for (std::uint32_t i = 0; i < 32; ++i) script.push_back({Time{1000ns}, read(physical(1, 64 * i), i)});
  TwoLinks const b(route, script);
  CHECK(b.links[0]->count() * b.links[1]->count() == 0);
  CHECK(b.links[0]->count() + b.links[1]->count() == 32);
}

TEST_CASE("RDMA: the translations of a page take one of two equal links, those of many pages both") {
  auto const route = table(0, {{}, {}, {0, 1}});
  std::vector<Record<TranslateRequest>> script;
  for (std::uint32_t i = 0; i < 64; ++i) script.push_back({Time{1000ns}, {i % 16, 0, i}});
  TwoLinks const b(route, {}, script);
  std::vector<std::set<std::uint64_t>> pages(2);
  for (std::size_t i = 0; i < 2; ++i)
    for (auto const& r : b.links[i]->records()) pages[i].insert(r.message.address);
  CHECK(b.links[0]->count() + b.links[1]->count() == 64);
  CHECK(pages[0].size() + pages[1].size() == 16);  // none on both
  CHECK(pages[0].size() >= 3);
  CHECK(pages[1].size() >= 3);
}

namespace {

// GPU 4 and a CPU back to back, neither's memory in use.
struct GpuAndCpu : Bench {
  explicit GpuAndCpu(Sizes const& p)
      : rdma(system.add<Rdma>("rdma", port_spec(0, 4, p, kTo2))),
        cpu(system.add<CpuPort>("cpu", port_spec(2, kFirstCpu, p, kTo0))) {
    join_family(rdma.packet_out[0], {cpu.packet_in}, kWire);
    join(rdma.credit_out[0], cpu.credit_in, kWire);
    join_family(cpu.packet_out[0], {rdma.packet_in}, kWire);
    join(cpu.credit_out[0], rdma.credit_in, kWire);
    for (FabricPort* port : {static_cast<FabricPort*>(&rdma), static_cast<FabricPort*>(&cpu)}) {
      idle(port->memory_response);
      sinks(port->memory_request, 1);
    }
    idle(rdma.remote_request);
    sinks(rdma.remote_response, 1);
    answers = &sink(rdma.translate_response);
    invalidated = &sink(cpu.invalidated);
  }
  Rdma& rdma;
  CpuPort& cpu;
  Sink<TranslateResponse>* answers = nullptr;
  Sink<Invalidated>* invalidated = nullptr;
};

}  // namespace

TEST_CASE("RDMA and CPU port: a translation goes to the IOMMU and back in the sum of its stages") {
  GpuAndCpu b(Sizes{8, 1});
  b.feed(b.rdma.translate_request, {{Time{1000ns}, {0x123, 0, 42}}});
  b.idle(b.rdma.invalidated);
  b.sink(b.rdma.invalidate);
  ResponderSpec<Packet, Packet> iommu;
  iommu.reply = [](Packet const& m) {
    Packet a{};
    a.kind = PacketKind::translate_response;
    a.address = m.address;
    a.frame = physical(2, m.address << 12);
    a.found_by = FoundBy::fault;
    a.tag = m.tag;
    a.destination = m.source;
    return a;
  };
  iommu.delay = always(50ns);
  auto& unit = b.system.add<Responder<Packet, Packet>>("iommu", iommu);
  b.join(b.cpu.translate, unit.request);
  b.join_family(unit.response, {b.cpu.translated});
  b.run();
  REQUIRE(unit.records().size() == 1);
  CHECK(unit.records()[0].message.device == 4);
  CHECK(picoseconds(unit.records()[0].at) == 1'000'000 + 1500 + 100'000 + 1000);
  // The answer is 24 + 8 bytes: 2 ns.
  auto const& answers = *b.answers;
  CHECK(answers.picoseconds() == Picoseconds{1'102'500 + 50'000 + 1000 + 2000 + 100'000 + 1000});
  CHECK(answers.records()[0].message.tag == 42);
  CHECK(answers.records()[0].message.frame == physical(2, 0x123 << 12));
  CHECK(answers.records()[0].message.found_by == FoundBy::fault);
}

TEST_CASE("fabric: with every queue short and traffic both ways, each access is answered exactly once") {
  for (bool const with_switch : {false, true}) {
    TwoGpus b({2, 1, 2, 2}, with_switch, scattered(300ns, 6));
    std::vector<Client<MemRequest, MemResponse>*> clients;
    for (std::uint16_t g = 0; g < 2; ++g) {
      auto const other = static_cast<DeviceId>(1 - g);
      clients.push_back(&b.system.add<Client<MemRequest, MemResponse>>(
          b.name("client"),
          {3000, 64,
           [other](std::uint64_t n) {
             auto const a = physical(other, n * 64);
             auto const tag = static_cast<std::uint32_t>(n);
             return n % 3 == 0 ? write(a, tag) : read(a, tag);
           },
           [other](MemResponse const& m) { return m.address == physical(other, m.tag * 64); }}));
      b.join(clients[g]->request, b.gpu[g]->remote_request);
      b.join_family(b.gpu[g]->remote_response, {clients[g]->response});
      b.begin(*clients[g]);
    }
    CHECK(b.run() == RunState::drained);
    for (std::uint16_t g = 0; g < 2; ++g) {
      CHECK(clients[g]->each_answered_once());
      CHECK(b.gpu[g]->waiting_for().empty());
      CHECK(b.gpu[g]->state().held.empty());
      CHECK(b.gpu[g]->state().stats.reads_received == 2000);
    }
    for (auto* output : b.node) CHECK(output->waiting_for().empty());
  }
}

TEST_CASE(
    "RDMA and CPU port: an invalidation arrives behind the translations sent before it, and is answered") {
  GpuAndCpu b(Sizes{2, 1});
  b.idle(b.rdma.translate_request);
  b.sink(b.cpu.translate);
  // Five answers for one page, more than the link has credits for, and then its invalidation.
  std::vector<Record<Packet>> script;
  for (std::uint32_t i = 0; i < 6; ++i) {
    Packet m{};
    m.kind = i < 5 ? PacketKind::translate_response : PacketKind::invalidate_request;
    m.address = 0x123;
    m.frame = physical(3, 0x9000);
    m.tag = i < 5 ? i : 77;
    m.destination = 0;
    script.push_back({Time{1000ns}, m});
  }
  b.feed(b.cpu.translated, script);
  ResponderSpec<Invalidate, Invalidated> gmmu;
  gmmu.reply = [](Invalidate const& m) { return Invalidated{m.move}; };
  gmmu.delay = always(50ns);
  auto& unit = b.system.add<Responder<Invalidate, Invalidated>>("gmmu", gmmu);
  b.join(b.rdma.invalidate, unit.request);
  b.join_family(unit.response, {b.rdma.invalidated});
  b.run();
  auto const& answers = *b.answers;
  auto const& done = *b.invalidated;
  REQUIRE(answers.count() == 5);
  REQUIRE(unit.records().size() == 1);
  CHECK(unit.records()[0].at > answers.records()[4].at);
  CHECK(unit.records()[0].message.page == 0x123);
  CHECK(unit.records()[0].message.frame == physical(3, 0x9000));
  CHECK(unit.records()[0].message.move == 77);
  REQUIRE(done.count() == 1);
  CHECK(done.records()[0].message.move == 77);
  // Back: 50 ns there, a link, the header's 24 bytes at 16 GB/s, the wire, a link.
  CHECK(picoseconds(done.records()[0].at - unit.records()[0].at) == 50'000 + 1000 + 1500 + 100'000 + 1000);
}

TEST_CASE(
    "CPU port and switches: over two equal routes, one of them full of data, the invalidation of a page "
    "stays "
    "behind its translations") {
  // Node 0: the GPU. Nodes 1 and 3: switches. Node 2: the CPU, with a link to each switch.
  auto const to_gpu = table(2, {{0, 1}, {}, {}, {}});
  auto const to_cpu = table(0, {{}, {}, {0}, {}});
  auto const of_switch = [](NodeId node) { return table(node, {{0}, {}, {1}, {}}); };
  std::vector<RouteTable> const middle{of_switch(1), of_switch(3)};
  Sizes const sizes{4, 1, 256, 256};
  std::vector<std::uint64_t> overtaken;
  for (std::size_t const congested : {0, 1}) {
    Bench b;
    auto gpu_spec = port_spec(0, 0, sizes, to_cpu);
    gpu_spec.fabric.links = {link_end(sizes, 0, &middle[0]), link_end(sizes, 0, &middle[1])};
    auto cpu_spec = port_spec(2, kFirstCpu, sizes, to_gpu);
    cpu_spec.fabric.links = {link_end(sizes, 1, &middle[0]), link_end(sizes, 1, &middle[1])};
    auto& rdma = b.system.add<Rdma>("rdma", gpu_spec);
    auto& cpu = b.system.add<CpuPort>("cpu", cpu_spec);
    // A switch gets data of another node for the GPU over a third link, more than the link to the GPU
    // carries.
    for (std::size_t w = 0; w < 2; ++w) {
      std::vector<SwitchOutput*> outputs;
      std::vector<In<Packet>> inputs;
      for (std::uint32_t i = 0; i < 3; ++i) {
        auto spec = output_spec(sizes, i,
                                {link_end(sizes, static_cast<std::uint16_t>(w)),
                                 link_end(sizes, static_cast<std::uint16_t>(w)), link_end(sizes, 0)});
        spec.fabric.node = w == 0 ? 1 : 3;
        spec.fabric.route = &middle[w];
        spec.fabric.queue = 100'000;
        outputs.push_back(&b.system.add<SwitchOutput>(b.name("output"), spec));
        inputs.push_back(outputs.back()->packet_in);
      }
      auto const all = b.system.family(inputs);
      b.system.connect(rdma.packet_out[w], all, Latency{kWire});
      b.system.connect(cpu.packet_out[w], all, Latency{kWire});
      b.join(rdma.credit_out[w], outputs[0]->credit_in, kWire);
      b.join(cpu.credit_out[w], outputs[1]->credit_in, kWire);
      b.join_family(outputs[0]->packet_out, {rdma.packet_in}, kWire);
      b.join_family(outputs[1]->packet_out, {cpu.packet_in}, kWire);
      b.sinks(outputs[2]->packet_out, 1, kWire);
      b.idle(outputs[2]->credit_in);
      for (auto* output : outputs) {
        b.join(output->credit_out[0], rdma.credit_in, kWire);
        b.join(output->credit_out[1], cpu.credit_in, kWire);
        b.sink(output->credit_out[2], kWire);
      }
      std::vector<Record<Packet>> data;
      for (std::uint32_t i = 0; w == congested && i < 400; ++i)
        data.push_back({Time{900ns}, packet(PacketKind::read_response, i % 64, 0, 2)});
      b.feed(outputs[0]->packet_in, data);
    }
    for (FabricPort* port : {static_cast<FabricPort*>(&rdma), static_cast<FabricPort*>(&cpu)}) {
      b.idle(port->memory_response);
      b.sinks(port->memory_request, 1);
    }
    b.idle(rdma.remote_request, rdma.translate_request, rdma.invalidated);
    b.sinks(rdma.remote_response, 1);
    b.sink(cpu.invalidated);
    b.sink(cpu.translate);
    auto& answers = b.sink(rdma.translate_response);
    auto& invalidations = b.sink(rdma.invalidate);
    // For each of 16 pages two translations, then its invalidation, all at once.
    std::vector<Record<Packet>> script;
    for (std::uint32_t i = 0; i < 48; ++i) {
      Packet m{};
      m.kind = i % 3 < 2 ? PacketKind::translate_response : PacketKind::invalidate_request;
      m.address = 0x100 + i / 3;
      m.tag = i;
      m.destination = 0;
      script.push_back({Time{1000ns}, m});
    }
    b.feed(cpu.translated, script);
    b.run();
    REQUIRE(answers.count() == 32);
    REQUIRE(invalidations.count() == 16);
    std::uint64_t passed = 0;
    for (auto const& i : invalidations.records()) {
      for (auto const& a : answers.records()) {
        if (a.message.page == i.message.page) CHECK(a.at < i.at);
        passed += a.message.page < i.message.page && a.at > i.at;
      }
    }
    overtaken.push_back(passed);
  }
  // The pages of the full route were overtaken by those of the other one: the order above is not an accident.
  CHECK(overtaken[0] > 0);
  CHECK(overtaken[1] > 0);
}
