// SPDX-License-Identifier: Apache-2.0
// Depths that bypass an L2 slice, with given hit rates: epochs of 1,000 cycles of 1 ns.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "choices.hpp"
#include "farfault/memory/walk_reads.hpp"
#include "policies.hpp"

namespace translation_aware_bypass_test {

using namespace farfault;

namespace {

struct Counted {
  std::uint32_t depth;
  std::uint32_t requests;
  std::uint32_t hits;
};

class Slice {
 public:
  explicit Slice(std::string const& sampled, std::string const& unmeasured = "kept")
      : choice_(
            test::chosen<WalkReads>("translation_aware_bypass",
                                    {{"epoch", "1000"}, {"sampled", sampled}, {"unmeasured", unmeasured}})),
        policy_(choice_.make({Clock{1'000'000'000}, 4})) {}

  // Look-ups in the current epoch; advances time by `epochs`.
  void count(std::vector<Counted> const& all, std::int64_t epochs = 1) {
    for (auto const& c : all)
      for (std::uint32_t i = 0; i < c.requests; ++i) policy_->looked_up(c.depth, i < c.hits, now_);
    now_ += epochs * 1000ns;
  }
  // Depths that bypass, for lines that are not sampled.
  std::vector<std::uint32_t> passing() {
    std::vector<std::uint32_t> depths;
    for (std::uint32_t d = 1; d < WalkReads::kDepths; ++d)
      if (lines(d) != 0) depths.push_back(d);
    return depths;
  }
  // Number of lines that bypass at a depth, of 4,000 lines at the given stride.
  std::uint32_t lines(std::uint32_t depth, std::uint64_t stride = 1) {
    std::uint32_t n = 0;
    for (std::uint64_t line = 0; line < 4000; ++line)
      n += policy_->bypasses(depth, line * stride, now_) ? 1 : 0;
    return n;
  }
  bool may_bypass() const { return choice_.facts().may_bypass; }
  std::uint64_t stat(std::string_view name) const { return test::stat_of(choice_, policy_, name); }

 private:
  PolicyChoice<WalkReads> choice_;
  Policy<WalkReads> policy_;
  Time now_{1ns};
};

using Depths = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE(
    "translation-aware bypass: a depth is bypassed after an epoch with a lower hit rate than the warps'") {
  Slice s("4");
  CHECK(s.passing() == Depths{});
  s.count({{0, 100, 80}, {1, 100, 100}, {2, 100, 80}, {3, 1000, 799}, {4, 7, 0}});
  CHECK(s.passing() == Depths{3, 4});
  CHECK(s.stat("bypassed_depths") == 2);
  // Only depth 4 has sampled requests: its hit rate exceeds the warps'.
  s.count({{4, 10, 9}});
  CHECK(s.passing() == Depths{3});
  s.count({{0, 1000, 950}, {1, 20, 19}});
  CHECK(s.passing() == Depths{2, 3, 4});
  s.count({{0, 10, 0}}, 5);
  CHECK(s.passing() == Depths{});
  CHECK(s.stat("changes") == 2 + 1 + 2 + 3);
}

TEST_CASE(
    "translation-aware bypass: nothing is bypassed before warps made a request, nor a depth before its "
    "first") {
  Slice s("4");
  s.count({{1, 10, 0}, {4, 10, 0}});
  CHECK(s.passing() == Depths{});
  s.count({{0, 10, 5}});
  CHECK(s.passing() == Depths{1, 4});
  s.count({}, 3);
  CHECK(s.passing() == Depths{1, 4});
}

TEST_CASE(
    "translation-aware bypass: a depth without a look-up in an epoch keeps its rate, or is not bypassed "
    "without one") {
  for (bool const kept : {true, false}) {
    CAPTURE(kept);
    Slice s("4", kept ? "kept" : "forgotten");
    s.count({{0, 10, 5}, {3, 10, 0}, {4, 10, 0}});
    CHECK(s.passing() == Depths{3, 4});
    s.count({{0, 10, 5}, {4, 10, 0}});  // no line of depth 3 is sampled
    CHECK(s.passing() == (kept ? Depths{3, 4} : Depths{4}));
    s.count({{0, 10, 5}, {3, 10, 0}, {4, 10, 0}});  // measured again
    CHECK(s.passing() == Depths{3, 4});
    s.count({{3, 10, 0}, {4, 10, 0}});  // warps had no request
    CHECK(s.passing() == (kept ? Depths{3, 4} : Depths{}));
  }
}

TEST_CASE("translation-aware bypass: the deepest depth that three bits encode is bypassed, too") {
  Slice s("4");
  s.count({{0, 10, 5}, {5, 10, 9}, {6, 10, 4}, {7, 10, 0}});
  CHECK(s.passing() == Depths{6, 7});
}

TEST_CASE("translation-aware bypass: within an epoch, its own counts change nothing") {
  Slice s("4");
  s.count({{0, 10, 10}, {4, 10, 0}}, 0);
  CHECK(s.passing() == Depths{});
  s.count({{4, 90, 90}});
  CHECK(s.passing() == Depths{4});
  s.count({{4, 100, 100}}, 0);
  CHECK(s.passing() == Depths{4});
}

TEST_CASE(
    "translation-aware bypass: the configured fraction of lines uses the cache, the same at every depth; one "
    "in one bypasses nothing") {
  for (std::string const sampled : {"2", "4", "32"}) {
    CAPTURE(sampled);
    Slice s(sampled);
    CHECK(s.may_bypass());
    s.count({{0, 10, 10}, {3, 10, 0}, {4, 10, 0}});
    auto const kept = 4000 - s.lines(4);
    CHECK(s.lines(3) == s.lines(4));
    auto const expected = 4000.0 / std::stod(sampled);
    CHECK(kept > 0.7 * expected);
    CHECK(kept < 1.3 * expected);
  }
  // The same holds for lines that map to one set.
  Slice strided("32");
  strided.count({{0, 10, 10}, {4, 10, 0}});
  for (std::uint64_t const stride : {32U, 64U, 4096U}) {
    CAPTURE(stride);
    CHECK(4000 - strided.lines(4, stride) > 0.7 * 4000 / 32);
    CHECK(4000 - strided.lines(4, stride) < 1.3 * 4000 / 32);
  }
  Slice none("1");
  none.count({{0, 10, 10}, {4, 10, 0}});
  CHECK(none.lines(4) == 0);
}

TEST_CASE("translation-aware bypass: reads and hits of each depth are counted from the start") {
  Slice s("1");
  s.count({{0, 9, 8}, {1, 70, 60}, {2, 50, 40}, {3, 30, 20}, {4, 12, 3}});
  s.count({{1, 7, 1}, {4, 5, 4}}, 3);
  CHECK(s.stat("root_reads") == 77);
  CHECK(s.stat("root_hits") == 61);
  CHECK(s.stat("second_reads") == 50);
  CHECK(s.stat("second_hits") == 40);
  CHECK(s.stat("third_reads") == 30);
  CHECK(s.stat("third_hits") == 20);
  CHECK(s.stat("fourth_reads") == 17);
  CHECK(s.stat("fourth_hits") == 7);
}

}  // namespace translation_aware_bypass_test
