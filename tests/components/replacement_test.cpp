// SPDX-License-Identifier: Apache-2.0
// Contract of every replacement policy, and the victims of each policy.
#include "farfault/parts/replacement.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <vector>

#include "choices.hpp"
#include "farfault/parts/set_associative.hpp"
#include "policies.hpp"

namespace replacement_test {

using namespace farfault;
using test::chosen;

namespace {

// Inserts a key, or uses it if present. Returns the replaced key.
std::uint64_t access(SetAssociative& array, std::uint32_t set, std::uint64_t key) {
  return array.find(set, key) ? SetAssociative::kEmpty : array.insert(set, key).evicted;
}

std::vector<std::uint64_t> victims(SetAssociative& array, unsigned seed, int accesses) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> evicted;
  for (int i = 0; i < accesses; ++i) {
    auto const set = static_cast<std::uint32_t>(random() % array.sets());
    evicted.push_back(access(array, set, random() % (3 * array.ways())));
  }
  return evicted;
}

// Evicts the way with the fewest uses since its fill; requires notification of each use.
class LeastUsed final : public Replacement {
 public:
  static constexpr Facts facts() { return {.insertions = true, .uses = true}; }
  explicit LeastUsed(Setup const& s) : uses_(std::size_t{s.sets} * s.ways), ways_(s.ways) {}
  std::uint32_t victim(View const& set) override {
    ++victims_;
    CHECK(set.inserted.size() == ways_);
    return oldest({uses_.data() + set.set * ways_, ways_});
  }
  void used(std::uint32_t set, std::uint32_t way) override { ++uses_[set * ways_ + way]; }
  void inserted(std::uint32_t set, std::uint32_t way, std::uint64_t) override {
    uses_[set * ways_ + way] = 0;
    ++insertions_;
  }
  auto members() { return std::tie(uses_, ways_, victims_, insertions_); }
  static auto stats() {
    using L = LeastUsed const&;
    return std::array<Stat<LeastUsed>, 2>{
        {{"victims", "count", "victims", StatKind::counter, [](L l) { return l.victims_; }},
         {"insertions", "count", "insertions", StatKind::counter, [](L l) { return l.insertions_; }}}};
  }

 private:
  std::vector<std::uint64_t> uses_;
  std::uint64_t ways_;
  std::uint64_t victims_ = 0;
  std::uint64_t insertions_ = 0;
};

}  // namespace

TEST_CASE("under every replacement policy, a key stays until a fill of its full set replaces it") {
  for (auto const& name : test::names_of_known<Replacement>()) {
    CAPTURE(name);
    PolicyChoice<Replacement> const choice(name);
    for (auto const& [sets, ways] : {std::pair{1U, 1U}, {1U, 5U}, {3U, 4U}, {8U, 32U}}) {
      SetAssociative array(sets, ways, choice);
      std::vector<std::set<std::uint64_t>> inside(sets);
      std::mt19937_64 random(7);
      for (int i = 0; i < 20'000; ++i) {
        auto const set = static_cast<std::uint32_t>(random() % sets);
        auto const key = random() % (2 * ways + 1);
        auto& keys = inside[set];
        if (random() % 8 == 0) {
          REQUIRE(array.erase(set, key) == (keys.erase(key) != 0));
          continue;
        }
        REQUIRE(array.peek(set, key).has_value() == (keys.count(key) != 0));
        auto const evicted = access(array, set, key);
        if (evicted != SetAssociative::kEmpty) {
          REQUIRE(keys.size() == ways);
          REQUIRE(keys.erase(evicted) == 1);
        }
        keys.insert(key);
        REQUIRE(keys.size() <= ways);
      }
    }
  }
}

TEST_CASE("under every replacement policy, a loaded array continues like the saved one") {
  for (auto const& name : test::names_of_known<Replacement>()) {
    CAPTURE(name);
    PolicyChoice<Replacement> const choice(name);
    SetAssociative first(4, 8, choice);
    victims(first, 1, 1000);
    SetAssociative second(4, 8, choice);
    victims(second, 2, 500);
    test::copy_state(first, second);
    CHECK(test::hash_of(first) == test::hash_of(second));
    CHECK(victims(first, 3, 2000) == victims(second, 3, 2000));
    CHECK(test::hash_of(first) == test::hash_of(second));
  }
}

TEST_CASE("fifo replaces the oldest key, however it is used") {
  PolicyChoice<Replacement> const choice("fifo");
  SetAssociative array(1, 3, choice);
  for (std::uint64_t const key : {10U, 11U, 12U}) array.insert(0, key);
  array.find(0, 10);
  CHECK(array.insert(0, 13).evicted == 10);
  array.find(0, 11);
  CHECK(array.insert(0, 14).evicted == 11);
  array.erase(0, 13);
  CHECK(array.insert(0, 15).evicted == SetAssociative::kEmpty);  // into the empty way
  CHECK(array.insert(0, 16).evicted == 12);
  CHECK(array.insert(0, 17).evicted == 14);
  CHECK(array.insert(0, 18).evicted == 15);
}

TEST_CASE("random replaces each way about as often, in a sequence determined by the seed") {
  constexpr std::uint32_t kWays = 6;
  auto const of_seed = [](std::string_view seed) {
    auto const choice = chosen<Replacement>("random", {{"seed", seed}});
    SetAssociative array(1, kWays, choice);
    std::vector<std::uint32_t> ways;
    for (std::uint64_t key = 0; key < 6000 + kWays; ++key) ways.push_back(array.insert(0, key).slot);
    return std::vector<std::uint32_t>(ways.begin() + kWays, ways.end());
  };
  auto const ways = of_seed("1");
  CHECK(ways == of_seed("1"));
  CHECK(ways != of_seed("2"));
  for (std::uint32_t w = 0; w < kWays; ++w) {
    auto const times = std::count(ways.begin(), ways.end(), w);
    CHECK(times > 850);
    CHECK(times < 1150);
  }
}

TEST_CASE("an external replacement policy is notified of requested uses, and its statistics count") {
  auto const policies = farfault::policies().add<LeastUsed>("least_used", "the one used least");
  ParamTable table(&policies);
  PolicyChoice<Replacement> choice("lru");
  choice.describe(table, "replacement", "of a test", "assumed");
  choice.choose("least_used");
  SetAssociative array(2, 2, choice);
  for (std::uint32_t set = 0; set < 2; ++set) {
    array.insert(set, 20);
    array.insert(set, 21);
  }
  for (int i = 0; i < 3; ++i) array.find(0, 20);
  for (int i = 0; i < 2; ++i) array.find(0, 21);  // later, but less often
  CHECK(array.insert(0, 22).evicted == 21);
  CHECK(array.insert(0, 23).evicted == 22);
  array.peek(1, 20);  // not a use
  array.find(1, 21);
  CHECK(array.insert(1, 24).evicted == 20);
  std::array<std::uint64_t, 2> values{100, 200};
  array.replacement().sample(values.data());  // added to the previous values
  CHECK(values == std::array<std::uint64_t, 2>{103, 207});
}

TEST_CASE("an array with zero slots can be constructed, sampled and saved") {
  for (auto const& name : test::names_of_known<Replacement>()) {
    PolicyChoice<Replacement> const choice(name);
    SetAssociative none(0, 0, choice);
    SetAssociative other(0, 0, choice);
    none.replacement().sample(nullptr);
    test::copy_state(none, other);
    CHECK(none.slots() == 0);
  }
}

}  // namespace replacement_test
