// SPDX-License-Identifier: Apache-2.0
// Parameters that have an effect only under a condition, declared with them.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "farfault/engine/config.hpp"
#include "unused.hpp"

namespace condition_test {

using namespace farfault;

namespace {

constexpr Fact kNetwork{"a machine with a network"};

enum class Fabric { none, mesh, ring };

struct Leaf {
  std::uint32_t depth = 4;
  std::uint32_t width = 2;
  void describe(ParamTable& t) {
    t.count("depth", depth, {0, 8}, "depth", "assumed");
    t.count("width", width, {1, 8}, "width", "assumed").only_when(sibling("depth").is_above(0));
  }
};

struct Spec {
  std::uint32_t queues = 3;
  std::uint32_t silver = 64;
  Fabric fabric = Fabric::none;
  std::uint32_t links = 1;
  std::uint32_t hops = 1;
  Duration interval{};
  Duration length = 1ns;
  bool on = false;
  std::uint32_t limit = 1;
  std::uint32_t either = 1;
  std::uint32_t mtu = 1;
  std::uint32_t far = 1;
  std::string order = "fifo";
  Leaf by_age;

  void describe(ParamTable& t) {
    t.count("queues", queues, {1, 3}, "queues", "assumed");
    t.count("silver", silver, {1, 64}, "silver", "assumed").only_when(sibling("queues").is(3));
    t.choice("fabric", fabric,
             {{"none", Fabric::none, "none"}, {"mesh", Fabric::mesh, "mesh"}, {"ring", Fabric::ring, "ring"}},
             "fabric", "assumed");
    t.count("links", links, {1, 8}, "links", "assumed").only_when(sibling("fabric").is_not("none"));
    t.count("hops", hops, {1, 8}, "hops", "assumed").only_when(sibling("fabric").is_one_of({"none", "ring"}));
    t.duration("interval", interval, {0ns, 1s}, "interval", "assumed");
    t.duration("length", length, {0ns, 1s}, "length", "assumed").only_when(sibling("interval").is_above(0));
    t.flag("on", on, "on", "assumed");
    t.count("limit", limit, {1, 8}, "limit", "assumed").only_when(sibling("on").is(true));
    t.count("either", either, {1, 8}, "either", "assumed")
        .only_when(sibling("on").is(true) || sibling("queues").is_above(1));
    t.count("mtu", mtu, {1, 8}, "mtu", "assumed").only_when(Condition(kNetwork).else_use("a.links"));
    t.count("far", far, {1, 8}, "far", "assumed")
        .only_when(setting("other.queues").is(1))
        .only_when(kNetwork);
    t.alternatives("order", order,
                   {{"fifo", "fifo", "", [](ParamTable&) {}},
                    {"by_age", "by age", "", [this](ParamTable& inner) { by_age.describe(inner); }}},
                   "order", "assumed");
  }
};

struct Read {
  Config config;
  Spec spec;
  Spec other;
  explicit Read(std::string const& text, bool network = true) {
    config.may_vary({"a.queues", "a.order", "a.fabric"});
    config.read_text(text, "x.toml");
    bind("a", spec);
    bind("other", other);
    config.reject_errors();
    config.exclude_unused({{kNetwork, network}});
  }
  void bind(std::string const& section, Spec& to) {
    ParamTable table;
    to.describe(table);
    config.bind(section, table, Config::Spec::lasting);
  }
};

std::vector<std::string> unused(std::string const& text, bool network = true) {
  return test::unused_in(Read(text, network).config);
}
using Words = std::vector<std::string>;

}  // namespace

TEST_CASE(
    "a parameter is listed as unused unless another one has the value, or one of the values, of its "
    "condition") {
  CHECK(unused("a.silver = 8\n").empty());
  CHECK(unused("a.silver = 8\na.queues = 2\n") == Words{"a.silver (x.toml:1; only with a.queues = 3)"});
  CHECK(unused("a.limit = 8\n") == Words{"a.limit (x.toml:1; only with a.on = true)"});
  CHECK(unused("a.limit = 8\na.on = true\n").empty());
  CHECK(unused("a.hops = 2\na.fabric = \"ring\"\n").empty());
  CHECK(unused("a.hops = 2\na.fabric = \"mesh\"\n") ==
        Words{"a.hops (x.toml:1; only with a.fabric = \"none\" or \"ring\")"});
}

TEST_CASE(
    "a condition is that another parameter has another value, or one above a limit, with or without a unit") {
  CHECK(unused("a.links = 2\na.fabric = \"ring\"\n").empty());
  CHECK(unused("a.links = 2\n") == Words{"a.links (x.toml:1; only with a.fabric other than \"none\")"});
  CHECK(unused("a.length = \"2 ns\"\na.interval = \"1 us\"\n").empty());
  CHECK(unused("a.length = \"2 ns\"\n") == Words{"a.length (x.toml:1; only with a.interval above 0)"});
}

TEST_CASE("either of two conditions is sufficient, and of several declared ones all must hold") {
  CHECK(unused("a.either = 2\na.queues = 1\na.on = true\n").empty());
  CHECK(unused("a.either = 2\na.queues = 2\n").empty());
  CHECK(unused("a.either = 2\na.queues = 1\n") ==
        Words{"a.either (x.toml:1; only with a.on = true or a.queues above 1)"});
  CHECK(unused("a.far = 2\nother.queues = 1\n").empty());
  CHECK(unused("a.far = 2\n") == Words{"a.far (x.toml:1; only with other.queues = 1)"});
  CHECK(unused("a.far = 2\nother.queues = 1\n", false) ==
        Words{"a.far (x.toml:1; only with a machine with a network)"});
}

TEST_CASE("a fact excludes its parameters when it is known to be false") {
  CHECK(unused("a.mtu = 2\n").empty());
  CHECK(unused("a.mtu = 2\n", false) ==
        Words{"a.mtu (x.toml:1; only with a machine with a network; use a.links)"});
}

TEST_CASE("a single setting without effect is found with its place, its condition and its substitute") {
  Read const read("a.mtu = 2\na.silver = 3\n", false);
  auto const found = read.config.find_unused("a.mtu");
  REQUIRE(found.has_value());
  CHECK(found->key == "a.mtu");
  CHECK(found->place == "x.toml:1");
  CHECK(found->only_with == "a machine with a network");
  CHECK(found->instead == "a.links");
  CHECK_FALSE(read.config.find_unused("a.silver").has_value());  // has an effect
  CHECK_FALSE(read.config.find_unused("a.limit").has_value());   // has none, but was not set
  CHECK_FALSE(read.config.find_unused("a.nothing").has_value());
}

TEST_CASE("parameters of an alternative need the alternative first, then their own conditions") {
  auto const width = std::string("a.by_age.width = 3\n");
  CHECK(unused(width + "a.order = \"by_age\"\n").empty());
  CHECK(unused(width + "a.by_age.depth = 0\n") ==
        Words{"a.by_age.depth (x.toml:2; only with a.order = \"by_age\")",
              "a.by_age.width (x.toml:1; only with a.order = \"by_age\")"});
  CHECK(unused(width + "a.by_age.depth = 0\na.order = \"by_age\"\n") ==
        Words{"a.by_age.width (x.toml:1; only with a.by_age.depth above 0)"});
}

TEST_CASE("a parameter without effect is checked, and is not in the resolved text") {
  Read const read("a.queues = 2\na.silver = 8\n");
  CHECK(read.spec.silver == 8);
  CHECK(read.config.find_bound("a.silver") == nullptr);
  CHECK(read.config.find_bound("other.silver")->value == "64");
  CHECK_THROWS_WITH_AS(Read("a.queues = 2\na.silver = 65\n"), "x.toml:2: a.silver: '65' is outside 1 to 64",
                       UserError);
}

TEST_CASE("conditions are decided again for varied values") {
  Read read("a.queues = 2\na.order = \"by_age\"\na.fabric = \"ring\"\na.silver = 8\n");
  auto const vary = [&](std::string const& key, std::string const& value, int line) {
    REQUIRE(read.config.vary(key, value, "x.toml", line));
    read.config.choose_again();
    read.config.exclude_unused({{kNetwork, true}});
  };
  CHECK(read.config.find_bound("a.silver") == nullptr);
  CHECK(test::unused_in(read.config) == Words{"a.silver (x.toml:4; only with a.queues = 3)"});
  vary("a.queues", "3", 1);
  CHECK(read.config.find_bound("a.silver")->value == "8");
  CHECK(test::unused_in(read.config).empty());
  CHECK(read.config.find_bound("a.by_age.depth")->value == "4");
  vary("a.order", "\"fifo\"", 2);
  CHECK(read.config.find_bound("a.by_age.depth") == nullptr);
  vary("a.fabric", "\"none\"", 3);
  CHECK(read.config.find_bound("a.links") == nullptr);
  CHECK(read.config.find_bound("a.mtu")->value == "1");
  vary("a.queues", "1", 1);
  CHECK(test::unused_in(read.config) == Words{"a.silver (x.toml:4; only with a.queues = 3)"});
}

TEST_CASE("a scope gives its condition to all parameters declared within it, and to no others") {
  std::uint32_t size = 0, ways = 1, ports = 1;
  ParamTable t;
  t.count("size", size, {0, 8}, "size", "assumed");
  {
    auto const if_present = t.only_when(sibling("size").is_above(0));
    t.count("ways", ways, {1, 8}, "ways", "assumed").only_when(sibling("size").is(4));
  }
  t.count("ports", ports, {1, 8}, "ports", "assumed");
  CHECK(t.find("size")->only_when.empty());
  CHECK(t.find("ports")->only_when.empty());
  REQUIRE(t.find("ways")->only_when.size() == 2);
  CHECK(t.find("ways")->only_when[0].within("cache").text() == "cache.size above 0");
  CHECK(t.find("ways")->only_when[1].text() == "size = 4");
}

TEST_CASE("a condition on a sibling that is not declared is rejected") {
  std::uint32_t ways = 1;
  ParamTable t;
  t.count("ways", ways, {1, 8}, "ways", "assumed").only_when(sibling("size").is_above(0));
  CHECK_THROWS_WITH_AS(t.check_conditions(),
                       "parameter ways has an effect only with size above 0, but size is not declared",
                       UserError);
}

}  // namespace condition_test
