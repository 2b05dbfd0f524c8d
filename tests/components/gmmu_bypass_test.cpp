// SPDX-License-Identifier: Apache-2.0
// Requests of a GMMU under each routing policy, and the answer that it uses (GMMU Bypass).
#include <doctest/doctest.h>

#include "gmmu_bench.hpp"

namespace gmmu_bypass_test {

using namespace farfault;
using namespace farfault::gmmu_bench;

TEST_CASE("GMMU distributed: a walk that finds no mapping is forwarded to the IOMMU") {
  auto const table = one_page();
  GmmuBench b(spec_of("distributed", table), {{Time{100ns}, {kRemote, 3}}});
  b.run();
  CHECK(b.reads() == Addresses{kTable});  // the root's entry is not present
  CHECK(b.iommu->nanoseconds() == Times{113 + 1 + 1});
  CHECK(b.responses->nanoseconds() == Times{115 + 1000 + 1 + 1});
  CHECK(b.responses->records()[0].message.frame == remote_frame(kRemote));
  CHECK(b.gmmu.state().by_requester[0].walk_misses == 1);
  CHECK_FALSE(b.gmmu.state().table.find(kRemote).has_value());
}

TEST_CASE("GMMU: a response identifies the translator: the GPU's own walk, the IOMMU, or a fault there") {
  auto const table = one_page();
  for (auto const& [router, own] :
       {std::pair{"distributed", FoundBy::gmmu}, std::pair{"centralized", FoundBy::iommu}}) {
    GmmuBench b(spec_of(router, table), {{Time{1us}, {kPage, 1}},
                                         {Time{4us}, {kRemote, 2}},
                                         {Time{7us}, {500, 3}},  // a first touch
                                         {Time{10us}, {500, 4}}});
    b.first_touch = true;
    b.run();
    auto const again = own == FoundBy::gmmu ? own : FoundBy::fault;  // the mock maps it again
    CHECK(found_by(*b.responses) == Found{own, FoundBy::iommu, FoundBy::fault, again});
  }
}

TEST_CASE("GMMU centralized: every request is sent to the IOMMU, and no entry is read") {
  auto const table = one_page();
  GmmuBench b(spec_of("centralized", table), {{Time{100ns}, {kPage, 1}}, {Time{100ns}, {kRemote, 2}}});
  b.run();
  CHECK(b.reads().empty());
  CHECK(b.iommu->nanoseconds() == Times{102, 102});
  CHECK(b.responses->nanoseconds() == Times{1104, 1104});
}

TEST_CASE("GMMU oracle: a local page is walked, a remote one is requested from the IOMMU") {
  auto const table = one_page();
  GmmuBench b(spec_of("oracle", table), {{Time{100ns}, {kPage, 1}}, {Time{100ns}, {kRemote, 2}}});
  b.run();
  CHECK(b.reads() == kWalk);
  CHECK(b.iommu->records().size() == 1);
  CHECK(b.responses->nanoseconds() == Times{150, 1104});
  CHECK(b.gmmu.state().by_requester[0].walk_misses == 0);
}

namespace {

// The first epoch of 10 us has one local and one remote page, so the second epoch uses both paths.
std::vector<Record<TranslateRequest>> undecided(std::uint64_t page) {
  return {{Time{1us}, {kPage + 1, 1}}, {Time{3us}, {kRemote, 2}}, {Time{10us}, {page, 3}}};
}

}  // namespace

TEST_CASE(
    "GMMU bypass: with both paths in use, the walk responds first and the IOMMU's response is discarded") {
  auto const table = one_page();
  GmmuBench b(spec_of("gmmu_bypass", table), undecided(kPage));
  b.run();
  REQUIRE(b.responses->count() == 3);
  CHECK(b.responses->nanoseconds()[2] ==
        10'000 + 2 + 10 + 1 + 1);  // one read: its neighbour's walk is cached
  CHECK(found_by(*b.responses) == Found{FoundBy::gmmu, FoundBy::iommu, FoundBy::gmmu});
  CHECK(b.gmmu.state().stats.late_responses == 1);
  CHECK(b.router("undecided_requests") == 1);
  CHECK(b.router("local_predictions") == 0);  // the first epoch has nothing to predict from
  CHECK(b.iommu->records().size() == 2);
  CHECK(b.gmmu.waiting_for().empty());
}

TEST_CASE("GMMU bypass: with both paths in use, the IOMMU responds first and the walk is discarded") {
  auto const table = one_page();
  GmmuBench b(spec_of("gmmu_bypass", table), undecided(kPage), 100ns, 20ns);
  b.run();
  REQUIRE(b.responses->count() == 3);
  CHECK(b.responses->nanoseconds()[2] == 10'000 + 2 + 20 + 1 + 1);
  CHECK(found_by(*b.responses) == Found{FoundBy::gmmu, FoundBy::iommu, FoundBy::iommu});
  CHECK(b.gmmu.state().stats.late_responses == 1);
  CHECK(b.gmmu.state().stats.responses == 3);
  CHECK(b.gmmu.waiting_for().empty());
}

TEST_CASE("GMMU bypass: with both paths in use for a remote page, an unsuccessful walk is not a response") {
  for (Duration const iommu_delay : {5ns, 500ns}) {  // before and after the walk ends
    auto const table = one_page();
    GmmuBench b(spec_of("gmmu_bypass", table), undecided(kRemote + 1), 10ns, iommu_delay);
    b.run();
    REQUIRE(b.responses->count() == 3);
    CHECK(b.responses->records()[2].message.frame == remote_frame(kRemote + 1));
    CHECK(Time{10us} + 2ns + iommu_delay + 2ns == b.responses->records()[2].at);
    CHECK(b.gmmu.state().stats.late_responses == 0);
    CHECK(b.iommu->records().size() == 2);  // not requested again
    CHECK(b.gmmu.waiting_for().empty());
  }
}

TEST_CASE(
    "GMMU bypass: an epoch of remote pages selects only the IOMMU, an epoch of local pages only the GMMU") {
  auto const table = one_page();
  GmmuBench b(spec_of("gmmu_bypass", table),
              {{Time{1us}, {kRemote, 1}}, {Time{10us}, {kPage, 2}}, {Time{20us}, {kPage, 3}}});
  b.run();
  CHECK(b.router("remote_predictions") == 1);
  CHECK(b.router("correct_remote_predictions") == 0);
  CHECK(b.router("local_predictions") == 1);
  CHECK(b.router("correct_local_predictions") == 1);
  CHECK(b.reads().size() == 1 + 4);  // the root for the first, a walk for the last
  CHECK(b.iommu->records().size() == 2);
}

TEST_CASE("GMMU: a page that the IOMMU maps in this GPU's memory is added to its table") {
  auto const table = one_page();
  GmmuBench b(spec_of("distributed", table), {{Time{100ns}, {500, 1}}, {Time{5us}, {500, 2}}});
  b.first_touch = true;
  b.run();
  CHECK(b.responses->count() == 2);
  CHECK(b.iommu->records().size() == 1);
  CHECK(b.gmmu.state().table.find(500) == PageTranslation{local_frame(500)});
  CHECK(b.responses->records()[1].message.frame == local_frame(500));
  CHECK(b.reads().size() == 1 + 4);
}

TEST_CASE("GMMU bypass: a page that a fault maps in this GPU's memory is not local on any path") {
  auto const table = one_page();
  GmmuBench remote(spec_of("gmmu_bypass", table), {{Time{1us}, {kRemote, 1}},   // walked for
                                                   {Time{10us}, {500, 2}},      // IOMMU only
                                                   {Time{12us}, {501, 3}},      // is used
                                                   {Time{20us}, {502, 4}},      // still used
                                                   {Time{25us}, {kPage, 5}}});  // a local page
  remote.first_touch = true;
  remote.run();
  CHECK(remote.router("remote_predictions") == 4);
  CHECK(remote.router("correct_remote_predictions") == 3);
  CHECK(remote.router("local_predictions") == 0);
  CHECK(remote.router("correct_local_predictions") == 0);
  CHECK(remote.gmmu.state().walker.walks() == 1);
  CHECK(remote.router("local_pages") == 1);
  CHECK(remote.router("remote_pages") == 1);
  CHECK(remote.gmmu.state().table.find(502) == PageTranslation{local_frame(502)});

  GmmuBench local(spec_of("gmmu_bypass", table), {{Time{1us}, {kPage, 1}},
                                                  {Time{10us}, {500, 2}},      // GMMU only
                                                  {Time{15us}, {kPage, 3}}});  // is used
  local.first_touch = true;
  local.run();
  CHECK(local.router("local_predictions") == 2);
  CHECK(local.router("correct_local_predictions") == 1);
  CHECK(local.router("remote_predictions") == 0);
}

TEST_CASE("GMMU bypass: the predictor is updated at the end of a walk, not at the IOMMU's later response") {
  auto const table = one_page();
  // Requested at 9 us: the walk ends in the first epoch, the IOMMU answers in the second.
  GmmuBench b(spec_of("gmmu_bypass", table),
              {{Time{9us}, {kRemote, 1}}, {Time{10500ns}, {kRemote + 1, 2}}, {Time{25us}, {kPage, 3}}}, 10ns,
              5us);
  b.run();
  CHECK(b.router("remote_predictions") == 2);
  CHECK(b.router("correct_remote_predictions") == 1);
  CHECK(b.gmmu.state().walker.walks() == 1);
}

}  // namespace gmmu_bypass_test
