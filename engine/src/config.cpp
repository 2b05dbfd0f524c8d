#include "farfault/engine/config.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

#include "farfault/engine/toml.hpp"

namespace farfault {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 20;
constexpr int kMostDepth = 16;
constexpr std::string_view kSet = "--set";

std::string place(Config::Entry const& e) {
  return e.file == kSet ? e.file : e.file + ":" + std::to_string(e.line);
}

[[noreturn]] void fail(Config::Entry const& e, std::string const& why) {
  throw UserError(place(e) + ": " + why);
}

bool is_key(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

std::string_view trimmed(std::string_view s) {
  auto const blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  while (!s.empty() && blank(s.front())) s.remove_prefix(1);
  while (!s.empty() && blank(s.back())) s.remove_suffix(1);
  return s;
}

std::string join(std::string_view outer, std::string_view inner) {
  return outer.empty() ? std::string(inner) : std::string(outer) + "." + std::string(inner);
}

// A floating-point number keeps a mark that it is one: 64.0 is no count.
std::string float_text(double x) {
  std::array<char, 32> buffer;
  std::string text(buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), x).ptr);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

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

// What --set gives without quotes: a number or flag where it reads as one, else a string.
Config::Entry bare_value(std::string_view text) {
  Config::Entry entry{std::string(text), true, std::string(kSet), 0};
  try {
    auto const t = parse_toml("value = " + entry.value, std::string(kSet));
    auto const* node = t.get("value");
    entry.is_string = t.size() != 1 || !(node->is_number() || node->is_boolean());
    if (t.size() == 1 && node->is_integer()) entry.value = std::to_string(node->as_integer()->get());
  } catch (UserError const&) {
    entry.is_string = true;
  }
  return entry;
}

}  // namespace

std::string read_text_file(std::string const& path, std::uint64_t limit) {
  std::error_code error;
  auto const status = fs::status(path, error);
  if (!fs::exists(status)) throw UserError(path + ": no such file");
  if (!fs::is_regular_file(status)) throw UserError(path + ": not a regular file");
  auto const size = fs::file_size(path, error);
  if (error) throw UserError(path + ": cannot be read: " + error.message());
  if (size > limit)
    throw UserError(path + ": holds " + std::to_string(size) + " bytes; at most " + std::to_string(limit) +
                    " are allowed");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw UserError(path + ": cannot be opened for reading");
  std::string text(static_cast<std::size_t>(size), '\0');
  in.read(text.data(), static_cast<std::streamsize>(size));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

// Flattens the tables of one text into the entries of the configuration.
class Config::Layer {
 public:
  Layer(Config& config, std::string file) : config_(config), file_(std::move(file)) {}

  void table(std::string const& key, toml::table const& t, int depth) {
    if (depth > kMostDepth)
      fail(at(t),
           "tables are nested more than " + std::to_string(kMostDepth) + " deep at '" + shown(key) + "'");
    if (t.empty() && !key.empty()) config_.empty_tables_.insert_or_assign(key, at(t));
    for (auto const& [word, node] : t) {
      auto const inner = join(key, word.str());
      if (!is_key(word.str()))
        fail(at(node), "key '" + shown(inner) + "' may hold only letters, digits, '_' and '-'");
      value(inner, node, depth);
    }
  }

  void value(std::string const& key, toml::node const& node, int depth) {
    auto entry = at(node);
    if (auto const* inner = node.as_table()) {
      table(key, *inner, depth + 1);
      return;
    }
    if (auto const* array = node.as_array()) {
      config_.erase(key);
      if (array->is_array_of_tables()) {
        for (std::size_t i = 0; i < array->size(); ++i)
          table(join(key, std::to_string(i)), *(*array)[i].as_table(), depth + 1);
        return;
      }
      std::ostringstream text;
      text << *array;
      entry.value = text.str();
    } else if (auto const* s = node.as_string()) {
      entry.value = s->get();
      entry.is_string = true;
    } else if (auto const* i = node.as_integer()) {
      entry.value = std::to_string(i->get());
    } else if (auto const* f = node.as_floating_point()) {
      entry.value = float_text(f->get());
    } else if (auto const* b = node.as_boolean()) {
      entry.value = b->get() ? "true" : "false";
    } else {
      fail(entry, "'" + shown(key) + "' is a date or a time of day, which no parameter is");
    }
    config_.entries_.insert_or_assign(key, std::move(entry));
  }

 private:
  Entry at(toml::node const& node) const {
    return {"", false, file_, static_cast<int>(node.source().begin.line)};
  }

  Config& config_;
  std::string file_;
};

Config::Config(PresetLookup presets) : presets_(std::move(presets)) {}

void Config::read_file(std::string const& path) {
  auto const text = read_text_file(path, kMostBytes);
  std::error_code error;
  auto const canonical = fs::weakly_canonical(path, error);
  std::map<std::string, std::string> seen{{error ? path : canonical.string(), "the command line"}};
  read(text, path, fs::path(path).parent_path().string(), seen, 0);
}

void Config::read_text(std::string_view text, std::string const& name) {
  std::map<std::string, std::string> seen{{"preset " + name, "the command line"}};
  read(text, name, "", seen, 0);
}

void Config::read(std::string_view text, std::string const& name, std::string const& folder,
                  std::map<std::string, std::string>& seen, int depth) {
  if (text.size() > kMostBytes)
    throw UserError(name + ": holds " + std::to_string(text.size()) + " bytes; at most " +
                    std::to_string(kMostBytes) + " are allowed");
  auto root = parse_toml(text, name);

  if (auto const* node = root.get("include")) {
    Entry const here{"", false, name, static_cast<int>(node->source().begin.line)};
    auto const* list = node->as_array();
    if (list == nullptr)
      fail(here, "include must be an array of preset and file names, such as [\"base.toml\"]");
    if (depth >= kMostDepth)
      fail(here, "files include each other more than " + std::to_string(kMostDepth) + " deep");
    for (auto const& element : *list) {
      Entry const line{"", false, name, static_cast<int>(element.source().begin.line)};
      auto const* word = element.as_string();
      if (word == nullptr) fail(line, "include must name presets and files as strings");
      auto const& wanted = word->get();

      std::optional<std::string> content;
      std::string shown_name = wanted, identity = "preset " + wanted, inner_folder;
      if (presets_) content = presets_(wanted);
      if (!content) {
        auto const path = fs::path(folder) / wanted;
        std::error_code error;
        if (!fs::exists(path, error)) fail(line, "'" + shown(wanted) + "' is neither a preset nor a file");
        auto const canonical = fs::weakly_canonical(path, error);
        shown_name = path.string();
        identity = error ? shown_name : canonical.string();
        inner_folder = path.parent_path().string();
      }
      auto const [first, fresh] = seen.emplace(identity, place(line));
      if (!fresh) fail(line, "'" + shown(wanted) + "' is included already, by " + first->second);
      if (!content) content = read_text_file(shown_name, kMostBytes);
      read(*content, shown_name, inner_folder, seen, depth + 1);
    }
    root.erase("include");
  }
  Layer(*this, name).table("", root, 0);
}

void Config::set(std::string_view assignment) {
  auto const bad = [&](std::string const& why) {
    throw UserError("--set '" + shown(assignment) + "': " + why);
  };
  auto const equals = assignment.find('=');
  if (equals == std::string_view::npos) bad("write KEY=VALUE");
  auto const key = trimmed(assignment.substr(0, equals));
  auto const text = trimmed(assignment.substr(equals + 1));

  int depth = 0;
  for (std::size_t start = 0; start <= key.size(); ++depth) {
    auto const end = std::min(key.find('.', start), key.size());
    if (!is_key(key.substr(start, end - start)))
      bad("'" + shown(key) + "' is not a key such as gpu.l2_tlb.entries");
    start = end + 1;
  }
  if (depth > kMostDepth) bad("the key has more than " + std::to_string(kMostDepth) + " parts");
  if (text.empty()) bad("the value is missing");
  if (assignment.size() > kMostBytes) bad("is too long");

  std::string const name(key);
  auto const bracketed = text.front() == '[' || text.front() == '{';
  auto const in_quotes = text.front() == '"' || text.front() == '\'';
  if (!bracketed && !in_quotes) {
    entries_.insert_or_assign(name, bare_value(text));
    return;
  }
  auto const t = parse_toml("value = " + std::string(text), "--set '" + shown(assignment) + "'");
  if (t.size() != 1) bad("the value is more than one value");
  Layer(*this, std::string(kSet)).value(name, *t.get("value"), depth);
}

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
}

void Config::claim(std::string const& key) {
  FF_CHECK(std::find(claimed_.begin(), claimed_.end(), key) == claimed_.end(),
           "'" + key + "' is bound twice");
  claimed_.push_back(key);
}

void Config::bind(std::string_view section, ParamTable const& table) {
  for (auto const& param : table.all()) {
    auto const key = join(section, param.name);
    claim(key);
    auto const needs_string =
        param.kind != ParamKind::count && param.kind != ParamKind::number && param.kind != ParamKind::flag;
    if (auto const it = entries_.find(key); it != entries_.end()) {
      auto const& e = it->second;
      auto const loose = e.file == kSet;  // the shell takes quotes away
      try {
        if (!loose && e.is_string && !needs_string)
          throw UserError("'" + shown(e.value) + "' is in quotes, but a " + std::string(unit_of(param.kind)) +
                          " is written without");
        if (!loose && !e.is_string && needs_string) {
          if (param.kind == ParamKind::text || param.kind == ParamKind::choice)
            throw UserError(shown(e.value) + " must be written in quotes");
          throw UserError(shown(e.value) + " has no unit; write it in quotes with one, as in \"" +
                          param.default_value + "\"");
        }
        param.set(e.value);
      } catch (UserError const& error) {
        fail(e, key + ": " + error.what());
      }
    }
    bound_.push_back({key, param.get(), needs_string});
  }
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
    if (entry->file != kSet)
      fail(*entry, std::string(key) + ": " + shown(entry->value) + " is not an array of strings");
    bound_.back().quoted = true;
    return std::vector{entry->value};
  }
  std::vector<std::string> out;
  auto const t = parse_toml("value = " + entry->value, entry->file);
  for (auto const& element : *t.get("value")->as_array()) {
    auto const* word = element.as_string();
    if (word == nullptr) fail(*entry, std::string(key) + " must hold only strings");
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
  auto const it = entries_.find(key);
  return it == entries_.end() ? std::string() : place(it->second);
}

void Config::reject_unknown() const {
  std::set<std::string_view> const known(claimed_.begin(), claimed_.end());
  std::set<std::string_view> known_tables;
  for (std::string_view const key : claimed_)
    for (auto dot = key.find('.'); dot != std::string_view::npos; dot = key.find('.', dot + 1))
      known_tables.insert(key.substr(0, dot));

  auto const reject = [](Entry const& e, std::string const& key, std::string_view what, auto const& names) {
    auto message = "unknown " + std::string(what) + " '" + shown(key) + "'";
    constexpr std::size_t kLongest = 200;
    auto const near = key.size() > kLongest ? std::string() : nearest_name(key, names);
    if (!near.empty()) message += "; did you mean '" + near + "'?";
    fail(e, message);
  };
  for (auto const& [key, entry] : entries_)
    if (!known.contains(key)) reject(entry, key, "key", claimed_);
  for (auto const& [key, entry] : empty_tables_)
    if (!known_tables.contains(key)) reject(entry, key, "table", known_tables);
}

std::string Config::resolved() const {
  std::vector<std::string> sections{""};
  std::map<std::string, std::string> texts;
  for (auto const& b : bound_) {
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
    if (!section.empty()) out += (out.empty() ? "[" : "\n[") + section + "]\n";
    out += it->second;
  }
  return out;
}

}  // namespace farfault
