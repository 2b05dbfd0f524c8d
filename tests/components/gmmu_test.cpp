// A GMMU between an L2 TLB, an L2 cache and an IOMMU of mocks, clock 1 GHz, latency 1 cycle, links of 1 ns.
#include "farfault/components/gmmu.hpp"

#include <doctest/doctest.h>

#include "memory_mock.hpp"

using namespace farfault;
using namespace farfault::mock;

namespace {

using Times = std::vector<std::int64_t>;
using Addresses = std::vector<PhysAddr>;
using Iommu = Responder<TranslateRequest, TranslateResponse>;

constexpr PhysAddr kTable = 0x100'0000;
constexpr std::uint64_t kPage = ((1 * 512ULL + 2) * 512 + 3) * 512 + 4;  // in this GPU's memory
constexpr std::uint64_t kRemote = 99;                                    // in another's

PhysAddr local_frame(std::uint64_t page) {
  return physical(0, page << 12);
}
PhysAddr remote_frame(std::uint64_t page) {
  return physical(3, page << 12);
}

PageTable one_page() {
  PageTable table(kTable, 12);
  table.map(kPage, local_frame(kPage));
  table.map(kPage + 1, local_frame(kPage + 1));
  return table;
}

GmmuSpec spec_of(RouterPolicy policy, PageTable const& table) {
  GmmuSpec spec;
  spec.router.policy = policy;
  spec.memory = AddressMap(1, 256);
  spec.memory_port = 5;
  spec.preloaded = &table;
  return spec;
}

struct GmmuBench : Bench {
  GmmuBench(GmmuSpec spec, std::vector<Record<TranslateRequest>> script, Duration memory_delay = 10ns,
            Duration iommu_delay = 1000ns, std::vector<Record<Invalidate>> invalidations = {},
            std::vector<Record<Invalidated>> invalidated = {})
      : gmmu(system.add<Gmmu>("gmmu", std::move(spec))) {
    feed(gmmu.request, std::move(script));
    answers = &sink(gmmu.response);
    auto memory_spec = memory(always(memory_delay));
    cache = &responder<MemRequest, MemResponse>(memory_spec, gmmu.entry_read);
    join_family(gmmu.read_entry, {cache->request});
    ResponderSpec<TranslateRequest, TranslateResponse> iommu_spec;
    iommu_spec.reply = [this](TranslateRequest const& m) {
      bool const local = m.page >= kPage && m.page <= kPage + 1;
      bool const touched_first = first_touch && !local && m.page != kRemote;
      return TranslateResponse{m.page,
                               local || touched_first ? local_frame(m.page) : remote_frame(m.page),
                               m.asid,
                               m.from,
                               touched_first ? FoundBy::fault : FoundBy::table,
                               {}};
    };
    iommu_spec.delay = always(iommu_delay);
    iommu = &responder<TranslateRequest, TranslateResponse>(iommu_spec, gmmu.from_iommu);
    join(gmmu.to_iommu, iommu->request);
    feed(gmmu.invalidate, std::move(invalidations));
    feed(gmmu.invalidated, std::move(invalidated));
    tlb = &sink(gmmu.to_tlb);
    acknowledged = &sink(gmmu.acknowledge);
  }
  Addresses reads() const {
    Addresses all;
    for (auto const& r : cache->records()) all.push_back(r.message.address);
    return all;
  }
  Gmmu& gmmu;
  bool first_touch = false;
  Sink<TranslateResponse>* answers = nullptr;
  Memory* cache = nullptr;
  Iommu* iommu = nullptr;
  Sink<Invalidate>* tlb = nullptr;
  Sink<Invalidated>* acknowledged = nullptr;
};

void no_page_leaves(Bench& b, Gmmu& gmmu) {
  b.idle(gmmu.invalidate, gmmu.invalidated);
  b.sink(gmmu.to_tlb);
  b.sink(gmmu.acknowledge);
}

Addresses const kWalk{kTable + 1 * 8, kTable + 0x1000 + 2 * 8, kTable + 0x2000 + 3 * 8,
                      kTable + 0x3000 + 4 * 8};

}  // namespace

TEST_CASE("GMMU: a walk reads the entry of each level, one after the other, and answers") {
  auto const table = one_page();
  GmmuBench b(spec_of(RouterPolicy::distributed, table), {{Time{100ns}, {kPage, 2, 17}}});
  b.run();
  CHECK(b.reads() == kWalk);
  CHECK(b.cache->nanoseconds() == Times{102, 114, 126, 138});  // each 10 ns and a link there and back
  for (auto const& r : b.cache->records()) {
    CHECK(r.message.from == 5);
    CHECK(r.message.bytes == 8);
    CHECK(r.message.access == Access::read);
  }
  CHECK(b.answers->nanoseconds() == Times{150});
  auto const& m = b.answers->records()[0].message;
  CHECK(m.page == kPage);
  CHECK(m.frame == local_frame(kPage));
  CHECK(m.asid == 2);
  CHECK(m.tag == 17);
  CHECK(b.iommu->records().empty());
  CHECK(b.gmmu.state().latency_ps == 49'000);
  CHECK(b.gmmu.waiting_for().empty());
}

TEST_CASE("GMMU: a walk of fixed latency takes just that, reads nothing, and holds a walker meanwhile") {
  auto const table = one_page();
  auto spec = spec_of(RouterPolicy::distributed, table);
  spec.params.walk_latency = 100;
  spec.params.walkers = 1;
  spec.params.walk_cache = 0;
  GmmuBench b(spec, {{Time{100ns}, {kPage, 0, 1}},
                     {Time{150ns}, {kPage + 1, 0, 2}},
                     {Time{250ns}, {kRemote, 0, 3}},
                     {Time{900ns}, {kPage, 0, 4}}});
  b.run();
  CHECK(b.reads().empty());
  // A cycle of latency, the walk, a link of 1 ns; the second and third walk start when the one before ends.
  // The page of the third is not found, and the IOMMU answers, a cycle, two links and 1 us later.
  CHECK(b.answers->nanoseconds() == Times{202, 302, 900 + 102, 401 + 1 + 1 + 1000 + 1 + 1});
  CHECK(b.iommu->nanoseconds() == Times{403});
  CHECK(b.gmmu.state().walker.walks() == 4);
  CHECK(b.gmmu.state().stats.walk_hits == 3);
  CHECK(b.gmmu.state().stats.walk_misses == 1);
  CHECK(b.gmmu.waiting_for().empty());
}

TEST_CASE("GMMU: an entry is read from the slice that its address selects") {
  auto const table = one_page();
  auto spec = spec_of(RouterPolicy::distributed, table);
  spec.memory = AddressMap(4, 8);
  Bench b;
  auto& gmmu = b.system.add<Gmmu>("gmmu", spec);
  b.feed(gmmu.request, {{Time{100ns}, {kPage, 0, 0}}});
  b.feed(gmmu.from_iommu, {});
  b.sink(gmmu.response);
  b.sink(gmmu.to_iommu);
  no_page_leaves(b, gmmu);
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

TEST_CASE("GMMU: the page-walk cache skips the levels that a neighbour's walk has read") {
  auto const table = one_page();
  auto spec = spec_of(RouterPolicy::distributed, table);
  GmmuBench with(spec, {{Time{100ns}, {kPage, 0, 0}}, {Time{200ns}, {kPage + 1, 0, 1}}});
  with.run();
  REQUIRE(with.reads().size() == 5);
  CHECK(with.reads()[4] == kTable + 0x3000 + 5 * 8);
  CHECK(with.answers->nanoseconds() == Times{150, 202 + 10 + 1 + 1});
  spec.params.walk_cache = 0;
  GmmuBench without(spec, {{Time{100ns}, {kPage, 0, 0}}, {Time{200ns}, {kPage + 1, 0, 1}}});
  without.run();
  CHECK(without.reads().size() == 8);
  CHECK(without.answers->nanoseconds() == Times{150, 250});
}

TEST_CASE("GMMU: walks beyond the walkers queue") {
  auto const table = one_page();
  auto spec = spec_of(RouterPolicy::distributed, table);
  spec.params.walkers = 1;
  spec.params.walk_cache = 0;
  GmmuBench b(spec, {{Time{100ns}, {kPage, 0, 0}}, {Time{100ns}, {kPage + 1, 0, 1}}});
  b.run();
  CHECK(b.answers->nanoseconds() == Times{150, 149 + 49});
}

TEST_CASE("GMMU: every walker walks at the same time") {
  auto const table = one_page();
  auto spec = spec_of(RouterPolicy::distributed, table);
  spec.params.walkers = 4;
  spec.params.walk_cache = 0;
  GmmuBench b(spec, std::vector<Record<TranslateRequest>>(6, {Time{100ns}, {kPage, 0, 0}}));
  b.run();
  CHECK(b.answers->nanoseconds() == Times{150, 150, 150, 150, 198, 198});
}

TEST_CASE("GMMU distributed: a walk that finds no mapping is forwarded to the IOMMU") {
  auto const table = one_page();
  GmmuBench b(spec_of(RouterPolicy::distributed, table), {{Time{100ns}, {kRemote, 0, 3}}});
  b.run();
  CHECK(b.reads() == Addresses{kTable});  // the root's entry is not present
  CHECK(b.iommu->nanoseconds() == Times{113 + 1 + 1});
  CHECK(b.answers->nanoseconds() == Times{115 + 1000 + 1 + 1});
  CHECK(b.answers->records()[0].message.frame == remote_frame(kRemote));
  CHECK(b.gmmu.state().stats.walk_misses == 1);
  CHECK_FALSE(b.gmmu.state().table.find(kRemote).has_value());
}

TEST_CASE("GMMU centralized: every request goes to the IOMMU, no entry is read") {
  auto const table = one_page();
  GmmuBench b(spec_of(RouterPolicy::centralized, table),
              {{Time{100ns}, {kPage, 0, 1}}, {Time{100ns}, {kRemote, 0, 2}}});
  b.run();
  CHECK(b.reads().empty());
  CHECK(b.iommu->nanoseconds() == Times{102, 102});
  CHECK(b.answers->nanoseconds() == Times{1104, 1104});
}

TEST_CASE("GMMU oracle: a local page is walked for, a remote one is asked for") {
  auto const table = one_page();
  GmmuBench b(spec_of(RouterPolicy::oracle, table),
              {{Time{100ns}, {kPage, 0, 1}}, {Time{100ns}, {kRemote, 0, 2}}});
  b.run();
  CHECK(b.reads() == kWalk);
  CHECK(b.iommu->records().size() == 1);
  CHECK(b.answers->nanoseconds() == Times{150, 1104});
  CHECK(b.gmmu.state().stats.walk_misses == 0);
}

namespace {

// In the first epoch of 10 us one local and one remote page are seen, so that in the second both ways are
// taken.
std::vector<Record<TranslateRequest>> undecided(std::uint64_t page) {
  return {{Time{1us}, {kPage + 1, 0, 1}}, {Time{3us}, {kRemote, 0, 2}}, {Time{10us}, {page, 0, 3}}};
}

}  // namespace

TEST_CASE("GMMU bypass: asked both ways, the walk answers and the IOMMU's answer is discarded") {
  auto const table = one_page();
  GmmuBench b(spec_of(RouterPolicy::gmmu_bypass, table), undecided(kPage));
  b.run();
  REQUIRE(b.answers->count() == 3);
  CHECK(b.answers->nanoseconds()[2] == 10'000 + 2 + 10 + 1 + 1);  // one read: its neighbour's walk is cached
  CHECK(b.gmmu.state().stats.late_responses == 1);
  CHECK(b.gmmu.state().router_stats.undecided_requests == 1);
  CHECK(b.gmmu.state().router_stats.local_predictions == 0);  // the first epoch has nothing to predict from
  CHECK(b.iommu->records().size() == 2);
  CHECK(b.gmmu.waiting_for().empty());
}

TEST_CASE("GMMU bypass: asked both ways, the IOMMU answers and the walk is discarded") {
  auto const table = one_page();
  GmmuBench b(spec_of(RouterPolicy::gmmu_bypass, table), undecided(kPage), 100ns, 20ns);
  b.run();
  REQUIRE(b.answers->count() == 3);
  CHECK(b.answers->nanoseconds()[2] == 10'000 + 2 + 20 + 1 + 1);
  CHECK(b.gmmu.state().stats.late_responses == 1);
  CHECK(b.gmmu.state().stats.responses == 3);
  CHECK(b.gmmu.waiting_for().empty());
}

TEST_CASE("GMMU bypass: asked both ways for a remote page, a walk that finds nothing is no answer") {
  for (Duration const iommu_delay : {5ns, 500ns}) {  // before and after the walk ends
    auto const table = one_page();
    GmmuBench b(spec_of(RouterPolicy::gmmu_bypass, table), undecided(kRemote + 1), 10ns, iommu_delay);
    b.run();
    REQUIRE(b.answers->count() == 3);
    CHECK(b.answers->records()[2].message.frame == remote_frame(kRemote + 1));
    CHECK(Time{10us} + 2ns + iommu_delay + 2ns == b.answers->records()[2].at);
    CHECK(b.gmmu.state().stats.late_responses == 0);
    CHECK(b.iommu->records().size() == 2);  // not asked again
    CHECK(b.gmmu.waiting_for().empty());
  }
}

TEST_CASE(
    "GMMU bypass: after an epoch of remote pages the IOMMU alone is asked, after one of local ones the "
    "GMMU") {
  auto const table = one_page();
  GmmuBench b(spec_of(RouterPolicy::gmmu_bypass, table),
              {{Time{1us}, {kRemote, 0, 1}}, {Time{10us}, {kPage, 0, 2}}, {Time{20us}, {kPage, 0, 3}}});
  b.run();
  auto const& r = b.gmmu.state().router_stats;
  CHECK(r.remote_predictions == 1);
  CHECK(r.correct_remote_predictions == 0);
  CHECK(r.local_predictions == 1);
  CHECK(r.correct_local_predictions == 1);
  CHECK(b.reads().size() == 1 + 4);  // the root for the first, a walk for the last
  CHECK(b.iommu->records().size() == 2);
}

TEST_CASE("GMMU: a page that the IOMMU puts into this GPU's memory is in its table from then on") {
  auto const table = one_page();
  GmmuBench b(spec_of(RouterPolicy::distributed, table),
              {{Time{100ns}, {500, 0, 1}}, {Time{5us}, {500, 0, 2}}});
  b.first_touch = true;
  b.run();
  CHECK(b.answers->count() == 2);
  CHECK(b.iommu->records().size() == 1);
  CHECK(b.gmmu.state().table.find(500) == local_frame(500));
  CHECK(b.answers->records()[1].message.frame == local_frame(500));
  CHECK(b.reads().size() == 1 + 4);
}

TEST_CASE("GMMU bypass: a page that a fault puts into this GPU's memory is not local, whoever was asked") {
  auto const table = one_page();
  GmmuBench remote(spec_of(RouterPolicy::gmmu_bypass, table), {{Time{1us}, {kRemote, 0, 1}},  // walked for
                                                               {Time{10us}, {500, 0, 2}},  // the IOMMU alone
                                                               {Time{12us}, {501, 0, 3}},  // is asked
                                                               {Time{20us}, {502, 0, 4}},  // still
                                                               {Time{25us}, {kPage, 0, 5}}});  // a local page
  remote.first_touch = true;
  remote.run();
  auto const& r = remote.gmmu.state().router_stats;
  CHECK(r.remote_predictions == 4);
  CHECK(r.correct_remote_predictions == 3);
  CHECK(r.local_predictions == 0);
  CHECK(r.correct_local_predictions == 0);
  CHECK(remote.gmmu.state().walker.walks() == 1);
  CHECK(remote.gmmu.state().predictor.local() == 1);
  CHECK(remote.gmmu.state().predictor.remote() == 1);
  CHECK(remote.gmmu.state().table.find(502) == local_frame(502));

  GmmuBench local(spec_of(RouterPolicy::gmmu_bypass, table), {{Time{1us}, {kPage, 0, 1}},
                                                              {Time{10us}, {500, 0, 2}},  // the GMMU alone
                                                              {Time{15us}, {kPage, 0, 3}}});  // is asked
  local.first_touch = true;
  local.run();
  auto const& l = local.gmmu.state().router_stats;
  CHECK(l.local_predictions == 2);
  CHECK(l.correct_local_predictions == 1);
  CHECK(l.remote_predictions == 0);
}

TEST_CASE("GMMU: requests beyond the pending ones stall and are taken in order") {
  auto const table = one_page();
  auto spec = spec_of(RouterPolicy::centralized, table);
  spec.params.pending = 2;
  std::vector<Record<TranslateRequest>> script;
  for (std::uint32_t i = 0; i < 6; ++i) script.push_back({Time{100ns}, {kRemote + i, 0, i}});
  GmmuBench b(spec, script);
  b.run();
  CHECK(b.iommu->nanoseconds() == Times{102, 102, 1105, 1105, 2108, 2108});
  for (std::uint32_t i = 0; i < 6; ++i) CHECK(b.answers->records()[i].message.tag == i);
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
  for (auto const policy : {RouterPolicy::distributed, RouterPolicy::centralized, RouterPolicy::gmmu_bypass,
                            RouterPolicy::oracle}) {
    for (Duration const iommu_delay : {100ns, 2000ns}) {
      auto spec = spec_of(policy, table);
      spec.params.walkers = 3;
      spec.params.walk_cache = 4;
      spec.params.pending = 12;
      spec.queue = 64;
      spec.router.epoch = 1us;
      Bench b;
      auto& gmmu = b.system.add<Gmmu>("gmmu", spec);
      auto& client = b.system.add<Client<TranslateRequest, TranslateResponse>>(
          "client", {kTotal, 64,
                     [&](std::uint64_t n) {
                       return TranslateRequest{page_of(n), 0, static_cast<std::uint32_t>(n)};
                     },
                     [&](TranslateResponse const& m) {
                       return m.page == page_of(m.tag) && m.frame == frame_of(m.page);
                     }});
      b.join(client.request, gmmu.request);
      b.join(gmmu.response, client.response);
      auto& cache = b.responder<MemRequest, MemResponse>(memory(scattered(200ns, 3)), gmmu.entry_read);
      b.join_family(gmmu.read_entry, {cache.request});
      ResponderSpec<TranslateRequest, TranslateResponse> iommu_spec;
      iommu_spec.reply = [&](TranslateRequest const& m) {
        return TranslateResponse{m.page, frame_of(m.page), m.asid, m.from};
      };
      iommu_spec.delay = scattered(iommu_delay, 4);
      auto& iommu = b.responder<TranslateRequest, TranslateResponse>(iommu_spec, gmmu.from_iommu);
      b.join(gmmu.to_iommu, iommu.request);
      no_page_leaves(b, gmmu);
      b.begin(client);
      CHECK(b.run() == RunState::drained);
      CHECK(client.each_answered_once());
      CHECK(gmmu.waiting_for().empty());
      auto const& s = gmmu.state().stats;
      CHECK(s.requests == kTotal);
      CHECK(s.responses == kTotal);
      CHECK(iommu.records().size() == s.iommu_requests);
      CHECK(cache.records().size() == gmmu.state().walker.reads());
      CHECK(s.walk_hits + s.walk_misses == gmmu.state().walker.walks());
      // Whatever found a frame was an answer or came second.
      CHECK(s.walk_hits + s.iommu_requests == s.responses + s.late_responses);
      if (policy == RouterPolicy::gmmu_bypass)
        CHECK(s.late_responses > 100);
      else
        CHECK(s.late_responses == 0);
      if (policy == RouterPolicy::oracle) CHECK(s.walk_misses == 0);
      if (policy == RouterPolicy::centralized) CHECK(gmmu.state().walker.walks() == 0);
    }
  }
}

TEST_CASE("GMMU bypass: the end of a walk tells the predictor, not the IOMMU's answer long after") {
  auto const table = one_page();
  // Asked at 9 us, the walk ends in the first epoch, the IOMMU answers in the second.
  GmmuBench b(
      spec_of(RouterPolicy::gmmu_bypass, table),
      {{Time{9us}, {kRemote, 0, 1}}, {Time{10500ns}, {kRemote + 1, 0, 2}}, {Time{25us}, {kPage, 0, 3}}}, 10ns,
      5us);
  b.run();
  auto const& r = b.gmmu.state().router_stats;
  CHECK(r.remote_predictions == 2);
  CHECK(r.correct_remote_predictions == 1);
  CHECK(b.gmmu.state().walker.walks() == 1);
}

TEST_CASE(
    "GMMU: an invalidation clears the page's entry, goes to the TLBs a cycle later, and is acknowledged") {
  auto const table = one_page();
  GmmuBench b(spec_of(RouterPolicy::distributed, table),
              {{Time{100ns}, {kPage, 0, 1}}, {Time{300ns}, {kPage, 0, 2}}, {Time{300ns}, {kPage + 1, 0, 3}}},
              10ns, 1000ns, {{Time{200ns}, {kPage, local_frame(kPage), 0, 5}}}, {{Time{260ns}, {5}}});
  b.run();
  CHECK(b.tlb->nanoseconds() == Times{200 + 1 + 1});
  CHECK(b.tlb->records()[0].message.page == kPage);
  CHECK(b.tlb->records()[0].message.frame == local_frame(kPage));
  CHECK(b.acknowledged->nanoseconds() == Times{261});
  CHECK(b.acknowledged->records()[0].message.move == 5);
  // The page is found once, then the IOMMU is asked; its neighbour is still there.
  CHECK(b.gmmu.state().stats.walk_hits == 2);
  REQUIRE(b.iommu->records().size() == 1);
  CHECK(b.iommu->records()[0].message.page == kPage);
}

TEST_CASE("GMMU: a page of this GPU has left when every slice that may hold lines of it has dropped them") {
  auto const table = one_page();
  auto spec = spec_of(RouterPolicy::distributed, table);
  spec.slices_to_flush = 2;
  spec.moves = 4;
  GmmuBench b(spec, {}, 10ns, 1000ns,
              {{Time{200ns}, {kPage, local_frame(kPage), 0, 3}},
               {Time{210ns}, {kRemote, remote_frame(kRemote), 0, 1}}},
              {{Time{260ns}, {3}}, {Time{270ns}, {1}}});
  auto const slices = b.sinks(b.gmmu.flush, 2);
  b.feed(b.gmmu.flushed, {{Time{400ns}, {3}}, {Time{420ns}, {3}}});
  b.run();
  CHECK(slices[0]->nanoseconds() == Times{261});
  REQUIRE(slices[1]->count() == 1);
  CHECK(slices[1]->records()[0].message.frame == local_frame(kPage));
  CHECK(slices[1]->records()[0].message.from == 1);
  // The other one's lines are in another GPU's slices.
  CHECK(b.acknowledged->nanoseconds() == Times{271, 421});
  CHECK(b.acknowledged->records()[1].message.move == 3);
}

TEST_CASE("GMMU: a walk under way does not find a page that is invalidated before its last entry is read") {
  auto const table = one_page();
  // The last of the four reads is back at 149; what comes with it comes behind it.
  for (auto const at : {140, 148}) {
    CAPTURE(at);
    GmmuBench b(spec_of(RouterPolicy::distributed, table), {{Time{100ns}, {kPage, 0, 1}}}, 10ns, 1000ns,
                {{Time{at * 1ns}, {kPage, local_frame(kPage), 0, 0}}});
    b.run();
    CHECK(b.gmmu.state().stats.walk_misses == 1);
    CHECK(b.iommu->records().size() == 1);
    CHECK(b.answers->count() == 1);
  }
}

TEST_CASE("GMMU: an answer that leaves with an invalidation is before it at the TLBs") {
  auto const table = one_page();
  GmmuBench b(spec_of(RouterPolicy::distributed, table), {{Time{100ns}, {kPage, 0, 1}}}, 10ns, 1000ns,
              {{Time{150ns}, {kPage, local_frame(kPage), 0, 0}}});
  b.run();
  CHECK(b.answers->nanoseconds() == Times{150});
  CHECK(b.tlb->nanoseconds() == Times{152});
}
