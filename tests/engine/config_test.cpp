// SPDX-License-Identifier: Apache-2.0
#include "farfault/engine/config.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "unused.hpp"

namespace config_test {

using namespace farfault;

namespace {

enum class Kind { plain, compressed };

struct Spec {
  std::uint32_t entries = 512;
  double share = 0.5;
  bool on = false;
  std::string label = "x";
  Kind kind = Kind::plain;
  Duration latency = 10ns;

  void describe(ParamTable& t) {
    t.count("entries", entries, {1, 65536}, "entries", "assumed");
    t.number("share", share, {0, 1}, "share", "assumed");
    t.flag("on", on, "whether", "assumed");
    t.text("label", label, "a label", "assumed");
    t.choice("kind", kind, {{"plain", Kind::plain, "plain"}, {"compressed", Kind::compressed, "compressed"}},
             "organization", "assumed");
    t.duration("latency", latency, {1ns, 1us}, "latency", "assumed");
  }
};

// Binds `c` to a Spec below gpu.l2_tlb and rejects unused keys.
Spec bound(Config& c) {
  Spec spec;
  ParamTable t;
  spec.describe(t);
  c.bind("gpu.l2_tlb", t);
  c.reject_errors();
  return spec;
}

template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (UserError const& e) {
    return e.what();
  }
  return "accepted";
}

std::string error_of_text(std::string const& text) {
  return error_of([&] {
    Config c;
    c.read_text(text, "x.toml");
    bound(c);
  });
}

std::string error_of_file(std::string const& path) {
  return error_of([&] {
    Config c;
    c.read_file(path);
    bound(c);
  });
}

std::string error_of_set(std::string const& assignment) {
  return error_of([&] {
    Config c;
    c.set(assignment);
    bound(c);
  });
}

// A private folder of the test, initially empty and finally deleted.
class Folder {
 public:
  explicit Folder(std::string const& name)
      : path_(std::filesystem::path(FARFAULT_BINARY_DIR) / ("config_" + name)) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file(std::string const& name, std::string const& text) const {
    auto const path = path_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path.string();
  }
  std::string at(std::string const& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace

TEST_CASE("values of every kind are assigned to their members, and other members keep their defaults") {
  Config c;
  c.read_text(
      "[gpu.l2_tlb]\nentries = 1_024\nshare = 1\non = true\nkind = 'compressed'\nlatency = \"20 ns\"\n",
      "x.toml");
  auto const spec = bound(c);
  CHECK(spec.entries == 1024);
  CHECK(spec.share == 1);
  CHECK(spec.on);
  CHECK(spec.label == "x");
  CHECK(spec.kind == Kind::compressed);
  CHECK(spec.latency == 20ns);
  CHECK(c.where("gpu.l2_tlb.kind") == "x.toml:5");
  CHECK(c.where("gpu.l2_tlb.label") == "");
}

TEST_CASE("an unknown key is rejected with file, line and the nearest known name") {
  CHECK(error_of_text("[gpu.l2_tlb]\n\nentires = 3\n") ==
        "x.toml:3: unknown key 'gpu.l2_tlb.entires'; did you mean 'gpu.l2_tlb.entries'?");
  CHECK(error_of_text("z = 3\n") == "x.toml:1: unknown key 'z'");
  CHECK(error_of_text("\n[gpu.l2_tbl]\n") ==
        "x.toml:2: unknown table 'gpu.l2_tbl'; did you mean 'gpu.l2_tlb'?");
  CHECK(error_of_text("[gpu.l2_tlb]\n") == "accepted");
  CHECK(error_of_set("gpu.l2_tlb.entires=3") ==
        "--set: unknown key 'gpu.l2_tlb.entires'; did you mean 'gpu.l2_tlb.entries'?");
}

TEST_CASE("all errors of a configuration are reported together, by file and line, with --set last") {
  Folder const folder("mistakes");
  auto const base =
      folder.file("base.toml", "[gpu.l2_tlb]\nkind = 'big'\nlabel = 'a'\nlabel = 'b'\n'a b' = 1\n");
  auto const bad = folder.file("bad.toml", "x = [\n");
  auto const main = folder.file("main.toml",
                                "include = ['base.toml', 'nope.toml', 'bad.toml']\n"
                                "when = 1979-05-27\n"
                                "[gpu.l2_tlb]\n"
                                "entries = 0\n"
                                "entires = 3\n"
                                "share = 'x'\n");
  Config c;
  c.read_file(main);
  c.set("gpu.l2_tlb.latency=5");
  c.set("novalue");
  std::vector<std::string> const lines{
      main + ":1: 'nope.toml' is neither a preset nor a file",
      main + ":2: 'when' is a date or a time of day; no parameter has this type",
      main + ":4: gpu.l2_tlb.entries: '0' is outside 1 to 65536",
      main + ":5: unknown key 'gpu.l2_tlb.entires'; did you mean 'gpu.l2_tlb.entries'?",
      main + ":6: gpu.l2_tlb.share: 'x' is in quotes, but a value of this kind (number) takes none",
      base + ":2: gpu.l2_tlb.kind: 'big' is not one of: plain, compressed",
      base + ":4: Error while parsing key-value pair: cannot redefine existing string 'label'",
      base + ":5: key 'gpu.l2_tlb.a b' may contain only letters, digits, '_' and '-'",
      bad + ":1: Error while parsing array: encountered end-of-file",
      "--set 'novalue': expected KEY=VALUE",
      "--set gpu.l2_tlb.latency: '5' has no unit; write a time such as '5 us'"};
  std::string expected;
  for (auto const& line : lines) expected += (expected.empty() ? "" : "\n") + line;
  CHECK(error_of([&] { bound(c); }) == expected);
}

TEST_CASE("a duplicate key does not hide later errors, and its first value is used") {
  CHECK(error_of_text("a = 1\na = 2\nb = 1\nb = 3\n[gpu.l2_tlb]\nentries = 0\n") ==
        "x.toml:1: unknown key 'a'\n"
        "x.toml:2: Error while parsing key-value pair: cannot redefine existing integer 'a'\n"
        "x.toml:3: unknown key 'b'\n"
        "x.toml:4: Error while parsing key-value pair: cannot redefine existing integer 'b'\n"
        "x.toml:6: gpu.l2_tlb.entries: '0' is outside 1 to 65536");
  // A line that may begin a value of several lines ends the search, because the meaning of later lines is
  // unknown.
  CHECK(error_of_text("a = 1\na = [\n2]\nb = 1\n") ==
        "x.toml:2: Error while parsing key-value pair: cannot redefine existing integer 'a'");
}

TEST_CASE("twenty errors are listed, with the number of further ones") {
  std::string text;
  for (int i = 0; i < 1100; ++i) text += "'a b" + std::to_string(i) + "' = 1\n";
  for (int i = 0; i < 50'000; ++i) text += "z" + std::to_string(i) + " = 1\n";
  auto const error = error_of_text(text);
  CHECK(std::count(error.begin(), error.end(), '\n') == 20);
  CHECK(error.find("x.toml:20: ") != std::string::npos);
  CHECK(error.find("x.toml:21: ") == std::string::npos);
  CHECK(error.substr(error.rfind('\n') + 1) == "and 51080 more");
}

TEST_CASE("keys of unused choices are checked, listed as unused, and not in the resolved text") {
  auto const read = [](Config& c, std::string const& text) {
    c.read_text(text, "x.toml");
    Spec chosen, other;
    ParamTable t, u;
    chosen.describe(t);
    other.describe(u);
    c.bind("a", t);
    c.bind("b", u);
    c.exclude("b", "kind = \"b\"");
    c.exclude("a.share", "kind = \"c\"");
    c.reject_errors();
  };
  Config c;
  read(c, "[a]\nentries = 3\nshare = 1\n[b]\nentries = 4\non = true\n");
  CHECK(test::unused_in(c) == std::vector<std::string>{"a.share (x.toml:3; only with kind = \"c\")",
                                                       "b.entries (x.toml:5; only with kind = \"b\")",
                                                       "b.on (x.toml:6; only with kind = \"b\")"});
  CHECK(c.resolved() ==
        "[a]\nentries = 3\non = false\nlabel = \"x\"\nkind = \"plain\"\nlatency = \"10 ns\"\n");
  CHECK(error_of([&] {
          Config wrong;
          read(wrong, "b.entries = 0\nb.entires = 1\n");
        }) ==
        "x.toml:1: b.entries: '0' is outside 1 to 65536\n"
        "x.toml:2: unknown key 'b.entires'; did you mean 'b.entries'?");
}

TEST_CASE("errors of a caller are listed with the others at their key's place") {
  Config c;
  c.read_text("gpu.l2_tlb.entries = 3\nz = 1\n", "x.toml");
  c.refuse("gpu.l2_tlb.entries", "must be even");
  c.refuse("gpu.l2_tlb.share", "share = 0.5 must be 0 or 1");
  CHECK(error_of([&] { bound(c); }) ==
        "x.toml:1: must be even\nx.toml:2: unknown key 'z'\nshare = 0.5 must be 0 or 1");
  Config with_set;
  with_set.set("gpu.l2_tlb.entries=3");
  with_set.refuse("gpu.l2_tlb.entries", "gpu.l2_tlb.entries = 3 must be even");
  with_set.refuse("gpu.l2_tlb.entries", "must be even");
  CHECK(error_of([&] { bound(with_set); }) ==
        "--set gpu.l2_tlb.entries = 3 must be even\n--set: must be even");
}

TEST_CASE("a value of the wrong type, without a unit or out of range is rejected with the rule") {
  CHECK(error_of_text("gpu.l2_tlb.entries = \"512\"\n") ==
        "x.toml:1: gpu.l2_tlb.entries: '512' is in quotes, but a value of this kind (count) takes none");
  CHECK(error_of_text("gpu.l2_tlb.entries = 64.0\n") ==
        "x.toml:1: gpu.l2_tlb.entries: '64.0' is not a non-negative integer");
  CHECK(error_of_text("gpu.l2_tlb.entries = 0\n") ==
        "x.toml:1: gpu.l2_tlb.entries: '0' is outside 1 to 65536");
  CHECK(error_of_text("gpu.l2_tlb.latency = 5\n") ==
        "x.toml:1: gpu.l2_tlb.latency: 5 has no unit; write it in quotes with a unit, such as \"10 ns\"");
  CHECK(error_of_text("gpu.l2_tlb.kind = true\n") ==
        "x.toml:1: gpu.l2_tlb.kind: true must be written in quotes");
  CHECK(error_of_text("gpu.l2_tlb.share = nan\n") == "x.toml:1: gpu.l2_tlb.share: 'nan' is not a number");
  CHECK(error_of_text("gpu.l2_tlb.entries = [1]\n") ==
        "x.toml:1: gpu.l2_tlb.entries: '[ 1 ]' is not a non-negative integer");
  CHECK(error_of_text("gpu.l2_tlb.label = 1979-05-27\n") ==
        "x.toml:1: 'gpu.l2_tlb.label' is a date or a time of day; no parameter has this type");
  CHECK(error_of_text("gpu = 1\n").substr(0, 30) == "x.toml:1: unknown key 'gpu'");
  CHECK(error_of_text("'a.b' = 1\n") == "x.toml:1: key 'a.b' may contain only letters, digits, '_' and '-'");
}

TEST_CASE("--set needs no quotes and overrides the files") {
  Config c;
  c.read_text("[gpu.l2_tlb]\nentries = 7\nlabel = 'a'\n", "x.toml");
  c.set("gpu.l2_tlb.entries = 8");
  c.set("gpu.l2_tlb.kind=compressed");
  c.set("gpu.l2_tlb.latency=20ns");
  c.set("gpu.l2_tlb.label=5");
  auto const spec = bound(c);
  CHECK(spec.entries == 8);
  CHECK(spec.kind == Kind::compressed);
  CHECK(spec.latency == 20ns);
  CHECK(spec.label == "5");
  CHECK(c.where("gpu.l2_tlb.entries") == "--set");
  CHECK(error_of_set("gpu.l2_tlb.entries=0") == "--set gpu.l2_tlb.entries: '0' is outside 1 to 65536");
  CHECK(error_of_set("gpu.l2_tlb={entries=4, on=true}") == "accepted");
}

TEST_CASE("an invalid assignment is rejected") {
  CHECK(error_of_set("a") == "--set 'a': expected KEY=VALUE");
  CHECK(error_of_set("a=") == "--set 'a=': the value is missing");
  CHECK(error_of_set("=1") == "--set '=1': '' is not a valid key (example: gpu.l2_tlb.entries)");
  CHECK(error_of_set("a..b=1") == "--set 'a..b=1': 'a..b' is not a valid key (example: gpu.l2_tlb.entries)");
  CHECK(error_of_set("a=[1").substr(0, 16) == "--set 'a=[1':1: ");
}

TEST_CASE("a syntax error is reported with its line") {
  CHECK(error_of_text("a = 1\nb = \n").substr(0, 10) == "x.toml:2: ");
  CHECK(error_of_text(std::string("a = \"\xff\"\n")).substr(0, 10) == "x.toml:1: ");
  CHECK(error_of_text(std::string("a = 1\0", 6)).substr(0, 10) == "x.toml:1: ");
}

TEST_CASE("included presets and files are read first, in order, relative to the includer") {
  Folder const folder("include");
  folder.file("sub/a.toml", "include = ['b.toml']\n[gpu.l2_tlb]\nentries = 2\nlabel = 'a'\n");
  folder.file("sub/b.toml", "[gpu.l2_tlb]\nentries = 3\nshare = 0.25\n");
  auto const main = folder.file("main.toml", "include = ['base', 'sub/a.toml']\ngpu.l2_tlb.entries = 1\n");
  Config c([](std::string_view name) -> std::optional<std::string> {
    if (name == "base") return "[gpu.l2_tlb]\nlabel = 'base'\non = true\n";
    return std::nullopt;
  });
  c.read_file(main);
  auto const spec = bound(c);
  CHECK(spec.entries == 1);
  CHECK(spec.label == "a");
  CHECK(spec.share == 0.25);
  CHECK(spec.on);
  CHECK(c.where("gpu.l2_tlb.on") == "base:3");
}

TEST_CASE("missing, repeated and cyclic includes are rejected") {
  Folder const folder("cycle");
  auto const a = folder.file("a.toml", "include = ['b.toml']\n");
  auto const b = folder.file("b.toml", "include = [\n'a.toml']\n");
  CHECK(error_of_file(a) == b + ":2: 'a.toml' is already included by the command line");
  auto const twice = folder.file("t.toml", "include = ['c.toml', './c.toml']\n");
  folder.file("c.toml", "");
  CHECK(error_of_file(twice) == twice + ":1: './c.toml' is already included by " + twice + ":1");
  auto const missing = folder.file("m.toml", "include = ['nope']\n");
  CHECK(error_of_file(missing) == missing + ":1: 'nope' is neither a preset nor a file");
  auto const wrong = folder.file("w.toml", "include = 'c.toml'\n");
  CHECK(error_of_file(wrong) ==
        wrong + ":1: include must be an array of preset and file names, such as [\"base.toml\"]");
  for (int i = 0; i < 40; ++i)
    folder.file("d" + std::to_string(i), "include = ['d" + std::to_string(i + 1) + "']\n");
  CHECK(error_of_file(folder.at("d0")) ==
        folder.at("d16") + ":1: includes are nested more than 16 levels deep");
}

TEST_CASE("a file that is missing, not regular or huge is rejected") {
  Folder const folder("files");
  CHECK(error_of_file(folder.at("none")) == folder.at("none") + ": no such file");
  CHECK(error_of_file(folder.at("")) == folder.at("") + ": it is a directory, not a regular file");
  CHECK(error_of_file("/dev/zero") ==
        "/dev/zero: it is a device, not a regular file; copy its contents to a file first");
  auto const huge = folder.file("huge.toml", "");
  std::filesystem::resize_file(huge, (16u << 20) + 1);
  CHECK(error_of_file(huge) == huge + ": size 16777217 B exceeds the 16 MiB limit");
}

TEST_CASE("hostile nesting gives an error") {
  std::string dotted, header = "[", brackets = "a = ", deep;
  for (int i = 0; i < 1'000'000; ++i) {
    dotted += "a.";
    header += "a.";
    brackets += "[";
  }
  for (int i = 0; i < 30; ++i) deep += "a.";
  CHECK(error_of_text(dotted + "a = 1\n") == "x.toml:1: the line has more than 4096 dots");
  CHECK(error_of_text(header + "a]\n") == "x.toml:1: the line has more than 4096 dots");
  CHECK(error_of_text(brackets).substr(0, 10) == "x.toml:1: ");
  CHECK(error_of_text(deep + "a = 1\n")
            .starts_with("x.toml:1: tables are nested more than 16 levels deep at '"));
}

TEST_CASE("arrays are read by the caller, and an array of tables becomes numbered tables") {
  Config c;
  c.read_text(
      "names = ['a', 'b,c']\none = 'a'\nmixed = [1, 'b']\n[[link]]\nto = 'x'\n[[link]]\nto = "
      "'y'\n[app.bfs]\n",
      "x.toml");
  CHECK(c.take_strings("names") == std::vector<std::string>{"a", "b,c"});
  CHECK(c.take_strings("one") == std::vector<std::string>{"a"});
  CHECK(c.take_strings("none") == std::nullopt);
  CHECK(c.take_strings("mixed") == std::nullopt);
  CHECK(c.tables("") == std::vector<std::string>{"app", "link"});
  CHECK(c.tables("link") == std::vector<std::string>{"0", "1"});
  CHECK(c.tables("app") == std::vector<std::string>{"bfs"});
  CHECK(c.tables("none").empty());
  auto const to = c.take("link.1.to");
  REQUIRE(to);
  CHECK(to->value == "y");
  CHECK(to->is_string);
  CHECK(to->line == 7);
  CHECK(error_of([&] { c.reject_errors(); }) ==
        "x.toml:3: mixed must contain only strings\nx.toml:5: unknown key 'link.0.to'; did you mean "
        "'link.1.to'?\n"
        "x.toml:8: unknown table 'app.bfs'");
}

TEST_CASE("a later array of tables replaces an earlier one as a whole") {
  Config c;
  c.read_text("[[link]]\nto = 'x'\n[[link]]\nto = 'y'\n", "a.toml");
  c.read_text("[[link]]\nfrom = 'z'\n", "b.toml");
  CHECK(c.tables("link") == std::vector<std::string>{"0"});
  CHECK(c.take("link.0.to") == std::nullopt);
  CHECK(c.take("link.0.from")->value == "z");
}

TEST_CASE("numbered tables are listed by number") {
  Config c;
  for (int i = 0; i < 12; ++i) c.set("link." + std::to_string(i) + ".to=a");
  auto const names = c.tables("link");
  REQUIRE(names.size() == 12);
  CHECK(names[2] == "2");
  CHECK(names[11] == "11");
}

TEST_CASE("the resolved text lists defaults and reads back to the same configuration") {
  Config c;
  c.set("names=['a', 'b']");
  c.set("free=word");
  c.read_text("[gpu.l2_tlb]\nlabel = \"say \\\"hi\\\"\\n\\u0001\"\nshare = 0.1\n", "x.toml");
  c.take_strings("names");
  c.take("free");
  bound(c);
  auto const text = c.resolved();
  CHECK(text ==
        "names = [ 'a', 'b' ]\nfree = \"word\"\n\n[gpu.l2_tlb]\nentries = 512\nshare = 0.1\non = false\n"
        "label = \"say \\\"hi\\\"\\u000A\\u0001\"\nkind = \"plain\"\nlatency = \"10 ns\"\n");
  Config again;
  again.read_text(text, "resolved");
  CHECK(again.take_strings("names") == std::vector<std::string>{"a", "b"});
  CHECK(again.take("free")->value == "word");
  auto const spec = bound(again);
  CHECK(spec.label == "say \"hi\"\n\x01");
  CHECK(spec.share == 0.1);
  CHECK(again.resolved() == text);
}

TEST_CASE("a shorthand is read and checked, and left out of the resolved text") {
  struct Sized {
    Kind size = Kind::plain;
    std::uint32_t entries = 8;
    void describe(ParamTable& t) {
      t.choice("size", size, {{"plain", Kind::plain, "8"}, {"compressed", Kind::compressed, "4"}},
               "Size: sets entries", "assumed")
          .shorthand();
      t.count("entries", entries, {1, 64}, "Entries", "assumed");
    }
  };
  auto const read = [](Config& c, std::string const& text) {
    c.read_text(text, "x.toml");
    Sized sized;
    ParamTable t;
    sized.describe(t);
    c.bind("a", t);
    c.reject_errors();
    return sized.size;
  };
  Config c;
  CHECK(read(c, "[a]\nsize = \"compressed\"\n") == Kind::compressed);
  CHECK(c.resolved() == "[a]\nentries = 8\n");
  CHECK(c.find_bound("a.size") == nullptr);
  REQUIRE(c.bound().size() == 1);
  CHECK(c.bound()[0].key == "a.entries");
  CHECK(c.where("a.size") == "x.toml:2");
  CHECK(c.unused().empty());
  c.exclude("a.size", "the default of a.entries");
  CHECK(test::unused_in(c) ==
        std::vector<std::string>{"a.size (x.toml:2; only with the default of a.entries)"});
  Config wrong;
  CHECK(error_of([&] { read(wrong, "a.size = \"huge\"\n"); }) ==
        "x.toml:1: a.size: 'huge' is not one of: plain, compressed");
}

TEST_CASE("a damaged configuration is either read or rejected with its file's name") {
  std::string const sound =
      "# a study\n[gpu.l2_tlb]\nentries = 64\nshare = 0.5\nkind = \"plain\"\nlatency = '20 ns'\n[[link]]\n"
      "to = \"x\"\nwide = [1, 2.5, {a = 1}]\n[a.\"b\"]\n'c' = \"\"\"long\ntext\\u0041\"\"\"\n";
  std::uint64_t x = 1;
  auto const next = [&x](std::size_t n) {
    x = x * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::size_t>(x >> 33) % n;
  };
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    auto text = sound;
    for (std::size_t k = 0; k <= next(4) && !text.empty(); ++k) {
      auto const at = next(text.size());
      switch (next(4)) {
        case 0:
          text[at] = static_cast<char>(next(256));
          break;
        case 1:
          text.erase(at, 1 + next(8));
          break;
        case 2:
          text.insert(at, text.substr(next(text.size()), next(12)));
          break;
        default:
          text.resize(at + 1);
          break;
      }
    }
    auto const error = error_of_text(text);
    if (error == "accepted") continue;
    ++refused;
    std::istringstream lines(error);
    for (std::string line; std::getline(lines, line);)
      CHECK_MESSAGE((line.substr(0, 7) == "x.toml:" || line.substr(0, 4) == "and "), error);
  }
  CHECK(refused > 1000);
}

TEST_CASE(
    "a value from a line of another file is checked like a configuration, with errors that name the line") {
  auto const error_at = [](std::string const& key, std::string const& value) {
    return error_of([&] {
      Config c;
      c.read_text("[gpu.l2_tlb]\nentries = 64\n", "x.toml");
      c.set(key, value, "study.toml", 7);
      bound(c);
    });
  };
  Config c;
  c.read_text("[gpu.l2_tlb]\nentries = 64\n", "x.toml");
  c.set("gpu.l2_tlb.entries", "128", "study.toml", 7);
  c.set("gpu.l2_tlb.latency", "\"20 ns\"", "study.toml", 8);
  auto const spec = bound(c);
  CHECK(spec.entries == 128);
  CHECK(spec.latency == 20ns);
  CHECK(c.where("gpu.l2_tlb.entries") == "study.toml:7");
  CHECK(error_at("gpu.l2_tlb.entires", "128") ==
        "study.toml:7: unknown key 'gpu.l2_tlb.entires'; did you mean 'gpu.l2_tlb.entries'?");
  CHECK(error_at("gpu.l2_tlb.entries", "\"128\"") ==
        "study.toml:7: gpu.l2_tlb.entries: '128' is in quotes, but a value of this kind (count) takes none");
  CHECK(error_at("gpu.l2_tlb.entries", "0").starts_with("study.toml:7: gpu.l2_tlb.entries: "));
  CHECK(error_at("gpu..entries", "1") ==
        "study.toml:7: 'gpu..entries' is not a valid key (example: gpu.l2_tlb.entries)");
}

}  // namespace config_test
