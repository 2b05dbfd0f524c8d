// SPDX-License-Identifier: Apache-2.0
#include "farfault/engine/condition.hpp"

#include <algorithm>
#include <charconv>

#include "config_names.hpp"

namespace farfault {

Condition Condition::within(std::string_view section) const {
  auto moved = *this;
  for (auto& term : moved.terms_)
    if (term.sibling) term.name = join_keys(section, term.name);
  return moved;
}

std::vector<std::pair<std::string, std::string>> Condition::sibling_values() const {
  std::vector<std::pair<std::string, std::string>> all;
  for (auto const& term : terms_) {
    if (!term.sibling || term.test == Test::is_above) continue;
    for (auto const& value : term.values) all.emplace_back(term.name, value.text);
  }
  return all;
}

bool Condition::passes(Term const& term, std::string const& value) {
  auto const equals = [&](ConditionValue const& v) { return v.text == value; };
  if (term.test != Test::is_above)
    return std::any_of(term.values.begin(), term.values.end(), equals) == (term.test == Test::is);
  auto const number = [](std::string const& text) {
    double x = 0;  // a unit may follow
    std::from_chars(text.data(), text.data() + text.size(), x);
    return x;
  };
  return number(value) > number(term.values.front().text);
}

std::optional<bool> Condition::holds(ValueOf const& value_of, Known const& known) const {
  bool complete = true;
  for (auto const& term : terms_) {
    std::optional<bool> passed;
    if (term.test == Test::fact)
      passed = known(term.name);
    else if (auto const* const value = value_of(term.name))
      passed = passes(term, *value);
    if (passed == true) return true;
    complete = complete && passed.has_value();
  }
  return complete ? std::optional(false) : std::nullopt;
}

std::string Condition::text() const {
  std::string all;
  for (auto const& term : terms_) {
    all += (all.empty() ? "" : " or ") + term.name;
    if (term.test == Test::fact) continue;
    all += term.test == Test::is ? " = " : term.test == Test::is_not ? " other than " : " above ";
    for (auto const& v : term.values)
      all += (&v == &term.values.front() ? "" : " or ") + (v.quoted ? "\"" + v.text + "\"" : v.text);
  }
  return all;
}

}  // namespace farfault
