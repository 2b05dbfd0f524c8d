// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <utility>

#include "config_names.hpp"
#include "farfault/engine/config.hpp"
#include "farfault/engine/files.hpp"
#include "farfault/engine/toml.hpp"
#include "toml_value.hpp"

namespace farfault {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxBytes = std::uint64_t{16} << 20;
constexpr int kMaxDepth = 16;

std::string_view stripped(std::string_view s) {
  auto const blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  while (!s.empty() && blank(s.front())) s.remove_prefix(1);
  while (!s.empty() && blank(s.back())) s.remove_suffix(1);
  return s;
}

// A floating-point number keeps a decimal point or exponent: 64.0 is not a count.
std::string float_text(double x) {
  std::array<char, 32> buffer;
  std::string text(buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), x).ptr);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

std::optional<TomlValue> value_of(toml::node const& node) {
  if (auto const* s = node.as_string()) return TomlValue{s->get(), true};
  if (auto const* i = node.as_integer()) return TomlValue{std::to_string(i->get()), false};
  if (auto const* f = node.as_floating_point()) return TomlValue{float_text(f->get()), false};
  if (auto const* b = node.as_boolean()) return TomlValue{b->get() ? "true" : "false", false};
  return std::nullopt;
}

namespace {

// An unquoted value of --set: a number or flag if it parses as one, else a string.
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

// Why `key` is not a valid key; empty if it is.
std::string why_no_key(std::string_view key) {
  int parts = 0;
  for (std::size_t start = 0; start <= key.size(); ++parts) {
    auto const end = std::min(key.find('.', start), key.size());
    if (!is_key(key.substr(start, end - start)))
      return "'" + shown(key) + "' is not a valid key (example: gpu.l2_tlb.entries)";
    start = end + 1;
  }
  return parts > kMaxDepth ? "the key has more than " + std::to_string(kMaxDepth) + " parts" : std::string();
}

}  // namespace

std::string read_text_file(std::string const& path, std::uint64_t limit) {
  auto const input = open_input(path);
  auto const name = one_line(path);
  if (!input.why_not.empty()) throw UserError(name + ": " + input.why_not);
  if (input.bytes > limit)
    throw UserError(name + ": size " + to_text(ByteSize{input.bytes}) + " exceeds the " +
                    to_text(ByteSize{limit}) + " limit");
  try {
    // Files in /proc report no size, and other files may grow.
    auto text = read_bytes(input.file, limit + 1);
    if (text.size() > limit)
      throw UserError(name + ": size exceeds the " + to_text(ByteSize{limit}) + " limit");
    return text;
  } catch (std::system_error const& e) {
    throw UserError(name + ": cannot be read: " + e.code().message());
  }
}

// Flattens the tables of one text into the entries of the configuration.
class Config::Layer {
 public:
  // `line`: the line of the file where a piece of text begins; 0: the text is a complete file.
  Layer(Config& config, std::string file, int line = 0)
      : config_(config), file_(std::move(file)), line_(line) {}

  void table(std::string const& key, toml::table const& t, int depth) {
    if (depth > kMaxDepth) {
      config_.refuse(at(t), "tables are nested more than " + std::to_string(kMaxDepth) + " levels deep at '" +
                                shown(key) + "'");
      return;
    }
    if (t.empty() && !key.empty()) config_.empty_tables_.insert_or_assign(key, at(t));
    for (auto const& [word, node] : t) {
      auto const inner = join_keys(key, word.str());
      if (is_key(word.str()))
        value(inner, node, depth);
      else
        config_.refuse(at(node), "key '" + shown(inner) + "' may contain only letters, digits, '_' and '-'");
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
        auto& places = config_.arrays_[key];
        for (auto const& element : *array) places.push_back(at(element));
        for (std::size_t i = 0; i < array->size(); ++i)
          table(join_keys(key, std::to_string(i)), *(*array)[i].as_table(), depth + 1);
        return;
      }
      std::ostringstream text;
      text << *array;
      entry.value = text.str();
    } else if (auto written = value_of(node)) {
      entry.value = std::move(written->text);
      entry.is_string = written->is_string;
    } else {
      config_.refuse(entry, "'" + shown(key) + "' is a date or a time of day; no parameter has this type");
      return;
    }
    config_.entries_.insert_or_assign(key, std::move(entry));
  }

 private:
  Entry at(toml::node const& node) const {
    return {"", false, file_, line_ != 0 ? line_ : static_cast<int>(node.source().begin.line)};
  }

  Config& config_;
  std::string file_;
  int line_;
};

Config::Config(PresetLookup presets) : presets_(std::move(presets)) {}

void Config::read_file(std::string const& path) {
  auto const text = read_text_file(path, kMaxBytes);
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
  if (text.size() > kMaxBytes)
    throw UserError(name + ": size " + to_text(ByteSize{text.size()}) + " exceeds the " +
                    to_text(ByteSize{kMaxBytes}) + " limit");
  if (number_of(name) == files_.size()) files_.push_back(name);
  std::vector<TomlError> errors;
  auto root = parse_toml(text, errors);
  auto const at = [&](int line) { return Entry{"", false, name, line}; };
  for (auto const& m : errors) refuse(at(m.line), m.why);
  if (!root) return;

  if (auto const* node = root->get("include")) {
    auto const here = at(static_cast<int>(node->source().begin.line));
    auto const* list = node->as_array();
    if (list == nullptr) {
      refuse(here, "include must be an array of preset and file names, such as [\"base.toml\"]");
    } else if (depth >= kMaxDepth) {
      refuse(here, "includes are nested more than " + std::to_string(kMaxDepth) + " levels deep");
    } else {
      for (auto const& element : *list) {
        auto const line = at(static_cast<int>(element.source().begin.line));
        if (auto const* word = element.as_string())
          include(word->get(), line, folder, seen, depth);
        else
          refuse(line, "include must contain only strings: names of presets and files");
      }
    }
    root->erase("include");
  }
  for (auto const& [array, table] : replaced_)
    if (root->at_path(array).is_array_of_tables()) erase(table);
  Layer(*this, name).table("", *root, 0);
}

void Config::include(std::string const& wanted, Entry const& line, std::string const& folder,
                     std::map<std::string, std::string>& seen, int depth) {
  std::optional<std::string> content;
  std::string name = wanted, identity = "preset " + wanted, inner_folder;
  if (presets_) content = presets_(wanted);
  if (!content) {
    auto const path = fs::path(folder) / wanted;
    std::error_code error;
    if (!exists(path.string())) {
      refuse(line, "'" + shown(wanted) + "' is neither a preset nor a file");
      return;
    }
    auto const canonical = fs::weakly_canonical(path, error);
    name = path.string();
    identity = error ? name : canonical.string();
    inner_folder = path.parent_path().string();
  }
  auto const [first, fresh] = seen.emplace(identity, place(line));
  if (!fresh) {
    refuse(line, "'" + shown(wanted) + "' is already included by " + first->second);
    return;
  }
  try {
    if (!content) content = read_text_file(name, kMaxBytes);
    read(*content, name, inner_folder, seen, depth + 1);
  } catch (UserError const& e) {
    refuse(line, e.what());
  }
}

void Config::set(std::string_view assignment) {
  try {
    assign(assignment);
  } catch (UserError const& e) {
    add_error(std::string(kSet), 0, e.what());
  }
}

void Config::assign(std::string_view assignment) {
  auto const bad = [&](std::string const& why) {
    throw UserError("--set '" + shown(assignment) + "': " + why);
  };
  auto const equals = assignment.find('=');
  if (equals == std::string_view::npos) bad("expected KEY=VALUE");
  auto const key = stripped(assignment.substr(0, equals));
  auto const text = stripped(assignment.substr(equals + 1));

  if (auto const why = why_no_key(key); !why.empty()) bad(why);
  if (text.empty()) bad("the value is missing");
  if (assignment.size() > kMaxBytes) bad("the assignment is too long");

  std::string const name(key);
  auto const bracketed = text.front() == '[' || text.front() == '{';
  auto const in_quotes = text.front() == '"' || text.front() == '\'';
  if (!bracketed && !in_quotes) {
    entries_.insert_or_assign(name, bare_value(text));
    return;
  }
  assign_toml(name, text, {"", false, std::string(kSet), 0});
}

void Config::set(std::string_view key, std::string_view value, std::string const& file, int line) {
  Entry const at{"", false, file, line};
  try {
    if (auto const why = why_no_key(key); !why.empty()) throw UserError(why);
    assign_toml(std::string(key), value, at);
  } catch (UserError const& e) {
    refuse(at, e.what());
  }
}

void Config::assign_toml(std::string const& key, std::string_view value, Entry const& at) {
  auto const depth = static_cast<int>(std::count(key.begin(), key.end(), '.')) + 1;
  auto const by = at.file == kSet ? "--set '" + shown(key + "=" + std::string(value)) + "'" : place(at);
  auto const t = parse_toml("value = " + std::string(value), by);
  if (t.size() != 1) throw UserError(by + ": expected a single value");
  if (t.get("value")->is_array_of_tables()) replace_by(key, at.file == kSet);
  Layer(*this, at.file, at.line).value(key, *t.get("value"), depth);
}

}  // namespace farfault
