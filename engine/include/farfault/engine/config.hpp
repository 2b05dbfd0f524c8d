// SPDX-License-Identifier: Apache-2.0
// A configuration: TOML files with includes and overrides, read strictly.
//
// - Guarantees: every key of every file is bound to exactly one declared parameter, or is a mistake that
//   names the file, the line, the key and the nearest known name. A later layer overrides an earlier one
//   (included files in order, then the including file, then --set). The resolved text lists every declared
//   parameter in use, defaults included and shorthands excluded, and reads back to the same configuration.
//   The interface has no TOML types.
// - Notation: tables are joined by dots ("gpu.l2_tlb.entries"). An array of tables [[link]] becomes the
//   tables link.0, link.1, ... and, like any array, replaces the one of an earlier layer as a whole.
// - Limits: files of 16 MiB, includes and tables 16 deep, each file included once.
// - Errors: mistakes are collected while files are read and parameters bound, one sentence each with file,
//   line, key, value and rule; reject_errors() throws them all as one UserError. In a file that is not valid
//   TOML, the first mistake hides the rest of the file. An unreadable file throws immediately.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "farfault/engine/params.hpp"

namespace farfault {

// The mistakes of a configuration: what() has one line per mistake.
class ConfigErrors : public UserError {
 public:
  using UserError::UserError;
};

class Config {
 public:
  // Returns the text of a named preset, or nullopt for an unknown name.
  using PresetLookup = std::function<std::optional<std::string>(std::string_view)>;

  // One value as written, before a parameter has claimed it.
  struct Entry {
    std::string value;  // a string's content without quotes, or the TOML text of a number, flag or array
    bool is_string = false;
    std::string file;  // or "--set"
    int line = 0;
  };

  explicit Config(PresetLookup presets = {});

  // From now on, an array of tables `array` in a layer replaces `table` of earlier layers.
  void replaces(std::string array, std::string table);

  // `include = ["name or file", ...]` at the top of a file reads these first; a file name is relative to the
  // including file.
  void read_file(std::string const& path);
  void read_text(std::string_view text, std::string const& name);  // `name`: the file's name in messages
  // "gpu.l2_tlb.entries=512"; strings may be written without quotes.
  void set(std::string_view assignment);
  // As above, for a TOML value at a line of a file in another format: read as strictly as a
  // configuration; mistakes name that line.
  void set(std::string_view key, std::string_view value, std::string const& file, int line);

  // The files and presets that were read, in that order.
  std::vector<std::string> const& files() const { return files_; }

  // `lasting`: the parameters behind the table outlive the last vary().
  enum class Spec : std::uint8_t { passing, lasting };
  // Binds the entries below `section` to the parameters of `table` ("" is the root). Each parameter may be
  // bound once. A parameter whose condition does not hold (ParamTable::Declared::only_when) is checked, then
  // excluded, as soon as the parameters of the condition are bound.
  void bind(std::string_view section, ParamTable const& table, Spec spec = Spec::passing);
  // Excludes the parameters whose conditions on these facts do not hold.
  using Facts = std::vector<std::pair<Fact, bool>>;
  void exclude_unused(Facts const& facts);
  // Removes the bound parameters at and below `key` from the resolved text, also after choose_again(): a
  // section as a whole, whose choice does not vary. `only_with` is the choice that would use them, e.g.
  // workload.name = "bfs".
  void exclude(std::string_view key, std::string_view only_with);
  // Number of tables in the array `section`; 0 if the array is missing.
  std::size_t array_size(std::string_view section) const;
  // Names table `number` of the array `section`: keys below "link.0" become keys below "link.west", unless a
  // later layer, such as --set, has set them by that name. resolved() writes named tables as the array.
  void name_table(std::string_view section, std::size_t number, std::string_view name);
  // The value of `key` as written, before a parameter claims it.
  std::optional<Entry> peek(std::string_view key) const;
  // The keys set at and below `key`, empty tables included, in the order of reading.
  std::vector<std::string> keys(std::string_view key) const;
  // Removes the entries at and below `key`, after a mistake has reported them.
  void forget(std::string_view key) { erase(key); }
  // As bind(), for a value read by hand (e.g. a list of names); nullopt if it is missing.
  std::optional<Entry> take(std::string_view key);
  // As take(), for an array of strings, or a single string as an array of one.
  std::optional<std::vector<std::string>> take_strings(std::string_view key);
  // The names of tables directly below `section` ("workload" -> "bfs", ...), empty tables included: numbers
  // by value, then names in alphabetical order.
  std::vector<std::string> tables(std::string_view section) const;
  // The place where `key` was set, as "file:line" or "--set"; empty for a default. For a table of an
  // array: the place of its heading.
  std::string where(std::string_view key) const;

  // `why` after that place: "file:line: why", "--set why" for a `why` that begins with the key, or `why` for
  // a default.
  std::string with_place(std::string_view key, std::string const& why) const;

  // Adds a mistake in the value of `key`, found by the caller, with its place. For a key that was not set, in
  // a named table of an array, the place is the table's.
  void refuse(std::string_view key, std::string const& why);
  // As above, as "key = VALUE must ...": the value of a bound parameter as the user wrote it, or its default.
  void refuse_value(std::string_view key, std::string const& rule);
  // Throws one UserError for all mistakes so far and all entries neither bound nor taken: one
  // line each, grouped by file in order of reading; 20 lines, and the number of further ones.
  void reject_errors() const;
  // Mistakes reported so far; unbound entries do not count.
  bool has_errors() const { return !errors_.empty(); }

  // A setting that was excluded because it has no effect.
  struct Unused {
    std::string key;
    std::string place;      // as where()
    std::string only_with;  // the condition under which it has an effect, as text
    std::string instead;    // the parameter to set instead (Condition::else_use); empty: none
  };
  // All of them except settings of presets, in the order of binding.
  std::vector<Unused> unused() const;
  // The same for one key; nullopt if it has an effect, was not set, or was set by a preset.
  std::optional<Unused> find_unused(std::string_view key) const;
  // The resolved configuration as TOML: every bound parameter and every value taken, except excluded values,
  // in the order of binding; parameters of one table are grouped, parameters without a table come first. Keys
  // at or below `without` are omitted.
  std::string resolved(std::vector<std::string> const& without = {}) const;

  // The same parameters one by one, in the order of binding; where() returns the place of each.
  struct Bound {
    std::string key;
    std::string value;
    bool quoted;
  };
  std::vector<Bound> bound() const;
  // The bound parameter `key`; null if it is missing or excluded.
  Bound const* find_bound(std::string_view key) const;

  // Before bind(): the keys that vary() may set.
  void may_vary(std::vector<std::string> const& keys);
  // After bind(): excludes `key` from variation, because its value decides which parameters exist.
  void keep(std::string_view key) { variable_.erase(std::string(key)); }
  // True if vary() may set `key`: it was set at this place and bound to a parameter of a lasting Spec.
  bool can_vary(std::string_view key, std::string const& file, int line) const;
  // As set(), for a key that can_vary() accepts: changes its value in the bound configuration without reading
  // it again. The result equals a configuration read with these values. Returns false if bind() would refuse
  // the value, or if it is an array or a table.
  bool vary(std::string_view key, std::string_view value, std::string const& file, int line);
  // After the last vary(): discards all mistakes, forgets the facts and excludes the parameters whose
  // conditions do not hold now. Callers of exclude_unused() repeat their call.
  void choose_again();

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  // A parameter as written in the resolved text.
  struct Line : Bound {
    std::size_t section;  // an index into sections_
    std::string text;
    bool shorthand = false;
    std::vector<Condition> only_when = {};
    std::size_t failed = kNone;  // the first of these conditions that does not hold
    std::string choice = {};     // the argument of exclude(), which lasts
    bool is_excluded() const { return failed != kNone || !choice.empty(); }
    bool is_in_use() const { return !is_excluded() && !shorthand; }
  };
  struct ConfigError {
    std::size_t file;  // its number in the order of reading
    int line;
    std::string text;
  };
  class Layer;  // one text while it is read into the entries

  void read(std::string_view text, std::string const& name, std::string const& folder,
            std::map<std::string, std::string>& seen, int depth);
  void include(std::string const& wanted, Entry const& line, std::string const& folder,
               std::map<std::string, std::string>& seen, int depth);
  void assign(std::string_view assignment);
  void assign_toml(std::string const& key, std::string_view value, Entry const& at);
  void erase(std::string_view table);
  // By an array of tables in a new layer. All of --set are one layer.
  void replace_by(std::string_view array, bool by_set);
  std::string heading(std::string const& section) const;
  void claim(std::string const& key);
  void add_line(std::string const& key, std::string value, bool quoted);
  static void write(Line& line, std::string value, bool quoted);
  std::size_t section_of(std::string_view key);
  std::vector<Line*> lines_at_and_below(std::string_view key);
  void decide();
  std::optional<Unused> unused(Line const& line) const;
  static void check_form(Param const& param, Entry const& e);
  static bool is_quoted(Param const& param, std::string const& value);
  void refuse(Entry const& e, std::string const& why);
  void add_error(std::string const& file, int line, std::string text);
  std::size_t number_of(std::string const& file) const;
  static std::string place(Entry const& e);

  PresetLookup presets_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::map<std::string, Entry, std::less<>> empty_tables_;
  std::vector<std::pair<std::string, std::string>> replaced_;      // an array, and the table that it replaces
  std::map<std::string, std::vector<Entry>, std::less<>> arrays_;  // of tables: the place of each table
  std::map<std::string, Entry, std::less<>> named_tables_;         // tables of arrays
  std::vector<std::string> claimed_;
  std::vector<Line> lines_;
  std::map<std::string, std::size_t, std::less<>> line_numbers_;  // of claimed keys; kNone: none
  std::vector<std::string> sections_;                             // of lines, in the order of binding
  std::vector<std::string> files_;
  std::vector<ConfigError> errors_;
  std::size_t errors_dropped_ = 0;
  std::map<std::string, std::optional<Param>, std::less<>> variable_;  // by key: the bound parameter
  std::vector<std::size_t> undecided_;  // lines with conditions on unknown facts or parameters
  std::map<std::string, bool, std::less<>> facts_;
};

// The content of a file of at most `limit` bytes. Throws UserError if it is missing, not a regular file, or
// larger.
std::string read_text_file(std::string const& path, std::uint64_t limit);

}  // namespace farfault
