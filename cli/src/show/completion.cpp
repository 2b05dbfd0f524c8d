// SPDX-License-Identifier: Apache-2.0
#include "completion.hpp"

#include <algorithm>
#include <set>

#include "farfault/engine/error.hpp"

namespace farfault::cli {
namespace {

constexpr std::size_t kLongestText = 70;

// The first part of a text, up to a bracket or a full stop; the rest is detail.
std::string short_text(std::string_view text) {
  auto end = text.size();
  for (auto const* stop : {";", ". ", ": ", " ("}) end = std::min(end, text.find(stop));
  auto words = one_line(text.substr(0, end));
  if (words.size() <= kLongestText) return words;
  return words.substr(0, words.rfind(' ', kLongestText)) + " ...";
}

class Candidates {
 public:
  explicit Candidates(std::string typed) : typed_(std::move(typed)) {}

  // Text before the candidates in the same word, as in --set=KEY.
  void put_before(std::string before) { before_ = std::move(before); }

  std::string const& typed() const { return typed_; }

  void add(std::string const& word, std::string_view text) {
    if (word.starts_with(typed_)) text_ += before_ + word + "\t" + short_text(text) + "\n";
  }
  void add_directive(std::string const& line) { text_ += line + "\n"; }

  std::string take() { return std::move(text_); }

 private:
  std::string typed_, before_, text_;
};

std::vector<std::string> split(std::string_view list, std::string_view separator) {
  std::vector<std::string> words;
  for (std::size_t from = 0;;) {
    auto const to = list.find(separator, from);
    words.emplace_back(list.substr(from, to - from));
    if (to == list.npos) return words;
    from = to + separator.size();
  }
}

// Calls `use` with each parameter and its key for --set.
template <class Use>
void for_keys(ParameterSections const& sections, Use use) {
  for (auto const& section : sections.all()) {
    if (section.most_tables != 0) continue;  // by name instead: application.NAME.KEY
    for (auto const& p : section.table.all())
      use(section.name.empty() ? p.name : section.name + "." + p.name, p);
  }
}

void add_settings(CompletionSource const& source, std::string const& below, Candidates& to) {
  auto const equals = to.typed().find('=');
  auto const key = to.typed().substr(0, equals);
  for_keys(source.parameters, [&](std::string const& name, Param const& p) {
    if (!name.starts_with(below)) return;
    if (equals == std::string::npos) return to.add(name + "=", p.text);
    if (name != key) return;
    for (auto const& c : p.choices) to.add(key + "=" + c.name, c.text);
    if (key == "workload.name")
      for (auto const& value : source.workloads) to.add(key + "=" + value, {});
    if (p.kind == ParamKind::flag)
      for (auto const* value : {"true", "false"}) to.add(key + "=" + value, {});
  });
}

void add_sections(ParameterSections const& sections, Candidates& to) {
  std::set<std::string> tables;
  for_keys(sections, [&](std::string const& name, Param const& p) {
    to.add(name, p.text);
    for (auto dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1))
      tables.insert(name.substr(0, dot));
  });
  for (auto const& table : tables) {
    std::string_view text;
    for (auto const& section : sections.all())
      if (section.name == table) text = section.text;
    to.add(table, text);
  }
}

// Keys that a study may vary.
void add_dimensions(ParameterSections const& sections, Candidates& to) {
  to.add("name", "points of the list");
  for_keys(sections, [&](std::string const& name, Param const& p) { to.add(name, p.text); });
}

// Adds the candidates for a value that help calls `kind`.
void add_values(CompletionSource const& source, std::string const& kind, Candidates& to) {
  constexpr std::string_view kNameValue = "NAME=VALUE";
  if (kind == "KEY=VALUE") {
    add_settings(source, {}, to);
  } else if (kind.ends_with(kNameValue)) {
    add_settings(source, kind.substr(0, kind.size() - kNameValue.size()), to);
  } else if (kind == "X Y") {
    add_dimensions(source.parameters, to);
  } else if (kind == "SECTION") {
    add_sections(source.parameters, to);
  } else if (kind == "WORKLOAD") {
    for (auto const& workload : source.workloads) to.add(workload, {});
  } else if (kind == "CONFIG") {
    for (auto const& preset : source.presets) to.add(preset, "preset");
    to.add_directive(":files .toml");
  } else if (kind == "DIR") {
    to.add_directive(":folders");
  } else if (kind.find('|') != kind.npos) {
    for (auto const& word : split(kind, "|")) to.add(word, {});
  } else if (kind.ends_with(".toml")) {
    to.add_directive(":files .toml");
  } else if (kind.ends_with(".h5")) {
    to.add_directive(":files .h5 .h5.partial");
  } else if (kind == "FILE") {
    to.add_directive(":files");
  }
}

OptionInfo const* find_option(CommandInfo const& command, std::string_view name) {
  auto const found = std::ranges::find(command.options, name, &OptionInfo::name);
  return found == command.options.end() ? nullptr : &*found;
}

bool takes_value(OptionInfo const* option) {
  return option != nullptr && !option->value.empty();
}

}  // namespace

std::string completions(CompletionSource const& source, std::vector<std::string> const& words) {
  Candidates to(words.empty() ? "" : words.back());
  if (words.size() < 2) {
    for (auto const& command : source.commands) to.add(command.name, command.text);
    for (auto const* flag : {"--help", "--version"}) to.add(flag, {});
    return to.take();
  }
  auto const command = std::ranges::find(source.commands, words[0], &CommandInfo::name);
  if (command == source.commands.end()) return {};
  std::size_t operands = 0;
  OptionInfo const* open = nullptr;  // the option that expects the next word
  std::size_t expected = 0;          // number of its words that are still to come
  for (std::size_t i = 1; i + 1 < words.size(); ++i) {
    if (open != nullptr) {
      if (--expected == 0) open = nullptr;
    } else if (words[i].starts_with("-")) {
      auto const* const option = find_option(*command, words[i]);
      if (!takes_value(option)) continue;
      open = option;
      expected = option->values;
    } else {
      ++operands;
    }
  }
  if (open != nullptr) {
    add_values(source, open->value, to);
    return to.take();
  }
  auto const& last = words.back();
  if (last.starts_with("-")) {
    auto const equals = last.find('=');
    if (equals == last.npos) {
      for (auto const& option : command->options) to.add(option.name, option.text);
      return to.take();
    }
    auto const* const option = find_option(*command, last.substr(0, equals));
    if (!takes_value(option)) return {};
    Candidates values(last.substr(equals + 1));
    values.put_before(last.substr(0, equals + 1));
    add_values(source, option->value, values);
    return values.take();
  }
  if (!command->operands.empty())
    add_values(source, command->operands[std::min(operands, command->operands.size() - 1)], to);
  return to.take();
}

}  // namespace farfault::cli
