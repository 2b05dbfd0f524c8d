// SPDX-License-Identifier: Apache-2.0
#include "farfault/cli/result_files.hpp"

#include <cstddef>
#include <nlohmann/json.hpp>
#include <ostream>
#include <vector>

#include "farfault/engine/error.hpp"
#include "farfault/results/reader.hpp"
#include "process/counted.hpp"

namespace farfault::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kSettingsShown = 20;

// "gpu.l2_tlb.entries (256, 1024), run.seed (1, 2)"
std::string settings_text(std::vector<results::SettingDifference> const& settings) {
  std::string text;
  for (std::size_t i = 0; i < settings.size() && i < kSettingsShown; ++i)
    text += (i == 0 ? "" : ", ") + settings[i].name + " (" + settings[i].a + ", " + settings[i].b + ")";
  if (settings.size() > kSettingsShown)
    text += " and " + counted(settings.size() - kSettingsShown, "more parameter");
  return text;
}

std::string line_of(Json const& json) {
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

Json json_of(results::Comparison const& comparison, std::vector<std::string> const& renamed) {
  auto settings = Json::array();
  for (auto const& s : comparison.settings)
    settings.push_back({{"name", s.name}, {"values", Json::array({s.a, s.b})}});
  auto difference = Json();
  if (auto const& d = comparison.difference) difference = {{"path", d->path}, {"text", d->text}};
  return {{"kind", "difference"},
          {"equal", !comparison.difference},
          {"difference", std::move(difference)},
          {"settings", std::move(settings)},
          {"renamed_inputs", renamed}};
}

}  // namespace

bool diff_results(std::string const& a, std::string const& b, bool json, std::ostream& out) {
  auto const comparison = results::diff(a, b);
  if (json) {
    bool const is_equal = !comparison.difference;
    auto const renamed = is_equal ? results::renamed_inputs(a, b) : std::vector<std::string>{};
    out << line_of(json_of(comparison, renamed)) << "\n";
    return is_equal;
  }
  auto const& difference = comparison.difference;
  if (!difference)
    out << "the results are equal";
  else if (difference->text.starts_with(difference->path))
    out << difference->text;
  else
    out << difference->path << ": " << difference->text;
  if (!comparison.settings.empty())
    out << "; the configurations differ in " << settings_text(comparison.settings);
  if (!difference) {
    auto const renamed = results::renamed_inputs(a, b);
    for (std::size_t i = 0; i < renamed.size(); ++i)
      out << (i == 0 ? "; identical input files have different names: " : ", ") << renamed[i];
  }
  out << "\n";
  return !difference;
}

void validate_result(std::string const& file, bool json, std::ostream& out) {
  auto const faults = results::validate(file);
  if (json) out << line_of({{"kind", "validation"}, {"valid", faults.empty()}, {"faults", faults}}) << "\n";
  if (faults.empty()) {
    if (!json) out << one_line(file) << ": valid result\n";
    return;
  }
  auto sentence = one_line(file) + ": " + faults[0];
  if (faults.size() > 1) sentence += " (and " + counted(faults.size() - 1, "more fault") + ")";
  throw UserError(sentence);
}

}  // namespace farfault::cli
