// SPDX-License-Identifier: Apache-2.0
// GMMU bypass on the paper's machine: statistics of its predictor.
#include <doctest/doctest.h>

#include "run_model.hpp"

namespace gmmu_bypass_test {

using namespace farfault;
using test::ModelRun;

TEST_CASE("GMMU bypass: if every page is a first touch, none is local and every prediction is remote") {
  ModelRun run(
      "include = [\"paper-gmmu-bypass\"]\nworkload.name = \"relu\"\nworkload.relu.size = \"4MiB\"\n"
      "gpu.router.policy = \"gmmu_bypass\"\ngpu.l2_tlb.entries = 4096\n");
  run.run();
  auto const gmmu = [&](char const* stat) { return run.total("gmmu", stat); };
  auto const router = [&](char const* stat) { return run.total("gpu.router", stat); };
  // The L2 TLB holds all pages. Each of the 1,024 pages is requested by all four GPUs, whose blocks
  // alternate, and mapped by the IOMMU: no walk of a GPU's own table can find one.
  CHECK(run.total("driver", "pages_mapped") == 1024);
  CHECK(gmmu("requests") >= 4 * 1024);
  CHECK(gmmu("walk_hits") == 0);
  CHECK(router("local_predictions") == 0);
  CHECK(router("undecided_requests") == 0);
  CHECK(router("correct_local_predictions") == 0);
  // Requests of the first epoch are walked for; all others are predicted.
  CHECK(gmmu("walks") > 0);
  CHECK(router("remote_predictions") == gmmu("requests") - gmmu("walks"));
  CHECK(router("correct_remote_predictions") == router("remote_predictions"));
}

}  // namespace gmmu_bypass_test
