// An SM between a dispatcher, an L2 cache, an L2 TLB and an RDMA engine of mocks: clock 1 GHz, L1 look-ups of
// 1 cycle, links of 1 ns, memory 50 ns, translation 20 ns.
#include "farfault/components/sm.hpp"

#include <doctest/doctest.h>

#include "hand_kernel.hpp"
#include "memory_mock.hpp"

using namespace farfault;
using namespace farfault::mock;

namespace {

using Times = std::vector<std::int64_t>;
using Programs = std::function<Program(std::uint64_t, std::uint32_t)>;

// Pages from 0x1000 on are in the memory of GPU 1.
constexpr VirtAddr kRemote = 0x1000ULL << 12;

// A vector instruction takes one cycle of its SIMD, and no warp waits for its own results.
SmSpec unit_rates() {
  SmSpec spec;
  spec.sm.simd_lanes = 64;
  spec.sm.special_lanes = 64;
  spec.sm.dependent_latency = 1;
  return spec;
}

KernelShape shape(std::uint32_t threads = 64) {
  return {"k", 100, threads, 1, 0};
}

struct SmBench : Bench {
  SmBench(SmSpec spec, Workload const& workload, std::vector<Record<StartBlock>> script,
          std::vector<Record<Invalidate>> invalidations = {})
      : SmBench(std::move(spec), workload, std::move(script), always(50ns), always(20ns),
                std::move(invalidations)) {
    run();
  }
  SmBench(SmSpec spec, Workload const& workload, std::vector<Record<StartBlock>> script,
          std::function<Duration(std::uint64_t)> memory_delay,
          std::function<Duration(std::uint64_t)> tlb_delay,
          std::vector<Record<Invalidate>> invalidations = {})
      : sm(system.add<Sm>("sm", with(std::move(spec), workload))) {
    feed(sm.start, std::move(script));
    done = &sink(sm.done);
    cache = &responder<MemRequest, MemResponse>(memory(memory_delay), sm.memory_response);
    join_family(sm.memory_request, {cache->request});
    remote = &responder<MemRequest, MemResponse>(memory(memory_delay), sm.remote_response);
    join(sm.remote_request, remote->request);
    ResponderSpec<TranslateRequest, TranslateResponse> tlb_spec;
    tlb_spec.reply = [](TranslateRequest const& m) {
      return TranslateResponse{m.page, physical(m.page >= 0x1000 ? 1 : 0, (m.page + 7) << 12), m.asid, 0};
    };
    tlb_spec.delay = std::move(tlb_delay);
    tlb = &responder<TranslateRequest, TranslateResponse>(tlb_spec, sm.translation);
    join(sm.translate, tlb->request);
    ResponderSpec<ScalarRequest, ScalarResponse> scalar_spec;
    scalar_spec.reply = [](ScalarRequest const& m) { return ScalarResponse{m.warp, 0}; };
    scalar_spec.delay = always(10ns);
    scalar = &responder<ScalarRequest, ScalarResponse>(scalar_spec, sm.scalar_response);
    join(sm.scalar_request, scalar->request);
    feed(sm.invalidate, std::move(invalidations));
    invalidated = &sink(sm.invalidated);
  }
  static SmSpec with(SmSpec spec, Workload const& workload) {
    spec.workload = &workload;
    spec.memory = AddressMap(1, 256);
    spec.index = 3;
    spec.moves = 64;
    return spec;
  }
  Sm& sm;
  Sink<BlockDone>* done = nullptr;
  Memory* cache = nullptr;
  Memory* remote = nullptr;
  Responder<TranslateRequest, TranslateResponse>* tlb = nullptr;
  Responder<ScalarRequest, ScalarResponse>* scalar = nullptr;
  Sink<Invalidated>* invalidated = nullptr;
};

Invalidate invalidate(std::uint64_t page, std::uint32_t move = 0) {
  return {page, physical(page >= 0x1000 ? 1 : 0, (page + 7) << 12), 0, move};
}

Workload same_for_all(Program program, std::uint32_t threads = 64, int kernels = 1) {
  return hand_workload(std::vector<KernelShape>(static_cast<std::size_t>(kernels), shape(threads)),
                       [program](std::uint64_t, std::uint32_t) { return program; });
}

}  // namespace

TEST_CASE("SM: a block of computation takes its cycles, from the edge after its start") {
  auto const w = same_for_all({compute(10), compute(5)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {9, 0, 0}}});
  CHECK(b.done->nanoseconds() == Times{101 + 10 + 5 + 1});
  CHECK(b.done->records()[0].message.block == 9);
  CHECK(b.done->records()[0].message.sm == 3);
  CHECK(b.sm.state().stats.instructions() == 15);
  CHECK(b.sm.state().stats.blocks == 1);
  CHECK(b.sm.waiting_for().empty());
}

TEST_CASE("SM: a load that misses everywhere takes the sum of its stages") {
  auto const w = same_for_all({load(0x2000), compute(10, true)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}});
  // Issue at 101, L1 TLB 1, there 1, translation 20, back 1.
  CHECK(b.tlb->nanoseconds() == Times{103});
  CHECK(b.tlb->records()[0].message.page == 2);
  CHECK(b.tlb->records()[0].message.from == 3);
  // Translated at 124, L1 1, there 1.
  CHECK(b.cache->nanoseconds() == Times{126});
  CHECK(b.cache->records()[0].message.address == physical(0, 9 << 12));
  CHECK(b.cache->records()[0].message.from == 3);
  CHECK(b.cache->records()[0].message.bytes == 64);
  // Memory 50, back at 177; the warp issues at the next edge, computes 10.
  CHECK(b.done->nanoseconds() == Times{178 + 10 + 1});
}

TEST_CASE("SM: with the page in the L1 TLB and the line in the L1 cache a load takes the two look-ups") {
  auto const w = same_for_all(
      {load(0x2000), compute(1, true), load(0x2040), compute(1, true), load(0x2040), compute(1, true)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}});
  // First: waits until 178, done at 179. Second: TLB hit, sent at 181, back at 181 + 52 = 233, issues at 234.
  CHECK(b.cache->nanoseconds() == Times{126, 182});
  // Third: issued at 235, usable at 237.
  CHECK(b.done->nanoseconds() == Times{237 + 1 + 1});
  auto const& s = b.sm.state().stats;
  CHECK(s.l1_tlb_misses == 1);
  CHECK(s.l1_tlb_hits == 2);
  CHECK(s.l1_misses == 2);
  CHECK(s.l1_hits == 1);
}

TEST_CASE("SM: loads do not block the warp, an instruction that waits for them does") {
  auto const w = same_for_all({load(0x2000), compute(10), load(0x3000), compute(1, true)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}});
  CHECK(b.tlb->nanoseconds() == Times{103, 114});  // the second is issued at 112 while the first is under way
  CHECK(b.done->nanoseconds() == Times{189 + 1 + 1});
}

TEST_CASE("SM: loads of one page wait for one translation, loads of one line for one fill") {
  auto const w = same_for_all({load(0x2000), load(0x2010), load(0x2040), compute(1, true)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}});
  CHECK(b.tlb->records().size() == 1);
  CHECK(b.cache->nanoseconds() == Times{126, 128});  // one per cycle: the merged one takes its cycle too
  CHECK(b.sm.state().stats.l1_tlb_misses == 3);
  CHECK(b.sm.state().stats.l1_misses == 3);
  CHECK(b.done->nanoseconds() == Times{180 + 1 + 1});
}

TEST_CASE("SM: lanes are coalesced to lines, and the load/store unit takes one per cycle") {
  auto const w = same_for_all({load(0x2000), compute(1, true), load(0x2000, 4, 64), compute(1, true),
                               load(0x2800, 64, 16), compute(1, true)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}});
  auto const& s = b.sm.state().stats;
  CHECK(s.memory_instructions == 3);
  CHECK(s.transactions == 1 + 4 + 16);
  CHECK(s.l1_hits == 1);
  auto const times = b.cache->nanoseconds();
  REQUIRE(times.size() == 1 + 3 + 16);
  for (std::size_t i = 5; i < times.size(); ++i) CHECK(times[i] == times[i - 1] + 1);
  CHECK(s.instructions() == 6);
}

TEST_CASE("SM: a second memory instruction waits for the load/store unit") {
  auto const program = Program{load(0x2000, 64, 8), compute(1)};
  auto const w = same_for_all(program, 128);
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}});
  // Two warps, eight transactions each, in one page: 16 L1 TLB misses wait for one translation.
  CHECK(b.sm.state().stats.transactions == 16);
  CHECK(b.tlb->records().size() == 1);
  CHECK(b.cache->records().size() == 8);
  CHECK(b.sm.state().stats.l1_misses == 16);
}

TEST_CASE("SM: a warp's end waits for its stores to be acknowledged") {
  auto const w = same_for_all({store(0x2000)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}});
  CHECK(b.cache->nanoseconds() == Times{126});
  CHECK(b.cache->records()[0].message.access == Access::write);
  CHECK(b.cache->records()[0].message.bytes == 4);
  CHECK(b.done->nanoseconds() == Times{178 + 1});
}

TEST_CASE("SM: a warp's end waits for its loads") {
  auto const w = same_for_all({load(0x2000)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}});
  CHECK(b.done->nanoseconds() == Times{178 + 1});
}

TEST_CASE("SM: stores do not allocate in the L1, and do not wait for each other") {
  auto const w = same_for_all(
      {load(0x2000), compute(1, true), store(0x2040), store(0x2080), load(0x2040), compute(1, true)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}});
  CHECK(b.sm.state().stats.l1_hits == 0);
  CHECK(b.sm.state().stats.stores == 2);
  CHECK(b.cache->nanoseconds() == Times{126, 182, 183, 184});
}

TEST_CASE("SM: a barrier holds every warp of the block until the last one is there") {
  auto const w = hand_workload({shape(192)}, [](std::uint64_t, std::uint32_t warp) {
    return Program{compute(warp == 0 ? 50 : 5), barrier(), compute(7)};
  });
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}});
  // Warp 0 reaches it at 151, all resume at 152.
  CHECK(b.done->nanoseconds() == Times{152 + 7 + 1});
  CHECK(b.sm.state().stats.vector_instructions == 57 + 12 + 12);
  CHECK(b.sm.state().stats.scalar_instructions == 3);  // the barriers
}

TEST_CASE("SM: a barrier does not wait for warps that have ended, nor for other blocks") {
  auto const w = hand_workload({shape(128)}, [](std::uint64_t block, std::uint32_t warp) {
    if (block == 1) return Program{compute(500)};
    return warp == 0 ? Program{compute(80)} : Program{compute(5), barrier(), compute(7)};
  });
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}, {Time{100ns}, {1, 0, 0}}});
  // Warp 0 ends at 181; warp 1 resumes at the edge after.
  CHECK(b.done->nanoseconds() == Times{182 + 7 + 1, 601 + 1});
}

namespace {

// The time from the first instruction of a block of `warps` warps to its end.
std::int64_t time_of_block(SmSpec spec, std::uint32_t warps, Program const& program) {
  spec.sm.max_warps = 64;
  spec.sm.max_threads = 4096;
  auto const w = same_for_all(program, warps * spec.warp_width);
  SmBench b(spec, w, {{Time{100ns}, {0, 0, 0}}});
  return b.done->nanoseconds().at(0) - 102;
}

}  // namespace

TEST_CASE("SM: n vector instructions of w warps take n x w / rate cycles") {
  SmSpec const gcn;  // 4 SIMDs of 16 lanes, warps of 64: one instruction per cycle
  for (std::uint32_t const w : {4U, 8U, 40U}) CHECK(time_of_block(gcn, w, {compute(100)}) == 100 * w);
  // A SIMD with one warp more than the others decides.
  for (std::uint32_t const w : {1U, 5U, 7U, 39U})
    CHECK(time_of_block(gcn, w, {compute(100)}) == 100 * ((w + 3) / 4) * 4);
  SmSpec volta;  // two cycles of 16 lanes for a warp of 32: two instructions per cycle
  volta.warp_width = 32;
  for (std::uint32_t const w : {8U, 16U, 64U}) CHECK(time_of_block(volta, w, {compute(100)}) == 100 * w / 2);
  SmSpec hopper;  // one cycle of 32 lanes: four instructions per cycle
  hopper.warp_width = 32;
  hopper.sm.simd_lanes = 32;
  for (std::uint32_t const w : {16U, 32U, 64U})
    CHECK(time_of_block(hopper, w, {compute(100)}) == 100 * w / 4);
}

TEST_CASE("SM: the rate does not depend on how instructions are grouped, nor on the order of warps") {
  SmSpec gcn;
  Program const groups{compute(10), compute(50), compute(1), compute(39)};
  CHECK(time_of_block(gcn, 40, groups) == 100 * 40);
  gcn.sm.warp_order = WarpOrder::round_robin;
  CHECK(time_of_block(gcn, 40, groups) == 100 * 40);
}

TEST_CASE("SM: a lone warp takes the latency of each of its instructions, of whatever unit") {
  SmSpec spec;
  spec.sm.simd_lanes = 64;
  spec.sm.dependent_latency = 6;
  CHECK(time_of_block(spec, 1, {compute(100)}) == 600);
  CHECK(time_of_block(spec, 1, {compute(Work{.vector = 3, .special = 1, .scalar = 4, .shared = 2})}) ==
        std::max(10 * 6, 3 + 16));
  CHECK(time_of_block(spec, 1, {compute(0)}) == 1);
}

TEST_CASE("SM: shared memory, the scalar unit and special functions each bound a block by their rate") {
  SmSpec const gcn;
  // 64 lanes of 4 bytes at 128 bytes per cycle; of 8.
  CHECK(time_of_block(gcn, 40, {compute(Work{.shared = 30})}) == 30 * 40 * 2);
  CHECK(time_of_block(gcn, 40, {compute(Work{.shared = 30, .shared_bytes_per_lane = 8})}) == 30 * 40 * 4);
  CHECK(time_of_block(gcn, 40, {compute(Work{.scalar = 30})}) == 30 * 40);
  CHECK(time_of_block(gcn, 39, {compute(Work{.scalar = 30})}) == 30 * 39);
  CHECK(time_of_block(gcn, 40, {compute(Work{.special = 30})}) == 30 * 10 * 16);
  auto volta = gcn;
  volta.warp_width = 32;
  volta.sm.scalar_rate = 4;
  CHECK(time_of_block(volta, 64, {compute(Work{.scalar = 30})}) == 30 * 64 / 4);
  // The units work side by side: the slowest decides.
  CHECK(time_of_block(gcn, 40, {compute(Work{.vector = 30, .scalar = 29, .shared = 10})}) == 30 * 40);
  // Unless a scheduler issues one instruction per cycle: 16 warps of each.
  volta.sm.issue = IssueRule::one;
  volta.sm.simd_lanes = 32;
  CHECK(time_of_block(volta, 64, {compute(Work{.vector = 30, .scalar = 29, .shared = 1})}) == 60 * 16);
}

TEST_CASE("SM: the latency of shared memory counts once for a group") {
  SmSpec spec;
  spec.sm.shared_latency = 19;
  CHECK(time_of_block(spec, 1, {compute(Work{.shared = 30})}) == std::max(30 * 4, 30 * 2 + 19));
  CHECK(time_of_block(spec, 1, {compute(Work{.shared = 1})}) == 2 + 19);
}

TEST_CASE("SM: a memory instruction does not wait for the groups of its SIMD, and delays them by a cycle") {
  SmSpec spec = unit_rates();
  spec.sm.simds = 1;
  // Warp 1 follows warp 0 on the SIMD; its load issues while 100 instructions of warp 0 are under way.
  auto const w = hand_workload({shape(128)}, [](std::uint64_t, std::uint32_t warp) {
    return warp == 0 ? Program{compute(100), compute(7)} : Program{load(0x2000)};
  });
  SmBench b(spec, w, {{Time{100ns}, {0, 0, 0}}});
  CHECK(b.tlb->nanoseconds() == Times{103});
  CHECK(b.done->nanoseconds() == Times{101 + 100 + 1 + 7 + 1});
  CHECK(b.sm.state().units.simd_cycles() == 108);
}

TEST_CASE("SM: statistics count every instruction of a group, by kind") {
  SmSpec const gcn;
  auto const w = same_for_all(
      {compute(Work{.vector = 7, .special = 2, .scalar = 3, .shared = 4}), load(0x2000), barrier()}, 128);
  SmBench b(gcn, w, {{Time{100ns}, {0, 0, 0}}});
  auto const& s = b.sm.state().stats;
  CHECK(s.vector_instructions == 2 * 9);
  CHECK(s.scalar_instructions == 2 * 4);
  CHECK(s.shared_instructions == 2 * 4);
  CHECK(s.memory_instructions == 2);
  CHECK(s.instructions() == 2 * 18);
  CHECK(b.sm.state().units.shared_bytes() == 2 * 4 * 256);
  CHECK(b.sm.state().units.simd_cycles() == 2 * (7 * 4 + 2 * 16 + 1));
}

TEST_CASE(
    "SM: a scalar load goes to the scalar cache, and an instruction that waits for loads waits for it") {
  auto const w = same_for_all({scalar_load(0x2000), compute(5), compute(10, true)});
  auto spec = unit_rates();
  spec.scalar_index = 2;
  SmBench b(spec, w, {{Time{100ns}, {0, 0, 0}}});
  REQUIRE(b.scalar->nanoseconds() == Times{102});
  auto const& m = b.scalar->records()[0].message;
  CHECK(m.address == 0x2000);
  CHECK(m.sm == 2);
  CHECK(m.kernel == 0);
  // Back at 113, used at the next edge.
  CHECK(b.done->nanoseconds() == Times{114 + 10 + 1});
  auto const& s = b.sm.state().stats;
  CHECK(s.scalar_loads == 1);
  CHECK(s.scalar_transactions == 1);
  CHECK(s.transactions == 0);
  CHECK(s.instructions() == 16);
}

TEST_CASE("SM: arguments lie apart for each kernel, 64 bytes each") {
  auto const w = same_for_all({scalar_load(kKernelArguments + 8)}, 64, 2);
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}, {Time{500ns}, {0, 1, 0}}});
  REQUIRE(b.scalar->records().size() == 2);
  CHECK(b.scalar->records()[0].message.address == kKernelArguments + 8);
  CHECK(b.scalar->records()[1].message.address == kKernelArguments + 64 + 8);
}

TEST_CASE("SM: with one request at the scalar cache, the next scalar load waits for the answer") {
  auto const w = same_for_all({scalar_load(0x2000), scalar_load(0x3000)}, 128);
  auto spec = unit_rates();
  spec.scalar_requests = 1;
  SmBench b(spec, w, {{Time{100ns}, {0, 0, 0}}});
  CHECK(b.scalar->nanoseconds() == Times{102, 115, 128, 141});
  CHECK(b.sm.state().scalar_credits == 1);
  CHECK(b.done->count() == 1);
}

TEST_CASE("SM: the order of issue is the scheduler's") {
  // Each warp loads two pages of its own; the order of pages is that of issue.
  auto const w = hand_workload({shape(192)}, [](std::uint64_t, std::uint32_t warp) {
    return Program{load(0x10000 * (warp + 1)), load(0x10000 * (warp + 1) + 0x1000)};
  });
  auto const pages = [&](WarpOrder order) {
    auto spec = unit_rates();
    spec.sm.warp_order = order;
    SmBench b(spec, w, {{Time{100ns}, {0, 0, 0}}});
    std::vector<std::uint64_t> all;
    for (auto const& r : b.tlb->records()) all.push_back(r.message.page);
    return all;
  };
  CHECK(pages(WarpOrder::greedy_then_oldest) == std::vector<std::uint64_t>{16, 17, 32, 33, 48, 49});
  auto const fair = pages(WarpOrder::round_robin);
  REQUIRE(fair.size() == 6);
  for (std::size_t i = 0; i < 3; ++i) CHECK(fair[i] % 16 == 0);  // every warp's first before any second
}

TEST_CASE("SM: with one MSHR for pages, translations come one after the other") {
  auto const w = same_for_all({load(0x2000, 4096, 3), compute(1, true)});
  auto spec = unit_rates();
  spec.l1_tlb.mshrs = 1;
  SmBench b(spec, w, {{Time{100ns}, {0, 0, 0}}});
  // Back at 124; the waiting transaction takes that cycle, the next page is looked up at 125.
  CHECK(b.tlb->nanoseconds() == Times{103, 127, 151});
  CHECK(b.done->count() == 1);
}

TEST_CASE("SM: with one credit of the L2 slice, a request waits for the answer of the one before") {
  auto const w = same_for_all({load(0x2000, 64, 3), compute(1, true)});
  auto spec = unit_rates();
  spec.l1_cache.slice_credits = 1;
  SmBench b(spec, w, {{Time{100ns}, {0, 0, 0}}});
  CHECK(b.cache->nanoseconds() == Times{126, 177 + 1 + 1, 230 + 1 + 1});
  CHECK(b.done->count() == 1);
}

TEST_CASE("SM: a page of another GPU is reached over the RDMA engine, and cached in the L1 as others") {
  auto const w = same_for_all({load(kRemote), compute(1, true), load(kRemote), store(kRemote + 64)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}});
  CHECK(b.cache->records().empty());
  REQUIRE(b.remote->records().size() == 2);
  CHECK(b.remote->records()[0].message.address == physical(1, 0x1007 << 12));
  CHECK(b.remote->records()[1].message.access == Access::write);
  CHECK(b.sm.state().stats.remote_accesses == 2);
  CHECK(b.sm.state().stats.l1_hits == 1);
  CHECK(b.sm.state().remote_credits == 128);
}

TEST_CASE("SM: the L1 cache is emptied when another kernel starts, not between blocks of one") {
  auto const w = same_for_all({load(0x2000)}, 64, 2);
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}, {Time{500ns}, {1, 0, 0}}, {Time{1000ns}, {2, 1, 0}}});
  CHECK(b.sm.state().stats.l1_hits == 1);
  CHECK(b.cache->records().size() == 2);
  CHECK(b.tlb->records().size() == 1);  // translations stay
}

TEST_CASE("SM: blocks run side by side and slots are used again") {
  auto const w = same_for_all({compute(100)}, 256);
  auto spec = unit_rates();
  spec.sm.max_warps = 8;
  spec.sm.max_blocks = 2;
  spec.sm.simds = 16;
  SmBench b(spec, w, {{Time{100ns}, {0, 0, 0}}, {Time{110ns}, {1, 0, 0}}, {Time{203ns}, {2, 0, 0}}});
  CHECK(b.done->nanoseconds() == Times{202, 212, 305});
}

TEST_CASE(
    "SM: 64 warps of memory instructions with every resource short and pages leaving all end, and every "
    "credit comes back") {
  auto const w = hand_workload({shape(512)}, [](std::uint64_t block, std::uint32_t warp) {
    Program p;
    for (std::uint32_t i = 0; i < 12; ++i) {
      auto const x = ((block * 8 + warp) * 12 + i) * 0x9E3779B97F4A7C15ULL >> 32;
      auto const page = (x & 15) + ((x >> 4 & 1) != 0 ? 0x1000 : 0);
      auto const base = (page << 12) + (x >> 8 & 0xFFC);
      if (i == 6) p.push_back(barrier());
      p.push_back(x >> 20 & 1 ? store(base, 40, 32) : load(base, 72, 16, (x >> 21 & 1) != 0));
    }
    return p;
  });
  auto spec = unit_rates();
  spec.sm.max_warps = 64;
  spec.sm.max_threads = 4096;
  spec.l1_tlb.entries = 4;
  spec.l1_tlb.ways = 4;
  spec.l1_tlb.mshrs = 2;
  spec.l1_tlb.waiters = 128;
  spec.l1_cache.size = ByteSize{1024};
  spec.l1_cache.mshrs = 3;
  spec.l1_cache.waiters = 128;
  spec.l1_cache.slice_credits = 2;
  spec.l1_cache.remote_credits = 2;
  std::vector<Record<StartBlock>> script;
  for (std::uint64_t block = 0; block < 8; ++block) script.push_back({Time{100ns}, {block, 0, 0}});
  std::vector<Record<Invalidate>> invalidations;
  for (std::uint32_t i = 0; i < 60; ++i)
    invalidations.push_back(
        {Time{(200 + 150 * i) * 1ns}, invalidate((i * 7 & 15) + (i % 2 != 0 ? 0x1000 : 0), i)});
  SmBench b(spec, w, script, scattered(400ns, 9), scattered(900ns, 10), invalidations);
  CHECK(b.run() == RunState::drained);
  CHECK(b.done->count() == 8);
  CHECK(b.sm.waiting_for().empty());
  auto const& s = b.sm.state();
  CHECK(b.invalidated->count() == 60);
  CHECK(s.stats.l1_tlb_invalidated > 2);
  CHECK(s.invalidations.empty());
  CHECK(s.stats.instructions() == 64 * 13);
  CHECK(s.stats.memory_instructions == 64 * 12);
  CHECK(s.slice_credits[0] == 2);
  CHECK(s.remote_credits == 2);
  CHECK(s.tlb_mshrs.in_use() == 0);
  CHECK(s.l1_mshrs.in_use() == 0);
  CHECK(s.stats.l1_hits + s.stats.l1_misses + s.stats.stores == s.stats.transactions);
  CHECK(s.stats.l1_tlb_hits + s.stats.l1_tlb_misses == s.stats.transactions);
}

TEST_CASE("SM: an invalidation drops the translation and the lines of its page, and nothing else") {
  auto const w = same_for_all(
      {load(0x2000), load(0x3000), compute(200, true), load(0x2000), load(0x3000), compute(1, true)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}}, {{Time{300ns}, invalidate(2, 5)}});
  CHECK(b.invalidated->nanoseconds() == Times{301});  // nothing is under way
  CHECK(b.invalidated->records()[0].message.move == 5);
  REQUIRE(b.tlb->records().size() == 3);
  CHECK(b.tlb->records()[2].message.page == 2);
  REQUIRE(b.cache->records().size() == 3);
  CHECK(b.cache->records()[2].message.address == physical(0, 9 << 12));
  CHECK(b.sm.state().stats.l1_hits == 1);
  CHECK(b.sm.state().stats.l1_tlb_invalidated == 1);
}

TEST_CASE(
    "SM: an invalidation is acknowledged when the accesses begun before it are done, loads and stores") {
  // Issued at 101 and 103, translated, at the memory at 126 and 127; back 51 later.
  auto const w = same_for_all({load(0x2000), store(0x2100), compute(200, true)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}}, {{Time{140ns}, invalidate(2)}});
  CHECK(b.cache->nanoseconds() == Times{126, 127});
  CHECK(b.invalidated->nanoseconds() == Times{127 + 50 + 1 + 1});
}

TEST_CASE("SM: a line that arrives after the invalidation of its page is not kept") {
  auto const w = same_for_all({load(0x2000), compute(200, true), load(0x2000), compute(1, true)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}}, {{Time{140ns}, invalidate(2)}});
  CHECK(b.cache->records().size() == 2);
  CHECK(b.sm.state().stats.l1_hits == 0);
}

TEST_CASE("SM: what is begun after an invalidation does not hold it up") {
  // The first load is back at 178; the one behind it is under way until 228 and then some.
  auto const w = same_for_all({load(0x2000), compute(40), load(0x3000), compute(1, true)});
  SmBench b(unit_rates(), w, {{Time{100ns}, {0, 0, 0}}}, {{Time{140ns}, invalidate(2)}});
  REQUIRE(b.cache->records().size() == 2);
  CHECK(b.cache->nanoseconds()[0] == 126);
  CHECK(b.cache->nanoseconds()[1] > 140);
  CHECK(b.invalidated->nanoseconds() == Times{126 + 51 + 1});
}

TEST_CASE("SM: accesses that are translated and wait for a credit count as begun") {
  auto const w = same_for_all({load(0x2000, 64, 3), compute(1, true)});
  auto spec = unit_rates();
  spec.l1_cache.slice_credits = 1;
  // Three lines, one at a time: 126, 178, 230.
  SmBench b(spec, w, {{Time{100ns}, {0, 0, 0}}}, {{Time{140ns}, invalidate(2)}});
  REQUIRE(b.cache->records().size() == 3);
  CHECK(b.cache->nanoseconds()[2] > 177);
  CHECK(b.invalidated->nanoseconds() == Times{b.cache->nanoseconds()[2] + 51 + 1});
}

TEST_CASE("SM: invalidations that come during a drain are acknowledged after the next one") {
  auto const w = same_for_all({load(0x2000), compute(40), load(0x3000), compute(1, true)});
  SmBench b(
      unit_rates(), w, {{Time{100ns}, {0, 0, 0}}},
      {{Time{140ns}, invalidate(2, 1)}, {Time{170ns}, invalidate(3, 2)}, {Time{171ns}, invalidate(9, 3)}});
  auto const second = b.cache->nanoseconds()[1];
  REQUIRE(second > 140);
  CHECK(b.invalidated->nanoseconds() == Times{178, second + 52, second + 52});
  CHECK(b.invalidated->records()[1].message.move == 2);
  CHECK(b.invalidated->records()[2].message.move == 3);
}
