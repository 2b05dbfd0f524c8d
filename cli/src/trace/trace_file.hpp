// SPDX-License-Identifier: Apache-2.0
// Private: what a trace shows, as a file for Perfetto.
//
// A process for each device, a track for each component: a slice for the life of each access on that of its
// SM, and one for each stretch of it on that of the component where it was spent, named by its stage. Slices
// that overlap stand on further tracks of the same name, the earlier one on the first that is free. A flow
// links the slices of an access. The file is a function of what is given here alone.
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

// A statistic of a component, as it was at some times.
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
  std::uint64_t left_out = 0;  // accesses beyond the limit
  Time end{};                  // of the run, or of what is shown
};

// `shown`: by component, whether it has tracks.
void write_trace(std::ostream& out, TraceContent content, TraceOptions const& options, System const& system,
                 std::vector<bool> const& shown, Applications const& applications);

}  // namespace farfault::cli
