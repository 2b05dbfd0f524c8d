// SPDX-License-Identifier: Apache-2.0
// An L2 slice between a client and a mock memory; clock 1 GHz, look-up 14 cycles, links of 1 ns.
#include "farfault/memory/l2_slice.hpp"

#include <doctest/doctest.h>

#include <random>

#include "memory_mock.hpp"
#include "policies.hpp"

namespace l2_slice_test {

using namespace farfault;
using namespace farfault::mock;

namespace {

// One set of two ways by default.
L2SliceSpec small_slice() {
  L2SliceSpec spec;
  spec.params.slices = 1;
  spec.params.size = ByteSize{128};
  spec.params.ways = 2;
  spec.params.mshrs = 4;
  spec.params.waiters = 8;
  spec.memory = AddressMap(1, 256);
  spec.dram_credits = 4;
  spec.queue = 16;
  return spec;
}

struct SliceBench : Bench {
  explicit SliceBench(L2SliceSpec spec, std::vector<Record<MemRequest>> script,
                      std::function<Duration(std::uint64_t)> delay = always(50ns),
                      Below below = Below::memory)
      : slice(system.add<L2Slice>("slice", std::move(spec))) {
    feed(slice.request, std::move(script));
    responses = sinks(slice.response, 2);
    dram = &responder<MemRequest, MemResponse>(memory(std::move(delay), below), slice.filled);
    join_family(slice.dram, {dram->request});
    run();
  }
  L2Slice& slice;
  std::vector<Sink<MemResponse>*> responses;
  Memory* dram = nullptr;
};

using Times = std::vector<std::int64_t>;
using Tags = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("L2 slice: a miss takes look-up, memory and response; a hit takes the look-up") {
  SliceBench b(small_slice(), {{Time{10ns}, read(0x40, 1)}, {Time{100ns}, read(0x40, 2)}});
  CHECK(b.dram->nanoseconds() == Times{10 + 14 + 1});
  CHECK(b.dram->records()[0].message.address == 0x40);
  CHECK(b.dram->records()[0].message.bytes == 64);
  CHECK(b.responses[0]->nanoseconds() == Times{25 + 50 + 1 + 1, 100 + 14 + 1});
  CHECK(tags(*b.responses[0]) == Tags{1, 2});
  auto const& s = b.slice.state().stats;
  CHECK(s.reads == 2);
  CHECK(s.hits == 1);
  CHECK(s.misses == 1);
  CHECK(b.slice.waiting_for().empty());
}

TEST_CASE("L2 slice: a response has hit or miss at the look-up of its request") {
  // Also if a cache in front of memory has the line.
  for (auto const below : {Below::memory, Below::cache}) {
    SliceBench b(small_slice(),
                 {{Time{10ns}, read(0x80, 1)},
                  {Time{12ns}, read(0xa0, 2)},    // merged
                  {Time{100ns}, read(0x80, 3)},   // hit
                  {Time{200ns}, write(0x80, 4)},  // hit
                  {Time{300ns}, write(0x40, 5)},  // write-allocates without a read
                  {Time{400ns}, read(0x40, 6)}},  // hit
                 always(50ns), below);
    CHECK(tags(*b.responses[0]) == Tags{1, 2, 3, 4, 5, 6});
    CHECK(found_by(*b.responses[0]) == Found{FoundBy::memory, FoundBy::memory, FoundBy::cache, FoundBy::cache,
                                             FoundBy::memory, FoundBy::cache});
    CHECK(b.slice.state().stats.hits == 3);
  }
}

TEST_CASE("L2 slice: a page-table entry is read with its line") {
  SliceBench b(small_slice(),
               {{Time{10ns}, {.address = 0x1238, .tag = 3, .from = 1, .access = Access::read, .bytes = 8}}});
  CHECK(b.dram->records()[0].message.address == 0x1200);
  CHECK(b.dram->records()[0].message.bytes == 64);
  CHECK(b.responses[1]->nanoseconds() == Times{77});
  CHECK(b.responses[0]->count() == 0);
}

TEST_CASE("L2 slice: simultaneous hits are answered one per cycle") {
  SliceBench b(small_slice(), {{Time{10ns}, read(0x40, 1)},
                               {Time{100ns}, read(0x40, 2)},
                               {Time{100ns}, read(0x40, 3, 1)},
                               {Time{100ns}, read(0x40, 4)}});
  CHECK(b.responses[0]->nanoseconds() == Times{77, 115, 117});
  CHECK(b.responses[1]->nanoseconds() == Times{116});
}

TEST_CASE("L2 slice: with two ports, two look-ups begin and two responses are sent per cycle") {
  auto spec = small_slice();
  spec.params.ports = 2;
  std::vector<Record<MemRequest>> script{{Time{10ns}, read(0x40, 1)}};
  for (std::uint32_t tag = 2; tag < 7; ++tag) script.push_back({Time{100ns}, read(0x40, tag)});
  SliceBench b(spec, script);
  CHECK(b.responses[0]->nanoseconds() == Times{77, 115, 115, 116, 116, 117});
  CHECK(test::stat_of(b.slice, "l2_slice", "busy_time") == 6 * 1000 / 2);
}

TEST_CASE("L2 slice: misses on one line are merged and answered in order, one per cycle") {
  SliceBench b(small_slice(),
               {{Time{10ns}, read(0x40, 1)}, {Time{12ns}, read(0x60, 2, 1)}, {Time{30ns}, read(0x40, 3)}});
  CHECK(b.dram->records().size() == 1);
  CHECK(b.responses[0]->nanoseconds() == Times{77, 79});
  CHECK(b.responses[1]->nanoseconds() == Times{78});
  CHECK(b.slice.state().stats.misses == 3);
}

TEST_CASE("L2 slice: a write miss is answered without a fetch, and then read from the slice") {
  SliceBench b(small_slice(), {{Time{10ns}, write(0x40, 1)}, {Time{50ns}, read(0x40, 2)}});
  CHECK(b.dram->records().empty());
  CHECK(b.responses[0]->nanoseconds() == Times{25, 65});
  CHECK(b.responses[0]->records()[0].message.access == Access::write);
}

TEST_CASE("L2 slice: an evicted dirty line is written to memory, a clean one is not") {
  SliceBench b(small_slice(), {{Time{10ns}, write(0x000, 1)},
                               {Time{20ns}, read(0x040, 2)},      // filled at 86
                               {Time{200ns}, write(0x080, 3)},    // evicts line 0
                               {Time{300ns}, write(0x0C0, 4)}});  // evicts line 1, which is clean
  REQUIRE(b.dram->records().size() == 2);
  CHECK(b.dram->records()[1].message.access == Access::write);
  CHECK(b.dram->records()[1].message.address == 0x000);
  CHECK(b.dram->records()[1].message.bytes == 64);
  CHECK(b.dram->nanoseconds() == Times{35, 201});
  CHECK(b.slice.state().stats.writebacks == 1);
}

TEST_CASE("L2 slice: a dirty line is written back to its original address, in every slice") {
  auto spec = small_slice();
  spec.params.slices = 4;
  spec.params.size = ByteSize{4 * 128};
  spec.memory = AddressMap(4, 256);
  spec.index = 3;
  spec.device = 2;
  auto const address = [](std::uint64_t n) { return physical(2, (n * 4 + 3) * 256 + 64); };
  SliceBench b(spec, {{Time{10ns}, write(address(0))},
                      {Time{20ns}, write(address(1))},
                      {Time{30ns}, write(address(2))},
                      {Time{40ns}, write(address(3))}});
  REQUIRE(b.dram->records().size() == 2);
  CHECK(b.dram->records()[0].message.address == address(0));
  CHECK(b.dram->records()[1].message.address == address(1));
}

TEST_CASE("L2 slice: without a free MSHR, requests stall in order and resume when a line arrives") {
  auto spec = small_slice();
  spec.params.mshrs = 1;
  SliceBench b(spec, {{Time{10ns}, read(0x000, 1)},
                      {Time{11ns}, read(0x040, 2)},
                      {Time{12ns}, read(0x000, 3)}});  // could be merged, but does not overtake
  // The line arrives at 76. Request 2 is looked up then and reads at 90; request 3 follows a cycle later.
  CHECK(b.dram->nanoseconds() == Times{25, 91});
  CHECK(tags(*b.responses[0]) == Tags{1, 3, 2});
  CHECK(b.responses[0]->nanoseconds() == Times{77, 77 + 14 + 1, 91 + 50 + 2});
  CHECK(b.slice.state().stats.mshr_stalls == 2);
}

TEST_CASE("L2 slice: page-walk reads in a place of their own overtake stalled requests") {
  auto const walk = [](PhysAddr address, std::uint32_t tag) {
    auto m = read(address, tag, 1);
    m.requester.kind = walk_read(1);
    return m;
  };
  auto const leave = [&](std::uint32_t places) {
    auto spec = small_slice();
    spec.params.mshrs = 1;
    spec.params.walk_queue = places;
    SliceBench b(spec, {{Time{10ns}, read(0x40, 1)},
                        {Time{11ns}, read(0x80, 2)},
                        {Time{12ns}, read(0xc0, 3)},
                        {Time{13ns}, walk(0x100, 4)},
                        {Time{14ns}, walk(0x148, 5)}});
    CHECK(b.slice.waiting_for().empty());
    std::vector<PhysAddr> lines;
    for (auto const& r : b.dram->records()) lines.push_back(r.message.address);
    CHECK(b.dram->nanoseconds() == Times{25, 91, 157, 223, 289});
    return lines;
  };
  CHECK(leave(0) == std::vector<PhysAddr>{0x40, 0x80, 0xc0, 0x100, 0x140});
  CHECK(leave(1) == std::vector<PhysAddr>{0x40, 0x100, 0x80, 0xc0, 0x140});  // the second has no place
  CHECK(leave(2) == std::vector<PhysAddr>{0x40, 0x100, 0x140, 0x80, 0xc0});
}

TEST_CASE("L2 slice: a page-walk read that hits does not wait for stalled requests") {
  auto const hit_after = [](std::uint32_t places) {
    auto spec = small_slice();
    spec.params.mshrs = 1;
    spec.params.walk_queue = places;
    auto walk = read(0x48, 9, 1);
    walk.requester.kind = walk_read(1);
    SliceBench b(spec, {{Time{10ns}, read(0x40, 1)},
                        {Time{200ns}, read(0x80, 2)},
                        {Time{201ns}, read(0xc0, 3)},
                        {Time{210ns}, walk}});
    return b.responses[1]->nanoseconds();
  };
  CHECK(hit_after(1) == Times{210 + 14 + 1});
  // The line of 0x80 arrives at 266. The read of 0xc0 takes the first cycle.
  CHECK(hit_after(0) == Times{267 + 14 + 1});
}

TEST_CASE("L2 slice: a merged read stalls if its MSHR has no room") {
  auto spec = small_slice();
  spec.params.waiters = 1;
  SliceBench b(spec, {{Time{10ns}, read(0x000, 1)}, {Time{11ns}, read(0x000, 2)}});
  CHECK(b.dram->records().size() == 1);
  CHECK(b.slice.state().stats.mshr_stalls == 1);
  CHECK(b.responses[0]->nanoseconds() == Times{77, 76 + 14 + 1});
}

TEST_CASE("L2 slice: a line waits for a credit of its DRAM channel before it is written back") {
  auto spec = small_slice();
  spec.dram_credits = 1;
  SliceBench b(spec, {{Time{10ns}, read(0x000, 1)},  // takes the credit until 76
                      {Time{11ns}, write(0x040, 2)},
                      {Time{12ns}, write(0x080, 3)},
                      {Time{13ns}, write(0x0C0, 4)}});  // evicts line 1
  REQUIRE(b.dram->records().size() >= 2);
  CHECK(b.dram->nanoseconds()[1] == 77);
  CHECK(b.dram->records()[1].message.access == Access::write);
  CHECK(b.dram->records()[1].message.address == 0x040);
  // Line 0 arrived at 76 and evicted line 2, which is written when the first write is complete.
  REQUIRE(b.dram->records().size() == 3);
  CHECK(b.dram->records()[2].message.address == 0x080);
  CHECK(b.dram->nanoseconds()[2] == 77 + 50 + 1 + 1);
  CHECK(b.slice.waiting_for().empty());
}

TEST_CASE("L2 slice: each of its channels has separate credits and gets channel-local addresses") {
  auto spec = small_slice();
  spec.params.slices = 2;
  spec.params.size = ByteSize{256};
  spec.memory = AddressMap(2, 256);  // the second of two slices,
  spec.index = 1;
  spec.channels = AddressMap(4, 256);  // with the channels 1 and 3 of four
  spec.banks = 2;
  spec.dram_channels = 2;
  spec.dram_credits = 1;
  Bench b;
  auto& slice = b.system.add<L2Slice>("slice", spec);
  // Channel 1, channel 1 again, and channel 3, which waits behind them.
  b.feed<MemRequest>(slice.request, {{Time{10ns}, read(0x100, 1)},
                                     {Time{11ns}, read(0x500, 2)},
                                     {Time{12ns}, read(0x300, 3)},
                                     {Time{13ns}, write(0x700, 4)}});
  b.sinks(slice.response, 2);
  auto& first = b.system.add<Memory>("first", memory(always(50ns)));
  auto& second = b.system.add<Memory>("second", memory(always(50ns)));
  b.join_family(first.response, {slice.filled});
  b.join_family(second.response, {slice.filled});
  b.join_family(slice.dram, {first.request, second.request});
  b.run();
  REQUIRE(first.records().size() == 2);
  CHECK(first.records()[0].message.address == 0x100);
  CHECK(first.records()[1].message.address == 0x500);
  CHECK(first.nanoseconds() == std::vector<std::int64_t>{25, 91});
  REQUIRE(second.records().size() == 2);
  CHECK(second.records()[0].message.address == 0x300);
  CHECK(second.records()[1].message.address == 0x700);  // written back when 0x300 takes its place
  CHECK(second.nanoseconds() == std::vector<std::int64_t>{92, 144});
  CHECK(slice.state().dram_credits == std::vector<std::uint32_t>{1, 1});
}

TEST_CASE("L2 slice: a line can take several cycles of the look-up and of the response") {
  auto spec = small_slice();
  spec.cycles_per_line = 3;
  SliceBench b(spec, {{Time{10ns}, write(0, 0)},
                      {Time{100ns}, read(0, 1)},
                      {Time{100ns}, read(0, 2)},
                      {Time{101ns}, read(0, 3)}});
  CHECK(b.responses[0]->nanoseconds() == Times{25, 115, 118, 121});
}

TEST_CASE("L2 slice: hits are answered at exactly one per cycle") {
  std::vector<Record<MemRequest>> script{{Time{10ns}, write(0, 0)}};
  for (std::uint32_t i = 0; i < 1000; ++i) script.push_back({Time{100ns + i * Duration{250}}, read(0, i)});
  auto spec = small_slice();
  spec.queue = 2000;
  SliceBench b(spec, script);
  auto const times = b.responses[0]->nanoseconds();
  REQUIRE(times.size() == 1001);
  for (std::size_t i = 1; i < times.size(); ++i) CHECK(times[i] == 115 + static_cast<std::int64_t>(i) - 1);
}

TEST_CASE("L2 slice: under random load with short queues, every request is answered exactly once") {
  auto spec = small_slice();
  spec.params.size = ByteSize{1024};
  spec.params.mshrs = 3;
  spec.params.waiters = 5;
  spec.dram_credits = 2;
  spec.queue = 32;
  Bench b;
  auto& slice = b.system.add<L2Slice>("slice", spec);
  auto& client = b.system.add<Client<MemRequest, MemResponse>>(
      "client", {20'000, 32, [](std::uint64_t n) {
                   auto const line = n * 0x9E3779B97F4A7C15ULL >> 50 & 63;
                   auto const tag = static_cast<std::uint32_t>(n);
                   return n * 2654435761U >> 7 & 1 ? read(line * 64, tag) : write(line * 64, tag);
                 }});
  b.join(client.request, slice.request);
  b.join_family(slice.response, {client.response});
  auto& dram = b.responder<MemRequest, MemResponse>(memory(scattered(200ns, 1)), slice.filled);
  b.join_family(slice.dram, {dram.request});
  b.begin(client);
  CHECK(b.run() == RunState::drained);
  CHECK(client.each_answered_once());
  CHECK(slice.waiting_for().empty());
  auto const& s = slice.state();
  CHECK(s.dram_credits == std::vector<std::uint32_t>{2});
  CHECK(s.stats.hits + s.stats.misses == 20'000);
  CHECK(s.stats.mshr_stalls > 100);
  CHECK(s.stats.writebacks > 100);
}

TEST_CASE("L2 slice: a miss has its first requester at memory, a written-back line has none") {
  Requester const first{3, 2, walk_read(1)};
  Requester const second{4, 1, RequestKind::copy};
  auto walk = read(0x40, 1);
  auto copy = read(0x60, 2, 1);
  walk.requester = first;
  copy.requester = second;
  auto other = write(0x80, 3);
  other.requester = second;
  auto spec = small_slice();
  spec.applications = {"a", "b", "c"};
  SliceBench b(spec, {{Time{10ns}, walk},
                      {Time{12ns}, copy},  // waits for the same line
                      {Time{100ns}, other},
                      {Time{200ns}, read(0xC0, 4)},
                      {Time{300ns}, read(0x100, 5)}});  // evicts the dirty line
  REQUIRE(b.dram->records().size() == 4);
  CHECK(b.dram->records()[0].message.requester == first);
  CHECK(b.dram->records()[1].message.requester == Requester{});
  CHECK(b.dram->records()[2].message.requester == Requester{});
  CHECK(b.dram->records()[3].message.access == Access::write);
  CHECK(b.dram->records()[3].message.requester == kWriteBack);
}

TEST_CASE(
    "L2 slice: requests and hits of page walks, warps and copy engines are counted separately by "
    "application") {
  std::vector<Record<MemRequest>> script;
  for (std::uint32_t i = 0; i < 7; ++i) {
    auto m = i == 6 ? write(0x40, i) : read(0x40, i);
    m.requester.kind = i < 3 ? walk_read(i) : i < 5 ? RequestKind::data : RequestKind::copy;
    m.requester.application = i == 2 || i == 4 ? 1 : 0;
    script.push_back({Time{(10 + 100 * i) * 1ns}, m});
  }
  auto spec = small_slice();
  spec.applications = {"a", "b"};
  SliceBench b(spec, script);
  auto const& s = b.slice.state().stats;
  CHECK(s.reads == 6);
  CHECK(s.hits == 6);
  auto const& of = b.slice.state().by_requester;
  CHECK(of[0].walk_reads == 2);
  CHECK(of[0].walk_hits == 1);
  CHECK(of[0].data_requests == 1);
  CHECK(of[0].data_hits == 1);
  CHECK(of[1].walk_reads == 1);
  CHECK(of[1].walk_hits == 1);
  CHECK(of[1].data_requests == 1);
  CHECK(s.copy_requests == 2);
  CHECK(s.copy_hits == 2);
}

}  // namespace l2_slice_test
