// SPDX-License-Identifier: Apache-2.0
// Each component of a large machine has copies of its policy choices. The copies take no memory.
#include <doctest/doctest.h>

#include <array>

#include "counter.hpp"
#include "farfault/engine/policy.hpp"

using namespace farfault;
using farfault::test::start_counting;
using farfault::test::stop_counting;

namespace {

struct Pace {
  using Interface = Pace;
  struct Setup {};
  static PolicyList<Pace> known();
  virtual ~Pace() = default;
  virtual std::uint64_t steps() const = 0;
};

struct Steady final : Pace {
  struct Params {
    std::uint64_t steps = 3;
    void describe(ParamTable& t) { t.count("steps", steps, {1, 100}, "steps", "assumed"); }
  };
  explicit Steady(Params const& p) : steps_(p.steps) {}
  std::uint64_t steps() const override { return steps_; }
  auto members() { return std::tie(steps_); }

 private:
  std::uint64_t steps_;
};

PolicyList<Pace> Pace::known() {
  PolicyList<Pace> list;
  list.add<Steady>("steady", "the same each time");
  return list;
}

void set_steps(PolicyChoice<Pace>& choice, std::string_view steps) {
  ParamTable table;
  choice.describe(table, "pace", "of a test", "assumed");
  table.find("steady.steps")->set(steps);
}

}  // namespace

TEST_CASE("a choice of a policy is constructed and copied without an allocation") {
  PolicyChoice<Pace> set("steady");
  set_steps(set, "7");
  start_counting();
  PolicyChoice<Pace> fresh("steady");
  std::array<PolicyChoice<Pace>, 2> const copies{set, set};
  fresh = set;
  CHECK(stop_counting() == 0);
  CHECK(copies[1].make({})->steps() == 7);
  CHECK(fresh.make({})->steps() == 7);
}

TEST_CASE("parameters set in a choice change neither its copies nor later choices") {
  PolicyChoice<Pace> first("steady");
  auto second = first;
  set_steps(second, "7");
  auto const third = second;
  set_steps(second, "8");
  CHECK(first.make({})->steps() == 3);
  CHECK(second.make({})->steps() == 8);
  CHECK(third.make({})->steps() == 7);
  CHECK(PolicyChoice<Pace>("steady").make({})->steps() == 3);
}
