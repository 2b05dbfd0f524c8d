// SPDX-License-Identifier: Apache-2.0
// Arrays of tables that are identified by name, and a parameter that is a count or a word.
#include <doctest/doctest.h>

#include <string>

#include "farfault/engine/config.hpp"

namespace config_arrays_test {

using namespace farfault;

namespace {

struct Link {
  std::string to = "nowhere";
  std::string width = "all";
  struct {
    std::uint32_t depth = 4;
    void describe(ParamTable& t) { t.count("depth", depth, {1, 64}, "depth", "assumed"); }
  } queue;
  void describe(ParamTable& t) {
    t.text("to", to, "the other end", "assumed");
    t.count_or_text("width", width, "lanes", "assumed");
    t.section("queue", queue);
  }
};

// The configuration of the links, which are identified by their destination.
std::string resolved(Config& c) {
  for (std::size_t i = 0; i < c.array_size("link"); ++i) {
    auto const to = c.peek("link." + std::to_string(i) + ".to");
    auto const name = to ? to->value : std::to_string(i);
    c.name_table("link", i, name);
    Link link;
    ParamTable table;
    link.describe(table);
    c.bind("link." + name, table);
  }
  c.reject_errors();
  return c.resolved();
}

std::string resolved(std::string const& text, std::vector<std::string> const& sets = {}) {
  try {
    Config c;
    c.read_text(text, "f");
    for (auto const& s : sets) c.set(s);
    return resolved(c);
  } catch (UserError const& e) {
    return e.what();
  }
}

std::string const kTwo =
    "[[link]]\nto = \"west\"\nwidth = 16\nqueue.depth = 8\n[[link]]\nto = \"east\"\nwidth = \"half\"\n";

}  // namespace

TEST_CASE("the named tables of an array are written as an array in its order, and read back") {
  auto const text = resolved(kTwo);
  CHECK(text ==
        "[[link]]\nto = \"west\"\nwidth = 16\n\n[link.queue]\ndepth = 8\n\n"
        "[[link]]\nto = \"east\"\nwidth = \"half\"\n\n[link.queue]\ndepth = 4\n");
  CHECK(resolved(text) == text);
}

TEST_CASE("a table is distinguished from one whose name is a prefix of its name") {
  auto const text = resolved("[[link]]\nto = \"a\"\n[[link]]\nto = \"ab\"\n", {"link.ab.width=3"});
  CHECK(text ==
        "[[link]]\nto = \"a\"\nwidth = \"all\"\n\n[link.queue]\ndepth = 4\n\n"
        "[[link]]\nto = \"ab\"\nwidth = 3\n\n[link.queue]\ndepth = 4\n");
}

TEST_CASE("a table of an array is addressed by name and by number, with the name first") {
  CHECK(resolved(kTwo, {"link.east.queue.depth=2", "link.west.width=all"}) ==
        "[[link]]\nto = \"west\"\nwidth = \"all\"\n\n[link.queue]\ndepth = 8\n\n"
        "[[link]]\nto = \"east\"\nwidth = \"half\"\n\n[link.queue]\ndepth = 2\n");
  CHECK(resolved(kTwo, {"link.1.queue.depth=3", "link.1.width=1", "link.east.width=2"})
            .ends_with("width = 2\n\n[link.queue]\ndepth = 3\n"));
  CHECK(resolved(kTwo, {"link.east.queue.depths=2"}) ==
        "--set: unknown key 'link.east.queue.depths'; did you mean 'link.east.queue.depth'?");
}

TEST_CASE("eleven tables keep their order, and the second is distinguished from the eleventh") {
  std::string text, names;
  for (char name = 'k'; name >= 'a'; --name) text += "[[link]]\nto = \"" + std::string(1, name) + "\"\n";
  Config c;
  c.read_text(text, "f");
  auto const whole = resolved(c);
  for (std::size_t at = whole.find("to = "); at != whole.npos; at = whole.find("to = ", at + 1))
    names += whole[at + 6];
  CHECK(names == "kjihgfedcba");
}

TEST_CASE("a missing key of a named table is reported at the table's line, a value at its own line") {
  Config c;
  c.read_text(kTwo, "f");
  c.name_table("link", 1, "east");
  c.refuse("link.east.queue.depth", "too deep");
  c.refuse("link.east.width", "too wide");
  CHECK(c.where("link.east") == "f:5");
  CHECK(c.where("link.east.queue.depth") == "");
  c.forget("link");
  CHECK(c.keys("link").empty());
  CHECK(c.array_size("link") == 0);
  std::string told;
  try {
    c.reject_errors();
  } catch (UserError const& e) {
    told = e.what();
  }
  CHECK(told == "f:5: too deep\nf:7: too wide");
}

TEST_CASE("keys are listed in reading order, and only at and below one key") {
  Config c;
  c.read_text("[link]\nz = 1\na = 2\n[links]\nb = 3\n[link.inner]\n", "f");
  c.set("link.b=1");
  CHECK(c.keys("link") == std::vector<std::string>{"link.z", "link.a", "link.inner", "link.b"});
  CHECK(c.peek("link.a")->value == "2");
  CHECK_FALSE(c.peek("link.c"));
}

TEST_CASE("an array replaces a table of earlier layers, not of the same or later layers") {
  auto const keys = [](std::vector<std::string> const& layers) {
    Config c;
    c.replaces("link", "bus");
    for (auto const& text : layers) {
      if (text.starts_with("link=") || text.starts_with("bus."))
        c.set(text);
      else
        c.read_text(text, "f");
    }
    return c.keys("bus");
  };
  std::string const bus = "[bus]\nwidth = 1\n", link = "[[link]]\nto = \"x\"\n";
  CHECK(keys({bus, link}).empty());
  CHECK(keys({bus, "link=[{to=\"x\"}]"}).empty());
  CHECK(keys({bus + link}).size() == 1);
  // All of --set are one layer.
  CHECK(keys({"bus.width=2", "link=[{to=\"x\"}]"}).size() == 1);
  CHECK(keys({"link=[{to=\"x\"}]", "bus.width=2"}).size() == 1);
  CHECK(keys({bus, "bus.depth=2", "link=[{to=\"x\"}]"}) == std::vector<std::string>{"bus.depth"});
  CHECK(keys({link + bus}).size() == 1);
  CHECK(keys({link, bus}).size() == 1);
  CHECK(keys({bus, "[link]\nto = \"x\"\n"}).size() == 1);
}

TEST_CASE("a count or words: both are written as given, a count without leading zeros") {
  auto const width = [](std::string const& value) {
    auto const text = resolved("[[link]]\nto = \"a\"\n", {"link.a.width=" + value});
    auto const at = text.find("width = ");
    return at == text.npos ? text : text.substr(at + 8, text.find('\n', at) - at - 8);
  };
  CHECK(width("15") == "15");
  CHECK(width("\"15\"") == "15");
  CHECK(width("\"0015\"") == "15");
  CHECK(width("0-14") == "\"0-14\"");
  CHECK(width("\"\"") == "\"\"");
  CHECK(width("9223372036854775807") == "9223372036854775807");
  CHECK(width("\"9223372036854775808\"") ==
        "--set link.a.width: '9223372036854775808' is above the maximum, 9223372036854775807");
}

}  // namespace config_arrays_test
