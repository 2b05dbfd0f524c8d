// SPDX-License-Identifier: Apache-2.0
// Read-only page copies on a whole machine. At every step of a run each TLB agrees with the driver, a
// writable page has no copy, and no line remains of a dropped copy's frame.
#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "run_model.hpp"

namespace duplicates_test {

using namespace farfault;
using test::ModelRun;

namespace {

std::string model(std::string const& more, std::string const& touch) {
  return "include = [\"paper-gmmu-bypass\"]\n"
         "gpu.sms = 4\ngpu.l1_tlb.entries = 4\ngpu.l1_tlb.ways = 4\ngpu.l2_tlb.entries = 16\ngpu.l2_tlb.ways "
         "= 4\n"
         "memory.remote_touch = \"" +
         touch +
         "\"\nmemory.fault_path = \"gpu\"\nmemory.first_touch_by = "
         "\"driver\"\n" +
         more;
}
std::string kmeans(std::string const& more, std::string const& touch = "duplicate") {
  return model(
      "workload.name = \"kmeans\"\nworkload.kmeans.size = \"256KiB\"\nworkload.kmeans.max_rounds = 2\n" +
          more,
      touch);
}
std::string bfs(std::string const& more, std::string const& touch = "duplicate") {
  return model("workload.name = \"bfs\"\nworkload.bfs.rmat.scale = 9\n" + more, touch);
}

struct Machine {
  explicit Machine(System& system) {
    for (ComponentId id = 0; id < system.component_count(); ++id) {
      auto const* c = &system.component(id);
      if (auto const* sm = dynamic_cast<Sm const*>(c)) sms.push_back(sm);
      if (auto const* tlb = dynamic_cast<L2Tlb const*>(c)) l2_tlbs.push_back(tlb);
      if (auto const* gmmu = dynamic_cast<Gmmu const*>(c)) gmmus.push_back(gmmu);
      if (auto const* iommu = dynamic_cast<Iommu const*>(c)) iommus.push_back(iommu);
      if (auto const* d = dynamic_cast<PagingDriver const*>(c)) driver = d;
    }
  }
  std::vector<Sm const*> sms;
  std::vector<L2Tlb const*> l2_tlbs;
  std::vector<Gmmu const*> gmmus;  // by GPU
  std::vector<Iommu const*> iommus;
  PagingDriver const* driver = nullptr;
};

// Counts of violations; all must be zero at any time.
struct Violations {
  int wrong_frames = 0;    // a translation to neither the page's frame nor the GPU's own copy
  int writable = 0;        // a writable translation of a page with copies
  int void_entries = 0;    // a translation of an unmapped page
  int frames_shared = 0;   // a frame of two pages, or of a page and a copy
  int above_capacity = 0;  // a GPU with more pages than frames
  int stale_lines = 0;     // an L1 line of a frame without a page or copy
};
struct Seen {
  std::uint64_t copies = 0;  // maximum at a time
  int looks = 0;
};

void look(Machine const& m, std::uint64_t frames_per_gpu, unsigned page_bits, unsigned line_bytes,
          Violations& found, Seen& seen) {
  auto const& driver = m.driver->state();
  std::set<std::uint64_t> unmapped;
  std::set<PhysAddr> in_use;
  for (auto const& move : driver.transitions.pages()) {
    if (move.in_use == 0 || move.transition == Transition::map_remotely) continue;
    in_use.insert(move.from);
    in_use.insert(move.to);
    bool const keeps_page = adds_copy(move.transition) || move.transition == Transition::evict_copy;
    bool const is_mapped = keeps_page && driver.memory.is_shared(move.page());
    if (!move.awaits_iommus() && !is_mapped) unmapped.insert(move.page());
  }
  std::map<DeviceId, std::uint64_t> pages_on;
  std::set<PhysAddr> frames;
  auto const own = [&](PhysAddr frame) {
    found.frames_shared += frames.insert(frame).second ? 0 : 1;
    found.above_capacity +=
        device_of(frame) < kFirstCpu && ++pages_on[device_of(frame)] > frames_per_gpu ? 1 : 0;
  };
  std::uint64_t copies = 0;
  driver.memory.table().each_page([&](std::uint64_t page, PageTranslation const& t) {
    own(t.frame);
    for (DeviceId gpu = 0; gpu < m.gmmus.size(); ++gpu)
      if (auto const copy = driver.memory.copies().find(page, gpu)) {
        own(*copy);
        ++copies;
      }
  });
  seen.copies = std::max(seen.copies, copies);
  ++seen.looks;
  auto const check = [&](DeviceId gpu) {
    return [&, gpu](std::uint64_t page, PageTranslation const& held) {
      auto const home = driver.memory.table().find(page);
      auto const copy = driver.memory.copies().find(page, gpu);
      bool const shared = driver.memory.copies().read_only(page);
      found.void_entries += unmapped.count(page) != 0 ? 1 : 0;
      auto const frame = held.frame & ~kReadOnly;
      bool const right = home && (frame == home->frame || (copy && frame == *copy));
      found.wrong_frames += right ? 0 : 1;
      found.writable += shared && !is_read_only(held.frame) ? 1 : 0;
    };
  };
  constexpr DeviceId kNobody = kFirstCpu;
  for (auto const* iommu : m.iommus) iommu->state().tlb->each_entry(check(kNobody));
  for (std::size_t g = 0; g < m.gmmus.size(); ++g) {
    auto const gpu = static_cast<DeviceId>(g);
    m.l2_tlbs[g]->state().tlb->each_entry(check(gpu));
    m.gmmus[g]->state().table.each_page(check(gpu));
  }
  for (auto const* sm : m.sms) {
    sm->state().load_store.translation.tlb()->each_entry(check(sm->spec().device));
    sm->state().load_store.l1.each_line([&](std::uint64_t line) {
      auto const frame = line * line_bytes >> page_bits << page_bits;
      if (is_read_only(frame)) ++found.wrong_frames;
      found.stale_lines += frames.count(frame) == 0 && in_use.count(frame) == 0 ? 1 : 0;
    });
  }
}

// Batches of faults, part of the memory, and further settings.
std::string in_batches(std::string const& replay, std::string const& share, std::string const& more,
                       std::string const& unit = "4KiB") {
  return "driver.batch.replay = \"" + replay + "\"\nmemory.gpu_share = " + share +
         "\nmemory.placement = \"cpu\"\ndriver.batch.eviction_unit = \"" + unit +
         "\"\ndriver.batch.time = \"2us\"\n"
         "driver.batch.block_time = \"1us\"\ndriver.batch.first_touch_time = \"2us\"\ndriver.migrations = "
         "64\n" +
         more;
}

struct Case {
  char const* name;
  std::string settings;
};

}  // namespace

TEST_CASE(
    "while pages have copies, every TLB holds the page or the GPU's own copy, writable only without copies") {
  std::vector<Case> const cases{
      {"kmeans, interleaved", kmeans("memory.placement = \"interleave\"\n")},
      {"kmeans, from the CPU", kmeans("memory.placement = \"cpu\"\n")},
      {"kmeans, first touch, predicted",
       kmeans("memory.placement = \"first_touch\"\ngpu.router.policy = \"gmmu_bypass\"\n")},
      {"bfs, interleaved", bfs("memory.placement = \"interleave\"\n")},
      {"bfs, two GPUs",
       bfs("memory.placement = \"interleave\"\nmachine.topology = \"generic\"\nmachine.generic.gpus = 2\n")},
      {"bfs, from the CPUs to eight GPUs", bfs("memory.placement = \"cpu\"\nmachine.topology = \"dgx1\"\n")},
      {"bfs, all requests to the IOMMU",
       bfs("memory.placement = \"interleave\"\ngpu.router.policy = \"centralized\"\n")},
      {"bfs, one page at a time, small fault buffers",
       bfs("memory.placement = \"interleave\"\ndriver.migrations = 1\ngpu.gmmu.fault_buffer = 2\n")},
      {"bfs, a TLB in the IOMMU, fast driver",
       bfs("memory.placement = \"interleave\"\niommu.tlb_entries = 1024\niommu.tlb_ways = 1024\n"
           "driver.fault_latency = \"1ns\"\ndriver.notify_latency = \"1ns\"\n")},
      {"kmeans, after two requests, all requests to the IOMMU",
       kmeans("memory.placement = \"cpu\"\nmemory.duplicate_after.after = 2\n"
              "gpu.router.policy = \"centralized\"\n",
              "duplicate_after")},
      {"kmeans, after counted accesses",
       kmeans("memory.placement = \"interleave\"\nmemory.duplicate_after.counts = \"accesses\"\n"
              "gpu.access_counters.threshold = 16\ngpu.access_counters.granularity = \"64KiB\"\n",
              "duplicate_after")},
      {"bfs, after counted accesses, in batches, half of the memory",
       bfs(in_batches("page", "0.5",
                      "memory.duplicate_after.counts = \"accesses\"\n"
                      "gpu.access_counters.threshold = 16\ngpu.access_counters.granularity = \"64KiB\"\n"),
           "duplicate_after")},
      {"bfs, after two requests, in batches, half of the memory",
       bfs(in_batches("page", "0.5",
                      "memory.duplicate_after.after = 2\ngpu.router.policy = \"centralized\"\n"),
           "duplicate_after")},
      {"bfs, in batches", bfs(in_batches("page", "1.0", ""))},
      {"bfs, in batches, half of the memory", bfs(in_batches("page", "0.5", ""))},
      {"bfs, in batches, unobtrusive, a third",
       bfs(in_batches("batch_flush", "0.3", "driver.batch.eviction_schedule = \"unobtrusive\"\n"))},
      {"kmeans, in batches, units of four pages, all requests to the IOMMU",
       kmeans(in_batches("batch", "0.8",
                         "gpu.router.policy = \"centralized\"\ndriver.batch.eviction_schedule = \"ideal\"\n"
                         "driver.batch.prefetch = \"none\"\n",
                         "16KiB"))},
      {"kmeans, in batches, unobtrusive, units of two pages",
       kmeans(in_batches(
           "page", "0.5",
           "driver.batch.eviction_schedule = \"unobtrusive\"\ndriver.batch.unobtrusive.ahead = 8\n",
           "8KiB"))},
      {"bfs, in batches, one fault at a time, a fifth, all requests to the IOMMU",
       bfs(in_batches("batch", "0.2",
                      "gpu.router.policy = \"centralized\"\ndriver.batch.prefetch = \"none\"\n"
                      "gpu.gmmu.faults_per_utlb = 1\ndriver.batch.faults = 2\n"))},
      {"kmeans, in batches, clean pages dropped",
       kmeans(in_batches("page", "0.5",
                         "driver.batch.clean_pages = \"dropped\"\ndriver.batch.eviction_order = \"lru\"\n"))},
      {"kmeans, in batches, once, two GPUs",
       kmeans(in_batches("once", "0.4", "machine.topology = \"generic\"\nmachine.generic.gpus = 2\n"))},
      {"bfs, in batches, block, eight GPUs",
       bfs(in_batches("block", "0.5", "machine.topology = \"dgx1\"\n"))},
  };
  for (auto const& c : cases) {
    CAPTURE(std::string(c.name));
    ModelRun run(c.settings);
    Machine const machine(run.system());
    Violations found;
    Seen seen;
    for (Time t{}; run.engine().run_until(t) != RunState::drained; t += Duration{3'700'001}) {
      REQUIRE(t < Time{200ms});  // it ends
      look(machine, machine.driver->spec().frames_per_gpu, 12, run.config().gpu.line_bytes, found, seen);
    }
    CHECK(seen.looks > 20);
    CHECK(seen.copies >= 2);
    CHECK(found.wrong_frames == 0);
    CHECK(found.writable == 0);
    CHECK(found.void_entries == 0);
    CHECK(found.frames_shared == 0);
    CHECK(found.above_capacity == 0);
    CHECK(found.stale_lines == 0);
    for (auto const* sm : machine.sms) CHECK(sm->waiting_for().empty());
    for (auto const* iommu : machine.iommus) CHECK(iommu->waiting_for().empty());
    CHECK(machine.driver->waiting_for().empty());
  }
}

TEST_CASE("read-only pages have a copy on each GPU that reads them, and are read only there") {
  auto const accesses = [](std::string const& touch) {
    ModelRun run(kmeans("memory.placement = \"cpu\"\n", touch));
    run.run();
    return std::pair(run.total("sm", "remote_accesses"), run.total("sm", "transactions"));
  };
  auto const [remote, all] = accesses("duplicate");
  auto const [without, as_many] = accesses("remote_access");
  CHECK(all == as_many);
  CHECK(remote < without / 4);  // accesses to pages that several GPUs write
}

TEST_CASE("duplicate: reads and writes are counted where they are decided, by the driver or an IOMMU") {
  for (std::string const router : {"distributed", "centralized"}) {
    CAPTURE(router);
    ModelRun run(bfs("memory.placement = \"interleave\"\ngpu.router.policy = \"" + router + "\"\n"));
    run.run();
    Machine const machine(run.system());
    auto const count = [&](std::string_view name) {
      if (router == "distributed") return test::stat_of(*machine.driver, "memory.remote_touch", name);
      std::uint64_t sum = 0;
      for (auto const* iommu : machine.iommus) sum += test::stat_of(*iommu, "memory.remote_touch", name);
      return sum;
    };
    CHECK(count("reads") > 0);
    CHECK(count("writes") > 0);
  }
}

TEST_CASE("duplicate_after: one request is duplicate, and more requests leave more accesses remote") {
  auto const run_of = [](std::string const& touch, std::string const& after) {
    ModelRun run(kmeans("memory.placement = \"cpu\"\ngpu.router.policy = \"centralized\"\n" + after, touch));
    run.run();
    return std::tuple(run.kernel_time(), run.total("sm", "remote_accesses"),
                      run.total("driver", "migrations"));
  };
  auto const one = run_of("duplicate_after", "memory.duplicate_after.after = 1\n");
  CHECK(one == run_of("duplicate", ""));
  auto const two = run_of("duplicate_after", "memory.duplicate_after.after = 2\n");
  CHECK(std::get<1>(two) > std::get<1>(one));
  CHECK(std::get<1>(run_of("duplicate_after", "memory.duplicate_after.after = 1000000\n")) >
        std::get<1>(two));
}

TEST_CASE("a run does the same work with and without copies") {
  auto const work = [](std::string const& touch) {
    ModelRun run(bfs("memory.placement = \"interleave\"\n", touch));
    run.run();
    return std::tuple(run.total("sm", "transactions"), run.total("sm", "stores"), run.total("sm", "blocks"));
  };
  CHECK(work("duplicate") == work("remote_access"));
}

}  // namespace duplicates_test
