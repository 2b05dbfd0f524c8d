// SPDX-License-Identifier: Apache-2.0
// Private: which parameters act directly on which cause of a change.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "farfault/analysis/explain_pair.hpp"
#include "kernel_model.hpp"
#include "run_figures.hpp"

namespace farfault::analysis {

// First the settings that both results have; each part by name.
std::vector<PairSetting> pair_settings(std::string const& a, std::string const& b);

// Sets PairSetting::unreached: limits that no access reached in either run. They have no effect.
void mark_unreached(std::vector<PairSetting>& settings, RunFigures const& a, RunFigures const& b);

// Indices of the differing settings that act on the cause; all of them if only one choice differs. A setting
// that follows from another one acts only if no choice does, and an unreached limit only if nothing else
// differs.
std::vector<std::size_t> settings_of_cause(std::string_view cause, std::vector<PairSetting> const& settings);

DifferingKinds differing_kinds(std::vector<PairSetting> const& settings);

// Sets Cause::settings, and groups the causes by them. Modelled causes without a setting are consequences: of
// the settings with at least 80% of the modelled time that settings act on directly; if no setting acts on
// any, of all that act on no measured cause.
std::vector<CauseGroup> group_causes(std::vector<Cause>& causes, std::vector<PairSetting> const& settings);

// Prefixes of parameters that act on any cause.
std::vector<std::string_view> acting_prefixes();

}  // namespace farfault::analysis
