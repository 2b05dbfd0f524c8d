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

void Config::replace_by(std::string_view array) {
  for (auto const& [key, table] : replaced_)
    if (key == array) erase(table);
}

void Config::claim(std::string const& key) {
  FF_CHECK(std::find(claimed_.begin(), claimed_.end(), key) == claimed_.end(),
           "'" + key + "' is bound twice");
  claimed_.push_back(key);
}

void Config::bind(std::string_view section, ParamTable const& table) {
  for (auto const& param : table.all()) {
    auto const key = join_keys(section, param.name);
    claim(key);
    auto const either = param.kind == ParamKind::count_or_text;
    auto const needs_string = !either && param.kind != ParamKind::count && param.kind != ParamKind::number &&
                              param.kind != ParamKind::flag;
    if (auto const it = entries_.find(key); it != entries_.end()) {
      auto const& e = it->second;
      auto const loose = e.file == kSet;  // the shell takes quotes away
      try {
        if (!loose && !either && e.is_string && !needs_string)
          throw UserError("'" + shown(e.value) + "' is in quotes, but a " + std::string(unit_of(param.kind)) +
                          " is written without");
        if (!loose && !e.is_string && needs_string) {
          if (param.kind == ParamKind::text || param.kind == ParamKind::file ||
              param.kind == ParamKind::choice)
            throw UserError(shown(e.value) + " must be written in quotes");
          throw UserError(shown(e.value) + " has no unit; write it in quotes with one, as in \"" +
                          param.default_value + "\"");
        }
        param.set(e.value);
      } catch (UserError const& error) {
        refuse(e, key + ": " + error.what());
      }
    }
    auto value = param.get();
    auto const quoted =
        needs_string || (either && (value.empty() || value.find_first_not_of("0123456789") != value.npos));
    bound_.push_back({key, std::move(value), quoted});
  }
  for (auto const& alternative : table.sections_of_alternatives())
    if (!alternative.chosen())
      leave_out(join_keys(section, alternative.prefix), join_keys(section, alternative.only_with));
}

void Config::leave_out(std::string_view key, std::string_view only_with) {
  std::erase_if(bound_, [&](Bound const& b) {
    if (!at_or_below(b.key, key)) return false;
    auto const it = entries_.find(b.key);
    if (it != entries_.end() && !(presets_ && presets_(it->second.file)))
      unused_.push_back(b.key + " (" + place(it->second) + "; only with " + std::string(only_with) + ")");
    return true;
  });
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
  bound_.push_back({name, it->second.value, it->second.is_string});
  return it->second;
}

std::optional<std::vector<std::string>> Config::take_strings(std::string_view key) {
  auto const entry = take(key);
  if (!entry) return std::nullopt;
  if (entry->is_string) return std::vector{entry->value};
  if (entry->value.empty() || entry->value.front() != '[') {
    if (entry->file != kSet) {
      refuse(*entry, std::string(key) + ": " + shown(entry->value) + " is not an array of strings");
      return std::nullopt;
    }
    bound_.back().quoted = true;
    return std::vector{entry->value};
  }
  std::vector<std::string> out;
  auto const t = parse_toml("value = " + entry->value, entry->file);
  for (auto const& element : *t.get("value")->as_array()) {
    auto const* word = element.as_string();
    if (word == nullptr) {
      refuse(*entry, std::string(key) + " must hold only strings");
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

// The table of parameters, or the table of an array that begins with it. (Tables below the latter are written
// without its name: TOML takes them for those of the last one.)
std::string Config::heading(std::string const& section) const {
  for (auto const& [table, place] : named_tables_) {
    if (!at_or_below(section, table)) continue;
    auto const array = table.substr(0, table.rfind('.'));
    return section == table ? "[[" + array + "]]" : "[" + array + section.substr(table.size()) + "]";
  }
  return "[" + section + "]";
}

std::string Config::resolved(std::vector<std::string> const& without) const {
  std::vector<std::string> sections{""};
  std::map<std::string, std::string> texts;
  for (auto const& b : bound_) {
    auto const left_out = [&](std::string const& key) { return at_or_below(b.key, key); };
    if (std::any_of(without.begin(), without.end(), left_out)) continue;
    auto const dot = b.key.rfind('.');
    auto const section = dot == std::string::npos ? std::string() : b.key.substr(0, dot);
    auto const [text, fresh] = texts.try_emplace(section);
    if (fresh && !section.empty()) sections.push_back(section);
    text->second += b.key.substr(dot == std::string::npos ? 0 : dot + 1) + " = " +
                    (b.quoted ? toml_string(b.value) : b.value) + "\n";
  }
  std::string out;
  for (auto const& section : sections) {
    auto const it = texts.find(section);
    if (it == texts.end()) continue;
    if (!section.empty()) out += (out.empty() ? "" : "\n") + heading(section) + "\n";
    out += it->second;
  }
  return out;
}

}  // namespace farfault
