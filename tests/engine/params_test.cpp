// SPDX-License-Identifier: Apache-2.0
#include "farfault/engine/params.hpp"

#include <doctest/doctest.h>

namespace params_test {

using namespace farfault;

namespace {

enum class Kind { plain, compressed };

struct Inner {
  std::uint32_t ways = 8;
  void describe(ParamTable& t) { t.count("ways", ways, {1, 64}, "associativity", "assumed"); }
};

struct Spec {
  std::uint64_t entries = 512;
  double share = 0.5;
  bool on = false;
  std::string label = "x";
  Kind kind = Kind::plain;
  Duration latency = 10ns;
  ByteSize page{4096};
  Bandwidth link{64'000'000'000};
  Frequency clock{1'000'000'000};
  Inner inner;

  void describe(ParamTable& t) {
    t.count("entries", entries, {1, 65536}, "entries", "a paper, Table 1");
    t.number("share", share, {0, 1}, "share", "assumed");
    t.flag("on", on, "whether", "assumed");
    t.text("label", label, "a label", "assumed");
    t.choice("kind", kind,
             {{"plain", Kind::plain, "one page per entry"},
              {"compressed", Kind::compressed, "several pages per entry"}},
             "organization", "assumed");
    t.duration("latency", latency, {1ns, 1us}, "latency", "assumed");
    t.bytes("page", page, {{4096}, {2u << 20}}, "page size", "assumed");
    t.bandwidth("link", link, {{1}, {1'000'000'000'000}}, "bandwidth", "assumed");
    t.frequency("clock", clock, {{1}, {10'000'000'000}}, "clock", "assumed");
    t.section("inner", inner);
  }
};

std::string error_of(ParamTable const& t, char const* name, char const* value) {
  try {
    t.find(name)->set(value);
  } catch (UserError const& e) {
    return e.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("a declaration gives name, default, range and source as text") {
  Spec spec;
  ParamTable t;
  spec.describe(t);
  REQUIRE(t.all().size() == 10);
  auto const& entries = *t.find("entries");
  CHECK(entries.default_value == "512");
  CHECK(entries.range == "1 to 65536");
  CHECK(entries.source == "a paper, Table 1");
  CHECK(t.find("kind")->range == "one of: plain, compressed");
  CHECK(t.find("latency")->default_value == "10 ns");
  CHECK(t.find("latency")->range == "1 ns to 1 us");
  CHECK(t.find("page")->range == "4 KiB to 2 MiB");
  CHECK(t.find("share")->default_value == "0.5");
  CHECK(t.find("inner.ways")->default_value == "8");
  CHECK(t.find("ways") == nullptr);
}

TEST_CASE("each value of a choice has a text; a declaration without one is refused") {
  Spec spec;
  ParamTable t;
  spec.describe(t);
  auto const& choices = t.find("kind")->choices;
  REQUIRE(choices.size() == 2);
  CHECK(choices[1].name == "compressed");
  CHECK(choices[1].text == "several pages per entry");
  CHECK(t.find("entries")->choices.empty());
  CHECK_THROWS_WITH_AS(
      t.choice("other", spec.kind, {{"plain", Kind::plain, "a text"}, {"compressed", Kind::compressed, ""}},
               "other", "assumed"),
      "parameter other: its value 'compressed' has no text", UserError);
}

TEST_CASE("a spec with other defaults sets the sources of declared parameters") {
  struct Outer {
    Inner inner{2};
    void describe(ParamTable& t) {
      inner.describe(t);
      t.set_source("ways", "another paper");
    }
  };
  Outer outer;
  ParamTable t;
  t.section("outer", outer);
  REQUIRE(t.find("outer.ways") != nullptr);
  CHECK(t.find("outer.ways")->source == "another paper");
  CHECK(t.find("outer.ways")->default_value == "2");
  CHECK_THROWS_AS(t.set_source("lines", "assumed"), UserError);
}

TEST_CASE("a spec restricts declared parameters by a further condition") {
  struct Outer {
    Inner inner;
    void describe(ParamTable& t) {
      inner.describe(t);
      t.restrict("ways", Fact{"a cache"});
      t.restrict("ways", sibling("ways").is(4));
    }
  };
  Outer outer;
  ParamTable t;
  t.section("outer", outer);
  auto const& conditions = t.find("outer.ways")->only_when;
  REQUIRE(conditions.size() == 2);
  CHECK(conditions[0].text() == "a cache");
  CHECK(conditions[1].text() == "outer.ways = 4");
  CHECK_THROWS_WITH_AS(t.restrict("lines", Fact{"a cache"}),
                       "parameter lines is not declared, so its condition cannot be set", UserError);
}

TEST_CASE("setting a parameter changes the described member") {
  Spec spec;
  ParamTable t;
  spec.describe(t);
  t.find("entries")->set("64");
  t.find("share")->set("0.25");
  t.find("on")->set("true");
  t.find("label")->set("y");
  t.find("kind")->set("compressed");
  t.find("latency")->set("20ns");
  t.find("page")->set("64 KiB");
  t.find("link")->set("1 GB/s");
  t.find("clock")->set("2 GHz");
  t.find("inner.ways")->set("4");
  CHECK(spec.entries == 64);
  CHECK(spec.share == 0.25);
  CHECK(spec.on);
  CHECK(spec.label == "y");
  CHECK(spec.kind == Kind::compressed);
  CHECK(spec.latency == 20ns);
  CHECK(spec.page.bytes == 65536);
  CHECK(spec.link.bytes_per_second == 1'000'000'000);
  CHECK(spec.clock.hertz == 2'000'000'000);
  CHECK(spec.inner.ways == 4);
  CHECK(t.find("clock")->get() == "2 GHz");
  CHECK(t.find("clock")->default_value == "1 GHz");
}

TEST_CASE("an invalid value is reported with the rule, and changes nothing") {
  Spec spec;
  ParamTable t;
  spec.describe(t);
  CHECK(error_of(t, "entries", "0") == "'0' is outside 1 to 65536");
  CHECK(error_of(t, "entries", "65537") == "'65537' is outside 1 to 65536");
  CHECK(error_of(t, "entries", "-1") == "'-1' is not a non-negative integer");
  CHECK(error_of(t, "entries", "64.0") == "'64.0' is not a non-negative integer");
  CHECK(error_of(t, "entries", "99999999999999999999") == "'99999999999999999999' is outside 1 to 65536");
  CHECK(error_of(t, "share", "1.5") == "'1.5' is outside 0 to 1");
  CHECK(error_of(t, "share", "nan") == "'nan' is not a number");
  CHECK(error_of(t, "on", "yes") == "'yes' is not one of: true, false");
  CHECK(error_of(t, "kind", "plan") == "'plan' is not one of: plain, compressed");
  CHECK(error_of(t, "latency", "2us") == "'2us' is outside 1 ns to 1 us");
  CHECK(error_of(t, "latency", "2") == "'2' has no unit; write a time such as '5 us'");
  CHECK(error_of(t, "entries", "512") == "accepted");
  CHECK(spec.entries == 512);
  CHECK(spec.latency == 10ns);
}

TEST_CASE("a count never exceeds the range of its member or of a TOML integer") {
  std::uint32_t narrow = 1;
  std::uint64_t wide = 1;
  ParamTable t;
  t.count("narrow", narrow, {0, 1ULL << 40}, "x", "assumed");
  t.count("wide", wide, {0, ~0ULL}, "x", "assumed");
  CHECK(error_of(t, "narrow", "4294967296") == "'4294967296' is outside 0 to 4294967295");
  CHECK(error_of(t, "wide", "9223372036854775808") ==
        "'9223372036854775808' is outside 0 to 9223372036854775807");
}

}  // namespace params_test
