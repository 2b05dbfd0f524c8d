// SPDX-License-Identifier: Apache-2.0
// Private: writes the content of a trace as a file for Perfetto.
//
// Each device is a process, each component a track. The track of an SM has a slice for each access; the
// tracks of other components have a slice for each stage of an access that was spent there, named after the
// stage. Overlapping slices use further tracks of the same name; each slice takes the first free one. A flow
// links the slices of an access. The file is a function of the arguments alone.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "component_places.hpp"
#include "farfault/cli/trace_options.hpp"
#include "farfault/compute/access_trace.hpp"
#include "farfault/compute/kernel_watch.hpp"
#include "farfault/engine/system.hpp"
#include "farfault/protocols/applications.hpp"

namespace farfault::cli {

// Samples of a component's statistic.
struct CounterTrack {
  std::string component;
  std::string name;
  std::string unit;
  std::vector<std::pair<Time, std::uint64_t>> values;
};

struct TraceContent {
  std::vector<AccessTrace> accesses;  // in any order
  std::vector<KernelSpan> kernels;
  std::vector<CounterTrack> counters;
  std::uint64_t omitted = 0;  // accesses beyond the limit
  Time end{};                 // end of the run or of the shown time
};

// `shown`: by component, true if it has tracks.
void write_trace(std::ostream& out, TraceContent content, TraceOptions const& options, System const& system,
                 std::vector<bool> const& shown, Applications const& applications);

}  // namespace farfault::cli
