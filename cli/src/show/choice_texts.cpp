// SPDX-License-Identifier: Apache-2.0
#include "choice_texts.hpp"

#include <algorithm>
#include <string_view>

namespace farfault::cli {
namespace {

std::vector<std::string> names_of_choice(Param const& p) {
  constexpr std::string_view kForm = "one of: ", kSeparator = ", ";
  std::vector<std::string> names;
  if (p.kind != ParamKind::choice || !p.range.starts_with(kForm)) return names;
  for (auto from = kForm.size();;) {
    auto const to = p.range.find(kSeparator, from);
    names.push_back(p.range.substr(from, to - from));
    if (to == p.range.npos) return names;
    from = to + kSeparator.size();
  }
}

// How a text introduces its alternatives: `first` before the first name, `after` behind each name.
struct Form {
  std::string_view first, after;
  bool needs_all;  // otherwise words of an ordinary sentence could be mistaken for a name
};

// Returns false, with `to` unchanged, if the text does not have this form.
bool split_text(std::string const& text, Form const& form, ChoiceTexts& to) {
  struct Part {
    std::size_t alternative, begin, text;
  };
  std::vector<Part> parts;
  for (std::size_t i = 0; i < to.alternatives.size(); ++i) {
    auto const start = std::string(parts.empty() ? form.first : "; ") + to.alternatives[i].name;
    auto const at = text.find(start + std::string(form.after), parts.empty() ? 0 : parts.back().text);
    if (at != text.npos) parts.push_back({i, at, at + start.size() + form.after.size()});
  }
  if (parts.empty() || (form.needs_all && parts.size() < to.alternatives.size())) return false;
  to.text = text.substr(0, parts.front().begin);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    auto const end = i + 1 < parts.size() ? parts[i + 1].begin : text.size();
    to.alternatives[parts[i].alternative].text = text.substr(parts[i].text, end - parts[i].text);
  }
  return true;
}

}  // namespace

ChoiceTexts choice_texts(Param const& p) {
  ChoiceTexts texts{p.text, {}};
  for (auto& name : names_of_choice(p)) texts.alternatives.push_back({std::move(name), {}});
  if (!split_text(p.text, {". ", ": ", false}, texts)) split_text(p.text, {": ", ", ", true}, texts);
  return texts;
}

}  // namespace farfault::cli
