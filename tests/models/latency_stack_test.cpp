// SPDX-License-Identifier: Apache-2.0
// The latency stack and the SMs' activity on whole machines: both add up under every mechanism.
#include <doctest/doctest.h>

#include <numeric>
#include <string>

#include "run_model.hpp"

namespace latency_stack_test {

using namespace farfault;
using test::each;
using test::ModelRun;
using test::OneMore;

namespace {

std::string transpose(int gpus, std::string const& more) {
  return "machine.topology = \"generic\"\nmachine.generic.gpus = " + std::to_string(gpus) +
         "\ngpu.sms = 4\nworkload.name = \"transpose\"\nworkload.transpose.width = 128\n"
         "workload.transpose.height = 128\n" +
         more;
}

std::string bfs(int gpus, std::string const& more) {
  return "machine.topology = \"generic\"\nmachine.generic.gpus = " + std::to_string(gpus) +
         "\ngpu.sms = 4\nworkload.name = \"bfs\"\nworkload.bfs.rmat.scale = 9\n" + more;
}

struct Totals {
  std::uint64_t transactions = 0;
  std::uint64_t access_time = 0;
  AccessStages stages;
};

// Checks exact sums at a time before the end. Returns the access time of outstanding accesses.
std::uint64_t check_at(ModelRun& run, Time at) {
  run.engine().run_until(at);
  auto const now = count_of(at);
  std::uint64_t outstanding = 0;
  for (ComponentId id = 0; id < run.system().component_count(); ++id) run.system().component(id).settle(at);
  each<Sm>(run.system(), [&](Sm const& sm) {
    auto const& s = sm.state();
    auto const& did = s.times.activity.all();
    CHECK(std::accumulate(did.begin(), did.end(), std::uint64_t{0}) == now);
    std::uint64_t resident = 0;
    for (std::uint32_t stream = 0; stream < s.stats.size(); ++stream) {
      auto const& counts = s.stats[stream];
      CHECK(counts.whole_access_time() >= counts.stages.sum());
      // A transaction may count a stage some cycles before the stage ends.
      CHECK(counts.stages.sum() <= counts.access_time + 50'000 * s.times.outstanding[stream].number);
      outstanding += counts.whole_access_time() - counts.stages.sum();
      resident += std::accumulate(counts.resident.begin(), counts.resident.end(), std::uint64_t{0});
      for (std::size_t what = 0; s.stats.size() == 1 && what < did.size(); ++what)
        if (what != static_cast<std::size_t>(SmActivity::idle)) CHECK(counts.resident[what] == did[what]);
    }
    CHECK(resident >= now - s.times.activity.in(SmActivity::idle));
  });
  return outstanding;
}

Totals check_run(ModelRun& run) {
  run.engine().run_until(Time::max());
  auto const end = count_of(run.engine().last_event());
  Totals all;
  std::uint64_t dram = 0, all_did = 0;
  each<Sm>(run.system(), [&](Sm const& sm) {
    auto const& s = sm.state();
    for (std::uint32_t stream = 0; stream < s.stats.size(); ++stream) {
      auto const& counts = s.stats[stream];
      CHECK(counts.access_time == counts.stages.sum());
      CHECK(s.times.outstanding[stream].number == 0);
      all.transactions += counts.transactions;
      all.access_time += counts.access_time;
      all.stages.links += counts.stages.links;
      all.stages.fault += counts.stages.fault;
      all.stages.walk += counts.stages.walk;
      all.stages.iommu += counts.stages.iommu;
      all.stages.remote_memory += counts.stages.remote_memory;
      dram += counts.stages.dram;
    }
    std::uint64_t did = 0;
    for (auto const what : {SmActivity::active, SmActivity::memory_stall, SmActivity::fault_stall,
                            SmActivity::load_store_stall, SmActivity::scalar_stall, SmActivity::barrier_stall,
                            SmActivity::stopped, SmActivity::idle, SmActivity::fetch_stall})
      did += s.times.activity.in(what);
    CHECK(did <= end);  // up to its last event
    all_did += did - s.times.activity.in(SmActivity::idle);
  });
  CHECK(all_did > 0);
  all.stages.dram = dram;
  CHECK(all.transactions > 0);
  return all;
}

}  // namespace

TEST_CASE("latency stack: at any time, SM activity covers all time, and outstanding accesses count") {
  auto const text = transpose(2, "memory.placement = \"interleave\"\n");
  auto const end = [&] {
    ModelRun run(text);
    return run.run().engine().last_event();
  }();
  ModelRun run(text);
  std::uint64_t most = 0;
  for (int i = 1; i <= 16; ++i) most = std::max(most, check_at(run, Time{end.time_since_epoch() * i / 16}));
  CHECK(most > 0);
  CHECK(check_at(run, end + Duration{1}) == 0);
}

TEST_CASE("latency stack: a run has the same counts at its end with and without settling in between") {
  auto const text = bfs(2, "memory.placement = \"interleave\"\n");
  ModelRun plain(text), settled(text);
  plain.run();
  auto const end = plain.engine().last_event();
  for (int i = 1; i <= 200; ++i) check_at(settled, Time{end.time_since_epoch() * i / 200});
  check_at(plain, end + Duration{1});
  check_at(settled, end + Duration{1});
  for (auto const* stat : {"access_time", "active_time", "memory_stall_time", "resident_time",
                           "resident_active_time", "time_in_links", "l1_mshr_wait_time"})
    CHECK(plain.total("sm", stat) == settled.total("sm", stat));
  for (ComponentId id = 0; id < plain.system().component_count(); ++id) {
    Hasher a, b;
    plain.system().component(id).archive(a);
    settled.system().component(id).archive(b);
    CHECK(a.value() == b.value());
  }
}

TEST_CASE("latency stack: concurrent kernels on an SM have separate parts, and each adds up") {
  OneMore other{"relu", "size = \"64KiB\"\n"};
  ModelRun run(transpose(1, ""), {}, {other});
  run.run();
  auto const& host = run.assembly().host();
  std::uint64_t resident = 0;
  for (auto const& r : host.state().records) {
    auto const sum = std::accumulate(r.counts.resident.begin(), r.counts.resident.end(), std::uint64_t{0});
    CHECK(sum > 0);
    CHECK(sum <= 4 * count_of(Time{r.left_gpus - r.reached_gpus}));
    resident += sum;
  }
  CHECK(run.total("sm", "resident_time") == resident);
  std::uint64_t both = 0;
  each<Sm>(run.system(), [&](Sm const& sm) {
    auto const& s = sm.state();
    auto const of = [&](std::uint32_t stream) {
      auto const& r = s.stats[stream].resident;
      return std::accumulate(r.begin(), r.end(), std::uint64_t{0});
    };
    both +=
        of(0) + of(1) > count_of(run.engine().last_event()) - s.times.activity.in(SmActivity::idle) ? 1 : 0;
  });
  CHECK(both > 0);  // SMs that ran both at the same time
}

TEST_CASE("latency stack: it adds up on one GPU, for regular and irregular accesses") {
  for (auto const& text : {transpose(1, ""), bfs(1, ""), transpose(1, "gpu.l2_cache.size = \"64KiB\"\n")}) {
    CAPTURE(text);
    ModelRun run(text);
    auto const all = check_run(run);
    CHECK(all.stages.links == 0);
    CHECK(all.stages.walk > 0);
    CHECK(all.stages.dram > 0);
  }
}

TEST_CASE("latency stack: it adds up with pages on other GPUs, including the time of remote accesses") {
  for (auto const& text :
       {transpose(4, "memory.placement = \"interleave\"\n"), bfs(2, "memory.placement = \"interleave\"\n"),
        transpose(2, "memory.placement = \"cpu\"\nmemory.remote_touch = \"remote_access\"\n")}) {
    CAPTURE(text);
    ModelRun run(text);
    auto const all = check_run(run);
    CHECK(all.stages.links > 0);
    CHECK(all.stages.iommu > 0);
    CHECK(all.stages.remote_memory > 0);
  }
}

TEST_CASE("stalls for room: their time is counted, and none remains at the end of a run") {
  auto const ends = [](ModelRun& run, auto&& times) {
    run.run();
    std::uint64_t all = 0;
    auto const end = count_of(run.engine().last_event());
    times(run, [&](PartTime const& t) {
      CHECK_FALSE(t.is_on());
      CHECK(t.ps() < end);
      all += t.ps();
    });
    CHECK(all > 0);
  };
  ModelRun tlb(transpose(1, "gpu.l2_tlb.mshrs = 1\n"));
  ends(tlb, [](ModelRun& run, auto&& look) {
    each<L2Tlb>(run.system(), [&](L2Tlb const& c) { look(c.state().mshr_stall); });
  });
  ModelRun slices(transpose(1, "gpu.l2_cache.mshrs = 1\n"));
  ends(slices, [](ModelRun& run, auto&& look) {
    each<L2Slice>(run.system(), [&](L2Slice const& c) { look(c.state().stall); });
  });
  std::string const touches = "memory.placement = \"first_touch\"\nmemory.first_touch_by = \"driver\"\n";
  ModelRun gmmu(transpose(1, touches + "memory.fault_path = \"gpu\"\ngpu.gmmu.fault_buffer = 1\n"));
  ends(gmmu, [](ModelRun& run, auto&& look) {
    each<Gmmu>(run.system(), [&](Gmmu const& c) { look(c.state().buffer_full); });
  });
  ModelRun iommu(transpose(1, touches + "iommu.fault_buffer = 1\n"));
  ends(iommu, [](ModelRun& run, auto&& look) {
    each<Iommu>(run.system(), [&](Iommu const& c) { look(c.state().buffer_full); });
  });
}

TEST_CASE(
    "fault latency: in batches each entry of a fault buffer has one, and IOMMUs without faults have none") {
  auto const text = [](std::string const& more) {
    return transpose(1,
                     "memory.placement = \"cpu\"\nmemory.remote_touch = \"migrate\"\nmemory.gpu_share = 0.5\n"
                     "gpu.l1_tlb.entries = 4\ngpu.l1_tlb.ways = 4\ndriver.migrations = 64\n"
                     "driver.batch.eviction_unit = \"16KiB\"\nmemory.fault_path = \"gpu\"\n" +
                         more);
  };
  auto const declares = [](ModelRun& run, std::string_view kind, std::string_view stat) {
    bool found = false;
    for (ComponentId id = 0; id < run.system().component_count(); ++id)
      for (auto const& g : run.system().component(id).stat_groups())
        found = found || (g.kind == kind && std::ranges::count(g.stats, stat, &StatInfo::name) != 0);
    return found;
  };
  for (std::string const replay : {"batch", "batch_flush", "block", "once", "page"}) {
    CAPTURE(replay);
    ModelRun run(text("driver.batch.replay = \"" + replay + "\"\n"));
    run.run();
    std::uint64_t entries = 0, timed = 0;
    each<Gmmu>(run.system(), [&](Gmmu const& g) {
      entries += g.state().raw_stats.written;
      auto const& bins = g.state().fault_latency.bins;
      timed += std::accumulate(bins.begin(), bins.end(), std::uint64_t{0});
      CHECK(g.state().read.empty());
    });
    CHECK(entries > 0);
    CHECK(timed == entries);
    CHECK_FALSE(declares(run, "iommu", "fault_latency"));
    CHECK(declares(run, "gmmu", "fault_latency"));
  }
  ModelRun by_iommu(transpose(1, "memory.placement = \"first_touch\"\n"));
  CHECK(declares(by_iommu, "iommu", "fault_latency"));
}

TEST_CASE("latency stack: it adds up with migration, first touches, copies and batches") {
  auto const batches = std::string(
      "memory.placement = \"cpu\"\nmemory.remote_touch = \"migrate\"\nmemory.fault_path = \"gpu\"\n"
      "memory.gpu_share = 0.5\ngpu.l1_tlb.entries = 4\ngpu.l1_tlb.ways = 4\ndriver.migrations = 64\n"
      "driver.batch.eviction_unit = \"16KiB\"\n");
  for (auto const& text :
       {transpose(2, "memory.placement = \"first_touch\"\n"),
        transpose(2, "memory.placement = \"interleave\"\nmemory.remote_touch = \"migrate\"\n"),
        transpose(2,
                  "memory.placement = \"interleave\"\nmemory.remote_touch = \"duplicate\"\nmemory.fault_path "
                  "= \"gpu\"\n"),
        bfs(2, "memory.placement = \"interleave\"\nmemory.remote_touch = \"migrate\"\n"),
        transpose(1, batches + "driver.batch.replay = \"page\"\n"),
        transpose(1, batches + "driver.batch.replay = \"batch_flush\"\n"),
        transpose(1, batches +
                         "driver.batch.replay = \"page\"\n"
                         "gpu.sm.thread_blocks = \"thread_oversubscription\"\ngpu.sm.max_blocks = 1\n")}) {
    CAPTURE(text);
    ModelRun run(text);
    auto const all = check_run(run);
    CHECK(all.stages.fault > 0);
  }
}

}  // namespace latency_stack_test
