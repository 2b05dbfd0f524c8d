// SPDX-License-Identifier: Apache-2.0
// Migration by access counters on whole machines: exact counts of a GPU that streams over the memory of
// another one, and, at every step of a run, no TLB with an invalid translation and no access to an old frame.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "moving_pages.hpp"
#include "run_model.hpp"

namespace access_counters_test {

using namespace farfault;
using namespace farfault::moving_pages;
using test::ModelRun;

namespace {

// A stream of 64 KiB in the memory of GPU 1, by a page map that is removed with its test.
constexpr std::uint64_t kPages = 16, kLines = 1024;

class OnOtherGpu {
 public:
  OnOtherGpu() : path_(std::filesystem::path(FARFAULT_BINARY_DIR) / "access_counters_map.csv") {
    std::ofstream map(path_);
    map << "page,device\n";
    constexpr std::uint64_t kFirstPage = 0x1'0000'0000 >> 12;  // buffer_layout.hpp
    for (std::uint64_t p = 0; p < kPages; ++p) map << kFirstPage + p << ",gpu1\n";
  }
  ~OnOtherGpu() { std::filesystem::remove(path_); }
  OnOtherGpu(OnOtherGpu const&) = delete;
  OnOtherGpu& operator=(OnOtherGpu const&) = delete;

  std::string text(std::string const& more) const {
    return "machine.topology = \"generic\"\nmachine.generic.gpus = 2\ngpu.sms = 2\n"
           "workload.name = \"stream\"\nworkload.stream.bytes = \"64KiB\"\n"
           "memory.placement = \"recorded\"\nmemory.recorded.map = \"" +
           path_.string() + "\"\nmemory.remote_touch = \"access_counters\"\n" + more;
  }

 private:
  std::filesystem::path path_;
};

Application on_gpu0() {
  Application a;
  a.gpus = {0};
  return a;
}

std::string transpose(std::string const& more) {
  return "include = [\"paper-gmmu-bypass\"]\nworkload.name = \"transpose\"\n"
         "workload.transpose.width = 256\nworkload.transpose.height = 512\n"
         "gpu.sms = 4\ngpu.l1_tlb.entries = 4\ngpu.l1_tlb.ways = 4\n"
         "gpu.l2_tlb.entries = 16\ngpu.l2_tlb.ways = 4\n"
         "memory.remote_touch = \"access_counters\"\ngpu.access_counters.threshold = 16\n"
         "gpu.access_counters.granularity = \"64KiB\"\n" +
         more;
}

std::uint64_t pages_on(ModelRun& run, DeviceId device) {
  std::uint64_t pages = 0;
  test::each<PagingDriver>(run.system(), [&](PagingDriver const& d) {
    d.state().memory.table().each_page(
        [&](std::uint64_t, PageTranslation const& t) { pages += device_of(t.frame) == device; });
  });
  return pages;
}

}  // namespace

TEST_CASE(
    "access counters: a GPU that streams over another one's memory moves each page once at the threshold") {
  OnOtherGpu const data;
  for (std::string const path : {"iommu", "gpu"}) {
    for (std::string const place : {"outbound", "inbound"}) {
      for (std::uint64_t const threshold : {1U, 256U, 1024U, 1025U}) {
        CAPTURE(path);
        CAPTURE(place);
        CAPTURE(threshold);
        ModelRun run(data.text("memory.train = 1\nmemory.fault_path = \"" + path +
                               "\"\ngpu.access_counters.place = \"" + place +
                               "\"\ngpu.access_counters.threshold = " + std::to_string(threshold) + "\n"),
                     on_gpu0(), {});
        run.run();
        bool const reached = threshold <= kLines;
        auto const moved = reached ? kPages : 0;
        CHECK(run.total("rdma", "counter_notifications") == (reached ? 1 : 0));
        CHECK(run.total("rdma", "cleared_counters") == (reached ? 1 : 0));
        CHECK(run.total("rdma", "dropped_notifications") == 0);
        CHECK(run.total("rdma", "counted_regions") == (reached ? 0 : 1));
        CHECK(run.total("driver", "counter_notifications") == (reached ? 1 : 0));
        CHECK(run.total("driver", "counted_pages") == moved);
        CHECK(run.total("driver", "migrations") == moved);
        // A walk that ends in the GPU faults while the page moves.
        CHECK(run.total("driver", "page_faults") == (path == "gpu" && threshold < kLines ? 1 : 0));
        CHECK(pages_on(run, 0) == moved);
        CHECK(pages_on(run, 1) == kPages - moved);
        if (threshold >= kLines) CHECK(run.total("rdma", "reads_received") == kLines + moved * 64);
      }
    }
  }
}

TEST_CASE("access counters: with faults at first accesses, the driver maps each page remotely once") {
  OnOtherGpu const data;
  for (std::uint64_t const threshold : {1024U, 1025U}) {
    CAPTURE(threshold);
    ModelRun run(data.text("memory.train = 1\nmemory.fault_path = \"gpu\"\n"
                           "memory.access_counters.first_access = \"faults\"\n"
                           "gpu.access_counters.threshold = " +
                           std::to_string(threshold) + "\n"),
                 on_gpu0(), {});
    run.run();
    auto const moved = threshold == kLines ? kPages : 0;
    CHECK(run.total("driver", "page_faults") == kPages);
    CHECK(run.total("driver", "counted_pages") == moved);
    CHECK(run.total("driver", "migrations") == moved);
    CHECK(pages_on(run, 0) == moved);
    CHECK(run.total("rdma", "reads_received") == kLines + moved * 64);
  }
}

TEST_CASE(
    "access counters: with first_access = moves, pages move at their first access, and nothing is counted") {
  OnOtherGpu const data;
  for (std::string const path : {"iommu", "gpu"}) {
    CAPTURE(path);
    ModelRun run(data.text("memory.train = 1\nmemory.fault_path = \"" + path +
                           "\"\nmemory.access_counters.first_access = \"moves\"\n"
                           "gpu.access_counters.threshold = 1\n"),
                 on_gpu0(), {});
    run.run();
    CHECK(run.total("driver", "migrations") == kPages);
    CHECK(run.total("driver", "counted_pages") == 0);
    CHECK(run.total("rdma", "counter_notifications") == 0);
    CHECK(run.total("rdma", "counted_regions") == 0);
    CHECK(run.total("rdma", "reads_received") == kPages * 64);
    CHECK(pages_on(run, 0) == kPages);
  }
}

TEST_CASE("access counters: one counter for one region acts as unlimited counters") {
  OnOtherGpu const data;
  auto const counts = [&](std::string const& limit, std::string const& threshold) {
    ModelRun run(data.text("gpu.access_counters.threshold = " + threshold + "\n" + limit), on_gpu0(), {});
    run.run();
    CHECK(run.total("driver", "counted_pages") == (threshold == "256" ? kPages : 0));
    if (!limit.empty()) CHECK(run.total("rdma", "dropped_counters") == 0);
    return std::tuple(run.total("rdma", "reads_received"), run.total("rdma", "cleared_counters"),
                      run.total("driver", "migrations"), run.kernel_time());
  };
  for (std::string const threshold : {"256", "1025"})
    CHECK(counts("gpu.access_counters.counters = 1\n", threshold) == counts("", threshold));
}

TEST_CASE(
    "access counters: during moves no TLB holds an invalid translation, and no access uses an old frame") {
  struct Case {
    std::string name, settings;
  };
  std::string const interleaved = "memory.placement = \"interleave\"\n";
  std::string const from_gpus = interleaved + "memory.fault_path = \"gpu\"\n";
  for (auto const& c : std::vector<Case>{
           {"interleaved", interleaved},
           {"faults kept by the GPUs", from_gpus},
           {"at the memory", interleaved + "gpu.access_counters.place = \"inbound\"\n"},
           {"from the CPU's memory, one at a time", "memory.placement = \"cpu\"\ndriver.migrations = 1\n"},
           {"first touch", "memory.first_touch_by = \"driver\"\n"},
           {"first touch, mapped by the IOMMU", "memory.first_touch_by = \"iommu\"\n"},
           {"centralized", interleaved + "gpu.router.policy = \"centralized\"\n"},
           {"two CPUs, eight GPUs, interrupts", interleaved + "machine.topology = \"dgx1\"\n"
                                                              "driver.counters.interrupt_time = \"1us\"\n"},
           {"few counters", interleaved + "gpu.access_counters.counters = 2\n"},
           {"pages that move at faults", interleaved + "memory.access_counters.first_access = \"moves\"\n"},
           {"full notification buffers", interleaved + "gpu.access_counters.notifications = 1\n"},
           {"an L2 cache for every SM, kept coherent by software",
            interleaved + "gpu.l2_cache.partitions = 4\ngpu.l2_cache.miss_path = \"memory\"\n"},
           {"batches", from_gpus + "driver.batch.replay = \"batch\"\ndriver.migrations = 64\n"
                                   "driver.batch.eviction_unit = \"16KiB\"\n"}}) {
    CAPTURE(c.name);
    ModelRun run(transpose(c.settings));
    Machine const machine(run.system());
    Violations found;
    for (Time t{}; run.engine().run_until(t) != RunState::drained; t += Duration{337'001})
      look(machine, 12, run.config().gpu.line_bytes, found);
    CHECK(found.wrong_frames == 0);
    CHECK(found.void_entries == 0);
    CHECK(found.void_accesses == 0);
    CHECK(found.stale_lines == 0);
    check_tables(machine);
    auto const& s = machine.driver->state();
    CHECK(s.stats[0].migrations > 10);
    auto const& counted = s.counters.counts();
    if (c.name != "pages that move at faults") CHECK(s.stats[0].migrations == counted.pages);
    CHECK(run.total("rdma", "counter_notifications") == counted.notifications);
    CHECK((run.total("rdma", "dropped_notifications") > 0) == (c.name == "full notification buffers"));
    if (c.name == "few counters") {
      // The driver clears regions that have lost their counters.
      CHECK(run.total("rdma", "dropped_counters") > 100);
      CHECK(run.total("rdma", "cleared_counters") < counted.notifications);
    } else {
      CHECK(run.total("rdma", "cleared_counters") == counted.notifications);
    }
    for (auto const* sm : machine.sms) CHECK(sm->waiting_for().empty());
    for (auto const* iommu : machine.iommus) CHECK(iommu->waiting_for().empty());
    CHECK(machine.driver->waiting_for().empty());
  }
}

TEST_CASE("access counters: a checkpoint within a service is continued elsewhere with the same result") {
  auto const text =
      transpose("memory.placement = \"interleave\"\ndriver.counters.interrupt_time = \"1us\"\n");
  ModelRun run(text);
  Machine const machine(run.system());
  std::vector<std::vector<std::byte>> saved;
  for (Time t{}; run.engine().run_until(t) != RunState::drained; t += 7us) {
    auto const& driver = *machine.driver;
    bool const serves = !driver.state().counters.waiting_for(driver.spec()).empty();
    if (serves && saved.size() < 6) saved.push_back(run.engine().save());
  }
  CHECK(saved.size() == 6);
  for (std::size_t i = 0; i < saved.size(); ++i) {
    EngineOptions options;
    options.threads = i % 2 == 0 ? 2 : 1;
    options.merge_lanes = i % 2 != 0;
    ModelRun other(text, options,
                   i % 2 == 0 ? topologies::Granularity::split_gpu : topologies::Granularity::one);
    other.engine().load({saved[i]});
    other.run();
    CHECK(other.engine().state_digest() == run.engine().state_digest());
  }
}

}  // namespace access_counters_test
