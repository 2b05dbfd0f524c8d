// SPDX-License-Identifier: Apache-2.0
#include "farfault/engine/config.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "config_names.hpp"
#include "farfault/engine/toml.hpp"

namespace farfault {
namespace {

std::string toml_string(std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out = "\"";
  for (char const c : text) {
    auto const code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (code < 0x20 || code == 0x7f) {
      out += "\\u00";
      out += kHex[code >> 4];
      out += kHex[code & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

bool at_or_below(std::string_view name, std::string_view key) {
  return name.starts_with(key) && (name.size() == key.size() || name[key.size()] == '.');
}

bool is_either(Param const& param) {
  return param.kind == ParamKind::count_or_text;
}

bool needs_string(Param const& param) {
  return !is_either(param) && param.kind != ParamKind::count && param.kind != ParamKind::number &&
         param.kind != ParamKind::flag;
}

}  // namespace

void Config::erase(std::string_view table) {
  auto const erase_from = [&](auto& map) {
    auto const prefix = std::string(table) + ".";
    if (auto const it = map.find(table); it != map.end()) map.erase(it);
    auto first = map.lower_bound(prefix);
    while (first != map.end() && first->first.compare(0, prefix.size(), prefix) == 0)
      first = map.erase(first);
  };
  erase_from(entries_);
  erase_from(empty_tables_);
  erase_from(arrays_);
}

void Config::replaces(std::string array, std::string table) {
  replaced_.emplace_back(std::move(array), std::move(table));
}

void Config::replace_by(std::string_view array, bool by_set) {
  for (auto const& [key, table] : replaced_) {
    if (key != array) continue;
    std::map<std::string, Entry, std::less<>> same_layer;
    for (auto const& [name, entry] : entries_)
      if (by_set && at_or_below(name, table) && entry.file == kSet) same_layer.emplace(name, entry);
    erase(table);
    entries_.merge(same_layer);
  }
}

void Config::claim(std::string const& key) {
  bool const fresh = line_numbers_.emplace(key, kNone).second;
  FF_CHECK(fresh, "'" + key + "' is bound twice");
  claimed_.push_back(key);
}

std::size_t Config::section_of(std::string_view key) {
  auto const dot = key.rfind('.');
  auto const section = dot == key.npos ? std::string_view() : key.substr(0, dot);
  // Usually the section of the previous line.
  auto const it = std::find(sections_.rbegin(), sections_.rend(), section);
  if (it != sections_.rend()) return static_cast<std::size_t>(sections_.rend() - it) - 1;
  sections_.emplace_back(section);
  return sections_.size() - 1;
}

void Config::add_line(std::string const& key, std::string value, bool quoted) {
  line_numbers_[key] = lines_.size();
  lines_.push_back({{key, "", false}, section_of(key), ""});
  write(lines_.back(), std::move(value), quoted);
}

void Config::write(Line& line, std::string value, bool quoted) {
  line.text = line.key.substr(line.key.rfind('.') + 1) + " = " + (quoted ? toml_string(value) : value) + "\n";
  line.value = std::move(value);
  line.quoted = quoted;
}

void Config::check_form(Param const& param, Entry const& e) {
  if (e.file == kSet || is_either(param)) return;  // the shell removes quotes
  if (e.is_string && !needs_string(param))
    throw UserError("'" + shown(e.value) + "' is in quotes, but a value of this kind (" +
                    std::string(unit_of(param.kind)) + ") takes none");
  if (e.is_string || !needs_string(param)) return;
  if (param.kind == ParamKind::text || param.kind == ParamKind::file || param.kind == ParamKind::choice)
    throw UserError(shown(e.value) + " must be written in quotes");
  throw UserError(shown(e.value) + " has no unit; write it in quotes with a unit, such as \"" +
                  param.default_value + "\"");
}

bool Config::is_quoted(Param const& param, std::string const& value) {
  return needs_string(param) ||
         (is_either(param) && (value.empty() || value.find_first_not_of("0123456789") != value.npos));
}

void Config::bind(std::string_view section, ParamTable const& table, Spec spec) {
  table.check_conditions();
  for (auto const& param : table.all()) {
    auto const key = join_keys(section, param.name);
    claim(key);
    if (auto const it = entries_.find(key); it != entries_.end()) {
      try {
        check_form(param, it->second);
        param.set(it->second.value);
      } catch (UserError const& error) {
        refuse(key, key + ": " + error.what());
      }
    }
    auto value = param.get();
    auto const quoted = is_quoted(param, value);
    add_line(key, std::move(value), quoted);
    lines_.back().shorthand = param.shorthand;
    for (auto const& condition : param.only_when)
      lines_.back().only_when.push_back(condition.within(section));
    if (!param.only_when.empty()) undecided_.push_back(lines_.size() - 1);
    if (auto const it = variable_.find(key); it != variable_.end() && spec == Spec::lasting)
      it->second = param;
  }
  decide();
}

void Config::decide() {
  auto const value_of = [this](std::string const& key) -> std::string const* {
    auto const it = line_numbers_.find(key);
    return it == line_numbers_.end() || it->second == kNone ? nullptr : &lines_[it->second].value;
  };
  auto const known = [this](std::string_view fact) {
    auto const it = facts_.find(fact);
    return it == facts_.end() ? std::nullopt : std::optional(it->second);
  };
  std::erase_if(undecided_, [&](std::size_t number) {
    auto& line = lines_[number];
    bool decided = true;
    for (std::size_t i = 0; i < line.only_when.size(); ++i) {
      auto const holds = line.only_when[i].holds(value_of, known);
      if (holds == false) line.failed = i;
      if (holds == false) return true;
      decided = decided && holds.has_value();
    }
    return decided;
  });
}

void Config::exclude_unused(Facts const& facts) {
  for (auto const& [fact, value] : facts) facts_.insert_or_assign(std::string(fact.text), value);
  decide();
}

std::vector<Config::Line*> Config::lines_at_and_below(std::string_view key) {
  std::vector<Line*> lines;
  auto const add = [&](std::size_t number) {
    if (number != kNone) lines.push_back(&lines_[number]);
  };
  if (auto const it = line_numbers_.find(key); it != line_numbers_.end()) add(it->second);
  auto const prefix = std::string(key) + ".";
  for (auto it = line_numbers_.lower_bound(prefix);
       it != line_numbers_.end() && it->first.starts_with(prefix); ++it)
    add(it->second);
  std::sort(lines.begin(), lines.end());  // in the order of binding
  return lines;
}

void Config::exclude(std::string_view key, std::string_view only_with) {
  for (auto* const line : lines_at_and_below(key))
    if (line->choice.empty()) line->choice = only_with;
}

std::optional<Config::Unused> Config::unused(Line const& line) const {
  auto const set = line.is_excluded() ? entries_.find(line.key) : entries_.end();
  if (set == entries_.end() || (presets_ && presets_(set->second.file))) return std::nullopt;
  Unused found{line.key, place(set->second), line.choice, ""};
  if (!line.choice.empty()) return found;
  auto const& condition = line.only_when[line.failed];
  found.only_with = condition.text();
  found.instead = condition.instead();
  return found;
}

std::vector<Config::Unused> Config::unused() const {
  std::vector<Unused> all;
  for (auto const& line : lines_)
    if (auto found = unused(line)) all.push_back(*std::move(found));
  return all;
}

std::optional<Config::Unused> Config::find_unused(std::string_view key) const {
  auto const it = line_numbers_.find(key);
  return it == line_numbers_.end() || it->second == kNone ? std::nullopt : unused(lines_[it->second]);
}

std::size_t Config::array_size(std::string_view section) const {
  auto const it = arrays_.find(section);
  return it == arrays_.end() ? 0 : it->second.size();
}

void Config::name_table(std::string_view section, std::size_t number, std::string_view name) {
  auto const from = join_keys(section, std::to_string(number)), to = join_keys(section, name);
  auto const move = [&](auto& map) {
    for (auto it = map.lower_bound(from); it != map.end() && it->first.starts_with(from);) {
      if (at_or_below(it->first, from)) {
        map.try_emplace(to + it->first.substr(from.size()), it->second);
        it = map.erase(it);
      } else {
        ++it;
      }
    }
  };
  if (from != to) {
    move(entries_);
    move(empty_tables_);
  }
  named_tables_.insert_or_assign(to, arrays_.find(section)->second.at(number));
}

std::optional<Config::Entry> Config::peek(std::string_view key) const {
  auto const it = entries_.find(key);
  return it == entries_.end() ? std::nullopt : std::optional(it->second);
}

std::vector<std::string> Config::keys(std::string_view key) const {
  std::vector<std::pair<std::string, Entry const*>> found;
  for (auto const* map : {&entries_, &empty_tables_})
    for (auto it = map->lower_bound(key); it != map->end() && it->first.starts_with(key); ++it)
      if (at_or_below(it->first, key)) found.emplace_back(it->first, &it->second);
  std::stable_sort(found.begin(), found.end(), [this](auto const& a, auto const& b) {
    return std::pair(number_of(a.second->file), a.second->line) <
           std::pair(number_of(b.second->file), b.second->line);
  });
  std::vector<std::string> names;
  for (auto& [name, entry] : found) names.push_back(std::move(name));
  return names;
}

std::optional<Config::Entry> Config::take(std::string_view key) {
  std::string const name(key);
  claim(name);
  auto const it = entries_.find(name);
  if (it == entries_.end()) return std::nullopt;
  add_line(name, it->second.value, it->second.is_string);
  return it->second;
}

std::optional<std::vector<std::string>> Config::take_strings(std::string_view key) {
  auto const entry = take(key);
  if (!entry) return std::nullopt;
  if (entry->is_string) return std::vector{entry->value};
  if (entry->value.empty() || entry->value.front() != '[') {
    if (entry->file != kSet) {
      refuse(key, std::string(key) + ": " + shown(entry->value) + " is not an array of strings");
      return std::nullopt;
    }
    write(lines_.back(), entry->value, true);
    return std::vector{entry->value};
  }
  std::vector<std::string> out;
  auto const t = parse_toml("value = " + entry->value, entry->file);
  for (auto const& element : *t.get("value")->as_array()) {
    auto const* word = element.as_string();
    if (word == nullptr) {
      refuse(key, std::string(key) + " must contain only strings");
      return std::nullopt;
    }
    out.push_back(word->get());
  }
  return out;
}

std::vector<std::string> Config::tables(std::string_view section) const {
  auto const number = [](std::string const& s) {
    return s.size() <= 9 && std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  auto const before = [&](std::string const& a, std::string const& b) {
    if (number(a) != number(b)) return number(a);
    if (number(a) && a.size() != b.size()) return a.size() < b.size();
    return a < b;
  };
  std::set<std::string, decltype(before)> names(before);
  auto const prefix = section.empty() ? std::string() : std::string(section) + ".";
  auto const collect = [&](auto const& map, bool whole) {
    for (auto it = map.lower_bound(prefix); it != map.end(); ++it) {
      if (it->first.compare(0, prefix.size(), prefix) != 0) break;
      auto const dot = it->first.find('.', prefix.size());
      if (dot == std::string::npos && !whole) continue;
      names.insert(it->first.substr(prefix.size(), dot == std::string::npos ? dot : dot - prefix.size()));
    }
  };
  collect(entries_, false);
  collect(empty_tables_, true);
  return {names.begin(), names.end()};
}

std::string Config::where(std::string_view key) const {
  for (auto const* map : {&entries_, &named_tables_})
    if (auto const it = map->find(key); it != map->end()) return place(it->second);
  return {};
}

// The TOML heading of a section: [section], or [[array]] for a named table of an array. (Tables below the
// latter are written without its name: TOML assigns them to the last table of the array.)
std::string Config::heading(std::string const& section) const {
  for (auto const& [table, place] : named_tables_) {
    if (!at_or_below(section, table)) continue;
    auto const array = table.substr(0, table.rfind('.'));
    return section == table ? "[[" + array + "]]" : "[" + array + section.substr(table.size()) + "]";
  }
  return "[" + section + "]";
}

std::vector<Config::Bound> Config::bound() const {
  std::vector<Bound> all;
  for (auto const& line : lines_)
    if (line.is_in_use()) all.push_back(line);
  return all;
}

Config::Bound const* Config::find_bound(std::string_view key) const {
  auto const it = line_numbers_.find(key);
  if (it == line_numbers_.end() || it->second == kNone) return nullptr;
  auto const& line = lines_[it->second];
  return line.is_in_use() ? &line : nullptr;
}

std::string Config::resolved(std::vector<std::string> const& without) const {
  std::vector<std::size_t> order;
  std::vector<std::string> texts(sections_.size());
  for (auto const& line : lines_) {
    if (!line.is_in_use()) continue;
    if (std::any_of(without.begin(), without.end(), [&](auto const& w) { return at_or_below(line.key, w); }))
      continue;
    auto& text = texts[line.section];
    if (text.empty() && !sections_[line.section].empty()) order.push_back(line.section);
    text += line.text;
  }
  std::string out;
  auto const root = std::find(sections_.begin(), sections_.end(), "");
  if (root != sections_.end()) out = texts[static_cast<std::size_t>(root - sections_.begin())];
  for (auto const section : order)
    out += (out.empty() ? "" : "\n") + heading(sections_[section]) + "\n" + texts[section];
  return out;
}

}  // namespace farfault
