// SPDX-License-Identifier: Apache-2.0
// The RDMA engines of GPUs, connected directly, through a switch, or by two equal links.
#include <doctest/doctest.h>

#include <set>

#include "fabric_bench.hpp"

namespace rdma_test {

using namespace farfault;
using namespace farfault::fabric_bench;

TEST_CASE("RDMA: a remote read or write takes the sum of its stages in both directions") {
  for (bool const with_switch : {false, true}) {
    TwoGpus b(Sizes{8, 1}, with_switch);
    Requester const requester{9, 4, RequestKind::copy};
    auto store = write(physical(1, 0x80), 78, 0);
    store.requester = requester;
    b.feed(b.gpu[0]->remote_request,
           {{Time{1000ns}, read(physical(1, 0x1240), 77, 1)}, {Time{5000ns}, store}});
    b.feed(b.gpu[1]->remote_request, {});
    auto const sms = b.sinks(b.gpu[0]->remote_response, 2);
    b.sinks(b.gpu[1]->remote_response, 1);
    b.run();
    // Header, wire, link to memory, memory, link back, line, wire, link to the SM. A switch doubles the
    // wires.
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
    CHECK(b.mem[1]->records()[0].message.requester == Requester{});
    CHECK(b.mem[1]->records()[1].message.requester == requester);
    CHECK(b.gpu[0]->state().stats.reads_sent == 1);
    CHECK(b.gpu[1]->state().stats.writes_received == 1);
    CHECK(b.gpu[0]->waiting_for().empty());
  }
}

TEST_CASE("RDMA: hit or miss in the other device's cache is returned with the response") {
  for (bool const with_switch : {false, true}) {
    TwoGpus b(Sizes{8, 1}, with_switch, always(50ns), Below::cache);
    b.feed(b.gpu[0]->remote_request, {{Time{1us}, read(physical(1, 0x80), 1)},
                                      {Time{2us}, read(physical(1, 0xc0), 2)},
                                      {Time{3us}, write(physical(1, 0x100), 3)},
                                      {Time{4us}, write(physical(1, 0x140), 4)}});
    b.feed(b.gpu[1]->remote_request, {});
    auto const sms = b.sinks(b.gpu[0]->remote_response, 1);
    b.sinks(b.gpu[1]->remote_response, 1);
    b.run();
    CHECK(tags(*sms[0]) == std::vector<std::uint32_t>{1, 2, 3, 4});
    CHECK(found_by(*sms[0]) == Found{FoundBy::cache, FoundBy::memory, FoundBy::cache, FoundBy::memory});
  }
}

TEST_CASE("RDMA: a stream of remote reads is bound by the link that carries the lines") {
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
  // 64 outstanding reads cover the round trip of 263 ns: from the first line on, the wire is never idle.
  auto const first = 100ns + 1ns + Duration{1500} + 100ns + 1ns + 50ns + 1ns;
  CHECK(client.state().last == Time{first + 2000 * Duration{5500} + 100ns + 1ns});
}

TEST_CASE("RDMA: the requests that a GPU serves concurrently are limited, and others are served in order") {
  TwoGpus b({8, 1, 256, 1}, false);
  std::vector<Record<MemRequest>> script;
  for (std::uint32_t i = 0; i < 3; ++i) script.push_back({Time{1000ns}, read(physical(1, 64 * i), i)});
  b.feed(b.gpu[0]->remote_request, script);
  b.feed(b.gpu[1]->remote_request, {});
  auto const sms = b.sinks(b.gpu[0]->remote_response, 1);
  b.sinks(b.gpu[1]->remote_response, 1);
  b.run();
  CHECK(tags(*sms[0]) == std::vector<std::uint32_t>{0, 1, 2});
  // One at a time: 52 ns each, including the links to the memory and back.
  CHECK(sms[0]->picoseconds() == Picoseconds{1'260'000, 1'312'000, 1'364'000});
}

namespace {

// GPU 0 with two equal links to node 2, and the packets sent over each.
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
  std::uint64_t sent(std::size_t link, Access access) const {
    std::uint64_t n = 0;
    for (auto const& r : links[link]->records())
      n += r.message.is<RemoteRequest>() && r.message.lines().access == access;
    return n;
  }
  std::vector<Sink<Packet>*> links;
};

}  // namespace

TEST_CASE("RDMA: packets alternate between two equal links, separately with and without data") {
  auto const route = table(0, {{}, {}, {0, 1}});
  std::vector<Record<MemRequest>> script;
  for (std::uint32_t i = 0; i < 32; ++i)
    script.push_back(
        {Time{1000ns}, i % 2 == 0 ? read(physical(1, 64 * i), i) : write(physical(1, 64 * i), i)});
  TwoLinks const b(route, script);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(b.sent(i, Access::read) == 8);
    CHECK(b.sent(i, Access::write) == 8);
  }
  // The next node selects a link by the remaining part of the flow number.
  auto const first = b.links[0]->records()[0].message.route.flow;
  auto const second = b.links[0]->records()[2].message.route.flow;
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

TEST_CASE(
    "RDMA: the translations of a page use one of two equal links, translations of many pages use both") {
  auto const route = table(0, {{}, {}, {0, 1}});
  std::vector<Record<TranslateRequest>> script;
  for (std::uint32_t i = 0; i < 64; ++i) script.push_back({Time{1000ns}, {i % 16, i}});
  TwoLinks const b(route, {}, script);
  std::vector<std::set<std::uint64_t>> pages(2);
  for (std::size_t i = 0; i < 2; ++i)
    for (auto const& r : b.links[i]->records()) pages[i].insert(r.message.as<TranslateRequest>().page);
  CHECK(b.links[0]->count() + b.links[1]->count() == 64);
  CHECK(pages[0].size() + pages[1].size() == 16);  // no page on both
  CHECK(pages[0].size() >= 3);
  CHECK(pages[1].size() >= 3);
}

TEST_CASE("fabric: with short queues and traffic both ways, each access is answered exactly once") {
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

}  // namespace rdma_test
