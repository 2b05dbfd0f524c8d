// SPDX-License-Identifier: Apache-2.0
// Trains, i.e. consecutive lines in one message, in each component that they pass.
#include "farfault/parts/train.hpp"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "fabric_bench.hpp"
#include "farfault/memory/dram_channel.hpp"
#include "farfault/memory/l2_slice.hpp"
#include "sm_bench.hpp"

namespace train_test {

using namespace farfault;
using namespace farfault::mock;

namespace {

MemRequest train_of(MemRequest request, std::uint32_t lines, Duration gap) {
  request.train = {lines - 1, static_cast<std::uint32_t>(picoseconds(gap))};
  return request;
}

// An arrival at a sink of responses: time, first line, number of lines, and time between lines.
struct Got {
  std::int64_t at;
  std::uint64_t line;
  std::uint32_t lines;
  std::uint32_t gap;
  friend bool operator==(Got const&, Got const&) = default;
};
template <class Seen>
std::vector<Got> got(Seen const& seen) {
  std::vector<Got> all;
  for (auto const& r : seen.records())
    all.push_back({picoseconds(r.at), r.message.address / 64, r.message.train.lines(), r.message.train.gap});
  return all;
}
// Arrival time of each line.
template <class Seen>
std::vector<std::int64_t> times_of_lines(Seen const& seen) {
  std::vector<std::int64_t> times;
  for (auto const& r : seen.records())
    for (std::uint32_t i = 0; i < r.message.train.lines(); ++i)
      times.push_back(picoseconds(r.at + r.message.train.until(i)));
  return times;
}

}  // namespace

TEST_CASE("a train passes a free resource in the times of its separate lines") {
  Time free{};
  auto const slow = pass({3, 10'000}, Time{100ns}, 2ns, free);  // four lines, 10 ns apart
  CHECK(slow.first == Time{102ns});
  CHECK(slow.last == Time{132ns});
  CHECK(slow.train(3).gap == 10'000);
  CHECK(free == Time{108ns});  // others may use the gaps
  auto const fast = pass({3, 1'000}, Time{200ns}, 5ns, free);
  CHECK(fast.first == Time{205ns});
  CHECK(fast.last == Time{220ns});
  CHECK(fast.train(3).gap == 5'000);
  CHECK(free == Time{220ns});
}

TEST_CASE("a train waits for a busy resource, and none of its lines leaves before its arrival") {
  Time free{50ns};
  auto const p = pass({2, 20'000}, Time{45ns}, 10ns, free);
  CHECK(p.first == Time{60ns});
  CHECK(p.last == Time{95ns});  // arrives at 85
  CHECK(free == Time{80ns});
  CHECK(train_between(Time{}, Time{Duration{10}}, 3).gap == 4);  // rounded up
  CHECK(train_between(Time{}, Time{}, 0).lines() == 1);
}

TEST_CASE("egress: lines of a train with credits are sent, and the rest follows") {
  Egress egress(Bandwidth{1'000'000'000'000}, PacketFormat{24, 1}, 200, 8);  // 1 byte per picosecond
  auto p = Packet::of(RemoteResponse{.lines = {.address = 0x1000, .more = 3, .bytes = 64}});
  p.route.payload = 64;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> gone;
  auto const leaves = [&](Packet const& sent, Passage const& done) {
    gone.push_back({sent.lines().address, sent.train().lines()});
    CHECK(done.last - done.first == Duration{88} * sent.train().more);
  };
  egress.send(p, 0, Time{}, leaves);
  CHECK(gone == std::vector<std::pair<std::uint64_t, std::uint32_t>>{{0x1000, 2}});
  CHECK(egress.queued() == 1);
  gone.clear();
  egress.add_credits(Channel::response, 87 + 88 - 24);  // 175 in total: not two
  egress.transmit(Time{1ns}, leaves);
  CHECK(gone == std::vector<std::pair<std::uint64_t, std::uint32_t>>{{0x1080, 1}});
  gone.clear();
  egress.add_credits(Channel::response, 1);
  egress.transmit(Time{2ns}, leaves);
  CHECK(gone == std::vector<std::pair<std::uint64_t, std::uint32_t>>{{0x10c0, 1}});
  CHECK(egress.queued() == 0);
  CHECK(egress.stats().packets == 4);
  CHECK(egress.stats().bytes == 4 * 88);
}

TEST_CASE("egress: a copy's train waits for the credits of all its lines, in both directions") {
  RemoteLines const lines{.more = 3, .bytes = 64, .kind = RequestKind::copy};
  for (auto p : {Packet::of(RemoteRequest{.lines = lines}), Packet::of(RemoteResponse{.lines = lines})}) {
    Egress egress(Bandwidth{1'000'000'000'000}, PacketFormat{24, 1}, 200, 8);
    p.route.payload = 64;
    std::vector<std::uint32_t> gone;
    auto const leaves = [&](Packet const& sent, Passage const&) { gone.push_back(sent.train().lines()); };
    egress.send(p, 0, Time{}, leaves);
    egress.add_credits(channel_of(p.route.kind), 4 * 88 - 200 - 1);
    egress.transmit(Time{1ns}, leaves);
    CHECK(gone.empty());
    egress.add_credits(channel_of(p.route.kind), 1);
    egress.transmit(Time{2ns}, leaves);
    CHECK(gone == std::vector<std::uint32_t>{4});
  }
}

TEST_CASE("egress: after a train, a client yields as many packets to the other one as it has sent lines") {
  Egress egress(Bandwidth{1'000'000'000'000}, PacketFormat{24, 1}, 0, 16);
  auto const data = Packet::of(RemoteRequest{.lines = {.more = 2, .bytes = 64}});
  for (std::uint32_t i = 0; i < 2; ++i) egress.enqueue(data, 0);
  for (std::uint32_t i = 1; i < 6; ++i) {
    egress.enqueue(Packet::of(TranslateRequest{.from = i}), 1);
  }
  egress.add_credits(Channel::request, 1000);
  std::vector<std::uint32_t> order;
  egress.transmit(Time{}, [&](Packet const& p, Passage const&) {
    order.push_back(p.is<TranslateRequest>() ? p.as<TranslateRequest>().from : 0);
  });
  CHECK(order == std::vector<std::uint32_t>{0, 1, 2, 3, 0, 4, 5});
}

TEST_CASE("RDMA: a train crosses the fabric and returns in the times of its separate lines") {
  using namespace fabric_bench;
  auto const arrivals = [](bool together) {
    TwoGpus b({}, true);
    auto const line = [](std::uint64_t i) {
      return read(physical(1, 64 * i), static_cast<std::uint32_t>(i));
    };
    std::vector<Record<MemRequest>> script;
    if (together) script.push_back({Time{10ns}, train_of(line(0), 4, 1ns)});
    for (std::uint64_t i = 0; !together && i < 4; ++i) script.push_back({Time{10ns + i * 1ns}, line(i)});
    b.feed(b.gpu[0]->remote_request, script);
    b.feed(b.gpu[1]->remote_request, {});
    auto& back = *b.sinks(b.gpu[0]->remote_response, 1)[0];
    b.sinks(b.gpu[1]->remote_response, 1);
    b.run();
    return times_of_lines(back);
  };
  auto const alone = arrivals(false);
  CHECK(alone.size() == 4);
  CHECK(arrivals(true) == alone);
}

namespace {

// Sixteen lines in one set, look-ups of 14 cycles of 1 ns, memory of 50 ns, links of 1 ns.
struct SliceBench : Bench {
  explicit SliceBench(std::vector<Record<MemRequest>> script, std::uint32_t mshrs = 8)
      : slice(system.add<L2Slice>("slice", spec(mshrs))) {
    feed(slice.request, std::move(script));
    responses = sinks(slice.response, 2);
    dram = &responder<MemRequest, MemResponse>(memory(always(50ns)), slice.filled);
    join_family(slice.dram, {dram->request});
    run();
  }
  static L2SliceSpec spec(std::uint32_t mshrs) {
    L2SliceSpec spec;
    spec.params.slices = 1;
    spec.params.size = ByteSize{1024};
    spec.params.ways = 16;
    spec.params.mshrs = mshrs;
    spec.params.waiters = 16;
    spec.memory = AddressMap(1, 256);
    spec.dram_credits = 8;
    spec.queue = 16;
    spec.train = 4;
    spec.train_block = 256;
    return spec;
  }
  L2Slice& slice;
  std::vector<Sink<MemResponse>*> responses;
  Memory* dram = nullptr;
};

}  // namespace

TEST_CASE("L2 slice: missing lines of a train are sent to memory together, and answered together") {
  SliceBench b({{Time{10ns}, train_of(read(0x100, 7), 4, 1ns)}});
  CHECK(got(*b.dram) == std::vector<Got>{{25'000, 4, 4, 1'000}});
  CHECK(got(*b.responses[0]) == std::vector<Got>{{77'000, 4, 4, 1'000}});
  CHECK(b.responses[0]->records()[0].message.tag == 7);
  CHECK(b.slice.state().stats.reads == 4);
  CHECK(b.slice.state().stats.misses == 4);
  CHECK(b.slice.state().mshrs.in_use() == 0);
}

TEST_CASE("L2 slice: hit lines of a train, and the lines on either side, are answered separately") {
  SliceBench b({{Time{10ns}, read(0x140, 1)}, {Time{200ns}, train_of(read(0x100, 7), 4, 1ns)}});
  auto responses = got(*b.responses[0]);
  REQUIRE(responses.size() == 4);
  CHECK(responses[1] == Got{216'000, 5, 1, 0});  // the second line, one cycle after the first
  CHECK(responses[2] == Got{267'000, 4, 1, 0});
  CHECK(responses[3] == Got{269'000, 6, 2, 1'000});
  CHECK(got(*b.dram) == std::vector<Got>{{25'000, 5, 1, 0}, {215'000, 4, 1, 0}, {217'000, 6, 2, 1'000}});
  CHECK(b.slice.state().stats.hits == 1);
}

TEST_CASE("L2 slice: a train waits as a whole for enough MSHRs") {
  SliceBench b({{Time{10ns}, read(0x1000, 1)}, {Time{12ns}, train_of(read(0x100, 7), 4, 1ns)}}, 4);
  auto const seen = got(*b.dram);
  REQUIRE(seen.size() == 2);
  CHECK(seen[1] == Got{76'000 + 14'000 + 1'000, 4, 4, 1'000});  // when the first line has arrived
  CHECK(b.slice.state().stats.mshr_stalls == 4);
}

TEST_CASE("L2 slice: trains of several requesters of one line are distinguished") {
  SliceBench b(
      {{Time{10ns}, train_of(read(0x100, 7, 0), 4, 1ns)}, {Time{12ns}, train_of(read(0x100, 8, 1), 4, 1ns)}});
  std::uint32_t lines = 0;
  for (auto const& r : b.responses[0]->records()) lines += r.message.tag == 7 ? r.message.train.lines() : 100;
  for (auto const& r : b.responses[1]->records()) lines += r.message.tag == 8 ? r.message.train.lines() : 100;
  CHECK(lines == 8);
  CHECK(got(*b.dram).size() == 1);
}

TEST_CASE("DRAM: a train's lines are consecutive on the bus, in one row") {
  struct ChannelBench : Bench {
    explicit ChannelBench(std::vector<Record<MemRequest>> script)
        : channel(system.add<DramChannel>("dram", [] {
            DramChannelSpec spec;
            spec.memory = AddressMap(1, 256);
            return spec;
          }())) {
      feed(channel.request, std::move(script));
      responses = sinks(channel.response, 1);
      run();
    }
    DramChannel& channel;
    std::vector<Sink<MemResponse>*> responses;
  };
  ChannelBench together({{Time{10ns}, train_of(read(0x100, 3), 4, 1ns)}});
  std::vector<Record<MemRequest>> script;
  for (std::uint32_t i = 0; i < 4; ++i)
    script.push_back({Time{10ns + i * 1ns}, read(0x100 + 64 * std::uint64_t{i}, 3)});
  ChannelBench alone(script);
  // Row opened and column read, 28 ns; a line takes 2 ns of the bus.
  CHECK(times_of_lines(*together.responses[0]) == std::vector<std::int64_t>{41'000, 43'000, 45'000, 47'000});
  CHECK(times_of_lines(*alone.responses[0]) == times_of_lines(*together.responses[0]));
  CHECK(together.responses[0]->count() == 1);
  auto const& s = together.channel.state().stats;
  CHECK(s.reads == 4);
  CHECK(s.bytes == 256);
  CHECK(s.row_misses == 1);
  CHECK(s.row_hits == 3);
}

TEST_CASE("SM: a warp's consecutive lines are sent as trains of the maximum length within one block") {
  using namespace sm_bench;
  auto const request_lines = [](std::uint32_t train, std::uint32_t block, VirtAddr first) {
    auto spec = unit_rates();
    spec.local_train = train;
    spec.train_block = block;
    SmBench b(spec, same_for_all({load(first, 4, 64)}), {{Time{1us}, {0, 0, 0}}});
    CHECK(b.done->count() == 1);
    std::vector<std::uint32_t> lines;
    for (auto const& r : b.cache->records()) lines.push_back(r.message.train.lines());
    return lines;
  };
  using Lines = std::vector<std::uint32_t>;
  CHECK(request_lines(1, 64, 0x5000) == Lines{1, 1, 1, 1});
  CHECK(request_lines(4, 256, 0x5000) == Lines{4});
  CHECK(request_lines(2, 128, 0x5000) == Lines{2, 2});
  CHECK(request_lines(3, 256, 0x5000) == Lines{3, 1});
  CHECK(request_lines(4, 256, 0x5040) == Lines{3, 1});  // the fourth line is in the next block
}

}  // namespace train_test
