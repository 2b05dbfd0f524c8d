// SPDX-License-Identifier: Apache-2.0
// Conditions under which a parameter has an effect, declared with the parameter:
//
//   t.count("queues", queues, {1, 3}, "...", "...");
//   t.count("silver", silver, {1, 4096}, "...", "...").only_when(sibling("queues").is(3));
//
// - sibling(NAME): a parameter of the same Spec. setting(KEY): any parameter, by its full key.
// - Fact: a property that follows from several parameters or from the machine. Its owner computes it and
//   passes it to Config::exclude_unused().
// - a || b: one of the two is sufficient. Conditions of several only_when() must all hold.
// - text() is the part of a message after "only with".
// - else_use(KEY): a parameter that has an effect where this condition does not hold, for messages.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace farfault {

// "a memory.placement that maps pages at first touch". Facts with equal texts are equal.
struct Fact {
  std::string_view text;  // a literal
};

// A value in a condition, as in a configuration: a word in quotes, a count or a flag.
struct ConditionValue {
  std::string text;
  bool quoted = false;
  ConditionValue(char const* word) : text(word), quoted(true) {}
  ConditionValue(std::string word) : text(std::move(word)), quoted(true) {}
  ConditionValue(int count) : text(std::to_string(count)) {}
  ConditionValue(bool flag) : text(flag ? "true" : "false") {}
};

class Condition {
 public:
  // The current value of a parameter as text, null if it is not bound yet; and of a fact, if it is known.
  using ValueOf = std::function<std::string const*(std::string const& key)>;
  using Known = std::function<std::optional<bool>(std::string_view fact)>;

  Condition(Fact fact) : terms_{{Test::fact, std::string(fact.text), false, {}}} {}
  friend Condition operator||(Condition a, Condition const& b) {
    a.terms_.insert(a.terms_.end(), b.terms_.begin(), b.terms_.end());
    return a;
  }

  // The same condition with siblings below `section`.
  Condition within(std::string_view section) const;
  // nullopt: a parameter or a fact is not known yet.
  std::optional<bool> holds(ValueOf const& value_of, Known const& known) const;
  std::string text() const;
  Condition else_use(std::string_view key) const {
    auto with_key = *this;
    with_key.instead_ = key;
    return with_key;
  }
  // The key of else_use(); empty if there is none.
  std::string const& instead() const { return instead_; }
  // The keys of parameters: siblings' and others', and the facts.
  std::vector<std::string> siblings() const {
    return names([](Term const& t) { return t.sibling; });
  }
  std::vector<std::string> settings() const {
    return names([](Term const& t) { return !t.sibling && t.test != Test::fact; });
  }
  std::vector<std::string> facts() const {
    return names([](Term const& t) { return t.test == Test::fact; });
  }
  // The values that siblings are compared with: (name, value) each, without limits.
  std::vector<std::pair<std::string, std::string>> sibling_values() const;

 private:
  friend class ConditionOn;
  enum class Test : std::uint8_t { is, is_not, is_above, fact };
  struct Term {
    Test test;
    std::string name;  // the key of a parameter, or a fact
    bool sibling;      // relative to the section of the parameter that has the condition
    std::vector<ConditionValue> values;
  };
  explicit Condition(Term term) : terms_{std::move(term)} {}
  static bool passes(Term const& term, std::string const& value);
  template <class Wanted>
  std::vector<std::string> names(Wanted&& wanted) const {
    std::vector<std::string> all;
    for (auto const& term : terms_)
      if (wanted(term)) all.push_back(term.name);
    return all;
  }

  std::vector<Term> terms_;  // at least one must hold
  std::string instead_;
};

// A parameter in a condition: sibling("queues").is(3).
class ConditionOn {
 public:
  ConditionOn(std::string_view name, bool sibling) : name_(name), sibling_(sibling) {}
  Condition is(ConditionValue value) const { return make(Condition::Test::is, {std::move(value)}); }
  Condition is_one_of(std::initializer_list<ConditionValue> values) const {
    return make(Condition::Test::is, values);
  }
  Condition is_not(ConditionValue value) const { return make(Condition::Test::is_not, {std::move(value)}); }
  // A limit of 0 fits values with a unit.
  Condition is_above(int limit) const { return make(Condition::Test::is_above, {limit}); }

 private:
  Condition make(Condition::Test test, std::vector<ConditionValue> values) const {
    return Condition({test, name_, sibling_, std::move(values)});
  }
  std::string name_;
  bool sibling_;
};

inline ConditionOn sibling(std::string_view name) {
  return {name, true};
}
inline ConditionOn setting(std::string_view key) {
  return {key, false};
}

}  // namespace farfault
