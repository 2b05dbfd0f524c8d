// SPDX-License-Identifier: Apache-2.0
// Routers as parts: the predictor of GMMU bypass.
#include "farfault/translation/router.hpp"

#include <doctest/doctest.h>

#include <utility>

#include "policies.hpp"

namespace router_test {

using namespace farfault;

namespace {

Time us(std::int64_t n) {
  return Time{std::chrono::microseconds(n)};
}

// T1 0.85, T2 0.15, epochs of 10 us, counters of 8 bits.
struct Bypass {
  explicit Bypass(PolicyChoice<Router> c = PolicyChoice<Router>{"gmmu_bypass"})
      : choice(std::move(c)), router(choice.make({})) {}
  PolicyChoice<Router> choice;
  Policy<Router> router;
  PageTable table;

  Route route(Time now) { return router->route(TranslateRequest{1, 0}, table, now).to; }
  void observe(bool local, Time now) { router->observe({}, {}, local, now); }
  std::uint64_t stat(std::string_view name) const { return test::stat_of(choice, router, name); }
  std::uint64_t predictions() const {
    return stat("local_predictions") + stat("remote_predictions") + stat("undecided_requests");
  }
};

}  // namespace

TEST_CASE("the bypass predictor selects the GMMU above T1, the IOMMU below T2 and both in between") {
  auto decide = [&](int local, int remote) {
    Bypass predictor;
    for (int i = 0; i < local; ++i) predictor.observe(true, us(1));
    for (int i = 0; i < remote; ++i) predictor.observe(false, us(2));
    CHECK(predictor.route(us(9)) == Route::gmmu);  // during the first epoch
    return predictor.route(us(10));
  };
  CHECK(decide(86, 14) == Route::gmmu);
  CHECK(decide(85, 15) == Route::both);  // equal to T1 is not above it
  CHECK(decide(50, 50) == Route::both);
  CHECK(decide(15, 85) == Route::both);  // equal to T2 is not below it
  CHECK(decide(14, 86) == Route::iommu);
  CHECK(decide(1, 0) == Route::gmmu);
  CHECK(decide(0, 1) == Route::iommu);
}

TEST_CASE("an epoch ends exactly at a multiple of its length") {
  Bypass predictor;
  predictor.observe(false, Time{10us - Duration{1}});
  CHECK(predictor.route(Time{10us - Duration{1}}) == Route::gmmu);
  CHECK(predictor.route(Time{10us}) == Route::iommu);
  // An observation at the boundary belongs to the epoch that begins there.
  predictor.observe(true, Time{10us});
  CHECK(predictor.route(Time{20us - Duration{1}}) == Route::iommu);
  CHECK(predictor.route(Time{20us}) == Route::gmmu);
}

TEST_CASE("epochs without a translation keep the last decision") {
  Bypass predictor;
  predictor.observe(false, us(5));
  CHECK(predictor.route(us(12)) == Route::iommu);
  CHECK(predictor.route(us(25)) == Route::iommu);
  CHECK(predictor.route(us(999)) == Route::iommu);
  predictor.observe(true, us(1005));
  CHECK(predictor.route(us(1005)) == Route::iommu);
  CHECK(predictor.route(us(5000)) == Route::gmmu);  // however late the next one is
}

TEST_CASE("a saturated counter halves both, which preserves the ratio") {
  Bypass predictor;
  for (int i = 0; i < 100; ++i) predictor.observe(false, us(1));
  for (int i = 0; i < 255; ++i) predictor.observe(true, us(1));
  CHECK(predictor.stat("local_pages") == 255);
  CHECK(predictor.stat("remote_pages") == 100);
  predictor.observe(true, us(1));
  CHECK(predictor.stat("local_pages") == 128);
  CHECK(predictor.stat("remote_pages") == 50);
  predictor.observe(false, us(1));
  CHECK(predictor.stat("remote_pages") == 51);
  for (int i = 0; i < 100'000; ++i) predictor.observe(i % 10 == 0, us(2));
  CHECK(predictor.stat("local_pages") <= 255);
  CHECK(predictor.stat("remote_pages") <= 255);
  CHECK(predictor.route(us(10)) == Route::iommu);  // a tenth is local
}

TEST_CASE("a counter that sticks keeps its maximum, and the ratio tends to one half") {
  Bypass predictor(test::chosen<Router>("gmmu_bypass", {{"overflow", "sticks"}}));
  for (int i = 0; i < 1000; ++i) predictor.observe(true, us(1));
  for (int i = 0; i < 20; ++i) predictor.observe(false, us(1));
  CHECK(predictor.stat("local_pages") == 255);
  CHECK(predictor.stat("remote_pages") == 20);
  for (int i = 0; i < 130; ++i) predictor.observe(false, us(2));
  CHECK(predictor.stat("local_pages") == 255);
  CHECK(predictor.stat("remote_pages") == 150);
  CHECK(predictor.route(us(10)) == Route::both);  // 1000 of 1150 are local, 255 of 405 counted
}

TEST_CASE("a new epoch starts counting from zero") {
  Bypass predictor;
  for (int i = 0; i < 50; ++i) predictor.observe(false, us(1));
  predictor.observe(true, us(11));
  CHECK(predictor.stat("local_pages") == 1);
  CHECK(predictor.stat("remote_pages") == 0);
  CHECK(predictor.route(us(20)) == Route::gmmu);
}

TEST_CASE("an epoch counts as predicted correctly if its own ratio gives the same decision") {
  Bypass predictor;
  predictor.observe(false, us(5));   // no prediction
  predictor.observe(false, us(15));  // predicted remote, correct
  predictor.observe(false, us(25));  // again
  predictor.observe(true, us(35));   // predicted remote, local
  predictor.observe(false, us(36));  // and remote: between T1 and T2
  predictor.observe(true, us(45));   // no prediction
  // Epochs without a translation do not count.
  predictor.observe(true, us(75));   // predicted local, correct
  predictor.observe(true, us(85));   // again
  predictor.observe(false, us(95));  // predicted local, remote
  CHECK(predictor.route(us(100)) == Route::iommu);
  CHECK(predictor.stat("remote_epochs") == 3);
  CHECK(predictor.stat("correct_remote_epochs") == 2);
  CHECK(predictor.stat("local_epochs") == 3);
  CHECK(predictor.stat("correct_local_epochs") == 2);
}

TEST_CASE("the predictor has decided once an epoch with a translation is over") {
  Bypass predictor;
  static_cast<void>(predictor.route(us(15)));
  CHECK(predictor.predictions() == 0);
  predictor.observe(true, us(16));
  static_cast<void>(predictor.route(us(19)));
  CHECK(predictor.predictions() == 0);
  CHECK(predictor.route(us(20)) == Route::gmmu);
  CHECK(predictor.predictions() == 1);
}

}  // namespace router_test
