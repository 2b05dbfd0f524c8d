// SPDX-License-Identifier: Apache-2.0
// Base pages coalesced in place, on a whole machine: the cost, the contents of each table and TLB, and the
// absence of an effect when nothing can be coalesced.
#include <doctest/doctest.h>

#include <set>
#include <string>

#include "farfault/workloads/allocations.hpp"
#include "run_model.hpp"

namespace coalescing_test {

using namespace farfault;
using test::each;
using test::ModelRun;

namespace {

PagingDriver const& driver_of(ModelRun& run) {
  PagingDriver const* driver = nullptr;
  each<PagingDriver>(run.system(), [&](PagingDriver const& d) { driver = &d; });
  return *driver;
}
std::uint64_t driver_stat(ModelRun& run, std::string_view name) {
  return test::stat_of(driver_of(run), "memory.page_sizes", name);
}

std::string const kMosaic =
    "memory.frame_allocation = \"contiguity_conserving\"\nmemory.page_sizes = \"in_place_coalescer\"\n";

std::string transpose(std::string const& more, unsigned width = 1024) {
  return "machine.topology = \"generic\"\nmachine.generic.gpus = 1\nworkload.name = \"transpose\"\n"
         "workload.transpose.width = " +
         std::to_string(width) +
         "\nworkload.transpose.height = 512\ngpu.sms = 4\ngpu.l1_tlb.entries = 4\ngpu.l1_tlb.ways = 4\n"
         "gpu.l2_tlb.entries = 16\ngpu.l2_tlb.ways = 4\n" +
         more;
}

// Every table and every TLB agrees with the driver about each base page that it maps.
void check_agreement(ModelRun& run) {
  auto const& truth = driver_of(run).state().memory.table();
  auto const bits = run.config().memory.page_bits();
  auto const check = [&](std::uint64_t page, PageTranslation const& t) {
    for (std::uint64_t i = 0; i < std::uint64_t{1} << t.size; ++i) {
      auto const mapped = truth.find_mapped(page + i);
      CHECK(mapped.has_value());
      if (mapped) CHECK(t.base_page(page + i, bits).frame == mapped->base_page(page + i, bits).frame);
    }
  };
  std::set<PhysAddr> frames;
  truth.each_page([&](std::uint64_t, PageTranslation const& t) { CHECK(frames.insert(t.frame).second); });
  each<Gmmu>(run.system(), [&](Gmmu const& g) { g.state().table.each_page(check); });
  each<Iommu>(run.system(), [&](Iommu const& i) {
    i.state().table.each_page(check);
    i.state().tlb->each_entry(check);
  });
  each<L2Tlb>(run.system(), [&](L2Tlb const& t) { t.state().tlb->each_entry(check); });
  each<Sm>(run.system(), [&](Sm const& s) { s.state().load_store.translation.tlb()->each_entry(check); });
}

// Large pages in all tables: their number matches the driver's, and none is on the CPU.
void check_coalesced(ModelRun& run, std::uint64_t expected) {
  auto const large_pages = [&](PageTable const& table) {
    std::uint64_t base_pages = 0;
    table.each_page([&](std::uint64_t page, PageTranslation const&) {
      if (!table.is_coalesced(page)) return;
      ++base_pages;
      CHECK(device_of(table.find_mapped(page)->frame) < kFirstCpu);
    });
    return base_pages >> table.coalesced_size();
  };
  std::uint64_t of_gpus = 0;
  each<Gmmu>(run.system(), [&](Gmmu const& g) { of_gpus += large_pages(g.state().table); });
  each<Iommu>(run.system(), [&](Iommu const& i) { CHECK(large_pages(i.state().table) == expected); });
  CHECK(of_gpus == expected);
  CHECK(large_pages(driver_of(run).state().memory.table()) == expected);
}

}  // namespace

TEST_CASE("coalescing: initial data is in large pages from the start, each checked by a walk") {
  for (bool const first_entry : {true, false}) {
    auto const more = std::string("memory.placement = \"contiguous\"\ngpu.gmmu.walk_cache = 0\n");
    auto const stops =
        std::string("gpu.gmmu.walk_reads_first_entry = ") + (first_entry ? "true\n" : "false\n");
    ModelRun base(transpose(more));
    ModelRun mosaic(transpose(more + kMosaic + stops));
    check_coalesced(mosaic, 2);
    base.run();
    mosaic.run();
    CHECK(driver_stat(mosaic, "coalesced_pages") == 2);
    CHECK(driver_stat(mosaic, "most_mapped_pages") == 1024);
    CHECK(base.total("sm", "transactions") == mosaic.total("sm", "transactions"));
    CHECK(base.total("gmmu", "walks") >= 1024);
    CHECK(mosaic.total("gmmu", "walks") < 256);
    // Every walk is for a large page, and reads as many entries as a walk for a base page, or one fewer.
    CHECK(mosaic.total("gmmu", "page_table_reads") == mosaic.total("gmmu", "walks") * (first_entry ? 4 : 3));
    CHECK(mosaic.kernel_time() < base.kernel_time());
    check_agreement(mosaic);
  }
}

TEST_CASE("coalescing: if no large page is full, a run takes the same time as with only base pages") {
  for (std::string const more :
       {"memory.placement = \"contiguous\"\n", "memory.placement = \"first_touch\"\n",
        "memory.placement = \"cpu\"\nmemory.remote_touch = \"migrate\"\nmemory.fault_path = \"gpu\"\n"
        "driver.batch.replay = \"page\"\nmemory.gpu_share = 0.7\ndriver.batch.eviction_unit = \"16KiB\"\n"
        "driver.migrations = 64\n"}) {
    CAPTURE(more);
    ModelRun base(transpose(more + "memory.page_sizes = \"base_only\"\n", 256));
    ModelRun same(transpose(more + "memory.page_sizes = \"in_place_coalescer\"\n", 256));
    base.run();
    same.run();
    CHECK(driver_stat(same, "coalesced_pages") == 0);
    CHECK(base.kernel_time() == same.kernel_time());
    CHECK(base.total("gmmu", "page_table_reads") == same.total("gmmu", "page_table_reads"));
    CHECK(base.total("l2_slice", "reads") == same.total("l2_slice", "reads"));
  }
}

TEST_CASE("coalescing: requests for base pages of a coalesced page are counted by base page") {
  // Each GPU requests pages of the other one, but few base pages more than twice.
  ModelRun run(
      "include = [\"paper-gmmu-bypass\"]\nworkload.name = \"random_access\"\n"
      "workload.random_access.size = \"16MiB\"\nworkload.random_access.threads = 8192\n"
      "workload.random_access.accesses = 2\nmemory.page_size = \"4KiB\"\nmemory.placement = \"contiguous\"\n"
      "memory.remote_touch = \"migrate\"\nmemory.migrate.after = 3\n" +
      kMosaic);
  run.run();
  CHECK(run.total("iommu", "requests") == 156);
  CHECK(run.total("driver", "migrations") == 0);
}

TEST_CASE("coalescing: faulted pages are coalesced when the last one of a large page is mapped") {
  for (std::string const replay : {"page", "batch", "batch_flush", "once"}) {
    CAPTURE(replay);
    ModelRun run(transpose(
        "memory.placement = \"cpu\"\nmemory.remote_touch = \"migrate\"\n"
        "memory.fault_path = \"gpu\"\ndriver.migrations = 64\ndriver.batch.eviction_unit = \"64KiB\"\n"
        "driver.batch.replay = \"" +
        replay + "\"\n" + kMosaic));
    CHECK(run.engine().run_until(Time::max()) == RunState::drained);
    CHECK(driver_stat(run, "coalesced_pages") == 2);  // contiguous pages on the CPU are not
    CHECK(driver_stat(run, "splintered_pages") == 0);
    check_coalesced(run, 2);
    each<Gmmu>(run.system(), [&](Gmmu const& g) {
      CHECK(g.state().table.mapped_pages() == 1024);
      CHECK(g.state().table.is_coalesced(0x1'0000'0000 >> 12));
      CHECK(g.state().coalescing.idle());
    });
    check_agreement(run);
  }
}

TEST_CASE(
    "coalescing: large pages evicted from a full GPU are splintered, and no table or TLB is ever stale") {
  for (std::string const schedule : {"serialized", "unobtrusive", "ideal"}) {
    CAPTURE(schedule);
    // Units of 2 MiB are evicted from a GPU with room for three of the four.
    ModelRun run(
        transpose("memory.placement = \"cpu\"\nmemory.remote_touch = \"migrate\"\n"
                  "memory.fault_path = \"gpu\"\ndriver.batch.replay = \"page\"\nmemory.gpu_share = 0.75\n"
                  "memory.page_size = \"64KiB\"\ndriver.migrations = 80\n"
                  "driver.batch.eviction_schedule = \"" +
                      schedule + "\"\n" + kMosaic,
                  2048));
    std::uint64_t checks = 0;
    for (Time t{20us}; run.engine().run_until(t) == RunState::reached; t += 20us) {
      std::set<PhysAddr> frames;
      driver_of(run).state().memory.table().each_page(
          [&](std::uint64_t, PageTranslation const& at) { CHECK(frames.insert(at.frame).second); });
      ++checks;
    }
    CHECK(checks > 10);
    CHECK(driver_stat(run, "splintered_pages") > 1);
    CHECK(driver_stat(run, "coalesced_pages") >= driver_stat(run, "splintered_pages"));
    CHECK(run.total("driver", "evicted_pages") > 0);
    check_coalesced(run, driver_stat(run, "coalesced_pages") - driver_stat(run, "splintered_pages"));
    check_agreement(run);
  }
}

TEST_CASE("coalescing: a program's allocations become large pages, and are splintered when freed") {
  ModelRun run(transpose("memory.placement = \"contiguous\"\n" + kMosaic),
               [](Workload& w) { workloads::add_allocations(w); });
  run.run();
  CHECK(run.total("driver", "allocated_pages") == 1024);
  CHECK(run.total("driver", "freed_pages") == 1024);
  CHECK(driver_stat(run, "coalesced_pages") == 2);
  CHECK(driver_stat(run, "splintered_pages") == 2);
  CHECK(driver_of(run).state().memory.table().mapped_pages() == 0);
  each<Gmmu>(run.system(), [&](Gmmu const& g) { CHECK(g.state().table.mapped_pages() == 0); });
  check_agreement(run);
}

TEST_CASE(
    "coalescing: pages migrate out of and into large pages between GPUs, and all tables agree at the end") {
  std::uint64_t moved = 0, splintered = 0;
  struct Case {
    std::string workload, size;
  };
  for (auto const& [workload, size] :
       {Case{"stencil3d", "workload.stencil3d.z = 64\n"}, Case{"nw", "workload.nw.length = 1024\n"},
        Case{"transpose", "workload.transpose.width = 1024\n"}})
    for (std::string const placement : {"first_touch", "interleave", "contiguous"})
      for (std::string const path : {"gpu", "iommu"}) {
        auto const what = workload + ", " + placement + ", " + path;
        CAPTURE(what);
        ModelRun run(
            "machine.topology = \"generic\"\nmachine.generic.gpus = 2\nmemory.page_size = \"64KiB\"\n"
            "gpu.sms = 4\nmemory.remote_touch = \"migrate\"\ndriver.migrations = 80\n"
            "driver.faults_at_a_time = 8\ngpu.dram.capacity = \"64MiB\"\nworkload.name = \"" +
            workload + "\"\n" + size + "memory.placement = \"" + placement + "\"\nmemory.fault_path = \"" +
            path + "\"\n" + kMosaic);
        CHECK(run.engine().run_until(Time::max()) == RunState::drained);
        each<Gmmu>(run.system(), [](Gmmu const& g) { CHECK(g.state().coalescing.idle()); });
        check_coalesced(run, driver_stat(run, "coalesced_pages") - driver_stat(run, "splintered_pages"));
        check_agreement(run);
        moved += run.total("driver", "migrations");
        splintered += driver_stat(run, "splintered_pages");
      }
  CHECK(moved > 1000);
  CHECK(splintered > 10);
}

TEST_CASE("coalescing: a run is the same on any partitions") {
  for (std::string const more :
       {"machine.generic.gpus = 2\nmemory.placement = \"interleave\"\n",
        "machine.generic.gpus = 2\nmemory.placement = \"cpu\"\nmemory.remote_touch = \"migrate\"\n"
        "memory.fault_path = \"gpu\"\ndriver.migrations = 80\ndriver.batch.replay = "
        "\"batch\"\nmemory.page_size = \"64KiB\"\n"}) {
    CAPTURE(more);
    auto toml = transpose(more + kMosaic);
    toml.erase(toml.find("machine.generic.gpus = 1\n"), 25);
    EngineOptions two;
    two.threads = 2;
    ModelRun one(toml, {}, topologies::Granularity::one);
    ModelRun split(toml, two, topologies::Granularity::split_gpu);
    one.run();
    split.run();
    CHECK(one.engine().state_digest() == split.engine().state_digest());
    CHECK(one.kernel_time() == split.kernel_time());
    check_agreement(one);
  }
}

TEST_CASE("page sizes: large pages alone take whole large frames for each buffer") {
  ModelRun base(transpose("memory.placement = \"contiguous\"\nmemory.page_sizes = \"base_only\"\n", 256));
  ModelRun large(transpose("memory.placement = \"contiguous\"\nmemory.page_sizes = \"large_only\"\n", 256));
  base.run();
  large.run();
  CHECK(driver_stat(base, "most_mapped_pages") == 2 * 128);
  CHECK(driver_stat(large, "most_mapped_pages") == 2 * 512);
  CHECK(large.total("gmmu", "walks") < base.total("gmmu", "walks"));
  check_agreement(large);
  for (std::string const placement : {"contiguous", "interleave", "first_touch"}) {
    CAPTURE(placement);
    ModelRun allocated(
        transpose("memory.placement = \"" + placement + "\"\nmemory.page_sizes = \"large_only\"\n", 256),
        [](Workload& w) { workloads::add_allocations(w); });
    allocated.run();
    // Memory that the program does not allocate is mapped at its first touch.
    if (placement != "first_touch") CHECK(allocated.total("driver", "allocated_pages") == 2 * 512);
    CHECK(allocated.total("driver", "freed_pages") == 2 * 512);
    CHECK(driver_of(allocated).state().memory.table().mapped_pages() == 0);
    if (placement != "first_touch") CHECK(allocated.kernel_time() == large.kernel_time());
  }
}

}  // namespace coalescing_test
