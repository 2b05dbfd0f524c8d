// SPDX-License-Identifier: Apache-2.0
// An IOMMU with page migration.
#include <doctest/doctest.h>

#include "iommu_moving_bench.hpp"
#include "policies.hpp"

namespace iommu_migration_test {

using namespace farfault;
using namespace farfault::iommu_moving_bench;

TEST_CASE("IOMMU: with migration, the walk of a page on another device is a fault of the first requester") {
  auto const table = page_on_gpu1();
  auto const there = physical(2, 77 << 12);
  MovingBench b(spec_of(table),
                {.requests = {{Time{100ns}, ask(kGpu1Page, 2, 7)}, {Time{110ns}, ask(kGpu1Page, 0, 8)}},
                 .mapped = {{Time{900ns}, responded(kGpu1Page, there)}}});
  CHECK(b.faults->nanoseconds() == Times{150});
  auto const f = b.faults->records()[0].message.as<PageFault>();
  CHECK(f.kind == FaultKind::remote);
  CHECK(f.page == kGpu1Page);
  CHECK(f.gpu == 2);
  // Both requesters are answered immediately, and get the new location when the driver responds. A replay is
  // sent a cycle later.
  CHECK(b.out->nanoseconds() == Times{150, 151, 902, 903});
  CHECK(found_by(*b.out) == Found{FoundBy::nothing, FoundBy::nothing, FoundBy::settled, FoundBy::settled});
  CHECK(b.answered() == Nodes{12, 10, 12, 10});
  CHECK(answer(*b.out, 0).tag == 7);
  CHECK(answer(*b.out, 0).frame == kNoFrame);
  CHECK(answer(*b.out, 2).frame == there);
  CHECK(answer(*b.out, 3).frame == there);
  auto const& s = b.iommu.state();
  CHECK(s.by_requester[0].remote_faults == 1);
  CHECK(s.by_requester[0].page_faults == 0);
  CHECK(s.stats.replays == 2);
  CHECK(s.fault_latency.bins[LatencyHistogram::bin_of(751)] == 1);  // 149 to 900
  CHECK(b.iommu.waiting_for().empty());
}

TEST_CASE(
    "IOMMU: with migration, a GPU gets the frames of its pages, and a TLB hit for another GPU is a fault") {
  auto const table = page_on_gpu1();
  MovingBench b(spec_of(table),
                {.requests = {{Time{100ns}, ask(kGpu1Page, 1, 7)}, {Time{200ns}, ask(kGpu1Page, 0, 8)}},
                 .mapped = {{Time{900ns}, responded(kGpu1Page, physical(0, 0))}}});
  CHECK(b.out->nanoseconds() == Times{150, 202, 902});
  CHECK(found_by(*b.out) == Found{FoundBy::iommu, FoundBy::nothing, FoundBy::settled});
  CHECK(b.faults->nanoseconds() == Times{202});
  CHECK(b.iommu.state().by_requester[0].tlb_hits == 1);
}

TEST_CASE("IOMMU: a page is migrated after the configured number of consecutive requests of one GPU") {
  auto const table = page_on_gpu1();
  auto spec = spec_of(table);
  spec.decision = test::chosen<PageDecision>("migrate", {{"after", "3"}});
  MovingBench b(spec,
                {.requests = {{Time{100ns}, ask(kGpu1Page, 0, 1)},
                              {Time{200ns}, ask(kGpu1Page, 0, 2)},
                              {Time{300ns}, ask(kGpu1Page, 2, 3)},
                              {Time{400ns}, ask(kGpu1Page, 0, 4)},
                              {Time{500ns}, ask(kGpu1Page, 1, 5)},  // the page is local: no remote touch
                              {Time{600ns}, ask(kGpu1Page, 0, 6)},
                              {Time{700ns}, ask(kGpu1Page, 0, 7)}},
                 .mapped = {{Time{900ns}, responded(kGpu1Page, physical(0, 0))}}});
  CHECK(b.faults->nanoseconds() == Times{702});
  CHECK(b.out->nanoseconds() == Times{150, 202, 302, 402, 502, 602, 702, 902});
}

TEST_CASE(
    "IOMMU: an unmapped page is invalidated at its GPU and at GPUs with its translation, then reported") {
  auto const table = page_on_gpu1();
  auto spec = spec_of(table);
  spec.decision = test::chosen<PageDecision>("migrate", {{"after", "9"}});
  MovingBench b(spec, {.requests = {{Time{100ns}, ask(kGpu1Page, 2, 7)}},
                       .moves = {{Time{300ns}, unmap(1, kGpu1Page, kHere)}},
                       .invalidated = {{Time{400ns}, {1}}, {Time{500ns}, {1}}}});
  CHECK(b.receivers(MoveStep::unmap) == Nodes{11, 12});
  CHECK(b.out->nanoseconds() == Times{150, 302, 303});
  auto const p = b.out->records()[1].message.as<Invalidate>();
  CHECK(p.page == kGpu1Page);
  CHECK(p.frame == kHere);
  CHECK(p.move == 1);
  CHECK(b.unmapped->nanoseconds() == Times{501});
  CHECK(b.unmapped->records()[0].message.move == 1);
  CHECK(!b.iommu.state().table.find(kGpu1Page));
}

TEST_CASE("IOMMU: pages that only move within a memory are invalidated at all GPUs with their translation") {
  auto const table = page_on_gpu1();
  auto spec = spec_of(table);
  spec.decision.choose("remote_access");
  spec.pages_are_moved = true;
  MovingBench b(spec, {.requests = {{Time{100ns}, ask(kGpu1Page, 2, 7)}},
                       .moves = {{Time{300ns}, unmap(1, kGpu1Page, kHere)}},
                       .invalidated = {{Time{400ns}, {1}}, {Time{500ns}, {1}}}});
  CHECK(b.receivers(MoveStep::unmap) == Nodes{11, 12});
  CHECK(b.unmapped->nanoseconds() == Times{501});
}

TEST_CASE(
    "IOMMU: a GPU with the translation of a large page is invalidated when any of its base pages is "
    "unmapped") {
  PageTable table(kTable, 12);
  auto const first = kPage >> 9 << 9;
  auto const at = physical(1, 8 << 21);
  for (std::uint64_t i = 0; i < 512; ++i) table.map(first + i, at + (i << 12));
  table.coalesce(first);
  auto spec = spec_of(table);
  spec.coalesces = true;
  spec.decision = test::chosen<PageDecision>("migrate", {{"after", "9"}});
  for (auto const leaves : {first, first + 5, first + 9, first + 511}) {
    MovingBench b(spec, {.requests = {{Time{100ns}, ask(first + 5, 2, 7)}},
                         .moves = {{Time{300ns}, unmap(1, leaves, at + ((leaves - first) << 12))}},
                         .invalidated = {{Time{400ns}, {1}}, {Time{500ns}, {1}}}});
    REQUIRE(b.out->count() > 0);
    CHECK(answer(*b.out, 0).frame == at);
    CHECK(b.receivers(MoveStep::unmap) == Nodes{11, 12});
    CHECK(b.unmapped->nanoseconds() == Times{501});
    CHECK_FALSE(b.iommu.state().table.is_coalesced(first));
    CHECK(!b.iommu.state().table.find(leaves));
  }
}

TEST_CASE("IOMMU: an invalidation is sent after all earlier responses, however late they leave") {
  auto const table = page_on_gpu1();
  auto spec = spec_of(table);
  spec.decision = test::chosen<PageDecision>("migrate", {{"after", "9"}});
  std::vector<Record<Packet>> requests;
  for (std::uint32_t i = 0; i < 20; ++i) requests.push_back({Time{100ns}, ask(kGpu1Page, 2, i)});
  // The walk ends at 149. The last of 20 answers is sent at 168.
  MovingBench b(spec, {.requests = requests, .moves = {{Time{150ns}, unmap(0, kGpu1Page, kHere)}}});
  CHECK(b.out->nanoseconds()[19] == 149 + 19 + 1);
  CHECK(b.receivers(MoveStep::unmap) == Nodes{11, 12});
  CHECK(b.out->nanoseconds()[20] == 170);
  CHECK(b.out->nanoseconds()[21] == 171);
  CHECK(b.unmapped->count() == 0);
}

TEST_CASE("IOMMU: a flush is sent only to the GPU with the frame, and reported when its lines are dropped") {
  auto const table = page_on_gpu1();
  PageMove const flush{.page = kGpu1Page, .frame = kHere, .move = 0, .step = MoveStep::flush};
  MovingBench b(spec_of(table), {.requests = {{Time{100ns}, ask(kGpu1Page, 2, 1)}},
                                 .moves = {{Time{1000ns}, unmap(0, kGpu1Page, kHere)}, {Time{3000ns}, flush}},
                                 .invalidated = {{Time{2000ns}, {0}}, {Time{4000ns}, {0}}}});
  CHECK(b.receivers(MoveStep::unmap) == Nodes{11});
  CHECK(b.receivers(MoveStep::flush) == Nodes{11});
  CHECK(b.unmapped->nanoseconds() == Times{2001, 4001});
  // A frame of a GPU behind another IOMMU, or of a CPU.
  PageMove elsewhere = flush;
  elsewhere.frame = physical(7, 5 << 12);
  MovingBench c(spec_of(table),
                {.moves = {{Time{1000ns}, unmap(0, kGpu1Page, elsewhere.frame)}, {Time{3000ns}, elsewhere}}});
  CHECK(c.unmapped->nanoseconds() == Times{1001, 3001});
}

TEST_CASE("IOMMU: a page that none of its GPUs can reach is unmapped immediately") {
  PageTable table(kTable, 12);
  table.map(kPage, physical(7, 0));  // a GPU of another IOMMU
  MovingBench b(spec_of(table), {.moves = {{Time{300ns}, unmap(0, kPage, physical(7, 0))}}});
  CHECK(b.out->count() == 0);
  CHECK(b.unmapped->nanoseconds() == Times{301});
}

TEST_CASE(
    "IOMMU: a request for a migrating page is a fault and is answered with the new frame, also after a "
    "walk") {
  auto const table = page_on_gpu1();
  auto const there = physical(2, 77 << 12);
  MovingBench b(
      spec_of(table),
      {.requests = {{Time{100ns}, ask(kGpu1Page, 1, 7)},    // walks until 149
                    {Time{130ns}, ask(kGpu1Page, 0, 8)},    // while it is unmapped
                    {Time{160ns}, ask(kGpu1Page, 2, 9)},    // after the walk's end
                    {Time{170ns}, ask(kGpu1Page, 0, 10)}},  // answered again, replayed once
       .mapped = {{Time{900ns}, responded(kGpu1Page, there)}},
       .moves = {{Time{120ns}, unmap(0, kGpu1Page, kHere)}, {Time{900ns}, remap(0, kGpu1Page, there)}},
       .invalidated = {{Time{400ns}, {0}}}});
  CHECK(b.receivers(MoveStep::unmap) == Nodes{11});
  CHECK(b.answered() == Nodes{10, 11, 12, 10, 10, 11, 12});
  CHECK(b.out->nanoseconds() == Times{122, 132, 150, 162, 172, 902, 903, 904});
  auto const found = found_by(*b.out);
  for (std::size_t i = 0; i < 4; ++i) CHECK(found[i] == FoundBy::nothing);
  for (std::size_t i = 4; i < 7; ++i) CHECK(found[i] == FoundBy::settled);
  for (std::size_t i = 5; i < 8; ++i) CHECK(answer(*b.out, i).frame == there);
  // One fault, for the first request that found the page migrating.
  CHECK(b.faults->nanoseconds() == Times{132});
  CHECK(b.faults->records()[0].message.as<PageFault>().gpu == 0);
  CHECK(b.faults->records()[0].message.as<PageFault>().kind == FaultKind::moving);
  CHECK(b.iommu.state().by_requester[0].merged_faults == 3);
  CHECK(b.iommu.state().table.find(kGpu1Page) == PageTranslation{there});
  CHECK(b.iommu.waiting_for().empty());
}

TEST_CASE("IOMMU: a fault on a migrating page holds no entry that a walk needs, and no place in its queue") {
  PageTable table = page_on_gpu1();
  table.map(kPage, physical(2, 9 << 12));
  auto spec = spec_of(table);
  spec.params.pages = 1;
  MovingBench b(spec, {.requests = {{Time{100ns}, ask(kGpu1Page, 0, 7)},
                                    {Time{200ns}, ask(kGpu1Page, 2, 8)},
                                    {Time{300ns}, ask(kPage, 2, 9)}}});
  CHECK(found_by(*b.out) == Found{FoundBy::nothing, FoundBy::nothing, FoundBy::iommu});
  CHECK(b.out->nanoseconds()[2] < 360);
}

TEST_CASE("IOMMU: with a full fault buffer, a fault on a migrating page is asked to retry and then faults") {
  PageTable table = page_on_gpu1();
  table.map(kPage, kHere + 4096);
  table.map(kPage + 1, physical(0, 9 << 12));
  auto spec = spec_of(table);
  spec.params.fault_buffer = 1;
  auto const there = physical(2, 77 << 12);
  MovingBench b(spec, {.requests = {{Time{100ns}, ask(kGpu1Page, 2, 7)},
                                    {Time{200ns}, ask(kPage, 0, 8)},
                                    {Time{300ns}, ask(kPage + 1, 2, 9)},
                                    {Time{1000ns}, ask(kPage, 0, 10)}},
                       .mapped = {{Time{900ns}, responded(kGpu1Page, there)},
                                  {Time{1500ns}, responded(kPage, physical(0, 7 << 12))}}});
  // Without a free record both are answered to retry, with the frame. It is on another GPU.
  CHECK(found_by(*b.out) == Found{FoundBy::nothing, FoundBy::nothing, FoundBy::nothing, FoundBy::settled,
                                  FoundBy::replay, FoundBy::replay, FoundBy::nothing, FoundBy::settled});
  CHECK(b.answered() == Nodes{12, 10, 12, 12, 10, 12, 10, 10});
  CHECK(b.faults->count() == 2);
  CHECK(b.iommu.state().by_requester[0].refused_faults == 2);
  CHECK(b.iommu.waiting_for().empty());
}

TEST_CASE("IOMMU: a free entry is for the oldest rejected fault, even if its page is mapped elsewhere") {
  PageTable table = page_on_gpu1();
  for (std::uint64_t i = 0; i < 3; ++i) table.map(kPage + 8 + i, physical(1, (20 + i) << 12));
  auto spec = spec_of(table);
  spec.params.fault_buffer = 2;
  MovingBench b(spec, {.requests = {{Time{100ns}, ask(kGpu1Page, 2, 1)},
                                    {Time{200ns}, ask(kPage + 8, 2, 2)},
                                    {Time{300ns}, ask(kPage + 9, 2, 3)},
                                    {Time{400ns}, ask(kPage + 10, 2, 4)}},
                       .mapped = {{Time{900ns}, responded(kGpu1Page, physical(2, 77 << 12))}}});
  std::vector<std::uint64_t> requested_again;
  for (auto const& r : b.out->records())
    if (auto const a = answer_in(r.message); a && a->found_by == FoundBy::replay)
      requested_again.push_back(a->page);
  CHECK(requested_again == std::vector<std::uint64_t>{kPage + 9});
  CHECK(b.iommu.state().faults.refused() == 1);
}

TEST_CASE(
    "IOMMU: after a rejected migration, the GPU gets the old frame and is invalidated when it is unmapped") {
  auto const table = page_on_gpu1();
  MovingBench b(spec_of(table), {.requests = {{Time{100ns}, ask(kGpu1Page, 2, 7)}},
                                 .mapped = {{Time{900ns}, responded(kGpu1Page, kHere)}},
                                 .moves = {{Time{900ns}, unmap(1, kGpu1Page, kHere)}},
                                 .invalidated = {{Time{1200ns}, {1}}, {Time{1300ns}, {1}}}});
  CHECK(found_by(*b.out) == Found{FoundBy::nothing, FoundBy::settled});
  CHECK(answer(*b.out, 1).frame == kHere);
  // After the replay, to both.
  CHECK(b.out->nanoseconds() == Times{150, 902, 903, 904});
  CHECK(b.receivers(MoveStep::unmap) == Nodes{11, 12});
  CHECK(b.unmapped->nanoseconds() == Times{1301});
}

TEST_CASE("IOMMU: GPUs with a page's new frame are invalidated at the next migration, others are not") {
  auto const table = page_on_gpu1();
  auto const there = physical(2, 77 << 12);
  auto spec = spec_of(table);
  spec.decision = test::chosen<PageDecision>("migrate", {{"after", "9"}});
  MovingBench b(spec, {.requests = {{Time{100ns}, ask(kGpu1Page, 2, 7)}, {Time{500ns}, ask(kGpu1Page, 0, 8)}},
                       .moves = {{Time{200ns}, unmap(0, kGpu1Page, kHere)},
                                 {Time{400ns}, remap(0, kGpu1Page, there)},
                                 {Time{800ns}, unmap(1, kGpu1Page, there)}},
                       .invalidated = {{Time{300ns}, {0}}, {Time{301ns}, {0}}}});
  CHECK(b.receivers(MoveStep::unmap) == Nodes{11, 12, 10, 12});
}

TEST_CASE("IOMMU: an unmapped page is removed from its own TLB") {
  auto const table = page_on_gpu1();
  auto const there = physical(2, 77 << 12);
  auto spec = spec_of(table);
  spec.params.walk_cache = 0;
  spec.decision = test::chosen<PageDecision>("migrate", {{"after", "9"}});
  MovingBench b(
      spec, {.requests = {{Time{100ns}, ask(kGpu1Page, 1, 1)},   // a walk
                          {Time{200ns}, ask(kGpu1Page, 1, 2)},   // a hit
                          {Time{500ns}, ask(kGpu1Page, 1, 3)},   // a walk
                          {Time{600ns}, ask(kGpu1Page, 1, 4)}},  // a hit
             .moves = {{Time{300ns}, unmap(0, kGpu1Page, kHere)}, {Time{400ns}, remap(0, kGpu1Page, there)}},
             .invalidated = {{Time{350ns}, {0}}}});
  std::vector<PhysAddr> frames;
  for (auto const& r : b.out->records())
    if (auto const a = answer_in(r.message)) frames.push_back(a->frame);
  CHECK(frames == std::vector<PhysAddr>{kHere, kHere, there, there});
  CHECK(b.iommu.state().by_requester[0].tlb_hits == 2);
  CHECK(b.iommu.state().walker.walks() == 2);
}

TEST_CASE(
    "IOMMU: faults recorded by GPUs have no entry, and the driver's response is sent to the recording GPU") {
  auto const table = page_on_gpu1();
  auto const there = physical(2, 77 << 12);
  auto spec = spec_of(table);
  spec.replays_first_touches = true;
  spec.recorded_by_gpus = 7;
  auto mapped = responded(kGpu1Page, there);
  mapped.entry = 4;
  mapped.gpu = 2;
  PageMapped const first{.page = 55,
                         .frame = physical(0, 3 << 12),
                         .entry = 9,
                         .size = 0,
                         .kind = FaultKind::not_mapped,
                         .gpu = 0};
  MovingBench b(
      spec, {.requests = {{Time{100ns}, ask(kGpu1Page, 2, 7)},
                          {Time{200ns}, ask(kGpu1Page, 0, 8)},
                          {Time{300ns}, ask(55, 0, 9)},
                          {Time{600ns}, ask(kPage, 0, 10)}},
             .mapped = {{Time{900ns}, mapped}, {Time{950ns}, first}},
             .moves = {{Time{500ns}, unmap(0, kPage, kHere)}, {Time{1000ns}, unmap(1, kGpu1Page, there)}}});
  CHECK(found_by(*b.out) == Found{FoundBy::unrecorded, FoundBy::unrecorded, FoundBy::unrecorded,
                                  FoundBy::unrecorded, FoundBy::settled, FoundBy::replay});
  std::vector<FaultKind> kinds;
  std::vector<Packet> replays;
  for (auto const& r : b.out->records()) {
    if (r.message.is<Replay>()) replays.push_back(r.message);
    if (!r.message.is<IommuResponse>()) continue;
    auto const m = r.message.as<IommuResponse>();
    kinds.push_back(m.kind);
    CHECK(m.frame == kNoFrame);
    CHECK(m.size == 0);
  }
  CHECK(kinds == std::vector<FaultKind>{FaultKind::remote, FaultKind::remote, FaultKind::not_mapped,
                                        FaultKind::moving});
  REQUIRE(replays.size() == 2);
  CHECK(replays[0].route.destination == 12);
  CHECK(replays[0].as<Replay>().entry == 4);
  CHECK(replays[0].as<Replay>().frame == there);
  CHECK(replays[1].route.destination == 10);
  CHECK(replays[1].as<Replay>().entry == 9);
  CHECK(b.faults->count() == 0);
  CHECK(b.first_touches->count() == 0);
  auto const& s = b.iommu.state();
  CHECK(s.faults.in_use() == 0);
  CHECK(s.by_requester[0].page_faults + s.by_requester[0].remote_faults + s.by_requester[0].merged_faults ==
        0);
  CHECK(s.table.find(55) == PageTranslation{physical(0, 3 << 12)});
  // kPage is on GPU 1. The location of kGpu1Page was sent only to GPU 2, where the page is resident: one
  // invalidation.
  CHECK(b.receivers(MoveStep::unmap) == Nodes{11, 12});
}

TEST_CASE("IOMMU: a GPU that records its faults is invalidated if a replay has sent it a remote frame") {
  auto const table = page_on_gpu1();
  auto spec = spec_of(table);
  spec.recorded_by_gpus = 6;
  auto refused = responded(kGpu1Page, kHere);
  refused.gpu = 2;
  MovingBench b(spec, {.requests = {{Time{100ns}, ask(kGpu1Page, 2, 7)}},
                       .mapped = {{Time{900ns}, refused}},
                       .moves = {{Time{1000ns}, unmap(1, kGpu1Page, kHere)}}});
  CHECK(b.receivers(MoveStep::unmap) == Nodes{11, 12});
}

}  // namespace iommu_migration_test
