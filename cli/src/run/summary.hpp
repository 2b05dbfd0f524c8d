// SPDX-License-Identifier: Apache-2.0
// Private: key figures of a run, for /summary and for the user.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "farfault/compute/dispatcher.hpp"
#include "farfault/engine/engine.hpp"
#include "farfault/protocols/applications.hpp"
#include "farfault/results/writer.hpp"
#include "model/sampler.hpp"

namespace farfault::cli {

// From an application's first launch (end of time if it was never launched) to the end of its last kernel, or
// to the end of the run if that kernel has not ended.
struct ApplicationSpan {
  Time start = Time::max();
  Time end{};
  std::uint64_t kernels_started = 0;  // by the end of the run
};

struct RunFacts {
  Applications const& applications;
  std::size_t instances;  // of each application
  std::uint32_t gpus;
  std::vector<std::string> const& gpu_names;
  Clock clock;                         // of the GPUs
  std::vector<ApplicationSpan> spans;  // by application
  Time end;

  Time start() const {  // the first launch
    return std::ranges::min_element(spans, {}, &ApplicationSpan::start)->start;
  }
  std::uint64_t kernels_started() const {
    std::uint64_t sum = 0;
    for (auto const& span : spans) sum += span.kernels_started;
    return sum;
  }
};

std::vector<results::SummaryRow> summary_rows(Sampler const& sampler, RunFacts const& facts);

// About a screenful: applications, simulated time, IPC, hit rates, remote share.
std::string summary_text(Sampler const& sampler, RunFacts const& facts);

}  // namespace farfault::cli
