// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <utility>

#include "config_names.hpp"
#include "farfault/engine/config.hpp"

namespace farfault {
namespace {

constexpr std::size_t kMaxShown = 20;
constexpr std::size_t kMaxKept = 1000;  // a file of 16 MiB can hold a million mistakes

std::string unknown(std::string_view what, std::string const& key, auto const& names) {
  constexpr std::size_t kLongest = 200;
  auto near = key.size() > kLongest ? std::string() : nearest_name(key, names);
  // Keys of one section have most letters in common: the last part of the key decides what is near.
  auto const last = key.size() - (key.rfind('.') + 1);
  if (!near.empty() && edit_distance(key, near) >= last / 2 + 2) near.clear();
  return "unknown " + std::string(what) + " '" + shown(key) + "'" +
         (near.empty() ? "" : "; did you mean '" + near + "'?");
}

// `place`: empty for a default. A policy may refuse another key, "KEY = VALUE: ...", at the place of `key`.
std::string joined(std::string const& place, std::string_view key, std::string const& why) {
  if (place.empty()) return why;
  bool const names_key = why.starts_with(key) || why.find(" = ") == why.find(' ');
  return place + (place == kSet && names_key ? " " : ": ") + why;
}

}  // namespace

std::string Config::place(Entry const& e) {
  return e.file == kSet ? e.file : e.file + ":" + std::to_string(e.line);
}

std::size_t Config::number_of(std::string const& file) const {
  return static_cast<std::size_t>(std::find(files_.begin(), files_.end(), file) - files_.begin());
}

void Config::add_error(std::string const& file, int line, std::string text) {
  if (errors_.size() == kMaxKept)
    ++errors_dropped_;
  else
    errors_.push_back({number_of(file), line, std::move(text)});
}

std::string Config::with_place(std::string_view key, std::string const& why) const {
  return joined(one_line(where(key)), key, why);
}

void Config::refuse(Entry const& e, std::string const& why) {
  add_error(e.file, e.line, one_line(place(e)) + ": " + why);
}

void Config::refuse(std::string_view key, std::string const& why) {
  if (auto const it = entries_.find(key); it != entries_.end())
    return add_error(it->second.file, it->second.line, with_place(key, why));
  auto const refuse_table = [&](Entry const& e) {
    add_error(e.file, e.line, joined(one_line(place(e)), key, why));
  };
  if (auto const it = empty_tables_.find(key); it != empty_tables_.end()) return refuse_table(it->second);
  for (auto const& [table, place] : named_tables_)
    if (key.starts_with(table) && (key.size() == table.size() || key[table.size()] == '.'))
      return refuse_table(place);
  add_error("", 0, why);
}

void Config::refuse_value(std::string_view key, std::string const& rule) {
  auto const written = entries_.find(key);
  auto const* const bound = find_bound(key);
  if (written != entries_.end())
    refuse(key, invalid_value(key, one_line(written->second.value), rule));
  else if (bound != nullptr)
    refuse(key, invalid_value(key, bound->value, rule));
  else
    refuse(key, std::string(key) + ": " + rule);
}

void Config::reject_errors() const {
  std::set<std::string_view> const known(claimed_.begin(), claimed_.end());
  std::set<std::string_view> known_tables;
  for (std::string_view const key : claimed_)
    for (auto dot = key.find('.'); dot != std::string_view::npos; dot = key.find('.', dot + 1))
      known_tables.insert(key.substr(0, dot));

  struct Shown {
    std::size_t file;
    int line;
    std::string const* text;     // or, for an entry without a declaration, its key
    Entry const* unknown_key;    // that entry, if it is a value
    Entry const* unknown_table;  // or an empty table
  };
  std::vector<Shown> lines;
  for (auto const& m : errors_)
    lines.push_back(
        {.file = m.file, .line = m.line, .text = &m.text, .unknown_key = nullptr, .unknown_table = nullptr});
  for (auto const& [key, e] : entries_)
    if (!known.contains(key))
      lines.push_back({.file = number_of(e.file),
                       .line = e.line,
                       .text = &key,
                       .unknown_key = &e,
                       .unknown_table = nullptr});
  for (auto const& [key, e] : empty_tables_)
    if (!known_tables.contains(key))
      lines.push_back({.file = number_of(e.file),
                       .line = e.line,
                       .text = &key,
                       .unknown_key = nullptr,
                       .unknown_table = &e});
  if (lines.empty()) return;
  std::stable_sort(lines.begin(), lines.end(), [](Shown const& a, Shown const& b) {
    return std::pair(a.file, a.line) < std::pair(b.file, b.line);
  });

  // Nearest names are expensive to find: only for the lines shown.
  std::string message;
  auto const count = std::min(lines.size(), kMaxShown);
  for (std::size_t i = 0; i < count; ++i) {
    auto const& l = lines[i];
    if (i != 0) message += "\n";
    if (l.unknown_key != nullptr)
      message += one_line(place(*l.unknown_key)) + ": " + unknown("key", *l.text, claimed_);
    else if (l.unknown_table != nullptr)
      message += one_line(place(*l.unknown_table)) + ": " + unknown("table", *l.text, known_tables);
    else
      message += *l.text;
  }
  if (auto const more = lines.size() + errors_dropped_ - count; more != 0)
    message += "\nand " + std::to_string(more) + " more";
  throw ConfigErrors(message);
}

}  // namespace farfault
