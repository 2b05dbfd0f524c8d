// SPDX-License-Identifier: Apache-2.0
// Eviction in zero time bounds unobtrusive eviction: regular programs on the machine of batch-aware unified
// memory.
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "run_model.hpp"

namespace ideal_eviction_test {

using namespace farfault;
using test::ModelRun;

namespace {

struct Took {
  std::int64_t time;
  std::uint64_t batches, bytes;
};

Took took(std::string const& workload, std::string const& share, std::string const& page,
          std::string const& schedule) {
  auto const workload_name = workload.substr(0, workload.find('.'));
  ModelRun run("include = [\"paper-batch-aware\"]\nworkload.name = \"" + workload_name + "\"\nworkload." +
               workload + "\nmemory.gpu_share = " + share + "\nmemory.page_size = \"" + page +
               "\"\ndriver.batch.eviction_unit = \"" + page + "\"\ndriver.batch.eviction_schedule = \"" +
               schedule + "\"\n");
  run.run();
  Took all{picoseconds(run.kernel_time()), 0, 0};
  test::each<PagingDriver>(run.system(), [&](PagingDriver const& d) {
    all.batches += d.state().counts.batches;
    for (auto const& batch : d.state().records.batches()) all.bytes += batch.bytes_in;
  });
  return all;
}

}  // namespace

TEST_CASE(
    "ideal eviction is a bound of unobtrusive eviction in regular programs: never slower with the same "
    "batches and bytes, else by at most 1%") {
  int equal = 0;
  for (std::string const workload :
       {"vectoradd.elements = 262144", "relu.size = \"2MiB\"", "stream.bytes = \"4MiB\"",
        "stencil2d.rows = 256\nworkload.stencil2d.cols = 512", "sgemm.m = 256\nworkload.sgemm.n = 256"})
    for (std::string const share : {"0.5", "0.75"})
      for (std::string const page : {"4KiB", "64KiB"}) {
        auto const bound = took(workload, share, page, "ideal");
        auto const unobtrusive = took(workload, share, page, "unobtrusive");
        bool const same = bound.batches == unobtrusive.batches && bound.bytes == unobtrusive.bytes;
        equal += same ? 1 : 0;
        CAPTURE(workload);
        CAPTURE(share);
        CAPTURE(page);
        CAPTURE(bound.bytes);
        CAPTURE(unobtrusive.bytes);
        CHECK(bound.time <= unobtrusive.time + (same ? 0 : unobtrusive.time / 100));
        CHECK(unobtrusive.batches > 1);
        if (!same)
          MESSAGE(workload, ", ", share, ", ", page, ": bytes in, ideal to unobtrusive: ",
                  static_cast<double>(bound.bytes) / static_cast<double>(unobtrusive.bytes));
      }
  CHECK(equal >= 10);
}

}  // namespace ideal_eviction_test
