// SPDX-License-Identifier: Apache-2.0
// L2 slices of two partitions, 100 ns apart, each with a mock memory, and the end of a kernel. Clock 1 GHz,
// look-up 14 cycles, other links of 1 ns.
#include <doctest/doctest.h>

#include "farfault/memory/l2_slice.hpp"
#include "memory_mock.hpp"

namespace l2_partitions_test {

using namespace farfault;
using namespace farfault::mock;

namespace {

using Times = std::vector<std::int64_t>;
using Script = std::vector<Record<MemRequest>>;

constexpr PhysAddr kNear = 0x000;  // home in partition 0
constexpr PhysAddr kFar = 0x100;   // home in partition 1

// One slice of `lines` lines in each of two partitions.
L2SliceSpec half(std::uint32_t index, MissPath path, std::uint32_t lines = 4) {
  L2SliceSpec spec;
  spec.params.slices = 2;
  spec.params.partitions = 2;
  spec.params.miss_path = path;
  spec.params.size = ByteSize{std::uint64_t{2} * 64 * lines};
  spec.params.ways = 2;
  spec.params.mshrs = 4;
  spec.params.waiters = 8;
  spec.index = index;
  spec.memory = AddressMap(2, 256);
  spec.in_partition = 1;
  spec.dram_credits = 4;
  spec.queue = 64;
  return spec;
}

struct Halves : Bench {
  explicit Halves(L2SliceSpec const& first, L2SliceSpec const& second)
      : a(system.add<L2Slice>("a", first)), b(system.add<L2Slice>("b", second)) {
    for (auto* slice : {&a, &b}) {
      join_family(slice->home_request, {a.far_request, b.far_request}, 100ns);
      join_family(slice->far_response, {a.home_response, b.home_response}, 100ns);
    }
    memory_a = &responder<MemRequest, MemResponse>(memory(always(50ns)), a.filled);
    memory_b = &responder<MemRequest, MemResponse>(memory(always(50ns)), b.filled);
    join_family(a.dram, {memory_a->request});
    join_family(b.dram, {memory_b->request});
  }
  Halves(Script to_a, Script to_b) : Halves(half(0, MissPath::home_slice), half(1, MissPath::home_slice)) {
    feed(a.request, std::move(to_a));
    feed(b.request, std::move(to_b));
    answers_a = sinks(a.response, 1)[0];
    answers_b = sinks(b.response, 1)[0];
    run();
  }
  L2Slice& a;
  L2Slice& b;
  Memory* memory_a = nullptr;
  Memory* memory_b = nullptr;
  Sink<MemResponse>* answers_a = nullptr;
  Sink<MemResponse>* answers_b = nullptr;
};

}  // namespace

TEST_CASE(
    "L2 partitions: a miss on another partition's line is served by its home slice, and hits afterwards") {
  Halves h({{Time{10ns}, read(kFar, 1)}, {Time{500ns}, read(kFar, 2)}}, {{Time{600ns}, read(kFar, 3)}});
  // Look-up and the link to the other partition; a miss at the home slice; and the link back.
  CHECK(h.answers_a->nanoseconds() == Times{10 + 14 + 100 + (14 + 1 + 50 + 1) + 100 + 1, 500 + 14 + 1});
  CHECK(h.memory_b->nanoseconds() == Times{10 + 14 + 100 + 14 + 1});
  CHECK(h.memory_a->records().empty());
  CHECK(h.answers_b->nanoseconds() == Times{600 + 14 + 1});  // the home slice has it too
  CHECK(h.a.state().stats.far_misses == 1);
  CHECK(h.a.state().stats.hits == 1);
  CHECK(h.b.state().stats.far_requests == 1);
  CHECK(h.b.state().stats.reads == 1);
}

TEST_CASE("L2 partitions: a write to another partition's line completes when its home slice has it") {
  Halves h({{Time{10ns}, write(kFar, 1)}, {Time{500ns}, write(kNear, 2)}}, {{Time{600ns}, read(kFar, 3)}});
  CHECK(h.answers_a->nanoseconds() == Times{10 + 14 + 100 + 14 + 100 + 1, 500 + 14 + 1});
  CHECK(h.answers_b->nanoseconds() == Times{600 + 14 + 1});
  CHECK(h.b.state().stats.hits == 1);
  CHECK(h.memory_a->records().empty());
  CHECK(h.memory_b->records().empty());
}

TEST_CASE(
    "L2 partitions: hit or miss in the home slice is forwarded, and a hit in a slice's own copy is a hit") {
  auto const other = kFar + 512;  // next line of the same home slice
  Halves h({{Time{10ns}, read(kFar, 1)},
            {Time{11ns}, read(kFar + 32, 2)},     // merged
            {Time{500ns}, read(kFar, 3)},         // hit in its own copy
            {Time{2us}, read(other, 4)},          // hit in the home slice
            {Time{3us}, write(other, 5)},         // hit in the home slice
            {Time{4us}, write(kFar + 1024, 6)}},  // miss everywhere
           {{Time{1us}, read(other, 7)}});
  CHECK(tags(*h.answers_a) == std::vector<std::uint32_t>{1, 2, 3, 4, 5, 6});
  CHECK(found_by(*h.answers_a) == Found{FoundBy::memory, FoundBy::memory, FoundBy::cache, FoundBy::cache,
                                        FoundBy::cache, FoundBy::memory});
}

TEST_CASE("L2 partitions: a copy is clean, so that its eviction has no cost") {
  // All of them map to one set of two ways.
  Script script{{Time{10ns}, read(kFar, 0)}, {Time{500ns}, write(kFar, 1)}};
  for (std::uint32_t i = 1; i < 4; ++i) script.push_back({Time{1us + i * 1us}, read(kFar + i * 512, i + 1)});
  Halves h(script, {});
  CHECK(h.answers_a->count() == 5);
  CHECK(h.memory_a->records().empty());
  CHECK(h.a.state().stats.writebacks == 0);
}

TEST_CASE("L2 partitions: a line read by several requesters is requested once") {
  Halves h({{Time{10ns}, read(kFar, 1)}, {Time{11ns}, read(kFar + 32, 2)}}, {});
  CHECK(h.b.state().stats.far_requests == 1);
  CHECK(h.answers_a->count() == 2);
}

TEST_CASE(
    "L2 partitions: with misses sent to memory, the path to another partition's memory is longer both ways") {
  auto const spec = half(0, MissPath::memory);
  Bench b;
  auto& slice = b.system.add<L2Slice>("slice", spec);
  b.feed<MemRequest>(slice.request, {{Time{10ns}, read(kNear, 1)}, {Time{1us}, read(kFar, 2)}});
  auto& responses = *b.sinks(slice.response, 1)[0];
  auto& dram = b.responder<MemRequest, MemResponse>(memory(always(50ns)), slice.filled);
  b.join_family(slice.dram, {dram.request});
  b.run();
  CHECK(responses.nanoseconds() == Times{10 + 14 + 1 + 50 + 1 + 1, 1000 + 14 + 2 * 100 + 1 + 50 + 1 + 1});
  CHECK(dram.records()[1].message.address == kFar);
  CHECK(slice.state().stats.far_misses == 1);
}

TEST_CASE("L2 partitions: with direct access, responses to other partitions take longer") {
  auto spec = half(0, MissPath::direct);
  spec.in_partition = 0;
  spec.to_client = {Duration::zero(), 100ns};
  Bench b;
  auto& slice = b.system.add<L2Slice>("slice", spec);
  auto other = read(kNear, 2);
  other.from = 1;
  b.feed<MemRequest>(slice.request,
                     {{Time{10ns}, read(kNear, 1)}, {Time{1us}, read(kNear, 3)}, {Time{1us}, other}});
  auto const clients = b.sinks(slice.response, 2);
  auto& dram = b.responder<MemRequest, MemResponse>(memory(always(50ns)), slice.filled);
  b.join_family(slice.dram, {dram.request});
  b.run();
  CHECK(clients[0]->nanoseconds() == Times{10 + 14 + 1 + 50 + 1 + 1, 1000 + 14 + 1});
  CHECK(clients[1]->nanoseconds() == Times{1000 + 1 + 14 + 100 + 1});
  CHECK(dram.records().size() == 1);
}

TEST_CASE(
    "L2 partitions: under random load in both directions with short queues, every request is answered once") {
  for (std::uint32_t const mshrs : {1U, 3U}) {
    auto spec = half(0, MissPath::home_slice);
    spec.params.mshrs = mshrs;
    spec.params.waiters = 2;
    spec.dram_credits = 1;
    auto other = spec;
    other.index = 1;
    Halves h(spec, other);
    std::vector<Client<MemRequest, MemResponse>*> clients;
    for (auto* slice : {&h.a, &h.b}) {
      auto& client = h.system.add<Client<MemRequest, MemResponse>>(
          h.name("client"), {10'000, 32, [](std::uint64_t n) {
                               auto const line = n * 0x9E3779B97F4A7C15ULL >> 50 & 63;
                               auto const tag = static_cast<std::uint32_t>(n);
                               return (n * 2654435761U >> 7 & 1) != 0 ? read(line * 64, tag)
                                                                      : write(line * 64, tag);
                             }});
      h.join(client.request, slice->request);
      h.join_family(slice->response, {client.response});
      h.begin(client);
      clients.push_back(&client);
    }
    CHECK(h.run() == RunState::drained);
    for (auto* client : clients) CHECK(client->each_answered_once());
    for (auto* slice : {&h.a, &h.b}) {
      CHECK(slice->waiting_for().empty());
      CHECK(slice->state().far.credits == std::vector<std::uint32_t>{mshrs, mshrs});
      CHECK(slice->state().far.free_writes.size() == mshrs);
      CHECK(slice->state().stats.far_requests > 1000);
    }
  }
}

namespace {

struct Flushes : Bench {
  Flushes(L2SliceSpec spec, Script script, std::vector<Record<Flush>> flushes)
      : slice(system.add<L2Slice>("slice", std::move(spec))) {
    feed(slice.request, std::move(script));
    feed(slice.flush, std::move(flushes));
    responses = sinks(slice.response, 1)[0];
    dram = &responder<MemRequest, MemResponse>(memory(always(50ns)), slice.filled);
    join_family(slice.dram, {dram->request});
    requesters = sinks(slice.flushed, 2);
    reports = requesters[0];
    run();
  }
  L2Slice& slice;
  Sink<MemResponse>* responses = nullptr;
  Memory* dram = nullptr;
  std::vector<Sink<Flushed>*> requesters;
  Sink<Flushed>* reports = nullptr;  // of the first one
};

Flush all(std::uint32_t kernel) {
  return {kNoFrame, kernel, 0};
}

L2SliceSpec ending() {
  auto spec = half(0, MissPath::home_slice);
  spec.params.partitions = 1;
  spec.params.slices = 1;
  spec.in_partition = 0;
  spec.memory = AddressMap(1, 256);
  spec.flushes = 4;
  return spec;
}

}  // namespace

TEST_CASE("L2 slice: at the end of a kernel dirty lines are written, one per cycle, and kept as clean") {
  Flushes b(ending(),
            {{Time{10ns}, write(0x00, 0)},
             {Time{20ns}, read(0x40, 1)},
             {Time{200ns}, write(0x80, 2)},
             {Time{600ns}, read(0x80, 3)}},
            {{Time{500ns}, all(7)}, {Time{700ns}, all(8)}});
  REQUIRE(b.dram->records().size() == 3);
  CHECK(b.dram->nanoseconds() == Times{35, 501, 502});
  CHECK(b.dram->records()[1].message.access == Access::write);
  CHECK(b.reports->nanoseconds() == Times{502 + 50 + 1 + 1, 701});
  CHECK(b.reports->records()[0].message.number == 7);
  CHECK(b.reports->records()[1].message.number == 8);
  CHECK(b.responses->nanoseconds().back() == 600 + 14 + 1);
  CHECK(b.slice.state().stats.kernel_end_writebacks == 2);
  CHECK(b.slice.state().stats.writebacks == 0);
  CHECK(b.slice.waiting_for().empty());
}

TEST_CASE("L2 slice: the write-back at the end of a kernel waits for credits") {
  auto spec = ending();
  spec.dram_credits = 1;
  Flushes b(spec, {{Time{10ns}, write(0x00, 0)}, {Time{11ns}, write(0x40, 1)}}, {{Time{500ns}, all(0)}});
  CHECK(b.dram->nanoseconds() == Times{501, 501 + 50 + 1 + 1});
  CHECK(b.reports->nanoseconds() == Times{553 + 50 + 1 + 1});
}

TEST_CASE("L2 slice: partitions' copies of remote lines are dropped at the end of a kernel") {
  auto spec = half(0, MissPath::memory);
  spec.flushes = 4;
  Flushes b(spec,
            {{Time{10ns}, write(kNear, 0)},
             {Time{20ns}, write(kFar, 1)},
             {Time{1000ns}, read(kNear, 2)},
             {Time{2000ns}, read(kFar, 3)}},
            {{Time{500ns}, all(0)}});
  // Both are written back, the second one to the other partition, and read again.
  CHECK(b.dram->nanoseconds() == Times{501, 702, 1015, 2000 + 14 + 200 + 1});
  CHECK(b.reports->nanoseconds() == Times{702 + 50 + 1 + 1});
  CHECK(b.slice.state().stats.kernel_end_writebacks == 2);
}

TEST_CASE(
    "L2 slice: for an evicted page, dirty lines are written back and all of its lines are dropped, no "
    "others") {
  // The page at 0x1000. The line at 0x180 is dirty too, but of another page.
  auto spec = half(0, MissPath::memory, 16);
  spec.flushes = 4;
  Flushes b(spec,
            {{Time{10ns}, write(0x1000, 0)},
             {Time{20ns}, write(0x1100, 1)},  // in the other partition's memory
             {Time{30ns}, read(0x1040, 2)},
             {Time{40ns}, write(0x0180, 3)},
             {Time{2000ns}, read(0x0180, 4)},
             {Time{2100ns}, read(0x1000, 5)},
             {Time{2400ns}, read(0x1040, 6)},
             {Time{2700ns}, read(0x1100, 7)}},
            {{Time{1000ns}, {0x1000, 9, 1}}});
  CHECK(b.reports->count() == 0);
  REQUIRE(b.requesters[1]->count() == 1);
  CHECK(b.requesters[1]->records()[0].message.number == 9);
  CHECK(b.requesters[1]->nanoseconds() == Times{1001 + 201 + 50 + 1 + 1});
  // The line filled at 30, the two dirty lines, and three of the four lines that are read afterwards.
  CHECK(b.dram->nanoseconds() == Times{30 + 15, 1001, 1001 + 201, 2115, 2415, 2700 + 215});
  CHECK(b.slice.state().stats.page_writebacks == 2);
  CHECK(b.slice.state().stats.kernel_end_writebacks == 0);
}

TEST_CASE("L2 slice: for an evicted large page, the lines of all its base pages are dropped") {
  // Two base pages at 0x2000; the line at 0x40c0 belongs to the next page.
  auto spec = half(0, MissPath::memory, 16);
  spec.flushes = 4;
  Flushes b(spec,
            {{Time{10ns}, write(0x2000, 0)},
             {Time{20ns}, write(0x3040, 1)},
             {Time{30ns}, read(0x3080, 2)},
             {Time{40ns}, write(0x40c0, 3)},
             {Time{2000ns}, read(0x3080, 4)},
             {Time{2300ns}, read(0x40c0, 5)}},
            {{Time{1000ns}, {0x2000, 9, 1, 1}}});
  REQUIRE(b.requesters[1]->count() == 1);
  CHECK(b.slice.state().stats.page_writebacks == 2);
  REQUIRE(b.dram->records().size() == 4);
  CHECK(b.dram->records()[1].message.address == 0x2000);
  CHECK(b.dram->records()[2].message.address == 0x3040);
  CHECK(b.dram->records()[3].message.address == 0x3080);
  CHECK(b.dram->nanoseconds() == Times{45, 1001, 1002, 2015});
}

TEST_CASE("L2 slice: concurrent flushes are served one after the other") {
  auto spec = half(0, MissPath::memory, 16);
  spec.flushes = 3;
  Flushes b(spec,
            {{Time{10ns}, write(0x1000, 0)}, {Time{20ns}, write(0x2080, 1)}, {Time{30ns}, write(0x30C0, 2)}},
            {{Time{1000ns}, {0x2000, 4, 1}}, {Time{1001ns}, {0x1000, 5, 1}}, {Time{1002ns}, all(6)}});
  CHECK(b.requesters[1]->nanoseconds() == Times{1001 + 52, 1053 + 52});
  CHECK(b.requesters[1]->records()[1].message.number == 5);
  CHECK(b.reports->nanoseconds() == Times{1105 + 52});
  CHECK(b.slice.state().stats.page_writebacks == 2);
  CHECK(b.slice.state().stats.kernel_end_writebacks == 1);
  CHECK(b.slice.waiting_for().empty());
}

TEST_CASE("L2 partitions: a request keeps its requester at the home slice and its memory") {
  Requester const requester{5, 1, RequestKind::copy};
  auto fetch = read(kFar, 1);
  auto store = write(kFar + 512, 2);
  fetch.requester = requester;
  store.requester = requester;
  Halves h({{Time{10ns}, fetch}, {Time{20ns}, store}}, {});
  REQUIRE(h.memory_b->records().size() == 1);
  CHECK(h.memory_b->records()[0].message.requester == requester);
  CHECK(h.b.state().stats.copy_requests == 0);  // counted at the client's slice
  CHECK(h.a.state().stats.copy_requests == 2);
}

TEST_CASE("L2 partitions: a read or write sent to a home slice has the first requester") {
  Requester const requester{5, 1, RequestKind::copy};
  auto fetch = read(kFar, 1);
  auto store = write(kFar + 512, 2);
  fetch.requester = requester;
  store.requester = requester;
  Bench b;
  auto& slice = b.system.add<L2Slice>("slice", half(0, MissPath::home_slice));
  b.feed<MemRequest>(slice.request, {{Time{10ns}, fetch}, {Time{20ns}, store}});
  b.feed(slice.far_request, {});
  b.sinks(slice.response, 1);
  b.sinks(slice.far_response, 2);
  auto& dram = b.responder<MemRequest, MemResponse>(memory(always(50ns)), slice.filled);
  b.join_family(slice.dram, {dram.request});
  auto& home = b.responder<MemRequest, MemResponse>(memory(always(50ns)), slice.home_response);
  b.join_family(slice.home_request, {home.request, home.request});
  b.run();
  REQUIRE(home.records().size() == 2);
  CHECK(home.records()[0].message.requester == requester);
  CHECK(home.records()[1].message.requester == requester);
}

}  // namespace l2_partitions_test
