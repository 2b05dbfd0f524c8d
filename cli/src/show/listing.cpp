// SPDX-License-Identifier: Apache-2.0
#include "farfault/cli/listing.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "handbook.hpp"
#include "listing_layout.hpp"

namespace farfault::cli {
namespace {

std::string key_of(ParameterSections::Section const& section, Param const& p) {
  return section.name.empty() ? p.name : section.name + "." + p.name;
}

bool is_below(std::string const& key, std::string const& section) {
  return section.empty() || key == section ||
         (key.size() > section.size() && key[section.size()] == '.' &&
          key.compare(0, section.size(), section) == 0);
}

// The conditions under which it has an effect.
std::vector<std::string> conditions_of(ParameterSections::Section const& section, Param const& p) {
  std::vector<std::string> all;
  for (auto const& condition : p.only_when) all.push_back(condition.within(section.name).text());
  return all;
}

// The keys of the parameters that require a condition, by its text.
using Dependents = std::map<std::string, std::vector<std::string>>;

Dependents dependents_in(ParameterSections const& sections) {
  Dependents all;
  for (auto const& section : sections.all())
    for (auto const& p : section.table.all())
      for (auto const& condition : conditions_of(section, p)) all[condition].push_back(key_of(section, p));
  return all;
}

// The parameters of one value of a choice, such as the parameters of a policy.
std::vector<std::string> parameters_of(ParameterSections::Section const& section, Param const& p,
                                       Choice const& choice, Dependents const& dependents) {
  auto const found = dependents.find(sibling(p.name).is(choice.name).within(section.name).text());
  return found == dependents.end() ? std::vector<std::string>{} : found->second;
}

bool is_found(Param const& p, std::string const& key, std::vector<std::string> const& words) {
  auto all = key + "\n" + p.text + "\n" + p.range + "\n" + p.source;
  for (auto const& c : p.choices) all += "\n" + c.text;
  return has_words(all, words);
}

ListedItem item_of(ParameterSections::Section const& section, Param const& p, std::string const& key,
                   Dependents const& dependents) {
  ListedItem item{key, p.text, {}, {}};
  for (auto const& c : p.choices) item.alternatives.emplace_back(c.name, c.text);
  if (p.choices.empty()) item.properties.emplace_back("Unit", unit_of(p.kind));
  if (p.choices.empty() && !p.range.empty() && p.kind != ParamKind::flag)
    item.properties.emplace_back("Range", p.range);
  item.properties.emplace_back("Default", p.default_value.empty() ? "\"\"" : p.default_value);
  item.properties.emplace_back("Source", p.source);
  for (auto const& c : p.choices) {
    std::string all;
    for (auto const& name : parameters_of(section, p, c, dependents)) all += (all.empty() ? "" : ", ") + name;
    if (!all.empty()) item.properties.emplace_back("Parameters", c.name + ": " + all);
  }
  for (auto const& condition : conditions_of(section, p))
    item.properties.emplace_back("Only with", condition);
  item.properties.emplace_back("Page", parameter_page(key));
  return item;
}

using Json = nlohmann::ordered_json;

Json json_of(ParameterSections::Section const& section, Param const& p, std::string const& key,
             Dependents const& dependents) {
  Json object = {{"key", key},
                 {"unit", unit_of(p.kind)},
                 {"default", p.default_value},
                 {"range", p.range},
                 {"text", p.text},
                 {"source", p.source},
                 {"only_with", conditions_of(section, p)},
                 {"page", parameter_page(key)}};
  for (auto const& c : p.choices)
    object["choices"].push_back(
        {{"name", c.name}, {"text", c.text}, {"parameters", parameters_of(section, p, c, dependents)}});
  return object;
}

}  // namespace

void list_parameters(ParameterSections const& sections, ListingOptions const& options, std::ostream& out) {
  auto const words = options.search.empty() ? options.search : search_words(options.search);
  auto const dependents = dependents_in(sections);
  std::vector<std::string> tables;
  auto objects = Json::array();
  bool is_known = false;
  for (auto const& s : sections.all()) {
    bool titled = false;
    for (auto const& p : s.table.all()) {
      auto const key = key_of(s, p);
      // A user may name any table on the way to a parameter.
      for (auto dot = key.find('.'); dot != std::string::npos; dot = key.find('.', dot + 1))
        if (tables.empty() || tables.back() != key.substr(0, dot)) tables.push_back(key.substr(0, dot));
      if (!is_below(key, options.section)) continue;
      is_known = true;
      if (!is_found(p, key, words)) continue;
      objects.push_back(json_of(s, p, key, dependents));
      if (options.json) continue;
      if (!titled && objects.size() > 1) out << "\n";
      if (!titled)
        print_wrapped(out, (s.name.empty() ? "" : "[" + s.name + "] ") + s.text, 2, options.columns);
      titled = true;
      out << "\n";
      print_item(out, item_of(s, p, key, dependents), options.columns);
    }
  }
  if (!is_known) {
    auto const near = nearest_name(options.section, tables);
    throw UserError("unknown parameter or section '" + shown(options.section) + "'" +
                    (near.empty() ? "; " : "; did you mean '" + near + "'? ") +
                    "--search WORD searches keys and texts");
  }
  if (objects.empty()) refuse_search("parameter", words);
  if (options.json) out << Json{{"parameters", objects}} << "\n";
}

}  // namespace farfault::cli
