// SPDX-License-Identifier: Apache-2.0
#include "farfault/engine/params.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace farfault {
namespace {

using farfault::to_text;

std::string to_text(std::uint64_t n) {
  return std::to_string(n);
}

// The shortest text that reads back to the same number.
std::string to_text(double x) {
  std::array<char, 32> buffer;
  auto const end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), x).ptr;
  return {buffer.data(), end};
}

// A number of more than 64 bits gives the largest number, which every range excludes.
std::uint64_t parse_count(std::string_view text) {
  std::uint64_t n = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  bool const is_large = error == std::errc::result_out_of_range;
  if ((error != std::errc{} && !is_large) || end != text.data() + text.size())
    throw UserError("'" + shown(text) + "' is not a non-negative integer");
  return is_large ? std::numeric_limits<std::uint64_t>::max() : n;
}

double parse_number(std::string_view text) {
  double x = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(x))
    throw UserError("'" + shown(text) + "' is not a number");
  return x;
}

bool parse_flag(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  throw UserError("'" + shown(text) + "' is not one of: true, false");
}

// A parameter with a range: `parse` makes a T of text; `field` may be narrower than T if its range fits.
template <class T, class Field, class Parse>
Param ranged(std::string_view name, ParamKind kind, Field& field, Range<T> range, std::string_view text,
             std::string_view source, Parse parse) {
  auto const limits = to_text(range.low) + " to " + to_text(range.high);
  auto const inside = [range](T const& value) { return !(value < range.low) && !(range.high < value); };
  if (!inside(T{field}))
    throw UserError("the default of parameter " + std::string(name) + ", " + to_text(T{field}) +
                    ", is outside its own range, " + limits);
  auto set = [&field, inside, limits, parse](std::string_view word) {
    T value{};
    try {
      value = parse(word);
    } catch (UnitError const& e) {
      throw UserError(e.what());
    }
    if (!inside(value)) throw UserError("'" + shown(word) + "' is outside " + limits);
    field = static_cast<Field>(value);
  };
  auto get = [&field] { return to_text(T{field}); };
  return {.name = std::string(name),
          .kind = kind,
          .default_value = get(),
          .range = limits,
          .text = std::string(text),
          .source = std::string(source),
          .set = set,
          .get = get};
}

// The maximum of a TOML integer, so that the resolved configuration reads back.
constexpr auto kMaxCount = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

Range<std::uint64_t> within(Range<std::uint64_t> range, std::uint64_t most) {
  return {range.low, std::min(range.high, most)};
}

// "one of: plain, compressed"
std::string one_of(std::vector<Choice> const& choices) {
  std::string list;
  for (auto const& c : choices) list += (list.empty() ? "one of: " : ", ") + c.name;
  return list;
}

}  // namespace

bool is_key(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

std::string_view unit_of(ParamKind kind) {
  switch (kind) {
    case ParamKind::count:
      return "count";
    case ParamKind::number:
      return "number";
    case ParamKind::flag:
      return "true or false";
    case ParamKind::text:
      return "text";
    case ParamKind::file:
      return "file";
    case ParamKind::choice:
      return "name";
    case ParamKind::duration:
      return "time";
    case ParamKind::bytes:
      return "bytes";
    case ParamKind::bandwidth:
      return "bytes/s";
    case ParamKind::frequency:
      return "Hz";
    case ParamKind::count_or_text:
      return "count or text";
  }
  panic("a parameter of no kind", __FILE__, __LINE__);
}

ParamTable::Declared ParamTable::count(std::string_view name, std::uint32_t& field,
                                       Range<std::uint64_t> range, std::string_view text,
                                       std::string_view source) {
  return add(ranged<std::uint64_t>(name, ParamKind::count, field,
                                   within(range, std::numeric_limits<std::uint32_t>::max()), text, source,
                                   parse_count));
}

ParamTable::Declared ParamTable::count(std::string_view name, std::uint64_t& field,
                                       Range<std::uint64_t> range, std::string_view text,
                                       std::string_view source) {
  return add(ranged<std::uint64_t>(name, ParamKind::count, field, within(range, kMaxCount), text, source,
                                   parse_count));
}

ParamTable::Declared ParamTable::number(std::string_view name, double& field, Range<double> range,
                                        std::string_view text, std::string_view source) {
  return add(ranged<double>(name, ParamKind::number, field, range, text, source, parse_number));
}

ParamTable::Declared ParamTable::flag(std::string_view name, bool& field, std::string_view text,
                                      std::string_view source) {
  auto get = [&field] { return std::string(field ? "true" : "false"); };
  auto set = [&field](std::string_view word) { field = parse_flag(word); };
  return add({.name = std::string(name),
              .kind = ParamKind::flag,
              .default_value = get(),
              .range = "true or false",
              .text = std::string(text),
              .source = std::string(source),
              .set = set,
              .get = get});
}

ParamTable::Declared ParamTable::words(ParamKind kind, std::string_view name, std::string& field,
                                       std::string_view text, std::string_view source) {
  auto get = [&field] { return field; };
  auto set = [&field](std::string_view word) { field = std::string(word); };
  return add({.name = std::string(name),
              .kind = kind,
              .default_value = get(),
              .range = "",
              .text = std::string(text),
              .source = std::string(source),
              .set = set,
              .get = get});
}

ParamTable::Declared ParamTable::text(std::string_view name, std::string& field, std::string_view text,
                                      std::string_view source) {
  return words(ParamKind::text, name, field, text, source);
}

ParamTable::Declared ParamTable::count_or_text(std::string_view name, std::string& field,
                                               std::string_view text, std::string_view source) {
  auto const declared = words(ParamKind::count_or_text, name, field, text, source);
  params_.back().set = [&field](std::string_view word) {
    bool const digits = !word.empty() && word.find_first_not_of("0123456789") == word.npos;
    auto const count = digits ? parse_count(word) : 0;
    if (count > kMaxCount)
      throw UserError("'" + shown(word) + "' is above the maximum, " + to_text(kMaxCount));
    field = digits ? to_text(count) : std::string(word);
  };
  return declared;
}

ParamTable::Declared ParamTable::file(std::string_view name, std::string& field, std::string_view text,
                                      std::string_view source) {
  return words(ParamKind::file, name, field, text, source);
}

ParamTable::Declared ParamTable::duration(std::string_view name, Duration& field, Range<Duration> range,
                                          std::string_view text, std::string_view source) {
  return add(ranged<Duration>(name, ParamKind::duration, field, range, text, source, parse_duration));
}

ParamTable::Declared ParamTable::bytes(std::string_view name, ByteSize& field, Range<ByteSize> range,
                                       std::string_view text, std::string_view source) {
  return add(ranged<ByteSize>(name, ParamKind::bytes, field, range, text, source, parse_bytes));
}

ParamTable::Declared ParamTable::bandwidth(std::string_view name, Bandwidth& field, Range<Bandwidth> range,
                                           std::string_view text, std::string_view source) {
  return add(ranged<Bandwidth>(name, ParamKind::bandwidth, field, range, text, source, parse_bandwidth));
}

ParamTable::Declared ParamTable::frequency(std::string_view name, Frequency& field, Range<Frequency> range,
                                           std::string_view text, std::string_view source) {
  return add(ranged<Frequency>(name, ParamKind::frequency, field, range, text, source, parse_frequency));
}

ParamTable::Declared ParamTable::choice(std::string_view name, EnumField field,
                                        std::vector<Named<std::uint64_t>> const& values,
                                        std::string_view text, std::string_view source) {
  std::vector<std::uint64_t> numbers;
  std::vector<Choice> choices;
  for (auto const& v : values) {
    numbers.push_back(v.value);
    choices.push_back({std::string(v.name), std::string(v.text)});
  }
  auto const list = one_of(choices);
  auto get = [numbers, choices, field] {
    auto const i = std::ranges::find(numbers, field.get(field.at)) - numbers.begin();
    return i < std::ssize(choices) ? choices[static_cast<std::size_t>(i)].name : "?";
  };
  auto set = [numbers, choices, list, field](std::string_view word) {
    auto const i = std::ranges::find(choices, word, &Choice::name) - choices.begin();
    if (i == std::ssize(choices)) throw UserError("'" + shown(word) + "' is not " + list);
    field.set(field.at, numbers[static_cast<std::size_t>(i)]);
  };
  return add({.name = std::string(name),
              .kind = ParamKind::choice,
              .default_value = get(),
              .range = list,
              .text = std::string(text),
              .source = std::string(source),
              .set = set,
              .get = get,
              .choices = std::move(choices)});
}

ParamTable::Declared ParamTable::alternatives(std::string_view name, std::string& chosen,
                                              std::vector<Alternative> const& all, std::string_view text,
                                              std::string_view source) {
  std::vector<Choice> choices;
  for (auto const& a : all) choices.push_back({a.name, a.text, a.statistics});
  auto const list = one_of(choices);
  auto set = [choices, list, &chosen](std::string_view word) {
    if (std::ranges::find(choices, word, &Choice::name) == choices.end())
      throw UserError("'" + shown(word) + "' is not " + list);
    chosen = word;
  };
  auto get = [&chosen] { return chosen; };
  auto const first = params_.size();
  add({.name = std::string(name),
       .kind = ParamKind::choice,
       .default_value = get(),
       .range = list,
       .text = std::string(text),
       .source = std::string(source),
       .set = set,
       .get = get,
       .choices = std::move(choices)});
  for (auto const& a : all) {
    auto const section = a.prefix + a.name;
    auto const number = sections_.size();
    auto const outer = prefix_;
    auto const chosen_alone = sibling(name).is(a.name);
    sections_.push_back({prefix_ + section, chosen_alone.within(section_here()).text()});
    {
      auto const if_chosen = only_when(chosen_alone);
      prefix_ += section + ".";
      a.describe(*this);
      prefix_ = outer;
    }
    auto const here = outer + section + ".";
    // Two choices in one table: excluding the parameters of one would exclude the other's as well.
    auto const own = sections_.begin() + static_cast<std::ptrdiff_t>(number);
    auto const same =
        std::find_if(sections_.begin(), own, [&](Section const& s) { return s.prefix == own->prefix; });
    auto const has_parameters = [&] {
      return std::any_of(params_.begin(), params_.end(),
                         [&](Param const& p) { return p.name.starts_with(here); });
    };
    if (same != own && has_parameters())
      throw UserError("the parameters of " + own->of + " and of " + same->of + " would share the table " +
                      same->prefix + "; rename one of the two values");
  }
  return {*this, first};
}

ParamTable::Declared& ParamTable::Declared::only_when(Condition const& condition) {
  auto const whole = condition.within(section_);
  for (auto i = first_; i != end_; ++i) {
    auto& all = table_.params_[i].only_when;
    all.insert(all.begin() + conditions_, whole);
  }
  ++conditions_;
  return *this;
}

ParamTable::Declared& ParamTable::Declared::shorthand() {
  for (auto i = first_; i != end_; ++i) table_.params_[i].shorthand = true;
  return *this;
}

// The condition of a scope precedes the conditions of its parameters, which are more specific.
ParamTable::Scope::~Scope() {
  for (auto i = first_; i != table_.params_.size(); ++i) {
    auto& all = table_.params_[i].only_when;
    all.insert(all.begin(), condition_);
  }
}

void ParamTable::check_conditions() const {
  for (auto const& p : params_)
    for (auto const& condition : p.only_when)
      for (auto const& name : condition.siblings())
        if (find(name) == nullptr)
          throw UserError("parameter " + p.name + " has an effect only with " + condition.text() + ", but " +
                          name + " is not declared");
}

Param const* ParamTable::find(std::string_view name) const {
  auto const it =
      std::find_if(params_.begin(), params_.end(), [name](Param const& p) { return p.name == name; });
  return it == params_.end() ? nullptr : &*it;
}

Param& ParamTable::declared(std::string_view name, std::string_view use) {
  auto const full = prefix_ + std::string(name);
  auto const p = std::find_if(params_.begin(), params_.end(), [&](Param const& q) { return q.name == full; });
  if (p == params_.end())
    throw UserError("parameter " + full + " is not declared, so its " + std::string(use) + " cannot be set");
  return *p;
}

void ParamTable::set_source(std::string_view name, std::string_view source) {
  declared(name, "source").source = source;
}

void ParamTable::restrict(std::string_view name, Condition const& condition) {
  declared(name, "condition").only_when.push_back(condition.within(section_here()));
}

ParamTable::Declared ParamTable::add(Param p) {
  if (!is_key(p.name))
    throw UserError("parameter '" + shown(p.name) +
                    "': a name may contain only letters, digits, '_' and '-'");
  p.name.insert(0, prefix_);
  for (auto const& other : params_) {
    if (other.name == p.name) throw UserError("parameter " + p.name + " is declared twice");
    auto const& [outer, inner] = std::minmax(other.name, p.name);  // alphabetical: the shorter one first
    if (inner.starts_with(outer) && inner[outer.size()] == '.')
      throw UserError("parameter " + inner + " would be below " + outer + ", which is a parameter itself");
  }
  if (p.source.empty())
    throw UserError("parameter " + p.name + " has no source; write \"assumed\" if none exists");
  for (auto const& c : p.choices)
    if (c.text.empty())
      throw UserError("parameter " + p.name + ": its value '" + shown(c.name) + "' has no text");
  params_.push_back(std::move(p));
  return {*this, params_.size() - 1};
}

}  // namespace farfault
