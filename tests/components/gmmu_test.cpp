// SPDX-License-Identifier: Apache-2.0
// Page walks of a GMMU, random load, and pages that leave its GPU.
#include <doctest/doctest.h>

#include "gmmu_bench.hpp"

namespace gmmu_test {

using namespace farfault;
using namespace farfault::gmmu_bench;

TEST_CASE("GMMU: a walk reads the entry of each level in sequence, and responds") {
  auto const table = one_page();
  GmmuBench b(spec_of("distributed", table), {{Time{100ns}, {kPage, 17}}});
  b.run();
  CHECK(b.reads() == kWalk);
  CHECK(b.cache->nanoseconds() == Times{102, 114, 126, 138});  // each 10 ns and a link each way
  for (auto const& r : b.cache->records()) {
    CHECK(r.message.from == 5);
    CHECK(r.message.bytes == 8);
    CHECK(r.message.access == Access::read);
  }
  CHECK(b.responses->nanoseconds() == Times{150});
  auto const& m = b.responses->records()[0].message;
  CHECK(m.page == kPage);
  CHECK(m.frame == local_frame(kPage));
  CHECK(b.iommu->records().empty());
  CHECK(b.gmmu.state().latency_ps == 49'000);
  CHECK(b.gmmu.waiting_for().empty());
}

TEST_CASE("GMMU: a walk with a fixed latency takes exactly that, reads nothing, and occupies a walker") {
  auto const table = one_page();
  auto spec = spec_of("distributed", table);
  spec.params.walk_latency = 100;
  spec.params.walkers = 1;
  spec.params.walk_cache = 0;
  GmmuBench b(spec, {{Time{100ns}, {kPage, 1}},
                     {Time{150ns}, {kPage + 1, 2}},
                     {Time{250ns}, {kRemote, 3}},
                     {Time{900ns}, {kPage, 4}}});
  b.run();
  CHECK(b.reads().empty());
  // A cycle of latency, the walk, and a link of 1 ns. The second and third walk start when the previous one
  // ends. The third page is unmapped, and the IOMMU answers a cycle, two links and 1 us later.
  CHECK(b.responses->nanoseconds() == Times{202, 302, 900 + 102, 401 + 1 + 1 + 1000 + 1 + 1});
  CHECK(b.iommu->nanoseconds() == Times{403});
  CHECK(b.gmmu.state().walker.walks() == 4);
  CHECK(b.gmmu.state().by_requester[0].walk_hits == 3);
  CHECK(b.gmmu.state().by_requester[0].walk_misses == 1);
  CHECK(b.gmmu.waiting_for().empty());
}

TEST_CASE(
    "GMMU: a response has the waiting time for its walk since its arrival, and the time of each stage") {
  auto const table = one_page();
  auto spec = spec_of("distributed", table);
  spec.params.walk_latency = 100;
  spec.params.walkers = 1;
  spec.params.pending = 1;  // the others wait outside
  spec.params.walk_cache = 0;
  GmmuBench b(spec, {{Time{100ns}, {kPage, 1}}, {Time{150ns}, {kPage + 1, 2}}, {Time{250ns}, {kRemote, 3}}});
  b.run();
  // A walk begins one cycle after a walker is free: at 101, 202 and 303 ns.
  REQUIRE(b.responses->nanoseconds() == Times{202, 303, 403 + 1 + 1 + 1000 + 1 + 1});
  auto const stages = [&](std::size_t i) {
    auto const& of = b.responses->records()[i].message.stages;
    return std::vector<std::uint64_t>{of.walk_queue, of.walk, of.link, of.iommu};
  };
  CHECK(stages(0) == std::vector<std::uint64_t>{1'000, 100'000, 0, 0});
  CHECK(stages(1) == std::vector<std::uint64_t>{52'000, 100'000, 0, 0});
  CHECK(stages(2) == std::vector<std::uint64_t>{53'000, 100'000, 1'003'000, 0});
}

TEST_CASE("GMMU: an entry is read from the slice selected by its address") {
  auto const table = one_page();
  auto spec = spec_of("distributed", table);
  spec.memory = AddressMap(4, 8);
  Bench b;
  auto& gmmu = b.system.add<Gmmu>("gmmu", spec);
  b.feed(gmmu.request, {{Time{100ns}, {kPage, 0}}});
  b.feed(gmmu.from_iommu, {});
  b.sinks(gmmu.response, 1);
  b.sink(gmmu.to_iommu);
  stop_migrations(b, gmmu);
  std::vector<Memory*> slices;
  std::vector<In<MemRequest>> ports;
  for (int i = 0; i < 4; ++i) {
    slices.push_back(&b.responder<MemRequest, MemResponse>(memory(always(10ns)), gmmu.entry_read));
    ports.push_back(slices.back()->request);
  }
  b.join_family(gmmu.read_entry, ports);
  b.run();
  for (std::size_t i = 0; i < 4; ++i) {  // the entries' numbers are 1, 2, 3 and 4
    REQUIRE(slices[i]->records().size() == 1);
    CHECK(slices[i]->records()[0].message.address == kWalk[i == 0 ? 3 : i - 1]);
  }
}

TEST_CASE("GMMU: the page-walk cache skips the levels that a neighbouring walk has read") {
  auto const table = one_page();
  auto spec = spec_of("distributed", table);
  GmmuBench with(spec, {{Time{100ns}, {kPage, 0}}, {Time{200ns}, {kPage + 1, 1}}});
  with.run();
  REQUIRE(with.reads().size() == 5);
  CHECK(with.reads()[4] == kTable + 0x3000 + 5 * 8);
  CHECK(with.responses->nanoseconds() == Times{150, 202 + 10 + 1 + 1});
  spec.params.walk_cache = 0;
  GmmuBench without(spec, {{Time{100ns}, {kPage, 0}}, {Time{200ns}, {kPage + 1, 1}}});
  without.run();
  CHECK(without.reads().size() == 8);
  CHECK(without.responses->nanoseconds() == Times{150, 250});
}

TEST_CASE("GMMU: walks beyond the number of walkers queue") {
  auto const table = one_page();
  auto spec = spec_of("distributed", table);
  spec.params.walkers = 1;
  spec.params.walk_cache = 0;
  GmmuBench b(spec, {{Time{100ns}, {kPage, 0}}, {Time{100ns}, {kPage + 1, 1}}});
  b.run();
  CHECK(b.responses->nanoseconds() == Times{150, 149 + 49});
}

TEST_CASE("GMMU: all walkers work in parallel") {
  auto const table = one_page();
  auto spec = spec_of("distributed", table);
  spec.params.walkers = 4;
  spec.params.walk_cache = 0;
  GmmuBench b(spec, std::vector<Record<TranslateRequest>>(6, {Time{100ns}, {kPage, 0}}));
  b.run();
  CHECK(b.responses->nanoseconds() == Times{150, 150, 150, 150, 198, 198});
}

TEST_CASE("GMMU: requests beyond the pending limit stall and are accepted in order") {
  auto const table = one_page();
  auto spec = spec_of("centralized", table);
  spec.params.pending = 2;
  std::vector<Record<TranslateRequest>> script;
  for (std::uint32_t i = 0; i < 6; ++i) script.push_back({Time{100ns}, {kRemote + i, i}});
  GmmuBench b(spec, script);
  b.run();
  CHECK(b.iommu->nanoseconds() == Times{102, 102, 1105, 1105, 2108, 2108});
  for (std::uint32_t i = 0; i < 6; ++i) CHECK(b.responses->records()[i].message.page == kRemote + i);
}

TEST_CASE("GMMU: under random load every policy answers every request exactly once with the right frame") {
  PageTable table(kTable, 12);
  auto const page_of = [](std::uint64_t n) { return (n * 0x9E3779B97F4A7C15ULL >> 44 & 0x3F) * 0x201; };
  auto const is_local = [](std::uint64_t page) { return page / 0x201 % 2 == 0; };
  auto const frame_of = [&](std::uint64_t page) {
    return is_local(page) ? local_frame(page) : remote_frame(page);
  };
  for (std::uint64_t page = 0; page < 64 * 0x201; page += 0x201)
    if (is_local(page)) table.map(page, frame_of(page));
  constexpr std::uint64_t kTotal = 5000;
  for (std::string_view const policy : {"distributed", "centralized", "gmmu_bypass", "oracle"}) {
    for (Duration const iommu_delay : {100ns, 2000ns}) {
      auto spec = spec_of(policy, table);
      spec.params.walkers = 3;
      spec.params.walk_cache = 4;
      spec.params.pending = 12;
      spec.queue = 64;
      if (policy == "gmmu_bypass") spec.router.policy = test::chosen<Router>(policy, {{"epoch", "1us"}});
      Bench b;
      auto& gmmu = b.system.add<Gmmu>("gmmu", spec);
      auto& client = b.system.add<Client<TranslateRequest, TranslateResponse>>(
          "client", {kTotal, 64, [&](std::uint64_t n) { return TranslateRequest{page_of(n)}; },
                     [&](TranslateResponse const& m) { return m.frame == frame_of(m.page); }});
      b.join(client.request, gmmu.request);
      b.join_family(gmmu.response, {client.response});
      auto& cache = b.responder<MemRequest, MemResponse>(memory(scattered(200ns, 3)), gmmu.entry_read);
      b.join_family(gmmu.read_entry, {cache.request});
      ResponderSpec<TranslateRequest, Packet> iommu_spec;
      iommu_spec.reply = [&](TranslateRequest const& m) {
        return Packet::of(IommuResponse{.page = m.page, .frame = frame_of(m.page), .tag = m.from});
      };
      iommu_spec.delay = scattered(iommu_delay, 4);
      auto& iommu = b.responder<TranslateRequest, Packet>(iommu_spec, gmmu.from_iommu);
      b.join(gmmu.to_iommu, iommu.request);
      stop_migrations(b, gmmu);
      b.begin(client);
      CHECK(b.run() == RunState::drained);
      CHECK(client.state().responded == kTotal);
      CHECK(client.state().wrong == 0);
      CHECK(gmmu.waiting_for().empty());
      auto const& s = gmmu.state().stats;
      auto const& of = gmmu.state().by_requester[0];
      CHECK(of.requests == kTotal);
      CHECK(s.responses == kTotal);
      CHECK(iommu.records().size() == of.iommu_requests);
      CHECK(cache.records().size() == gmmu.state().walker.reads());
      CHECK(of.walk_hits + of.walk_misses == gmmu.state().walker.walks());
      // Each walk hit and each IOMMU request ended as a response or a late response.
      CHECK(of.walk_hits + of.iommu_requests == s.responses + s.late_responses);
      if (policy == "gmmu_bypass")
        CHECK(s.late_responses > 100);
      else
        CHECK(s.late_responses == 0);
      if (policy == "oracle") CHECK(of.walk_misses == 0);
      if (policy == "centralized") CHECK(gmmu.state().walker.walks() == 0);
    }
  }
}

TEST_CASE(
    "GMMU: an invalidation clears the page's entry, is sent to the TLBs a cycle later, and is acknowledged") {
  auto const table = one_page();
  GmmuBench b(spec_of("distributed", table),
              {{Time{100ns}, {kPage, 1}}, {Time{300ns}, {kPage, 2}}, {Time{300ns}, {kPage + 1, 3}}}, 10ns,
              1000ns, {{Time{200ns}, {kPage, local_frame(kPage), 5}}}, {{Time{260ns}, {5}}});
  b.run();
  CHECK(b.tlb->nanoseconds() == Times{200 + 1 + 1});
  CHECK(b.tlb->records()[0].message.page == kPage);
  CHECK(b.tlb->records()[0].message.frame == local_frame(kPage));
  CHECK(b.acknowledged->nanoseconds() == Times{261});
  CHECK(b.acknowledged->records()[0].message.move == 5);
  // The page is found once; the next request is sent to the IOMMU. Its neighbour remains.
  CHECK(b.gmmu.state().by_requester[0].walk_hits == 2);
  REQUIRE(b.iommu->records().size() == 1);
  CHECK(b.iommu->records()[0].message.page == kPage);
}

TEST_CASE("GMMU: a flush of an evicted page ends when every slice with lines of it has dropped them") {
  auto const table = one_page();
  auto spec = spec_of("distributed", table);
  spec.slices_to_flush = 2;
  spec.moves = 4;
  GmmuBench b(
      spec, {}, 10ns, 1000ns,
      {{Time{200ns}, {kPage, local_frame(kPage), 3}},
       {Time{300ns}, {.page = kPage, .frame = local_frame(kPage), .move = 3, .step = MoveStep::flush}}},
      {{Time{260ns}, {3}}});
  auto const slices = b.sinks(b.gmmu.flush, 2);
  b.feed(b.gmmu.flushed, {{Time{400ns}, {3}}, {Time{420ns}, {3}}});
  b.run();
  CHECK(slices[0]->nanoseconds() == Times{301});
  REQUIRE(slices[1]->count() == 1);
  CHECK(slices[1]->records()[0].message.frame == local_frame(kPage));
  CHECK(slices[1]->records()[0].message.from == 1);
  CHECK(b.tlb->count() == 1);  // the flush is not sent to the TLBs
  CHECK(b.acknowledged->nanoseconds() == Times{261, 421});
  CHECK(b.acknowledged->records()[1].message.move == 3);
}

TEST_CASE(
    "GMMU: a page allocated by a program is added to the table immediately, and freed like an evicted page") {
  auto const table = one_page();
  constexpr std::uint64_t kLarge = 7 << 9;
  GmmuBench b(
      spec_of("distributed", table), {{Time{300ns}, {kLarge + 3, 1}}, {Time{600ns}, {kLarge + 4, 2}}}, 10ns,
      1000ns,
      {{Time{200ns}, {.page = kLarge, .frame = local_frame(0), .move = 5, .step = MoveStep::map, .size = 9}},
       {Time{500ns},
        {.page = kLarge, .frame = local_frame(0), .move = 6, .step = MoveStep::unmap, .size = 9}}},
      {{Time{560ns}, {6}}});
  b.run();
  CHECK(b.acknowledged->nanoseconds() == Times{201, 561});
  CHECK(b.acknowledged->records()[0].message.move == 5);
  REQUIRE(b.tlb->count() == 1);  // only the invalidation of the leaving page is sent to the TLBs
  CHECK(b.tlb->records()[0].message.size == 9);
  CHECK(b.gmmu.state().by_requester[0].walk_hits == 1);
  REQUIRE(b.iommu->records().size() == 1);
  CHECK(b.iommu->records()[0].message.page == kLarge + 4);
  CHECK(b.gmmu.state().stats.invalidations == 1);
}

TEST_CASE("GMMU: an outstanding walk does not find a page that is invalidated before its last read") {
  auto const table = one_page();
  // The last of the four reads returns at 149. An invalidation that arrives then is processed after it.
  for (auto const at : {140, 148}) {
    CAPTURE(at);
    GmmuBench b(spec_of("distributed", table), {{Time{100ns}, {kPage, 1}}}, 10ns, 1000ns,
                {{Time{at * 1ns}, {kPage, local_frame(kPage), 0}}});
    b.run();
    CHECK(b.gmmu.state().by_requester[0].walk_misses == 1);
    CHECK(b.iommu->records().size() == 1);
    CHECK(b.responses->count() == 1);
  }
}

TEST_CASE("GMMU: a response sent together with an invalidation reaches the TLBs first") {
  auto const table = one_page();
  GmmuBench b(spec_of("distributed", table), {{Time{100ns}, {kPage, 1}}}, 10ns, 1000ns,
              {{Time{150ns}, {kPage, local_frame(kPage), 0}}});
  b.run();
  CHECK(b.responses->nanoseconds() == Times{150});
  CHECK(b.tlb->nanoseconds() == Times{152});
}

TEST_CASE(
    "GMMU: a request for a page that the IOMMU reports as unmapped ends immediately, regardless of its "
    "walk") {
  auto const table = one_page();
  for (auto const* router : {"distributed", "centralized"}) {
    auto spec = spec_of(router, table);
    spec.params.pending = 1;
    GmmuBench b(spec, {{Time{100ns}, {500, 17}}, {Time{101ns}, {kPage, 18}}});
    b.not_mapped = 500;
    b.run();
    REQUIRE(b.responses->count() == 2);
    auto const& m = b.responses->records()[0].message;
    CHECK(m.found_by == FoundBy::nothing);
    CHECK(m.frame == kNoFrame);
    CHECK(m.page == 500);
    CHECK(b.responses->records()[1].message.page == kPage);
    CHECK(b.responses->records()[1].message.found_by ==
          (router == std::string_view("distributed") ? FoundBy::gmmu : FoundBy::iommu));
    CHECK_FALSE(b.gmmu.state().table.find(500));
    CHECK(b.gmmu.state().stats.faulted_responses == 1);
    CHECK(b.gmmu.waiting_for().empty());
  }
}

TEST_CASE("GMMU: a replay maps a page of this GPU, and is forwarded after earlier responses") {
  auto const table = one_page();
  GmmuBench b(spec_of("distributed", table), {{Time{100ns}, {500, 17}}, {Time{2000ns}, {500, 18}}});
  b.not_mapped = 500;
  auto const far = remote_frame(501);
  b.feed(b.gmmu.from_iommu,
         as_packets<Replay>({{Time{1500ns}, {.page = 500, .frame = local_frame(500)}},
                             {Time{1500ns}, {.page = 501, .frame = far, .found_by = FoundBy::settled}},
                             {Time{1500ns}, {.page = 502}}}));
  b.run();
  REQUIRE(b.responses->count() == 5);
  CHECK(b.responses->records()[0].message.found_by == FoundBy::nothing);
  for (std::size_t i = 1; i < 4; ++i) {
    CHECK(b.responses->records()[i].at == Time{1501ns});
    CHECK(b.responses->records()[i].message.found_by == (i == 2 ? FoundBy::settled : FoundBy::replay));
    CHECK(b.responses->records()[i].message.page == 499 + i);
  }
  CHECK(b.responses->records()[4].message.found_by == FoundBy::gmmu);  // walked here
  CHECK(b.responses->records()[4].message.frame == local_frame(500));
  CHECK(b.iommu->records().size() == 1);
  CHECK_FALSE(b.gmmu.state().table.find(501));
  CHECK_FALSE(b.gmmu.state().table.find(502));
  CHECK(b.gmmu.state().stats.replays == 3);
}

}  // namespace gmmu_test
