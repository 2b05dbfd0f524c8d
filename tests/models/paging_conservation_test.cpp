// SPDX-License-Identifier: Apache-2.0
// Batches of faults on whole machines with every combination of policies. Invariants:
// - No access is lost or repeated.
// - No frame has two pages, and memory never exceeds its capacity.
// - The copied bytes match the rows of the batches.
// - A page's data has left before its frame is reused.
// - No TLB maps a page that has left.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "moving_pages.hpp"
#include "run_model.hpp"

namespace paging_conservation_test {

using namespace farfault;
using namespace farfault::moving_pages;
using test::ModelRun;

namespace {

constexpr std::uint64_t kPageBytes = 4096;

std::string setting(std::string const& key, std::string const& value) {
  return key + " = \"" + value + "\"\n";
}

// Pages migrate to a GPU from the CPU's memory any number of times; or they are mapped at their first touch
// and do not return; or some of the latter are placed by a map from the start.
enum class Pages { migrate, touched_first, recorded };

std::string model(std::string const& more, Pages pages) {
  constexpr char const* placements[] = {"cpu", "first_touch", "recorded"};
  return "machine.topology = \"generic\"\nmemory.fault_path = \"gpu\"\n"
         "gpu.sms = 4\ngpu.l1_tlb.entries = 4\ngpu.l1_tlb.ways = 4\ngpu.l2_tlb.entries = 16\n"
         "gpu.l2_tlb.ways = 4\ndriver.migrations = 64\ndriver.batch.time = \"2us\"\n"
         "driver.batch.block_time = \"1us\"\ndriver.batch.first_touch_time = \"2us\"\n"
         "workload.name = \"transpose\"\nworkload.transpose.width = 256\nworkload.transpose.height = 128\n" +
         setting("memory.placement", placements[static_cast<std::size_t>(pages)]) +
         setting("memory.remote_touch", pages == Pages::migrate ? "migrate" : "remote_access") + more;
}

struct Frames {
  int shared = 0;       // a frame of two pages, or of a page and an arriving one
  int unaccounted = 0;  // GPUs with frames that are neither free nor used, or both
  int unsaved = 0;      // a frame that is written while its old page is still read
};

void look_at_frames(Machine const& m, Frames& found) {
  auto const& driver = m.driver->state();
  std::map<PhysAddr, std::uint64_t> page_of;
  std::vector<std::uint64_t> taken(m.engines.size());
  auto const take = [&](PhysAddr frame, std::uint64_t page) {
    found.shared += page_of.emplace(frame, page).second ? 0 : 1;
    if (device_of(frame) < kFirstCpu) ++taken[device_of(frame)];
  };
  driver.memory.table().each_page([&](std::uint64_t page, PageTranslation const& t) { take(t.frame, page); });
  for (auto const& move : driver.transitions.pages()) {
    if (move.in_use == 0) continue;
    bool const comes = move.client == PagingClient::batch &&
                       driver.batch.worker_of(move.request.gpu).incoming().all()[move.tag].stage ==
                           IncomingPage::Stage::transferring;
    bool const leaves =
        move.client == PagingClient::evictions && move.to != kNoFrame && device_of(move.to) >= kFirstCpu;
    if (comes || leaves) take(move.to, move.page());
  }
  for (std::size_t g = 0; g < taken.size(); ++g)
    found.unaccounted +=
        taken[g] + driver.memory.frames(g).available() != m.driver->spec().frames_per_gpu ? 1 : 0;
  auto const outstanding = [](CopyLane const& lane, std::uint32_t run) {
    return std::ranges::find(lane.free_runs, run) == lane.free_runs.end();
  };
  for (auto const* engine : m.engines) {
    auto const& [in, out] = engine->state().lanes;
    for (std::uint32_t i = 0; i < in.runs.size(); ++i)
      for (std::uint32_t o = 0; outstanding(in, i) && o < out.runs.size(); ++o)
        found.unsaved += in.runs[i].order.to == out.runs[o].order.from && outstanding(out, o) ? 1 : 0;
  }
}

// Sums over all batches, including the current one.
struct Sums {
  std::uint64_t pages = 0, evicted = 0, dropped = 0, in = 0, out = 0;
};
Sums sums_of(Machine const& m) {
  auto const& s = m.driver->state();
  Sums sums;
  auto const add = [&](BatchRecord const& r) {
    sums.pages += r.faulted_pages + r.prefetched_pages;
    sums.evicted += r.evicted_pages;
    sums.dropped += r.dropped_pages;
    sums.in += r.bytes_in;
    sums.out += r.bytes_out;
  };
  for (auto const& r : s.records.batches()) add(r);
  for (auto const& w : s.batch.workers())
    if (w.is_serving()) add(w.record());
  return sums;
}

// Valid while no page is transferred.
void check_bytes(Machine const& m, Pages pages, bool transfers) {
  auto const sums = sums_of(m);
  std::uint64_t lines_in = 0, lines_out = 0;
  for (auto const* engine : m.engines) {
    lines_in += engine->state().lines_in;
    lines_out += engine->state().lines_out;
  }
  auto const& counts = m.driver->state().stats[0];
  bool const migrate = pages == Pages::migrate;
  CHECK(sums.pages == (migrate ? counts.migrations : counts.pages_mapped));
  CHECK(sums.evicted == counts.evicted_pages);
  CHECK(sums.in == (migrate ? sums.pages * kPageBytes : 0));
  CHECK(sums.out == (transfers ? (sums.evicted - sums.dropped) * kPageBytes : 0));
  CHECK(lines_in * 64 == sums.in);
  CHECK(lines_out * 64 == sums.out);
}

struct WorkDone {
  std::uint64_t transactions = 0, stores = 0, loads = 0, blocks = 0;
  bool operator==(WorkDone const&) const = default;
};
WorkDone work_of(ModelRun& run) {
  return {run.total("sm", "transactions"), run.total("sm", "stores"),
          run.total("sm", "l1_hits") + run.total("sm", "l1_misses"), run.total("sm", "blocks")};
}

void check_run(std::string const& settings, Pages pages, bool transfers, WorkDone const& expected) {
  CAPTURE(settings);
  ModelRun run(model(settings, pages));
  Machine const machine(run.system());
  Violations found;
  Frames frames;
  std::uint64_t batches = 0, looks_at_rest = 0;
  // The step is not a multiple of a clock cycle, so that all phases are checked.
  for (Time t{}; run.engine().run_until(t) != RunState::drained; t += Duration{509'003}) {
    if (t > Time{50ms}) {
      FAIL_CHECK("the run does not end");
      return;
    }
    look(machine, 12, run.config().gpu.line_bytes, found);
    look_at_frames(machine, frames);
    auto const& s = machine.driver->state();
    auto const transfers_pages = [&](BatchWorker const& w) {
      return w.incoming().in_transfer() != 0 || s.evictions.units_in_transfer(w.gpu()) != 0;
    };
    if (s.counts.batches == batches || std::ranges::any_of(s.batch.workers(), transfers_pages)) continue;
    batches = s.counts.batches;
    ++looks_at_rest;
    check_bytes(machine, pages, transfers);
  }
  CHECK(found.wrong_frames == 0);
  CHECK(found.void_entries == 0);
  CHECK(found.void_accesses == 0);
  CHECK(found.stale_lines == 0);
  CHECK(frames.shared == 0);
  CHECK(frames.unaccounted == 0);
  CHECK(frames.unsaved == 0);
  CHECK(looks_at_rest > 1);
  check_bytes(machine, pages, transfers);
  check_tables(machine);
  CHECK(work_of(run) == expected);
  CHECK(run.total("sm", "faulted") == run.total("sm", "replayed"));
  CHECK(run.total("sm", "faulted") > 0);
  auto const& s = machine.driver->state();
  CHECK(s.stats[0].evicted_pages > 0);
  CHECK(s.transitions.free() == 64);
  std::uint64_t written = 0, flushed = 0;
  for (auto const* gmmu : machine.gmmus) {
    written += gmmu->state().raw_stats.written;
    flushed += gmmu->state().raw_stats.flushed;
    CHECK(gmmu->waiting_for().empty());
  }
  // Each buffer entry was read by one batch or flushed.
  CHECK(written == s.counts.raw_faults + flushed);
  for (auto const* sm : machine.sms) CHECK(sm->waiting_for().empty());
  for (auto const* iommu : machine.iommus) CHECK(iommu->waiting_for().empty());
  CHECK(machine.driver->waiting_for().empty());
}

WorkDone without_paging(std::string const& gpus) {
  ModelRun run(model("machine.generic.gpus = " + gpus + "\n", Pages::touched_first));
  run.run();
  return work_of(run);
}

}  // namespace

TEST_CASE(
    "conservation: with every combination of batch policies, accesses, frames, bytes and TLBs are correct") {
  std::map<std::string, WorkDone> expected;
  for (std::string const gpus : {"1", "2", "4"}) expected[gpus] = without_paging(gpus);
  CHECK(expected["1"].blocks > 0);
  std::size_t n = 0;
  for (std::string const replay : {"page", "batch", "batch_flush", "block", "once"})
    for (std::string const schedule : {"serialized", "unobtrusive", "ideal"})
      for (std::string const order : {"aged_lru", "random"})
        for (std::string const prefetch : {"none", "sequential", "tree"}) {
          // These settings vary with different periods.
          std::vector<std::string> const units{"4KiB", "16KiB", "32KiB"}, shares{"0.5", "0.3", "0.75", "0.2"},
              buffers{"1024", "2", "16", "5", "1"}, faults{"256", "7", "16"}, gpus{"1", "1", "2", "4"},
              clean{"transferred", "dropped"},
              blocks{"occupancy", "thread_oversubscription", "virtual_thread"}, utlbs{"0", "3"},
              workers{"1", "one_per_gpu", "one_per_gpu"};
          auto const one_of = [&](std::vector<std::string> const& all, std::size_t turn) {
            return all[(n / turn + n) % all.size()];
          };
          auto const count = one_of(gpus, 5);
          auto const& batch = "driver.batch.";
          check_run(setting(std::string(batch) + "replay", replay) +
                        setting(std::string(batch) + "eviction_schedule", schedule) +
                        setting(std::string(batch) + "eviction_order",
                                order == "random" && n % 2 != 0 ? "lru" : order) +
                        setting(std::string(batch) + "clean_pages", one_of(clean, 6)) +
                        setting("gpu.sm.thread_blocks", one_of(blocks, 8)) + "gpu.gmmu.faults_per_utlb = " +
                        one_of(utlbs, 9) + "\n" + setting(std::string(batch) + "prefetch", prefetch) +
                        setting(std::string(batch) + "eviction_unit", one_of(units, 2)) +
                        setting(std::string(batch) + "workers", one_of(workers, 10)) + "memory.gpu_share = " +
                        one_of(shares, 3) + "\ngpu.gmmu.fault_buffer = " + one_of(buffers, 7) +
                        "\ndriver.batch.faults = " + one_of(faults, 4) + "\nmachine.generic.gpus = " + count +
                        "\n",
                    Pages::migrate, schedule != "ideal", expected[count]);
          ++n;
        }
  CHECK(n == 90);
}

TEST_CASE(
    "conservation: pages mapped at their first touch and evicted for good are found at their new location, "
    "also by the GPUs of other pages") {
  std::size_t n = 0;
  for (std::string const gpus : {"1", "2", "4"}) {
    auto const expected = without_paging(gpus);
    for (std::string const replay : {"page", "batch", "batch_flush", "block", "once"})
      for (std::string const schedule : {"serialized", "unobtrusive", "ideal"}) {
        std::vector<std::string> const orders{"aged_lru", "random", "lru", "aged_lru"},
            tlbs{"plain", "ideal"};
        check_run(
            setting("driver.batch.replay", replay) + setting("driver.batch.eviction_schedule", schedule) +
                setting("driver.batch.eviction_order", orders[n % 4]) +
                setting("driver.batch.eviction_unit", n % 2 == 0 ? "4KiB" : "16KiB") +
                setting("gpu.l2_tlb.organization", tlbs[n / 2 % 2]) +
                setting("driver.batch.prefetch", n % 3 == 0 ? "none" : "tree") +
                "memory.gpu_share = " + (n % 5 < 3 ? "0.3" : "0.6") + "\nmachine.generic.gpus = " + gpus +
                "\n" + setting("driver.batch.workers", n % 4 < 2 ? "one_per_gpu" : "1"),
            Pages::touched_first, schedule != "ideal", expected);
        ++n;
      }
  }
  CHECK(n == 45);
}

TEST_CASE("conservation: an ideal TLB drops another GPU's initial pages as they are evicted") {
  auto const file = std::filesystem::path(FARFAULT_BINARY_DIR) / "leaving_pages.csv";
  {
    std::ofstream map(file);
    map << "page,device\n";
    for (std::uint64_t page = 0; page < 16; ++page) map << (1U << 20) + page << ",gpu" << page % 2 << "\n";
  }
  for (std::string const replay : {"page", "batch"})
    check_run(setting("driver.batch.replay", replay) + setting("driver.batch.eviction_unit", "4KiB") +
                  setting("driver.batch.workers", replay == "page" ? "1" : "one_per_gpu") +
                  setting("gpu.l2_tlb.organization", "ideal") +
                  setting("memory.recorded.map", file.string()) +
                  "memory.gpu_share = 0.3\nmachine.generic.gpus = 2\n",
              Pages::recorded, true, without_paging("2"));
  std::filesystem::remove(file);
}

}  // namespace paging_conservation_test
