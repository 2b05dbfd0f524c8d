// SPDX-License-Identifier: Apache-2.0
// The chosen replacement policies, TLB organizations and page-walk caches reach the arrays of a machine.
#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "run_model.hpp"

namespace replacement_test {

using namespace farfault;
using test::ModelRun;

namespace {

// Every kind of cache and TLB, each small enough for replacements.
constexpr char const* kSmall =
    "machine.topology = \"two-gpu\"\ngpu.sms = 2\nworkload.name = \"transpose\"\n"
    "workload.transpose.width = 256\nworkload.transpose.height = 128\nmemory.page_size = \"4KiB\"\n"
    "gpu.l1_tlb.entries = 4\ngpu.l1_tlb.ways = 4\ngpu.l2_tlb.entries = 8\ngpu.l2_tlb.ways = 4\n"
    "gpu.l1_cache.size = \"4KiB\"\ngpu.l2_cache.size = \"64KiB\"\ngpu.memory_cache.size = \"128KiB\"\n"
    "gpu.gmmu.walk_cache = 4\niommu.walk_cache = 4\niommu.tlb_entries = 8\niommu.tlb_ways = 8\n"
    "cpu.llc.size = \"16KiB\"\n";

struct Choice {
  char const* key;
  char const* parameters;  // of `random`
};
constexpr Choice kChoices[] = {
    {"gpu.l1_tlb.replacement", "gpu.l1_tlb.random"},
    {"gpu.l2_tlb.replacement", "gpu.l2_tlb.random"},
    {"gpu.l1_cache.replacement", "gpu.l1_cache.random"},
    {"gpu.scalar_cache.replacement", "gpu.scalar_cache.random"},
    {"gpu.scalar_cache.tlb_replacement", "gpu.scalar_cache.tlb_random"},
    {"gpu.l2_cache.replacement", "gpu.l2_cache.random"},
    {"gpu.memory_cache.replacement", "gpu.memory_cache.random"},
    {"gpu.gmmu.walk_cache_replacement", "gpu.gmmu.walk_cache_random"},
    {"iommu.tlb_replacement", "iommu.tlb_random"},
    {"iommu.walk_cache_replacement", "iommu.walk_cache_random"},
    {"cpu.llc.replacement", "cpu.llc.random"},
};

std::string all_of(std::string const& replacement) {
  std::string toml = kSmall;
  for (auto const& choice : kChoices) toml += std::string(choice.key) + " = \"" + replacement + "\"\n";
  return toml;
}

}  // namespace

TEST_CASE("each replacement policy is applied to its arrays, with its own parameters") {
  for (auto const& choice : kChoices) {
    CAPTURE(choice.key);
    auto const digest = [&](std::string const& seed) {
      ModelRun run(std::string(kSmall) + choice.key + " = \"random\"\n" + choice.parameters +
                   ".seed = " + seed + "\n");
      return run.engine().state_digest();
    };
    CHECK(digest("1") == digest("1"));
    CHECK(digest("1") != digest("2"));
  }
}

TEST_CASE("the replacement policy changes a run, and the partitioning of the model does not") {
  // A graph's accesses: a transpose reuses data in the order of first use.
  auto const irregular = [](char const* replacement) {
    auto toml = all_of(replacement);
    std::string const name = "\"transpose\"";
    toml.replace(toml.find(name), name.size(), "\"pagerank\"");
    std::string const size = "workload.transpose.width = 256\nworkload.transpose.height = 128\n";
    return toml.replace(toml.find(size), size.size(),
                        "workload.pagerank.rmat.scale = 10\nworkload.pagerank.iterations = 1\n");
  };
  ModelRun lru(irregular("lru"));
  ModelRun fifo(irregular("fifo"));
  ModelRun random(irregular("random"));
  auto const misses = [](ModelRun& run) {
    run.run();
    return std::vector<std::uint64_t>{run.total("sm", "l1_tlb_misses"), run.total("sm", "l1_misses"),
                                      run.total("l2_tlb", "misses"), run.total("l2_slice", "misses")};
  };
  auto const of_lru = misses(lru);
  CHECK(misses(fifo) != of_lru);
  CHECK(misses(random) != of_lru);
  EngineOptions two;
  two.threads = 2;
  ModelRun parted(irregular("random"), two, topologies::Granularity::split_gpu);
  parted.run();
  CHECK(parted.engine().state_digest() == random.engine().state_digest());
  CHECK(parted.kernel_time() == random.kernel_time());
}

TEST_CASE("the statistics of a cache's or TLB's policy are stored under the key of the choice") {
  ModelRun run(kSmall);
  std::set<std::string> kinds;
  for (ComponentId id = 0; id < run.system().component_count(); ++id)
    for (auto const& group : run.system().component(id).stat_groups()) kinds.insert(group.kind);
  for (auto const& choice : kChoices) CHECK(kinds.count(choice.key) == 1);
  for (auto const* key :
       {"gpu.l1_tlb.organization", "gpu.l2_tlb.organization", "gpu.scalar_cache.tlb_organization",
        "iommu.tlb_organization", "gpu.gmmu.walk_cache_organization", "iommu.walk_cache_organization"})
    CHECK(kinds.count(key) == 1);
}

}  // namespace replacement_test
