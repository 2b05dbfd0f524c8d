// SPDX-License-Identifier: Apache-2.0
// Private: data rates of DRAM, L2 caches and links, from the file of a run.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "farfault/analysis/explain.hpp"
#include "farfault/results/reading/guard.hpp"
#include "result_file.hpp"

namespace farfault::analysis {

// Without resources that transferred nothing, and without a known peak.
std::vector<Throughput> read_throughputs(ObjectId file, std::uint64_t end);

// From the process that reads the file.
void put_throughputs(Pack& pack, std::vector<Throughput> const& all);
std::vector<Throughput> take_throughputs(Pack& pack);

nlohmann::ordered_json json_of(std::vector<Throughput> const& all);

}  // namespace farfault::analysis
