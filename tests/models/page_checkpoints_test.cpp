// SPDX-License-Identifier: Apache-2.0
// A run that is saved in the middle of a page's transition, and continued on other threads and partitions,
// ends in the state of the uninterrupted run: for each transition, at each step that waits.
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "farfault/workloads/allocations.hpp"
#include "farfault/workloads/copies.hpp"
#include "run_model.hpp"

namespace page_checkpoints_test {

using namespace farfault;
using test::each;
using test::ModelRun;

namespace {

using Point = std::pair<Transition, PageStep>;

std::string machine(std::string const& more) {
  return "machine.topology = \"generic\"\nmachine.generic.gpus = 2\ngpu.sms = 4\ngpu.l1_tlb.entries = 4\n"
         "gpu.l1_tlb.ways = 4\ngpu.l2_tlb.entries = 16\ngpu.l2_tlb.ways = 4\n" +
         more;
}
std::string const kTranspose =
    "workload.name = \"transpose\"\nworkload.transpose.width = 256\nworkload.transpose.height = 128\n";
std::string const kBfs = "workload.name = \"bfs\"\nworkload.bfs.rmat.scale = 9\n";
std::string batches(std::string const& eviction_unit) {
  return "memory.fault_path = \"gpu\"\ndriver.migrations = 64\ndriver.batch.time = \"2us\"\n"
         "driver.batch.block_time = \"1us\"\ndriver.batch.first_touch_time = \"2us\"\n"
         "memory.gpu_share = 0.5\ndriver.batch.eviction_unit = \"" +
         eviction_unit + "\"\n";
}
std::string const kBatches = batches("4KiB");
std::string const kFromCpu = "memory.placement = \"cpu\"\n";
std::string const kSoftwareCoherent = "gpu.l2_cache.partitions = 2\ngpu.l2_cache.miss_path = \"memory\"\n";

struct Story {
  std::string name;
  std::string toml;
  std::function<void(Workload&)> change = [](Workload&) {};
};

std::vector<Story> stories() {
  auto const programs = [](Workload& w) {
    workloads::add_copies(w);
    workloads::add_allocations(w);
  };
  auto const touched =
      "memory.placement = \"first_touch\"\nmemory.first_touch_by = \"driver\"\n"
      "memory.first_touch_copy = true\n";
  auto const moved = "memory.placement = \"interleave\"\nmemory.remote_touch = \"migrate\"\n";
  auto const copied =
      "memory.placement = \"interleave\"\nmemory.remote_touch = \"duplicate\"\nmemory.fault_path = \"gpu\"\n";
  return {
      {"first touches with contents", machine(kTranspose + touched)},
      {"moves", machine(kTranspose + kSoftwareCoherent + moved)},
      {"copies", machine(kBfs + copied)},
      {"batches of moves, replay by page",
       machine(kTranspose + kBatches + kFromCpu +
               "memory.remote_touch = \"migrate\"\ndriver.batch.replay = \"page\"\n")},
      {"batches of moves, caches flushed",
       machine(kTranspose + kBatches + kSoftwareCoherent + kFromCpu +
               "memory.remote_touch = \"migrate\"\ndriver.batch.replay = \"batch\"\n")},
      {"batches of first touches",
       machine(kTranspose + kBatches +
               "memory.placement = \"first_touch\"\nmemory.remote_touch = \"remote_access\"\n"
               "memory.first_touch_copy = true\ndriver.batch.replay = \"batch_flush\"\n")},
      {"batches of copies",
       machine(kBfs + kBatches + kFromCpu +
               "memory.remote_touch = \"duplicate\"\ndriver.batch.replay = \"batch\"\n")},
      {"batches that evict units of four pages",
       machine(kTranspose + batches("16KiB") + kSoftwareCoherent + kFromCpu +
               "memory.remote_touch = \"migrate\"\ndriver.batch.eviction_schedule = \"serialized\"\n"
               "driver.batch.replay = \"batch\"\n")},
      {"batches of copies that evict units of four pages",
       machine(kBfs + batches("16KiB") + kFromCpu +
               "memory.remote_touch = \"duplicate\"\ndriver.batch.eviction_schedule = \"serialized\"\n"
               "driver.batch.replay = \"batch\"\n")},
      {"programs", machine(kTranspose + kSoftwareCoherent + "memory.placement = \"interleave\"\n"), programs},
      {"compaction",
       "machine.topology = \"generic\"\nmachine.generic.gpus = 1\nmemory.page_size = \"64KiB\"\ngpu.sms = 4\n"
       "gpu.dram.capacity = \"32MiB\"\nworkload.name = \"transpose\"\nworkload.transpose.width = 1024\n"
       "workload.transpose.height = 1024\nmemory.placement = \"first_touch\"\nmemory.compaction = \"cac\"\n"
       "memory.frame_allocation = \"contiguity_conserving\"\nmemory.page_sizes = \"in_place_coalescer\"\n"
       "memory.fragmentation_index = 1\nmemory.fragmentation_occupancy = 0.25\n"},
      {"coalescing by moves",
       machine("memory.page_size = \"64KiB\"\ngpu.dram.capacity = \"32MiB\"\nworkload.name = \"transpose\"\n"
               "workload.transpose.width = 1024\nworkload.transpose.height = 512\n"
               "memory.placement = \"first_touch\"\nmemory.page_sizes = \"migrating_coalescer\"\n")},
  };
}

void see(System& system, std::vector<Point>& waiting) {
  waiting.clear();
  each<PagingDriver>(system, [&](PagingDriver const& d) {
    for (auto const& p : d.state().transitions.pages())
      if (p.in_use != 0 && p.awaited != 0) waiting.emplace_back(p.transition, p.current());
  });
}

// The state at the end of a run that continues from `saved`.
std::uint64_t end_of(Story const& story, std::vector<std::byte> const& saved, unsigned threads) {
  EngineOptions options;
  options.threads = threads;
  options.merge_lanes = threads == 1;
  ModelRun run(story.toml, story.change, options,
               threads == 1 ? topologies::Granularity::one : topologies::Granularity::split_gpu);
  run.engine().load({saved});
  run.run();
  return run.engine().state_digest();
}

}  // namespace

TEST_CASE("a checkpoint at any step of any transition is continued elsewhere with the same result") {
  using enum PageStep;
  using T = Transition;
  std::map<Point, std::string> seen;
  for (auto const& story : stories()) {
    CAPTURE(story.name);
    ModelRun run(story.toml, story.change);
    std::vector<std::pair<Point, std::vector<std::byte>>> saved;
    std::vector<Point> waiting;
    for (Time t{}; run.engine().run_until(t) != RunState::drained; t += Duration{2'000}) {
      see(run.system(), waiting);
      for (auto const& point : waiting)
        if (seen.emplace(point, story.name).second) saved.emplace_back(point, run.engine().save());
    }
    auto const expected = run.engine().state_digest();
    for (std::size_t i = 0; i < saved.size(); ++i) {
      auto const& [point, state] = saved[i];
      CAPTURE(row_of(point.first).name);
      CAPTURE(static_cast<int>(point.second));
      CHECK(end_of(story, state, i % 2 == 0 ? 2 : 1) == expected);
    }
  }
  std::vector<Point> const points{
      {T::first_touch, consent}, {T::first_touch, copy}, {T::first_touch, confirm},
      {T::move, invalidate},     {T::move, flush},       {T::move, consent},
      {T::move, copy},           {T::move, confirm},     {T::duplicate, invalidate},
      {T::duplicate, consent},   {T::duplicate, copy},   {T::duplicate, confirm},
      {T::copy_again, consent},  {T::copy_again, copy},  {T::copy_again, confirm},
      {T::collapse, invalidate}, {T::collapse, consent}, {T::collapse, copy},
      {T::collapse, confirm},    {T::evict, invalidate}, {T::evict, flush},
      {T::evict, consent},       {T::evict, copy},       {T::evict_copy, invalidate},
      {T::evict_copy, consent},  {T::allocate, confirm}, {T::free, invalidate},
      {T::free, flush},          {T::transfer, copy},    {T::relocate, invalidate},
      {T::relocate, copy},       {T::relocate, confirm}, {T::refill, copy}};
  for (auto const& point : points) {
    CAPTURE(row_of(point.first).name);
    CAPTURE(static_cast<int>(point.second));
    CHECK(seen.contains(point));
  }
  MESSAGE(seen.size() << " points");
}

}  // namespace page_checkpoints_test
