// SPDX-License-Identifier: Apache-2.0
// Page-walk reads that bypass an L2 slice: a slice between a client and a mock memory; clock 1 GHz, look-up
// 14 cycles, links of 1 ns, memory 50 ns.
#include "farfault/memory/walk_reads.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "choices.hpp"
#include "farfault/memory/l2_slice.hpp"
#include "memory_mock.hpp"
#include "policies.hpp"

namespace walk_reads_test {

using namespace farfault;
using namespace farfault::mock;

namespace {

using Times = std::vector<std::int64_t>;
using Tags = std::vector<std::uint32_t>;

MemRequest walk(PhysAddr address, std::uint32_t tag, unsigned below_root = 3) {
  return {.address = address,
          .tag = tag,
          .from = 1,
          .access = Access::read,
          .bytes = 8,
          .requester = {0, 0, walk_read(below_root)}};
}

L2SliceSpec slice_of(PolicyChoice<WalkReads> const& walk_reads) {
  L2SliceSpec spec;
  spec.params.slices = 1;
  spec.params.size = ByteSize{8 * 64};
  spec.params.ways = 8;
  spec.params.mshrs = 2;
  spec.params.waiters = 8;
  spec.params.walk_reads = walk_reads;
  spec.memory = AddressMap(1, 256);
  spec.dram_credits = 4;
  spec.queue = 64;
  return spec;
}

struct SliceBench : Bench {
  SliceBench(L2SliceSpec spec, std::vector<Record<MemRequest>> script)
      : slice(system.add<L2Slice>("slice", std::move(spec))) {
    feed(slice.request, std::move(script));
    auto const ports = sinks(slice.response, 2);
    data = ports[0];
    walks = ports[1];
    dram = &responder<MemRequest, MemResponse>(memory(always(50ns)), slice.filled);
    join_family(slice.dram, {dram->request});
    run();
  }
  L2Slice& slice;
  Sink<MemResponse>* data = nullptr;
  Sink<MemResponse>* walks = nullptr;
  Memory* dram = nullptr;
};

PolicyChoice<WalkReads> from_depth(std::string const& depth) {
  return test::chosen<WalkReads>("bypass_from_depth", {{"depth", depth}});
}

}  // namespace

TEST_CASE("walk reads: the depth is three bits: 0 for warps, 1 at the root, 7 for all below the sixth") {
  CHECK(WalkReads::depth_of(RequestKind::data) == 0);
  CHECK(WalkReads::depth_of(RequestKind::write_back) == 0);
  CHECK(WalkReads::depth_of(walk_read(0)) == 1);
  CHECK(WalkReads::depth_of(walk_read(3)) == 4);
  CHECK(WalkReads::depth_of(walk_read(6)) == 7);
  CHECK(WalkReads::depth_of(walk_read(7)) == 7);
  CHECK(WalkReads::depth_of(walk_read(200)) == 7);
}

TEST_CASE("walk reads: a bypassing read takes no look-up and fills no line; others do") {
  SliceBench b(slice_of(from_depth("4")), {{Time{10ns}, walk(0x48, 1)},
                                           {Time{100ns}, walk(0x48, 2)},     // read from memory again
                                           {Time{200ns}, walk(0x88, 3, 2)},  // looked up
                                           {Time{300ns}, walk(0x88, 4, 2)},  // hits
                                           {Time{400ns}, walk(0x88, 5)}});   // bypasses a present line
  CHECK(b.dram->nanoseconds() == Times{11, 101, 215, 401});
  CHECK(b.walks->nanoseconds() == Times{62 + 1, 152 + 1, 266 + 1, 315, 452 + 1});
  CHECK(b.dram->records()[0].message.address == 0x40);
  CHECK(b.dram->records()[0].message.bytes == 64);
  CHECK(b.slice.state().stats.reads == 5);
  CHECK(b.slice.state().stats.hits == 1);
  CHECK(b.slice.state().stats.misses == 1);
  CHECK(b.slice.state().by_requester[0].walk_reads == 5);
  CHECK(test::stat_of(b.slice, "gpu.l2_cache.walk_reads", "bypassed_reads") == 3);
}

TEST_CASE("walk reads: a bypassing read does not wait for a cycle of the slice, nor delay other requests") {
  SliceBench b(slice_of(from_depth("4")),
               {{Time{10ns}, read(0x100, 1)}, {Time{10ns}, walk(0x48, 2)}, {Time{11ns}, read(0x100, 3)}});
  CHECK(b.dram->nanoseconds() == Times{11, 25});
  SliceBench first(slice_of(from_depth("4")), {{Time{10ns}, walk(0x48, 1)}, {Time{10ns}, read(0x100, 2)}});
  CHECK(first.dram->nanoseconds() == Times{11, 25});
}

TEST_CASE("walk reads: without a free MSHR, a bypassing read waits in order") {
  auto spec = slice_of(from_depth("4"));
  SliceBench b(spec, {{Time{10ns}, read(0x100, 1)},
                      {Time{11ns}, read(0x140, 2)},
                      {Time{12ns}, read(0x180, 3)},   // waits for an MSHR
                      {Time{13ns}, walk(0x48, 4)}});  // behind it
  // 1 returns at 76, when 3 is looked up; 2 returns at 77, when 4 is sent immediately.
  CHECK(b.dram->nanoseconds() == Times{25, 26, 77 + 1, 76 + 14 + 1});
  CHECK(b.slice.state().stats.mshr_stalls == 2);
  CHECK(b.slice.waiting_for().empty());
}

TEST_CASE("walk reads: if enabled, bypassing reads overtake stalled requests and have reserved MSHRs") {
  auto const leave = [](std::string const& overtakes, std::string const& own_mshrs) {
    auto store = [](std::uint32_t tag) {
      auto m = write(0x100, tag, 1);
      m.requester.kind = RequestKind::data;
      return m;
    };
    // Stores have a higher hit rate than page-walk reads, which therefore bypass from 1,000 ns on.
    SliceBench b(
        slice_of(test::chosen<WalkReads>(
            "translation_aware_bypass",
            {{"epoch", "1000"}, {"sampled", "1048576"}, {"overtakes", overtakes}, {"own_mshrs", own_mshrs}})),
        {{Time{10ns}, store(1)},
         {Time{40ns}, store(2)},
         {Time{200ns}, walk(0x48, 3)},
         {Time{1010ns}, read(0x200, 4)},
         {Time{1011ns}, read(0x240, 5)},
         {Time{1012ns}, read(0x280, 6)},   // waits for an MSHR
         {Time{1013ns}, walk(0x88, 7)},    // behind it
         {Time{1014ns}, walk(0x90, 8)},    // same line
         {Time{1015ns}, walk(0xc8, 9)}});  // another line
    CHECK(b.slice.waiting_for().empty());
    CHECK(b.slice.state().dram_credits[0] == 4);
    CHECK(test::stat_of(b.slice, "gpu.l2_cache.walk_reads", "bypassed_reads") == 3);
    CHECK(b.walks->records().size() == 2 + 4);
    auto times = std::vector<std::pair<PhysAddr, std::int64_t>>{};
    auto const nanoseconds = b.dram->nanoseconds();
    for (std::size_t i = 0; i < nanoseconds.size(); ++i)
      if (nanoseconds[i] > 1000) times.emplace_back(b.dram->records()[i].message.address, nanoseconds[i]);
    std::ranges::sort(times);
    auto sorted = Times{};
    for (auto const& [address, time] : times) sorted.push_back(time);
    return sorted;  // for lines 0x80, 0xc0, 0x200, 0x240 and 0x280
  };
  // 4 returns at 1076 and 5 at 1077.
  CHECK(leave("false", "0") == Times{1078, 1130, 1025, 1026, 1091});
  CHECK(leave("true", "0") == Times{1077, 1078, 1025, 1026, 1143});
  CHECK(leave("false", "1") == Times{1077, 1129, 1025, 1026, 1091});
  CHECK(leave("true", "1") == Times{1014, 1066, 1025, 1026, 1091});
  CHECK(leave("true", "2") == Times{1014, 1016, 1025, 1026, 1091});
}

TEST_CASE("walk reads: with reserved entries in the channel, they need no credit of other requests") {
  for (std::uint32_t const walk_credits : {0U, 1U}) {
    CAPTURE(walk_credits);
    auto spec = slice_of(PolicyChoice<WalkReads>("cached"));
    spec.params.mshrs = 8;
    spec.dram_credits = 1;
    spec.walk_credits = walk_credits;
    SliceBench b(spec, {{Time{10ns}, read(0x200, 1)},
                        {Time{11ns}, walk(0x48, 2)},
                        {Time{12ns}, walk(0x88, 3)},  // no entry of either kind is free
                        {Time{300ns}, walk(0xc8, 4)},
                        {Time{301ns}, read(0x240, 5)}});
    CHECK(b.dram->nanoseconds() ==
          (walk_credits == 0 ? Times{25, 91, 157, 315, 381} : Times{25, 26, 92, 315, 316}));
    CHECK(b.walks->records().size() == 3);
    CHECK(b.slice.state().dram_credits[0] == 1);
    if (walk_credits != 0) CHECK(b.slice.state().walk_credits[0] == 1);
    CHECK(b.slice.waiting_for().empty());
  }
}

TEST_CASE("walk reads: reads of one line are merged into one memory read, which fills if one of them fills") {
  for (bool const kept : {false, true}) {
    CAPTURE(kept);
    SliceBench b(slice_of(from_depth("4")), {{Time{10ns}, walk(0x48, 1)},
                                             {Time{12ns}, walk(0x50, 2)},
                                             {Time{20ns}, walk(0x58, 3, kept ? 2 : 3)},
                                             {Time{200ns}, walk(0x48, 4, 2)}});
    CHECK(b.dram->records().size() == (kept ? 1U : 2U));
    CHECK(tags(*b.walks) == Tags{1, 2, 3, 4});
    CHECK((b.walks->records()[3].message.found_by == FoundBy::cache) == kept);
  }
}

TEST_CASE("walk reads: a read that joins a filling read removes no line from it") {
  SliceBench b(
      slice_of(from_depth("4")),
      {{Time{10ns}, walk(0x48, 1, 2)}, {Time{30ns}, walk(0x48, 2)}, {Time{200ns}, walk(0x48, 3, 2)}});
  CHECK(b.dram->records().size() == 1);
  CHECK(b.walks->records()[2].message.found_by == FoundBy::cache);
}

TEST_CASE("walk reads: a line that is dirty in the cache is read from the cache") {
  auto entry = write(0x40, 1, 1);
  entry.requester.kind = RequestKind::table_write;
  SliceBench b(slice_of(from_depth("1")), {{Time{10ns}, entry}, {Time{100ns}, walk(0x48, 2)}});
  CHECK(b.dram->records().size() == 0);
  CHECK(b.walks->nanoseconds() == Times{25, 115});
  CHECK(b.walks->records()[1].message.found_by == FoundBy::cache);
}

TEST_CASE("walk reads: writes of page-table entries and requests of warps never bypass") {
  auto entry = write(0x40, 1, 1);
  entry.requester.kind = RequestKind::table_write;
  SliceBench b(slice_of(from_depth("1")),
               {{Time{10ns}, entry}, {Time{100ns}, read(0x80, 2)}, {Time{200ns}, read(0x80, 3)}});
  CHECK(b.dram->records().size() == 1);
  CHECK(b.data->nanoseconds() == Times{100 + 14 + 1 + 50 + 1 + 1, 215});
}

TEST_CASE("walk reads: stores of warps count in the reference hit rate, stores of others do not") {
  for (bool const by_warps : {true, false}) {
    CAPTURE(by_warps);
    auto store = [&](std::uint32_t tag) {
      auto m = write(0x100, tag, 1);
      m.requester.kind = by_warps ? RequestKind::data : RequestKind::table_write;
      return m;
    };
    // Three of four stores hit, and one of two page-walk reads; the depth bypasses in the second epoch.
    SliceBench b(slice_of(test::chosen<WalkReads>("translation_aware_bypass",
                                                  {{"epoch", "1000"}, {"sampled", "1048576"}})),
                 {{Time{10ns}, store(1)},
                  {Time{40ns}, store(2)},
                  {Time{70ns}, store(3)},
                  {Time{100ns}, store(4)},
                  {Time{200ns}, walk(0x48, 5)},
                  {Time{400ns}, walk(0x48, 6)},
                  {Time{1100ns}, walk(0x48, 7)}});
    CHECK(test::stat_of(b.slice, "gpu.l2_cache.walk_reads", "bypassed_reads") == (by_warps ? 1 : 0));
  }
}

TEST_CASE("walk reads: with a reference hit rate of loads, stores of warps do not count") {
  for (bool const loads : {false, true}) {
    CAPTURE(loads);
    auto store = [](std::uint32_t tag) {
      auto m = write(0x100, tag, 1);
      m.requester.kind = RequestKind::data;
      return m;
    };
    // Two of three stores hit, no load does, and no page-walk read does.
    SliceBench b(slice_of(test::chosen<WalkReads>("translation_aware_bypass",
                                                  {{"epoch", "1000"},
                                                   {"sampled", "1048576"},
                                                   {"data_rate", loads ? "loads" : "loads_and_stores"}})),
                 {{Time{10ns}, store(1)},
                  {Time{40ns}, store(2)},
                  {Time{70ns}, store(3)},
                  {Time{100ns}, read(0x200, 4)},
                  {Time{200ns}, walk(0x48, 5)},
                  {Time{1100ns}, walk(0x88, 6)}});
    CHECK(test::stat_of(b.slice, "gpu.l2_cache.walk_reads", "bypassed_reads") == (loads ? 0 : 1));
  }
}

TEST_CASE("walk reads: under every policy, each of 20,000 random reads is answered once") {
  std::vector<PolicyChoice<WalkReads>> policies;
  for (auto const& name : test::names_of_known<WalkReads>()) policies.emplace_back(name);
  for (auto const* const own_mshrs : {"0", "1", "3"})
    policies.push_back(test::chosen<WalkReads>(
        "translation_aware_bypass",
        {{"epoch", "1000"}, {"sampled", "4"}, {"overtakes", "true"}, {"own_mshrs", own_mshrs}}));
  for (std::size_t i = 0; i < policies.size(); ++i) {
    CAPTURE(i);
    Bench b;
    auto spec = slice_of(policies[i]);
    spec.walk_credits = i % 2 == 0 ? 0 : 2;
    spec.params.mshrs = 8;
    spec.params.waiters = 64;
    auto& slice = b.system.add<L2Slice>("slice", spec);
    auto& client = b.system.add<Client<MemRequest, MemResponse>>(
        "client", {20'000, 24, [](std::uint64_t n) {
                     auto const random = n * 0x9E3779B97F4A7C15ULL;
                     auto m = walk((random >> 50) % 40 * 64, static_cast<std::uint32_t>(n), random >> 40 & 3);
                     m.from = 0;
                     if ((random >> 30 & 1) != 0) m.requester.kind = RequestKind::data;
                     if ((random >> 25 & 31) == 0) {
                       m.access = Access::write;
                       m.requester.kind = RequestKind::table_write;
                     }
                     return m;
                   }});
    b.join(client.request, slice.request);
    b.join_family(slice.response, {client.response});
    auto& dram = b.responder<MemRequest, MemResponse>(
        memory([](std::uint64_t n) { return (20 + n % 37) * 1ns; }), slice.filled);
    b.join_family(slice.dram, {dram.request});
    b.begin(client);
    CHECK(b.run() == RunState::drained);
    CHECK(client.each_answered_once());
    CHECK(slice.waiting_for().empty());
    CHECK(slice.state().dram_credits[0] == 4);
  }
}

}  // namespace walk_reads_test
