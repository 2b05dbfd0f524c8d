// SPDX-License-Identifier: Apache-2.0
// A scalar cache between SMs and a mock L2 cache, L2 TLB and RDMA engine: clock 1 GHz, links of 1 ns, memory
// 50 ns, translation 20 ns. Page p is in frame p + 7; pages from 0x1000 on are in the memory of GPU 1.
#include "farfault/compute/read_only_cache.hpp"

#include <doctest/doctest.h>

#include "hand_kernel.hpp"
#include "memory_mock.hpp"

namespace read_only_cache_test {

using namespace farfault;
using namespace farfault::mock;

namespace {

using Times = std::vector<std::int64_t>;

constexpr PhysAddr kArguments = 1 << 20;
constexpr VirtAddr kRemote = 0x1000ULL << 12;
constexpr std::uint64_t kNotMapped = 50;
constexpr PhysAddr kLargeFrame = physical(0, 0x4000'0000);

ReadOnlyRequest request(VirtAddr address, std::uint32_t warp = 0, std::uint32_t kernel = 0,
                        std::uint16_t sm = 0) {
  return {.address = address, .launch = kernel, .tag = warp, .sm = sm};
}
Record<ReadOnlyRequest> at(std::int64_t nanosecond, ReadOnlyRequest const& r) {
  return {Time{std::chrono::nanoseconds(nanosecond)}, r};
}
Invalidate invalidate(std::uint64_t page, std::uint32_t move = 0) {
  return {page, physical(0, (page + 7) << 12), move};
}

struct ScalarBench : Bench {
  explicit ScalarBench(std::vector<Record<ReadOnlyRequest>> script, ReadOnlyCacheParams params = {},
                       std::vector<Record<Invalidate>> invalidations = {}, std::uint8_t size = 0,
                       std::vector<Record<TranslateResponse>> replays = {})
      : cache(system.add<ReadOnlyCache>("scalar_cache", spec(params))) {
    feed(cache.request, std::move(script));
    responses = sinks(cache.response, 2);
    local = &responder<MemRequest, MemResponse>(memory(always(50ns)), cache.memory_response);
    join_family(cache.memory_request, {local->request});
    remote = &responder<MemRequest, MemResponse>(memory(always(50ns)), cache.remote_response);
    join(cache.remote_request, remote->request);
    ResponderSpec<TranslateRequest, TranslateResponse> tlb_spec;
    tlb_spec.reply = [this, size](TranslateRequest const& m) {
      if (m.page == kNotMapped && faults-- > 0) return TranslateResponse{m.page, kNoFrame, FoundBy::nothing};
      if (size != 0)
        return TranslateResponse{
            .page = m.page, .frame = kLargeFrame, .found_by = FoundBy::l2_tlb, .size = size};
      return TranslateResponse{m.page, physical(m.page >= 0x1000 ? 1 : 0, (m.page + 7) << 12)};
    };
    tlb_spec.delay = always(20ns);
    tlb = &responder<TranslateRequest, TranslateResponse>(tlb_spec, cache.translation);
    join_family(cache.translate, {tlb->request});
    if (!replays.empty()) {
      faults = 1;
      feed(cache.translation, std::move(replays));
    }
    feed(cache.invalidate, std::move(invalidations));
    invalidated = sinks(cache.invalidated, 1)[0];
    run();
  }
  static ReadOnlyCacheSpec spec(ReadOnlyCacheParams const& params) {
    ReadOnlyCacheSpec s;
    s.params = params;
    s.index = 40;
    s.outstanding = params.sms * ScalarCacheParams{}.requests;
    s.memory_port = 41;
    s.remote_port = 42;
    s.moves = 8;
    s.arguments = kArguments;
    static Workload const none("none", {}, {});
    s.applications = mock::alone(none);
    s.page_sizes = 1 | 1 << 9;
    s.memory = AddressMap(1, 256);
    return s;
  }
  ReadOnlyCache& cache;
  int faults = 0;  // number of requests for kNotMapped that are answered as unmapped
  std::vector<Sink<ReadOnlyResponse>*> responses;
  Memory* local = nullptr;
  Memory* remote = nullptr;
  Responder<TranslateRequest, TranslateResponse>* tlb = nullptr;
  Sink<Invalidated>* invalidated = nullptr;
};

}  // namespace

TEST_CASE("scalar cache: a miss takes the translation and the memory, a hit the look-up") {
  ScalarBench b({at(100, request(0x2004, 5)), at(300, request(0x2030, 6, 0, 1))});
  // Looked up at 100, at the TLB at 101; translated at 122, looked up for 1 ns, at the memory at 124; back at
  // 175.
  CHECK(b.tlb->nanoseconds() == Times{101});
  CHECK(b.tlb->records()[0].message.client == 40);
  CHECK(b.local->nanoseconds() == Times{124});
  CHECK(b.local->records()[0].message.address == physical(0, 9 << 12));
  CHECK(b.local->records()[0].message.from == 41);
  CHECK(b.responses[0]->nanoseconds() == Times{176});
  CHECK(b.responses[0]->records()[0].message.tag == 5);
  CHECK(b.responses[1]->nanoseconds() == Times{300 + 1 + 1});
  CHECK(b.responses[1]->records()[0].message.tag == 6);
  auto const& s = b.cache.state().stats[0];
  CHECK(s.tlb_misses == 1);
  CHECK(s.tlb_hits == 1);
  CHECK(s.misses == 1);
  CHECK(s.hits == 1);
  CHECK(b.cache.waiting_for().empty());
}

TEST_CASE("scalar cache: one look-up and one response per cycle, and misses on a line merge") {
  ScalarBench b({at(100, request(0x2000, 0)), at(100, request(0x2004, 1)), at(100, request(0x2008, 2, 0, 1)),
                 at(400, request(0x2000, 3)), at(400, request(0x2000, 4))});
  CHECK(b.tlb->records().size() == 1);
  CHECK(b.local->records().size() == 1);
  CHECK(b.responses[0]->nanoseconds() == Times{176, 177, 402, 403});
  CHECK(b.responses[1]->nanoseconds() == Times{178});
}

TEST_CASE("scalar cache: a response has hit or miss, and merged requests are misses") {
  ScalarBench b({at(100, request(0x2000, 0)), at(100, request(0x2004, 1)), at(400, request(0x2000, 2)),
                 at(500, request(kKernelArguments, 3)), at(600, request(kKernelArguments, 4))});
  std::vector<ReadOnlyStatus> status;
  for (auto const& r : b.responses[0]->records()) status.push_back(r.message.status);
  CHECK(status == std::vector<ReadOnlyStatus>{ReadOnlyStatus::missed, ReadOnlyStatus::missed,
                                              ReadOnlyStatus::hit, ReadOnlyStatus::missed,
                                              ReadOnlyStatus::hit});
  CHECK(b.cache.state().stats[0].hits == 2);
}

TEST_CASE("scalar cache: arguments need no translation and are in the GPU's local memory") {
  ScalarBench b({at(100, request(kKernelArguments + 64))});
  CHECK(b.tlb->records().empty());
  REQUIRE(b.local->records().size() == 1);
  CHECK(b.local->records()[0].message.address == kArguments + 64);
  CHECK(b.responses[0]->nanoseconds() == Times{100 + 1 + 1 + 50 + 1 + 1});
}

TEST_CASE("scalar cache: it is emptied when another kernel starts") {
  ScalarBench b({at(100, request(0x2000)), at(300, request(0x2000)), at(500, request(0x2000, 0, 1))});
  CHECK(b.local->records().size() == 2);
  CHECK(b.tlb->records().size() == 1);  // translations remain
}

TEST_CASE("scalar cache: a line of another device is read over the RDMA engine") {
  ScalarBench b({at(100, request(kRemote)), at(300, request(kRemote + 8))});
  CHECK(b.local->records().empty());
  REQUIRE(b.remote->records().size() == 1);
  CHECK(b.remote->records()[0].message.from == 42);
  CHECK(b.cache.state().stats[0].remote_accesses == 1);
  CHECK(b.responses[0]->count() == 2);
}

TEST_CASE("scalar cache: hits pass requests that wait for an MSHR") {
  ReadOnlyCacheParams params;
  params.mshrs = 1;
  ScalarBench b({at(100, request(0x2000, 1)), at(300, request(0x2040, 2)), at(301, request(0x2080, 3)),
                 at(302, request(0x2004, 4))},
                params);
  // The second request holds the MSHR from 300 on, and the third waits for it; the fourth hits.
  std::vector<std::uint32_t> warps;
  for (auto const& r : b.responses[0]->records()) warps.push_back(r.message.tag);
  CHECK(warps == std::vector<std::uint32_t>{1, 4, 2, 3});
  CHECK(b.responses[0]->nanoseconds()[1] == 302 + 1 + 1);
  CHECK(b.cache.waiting_for().empty());
}

TEST_CASE("scalar cache: with one MSHR, requests wait in order and all are answered") {
  ReadOnlyCacheParams params;
  params.mshrs = 1;
  params.tlb_mshrs = 1;
  std::vector<Record<ReadOnlyRequest>> script;
  for (std::uint16_t i = 0; i < 20; ++i)
    script.push_back(at(100, request((2ULL + i % 3) << 12 | i * 64U, i)));
  ScalarBench b(script, params);
  REQUIRE(b.responses[0]->count() == 20);
  std::vector<int> seen(20);
  for (auto const& r : b.responses[0]->records()) ++seen[r.message.tag];
  for (auto const n : seen) CHECK(n == 1);
  auto const times = b.local->nanoseconds();
  for (std::size_t i = 1; i < times.size(); ++i) CHECK(times[i] >= times[i - 1] + 52);
  CHECK(b.cache.state().mshrs.in_use() == 0);
  CHECK(b.cache.waiting_for().empty());
}

TEST_CASE("scalar cache: an invalidation waits for reads that use the translation, then drops the lines") {
  ScalarBench b({at(100, request(0x2000)), at(400, request(0x2000))}, {},
                {{Time{140ns}, invalidate(2, 3)}, {Time{200ns}, invalidate(9, 4)}});
  // The read is outstanding from 123 to 175.
  CHECK(b.invalidated->nanoseconds() == Times{176, 201});
  CHECK(b.invalidated->records()[0].message.move == 3);
  CHECK(b.tlb->records().size() == 2);
  CHECK(b.local->records().size() == 2);
}

TEST_CASE("scalar cache: an invalidation of all drops every translation, but only the lines of its page") {
  for (bool const all : {false, true}) {
    auto m = invalidate(2, 3);
    m.all = all ? 1 : 0;
    ScalarBench b({at(100, request(0x2000)), at(200, request(0x5000)), at(500, request(0x5000))}, {},
                  {{Time{400ns}, m}});
    CHECK(b.tlb->records().size() == (all ? 3U : 2U));
    CHECK(b.local->records().size() == 2);
  }
}

TEST_CASE("scalar cache: an invalidation of a large page drops all of its lines") {
  ScalarBench b(
      {at(100, request(0x202340)), at(200, request(0x2ff044)), at(500, request(0x2ff044))}, {},
      {{Time{400ns}, {.page = 0x200, .frame = kLargeFrame, .move = 3, .step = MoveStep::unmap, .size = 9}}},
      9);
  CHECK(b.invalidated->nanoseconds() == Times{401});
  CHECK(b.tlb->records().size() == 2);
  CHECK(b.local->records().size() == 3);
}

TEST_CASE(
    "scalar cache: the pages in a large page share one translation and have their offsets in its frame") {
  ScalarBench b({at(100, request(0x202340)), at(300, request(0x2ff044))}, {}, {}, 9);
  CHECK(b.tlb->records().size() == 1);
  REQUIRE(b.local->records().size() == 2);
  CHECK(b.local->records()[0].message.address == kLargeFrame + 0x2340);
  CHECK(b.local->records()[1].message.address == kLargeFrame + 0xff040);
}

TEST_CASE("scalar cache: requests for an unmapped page are repeated at its replay, and others pass them") {
  auto const base = kNotMapped << 12;
  ScalarBench b({at(100, request(base, 5)), at(101, request(0x2000, 6)), at(200, request(base + 64, 7))}, {},
                {}, 0, {{Time{500ns}, {kNotMapped, physical(0, 57 << 12), FoundBy::replay}}});
  // Faulted at 122. The third request is merged. Both are replayed at 500 and looked up then; the translation
  // arrives at 523, the lines at 577 and 578.
  CHECK(b.tlb->nanoseconds() == Times{101, 102, 501});
  CHECK(b.local->nanoseconds() == Times{125, 524, 525});
  using Status = std::vector<ReadOnlyStatus>;
  std::vector<std::uint32_t> warps;
  Status status;
  for (auto const& r : b.responses[0]->records()) {
    warps.push_back(r.message.tag);
    status.push_back(r.message.status);
  }
  CHECK(warps == std::vector<std::uint32_t>{5, 6, 7, 5, 7, 5, 7});
  CHECK(status == Status{ReadOnlyStatus::faulted, ReadOnlyStatus::missed, ReadOnlyStatus::faulted,
                         ReadOnlyStatus::replayed, ReadOnlyStatus::replayed, ReadOnlyStatus::missed,
                         ReadOnlyStatus::missed});
  CHECK(b.responses[0]->nanoseconds() == Times{123, 177, 201, 501, 502, 576, 577});
  auto const& s = b.cache.state().stats[0];
  CHECK(s.faulted == 2);
  CHECK(s.tlb_misses == 3);
  CHECK(s.tlb_hits == 0);
  CHECK(b.cache.waiting_for().empty());
}

TEST_CASE("scalar cache: requests for a settled page are read immediately, without a translation request") {
  auto const base = kNotMapped << 12;
  ReadOnlyCacheParams params;
  params.mshrs = 1;  // the second waits for the first
  ScalarBench b({at(100, request(base, 5)), at(200, request(base + 64, 7)), at(700, request(base + 128, 8))},
                params, {}, 0, {{Time{500ns}, {kNotMapped, physical(0, 57 << 12), FoundBy::settled}}});
  CHECK(b.tlb->nanoseconds() == Times{101});
  REQUIRE(b.local->nanoseconds().size() == 3);
  CHECK(b.local->nanoseconds()[0] == 502);
  CHECK(b.local->records()[0].message.address == physical(0, 57 << 12));
  CHECK(b.local->records()[1].message.address == physical(0, (57 << 12) + 64));
  CHECK(b.local->records()[2].message.address == physical(0, (57 << 12) + 128));
  auto const& s = b.cache.state().stats[0];
  CHECK(s.faulted == 2);
  CHECK(s.tlb_misses == 2);
  CHECK(s.tlb_hits == 1);
  CHECK(b.responses[0]->count() == 7);
  CHECK(b.cache.waiting_for().empty());
}

TEST_CASE("scalar cache: an invalidation waits for all requests for a settled page, also behind an MSHR") {
  auto const base = kNotMapped << 12;
  ReadOnlyCacheParams params;
  params.mshrs = 1;  // the second read starts after the first
  ScalarBench b({at(100, request(base, 5)), at(200, request(base + 64, 7))}, params,
                {{Time{510ns},
                  {.page = kNotMapped, .frame = physical(0, 57 << 12), .move = 3, .step = MoveStep::unmap}}},
                0, {{Time{500ns}, {kNotMapped, physical(0, 57 << 12), FoundBy::settled}}});
  CHECK(b.tlb->nanoseconds() == Times{101});
  REQUIRE(b.local->nanoseconds().size() == 2);
  CHECK(b.local->records()[1].message.address == physical(0, (57 << 12) + 64));
  // Its data takes 50 ns and two links.
  CHECK(b.invalidated->nanoseconds() == Times{b.local->nanoseconds()[1] + 52});
  CHECK(b.cache.waiting_for().empty());
}

}  // namespace read_only_cache_test
