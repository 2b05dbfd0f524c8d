// SPDX-License-Identifier: Apache-2.0
#include "statistics_remedy.hpp"

#include <fmt/format.h>

#include "farfault/engine/error.hpp"
#include "listing_layout.hpp"

namespace farfault::cli {
namespace {

std::string key_of(ParameterSections::Section const& section, Param const& p) {
  return section.name.empty() ? p.name : section.name + "." + p.name;
}

// A parameter, or a table on the way to one.
bool is_parameter(std::string const& word, ParameterSections const& sections) {
  for (auto const& section : sections.all())
    for (auto const& p : section.table.all())
      if (auto const key = key_of(section, p); key == word || key.starts_with(word + ".")) return true;
  return false;
}

// Results have the statistics of a policy below the key that selects it.
std::string path_of(std::string key, std::string const& statistic) {
  constexpr std::string_view kPolicy = ".policy";
  if (key.ends_with(kPolicy)) key.resize(key.size() - kPolicy.size());
  return "/timeseries/" + key + "/" + statistic;
}

struct OfPolicy {
  std::string path, key, value;
};

// The first statistic of a policy that is accepted by matches(path, text).
template <class Matches>
OfPolicy find_statistic(ParameterSections const& sections, Matches matches) {
  for (auto const& section : sections.all())
    for (auto const& p : section.table.all())
      for (auto const& choice : p.choices)
        for (auto const& [name, text] : choice.statistics) {
          auto const key = key_of(section, p);
          auto path = path_of(key, name);
          if (matches(path, text)) return {std::move(path), key, choice.name};
        }
  return {};
}

}  // namespace

std::string not_a_configuration(std::string const& operand, ParameterSections const& sections) {
  if (operand.empty()) return {};
  if (is_parameter(operand, sections))
    return fmt::format("'{0}' is a parameter, not a configuration; `farfault params {0}` describes it",
                       operand);
  auto const found = find_statistic(sections, [&](std::string const& path, std::string const&) {
    return path == operand || path.ends_with("/" + operand);
  });
  if (!found.key.empty())
    return fmt::format(
        "'{}' is a statistic of {} = \"{}\", not a configuration; use `farfault statistics CONFIG --set "
        "{}={}`",
        operand, found.key, found.value, found.key, found.value);
  if (!operand.starts_with("/timeseries/") && !operand.starts_with("/tables/")) return {};
  return fmt::format(
      "'{}' is a path in a result, not a configuration; use `farfault statistics CONFIG --search {}`",
      shown(operand), shown(operand.substr(operand.rfind('/') + 1)));
}

std::string not_a_statistic(std::vector<std::string> const& words, std::string const& config,
                            ParameterSections const& sections) {
  if (words.size() == 1 && is_parameter(words[0], sections))
    return fmt::format(
        "no statistic contains '{0}', which is a parameter; `farfault params {0}` describes it", words[0]);
  auto const found = find_statistic(sections, [&](std::string const& path, std::string const& text) {
    return has_words(path + "\n" + text, words);
  });
  if (found.key.empty()) return {};
  return fmt::format("{} is recorded only with {} = \"{}\", which {} does not select; add --set {}={}",
                     found.path, found.key, found.value, one_line(config), found.key, found.value);
}

}  // namespace farfault::cli
