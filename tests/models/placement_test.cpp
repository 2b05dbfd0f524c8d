// Which GPU's memory each page of a buffer is placed in before the first kernel.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "run_model.hpp"

using namespace farfault;
using test::ModelRun;

namespace {

// By page of the buffer, the GPU; the buffer of `pages` pages is the only one.
std::vector<int> placed(std::string const& policy, int pages, std::string const& more = "") {
  ModelRun run(
      "include = [\"paper-gmmu-bypass\"]\nworkload.name = \"pointer_chase\"\ngpu.sms = 1\n"
      "workload.pointer_chase.stride = \"4096 B\"\nworkload.pointer_chase.hops = 1\n"
      "workload.pointer_chase.elements = " +
      std::to_string(pages) + "\nmemory.placement = \"" + policy + "\"\n" + more);
  std::vector<int> gpus;
  for (ComponentId id = 0; id < run.system().component_count(); ++id) {
    auto const* component = &run.system().component(id);
    if (auto const* iommu = dynamic_cast<Iommu const*>(component))
      iommu->state().table.each_page(
          [&](std::uint64_t, PhysAddr frame) { gpus.push_back(device_of(frame)); });
  }
  // Each GPU's own table has its pages and no others.
  std::size_t gpu = 0;
  for (ComponentId id = 0; id < run.system().component_count(); ++id)
    if (auto const* gmmu = dynamic_cast<Gmmu const*>(&run.system().component(id))) {
      CHECK(gmmu->state().table.mapped_pages() ==
            static_cast<std::uint64_t>(std::count(gpus.begin(), gpus.end(), static_cast<int>(gpu))));
      gmmu->state().table.each_page([&](std::uint64_t, PhysAddr frame) { CHECK(device_of(frame) == gpu); });
      ++gpu;
    }
  CHECK(gpu == 4);
  return gpus;
}

using Gpus = std::vector<int>;

}  // namespace

TEST_CASE("contiguous: pages that four GPUs do not divide are spread in runs that differ by one at most") {
  CHECK(placed("contiguous", 8) == Gpus{0, 0, 1, 1, 2, 2, 3, 3});
  CHECK(placed("contiguous", 9) == Gpus{0, 0, 0, 1, 1, 2, 2, 3, 3});
  CHECK(placed("contiguous", 10) == Gpus{0, 0, 0, 1, 1, 2, 2, 2, 3, 3});
  CHECK(placed("contiguous", 11) == Gpus{0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3});
  CHECK(placed("contiguous", 3) == Gpus{0, 1, 2});
  CHECK(placed("contiguous", 1) == Gpus{0});
}

TEST_CASE("interleave: pages go to the GPUs in turn, by page number") {
  CHECK(placed("interleave", 6) == Gpus{0, 1, 2, 3, 0, 1});
}

TEST_CASE("first_touch: no page is placed before it is touched") {
  CHECK(placed("first_touch", 6).empty());
}
