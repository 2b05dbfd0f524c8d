// SPDX-License-Identifier: Apache-2.0
// Batches of faults on a whole machine whose memory holds half of a workload's data.
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "farfault/workloads/allocations.hpp"
#include "run_model.hpp"

namespace fault_batches_test {

using namespace farfault;
using test::ModelRun;

namespace {

std::string model(
    std::string const& more, std::string const& share = "0.5",
    std::string const& pages = "memory.placement = \"cpu\"\nmemory.remote_touch = \"migrate\"\n") {
  return "machine.topology = \"generic\"\nmachine.generic.gpus = 1\n"
         "memory.fault_path = \"gpu\"\nmemory.gpu_share = " +
         share + "\n" + pages +
         "gpu.sms = 4\ngpu.l1_tlb.entries = 4\ngpu.l1_tlb.ways = 4\n"
         "driver.migrations = 64\ndriver.batch.eviction_unit = \"16KiB\"\n"
         "workload.name = \"transpose\"\nworkload.transpose.width = 256\nworkload.transpose.height = 128\n" +
         more;
}

PagingDriver const& driver_of(System& system) {
  for (ComponentId id = 0; id < system.component_count(); ++id)
    if (auto const* d = dynamic_cast<PagingDriver const*>(&system.component(id))) return *d;
  throw std::logic_error("no driver");
}

std::uint64_t transactions_of(System& system) {
  std::uint64_t sum = 0;
  for (ComponentId id = 0; id < system.component_count(); ++id)
    if (auto const* sm = dynamic_cast<Sm const*>(&system.component(id)))
      sum += sm->state().stats[0].transactions;
  return sum;
}

}  // namespace

TEST_CASE("batches: every policy runs to completion, with at most as many pages on the GPU as frames") {
  std::vector<std::string> settings;
  for (std::string const replay : {"page", "batch", "batch_flush", "block", "once"})
    for (std::string const schedule : {"serialized", "unobtrusive", "ideal"})
      settings.push_back("driver.batch.replay = \"" + replay + "\"\ndriver.batch.eviction_schedule = \"" +
                         schedule + "\"\n");
  auto const page = std::string("driver.batch.replay = \"page\"\n");
  for (std::string const prefetch : {"none", "sequential", "tree"})
    for (std::string const order : {"aged_lru", "random"})
      settings.push_back(page + "driver.batch.prefetch = \"" + prefetch +
                         "\"\ndriver.batch.eviction_order = \"" + order + "\"\n");
  settings.push_back(page + "gpu.gmmu.fault_buffer = 2\ndriver.batch.prefetch = \"none\"\n");
  settings.push_back(page + "driver.batch.faults = 1\n");
  for (auto const& s : settings) {
    CAPTURE(s);
    ModelRun run(model(s));
    std::uint64_t most = 0;
    for (Time t{5us}; run.engine().run_until(t) == RunState::reached; t += 5us) {
      auto const& state = driver_of(run.system()).state();
      std::uint64_t there = 0;
      state.memory.table().each_page(
          [&](std::uint64_t, PageTranslation const& at) { there += device_of(at.frame) == 0; });
      most = std::max(most, there);
    }
    auto const& driver = driver_of(run.system());
    CHECK(most <= driver.spec().frames_per_gpu);
    CHECK(most + 1 >= driver.spec().frames_per_gpu);
    CHECK(transactions_of(run.system()) == 4096);
    CHECK(driver.state().counts.batches > 0);
    CHECK(driver.state().stats[0].evicted_pages > 0);
    CHECK(driver.state().stats[0].migrations <=
          driver.state().stats[0].evicted_pages + driver.spec().frames_per_gpu);
    CHECK(driver.state().transitions.free() == 64);
  }
}

TEST_CASE("batches: pages mapped at their first touch are evicted from a full GPU for good, each once") {
  for (std::string const replay : {"page", "batch", "batch_flush", "block", "once"}) {
    CAPTURE(replay);
    ModelRun run(model("driver.batch.replay = \"" + replay + "\"\ndriver.batch.prefetch = \"none\"\n", "0.5",
                       "memory.placement = \"first_touch\"\n"));
    CHECK(run.engine().run_until(Time::max()) == RunState::drained);
    CHECK(transactions_of(run.system()) == 4096);
    auto const& driver = driver_of(run.system());
    CHECK(driver.spec().frames_per_gpu == 32);
    CHECK(driver.state().stats[0].pages_mapped == 64);
    CHECK(driver.state().stats[0].pages_spilled == 0);
    CHECK(driver.state().stats[0].evicted_pages == 32);
    CHECK(driver.state().evictions.counts().premature == 0);
    CHECK(driver.waiting_for().empty());
    std::uint64_t there = 0;
    driver.state().memory.table().each_page(
        [&](std::uint64_t, PageTranslation const& at) { there += device_of(at.frame) == 0; });
    CHECK(there == 32);
  }
}

TEST_CASE("batches: without migration, an access to a page being evicted is a fault recorded by its GPU") {
  struct Counts {
    std::string gpus;
    std::uint64_t evicted, faults;
  };
  for (auto const& expected : {Counts{"1", 9, 118}, {"2", 12, 207}}) {
    CAPTURE(expected.gpus);
    ModelRun run(
        "machine.topology = \"generic\"\nmemory.placement = \"first_touch\"\nmemory.fault_path = \"gpu\"\n"
        "memory.gpu_share = 0.7\nmemory.page_size = \"64KiB\"\ngpu.sms = 5\ngpu.dram.capacity = \"64MiB\"\n"
        "driver.batch.replay = \"page\"\ndriver.batch.eviction_unit = \"64KiB\"\nworkload.name = "
        "\"transpose\"\n"
        "workload.transpose.width = 1024\nworkload.transpose.height = 256\nmachine.generic.gpus = " +
        expected.gpus + "\n");
    CHECK(run.engine().run_until(Time::max()) == RunState::drained);
    CHECK(transactions_of(run.system()) == 32'768);
    auto const& driver = driver_of(run.system());
    CHECK(driver.waiting_for().empty());
    CHECK(driver.state().stats[0].pages_mapped == 32);
    CHECK(driver.state().stats[0].evicted_pages == expected.evicted);
    // First touches, pages being evicted, and pages that are then mapped remotely.
    CHECK(run.total("gmmu", "page_faults") == expected.faults);
    CHECK(run.total("gmmu", "iommu_requests") == 0);
    CHECK(run.total("iommu", "remote_faults") == 0);
  }
}

TEST_CASE("batches: the CPU's memory must have room for all pages that one GPU may evict") {
  std::string const first_touch = "memory.placement = \"first_touch\"\n";
  std::string const small = "driver.batch.replay = \"page\"\ncpu.dram.capacity = \"1MiB\"\n";
  auto const of = [&](std::string const& share, std::string const& remote_touch) {
    auto text = model(small, share, first_touch + "memory.remote_touch = \"" + remote_touch + "\"\n");
    auto const width = text.find("width = 256"), height = text.find("height = 128");
    return text.replace(height, 12, "height = 256").replace(width, 11, "width = 1024");
  };
  // 512 pages. The GPU has room for 292 and the CPU for 224, which leaves room for a unit of 4.
  for (std::string const remote_touch : {"remote_access", "migrate"}) {
    CAPTURE(remote_touch);
    ModelRun run(of("0.5703", remote_touch));
    CHECK(driver_of(run.system()).spec().frames_per_gpu == 292);
    CHECK(driver_of(run.system()).spec().frames_of_cpu == 224);
    CHECK(run.engine().run_until(Time::max()) == RunState::drained);
    CHECK(driver_of(run.system()).waiting_for().empty());
    CHECK_THROWS_WITH_AS(ModelRun(of("0.568", remote_touch)),
                         "driver.batch.replay = page: CPU memory must hold up to 225 evicted pages, but "
                         "cpu.dram.capacity has room for 224 of them",
                         UserError);
  }
  CHECK_THROWS_WITH_AS(ModelRun(of("0.9", "duplicate")),
                       "driver.batch.replay = page: CPU memory must hold up to 512 evicted pages, but "
                       "cpu.dram.capacity has room for 224 of them",
                       UserError);
  CHECK_NOTHROW(ModelRun(of("1.0", "duplicate")));
}

TEST_CASE(
    "batches: large pages need a large frame in CPU memory for each page, and no program that allocates") {
  auto const of = [](std::string const& large, std::string const& cpu) {
    return "machine.topology = \"generic\"\nmachine.generic.gpus = 1\ngpu.sms = 4\n"
           "memory.page_size = \"64KiB\"\nmemory.placement = \"cpu\"\nmemory.remote_touch = \"migrate\"\n"
           "memory.fault_path = \"gpu\"\ndriver.batch.replay = \"page\"\ndriver.migrations = 80\n"
           "memory.gpu_share = 0.5\nworkload.name = \"transpose\"\nworkload.transpose.width = 1024\n"
           "workload.transpose.height = 1024\n" +
           large + "cpu.dram.capacity = \"" + cpu + "\"\n";
  };
  // Two buffers of two large pages each. An eighth of the memory holds page tables.
  std::string const only = "memory.page_sizes = \"large_only\"\n", mixed = "memory.large_pages = \"input\"\n";
  CHECK_NOTHROW(ModelRun(of(only, "16MiB")));
  CHECK_THROWS_WITH_AS(
      ModelRun(of(mixed, "64MiB")),
      "driver.batch.replay = page: large pages are evicted to large frames of the CPU's memory, "
      "which needs 66 of them: one for each large page and, because base pages may occupy any "
      "frames, one for each base page; cpu.dram.capacity has 28",
      UserError);
  CHECK_NOTHROW(ModelRun(of(mixed, "256MiB")));
  // 128 pages of buffers, a tenth of which is less than a large page.
  auto few = of(only, "16MiB");
  few.replace(few.find("gpu_share = 0.5"), 15, "gpu_share = 0.1");
  CHECK_THROWS_WITH_AS(ModelRun{few},
                       "memory.gpu_share leaves a GPU 13 pages, fewer than the 32 of a "
                       "driver.batch.eviction_unit; increase memory.gpu_share",
                       UserError);
  CHECK_THROWS_WITH_AS(
      ModelRun(of(only, "16MiB"), workloads::add_allocations),
      "driver.batch.replay = page: large pages are brought to large frames, but workload "
      "'transpose' allocates memory, which is never evicted and may leave no large frame; set "
      "allocates of the application to false, or use base pages (memory.page_sizes)",
      UserError);
}

TEST_CASE("batches: pages that may be taken before an access finds them are refused") {
  auto const of = [](std::string const& gpus, std::string const& more,
                     std::string const& policy = "migrate") {
    auto text = model("driver.batch.replay = \"batch\"\ndriver.batch.least_stay = \"0ns\"\n" + more, "0.5",
                      "memory.placement = \"cpu\"\nmemory.remote_touch = \"" + policy + "\"\n");
    return text.replace(text.find("gpus = 1"), 8, "gpus = " + gpus);
  };
  CHECK_THROWS_WITH_AS(
      ModelRun(of("2", "")),
      "driver.batch.least_stay = 0 with several driver.batch.workers: GPUs could take a page from each other "
      "before an access finds it, forever; use a time longer than an access, or driver.batch.workers = 1",
      UserError);
  CHECK_NOTHROW(ModelRun(of("1", "")));
  CHECK_NOTHROW(ModelRun(of("2", "driver.batch.workers = 1\n")));
  CHECK_NOTHROW(ModelRun(of("2", "", "remote_access")));  // no page moves between GPUs
}

TEST_CASE("batches: a driver has at most one worker per GPU") {
  auto const of = [](std::string const& workers, std::uint32_t gpus) {
    auto text = model("driver.batch.replay = \"page\"\ndriver.batch.workers = " + workers + "\n");
    return text.replace(text.find("gpus = 1"), 8, "gpus = " + std::to_string(gpus));
  };
  CHECK_THROWS_WITH_AS(
      ModelRun(of("2", 1)),
      "driver.batch.workers = 2: a worker serves one GPU at a time, but the driver has 1 GPU; use "
      "at most 1, or \"one_per_gpu\"",
      UserError);
  CHECK_THROWS_WITH_AS(
      ModelRun(of("4", 3)),
      "driver.batch.workers = 4: a worker serves one GPU at a time, but the driver has 3 GPUs; use "
      "at most 3, or \"one_per_gpu\"",
      UserError);
  for (std::uint32_t gpus = 1; gpus <= 3; ++gpus) {
    ModelRun run(of("\"one_per_gpu\"", gpus));
    CHECK(driver_of(run.system()).spec().batch_workers == gpus);
    CHECK(run.engine().run_until(Time::max()) == RunState::drained);
    CHECK(driver_of(run.system()).waiting_for().empty());
  }
}

TEST_CASE("batches: a GPU must have a frame in addition to a program's allocations there") {
  std::string const migrate = "memory.remote_touch = \"migrate\"\nmemory.placement = ";
  auto const page = std::string("driver.batch.replay = \"page\"\n");
  CHECK_THROWS_WITH_AS(
      ModelRun(model(page, "0.5", migrate + "\"interleave\"\n"), workloads::add_allocations),
      "driver.batch.replay = page: workload 'transpose' allocates 64 pages on a GPU, which are never "
      "evicted, but the GPU has 32 frames: none is left for faulted pages (memory.gpu_share, "
      "gpu.dram.capacity)",
      UserError);
  auto on_two = model(page, "0.99", migrate + "\"interleave\"\n");
  on_two.replace(on_two.find("gpus = 1"), 8, "gpus = 2");
  CHECK_THROWS_WITH_AS(
      ModelRun(on_two, workloads::add_allocations),
      "driver.batch.replay = page: workload 'transpose' allocates 32 pages on a GPU, which are never "
      "evicted, but the GPU has 32 frames: none is left for faulted pages (memory.gpu_share, "
      "gpu.dram.capacity)",
      UserError);
  for (auto const& [placement, share] : {std::pair{"interleave", "1.0"}, {"cpu", "0.5"}}) {
    ModelRun run(model(page, share, migrate + '"' + placement + "\"\n"), workloads::add_allocations);
    CHECK(run.engine().run_until(Time::max()) == RunState::drained);
    CHECK(transactions_of(run.system()) == 4096);
    CHECK(run.total("driver", "allocated_pages") == 64);
    CHECK(driver_of(run.system()).waiting_for().empty());
  }
}

TEST_CASE("batches: memory freed by a program is available for its next allocation") {
  auto text = model("driver.batch.replay = \"page\"\ngpu.dram.capacity = \"1MiB\"\n", "1.0",
                    "memory.remote_touch = \"migrate\"\nmemory.placement = \"interleave\"\n");
  text.replace(text.find("height = 128"), 12, "height = 256");
  ModelRun run(text, [](Workload& w) {
    workloads::add_allocations(w);
    auto operations = w.operations();
    std::erase_if(operations, [](Operation const& o) { return !o.is_allocation(); });
    operations.insert(operations.end(), w.operations().begin(), w.operations().end());
    w.set_operations(operations);
  });
  CHECK(run.engine().run_until(Time::max()) == RunState::drained);
  CHECK(driver_of(run.system()).spec().frames_per_gpu == 224);
  CHECK(run.total("driver", "allocated_pages") == 2 * 128);
  CHECK(run.total("driver", "freed_pages") == 2 * 128);
}

TEST_CASE("batches: with one outstanding fault per uTLB, every access is made under every replay policy") {
  for (std::string const replay : {"page", "batch", "batch_flush", "block", "once", "page, overflowing"}) {
    CAPTURE(replay);
    bool const overflows = replay.size() > 12;
    ModelRun run(model("driver.batch.replay = \"" + replay.substr(0, replay.find(',')) +
                       "\"\ngpu.gmmu.faults_per_utlb = " + (overflows ? "2" : "1") +
                       "\ngpu.gmmu.sms_per_utlb = 2\ngpu.gmmu.fault_buffer = " + (overflows ? "1" : "1024") +
                       "\n"));
    CHECK(run.engine().run_until(Time::max()) == RunState::drained);
    CHECK(transactions_of(run.system()) == 4096);
    CHECK(driver_of(run.system()).waiting_for().empty());
    for (ComponentId id = 0; id < run.system().component_count(); ++id)
      if (auto const* gmmu = dynamic_cast<Gmmu const*>(&run.system().component(id))) {
        CHECK((gmmu->state().raw_stats.held > 0) != overflows);
        CHECK(gmmu->state().utlbs.outstanding() == 0);
      }
    // Four SMs: two entries at most.
    for (auto const& batch : driver_of(run.system()).state().records.batches()) CHECK(batch.raw_faults <= 2);
  }
}

TEST_CASE("batches: compressed contents make room for more pages, and add latency to every access") {
  auto const page = std::string("driver.batch.replay = \"page\"\n");
  ModelRun plain(model(page));
  ModelRun compressed(model(page + "gpu.memory_contents = \"compressed\"\ngpu.compressed.ratio = 1.5\n"
                                   "gpu.compressed.latency = \"7ns\"\n"));
  auto const frames = driver_of(plain.system()).spec().frames_per_gpu;
  CHECK(driver_of(compressed.system()).spec().frames_per_gpu == frames * 3 / 2);
  auto const latency_of = [](System& system) {
    for (ComponentId id = 0; id < system.component_count(); ++id)
      if (auto const* d = dynamic_cast<DramChannel const*>(&system.component(id)))
        if (d->path().starts_with("gpu0")) return d->spec().params.controller_latency;
    throw std::logic_error("no channel");
  };
  CHECK(latency_of(compressed.system()) - latency_of(plain.system()) == 7ns);
  plain.engine().run_until(Time::max());
  compressed.engine().run_until(Time::max());
  CHECK(driver_of(compressed.system()).state().stats[0].evicted_pages <
        driver_of(plain.system()).state().stats[0].evicted_pages);
}

TEST_CASE("batches: without oversubscription, all eviction schedules take the same time") {
  std::vector<Time> ends;
  for (std::string const schedule : {"serialized", "unobtrusive", "ideal"}) {
    ModelRun run(model(
        "driver.batch.replay = \"page\"\ndriver.batch.eviction_schedule = \"" + schedule + "\"\n", "1.0"));
    Time t{1us};
    while (run.engine().run_until(t) == RunState::reached) t += 1us;
    ends.push_back(t);
    CHECK(driver_of(run.system()).state().stats[0].evicted_pages == 0);
  }
  CHECK(ends[0] == ends[1]);
  CHECK(ends[0] == ends[2]);
}

TEST_CASE("batches: thread blocks beyond the issue slots complete, saved or not, with one result") {
  auto const always = "thread_oversubscription\"\ngpu.sm.thread_oversubscription.saves = \"always";
  auto const as_needed = "thread_oversubscription\"\ngpu.sm.thread_oversubscription.saves = \"as_needed";
  for (std::string const policy : {"virtual_thread", always, as_needed, "throttling"})
    for (std::string const registers : {"8192", "65536"}) {
      CAPTURE(policy);
      CAPTURE(registers);
      ModelRun run(model("driver.batch.replay = \"page\"\ngpu.sm.thread_blocks = \"" + policy +
                         "\"\ngpu.sm.max_blocks = 1\ngpu.sm.registers = " + registers +
                         "\ngpu.sm.thread_oversubscription.period = 2000\n"
                         "gpu.sm.throttling.detection = 2000\ngpu.sm.throttling.execution = 4000\n"));
      CHECK(run.engine().run_until(Time::max()) == RunState::drained);
      CHECK(transactions_of(run.system()) == 4096);
      std::uint64_t swapped_out = 0, saved = 0, waiting = 0;
      for (ComponentId id = 0; id < run.system().component_count(); ++id)
        if (auto const* sm = dynamic_cast<Sm const*>(&run.system().component(id))) {
          swapped_out += sm->state().swapped.counts.blocks;
          saved += sm->state().swapped.counts.saved;
          waiting += sm->state().swapped.held.waiting();
          CHECK(sm->waiting_for().empty());
        }
      CHECK(waiting == 0);
      CHECK((swapped_out != 0) ==
            (policy != "throttling" && (policy != "virtual_thread" || registers != "8192")));
      CHECK((saved != 0) == (policy == always || (policy == as_needed && registers == "8192")));
    }
}

}  // namespace fault_batches_test
