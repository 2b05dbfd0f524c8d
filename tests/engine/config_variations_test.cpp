// SPDX-License-Identifier: Apache-2.0
// Other values of a bound configuration: the same result as reading a file with these values.
#include <doctest/doctest.h>

#include "farfault/engine/config.hpp"

namespace config_variations_test {

using namespace farfault;

namespace {

struct Leaf {
  std::uint32_t depth = 4;
  void describe(ParamTable& t) { t.count("depth", depth, {1, 8}, "depth", "assumed"); }
};

struct Spec {
  std::uint32_t entries = 512;
  double share = 0.5;
  std::string label = "x", sms = "all";
  Duration latency = 10ns;
  std::string order = "fifo";
  Leaf by_age, by_size;

  void describe(ParamTable& t) {
    t.count("entries", entries, {1, 65536}, "entries", "assumed");
    t.number("share", share, {0, 1}, "share", "assumed");
    t.text("label", label, "a label", "assumed").only_when(sibling("entries").is_above(1));
    t.count_or_text("sms", sms, "sms", "assumed");
    t.duration("latency", latency, {1ns, 1us}, "latency", "assumed");
    t.alternatives("order", order,
                   {{"fifo", "fifo", "", [](ParamTable&) {}},
                    {"by_age", "by age", "", [this](ParamTable& inner) { by_age.describe(inner); }},
                    {"by_size", "by size", "", [this](ParamTable& inner) { by_size.describe(inner); }}},
                   "order", "assumed");
  }
};

constexpr char const* kFile = "x.toml";
std::vector<std::string> const kKeys = {"a.entries", "a.share",        "a.label", "a.sms",
                                        "a.latency", "a.by_age.depth", "a.order", "list"};

// A configuration bound to a lasting Spec, with all keys set on lines of a file.
struct Bound {
  Spec spec;
  Config config;
  explicit Bound(std::vector<std::string> const& values) {
    config.may_vary(kKeys);
    for (std::size_t i = 0; i < values.size(); ++i)
      config.set(kKeys[i], values[i], kFile, static_cast<int>(i) + 1);
    ParamTable t;
    spec.describe(t);
    config.bind("a", t, Config::Spec::lasting);
    config.take("list");
    config.reject_errors();
  }
  bool vary(std::string const& key, std::string const& value, int line = 50) {
    if (!config.vary(key, value, kFile, line)) return false;
    config.choose_again();
    return true;
  }
};

std::vector<std::string> const kFirst = {"3",        "0.25", "\"one\"",    "\"all\"",
                                         "\"5 ns\"", "2",    "\"by_age\"", "[1, 2]"};

}  // namespace

TEST_CASE("a varied configuration has the text, values and places of one read with these values") {
  Bound varied(kFirst);
  std::vector<std::vector<std::string>> const others = {
      {"1", "1", "\"two\"", "7", "\"1 us\"", "8", "\"fifo\"", "[1, 2]"},
      {"65536", "0.1", "\"\"", "\"0-3\"", "\"2.5 ns\"", "1", "\"by_size\"", "[1, 2]"},
      kFirst};
  for (auto const& values : others) {
    for (std::size_t i = 0; i + 1 < kKeys.size(); ++i)
      REQUIRE(varied.vary(kKeys[i], values[i], static_cast<int>(i) + 1));
    Bound const read(values);
    CHECK(varied.config.resolved() == read.config.resolved());
    CHECK(varied.config.resolved({"a.sms"}) == read.config.resolved({"a.sms"}));
    CHECK(varied.spec.entries == read.spec.entries);
    CHECK(varied.spec.latency == read.spec.latency);
    CHECK(varied.config.bound().size() == read.config.bound().size());
    for (auto const& key : kKeys) CHECK(varied.config.where(key) == read.config.where(key));
  }
}

TEST_CASE("parameters of a replaced choice are omitted, and parameters of the new one are included") {
  Bound b(kFirst);
  CHECK(b.config.find_bound("a.by_age.depth")->value == "2");
  CHECK(b.config.find_bound("a.by_size.depth") == nullptr);
  REQUIRE(b.vary("a.order", "\"by_size\""));
  CHECK(b.config.find_bound("a.by_age.depth") == nullptr);
  CHECK(b.config.find_bound("a.by_size.depth")->value == "4");
  REQUIRE(b.vary("a.entries", "1"));
  CHECK(b.config.find_bound("a.label") == nullptr);
  REQUIRE(b.vary("a.entries", "2"));
  CHECK(b.config.find_bound("a.label")->value == "one");
  b.config.exclude("a.label", "nothing");
  REQUIRE(b.vary("a.entries", "3"));
  CHECK(b.config.find_bound("a.label") == nullptr);
}

TEST_CASE("a value that bind() would reject is rejected, and the next one is accepted") {
  struct Setting {
    std::string key, value;
  };
  Bound b(kFirst);
  auto const text = b.config.resolved();
  for (auto const& s : std::vector<Setting>{{"a.entries", "0"},
                                            {"a.entries", "\"4\""},
                                            {"a.entries", "4.0"},
                                            {"a.entries", "[4]"},
                                            {"a.entries", "{x = 4}"},
                                            {"a.entries", "4\nb = 5"},
                                            {"a.entries", ""},
                                            {"a.entries", "07"},
                                            {"a.entries", "2020-01-01"},
                                            {"a.latency", "5"},
                                            {"a.latency", "\"5 B\""},
                                            {"a.order", "\"lifo\""},
                                            {"a.label", "true"}})
    CHECK_MESSAGE(!b.vary(s.key, s.value), s.key, " = ", s.value);
  REQUIRE(b.vary("a.entries", kFirst[0]));
  REQUIRE(b.vary("a.latency", kFirst[4]));
  REQUIRE(b.vary("a.order", kFirst[6]));
  REQUIRE(b.vary("a.label", kFirst[2]));
  CHECK(b.config.resolved() == text);
}

TEST_CASE("only a key set at its place and bound to a lasting Spec can vary") {
  Bound b(kFirst);
  for (std::size_t i = 0; i < 7; ++i) CHECK(b.config.can_vary(kKeys[i], kFile, static_cast<int>(i) + 1));
  CHECK_FALSE(b.config.can_vary("list", kFile, 8));
  CHECK_FALSE(b.config.can_vary("a.entries", kFile, 2));
  CHECK_FALSE(b.config.can_vary("a.entries", "y.toml", 1));
  CHECK_FALSE(b.config.can_vary("a.by_size.depth", kFile, 6));
  CHECK_FALSE(b.vary("list", "[3]"));
  CHECK_FALSE(b.vary("a.by_size.depth", "3"));
  b.config.keep("a.order");
  CHECK_FALSE(b.config.can_vary("a.order", kFile, 7));
  CHECK_FALSE(b.vary("a.order", "\"fifo\""));

  Config config;
  config.may_vary({"a.entries"});
  config.set("a.entries", "3", kFile, 1);
  Spec spec;
  ParamTable t;
  spec.describe(t);
  config.bind("a", t);
  CHECK_FALSE(config.can_vary("a.entries", kFile, 1));
  CHECK_FALSE(config.vary("a.entries", "4", kFile, 1));
}

}  // namespace config_variations_test
