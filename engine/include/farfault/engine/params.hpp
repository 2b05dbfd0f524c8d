// SPDX-License-Identifier: Apache-2.0
// Parameters: one declaration each. It drives the TOML reader, `farfault params`, the resolved
// configuration in every result, and the error messages.
//
// A Spec is a plain struct whose member initialisers are the only place of defaults. Its
//   void describe(ParamTable& t) { t.count("entries", entries, {1, 65536}, "TLB entries", "GMMU Bypass, Table
//   1"); }
// binds each member to a name, a range, one line of text and the source of the default ("assumed" if it has
// none). A ParamTable refers to the described Spec instance and must not outlive it.
// Errors: set() throws UserError with the value and the rule; the caller adds file and line. An invalid
// declaration (a duplicate name, a name below another parameter's, no source, a default outside its range)
// throws UserError.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "farfault/engine/error.hpp"
#include "farfault/engine/units.hpp"

namespace farfault {

template <class T>
struct Range {
  T low;
  T high;
};

// `file`: the name of an input file. Its content counts, not its name.
// `count_or_text`: a number written as a count, or quoted text (15, "all").
enum class ParamKind {
  count,
  number,
  flag,
  text,
  file,
  choice,
  duration,
  bytes,
  bandwidth,
  frequency,
  count_or_text
};

struct Param {
  std::string name;
  ParamKind kind;
  std::string default_value;  // as text, in the unit's own notation
  std::string range;          // "1 to 65536", "one of: plain, compressed", or empty
  std::string text;
  std::string source;
  std::function<void(std::string_view)> set;  // from text; numbers and flags in TOML notation
  std::function<std::string()> get;           // the current value as text
};

std::string_view unit_of(ParamKind kind);  // "count", "time", "bytes", ... as shown to a user

// True for a valid part of a key, and therefore for any name in a configuration: letters, digits, '_' and
// '-'.
bool is_key(std::string_view word);

class Policies;

class ParamTable {
 public:
  // `policies`: implementations from outside the project, also offered by choices; must outlive the table.
  ParamTable() = default;
  explicit ParamTable(Policies const* policies) : policies_(policies) {}
  Policies const* policies() const { return policies_; }

  void count(std::string_view name, std::uint32_t& field, Range<std::uint64_t> range, std::string_view text,
             std::string_view source);
  void count(std::string_view name, std::uint64_t& field, Range<std::uint64_t> range, std::string_view text,
             std::string_view source);
  void number(std::string_view name, double& field, Range<double> range, std::string_view text,
              std::string_view source);
  void flag(std::string_view name, bool& field, std::string_view text, std::string_view source);
  void text(std::string_view name, std::string& field, std::string_view text, std::string_view source);
  // The field holds the text as written, checked by its reader; a count without leading zeros.
  void count_or_text(std::string_view name, std::string& field, std::string_view text,
                     std::string_view source);
  void file(std::string_view name, std::string& field, std::string_view text, std::string_view source);
  void duration(std::string_view name, Duration& field, Range<Duration> range, std::string_view text,
                std::string_view source);
  void bytes(std::string_view name, ByteSize& field, Range<ByteSize> range, std::string_view text,
             std::string_view source);
  void bandwidth(std::string_view name, Bandwidth& field, Range<Bandwidth> range, std::string_view text,
                 std::string_view source);
  void frequency(std::string_view name, Frequency& field, Range<Frequency> range, std::string_view text,
                 std::string_view source);

  // An enumeration, selected by name.
  template <class E>
  void choice(std::string_view name, E& field, std::initializer_list<std::pair<std::string_view, E>> names,
              std::string_view text, std::string_view source);

  // One of several alternatives, selected by name, each with its own parameters under prefix and name
  // (policy.hpp).
  struct Alternative {
    std::string name;
    std::string prefix;
    std::function<void(ParamTable&)> describe;
  };
  void alternatives(std::string_view name, std::string& chosen, std::vector<Alternative> const& all,
                    std::string_view text, std::string_view source);
  // The section of an alternative's parameters, and whether it is selected.
  struct Section {
    std::string prefix;     // "by_age"
    std::string only_with;  // policy = "by_age"
    std::function<bool()> chosen;
  };
  std::vector<Section> const& sections_of_alternatives() const { return sections_; }

  // For a Spec whose default differs from the default of the Spec that describes the parameter.
  void set_source(std::string_view name, std::string_view source);

  // Another Spec's parameters under "prefix.": for sections within sections.
  template <class Spec>
  void section(std::string_view prefix, Spec& spec) {
    auto const outer = prefix_;
    prefix_ += std::string(prefix) + ".";
    spec.describe(*this);
    prefix_ = outer;
  }

  std::vector<Param> const& all() const { return params_; }
  Param const* find(std::string_view name) const;

 private:
  void add(Param p);
  void words(ParamKind kind, std::string_view name, std::string& field, std::string_view text,
             std::string_view source);

  Policies const* policies_ = nullptr;
  std::string prefix_;
  std::vector<Param> params_;
  std::vector<Section> sections_;
};

template <class E>
void ParamTable::choice(std::string_view name, E& field,
                        std::initializer_list<std::pair<std::string_view, E>> names, std::string_view text,
                        std::string_view source) {
  std::vector<std::pair<std::string, E>> known(names.begin(), names.end());
  std::string list;
  for (auto const& [word, value] : known) list += (list.empty() ? "one of: " : ", ") + word;
  auto get = [known, &field] {
    for (auto const& [word, value] : known)
      if (value == field) return word;
    return std::string("?");
  };
  auto set = [known, list, &field](std::string_view word) {
    for (auto const& [candidate, value] : known) {
      if (candidate == word) {
        field = value;
        return;
      }
    }
    throw UserError("'" + shown(word) + "' is not " + list);
  };
  add({std::string(name), ParamKind::choice, get(), list, std::string(text), std::string(source), set, get});
}

}  // namespace farfault
