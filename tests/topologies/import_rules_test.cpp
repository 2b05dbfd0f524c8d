// SPDX-License-Identifier: Apache-2.0
// Every importer rule has a case that depends on it: device kinds, link ends, lines that inspect lists.
#include "import_rules.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "farfault/engine/error.hpp"
#include "farfault/topologies/description.hpp"
#include "formats.hpp"
#include "import_case.hpp"

namespace import_rules_test {

using namespace farfault;
using namespace farfault::topologies;

namespace {

std::vector<ImportCase> all_cases() {
  std::vector<ImportCase> all;
  for (auto const& some : {import_rules_nccl_test::cases(), import_rules_hwloc_test::cases(),
                           import_rules_graph_test::cases(), import_rules_cluster_test::cases()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

std::string summary(Machine const& m) {
  std::string out;
  auto const list = [&](auto const& kinds) {
    bool first = true;
    for (auto const kind : kinds)
      if (auto const n = m.count(kind)) {
        out += (first ? "" : ", ") + std::to_string(n) + " " + std::string(name_of(kind));
        first = false;
      }
  };
  list(kNodeKinds);
  out += " | ";
  list(kLinkKinds);
  return out;
}

struct Read {
  std::string import_as, text;
  std::vector<std::string> assumed, rules;
};

Read read(std::string const& text) {
  for (auto const& format : machine_formats()) {
    if (!format.opens(text)) continue;
    Read result;
    try {
      auto builder = format.parse(text, "f", {}, {});
      result.rules = builder.decisions();
      auto const machine = builder.finish("f");
      result.import_as = summary(machine);
      result.text = describe_text(machine);
      result.assumed = machine.assumed;
    } catch (UserError const& error) {
      result.import_as = error.what();
    }
    return result;
  }
  return {"no format", {}, {}, {}};
}

}  // namespace

TEST_CASE("every import rule has its own case") {
  std::set<std::string_view> tested;
  for (auto const& c : all_cases()) tested.insert(c.rule);
  std::set<std::string_view> known;
  for (auto const& rule : import_rules()) {
    INFO(rule.id);
    CHECK(tested.contains(rule.id));
    CHECK(known.insert(rule.id).second);
  }
  for (auto const rule : tested) {
    INFO(rule);
    CHECK(known.contains(rule));
  }
}

TEST_CASE("an import rule decides its case, and inspect lists the assumption") {
  for (auto const& c : all_cases()) {
    INFO(c.rule);
    auto const result = read(c.text);
    CHECK(result.import_as == c.import_as);
    INFO(result.text);
    CHECK(result.text.find(c.shows) != std::string::npos);
    auto const& rule = import_rule(c.rule);
    // A refusal creates no machine that could record the rule.
    if (rule.import_as != ImportAs::refused)
      CHECK_MESSAGE(std::ranges::find(result.rules, c.rule) != result.rules.end(), "the rule was not used");
    CHECK(c.assumed.empty() == (rule.assumed.empty() || rule.import_as == ImportAs::refused));
    if (!c.assumed.empty()) {
      std::string listed;
      for (auto const& sentence : result.assumed) listed += sentence + "\n";
      INFO(listed);
      CHECK(std::ranges::find(result.assumed, c.assumed) != result.assumed.end());
    }
  }
}

TEST_CASE("a pattern matches whole words, and any text at a star") {
  CHECK(matches_pattern("anything", ""));
  CHECK(matches_pattern("", "|"));
  CHECK_FALSE(matches_pattern("x", "|"));
  CHECK(matches_pattern("0302", "03*|12*"));
  CHECK(matches_pattern("1200", "03*|12*"));
  CHECK_FALSE(matches_pattern("0403", "03*|12*"));
  CHECK(matches_pattern("a b c", "* b *"));
  CHECK(matches_pattern("a/domain", "*/domain"));
  CHECK_FALSE(matches_pattern("a/domains", "*/domain"));
  CHECK(matches_pattern("gpu", "cpu|gpu"));
  CHECK_FALSE(matches_pattern("gpus", "cpu|gpu"));
}

TEST_CASE("every element that an importer reads has a catch-all rule") {
  for (auto const& rule : import_rules()) {
    auto element = std::string(rule.element);
    element.resize(std::min(element.find('|'), element.size()));
    bool const any = std::ranges::any_of(import_rules(), [&](ImportRule const& r) {
      return r.format == rule.format && matches_pattern(element, r.element) && r.text.empty() &&
             r.detail.empty() && r.needs == 0 && r.excludes == 0;
    });
    INFO(rule.id);
    CHECK(any);
  }
}

}  // namespace import_rules_test
