// SPDX-License-Identifier: Apache-2.0
// A NIC at the end of a GPU's link, and between two GPUs.
#include "farfault/fabric/nic.hpp"

#include <doctest/doctest.h>

#include "fabric_bench.hpp"
#include "farfault/memory/copy_engine.hpp"

namespace nic_test {

using namespace farfault;
using namespace farfault::fabric_bench;

namespace {

constexpr Duration kLatency = 30ns;
constexpr PhysAddr kBuffer = physical(kFirstNic, 0x4000);

// GPU 0 and NIC 0, connected directly.
struct GpuAndNic : Bench {
  explicit GpuAndNic(Sizes const& p)
      : gpu(system.add<Rdma>("rdma", port_spec(0, 0, p, kTo2))),
        nic(system.add<Nic>("nic", port_spec(2, kFirstNic, p, kTo0))) {
    join_family(gpu.packet_out[0], {nic.packet_in}, kWire);
    join(gpu.credit_out[0], nic.credit_in, kWire);
    join_family(nic.packet_out[0], {gpu.packet_in}, kWire);
    join(nic.credit_out[0], gpu.credit_in, kWire);
    join_family(nic.memory_request, {nic.access}, kLatency);
    join(nic.response, nic.memory_response, kLatency);
    memory = &responder<MemRequest, MemResponse>(mock::memory(always(50ns)), gpu.memory_response);
    join_family(gpu.memory_request, {memory->request});
    idle(gpu.translate_request);
    idle(gpu.invalidated);
    sink(gpu.translate_response);
    sink(gpu.invalidate);
  }
  Rdma& gpu;
  Nic& nic;
  Memory* memory = nullptr;
};

constexpr std::int64_t kThere = 1500 + 100'000;      // a header and the wire
constexpr std::int64_t kLineThere = 5500 + 100'000;  // with one line
constexpr std::int64_t kInside = 2 * 30'000;

}  // namespace

TEST_CASE("NIC: a read or write of its memory takes the sum of its stages in both directions") {
  GpuAndNic b(Sizes{8, 1});
  b.feed(b.gpu.remote_request, {{Time{1000ns}, read(kBuffer, 77)}, {Time{5000ns}, write(kBuffer + 64, 78)}});
  auto const sms = b.sinks(b.gpu.remote_response, 1);
  b.run();
  auto const both = kThere + kLineThere + kInside + 1000;
  CHECK(sms[0]->picoseconds() == Picoseconds{1'000'000 + both, 5'000'000 + both});
  CHECK(tags(*sms[0]) == std::vector<std::uint32_t>{77, 78});
  CHECK(sms[0]->records()[0].message.address == kBuffer);
  CHECK(sms[0]->records()[0].message.access == Access::read);
  CHECK(sms[0]->records()[1].message.access == Access::write);
  CHECK(found_by(*sms[0]) == Found{FoundBy::memory, FoundBy::memory});
  CHECK(b.nic.state().stats.reads_received == 1);
  CHECK(b.nic.state().stats.writes_received == 1);
  CHECK(b.nic.state().stats.reads_sent == 0);
  CHECK(b.nic.waiting_for().empty());
  CHECK(b.memory->records().empty());
}

TEST_CASE("NIC: requests within its limit are served in parallel, others wait for a free slot") {
  Sizes sizes{8, 1};
  sizes.inbound = 2;
  GpuAndNic b(sizes);
  b.feed(
      b.gpu.remote_request,
      {{Time{1000ns}, read(kBuffer, 1)}, {Time{1000ns}, read(kBuffer, 2)}, {Time{1000ns}, read(kBuffer, 3)}});
  auto const sms = b.sinks(b.gpu.remote_response, 1);
  b.run();
  // The third request starts when the first response leaves on the wire; the wire is free when the third
  // response is ready.
  auto const first = 1'000'000 + kThere + kInside + kLineThere + 1000;
  CHECK(sms[0]->picoseconds() == Picoseconds{first, first + 5500, first + kInside});
}

TEST_CASE("NIC: a copy engine writes to its buffer from the GPU's memory, and reads from it") {
  GpuAndNic b(Sizes{8, 1});
  CopyEngineSpec spec;
  spec.memory = AddressMap(1, 256);
  spec.queue = 2;
  auto& engine = b.system.add<CopyEngine>("copy_engine", spec);
  b.feed(engine.copy, {{Time{1us}, {physical(0, 0x1000), kBuffer, 4096, 5}},
                       {Time{100us}, {kBuffer, physical(0, 0x2000), 4096, 6}}});
  b.join(engine.remote_request, b.gpu.remote_request);
  b.join_family(b.gpu.remote_response, {engine.remote_response});
  auto& own = b.responder<MemRequest, MemResponse>(mock::memory(always(50ns)), engine.memory_response);
  b.join_family(engine.memory_request, {own.request});
  auto& copied = b.sink(engine.copied);
  b.run();
  REQUIRE(copied.count() == 2);
  CHECK(copied.records()[0].message.tag == 5);
  CHECK(copied.records()[1].message.tag == 6);
  CHECK(b.nic.state().stats.writes_received == 64);
  CHECK(b.nic.state().stats.reads_received == 64);
  CHECK(own.records().size() == 128);
  CHECK(b.nic.waiting_for().empty());
}

TEST_CASE("NIC: packets for other nodes pass it exactly as they pass a switch") {
  for (std::uint32_t const buffer : {4U, 8U, 16U}) {
    std::vector<Picoseconds> arrived;
    for (bool const with_nic : {false, true}) {
      Bench b;
      Sizes const sizes{buffer, 1};
      std::vector<Record<Packet>> script;
      for (std::uint32_t i = 0; i < 20; ++i)
        script.push_back(
            {Time{1us} + i * 1ns, i % 3 == 0 ? packet<RemoteResponse>(i) : packet<RemoteRequest>(i)});
      // 7 of 20 packets are responses.
      std::vector<LinkEnd> const ends{link_end(sizes, 0), link_end(sizes, 0)};
      Sink<Packet>* sink = nullptr;
      if (with_nic) {
        auto spec = port_spec(1, kFirstNic, sizes, kMiddle);
        spec.fabric.links = ends;
        auto& nic = b.system.add<Nic>("nic", spec);
        b.feed(nic.packet_in, script);
        b.idle(nic.credit_in);
        b.join_family(nic.memory_request, {nic.access}, kLatency);
        b.join(nic.response, nic.memory_response, kLatency);
        for (auto& credits : nic.credit_out) b.sink(credits);
        b.sinks(nic.packet_out[0], 1);
        sink = b.sinks(nic.packet_out[1], 1)[0];
        b.run();
        CHECK(nic.state().stats.writes_received == 0);
      } else {
        auto& output = b.system.add<SwitchOutput>("output", output_spec(sizes, 1, ends));
        b.feed(output.packet_in, script);
        b.idle(output.credit_in);
        for (auto& credits : output.credit_out) b.sink(credits);
        sink = b.sinks(output.packet_out, 1)[0];
        b.run();
      }
      arrived.push_back(sink->picoseconds());
      CHECK(sink->count() == std::min(buffer, 7U) + std::min(buffer, 13U));
    }
    CHECK(arrived[0] == arrived[1]);
  }
}

}  // namespace nic_test
