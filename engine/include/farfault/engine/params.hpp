// SPDX-License-Identifier: Apache-2.0
// Parameters: one declaration each. It drives the TOML reader, `farfault params`, the resolved
// configuration in every result, and the error messages.
//
// A Spec is a plain struct whose member initialisers are the only place of defaults. Its
//   void describe(ParamTable& t) {
//     t.count("entries", entries, {1, 65536}, "TLB entries", "GMMU Bypass (NPC 2020), Table 1");
//   }
// binds each member to a name, a range, one line of text and the source of the default ("assumed" if it has
// none, "simulator setting" for a property of neither hardware nor software). A ParamTable refers to the
// described Spec instance and must not outlive it.
// - .only_when(sibling("queues").is(3)): settings under which the parameter acts (condition.hpp).
// - .shorthand(): the parameter only sets defaults of others.
// Errors: set() throws UserError with the value and the rule; the caller adds file and line. An invalid
// declaration (duplicate name, no source, a default outside its range, ...) throws UserError.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "farfault/engine/condition.hpp"
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

// A name and its text.
using NamedText = std::pair<std::string, std::string>;

// One of the values of a choice.
struct Choice {
  std::string name;
  std::string text;
  std::vector<NamedText> statistics = {};  // of a policy: recorded only if it is chosen
};

struct Param {
  std::string name;
  ParamKind kind;
  std::string default_value;  // as text, in the unit's own notation
  std::string range;          // "1 to 65536", "one of: plain, compressed", or empty
  std::string text;           // what it sets; values of a choice have their own
  std::string source;
  std::function<void(std::string_view)> set;  // from text; numbers and flags in TOML notation
  std::function<std::string()> get;           // the current value as text
  std::vector<Choice> choices = {};           // of a choice, in the order of declaration; else empty
  std::vector<Condition> only_when = {};      // it has an effect if all hold; siblings by their name here
  bool shorthand = false;                     // its effect is the values of other parameters
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

  // The parameters that one call of a function below declares.
  class Declared {
   public:
    // They have an effect only if `condition` holds. Otherwise they are read and checked, listed as unused if
    // the user set them, and excluded from the resolved configuration. Several calls: all must hold.
    Declared& only_when(Condition const& condition);
    // They set defaults of other parameters. They are read and checked, and left out of the resolved
    // configuration, which has the resulting values.
    Declared& shorthand();

   private:
    friend class ParamTable;
    Declared(ParamTable& table, std::size_t first)
        : table_(table), section_(table.section_here()), first_(first), end_(table.params_.size()) {}
    ParamTable& table_;
    std::string section_;
    std::size_t first_;
    std::size_t end_;
    std::ptrdiff_t conditions_ = 0;
  };
  // As Declared::only_when(), for all parameters declared while the returned object exists:
  //   auto const if_present = t.only_when(sibling("size").is_above(0));
  class [[nodiscard]] Scope {
   public:
    Scope(ParamTable& table, Condition condition)
        : table_(table), condition_(condition.within(table.section_here())), first_(table.params_.size()) {}
    Scope(Scope const&) = delete;
    Scope& operator=(Scope const&) = delete;
    ~Scope();

   private:
    ParamTable& table_;
    Condition condition_;
    std::size_t first_;
  };
  Scope only_when(Condition condition) { return {*this, std::move(condition)}; }

  Declared count(std::string_view name, std::uint32_t& field, Range<std::uint64_t> range,
                 std::string_view text, std::string_view source);
  Declared count(std::string_view name, std::uint64_t& field, Range<std::uint64_t> range,
                 std::string_view text, std::string_view source);
  Declared number(std::string_view name, double& field, Range<double> range, std::string_view text,
                  std::string_view source);
  Declared flag(std::string_view name, bool& field, std::string_view text, std::string_view source);
  Declared text(std::string_view name, std::string& field, std::string_view text, std::string_view source);
  // The field holds the text as written, checked by its reader; a count without leading zeros.
  Declared count_or_text(std::string_view name, std::string& field, std::string_view text,
                         std::string_view source);
  Declared file(std::string_view name, std::string& field, std::string_view text, std::string_view source);
  Declared duration(std::string_view name, Duration& field, Range<Duration> range, std::string_view text,
                    std::string_view source);
  Declared bytes(std::string_view name, ByteSize& field, Range<ByteSize> range, std::string_view text,
                 std::string_view source);
  Declared bandwidth(std::string_view name, Bandwidth& field, Range<Bandwidth> range, std::string_view text,
                     std::string_view source);
  Declared frequency(std::string_view name, Frequency& field, Range<Frequency> range, std::string_view text,
                     std::string_view source);

  // A value of an enumeration, selected by its name, with a text.
  template <class E>
  struct Named {
    std::string_view name;
    E value;
    std::string_view text;
  };
  template <class E>
  Declared choice(std::string_view name, E& field, std::initializer_list<Named<E>> values,
                  std::string_view text, std::string_view source) {
    std::vector<Named<std::uint64_t>> numbers;
    for (auto const& v : values) numbers.push_back({v.name, static_cast<std::uint64_t>(v.value), v.text});
    return choice(
        name,
        {&field, [](void const* at) { return static_cast<std::uint64_t>(*static_cast<E const*>(at)); },
         [](void* at, std::uint64_t number) { *static_cast<E*>(at) = static_cast<E>(number); }},
        numbers, text, source);
  }

  // One of several alternatives, selected by name, each with its own parameters under prefix and name
  // (policy.hpp).
  struct Alternative {
    std::string name;
    std::string text;
    std::string prefix;
    std::function<void(ParamTable&)> describe;
    std::vector<NamedText> statistics = {};
  };
  Declared alternatives(std::string_view name, std::string& chosen, std::vector<Alternative> const& all,
                        std::string_view text, std::string_view source);

  // For a Spec whose default differs from the default of the Spec that describes the parameter.
  void set_source(std::string_view name, std::string_view source);
  // Adds a condition to a declared parameter.
  void restrict(std::string_view name, Condition const& condition);

  // Another Spec's parameters under "prefix.": for sections within sections.
  template <class Spec>
  Declared section(std::string_view prefix, Spec& spec) {
    auto const first = params_.size();
    auto const outer = prefix_;
    prefix_ += std::string(prefix) + ".";
    spec.describe(*this);
    prefix_ = outer;
    return {*this, first};
  }

  std::vector<Param> const& all() const { return params_; }
  Param const* find(std::string_view name) const;
  // Throws UserError if a condition names a parameter of this table that is not declared.
  void check_conditions() const;

 private:
  // The section of an alternative's parameters: "by_age" of policy = "by_age".
  struct Section {
    std::string prefix;
    std::string of;
  };
  // A field of any enumeration: `choice` is compiled once for all.
  struct EnumField {
    void* at;
    std::uint64_t (*get)(void const* at);
    void (*set)(void* at, std::uint64_t number);
  };
  Declared choice(std::string_view name, EnumField field, std::vector<Named<std::uint64_t>> const& values,
                  std::string_view text, std::string_view source);
  Declared add(Param p);
  Param& declared(std::string_view name, std::string_view use);
  std::string_view section_here() const {
    return std::string_view(prefix_).substr(0, prefix_.empty() ? 0 : prefix_.size() - 1);
  }
  Declared words(ParamKind kind, std::string_view name, std::string& field, std::string_view text,
                 std::string_view source);

  Policies const* policies_ = nullptr;
  std::string prefix_;
  std::vector<Param> params_;
  std::vector<Section> sections_;
};

}  // namespace farfault
