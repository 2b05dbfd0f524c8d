// GMMU bypass on the paper's machine: what its predictor counts.
#include <doctest/doctest.h>

#include "run_model.hpp"

using namespace farfault;
using test::ModelRun;

TEST_CASE("GMMU bypass: where every page is touched first, none is local and every prediction says so") {
  ModelRun run(
      "include = [\"paper-gmmu-bypass\"]\nworkload.name = \"relu\"\nworkload.relu.size = \"4MiB\"\n"
      "memory.placement = \"first_touch\"\ngpu.router.policy = \"gmmu_bypass\"\n");
  run.run();
  auto const gmmu = [&](char const* stat) { return run.total("gmmu", stat); };
  // 1,024 pages, each asked for once and mapped by the IOMMU: no walk of a GPU's own table can find one.
  CHECK(gmmu("requests") == 1024);
  CHECK(run.total("iommu", "page_faults") == 1024);
  CHECK(gmmu("walk_hits") == 0);
  CHECK(gmmu("local_predictions") == 0);
  CHECK(gmmu("undecided_requests") == 0);
  CHECK(gmmu("correct_local_predictions") == 0);
  CHECK(gmmu("remote_predictions") == 766);  // all after the first epoch
  CHECK(gmmu("correct_remote_predictions") == 766);
  CHECK(gmmu("walks") == 258);
}
