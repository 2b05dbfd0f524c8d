// SPDX-License-Identifier: Apache-2.0
// Facts of policies: defaults of the interface, facts of an implementation, facts that follow from
// parameters.
#include <doctest/doctest.h>

#include "farfault/engine/error.hpp"
#include "farfault/engine/policy.hpp"

namespace policy_facts_test {

using namespace farfault;

int objects = 0;

class Gate {
 public:
  using Interface = Gate;
  struct Setup {};
  struct Facts {
    bool opens = true;
    std::uint32_t width = 8;
  };
  static PolicyList<Gate> known();
  Gate() { ++objects; }
  Gate(Gate const&) = delete;
  virtual ~Gate() = default;
  virtual bool admits(std::uint64_t number) const = 0;
};
struct Plain : Gate {
  bool admits(std::uint64_t) const override { return true; }
};
struct Closed final : Plain {
  static constexpr Facts facts() { return {.opens = false}; }
};
struct Wide final : Plain {
  struct Params {
    std::uint32_t lanes = 4;
    void describe(ParamTable& t) { t.count("lanes", lanes, {1, 100}, "lanes", "assumed"); }
  };
  static constexpr Facts facts(Params const& p) { return {.width = 10 * p.lanes}; }
};
PolicyList<Gate> Gate::known() {
  PolicyList<Gate> list;
  list.add<Plain>("plain", "always open").add<Closed>("closed", "never open").add<Wide>("wide", "by lanes");
  return list;
}

// Facts only.
struct Colour {
  using Interface = Colour;
  struct Setup {};
  struct Facts {
    Needed<std::uint32_t> red;
    std::uint32_t blue = 0;
  };
  static PolicyList<Colour> known();
  virtual ~Colour() = default;
};
struct Dark final : Colour {
  struct Params {
    std::uint32_t percent = 50;
    void describe(ParamTable& t) { t.count("percent", percent, {0, 100}, "percent", "assumed"); }
  };
  static constexpr Facts facts(Params const& p) { return {.red = 255 * p.percent / 100}; }
};
PolicyList<Colour> Colour::known() {
  PolicyList<Colour> list;
  list.add("purple", "red and blue", {.red = 255, .blue = 255}).add<Dark>("dark", "a part of red");
  return list;
}

struct NoFactsAtAll final : Colour {};
struct OtherFacts final : Colour {
  static constexpr Gate::Facts facts() { return {}; }
};
struct FactsOfAnObject final : Colour {
  Facts facts() const { return {.red = 1}; }
};
struct Order {
  using Interface = Order;
  struct Setup {};
  virtual ~Order() = default;
};
struct OrderWithFacts final : Order {
  static constexpr Gate::Facts facts() { return {}; }
};

template <class T>
constexpr bool kIsAccepted = detail::FactsAreKnown<T, typename detail::ParamsOf<T>::type,
                                                   typename PolicyMaker<typename T::Interface>::Facts>;

static_assert(kIsAccepted<Plain> && kIsAccepted<Closed> && kIsAccepted<Wide> && kIsAccepted<Dark>);
static_assert(!kIsAccepted<NoFactsAtAll>, "a needed fact is missing");
static_assert(!kIsAccepted<OtherFacts>, "the facts of another interface");
static_assert(!kIsAccepted<FactsOfAnObject>, "facts() must be static");
static_assert(!kIsAccepted<OrderWithFacts>, "the interface declares no facts");

TEST_CASE("facts: an implementation has the defaults of its interface, unless it states others") {
  objects = 0;
  CHECK(PolicyChoice<Gate>("plain").facts().opens);
  CHECK(PolicyChoice<Gate>("plain").facts().width == 8);
  CHECK_FALSE(PolicyChoice<Gate>("closed").facts().opens);
  CHECK(PolicyChoice<Gate>("closed").facts().width == 8);
  CHECK(objects == 0);
}

TEST_CASE("facts: they follow the parameters of the selected implementation") {
  PolicyChoice<Gate> choice("wide");
  CHECK(choice.facts().width == 40);
  ParamTable table;
  choice.describe(table, "gate", "of a test", "assumed");
  table.find("wide.lanes")->set("7");
  CHECK(choice.facts().width == 70);
  choice.choose("closed");
  CHECK(choice.facts().width == 8);
}

TEST_CASE("facts: an implementation may consist of facts only, also one of an extension") {
  auto const purple = PolicyChoice<Colour>("purple").facts();
  CHECK(purple.red == 255);
  CHECK(purple.blue == 255);
  CHECK(PolicyChoice<Colour>("dark").facts().red == 127);
  auto const more = policies().add<Colour>("green", "neither", {.red = 0}).add<Dark>("black", "no light");
  more.check();
  PolicyChoice<Colour> choice("purple");
  ParamTable table(&more);
  choice.describe(table, "colour", "of a test", "assumed");
  table.find("black.percent")->set("0");
  CHECK(choice.choose("green").facts().red == 0);
  CHECK(choice.choose("black").facts().red == 0);
  CHECK(choice.choose("dark").facts().red == 127);
  CHECK(choice.why_not({}).empty());
}

}  // namespace policy_facts_test
