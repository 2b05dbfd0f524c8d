// SPDX-License-Identifier: Apache-2.0
#include "farfault/cli/result_files.hpp"

#include <cstddef>
#include <ostream>
#include <vector>

#include "farfault/engine/error.hpp"
#include "farfault/results/reader.hpp"

namespace farfault::cli {

namespace {

constexpr std::size_t kSettingsShown = 20;

// "gpu.l2_tlb.entries (256, 1024), run.seed (1, 2)"
std::string settings_text(std::vector<results::SettingDifference> const& settings) {
  std::string text;
  for (std::size_t i = 0; i < settings.size() && i < kSettingsShown; ++i)
    text += (i == 0 ? "" : ", ") + settings[i].name + " (" + settings[i].a + ", " + settings[i].b + ")";
  if (settings.size() > kSettingsShown)
    text += " and " + std::to_string(settings.size() - kSettingsShown) + " more parameters";
  return text;
}

}  // namespace

bool diff_results(std::string const& a, std::string const& b, std::ostream& out) {
  auto const comparison = results::diff(a, b);
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

void validate_result(std::string const& file, std::ostream& out) {
  auto const faults = results::validate(file);
  if (faults.empty()) {
    out << one_line(file) << ": valid result\n";
    return;
  }
  auto sentence = one_line(file) + ": " + faults[0];
  if (faults.size() > 1) sentence += " (and " + std::to_string(faults.size() - 1) + " more faults)";
  throw UserError(sentence);
}

}  // namespace farfault::cli
