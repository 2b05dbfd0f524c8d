// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "farfault/cli/listing.hpp"

namespace farfault::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kApplication = "application", kWorkload = "workload.";

// The notation of parse_duration() and others (engine/units.hpp); a test compares the units.
std::string_view units_of(ParamKind kind) {
  switch (kind) {
    case ParamKind::duration:
      return "ps|ns|us|ms|s|\u00b5s";
    case ParamKind::bytes:
      return "B|KiB|kB|MiB|MB|GiB|GB|TiB|TB";
    case ParamKind::bandwidth:
      return "B/s|KiB/s|kB/s|MiB/s|MB/s|GiB/s|GB/s|TiB/s|TB/s|bit/s|kbit/s|Mbit/s|Gbit/s|Tbit/s";
    case ParamKind::frequency:
      return "Hz|kHz|MHz|GHz|THz";
    default:
      return {};
  }
}

Json table(std::string const& text) {
  Json object = {{"type", "object"}};
  if (!text.empty()) object["description"] = text;
  object["properties"] = Json::object();
  object["additionalProperties"] = false;
  return object;
}

// The schema of the key, below the schema of a table; tables on the way are created.
Json& at_key(Json& root, std::string_view key) {
  auto* place = &root;
  while (!key.empty()) {
    auto const dot = std::min(key.find('.'), key.size());
    if (place->is_null()) *place = table({});
    place = &(*place)["properties"][std::string(key.substr(0, dot))];
    key.remove_prefix(std::min(dot + 1, key.size()));
  }
  return *place;
}

void offer(Json& value, std::vector<Choice> const& names) {
  auto& list = value["enum"] = Json::array();
  auto texts = Json::array();
  for (auto const& choice : names) {
    list.push_back(choice.name);
    texts.push_back(choice.text);
  }
  value["x-taplo"]["docs"]["enumValues"] = std::move(texts);
}

void limit(Json& value, std::string const& range) {
  constexpr std::string_view kTo = " to ";
  auto const to = range.find(kTo);
  value["minimum"] = Json::parse(range.substr(0, to));
  value["maximum"] = Json::parse(range.substr(to + kTo.size()));
}

Json value_of(Param const& p) {
  auto text = p.text + "\n\n";
  if (p.choices.empty()) text += "Unit: " + std::string(unit_of(p.kind)) + ". ";
  if (p.range.find(" to ") != p.range.npos) text += "Range: " + p.range + ". ";
  Json value = {{"description", text + "Source of the default: " + p.source}, {"type", "string"}};
  if (!p.default_value.empty()) value["default"] = p.default_value;
  switch (p.kind) {
    case ParamKind::count:
    case ParamKind::number:
      value["type"] = p.kind == ParamKind::count ? "integer" : "number";
      value["default"] = Json::parse(p.default_value);
      limit(value, p.range);
      break;
    case ParamKind::flag:
      value["type"] = "boolean";
      value["default"] = Json::parse(p.default_value);
      break;
    case ParamKind::count_or_text:
      value["type"] = {"integer", "string"};
      value["minimum"] = 0;
      break;
    case ParamKind::choice:
      offer(value, p.choices);
      break;
    case ParamKind::duration:
    case ParamKind::bytes:
    case ParamKind::bandwidth:
    case ParamKind::frequency:
      value["pattern"] = "^[ \\t]*[0-9]+(\\.[0-9]+)?[ \\t]*(" + std::string(units_of(p.kind)) + ")[ \\t]*$";
      break;
    case ParamKind::text:
    case ParamKind::file:
      break;
  }
  return value;
}

void add_parameters(Json& to, ParameterSections::Section const& section) {
  for (auto const& p : section.table.all()) {
    auto& value = at_key(to, p.name) = value_of(p);
    auto text = value["description"].get<std::string>();
    for (auto const& condition : p.only_when) text += ". Only with " + condition.within(section.name).text();
    value["description"] = std::move(text);
  }
}

Json list_of_includes(std::vector<std::string> const& presets) {
  Json name = {{"type", "string"}};
  return {{"description", "Presets and files that are read first; this file overrides their values"},
          {"type", "array"},
          {"items", {{"anyOf", {{{"enum", presets}}, name}}}}};
}

}  // namespace

void print_schema(ParameterSections const& sections, std::vector<std::string> const& presets,
                  std::ostream& out) {
  auto root = table("Configuration of a run of Farfault " FARFAULT_VERSION);
  root["properties"]["include"] = list_of_includes(presets);
  std::vector<Choice> workloads;
  auto parameters_of_workloads = Json::object(), definitions = Json::object();
  for (auto const& s : sections.all()) {
    if (!s.name.starts_with(kWorkload)) continue;
    workloads.push_back({s.name.substr(kWorkload.size()), s.text});
    auto& definition = definitions[s.name] = table(s.text);
    add_parameters(definition, s);
    parameters_of_workloads[workloads.back().name] = {{"$ref", "#/definitions/" + s.name}};
  }
  // [workload] and each application select a workload by name, and hold its parameters.
  auto const add_workloads = [&](Json& to, std::string const& parameter) {
    offer(to["properties"][parameter], workloads);
    to["properties"].update(parameters_of_workloads);
  };
  for (auto const& s : sections.all()) {
    if (s.name.starts_with(kWorkload)) continue;
    auto& to = s.most_tables != 0 ? definitions[s.name] : at_key(root, s.name);
    if (to.is_null()) to = table({});
    if (!s.text.empty()) to["description"] = s.text;
    add_parameters(to, s);
    if (s.name == "workload") add_workloads(to, "name");
    if (s.name == kApplication) add_workloads(to, "workload");
  }
  // An array; or tables by name, in a file that includes the array and sets some of its values.
  for (auto const& s : sections.all()) {
    if (s.most_tables == 0) continue;
    Json const one = {{"$ref", "#/definitions/" + s.name}};
    at_key(root, s.name) = {{"type", {"array", "object"}},
                            {"items", one},
                            {"minItems", 1},
                            {"maxItems", s.most_tables},
                            {"additionalProperties", one}};
  }
  Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"}};
  schema.update(root);
  schema["definitions"] = std::move(definitions);
  out << schema.dump(1) << "\n";
}

}  // namespace farfault::cli
