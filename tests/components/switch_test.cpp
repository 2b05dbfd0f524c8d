// SPDX-License-Identifier: Apache-2.0
// The outputs of a switch between mocks.
#include <doctest/doctest.h>

#include "fabric_bench.hpp"

namespace switch_test {

using namespace farfault;
using namespace farfault::fabric_bench;

namespace {

// Both outputs of the switch. Each of `packets` is sent to the output towards its destination.
struct SwitchBench : Bench {
  SwitchBench(Sizes const& p, std::vector<Record<Packet>> const& packets,
              std::vector<Record<Credit>> const& credits) {
    for (std::uint32_t i = 0; i < 2; ++i) {
      auto const spec = output_spec(p, i, {link_end(p, 3), link_end(p, 5)});
      auto& output = system.add<SwitchOutput>(name("output"), spec);
      node.push_back(&output);
      std::vector<Record<Packet>> mine;
      for (auto const& r : packets)
        if (kMiddle.next(r.message.route).link == i) mine.push_back(r);
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

}  // namespace

TEST_CASE(
    "switch: a packet takes its serialization and the link's latency, and its credit is returned when it is "
    "sent") {
  SwitchBench b(Sizes{4, 1}, {{Time{1000ns}, packet<RemoteRequest>(7)}}, {});
  CHECK(b.out[1]->picoseconds() == Picoseconds{1'105'500});
  CHECK(b.out[1]->records()[0].message.route.via == 5);  // the far end's number of the link
  CHECK(b.out[0]->count() == 0);
  CHECK(b.back[2]->picoseconds() == Picoseconds{1'105'500});
  auto const& credit = b.back[2]->records()[0].message;
  CHECK(credit.link == 3);
  CHECK(credit.channel == static_cast<std::uint16_t>(Channel::request));
  CHECK(credit.bytes == kLine);
}

TEST_CASE("switch: packets for one output share its link, packets for two outputs do not") {
  SwitchBench b(Sizes{8, 8},
                {{Time{1000ns}, packet<RemoteRequest>(1)},
                 {Time{1000ns}, packet<RemoteRequest>(2)},
                 {Time{1000ns}, packet<RemoteRequest>(3, 0, 1)}},
                {});
  CHECK(b.out[1]->picoseconds() == Picoseconds{1'105'500, 1'111'000});
  CHECK(b.out[0]->picoseconds() == Picoseconds{1'105'500});
}

TEST_CASE("switch: credits are returned in batches, separately per channel") {
  std::vector<Record<Packet>> packets;
  for (std::uint32_t i = 0; i < 3; ++i) packets.push_back({Time{1000ns}, packet<RemoteRequest>(i)});
  for (std::uint32_t i = 0; i < 2; ++i) packets.push_back({Time{2000ns}, packet<RemoteResponse>(i)});
  SwitchBench b(Sizes{16, 2}, packets, {});
  REQUIRE(b.back[2]->count() == 2);
  CHECK(b.back[2]->picoseconds() == Picoseconds{1'111'000, 2'111'000});
  CHECK(b.back[2]->records()[0].message.bytes == 2 * kLine);
  CHECK(b.back[2]->records()[1].message.channel == static_cast<std::uint16_t>(Channel::response));
}

TEST_CASE("switch: without credits requests stop, responses pass, and a credit releases the next request") {
  std::vector<Record<Packet>> packets;
  for (std::uint32_t i = 0; i < 4; ++i) packets.push_back({Time{1000ns}, packet<RemoteRequest>(i)});
  packets.push_back({Time{1100ns}, packet<RemoteResponse>(9)});
  SwitchBench b(Sizes{2, 1}, packets,
                {{Time{2000ns}, {1, static_cast<std::uint16_t>(Channel::request), kLine}}});
  CHECK(tags_of(*b.out[1]) == std::vector<std::uint32_t>{0, 1, 9, 2});
  CHECK(b.out[1]->picoseconds() == Picoseconds{1'105'500, 1'111'000, 1'205'500, 2'105'500});
  CHECK(b.node[1]->waiting_for() == "1 packets queued for a link");
  CHECK(b.node[0]->waiting_for().empty());
}

}  // namespace switch_test
