// SPDX-License-Identifier: Apache-2.0
// GRIT: the scheme of each page, chosen from its faults, and its prediction for neighbours.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "farfault/paging/page_decision.hpp"
#include "policies.hpp"

namespace grit_test {

using namespace farfault;

namespace {

using Settings = std::vector<test::Setting>;
constexpr std::uint64_t kPage = 1024;  // first of a group of 512

struct Bench {
  explicit Bench(Settings const& settings = {})
      : choice(test::chosen<PageDecision>("grit", settings)), policy(choice.make({12})) {}

  PageAction fault(std::uint64_t page, Access access = Access::read, bool has_copies = false) {
    return policy->decide({.kind = PageEventKind::fault,
                           .access = access,
                           .has_copies = has_copies,
                           .gpu = 2,
                           .owner = 1,
                           .page = page});
  }
  PageAction counted(std::uint64_t page) {
    return policy->decide(
        {.kind = PageEventKind::counted, .gpu = 2, .owner = 1, .accesses = 256, .page = page});
  }
  // Faults until the page's scheme is chosen.
  PageAction choose(std::uint64_t page, Access access = Access::read) {
    for (int i = 0; i < 3; ++i) fault(page, access);
    return fault(page, access);
  }
  std::uint64_t stat(std::string const& name) { return test::stat_of(choice, policy, name); }

  PolicyChoice<PageDecision> choice;
  Policy<PageDecision> policy;
};

}  // namespace

TEST_CASE("grit: a page moves to the GPU that faults until its fourth fault") {
  Bench b;
  for (auto const access : {Access::read, Access::write, Access::read})
    CHECK(b.fault(kPage, access) == PageAction::move_here);
  CHECK(b.counted(kPage) == PageAction::stay);
  CHECK(b.stat("counted_pages") == 0);
  CHECK(b.fault(kPage) == PageAction::stay);  // one of the faults was a write
  CHECK(b.stat("counted_pages") == 1);
  CHECK(b.stat("duplicated_pages") == 0);
}

TEST_CASE("grit: a page that was only read is duplicated, and a write moves it") {
  Bench b;
  CHECK(b.choose(kPage) == PageAction::copy_here);
  CHECK(b.stat("duplicated_pages") == 1);
  CHECK(b.fault(kPage, Access::read, true) == PageAction::copy_here);
  CHECK(b.fault(kPage, Access::write, true) == PageAction::move_here);
  CHECK(b.fault(kPage, Access::read) == PageAction::copy_here);
  CHECK(b.counted(kPage) == PageAction::stay);
  // The fourth fault since the choice chooses again: one of the faults was a write.
  CHECK(b.fault(kPage) == PageAction::stay);
  CHECK(b.stat("counted_pages") == 1);
}

TEST_CASE("grit: a written page is mapped remotely and moves when its accesses are counted") {
  Bench b;
  CHECK(b.choose(kPage, Access::write) == PageAction::stay);
  CHECK(b.fault(kPage) == PageAction::stay);
  CHECK(b.counted(kPage) == PageAction::move_here);
  CHECK(b.counted(kPage + 1) == PageAction::stay);
  CHECK(b.fault(kPage, Access::write, true) == PageAction::move_here);  // copies never stay at a write
}

TEST_CASE("grit: the threshold of faults is a parameter, and pages have their own counts") {
  Bench b(Settings{{"faults", "2"}});
  CHECK(b.fault(kPage) == PageAction::move_here);
  CHECK(b.fault(kPage + 64) == PageAction::move_here);
  CHECK(b.fault(kPage) == PageAction::copy_here);
  CHECK(b.fault(kPage + 64) == PageAction::copy_here);
}

TEST_CASE("grit: a scheme of more than half of eight pages is predicted for the others") {
  for (bool const predicts : {true, false}) {
    CAPTURE(predicts);
    Bench b(Settings{{"predicts", predicts ? "true" : "false"}});
    for (std::uint64_t p = 0; p < 4; ++p) b.choose(kPage + p);
    CHECK(b.fault(kPage + 7) == PageAction::move_here);  // four of eight are not more than half
    CHECK(b.stat("predicted_pages") == 0);
    b.choose(kPage + 5);
    CHECK(b.stat("predicted_pages") == (predicts ? 3 : 0));
    auto const expected = predicts ? PageAction::copy_here : PageAction::move_here;
    CHECK(b.fault(kPage + 7) == expected);
    CHECK(b.fault(kPage + 4) == expected);
    CHECK(b.fault(kPage + 8) == PageAction::move_here);  // of the next group
  }
}

TEST_CASE("grit: groups of 8 join to 64, and groups of 64 to 512") {
  Bench b;
  auto const group_of_eight = [&](std::uint64_t first) {
    for (std::uint64_t p = 0; p < 5; ++p) b.choose(first + p);
  };
  for (std::uint64_t g = 0; g < 4; ++g) group_of_eight(kPage + 8 * g);
  CHECK(b.stat("predicted_pages") == 4 * 3);
  CHECK(b.fault(kPage + 63) == PageAction::move_here);
  group_of_eight(kPage + 32);
  CHECK(b.stat("predicted_pages") == 5 * 3 + 24);
  CHECK(b.fault(kPage + 63) == PageAction::copy_here);
  for (std::uint64_t g = 1; g < 5; ++g)
    for (std::uint64_t e = 0; e < 5; ++e) group_of_eight(kPage + 64 * g + 8 * e);
  CHECK(b.fault(kPage + 511) == PageAction::copy_here);
  CHECK(b.fault(kPage + 512) == PageAction::move_here);
  CHECK(b.stat("duplicated_pages") + b.stat("predicted_pages") == 512);
}

TEST_CASE("grit: a page that chooses another scheme divides its group") {
  Bench b;
  for (std::uint64_t g = 0; g < 5; ++g)
    for (std::uint64_t p = 0; p < 5; ++p) b.choose(kPage + 8 * g + p);
  CHECK(b.fault(kPage + 60) == PageAction::copy_here);
  b.choose(kPage + 48, Access::write);
  CHECK(b.fault(kPage + 48) == PageAction::stay);
  CHECK(b.fault(kPage + 49) == PageAction::copy_here);  // keeps its scheme
  // Five pages of the group of 8 now choose counters: its other pages get them, and no page of another group.
  for (std::uint64_t p = 49; p < 53; ++p) b.choose(kPage + p, Access::write);
  CHECK(b.fault(kPage + 55) == PageAction::stay);
  CHECK(b.fault(kPage + 40) == PageAction::copy_here);
}

TEST_CASE(
    "grit: a page that chooses duplication again predicts it again, and one that chooses counters does not") {
  for (auto const access : {Access::read, Access::write}) {
    CAPTURE(access == Access::write);
    Bench b;
    for (std::uint64_t p = 0; p < 4; ++p) b.choose(kPage + p, access);
    CHECK(b.fault(kPage + 7) == PageAction::move_here);
    // The fifth page chooses the other scheme, its own group of one page; then four of eight have the first.
    b.choose(kPage + 4, access == Access::read ? Access::write : Access::read);
    b.choose(kPage + 5, access);  // five of eight: predicted
    CHECK(b.stat("predicted_pages") == 3);
    b.choose(kPage + 4, access == Access::read ? Access::write : Access::read);  // leaves the group again
    b.choose(kPage + 5, access);
    bool const predicts_again = access == Access::read;
    CHECK(b.stat("predicted_pages") == (predicts_again ? 4 : 3));
  }
}

TEST_CASE("grit: a page that a batch prefetches has no fault") {
  Bench b;
  for (int i = 0; i < 10; ++i)
    CHECK(b.policy->decide({.kind = PageEventKind::fault,
                            .is_prefetch = true,
                            .gpu = 2,
                            .owner = kFirstCpu,
                            .page = kPage}) == PageAction::move_here);
  for (int i = 0; i < 3; ++i) CHECK(b.fault(kPage) == PageAction::move_here);
  CHECK(b.fault(kPage) == PageAction::copy_here);
}

TEST_CASE("grit: a freed page begins with on_touch") {
  Bench b;
  b.choose(kPage, Access::write);
  CHECK(b.fault(kPage) == PageAction::stay);
  b.policy->forget(kPage);
  CHECK(b.fault(kPage) == PageAction::move_here);
}

}  // namespace grit_test
