// SPDX-License-Identifier: Apache-2.0
// The tokens of MASK's L2 TLB fill policy, with given miss rates: epochs of 1,000 cycles of 1 ns.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "choices.hpp"
#include "farfault/translation/tlb_fill.hpp"
#include "policies.hpp"

namespace tokens_test {

using namespace farfault;
using test::kLru;

namespace {

using Settings = std::vector<test::Setting>;

// Two applications: the first on SMs 2 and 5, the second on SM 7.
class Fill {
 public:
  explicit Fill(Settings settings = {})
      : choice_(chosen(std::move(settings))), fill_(choice_.make(setup())) {}

  // An epoch in which warps 0 to 4 of each SM of the first application (ten warps) make 1,000 requests with
  // the given number of misses.
  void epoch(std::uint32_t misses) {
    for (std::uint32_t i = 0; i < 1000; ++i)
      fill_->looked_up(
          {static_cast<std::uint16_t>(i % 2 == 0 ? 2 : 5), 0, static_cast<std::uint8_t>(i / 2 % 5)},
          i >= misses, now());
    ++epochs_;
  }
  void requests(TlbFill::Requester const& requester, std::uint32_t n, bool hit = false) {
    for (std::uint32_t i = 0; i < n; ++i) fill_->looked_up(requester, hit, now());
  }
  void next_epoch() { ++epochs_; }
  // At the beginning of the current epoch.
  std::uint64_t tokens() {
    fill_->fills({2, 0, 0}, now());
    fill_->fills({7, 1, 0}, now());
    return test::stat_of(choice_, fill_, "tokens");
  }
  bool fills(std::uint16_t sm, std::uint8_t warp, std::uint8_t application = 0) {
    return fill_->fills({sm, application, warp}, now());
  }
  std::uint64_t stat(std::string_view name) const { return test::stat_of(choice_, fill_, name); }
  TlbFill& operator*() { return *fill_; }

 private:
  static PolicyChoice<TlbFill> chosen(Settings settings) {
    settings.insert(settings.begin(), {"epoch", "1000"});
    return test::chosen<TlbFill>("tokens", settings);
  }
  static TlbFill::Setup setup() {
    return {.clock = Clock{1'000'000'000},
            .sms = {{2, 5}, {7}},
            .page_bits = 12,
            .page_sizes = 1,
            .replacement = &kLru};
  }
  Time now() const { return Time{epochs_ * 1000ns + 1ns}; }

  PolicyChoice<TlbFill> choice_;
  Policy<TlbFill> fill_;
  std::int64_t epochs_ = 0;
};

std::vector<std::uint64_t> tokens_after(Fill& fill, std::vector<std::uint32_t> const& misses) {
  std::vector<std::uint64_t> all;
  for (auto const m : misses) {
    fill.epoch(m);
    all.push_back(fill.tokens());
  }
  return all;
}

}  // namespace

TEST_CASE(
    "tokens: 80% of the warps after the first epoch; then a tenth more or fewer if the miss rate changes by "
    "over two points") {
  Fill fill;
  CHECK(tokens_after(fill, {500, 500, 520, 541, 600, 579, 560, 539, 100}) ==
        std::vector<std::uint64_t>{8, 8, 8, 7, 6, 7, 7, 8, 9});
  CHECK(fill.stat("decreases") == 2);
  CHECK(fill.stat("increases") == 3);
}

TEST_CASE("tokens: with a relative change, two percent of the previous rate") {
  Fill fill(Settings{{"change", "relative"}});
  CHECK(tokens_after(fill, {500, 490, 500, 521, 520, 509, 0, 0, 1, 0}) ==
        std::vector<std::uint64_t>{8, 8, 7, 6, 6, 7, 8, 8, 7, 8});
}

TEST_CASE(
    "tokens: with hill climbing, a higher miss rate reverses the last change, and a lower one repeats it") {
  // Decreases from all tokens after the first epoch; increases at the end up to all tokens, and no further.
  std::vector<std::uint32_t> const misses{500, 400, 300, 310, 400, 300, 200, 100, 50, 20, 0, 100, 50};
  Fill climbing(Settings{{"direction", "hill_climbing"}});
  CHECK(tokens_after(climbing, misses) ==
        std::vector<std::uint64_t>{8, 7, 6, 6, 7, 8, 9, 10, 10, 10, 10, 9, 8});
  CHECK(climbing.stat("increases") == 4);
  CHECK(climbing.stat("decreases") == 4);
  Fill none(Settings{{"direction", "none"}});
  CHECK(tokens_after(none, misses) ==
        std::vector<std::uint64_t>{8, 9, 10, 10, 9, 10, 10, 10, 10, 10, 10, 9, 10});
}

TEST_CASE("tokens: the counted warps have made a request since the start, or in the epoch") {
  for (bool const of_epoch : {false, true}) {
    CAPTURE(of_epoch);
    Fill fill(Settings{{"warps", of_epoch ? "epoch" : "start"}, {"initial", "1.0"}, {"step", "0"}});
    fill.requests({5, 0, 9}, 10);
    fill.next_epoch();
    CHECK(fill.tokens() == 20);
    fill.requests({2, 0, 3}, 10);
    fill.next_epoch();
    CHECK(fill.tokens() == (of_epoch ? 8 : 20));
    fill.next_epoch();
    CHECK(fill.tokens() == (of_epoch ? 8 : 20));  // an epoch without requests changes nothing
    fill.requests({2, 0, 4}, 10);
    fill.next_epoch();
    CHECK(fill.tokens() == (of_epoch ? 10 : 20));
  }
}

TEST_CASE("tokens: the number is between zero and the number of warps") {
  Fill rising(Settings{{"step", "0.5"}});
  CHECK(tokens_after(rising, {0, 100, 200, 300, 300, 200, 100, 0, 0}) ==
        std::vector<std::uint64_t>{8, 3, 0, 0, 0, 5, 10, 10, 10});
  CHECK(rising.stat("decreases") == 2);
  CHECK(rising.stat("increases") == 2);
}

TEST_CASE(
    "tokens: the first warp of each SM is served first, then the second of each; all fill in the first "
    "epoch") {
  Fill fill;
  for (std::uint8_t warp = 0; warp < 64; ++warp) CHECK(fill.fills(5, warp));
  fill.epoch(500);
  fill.epoch(600);
  CHECK(fill.tokens() == 7);
  for (std::uint8_t warp = 0; warp < 64; ++warp) {
    CAPTURE(int{warp});
    CHECK(fill.fills(2, warp) == (warp < 4));
    CHECK(fill.fills(5, warp) == (warp < 3));
  }
  CHECK(fill.fills(40, 9));  // a scalar cache
}

TEST_CASE(
    "tokens: applications are counted separately, from their first request on; an epoch without any changes "
    "nothing") {
  Fill fill;
  fill.epoch(500);
  fill.next_epoch();
  fill.next_epoch();
  CHECK(fill.tokens() == 8);
  fill.requests({7, 1, 0}, 10);
  CHECK(fill.fills(7, 63, 1));  // its first epoch
  fill.requests({7, 1, 3}, 10);
  fill.next_epoch();
  CHECK(fill.tokens() == 8 + 3);  // 0.8 of four warps
  CHECK(fill.fills(7, 2, 1));
  CHECK_FALSE(fill.fills(7, 3, 1));
  fill.epoch(900);  // first application, after its pause
  CHECK(fill.tokens() == 7 + 3);
}

TEST_CASE("tokens: an application's warps per SM are its highest slot with a request on any SM") {
  Fill fill;
  fill.requests({5, 0, 9}, 10, false);
  fill.next_epoch();
  CHECK(fill.tokens() == 16);  // 0.8 of ten warps on each of two SMs
  CHECK(fill.fills(2, 7));
  CHECK_FALSE(fill.fills(2, 8));
  fill.requests({40, 0, 63}, 10, false);  // a scalar cache
  fill.next_epoch();
  CHECK(fill.tokens() == 16);
}

TEST_CASE("tokens: warps count from their first request on, also in epochs without any") {
  Fill fill;
  fill.epoch(500);
  CHECK(fill.tokens() == 8);
  fill.requests({2, 0, 0}, 10, true);
  fill.requests({5, 0, 0}, 10, false);
  fill.next_epoch();
  CHECK(fill.tokens() == 8);
  fill.requests({2, 0, 19}, 10, true);
  fill.requests({2, 0, 1}, 10, false);
  fill.next_epoch();
  CHECK(fill.tokens() == 32);
}

TEST_CASE("tokens: all or none of the warps fill, according to the share") {
  Fill all(Settings{{"initial", "1.0"}, {"step", "0"}});
  CHECK(tokens_after(all, {500, 900, 100}) == std::vector<std::uint64_t>{10, 10, 10});
  CHECK(all.fills(5, 63));
  Fill none(Settings{{"initial", "0"}, {"step", "0"}});
  CHECK(tokens_after(none, {500, 900, 100}) == std::vector<std::uint64_t>{0, 0, 0});
  CHECK_FALSE(none.fills(2, 0));
}

TEST_CASE("tokens: the bypass cache has the configured entries and replaces the least recently used") {
  Fill fill(Settings{{"bypass_entries", "3"}});
  for (std::uint64_t page = 0; page < 3; ++page) (*fill).keep_bypassed(page, {page << 12, 0});
  CHECK((*fill).lookup_bypassed(0, Access::read) == PageTranslation{0, 0});
  (*fill).keep_bypassed(9, {9 << 12, 0});
  CHECK_FALSE((*fill).lookup_bypassed(1, Access::read));
  CHECK((*fill).lookup_bypassed(0, Access::read));
  CHECK((*fill).lookup_bypassed(2, Access::read) == PageTranslation{2 << 12, 0});
  CHECK((*fill).lookup_bypassed(9, Access::read) == PageTranslation{9 << 12, 0});
  CHECK(fill.stat("bypass_fills") == 4);
  CHECK(fill.stat("bypass_hits") == 4);
  CHECK((*fill).invalidate(9));
  CHECK_FALSE((*fill).invalidate(9));
  CHECK_FALSE((*fill).lookup_bypassed(9, Access::read));
  CHECK((*fill).invalidate_all() == 2);
  CHECK_FALSE((*fill).lookup_bypassed(0, Access::read));
}

}  // namespace tokens_test
