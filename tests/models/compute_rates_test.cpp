// SPDX-License-Identifier: Apache-2.0
// Computation rates and latencies that would cause a division by zero are refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "run_model.hpp"

namespace compute_rates_test {

using namespace farfault;
using test::ModelRun;

TEST_CASE("a rate of zero is rejected with one sentence that names the key and its range") {
  for (std::string const key :
       {"gpu.sm.simds", "gpu.sm.simd_lanes", "gpu.sm.special_lanes", "gpu.sm.scalar_rate",
        "gpu.sm.shared_bytes_per_cycle", "gpu.sm.dependent_latency", "gpu.scalar_cache.sms",
        "gpu.scalar_cache.latency", "gpu.scalar_cache.mshrs", "gpu.scalar_cache.requests"}) {
    CAPTURE(key);
    std::string error;
    try {
      ModelRun run("include = [\"paper-gmmu-bypass\"]\nworkload.name = \"relu\"\n" + key + " = 0\n");
    } catch (UserError const& e) {
      error = e.what();
    }
    CHECK(error.find(key) != std::string::npos);
    CHECK(error.find("'0' is outside 1 to ") != std::string::npos);
    CHECK(std::count(error.begin(), error.end(), '\n') == 0);
  }
}

TEST_CASE("a scalar cache with a fractional number of sets is rejected") {
  CHECK_THROWS_WITH_AS(ModelRun("include = [\"paper-gmmu-bypass\"]\nworkload.name = \"relu\"\n"
                                "gpu.scalar_cache.size = \"1000 B\"\n"),
                       doctest::Contains("gpu.scalar_cache.size"), UserError);
}

}  // namespace compute_rates_test
