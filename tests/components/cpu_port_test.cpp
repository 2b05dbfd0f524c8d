// SPDX-License-Identifier: Apache-2.0
// Translations and invalidations between a GPU and a CPU port.
#include <doctest/doctest.h>

#include <set>

#include "fabric_bench.hpp"

namespace cpu_port_test {

using namespace farfault;
using namespace farfault::fabric_bench;

namespace {

// GPU 4 and a CPU, connected directly. Neither's memory is used.
struct GpuAndCpu : Bench {
  explicit GpuAndCpu(Sizes const& p, bool page_faults = false)
      : rdma(system.add<Rdma>("rdma", with(port_spec(0, 4, p, kTo2), page_faults))),
        cpu(system.add<CpuPort>("cpu", with(port_spec(2, kFirstCpu, p, kTo0), page_faults))) {
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
    responses = &sink(rdma.translate_response);
    invalidated = &sink(cpu.invalidated);
  }
  static PortSpec with(PortSpec spec, bool page_faults) {
    spec.page_faults = page_faults;
    spec.iommu_node = 2;
    return spec;
  }
  Rdma& rdma;
  CpuPort& cpu;
  Sink<Packet>* responses = nullptr;
  Sink<Invalidated>* invalidated = nullptr;
};

}  // namespace

TEST_CASE("RDMA and CPU port: a translation takes the sum of its stages to the IOMMU and back") {
  GpuAndCpu b(Sizes{8, 1});
  b.feed(b.rdma.translate_request, {{Time{1000ns}, {.page = 0x123, .from = 42, .gpu = 4}}});
  b.idle(b.rdma.invalidated);
  b.sink(b.rdma.invalidate);
  ResponderSpec<Packet, Packet> iommu;
  iommu.reply = [](Packet const& p) {
    auto const m = p.as<TranslateRequest>();
    return packet_to(
        p.route.source,
        IommuResponse{
            .page = m.page, .frame = physical(2, m.page << 12), .tag = m.from, .found_by = FoundBy::fault});
  };
  iommu.delay = always(50ns);
  auto& unit = b.system.add<Responder<Packet, Packet>>("iommu", iommu);
  b.join(b.cpu.translate, unit.request);
  b.join_family(unit.response, {b.cpu.translated});
  b.run();
  REQUIRE(unit.records().size() == 1);
  CHECK(unit.records()[0].message.as<TranslateRequest>().gpu == 4);
  CHECK(picoseconds(unit.records()[0].at) == 1'000'000 + 1500 + 100'000 + 1000);
  // The response has 24 + 8 bytes: 2 ns.
  auto const& responses = *b.responses;
  CHECK(responses.picoseconds() == Picoseconds{1'102'500 + 50'000 + 1000 + 2000 + 100'000 + 1000});
  CHECK(answer(responses, 0) == Answer{.page = 0x123,
                                       .frame = physical(2, 0x123 << 12),
                                       .size = 0,
                                       .found_by = FoundBy::fault,
                                       .tag = 42});
}

TEST_CASE("RDMA and CPU port: a page fault reaches the driver after the translation requests before it") {
  GpuAndCpu b(Sizes{8, 1}, true);
  b.feed(b.rdma.translate_request, {{Time{1000ns}, {0x123, 42}}});
  b.feed(b.rdma.to_driver, as_packets<PageFault>({{Time{1000ns},
                                                   {.page = 0x123,
                                                    .gpu = 4,
                                                    .iommu = 3,
                                                    .entry = 7,
                                                    .kind = FaultKind::moving,
                                                    .recorded_by_gpu = 1}}}));
  b.idle(b.rdma.invalidated, b.cpu.translated);
  b.sink(b.rdma.invalidate);
  auto& requests = b.sink(b.cpu.translate);
  auto& faults = b.sink(b.cpu.to_driver);
  b.run();
  REQUIRE(faults.count() == 1);
  auto const f = faults.records()[0].message.as<PageFault>();
  CHECK(f.page == 0x123);
  CHECK(f.gpu == 4);
  CHECK(f.iommu == 3);
  CHECK(f.entry == 7);
  CHECK(f.kind == FaultKind::moving);
  CHECK(f.recorded_by_gpu == 1);
  // 24 bytes of header, then 24 + 32 bytes of the fault, at 16 bytes per nanosecond; the wire; a link.
  CHECK(requests.picoseconds() == Picoseconds{1'000'000 + 1500 + 100'000 + 1000});
  CHECK(faults.picoseconds() == Picoseconds{1'000'000 + 1500 + 3500 + 100'000 + 1000});
  static_assert(channel_of(kind_of<PageFault>) == Channel::request);
}

TEST_CASE("RDMA: the reason for an unrecorded fault arrives with the response and is not a size") {
  GpuAndCpu b(Sizes{8, 1});
  b.idle(b.rdma.translate_request, b.rdma.invalidated);
  b.sink(b.rdma.invalidate);
  b.sink(b.cpu.translate);
  b.feed(b.cpu.translated,
         as_packets<IommuResponse>(
             {{Time{1000ns}, {.page = 0x123, .found_by = FoundBy::unrecorded, .kind = FaultKind::moving}}}));
  b.run();
  REQUIRE(b.responses->count() == 1);
  CHECK(b.responses->records()[0].message.as<IommuResponse>().kind == FaultKind::moving);
  CHECK(b.responses->records()[0].message.as<IommuResponse>().size == 0);
}

TEST_CASE(
    "RDMA and CPU port: an invalidation arrives after the translations sent before it, and is acknowledged") {
  GpuAndCpu b(Sizes{2, 1});
  b.idle(b.rdma.translate_request);
  b.sink(b.cpu.translate);
  // Five responses for one page, more than the link has credits, and then its invalidation.
  std::vector<Record<Packet>> script;
  for (std::uint32_t i = 0; i < 6; ++i) {
    auto const frame = physical(3, 0x9000);
    script.push_back(
        {Time{1000ns}, i < 5 ? packet_to(0, IommuResponse{.page = 0x123, .frame = frame, .tag = i})
                             : packet_to(0, Invalidate{.page = 0x123, .frame = frame, .move = 77})});
  }
  b.feed(b.cpu.translated, script);
  ResponderSpec<Invalidate, Invalidated> gmmu;
  gmmu.reply = [](Invalidate const& m) { return Invalidated{m.move}; };
  gmmu.delay = always(50ns);
  auto& unit = b.system.add<Responder<Invalidate, Invalidated>>("gmmu", gmmu);
  b.join(b.rdma.invalidate, unit.request);
  b.join_family(unit.response, {b.rdma.invalidated});
  b.run();
  auto const& responses = *b.responses;
  auto const& done = *b.invalidated;
  REQUIRE(responses.count() == 5);
  REQUIRE(unit.records().size() == 1);
  CHECK(unit.records()[0].at > responses.records()[4].at);
  CHECK(unit.records()[0].message.page == 0x123);
  CHECK(unit.records()[0].message.frame == physical(3, 0x9000));
  CHECK(unit.records()[0].message.move == 77);
  REQUIRE(done.count() == 1);
  CHECK(done.records()[0].message.move == 77);
  // Response: 50 ns at the other end, a link, the 24-byte header at 16 GB/s, the wire, a link.
  CHECK(picoseconds(done.records()[0].at - unit.records()[0].at) == 50'000 + 1000 + 1500 + 100'000 + 1000);
}

TEST_CASE(
    "CPU port and switches: over two equal routes, one saturated with data, the invalidation of a page stays "
    "behind its translations") {
  // Node 0: the GPU. Nodes 1 and 3: switches. Node 2: the CPU, with a link to each switch.
  auto const to_gpu = table(2, {{0, 1}, {}, {}, {}});
  auto const to_cpu = table(0, {{}, {}, {0}, {}});
  auto const of_switch = [](NodeId node) { return table(node, {{0}, {}, {1}, {}}); };
  std::vector<RouteTable> const middle{of_switch(1), of_switch(3)};
  Sizes const sizes{4, 1, 256, 256};
  constexpr std::uint32_t kReads = 250;
  std::vector<std::uint64_t> overtaken;
  for (std::size_t const congested : {0U, 1U}) {
    Bench b;
    auto gpu_spec = port_spec(0, 0, sizes, to_cpu);
    gpu_spec.outbound = kReads;
    gpu_spec.fabric.links = {link_end(sizes, 0, &middle[0]), link_end(sizes, 0, &middle[1])};
    auto cpu_spec = port_spec(2, kFirstCpu, sizes, to_gpu);
    cpu_spec.fabric.links = {link_end(sizes, 1, &middle[0]), link_end(sizes, 1, &middle[1])};
    auto& rdma = b.system.add<Rdma>("rdma", gpu_spec);
    auto& cpu = b.system.add<CpuPort>("cpu", cpu_spec);
    // A third link brings data from another node for the GPU to a switch, more than the link to the GPU can
    // carry.
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
      for (std::uint32_t i = 0; w == congested && i < kReads; ++i)
        data.push_back({Time{900ns}, packet<RemoteResponse>(i, 0, 2)});
      b.feed(outputs[0]->packet_in, data);
    }
    for (FabricPort* port : {static_cast<FabricPort*>(&rdma), static_cast<FabricPort*>(&cpu)}) {
      b.idle(port->memory_response);
      b.sinks(port->memory_request, 1);
    }
    b.idle(rdma.translate_request, rdma.invalidated);
    std::vector<Record<MemRequest>> reads;
    for (std::uint32_t i = 0; i < kReads; ++i)
      reads.push_back(
          {Time{100ns},
           MemRequest{
               .address = physical(kFirstCpu, 0), .tag = i, .from = 0, .access = Access::read, .bytes = 64}});
    b.feed(rdma.remote_request, reads);
    b.sinks(rdma.remote_response, 1);
    b.sink(cpu.invalidated);
    b.sink(cpu.translate);
    auto& responses = b.sink(rdma.translate_response);
    auto& invalidations = b.sink(rdma.invalidate);
    // For each of 16 pages two translations and then its invalidation, all at the same time.
    std::vector<Record<Packet>> script;
    for (std::uint32_t i = 0; i < 48; ++i) {
      auto const page = 0x100 + i / 3;
      script.push_back({Time{1000ns}, i % 3 < 2 ? packet_to(0, IommuResponse{.page = page, .tag = i})
                                                : packet_to(0, Invalidate{.page = page, .move = i})});
    }
    b.feed(cpu.translated, script);
    b.run();
    REQUIRE(responses.count() == 32);
    REQUIRE(invalidations.count() == 16);
    std::uint64_t passed = 0;
    for (auto const& i : invalidations.records()) {
      for (auto const& a : responses.records()) {
        auto const page = answer_in(a.message)->page;
        if (page == i.message.page) CHECK(a.at < i.at);
        passed += page < i.message.page && a.at > i.at;
      }
    }
    overtaken.push_back(passed);
  }
  // Pages on the congested route were overtaken by pages on the other one: the order above is not accidental.
  CHECK(overtaken[0] > 0);
  CHECK(overtaken[1] > 0);
}

}  // namespace cpu_port_test
