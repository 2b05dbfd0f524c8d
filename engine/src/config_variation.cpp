// SPDX-License-Identifier: Apache-2.0
// Variation of a bound configuration: other values for some keys.
#include <algorithm>

#include "farfault/engine/config.hpp"
#include "farfault/engine/toml.hpp"
#include "toml_value.hpp"

namespace farfault {

void Config::may_vary(std::vector<std::string> const& keys) {
  for (auto const& key : keys) variable_[key];
}

bool Config::can_vary(std::string_view key, std::string const& file, int line) const {
  auto const param = variable_.find(key);
  auto const entry = entries_.find(key);
  return param != variable_.end() && param->second && entry != entries_.end() && entry->second.file == file &&
         entry->second.line == line;
}

bool Config::vary(std::string_view key, std::string_view value, std::string const& file, int line) {
  auto const variable = variable_.find(key);
  auto const entry = entries_.find(key);
  if (variable == variable_.end() || !variable->second || entry == entries_.end()) return false;
  auto const& param = *variable->second;
  try {
    auto const t = parse_toml("value = " + std::string(value), file);
    auto const written = t.size() == 1 ? value_of(*t.get("value")) : std::nullopt;
    if (!written) return false;
    entry->second = {written->text, written->is_string, file, line};
    check_form(param, entry->second);
    param.set(entry->second.value);
  } catch (UserError const&) {
    return false;
  }
  auto text = param.get();
  auto const quoted = is_quoted(param, text);
  write(lines_[line_numbers_.find(key)->second], std::move(text), quoted);
  return true;
}

void Config::choose_again() {
  errors_.clear();
  errors_dropped_ = 0;
  facts_.clear();
  undecided_.clear();
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    lines_[i].failed = kNone;
    if (lines_[i].choice.empty() && !lines_[i].only_when.empty()) undecided_.push_back(i);
  }
  decide();
}

}  // namespace farfault
