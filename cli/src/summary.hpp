// Private: what a run came to, for /summary and for the person who started it.
#pragma once

#include <string>
#include <vector>

#include "farfault/compute/dispatcher.hpp"
#include "farfault/engine/engine.hpp"
#include "farfault/protocols/applications.hpp"
#include "farfault/results/writer.hpp"
#include "sampler.hpp"

namespace farfault::cli {

struct RunFacts {
  Applications const& applications;
  std::size_t instances;  // of each
  std::uint32_t gpus;
  Clock clock;  // of the GPUs
  Time start;   // the first launch
  Time end;
};

std::vector<results::SummaryRow> summary_rows(Sampler const& sampler, RunFacts const& facts);

// A screenful for a person: what ran, simulated time, IPC, hit rates, remote share.
std::string summary_text(Sampler const& sampler, RunFacts const& facts);

}  // namespace farfault::cli
