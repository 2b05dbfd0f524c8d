// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "farfault/engine/error.hpp"
#include "import_rules.hpp"

namespace farfault::topologies {
namespace {

bool matches_one(std::string_view text, std::string_view pattern) {
  bool const front = pattern.starts_with('*');
  if (front) pattern.remove_prefix(1);
  bool const back = pattern.ends_with('*');
  if (back) pattern.remove_suffix(1);
  if (front && back) return text.find(pattern) != text.npos;
  if (front) return text.ends_with(pattern);
  return back ? text.starts_with(pattern) : text == pattern;
}

// Replaces each "{name}" by value("name").
template <class Value>
std::string filled(std::string_view sentence, Value value) {
  std::string out;
  for (;;) {
    auto const open = sentence.find('{');
    out += sentence.substr(0, open);
    if (open == sentence.npos) return out;
    sentence.remove_prefix(open + 1);
    auto const close = sentence.find('}');
    out += value(sentence.substr(0, close));
    sentence.remove_prefix(close + 1);
  }
}

}  // namespace

bool matches_pattern(std::string_view text, std::string_view pattern) {
  if (pattern.empty()) return true;
  for (;;) {
    auto const bar = pattern.find('|');
    if (matches_one(text, pattern.substr(0, bar))) return true;
    if (bar == pattern.npos) return false;
    pattern.remove_prefix(bar + 1);
  }
}

namespace {

// The rules for an element of a format, in table order.
using RulesOf = std::map<std::pair<FileFormat, std::string_view>, std::vector<ImportRule const*>>;

RulesOf const& rules_by_element() {
  static RulesOf const rules = [] {
    RulesOf made;
    for (auto const& rule : import_rules())
      for (auto rest = rule.element;;) {
        auto const bar = rest.find('|');
        made[{rule.format, rest.substr(0, bar)}].push_back(&rule);
        if (bar == rest.npos) break;
        rest.remove_prefix(bar + 1);
      }
    return made;
  }();
  return rules;
}

}  // namespace

ImportRule const& import_rule(Stated const& stated) {
  auto const rules = rules_by_element().find({stated.format, stated.element});
  if (rules != rules_by_element().end())
    for (auto const* rule : rules->second)
      if (matches_pattern(stated.text, rule->text) && matches_pattern(stated.detail, rule->detail) &&
          (stated.facts & rule->needs) == rule->needs && (stated.facts & rule->excludes) == 0)
        return *rule;
  panic("no import rule for '" + std::string(stated.element) + "'", __FILE__, __LINE__);
}

ImportRule const& import_rule(std::string_view id) {
  auto const found = std::ranges::find(import_rules(), id, &ImportRule::id);
  FF_CHECK(found != import_rules().end(), "no import rule '" + std::string(id) + "'");
  return *found;
}

NodeKind node_kind(ImportAs import_as) {
  switch (import_as) {
    case ImportAs::gpu:
      return NodeKind::gpu;
    case ImportAs::cpu:
      return NodeKind::cpu;
    case ImportAs::pcie_switch:
      return NodeKind::pcie_switch;
    case ImportAs::nvswitch:
      return NodeKind::nvswitch;
    case ImportAs::nic:
      return NodeKind::nic;
    default:
      return NodeKind::network_switch;
  }
}

LinkKind link_kind(ImportAs import_as) {
  switch (import_as) {
    case ImportAs::pcie:
      return LinkKind::pcie;
    case ImportAs::nvlink:
      return LinkKind::nvlink;
    case ImportAs::xgmi:
      return LinkKind::xgmi;
    case ImportAs::cpu_interconnect:
      return LinkKind::cpu_interconnect;
    default:
      return LinkKind::network;
  }
}

Decisions::Use& Decisions::use_of(ImportRule const& rule) {
  uses_.resize(import_rules().size());
  return uses_[static_cast<std::size_t>(&rule - import_rules().data())];
}

Decisions::Use& Decisions::record(ImportRule const& rule, std::string const& example) {
  auto& use = use_of(rule);
  if (use.times++ == 0) use.example = example;
  return use;
}

ImportAs Decisions::decide(Stated const& stated, std::string const& example) {
  auto const& rule = import_rule(stated);
  record(rule, example);
  return rule.import_as;
}

void Decisions::note(std::string_view id, std::string const& example) {
  record(import_rule(id), example);
}

void Decisions::report(std::string_view id, std::vector<std::string> const& values) {
  auto const& rule = import_rule(id);
  record(rule, {}).sentences.push_back(filled(rule.assumed, [&](std::string_view name) {
    auto const i = static_cast<std::size_t>(name[0] - '0');
    FF_CHECK(i < values.size(), "too few values for an assumption");
    return values[i];
  }));
}

void Decisions::write(MachineBuilder& builder) const {
  for (std::size_t i = 0; i < uses_.size(); ++i) {
    auto const& rule = import_rules()[i];
    auto const& use = uses_[i];
    if (use.times == 0) continue;
    builder.decided(rule.id);
    for (auto const& sentence : use.sentences) builder.assume(sentence);
    if (rule.assumed.empty() || !use.sentences.empty()) continue;
    builder.assume(filled(rule.assumed, [&](std::string_view name) {
      auto const times = std::to_string(use.times);
      if (name == "n") return times;
      return use.example + (use.times == 1 ? "" : " and " + std::to_string(use.times - 1) + " more");
    }));
  }
}

}  // namespace farfault::topologies
