// SPDX-License-Identifier: Apache-2.0
// The SM statistics that are parts of a whole, and their display names. The names are in
// hdf5_schemas/python/farfault/palette.json, which the Python package and the reports read too.
#pragma once

#include <iterator>
#include <span>

namespace farfault::analysis {

struct Named {
  char const* name;
  char const* what;
};

// Sum: sm_time.
inline constexpr Named kSms[] = {
#include "sm_activities.inc"  // generated (palette.cmake)
};

// Sum: sm_access_time.
inline constexpr Named kAccesses[] = {
#include "access_stages.inc"  // generated (palette.cmake)
};
// The parts of kAccesses that are counted during the run.
inline constexpr std::span kStages = std::span(kAccesses).first<std::size(kAccesses) - 1>();

}  // namespace farfault::analysis
