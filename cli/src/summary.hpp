// SPDX-License-Identifier: Apache-2.0
// Private: what a run came to, for /summary and for the person who started it.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "farfault/compute/dispatcher.hpp"
#include "farfault/engine/engine.hpp"
#include "farfault/protocols/applications.hpp"
#include "farfault/results/writer.hpp"
#include "sampler.hpp"

namespace farfault::cli {

// From an application's first launch, which is the end of time where there was none, to the end of its last
// kernel; where that has not ended, to the end of the run.
struct ApplicationSpan {
  Time start = Time::max();
  Time end{};
};

struct RunFacts {
  Applications const& applications;
  std::size_t instances;  // of each
  std::uint32_t gpus;
  std::vector<std::string> const& gpu_names;
  Clock clock;                         // of the GPUs
  std::vector<ApplicationSpan> spans;  // by application
  Time end;

  Time start() const {  // the first launch
    return std::ranges::min_element(spans, {}, &ApplicationSpan::start)->start;
  }
};

std::vector<results::SummaryRow> summary_rows(Sampler const& sampler, RunFacts const& facts);

// A screenful for a person: what ran, simulated time, IPC, hit rates, remote share.
std::string summary_text(Sampler const& sampler, RunFacts const& facts);

}  // namespace farfault::cli
