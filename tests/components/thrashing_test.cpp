// SPDX-License-Identifier: Apache-2.0
// Pages that stay on a GPU for accesses that are replayed, or because they thrash.
#include "farfault/paging/thrashing.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "farfault/paging/replay_stays.hpp"

namespace thrashing_test {

using namespace farfault;

namespace {

constexpr std::uint64_t kPage = 7;
constexpr ThrashingPages::Limits kLimits{.threshold = 3, .lapse = 500us, .stay = 200us};

// Moves to GPUs 0 and 1 in turns, first to GPU 0.
ThrashingPages after_moves(std::vector<Duration> const& at, ThrashingPages::Limits const& limits = kLimits) {
  ThrashingPages pages(12, 1);
  for (std::size_t i = 0; i < at.size(); ++i) pages.moved(kPage, i % 2, Time{} + at[i], limits);
  return pages;
}

}  // namespace

TEST_CASE("thrashing: a page stays on its GPU after three moves to another GPU within the lapse") {
  CHECK_FALSE(after_moves({1us, 2us, 3us}).stays_on(kPage, Time{3us}, kLimits));
  auto const pages = after_moves({1us, 501us, 1001us, 1501us});
  CHECK(pages.stays_on(kPage, Time{1501us}, kLimits) == 1);
  CHECK(pages.stays_on(kPage, Time{1701us - 1ns}, kLimits) == 1);
  CHECK_FALSE(pages.stays_on(kPage, Time{1701us}, kLimits));
  CHECK_FALSE(pages.stays_on(kPage + 1, Time{1501us}, kLimits));
}

TEST_CASE("thrashing: moves that are further apart than the lapse do not count, and end it") {
  CHECK_FALSE(after_moves({1us, 502us, 503us, 504us}).stays_on(kPage, Time{504us}, kLimits));
  CHECK(after_moves({1us, 502us, 503us, 504us, 505us}).stays_on(kPage, Time{505us}, kLimits) == 0);
  // One late move ends the thrashing; three more begin it again.
  CHECK_FALSE(after_moves({1us, 2us, 3us, 4us, 505us}).stays_on(kPage, Time{505us}, kLimits));
  CHECK_FALSE(after_moves({1us, 2us, 3us, 4us, 505us, 506us, 507us}).stays_on(kPage, Time{507us}, kLimits));
  CHECK(after_moves({1us, 2us, 3us, 4us, 505us, 506us, 507us, 508us}).stays_on(kPage, Time{508us}, kLimits) ==
        1);
}

TEST_CASE("thrashing: a late return to the same GPU ends it") {
  auto pages = after_moves({1us, 2us, 3us, 4us});
  pages.moved(kPage, 1, Time{10ms}, kLimits);
  CHECK_FALSE(pages.stays_on(kPage, Time{10ms}, kLimits));
}

TEST_CASE("thrashing: returns to the same GPU do not count") {
  ThrashingPages pages(12, 1);
  for (auto const at : {1us, 2us, 3us, 4us, 5us}) pages.moved(kPage, 2, Time{} + at, kLimits);
  CHECK_FALSE(pages.stays_on(kPage, Time{5us}, kLimits));
}

TEST_CASE("thrashing: with a threshold of 0 no page thrashes") {
  auto limits = kLimits;
  limits.threshold = 0;
  CHECK_FALSE(after_moves({1us, 2us, 3us, 4us, 5us, 6us}, limits).stays_on(kPage, Time{6us}, limits));
}

TEST_CASE("replay stays: a page stays until the replay after its arrival, then until a time") {
  ReplayStays stays(12, 1);
  CHECK(stays.until(kPage) == Time{});
  stays.replayed(Time{5us});  // of earlier pages
  CHECK(stays.until(kPage) == Time{});
  stays.arrived(kPage);
  CHECK(stays.until(kPage) == Time::max());
  CHECK(stays.until(kPage + 1) == Time{});
  stays.replayed(Time{20us});
  CHECK(stays.until(kPage) == Time{20us});
  stays.arrived(kPage + 1);
  stays.replayed(Time{30us});
  CHECK(stays.until(kPage) == Time{20us});
  CHECK(stays.until(kPage + 1) == Time{30us});
}

}  // namespace thrashing_test
