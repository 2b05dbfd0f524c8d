// SPDX-License-Identifier: Apache-2.0
// A configuration: TOML files with includes and overrides, read strictly.
//
// Guarantees: every key of every file ends bound to exactly one declared parameter, or is a mistake that
// names the file, the line, the key and the nearest known name; a later layer overrides an earlier one
// (included files in order, then the file that includes them, then --set); the resolved text lists every
// declared parameter that is in use, defaults included, and reads back to the same configuration. No TOML
// type appears here.
//
// Notation: tables are joined by dots ("gpu.l2_tlb.entries"); an array of tables [[link]] becomes the tables
// link.0, link.1, ... and, like any array, replaces the one of an earlier layer as a whole. Whoever reads an
// array may give its tables names: link.0 is link.west from then on, and a later layer, such as --set, may
// have set link.west.latency.
//
// Variation: vary() changes the values of the keys of may_vary() in a bound configuration without reading it
// again. The result equals a configuration read with these values, except unused().
//
// Limits: files of 16 MiB, includes and tables 16 deep, each file included once.
//
// Errors: mistakes are collected while files are read and parameters bound, one sentence each with file,
// line, key, value and rule; reject_mistakes() throws them all as one UserError. In a file that is not TOML
// the first mistake hides the rest of that file. A file that cannot be read at all is thrown at once.
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

// The mistakes of a configuration: what() is a line for each.
class ConfigMistakes : public UserError {
 public:
  using UserError::UserError;
};

class Config {
 public:
  // Gives the text of a named preset, or nothing when there is none of that name.
  using PresetLookup = std::function<std::optional<std::string>(std::string_view)>;

  // One value as written, before any parameter has claimed it.
  struct Entry {
    std::string value;  // a string's content without quotes, or the TOML text of a number, flag or array
    bool is_string = false;
    std::string file;  // or "--set"
    int line = 0;
  };

  explicit Config(PresetLookup presets = {});

  // From here on, an array of tables `array` at the top of a layer takes the place of `table` in earlier
  // ones.
  void replaces(std::string array, std::string table);

  // `include = ["name or file", ...]` at the top of a file reads those first; a file name is relative to the
  // includer.
  void read_file(std::string const& path);
  void read_text(std::string_view text, std::string const& name);  // `name` stands for the file in messages
  // "gpu.l2_tlb.entries=512"; strings may be written without quotes.
  void set(std::string_view assignment);
  // The same for a value in TOML that stands at a line of a file of another kind: read as strictly as a
  // configuration, and that is the place that mistakes name.
  void set(std::string_view key, std::string_view value, std::string const& file, int line);

  // The files and presets that were read, in that order.
  std::vector<std::string> const& files() const { return files_; }

  // `lasting`: the parameters behind the table outlive the last vary().
  enum class Spec : std::uint8_t { passing, lasting };
  // Lays the entries below `section` into the parameters of `table` ("" is the root). Each parameter may be
  // bound once. Those of alternatives that are not chosen are checked, then left out.
  void bind(std::string_view section, ParamTable const& table, Spec spec = Spec::passing);
  // Takes the parameters at and below `key`, bound before, out of the resolved text: what is chosen does not
  // use them. `only_with` is the choice that would, as in: workload.name = "bfs".
  void leave_out(std::string_view key, std::string_view only_with);
  // As leave_out(), but choose_again() does not take it in again.
  void leave_out_for_good(std::string_view key, std::string_view only_with);
  // As leave_out(), for all parameters below `section` except at and below its parameter `kept`.
  void leave_out_below(std::string_view section, std::string_view kept, std::string_view only_with);
  // How many tables the array `section` has; 0 where there is no such array.
  std::size_t array_size(std::string_view section) const;
  // Table `number` of the array `section` is `name` from here on: what stands below "link.0" stands below
  // "link.west", unless that was set by its name. resolved() writes the tables that were named as the array.
  void name_table(std::string_view section, std::size_t number, std::string_view name);
  // The value of `key` as written, which some parameter is still to claim.
  std::optional<Entry> peek(std::string_view key) const;
  // What was set at and below `key`, tables that are empty included, in the order in which it was read.
  std::vector<std::string> keys(std::string_view key) const;
  // Takes out what was set at and below `key`: a mistake has told of it.
  void forget(std::string_view key) { erase(key); }
  // As bind(), for a value read by hand (a list of names, say); nothing when it is not there.
  std::optional<Entry> take(std::string_view key);
  // As take(), for an array of strings, or a single string as an array of one.
  std::optional<std::vector<std::string>> take_strings(std::string_view key);
  // The names of tables directly below `section` ("workload" -> "bfs", ...), empty tables included: numbers
  // by value, then names by alphabet.
  std::vector<std::string> tables(std::string_view section) const;
  // Where `key` was set, as "file:line" or "--set", or the empty string when it is a default. A table of an
  // array is where its heading is.
  std::string where(std::string_view key) const;

  // Adds a mistake that the caller sees in the value of `key`. Of a key that was not set, in a named table of
  // an array, the place is that table's.
  void refuse(std::string_view key, std::string const& why);
  // The same as "key = VALUE: rule": the value of a bound parameter as the user wrote it, or its default.
  void refuse_value(std::string_view key, std::string const& rule);
  // Throws one UserError for all mistakes so far and all entries that nothing has bound or taken: a line
  // each, file by file in the order in which they were named; 20 lines, and how many more there are.
  void reject_mistakes() const;
  // Mistakes reported so far; unbound entries do not count.
  bool has_mistakes() const { return !mistakes_.empty(); }

  // Settings, except of presets, that were left out: "key (file:line; only with CHOICE)" each. Empty after
  // vary().
  std::vector<std::string> const& unused() const { return unused_; }
  // The resolved configuration as TOML: every bound parameter and every value taken, but those left out, in
  // the order of binding, but the parameters of one table together and those of no table first. What is at
  // or below the keys `without` does not stand in it.
  std::string resolved(std::vector<std::string> const& without = {}) const;

  // The same, one by one, in the order of binding; where each was set is told by where().
  struct Bound {
    std::string key;
    std::string value;
    bool quoted;
  };
  std::vector<Bound> bound() const;
  // The bound parameter `key`; null if it is missing or left out.
  Bound const* find_bound(std::string_view key) const;

  // Before bind(): the keys that vary() may set.
  void may_vary(std::vector<std::string> const& keys);
  // After bind(): `key` may not vary after all, as its value decides which parameters there are.
  void keep(std::string_view key) { variable_.erase(std::string(key)); }
  // True if vary() may set `key`: it was set at this place and bound to a parameter of a lasting Spec.
  bool can_vary(std::string_view key, std::string const& file, int line) const;
  // As set(), for such a key. Returns false if bind() would refuse the value, or if it is an array or a
  // table.
  bool vary(std::string_view key, std::string_view value, std::string const& file, int line);
  // After the last vary(): discards all mistakes and undoes leave_out(), except for alternatives that are not
  // chosen now. Other callers of leave_out() repeat their call.
  void choose_again();

 private:
  // A parameter as the resolved text has it.
  struct Line : Bound {
    std::size_t section;  // an index into sections_
    std::string text;
    bool left_out = false;
    bool for_good = false;
  };
  struct Alternative {
    std::string key;  // of its section
    std::function<bool()> chosen;
  };
  struct Mistake {
    std::size_t file;  // its number in the order of reading
    int line;
    std::string text;
  };
  class Layer;  // one text on its way into the entries

  void read(std::string_view text, std::string const& name, std::string const& folder,
            std::map<std::string, std::string>& seen, int depth);
  void include(std::string const& wanted, Entry const& line, std::string const& folder,
               std::map<std::string, std::string>& seen, int depth);
  void assign(std::string_view assignment);
  void assign_toml(std::string const& key, std::string_view value, Entry const& at);
  void erase(std::string_view table);
  void replace_by(std::string_view array);
  std::string heading(std::string const& section) const;
  void claim(std::string const& key);
  void add_line(std::string const& key, std::string value, bool quoted);
  static void write(Line& line, std::string value, bool quoted);
  std::size_t section_of(std::string_view key);
  std::vector<Line*> lines_at_and_below(std::string_view key);
  void leave_out(std::vector<Line*> const& lines, std::string_view only_with, bool for_good);
  static void check_form(Param const& param, Entry const& e);
  static bool is_quoted(Param const& param, std::string const& value);
  void refuse(Entry const& e, std::string const& why);
  void add_mistake(std::string const& file, int line, std::string text);
  std::size_t number_of(std::string const& file) const;
  static std::string place(Entry const& e);

  PresetLookup presets_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::map<std::string, Entry, std::less<>> empty_tables_;
  std::vector<std::pair<std::string, std::string>> replaced_;      // an array, and the table that it replaces
  std::map<std::string, std::vector<Entry>, std::less<>> arrays_;  // of tables: the place of each
  std::map<std::string, Entry, std::less<>> named_tables_;         // of arrays
  std::vector<std::string> claimed_;
  std::vector<Line> lines_;
  std::map<std::string, std::size_t, std::less<>> line_numbers_;  // of claimed keys; kNoLine: it has none
  std::vector<std::string> sections_;                             // of lines, in the order of binding
  std::vector<std::string> unused_;
  std::vector<std::string> files_;
  std::vector<Mistake> mistakes_;
  std::size_t mistakes_not_kept_ = 0;
  std::map<std::string, std::optional<Param>, std::less<>> variable_;  // by key: what it is bound to
  std::vector<Alternative> alternatives_;                              // of lasting tables
  bool varied_ = false;
  static constexpr std::size_t kNoLine = ~std::size_t{0};
};

// The content of a file of at most `limit` bytes. Throws UserError where it is missing, no regular file, or
// larger.
std::string read_text_file(std::string const& path, std::uint64_t limit);

}  // namespace farfault
