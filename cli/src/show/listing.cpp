// SPDX-License-Identifier: Apache-2.0
#include "farfault/cli/listing.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

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

std::string readable(Param const& p, std::string const& key) {
  auto const value = p.default_value.empty() ? std::string("\"\"") : p.default_value;
  auto text = "  " + key + " = " + value + "\n      " + p.text + "\n      " + std::string(unit_of(p.kind));
  if (!p.range.empty() && p.kind != ParamKind::flag) text += ", " + p.range;
  return text + "; default: " + p.source + "\n";
}

using Json = nlohmann::ordered_json;

Json json_of(Param const& p, std::string const& key) {
  return {{"key", key},       {"unit", unit_of(p.kind)}, {"default", p.default_value},
          {"range", p.range}, {"text", p.text},          {"source", p.source}};
}

}  // namespace

void list_parameters(ParameterSections const& sections, std::string const& section, bool json,
                     std::ostream& out) {
  std::vector<std::string> tables;
  auto objects = Json::array();
  std::string text;
  for (auto const& s : sections.all()) {
    bool titled = false;
    for (auto const& p : s.table.all()) {
      auto const key = key_of(s, p);
      // A user may name any table on the way to a parameter.
      for (auto dot = key.find('.'); dot != std::string::npos; dot = key.find('.', dot + 1))
        if (tables.empty() || tables.back() != key.substr(0, dot)) tables.push_back(key.substr(0, dot));
      if (!is_below(key, section)) continue;
      if (!titled)
        text += (text.empty() ? "" : "\n") + (s.name.empty() ? "" : "[" + s.name + "] ") + s.text + "\n";
      titled = true;
      text += readable(p, key);
      objects.push_back(json_of(p, key));
    }
  }
  if (objects.empty()) {
    auto const near = nearest_name(section, tables);
    throw UserError("unknown parameter or section '" + shown(section) + "'" +
                    (near.empty() ? "" : "; did you mean '" + near + "'?"));
  }
  if (json)
    out << Json{{"parameters", objects}} << "\n";
  else
    out << text;
}

void list_workloads(std::vector<workloads::WorkloadInfo> const& workloads, bool json, std::ostream& out) {
  if (json) {
    auto objects = Json::array();
    for (auto const& w : workloads) objects.push_back({{"name", w.name}, {"text", w.text}});
    out << Json{{"workloads", objects}} << "\n";
    return;
  }
  std::size_t width = 0;
  for (auto const& w : workloads) width = std::max(width, w.name.size());
  for (auto const& w : workloads)
    out << "  " << w.name << std::string(width - w.name.size() + 2, ' ') << w.text << "\n";
}

}  // namespace farfault::cli
