// SPDX-License-Identifier: Apache-2.0
// Access counters at the ports of two GPUs: accesses that count, messages, and their times.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "fabric_bench.hpp"
#include "policies.hpp"

namespace counted_accesses_test {

using namespace farfault;
using namespace farfault::fabric_bench;

namespace {

constexpr std::uint64_t kRegion = 2 << 20;

// GPU 0 at node 0, with a buffer of two notifications.
PortSpec counting(CounterPlace place, std::uint32_t threshold) {
  auto spec = port_spec(0, 0, Sizes{64, 8}, kTo2);
  spec.access_counters = true;
  spec.counters.place = place;
  spec.counters.threshold = threshold;
  spec.counters.notifications = 2;
  return spec;
}

// The port alone. Its link leads to node 2, which is GPU 1 and has the driver.
struct Port : Bench {
  Port(PortSpec const& spec, std::vector<Record<MemRequest>> const& outwards,
       std::vector<Record<Packet>> const& inwards = {})
      : rdma(system.add<Rdma>("rdma", spec)) {
    feed(rdma.remote_request, outwards);
    feed(rdma.packet_in, inwards);
    idle(rdma.credit_in, rdma.memory_response, rdma.invalidated, rdma.translate_request);
    sink(rdma.translate_response);
    sink(rdma.invalidate);
    sinks(rdma.remote_response, 1);
    memory = sinks(rdma.memory_request, 1).front();
    sent = sinks(rdma.packet_out[0], 1, kWire).front();
    sink(rdma.credit_out[0], kWire);
    run();
  }
  std::vector<CounterNotification> notifications() const {
    std::vector<CounterNotification> all;
    for (auto const& r : sent->records())
      if (r.message.is<CounterNotification>()) all.push_back(r.message.as<CounterNotification>());
    return all;
  }
  std::vector<std::int64_t> times() const {
    std::vector<std::int64_t> all;
    for (auto const& r : sent->records())
      if (r.message.is<CounterNotification>()) all.push_back(picoseconds(r.at - Time{}));
    return all;
  }
  std::uint64_t stat(std::string const& name) const { return test::stat_of(rdma, "port", name); }
  Rdma& rdma;
  Sink<MemRequest>* memory;
  Sink<Packet>* sent;
};

Record<MemRequest> at(std::int64_t ns, MemRequest const& m) {
  return {Time{ns * 1ns}, m};
}
MemRequest of_kind(MemRequest m, RequestKind kind) {
  m.requester.kind = kind;
  return m;
}
template <class M>
Record<Packet> arrival(std::int64_t ns, M const& m, NodeId destination = 0) {
  auto p = packet_to(destination, m);
  p.route.source = 2;
  return {Time{ns * 1ns}, p};
}
RemoteRequest remote(std::uint64_t offset, RequestKind kind = RequestKind::data, std::uint8_t more = 0) {
  RemoteRequest m;
  m.lines = {.address = physical(0, offset), .more = more, .bytes = 64, .kind = kind};
  return m;
}

}  // namespace

TEST_CASE("outbound counters: the access that reaches the threshold is preceded by its notification") {
  auto const place = CounterPlace::outbound;
  Port const b(
      counting(place, 3),
      {at(1000, read(physical(1, kRegion))), at(1010, of_kind(read(physical(1, kRegion)), RequestKind::copy)),
       at(1020, write(physical(1, kRegion + (64 << 10)))), at(1030, read(physical(1, 0))),  // another region
       at(1040, of_kind(read(physical(1, kRegion)), RequestKind::context)),
       at(1050, read(physical(1, 2 * kRegion - 64))), at(1060, read(physical(1, kRegion)))});
  REQUIRE(b.notifications().size() == 1);
  auto const m = b.notifications()[0];
  CHECK(m.region == physical(1, kRegion));
  CHECK(m.sub_regions == (1U | 1U << 1 | 1U << 31));
  CHECK(m.count == 3);
  CHECK(m.gpu == 0);
  CHECK(m.counter == 0);
  // A header and 32 bytes on the wire.
  CHECK(b.times() == std::vector<std::int64_t>{1'050'000 + 3'500 + 100'000});
  std::vector<std::uint16_t> payloads;
  for (auto const& r : b.sent->records()) payloads.push_back(r.message.route.payload);
  CHECK(payloads == std::vector<std::uint16_t>{0, 0, 64, 0, 0, 32, 0, 0});
  for (auto const& r : b.sent->records()) CHECK(r.message.route.destination == 2);
  CHECK(b.rdma.state().counters.count_of(2, kRegion) == 4);
  CHECK(b.rdma.state().stats.reads_sent == 6);
  CHECK(b.stat("counted_regions") == 2);
  CHECK(b.stat("counter_notifications") == 1);
}

TEST_CASE("outbound counters: all lines of a train count, and accesses to a CPU's memory") {
  auto train = read(physical(kFirstCpu, 5 * kRegion));
  train.train = Train{3, 0};
  Port const b(counting(CounterPlace::outbound, 8), {at(1000, train), at(1010, train)});
  REQUIRE(b.notifications().size() == 1);
  CHECK(b.notifications()[0].region == physical(kFirstCpu, 5 * kRegion));
  CHECK(b.notifications()[0].count == 8);
}

TEST_CASE("counters at a port: a clear lets a region notify again, and a read frees entries of the buffer") {
  for (bool const clears : {false, true}) {
    for (bool const reads : {false, true}) {
      CAPTURE(clears);
      CAPTURE(reads);
      std::vector<Record<Packet>> orders;
      if (reads) orders.push_back(arrival(2000, CounterRead{1, 0}));
      if (clears)
        orders.push_back(arrival(2000, CounterClear{.region = physical(1, 0), .gpu = 0, .requester = 0}));
      Port const b(counting(CounterPlace::outbound, 1),
                   {at(1000, read(physical(1, 0))), at(1010, read(physical(1, kRegion))),
                    at(1020, read(physical(1, 2 * kRegion))),  // the buffer is full
                    at(3000, read(physical(1, 0))), at(3010, read(physical(1, 3 * kRegion)))},
                   orders);
      // One entry is free: the cleared region takes it, or else the fourth region.
      CHECK(b.stat("counter_notifications") == (reads ? 3 : 2));
      CHECK(b.stat("dropped_notifications") == 1U + (clears && reads ? 1 : reads ? 0 : clears ? 2 : 1));
      CHECK(b.stat("cleared_counters") == (clears ? 1 : 0));
      CHECK(b.stat("counted_regions") == 4);
      if (reads) CHECK(b.notifications()[2].region == physical(1, clears ? 0 : 3 * kRegion));
    }
  }
}

TEST_CASE("limited counters at a port: the clear of a region without a counter has no effect") {
  for (bool const returns : {false, true}) {
    CAPTURE(returns);
    auto spec = counting(CounterPlace::outbound, 2);
    spec.counters.counters = 1;
    std::vector<Record<MemRequest>> reads{at(1000, read(physical(1, 0))), at(1010, read(physical(1, 0))),
                                          at(1020, read(physical(1, kRegion)))};
    if (returns) reads.push_back(at(1030, read(physical(1, 64))));
    reads.push_back(at(3000, read(physical(1, returns ? 0 : kRegion))));
    Port const b(spec, reads,
                 {arrival(2000, CounterRead{1, 0}),
                  arrival(2000, CounterClear{.region = physical(1, 0), .gpu = 0, .requester = 0})});
    // Region 0 notifies and loses its counter; with a third access, it gets the counter back until the clear.
    REQUIRE(b.notifications().size() == (returns ? 1 : 2));
    CHECK(b.notifications()[0].region == physical(1, 0));
    if (!returns) CHECK(b.notifications()[1].region == physical(1, kRegion));
    CHECK(b.stat("dropped_counters") == (returns ? 2 : 1));
    CHECK(b.stat("cleared_counters") == (returns ? 1 : 0));
    CHECK(b.stat("counted_regions") == 1);
    CHECK(b.rdma.state().counters.count_of(2, 0) == (returns ? 1 : 0));
  }
}

TEST_CASE("inbound counters: requests of other devices count on arrival, by own region and requester") {
  std::vector<Record<Packet>> requests;
  for (std::int64_t i = 0; i < 20; ++i) requests.push_back(arrival(1000 + 10 * i, remote(kRegion)));
  requests.push_back(arrival(2000, remote(0)));
  requests.push_back(arrival(2010, remote(kRegion, RequestKind::copy)));
  requests.push_back(arrival(2020, remote(kRegion), 2));  // in transit to another device
  requests.push_back(arrival(2030, CounterRead{1, 0}));
  requests.push_back(arrival(2040, CounterClear{.region = physical(0, kRegion), .gpu = 0, .requester = 1}));
  requests.push_back(arrival(3000, remote(kRegion, RequestKind::data, 15)));
  requests.push_back(arrival(3010, remote(kRegion), 2));
  Port const b(counting(CounterPlace::inbound, 18), {at(500, read(physical(1, 0)))}, requests);
  // 16 requests are in service, since their memory does not respond; the others are held.
  CHECK(b.memory->records().size() == 16);
  REQUIRE(b.notifications().size() == 1);
  auto const m = b.notifications()[0];
  CHECK(m.region == physical(0, kRegion));
  CHECK(m.sub_regions == 1);
  CHECK(m.count == 18);
  CHECK(m.gpu == 1);
  CHECK(m.counter == 0);
  CHECK(b.times() == std::vector<std::int64_t>{1'170'000 + 3'500 + 100'000});
  CHECK(b.rdma.state().counters.count_of(2, kRegion) == 16);
  CHECK(b.rdma.state().counters.unread() == 0);
  CHECK(b.rdma.state().stats.reads_received == 20 + 2 + 16);
}

TEST_CASE("a port without counters has no statistics about them, and a CPU's port only passes messages on") {
  auto const names = [](AnyComponent const& c) {
    std::vector<std::string> all;
    for (auto const& g : c.stat_groups())
      for (auto const& s : g.stats) all.emplace_back(s.name);
    return all;
  };
  auto spec = port_spec(0, 0, Sizes{8, 1}, kTo2);
  Bench b;
  auto const without = names(b.system.add<Rdma>("rdma", spec));
  spec.access_counters = true;
  auto const with = names(b.system.add<Rdma>("counting", spec));
  CHECK(with.size() == without.size() + 4);
  CHECK(std::ranges::find(without, "counted_regions") == without.end());
  CHECK(std::ranges::find(with, "counted_regions") != with.end());
  spec.counters.counters = 7;
  auto const limited = names(b.system.add<Rdma>("limited", spec));
  CHECK(limited.size() == with.size() + 1);
  CHECK(std::ranges::find(with, "dropped_counters") == with.end());
  CHECK(limited.back() == "dropped_counters");
  spec.device = kFirstCpu;
  CHECK(names(b.system.add<CpuPort>("cpu", spec)) == without);
}

TEST_CASE("CPU port: notifications go to the driver, and its orders to the GPU that they name") {
  auto spec = port_spec(2, kFirstCpu, Sizes{8, 1}, kTo0);
  spec.access_counters = true;
  Bench b;
  auto& port = b.system.add<CpuPort>("cpu", spec);
  CounterNotification const note{.region = physical(1, kRegion), .count = 7, .gpu = 0, .counter = 0};
  b.feed(port.packet_in, {Record<Packet>{Time{1000ns}, packet_to(2, note)}});
  b.feed(port.from_driver,
         {Record<Packet>{Time{2000ns}, Packet::of(CounterRead{5, 0})},
          Record<Packet>{Time{2000ns}, Packet::of(CounterClear{physical(1, kRegion), 0, 0, {}})}});
  b.idle(port.credit_in, port.memory_response, port.translated);
  auto const& driver = b.sink(port.to_driver);
  b.sink(port.translate);
  b.sink(port.invalidated);
  b.sinks(port.memory_request, 1);
  auto const& sent = *b.sinks(port.packet_out[0], 1, kWire).front();
  b.sink(port.credit_out[0], kWire);
  b.run();
  REQUIRE(driver.records().size() == 1);
  CHECK(driver.records()[0].message.as<CounterNotification>().count == 7);
  REQUIRE(sent.records().size() == 2);
  CHECK(sent.records()[0].message.as<CounterRead>().entries == 5);
  CHECK(sent.records()[1].message.as<CounterClear>().region == physical(1, kRegion));
  for (auto const& r : sent.records()) CHECK(r.message.route.destination == 0);
  // Headers only.
  CHECK(sent.picoseconds() == Picoseconds{2'101'500, 2'103'000});
}

}  // namespace counted_accesses_test
