// SPDX-License-Identifier: Apache-2.0
// Time lines of batches, exact to the nanosecond: a fault buffer with and without room for all faults; faults
// that arrive during a batch under each replay policy; and a prefetch that covers a later fault.
#include <doctest/doctest.h>

#include "batch_bench.hpp"
#include "policies.hpp"

namespace batch_timelines_test {

using namespace farfault;
using namespace farfault::batch_bench;

namespace {

constexpr GpuTimes kGpu;

// End of the driver's work on a batch of one block.
constexpr std::int64_t worked_after(std::int64_t began, std::int64_t pages, bool first_touch) {
  return began + kTime + (first_touch ? kFirstTouch : 0) + kBlock + pages * kPageWork;
}
// Time at which the driver knows that page `k` of consecutive transfers to the GPU has arrived.
constexpr std::int64_t landed_after(std::int64_t worked, std::int64_t k) {
  return worked + 1 + k * kGpu.in + 1;
}
// Time at which all tables map it, if pages are not replayed one by one.
constexpr std::int64_t mapped_after(std::int64_t landed) {
  return landed + 1 + kGpu.map + 1;
}
// Time at which an access is issued again by a replay of all faults.
constexpr std::int64_t replayed_after(std::int64_t ordered) {
  return ordered + kNotify + 1;
}

}  // namespace

TEST_CASE("time line: a burst that fits the fault buffer is one batch, read at one entry per cycle") {
  GpuBench b(spec_of("page", "serialized", 100),
             {{100, 10, 0}, {101, 7, 1}, {102, 8, 2}, {103, 7, 3}, {104, 9, 2}}, 5);
  auto const began = begin_after(100);
  auto const unmapped = read_after(began, 5) + 1;
  auto const worked = worked_after(began, 4, true);
  CHECK(b.pages(Seen::unmap) == Pages{7, 8, 9, 10});
  CHECK(b.times(Seen::unmap) == Times(4, unmapped));
  CHECK(b.pages(Seen::reads_in) == Pages{7, 8, 9, 10});
  CHECK(b.times(Seen::reads_in) == Times(4, worked + 1));
  // Each access completes when its page lands.
  auto const done = [&](std::int64_t k) { return landed_after(worked, k) + 1; };
  CHECK(b.done() == Times{done(4), done(1), done(2), done(1), done(3)});
  REQUIRE(b.batches().size() == 1);
  CHECK(counts(b) == std::vector<Counts>{{.raw = 5, .duplicates = 1, .faulted = 4}});
  CHECK(b.batches()[0].first_fault == Time{101ns});
  CHECK(b.began(0) == began);
  CHECK(b.ended(0) == landed_after(worked, 4));
  CHECK(b.batches()[0].clients == 4);
  CHECK(b.batches()[0].bytes_in == 4 * 4096);
  CHECK(b.gmmu.state().raw_stats.written == 5);
  CHECK(b.gmmu.state().raw_stats.dropped == 0);
  CHECK(b.gmmu.state().raw_stats.interrupts == 1);
}

TEST_CASE(
    "time line: a burst that overflows the buffer, page: dropped accesses fault again as soon as the buffer "
    "is read") {
  GpuBench b(spec_of("page", "serialized", 100),
             {{100, 7, 0}, {101, 8, 1}, {102, 9, 2}, {103, 10, 3}, {104, 7, 4}}, 2);
  auto const began = begin_after(100);
  // The faults of pages 9, 10 and 7 were dropped. Raised again, 9 and 10 find room; both accesses to 7 do
  // not, and 7 lands soon.
  auto const again = began + kNotify + 1 + kGpu.again;
  CHECK(b.pages(Seen::fault) == Pages{7, 8, 9, 10, 7, 9, 10, 7, 7});
  CHECK(b.times(Seen::fault) == Times{100, 101, 102, 103, 104, again, again, again, again});
  CHECK(b.gmmu.state().raw_stats.written == 4);
  CHECK(b.gmmu.state().raw_stats.dropped == 5);
  CHECK(b.gmmu.state().raw_stats.interrupts == 1);
  auto const worked = worked_after(began, 2, true);
  auto const ended = landed_after(worked, 2);
  auto const then = worked_after(ended, 2, false);  // the second batch begins at the end of the first one
  CHECK(b.done() == Times{landed_after(worked, 1) + 1, ended + 1, landed_after(then, 1) + 1,
                          landed_after(then, 2) + 1, landed_after(worked, 1) + 1});
  CHECK(counts(b) == std::vector<Counts>{{.raw = 2, .faulted = 2}, {.raw = 2, .faulted = 2}});
  CHECK(b.began(1) == ended);
  CHECK(b.ended(1) == landed_after(then, 2));
}

TEST_CASE("time line: a burst that overflows the buffer, batch: dropped accesses fault again at the replay") {
  for (std::string const replay : {"batch", "batch_flush"}) {
    CAPTURE(replay);
    GpuBench b(spec_of(replay, "serialized", 100),
               {{100, 7, 0}, {101, 8, 1}, {102, 9, 2}, {103, 10, 3}, {104, 7, 4}}, 2);
    auto const ended = mapped_after(landed_after(worked_after(begin_after(100), 2, true), 2));
    auto const replayed = replayed_after(ended);
    auto const again = replayed + kGpu.again;
    CHECK(b.pages(Seen::fault) == Pages{7, 8, 9, 10, 7, 9, 10});
    CHECK(b.times(Seen::fault)[5] == again);
    CHECK(b.gmmu.state().raw_stats.dropped == 3);
    CHECK(b.gmmu.state().raw_stats.interrupts == 2);  // the driver found the buffer empty in between
    auto const then = mapped_after(landed_after(worked_after(begin_after(again), 2, false), 2));
    CHECK(b.ended(1) == then);
    CHECK(b.done() == Times{replayed, replayed, replayed_after(then), replayed_after(then), replayed});
    CHECK(counts(b) == std::vector<Counts>{{.raw = 2, .faulted = 2}, {.raw = 2, .faulted = 2}});
  }
}

TEST_CASE(
    "time line: a fault beyond the limit of a uTLB, which two SMs share, is raised again at the replay") {
  // SMs 0 and 1 have two faults; SM 2 has another uTLB.
  GpuBench b(spec_of("batch", "serialized", 100), {{100, 7, 0}, {101, 8, 1}, {102, 9, 0}, {103, 10, 2}}, 8,
             kGpu, 2);
  auto const ended = mapped_after(landed_after(worked_after(begin_after(100), 3, true), 3));
  auto const again = replayed_after(ended) + kGpu.again;
  CHECK(b.pages(Seen::fault) == Pages{7, 8, 9, 10, 9});
  CHECK(b.times(Seen::fault)[4] == again);
  CHECK(b.gmmu.state().raw_stats.held == 1);
  CHECK(b.gmmu.state().raw_stats.dropped == 0);
  CHECK(b.gmmu.state().raw_stats.written == 4);
  auto const then = mapped_after(landed_after(worked_after(begin_after(again), 1, false), 1));
  auto const first = replayed_after(ended);
  CHECK(b.done() == Times{first, first, replayed_after(then), first});
  CHECK(counts(b) == std::vector<Counts>{{.raw = 3, .faulted = 3}, {.raw = 1, .faulted = 1}});
  CHECK(b.gmmu.state().utlbs.outstanding() == 0);
}

TEST_CASE("time line: entries beyond the batch size form the next batch, without an interrupt") {
  auto spec = spec_of("page", "serialized", 100);
  spec.batch.faults = 2;
  GpuBench b(spec, {{100, 10, 0}, {101, 9, 1}, {102, 7, 2}});
  auto const worked = worked_after(begin_after(100), 2, true);
  auto const ended = landed_after(worked, 2);
  auto const then = worked_after(ended, 1, false);
  CHECK(b.done() == Times{ended + 1, landed_after(worked, 1) + 1, landed_after(then, 1) + 1});
  CHECK(b.began(1) == ended);
  CHECK(b.gmmu.state().raw_stats.interrupts == 1);
}

namespace {

// Page 7 faults. During its batch, 8 faults, and 7 from another SM.
std::vector<PageAccess> const kDuring{{100, 7, 0}, {20'000, 8, 1}, {20'001, 7, 2}};
auto const kWorked = worked_after(begin_after(100), 1, true);
auto const kLanded = landed_after(kWorked, 1);

}  // namespace

TEST_CASE(
    "time line: faults during a batch, page: they form the next batch; faults on resident pages are "
    "duplicates") {
  GpuBench b(spec_of("page", "serialized", 100), kDuring);
  auto const then = landed_after(worked_after(kLanded, 1, false), 1);
  CHECK(b.done() == Times{kLanded + 1, then + 1, kLanded + 1});
  CHECK(counts(b) ==
        std::vector<Counts>{{.raw = 1, .faulted = 1}, {.raw = 2, .duplicates = 1, .faulted = 1}});
  CHECK(b.batches()[1].first_fault == Time{20'001ns});
  CHECK(b.began(1) == kLanded);
  CHECK(b.ended(1) == then);
  CHECK(b.gmmu.state().raw_stats.interrupts == 1);
  CHECK(b.gmmu.state().stats.replays == 0);
}

TEST_CASE(
    "time line: faults during a batch, batch: they form the next batch and are raised again at the replay "
    "before it") {
  GpuBench b(spec_of("batch", "serialized", 100), kDuring);
  auto const first = mapped_after(kLanded);
  auto const second = mapped_after(landed_after(worked_after(first, 1, false), 1));
  CHECK(b.done() == Times{replayed_after(first), replayed_after(second), replayed_after(first)});
  CHECK(b.times(Seen::fault) == Times{100, 20'000, 20'001, replayed_after(first) + kGpu.again});
  // The third batch contains a fault raised while the second batch migrated its page: the driver has nothing
  // to do.
  CHECK(counts(b) == std::vector<Counts>{{.raw = 1, .faulted = 1},
                                         {.raw = 2, .duplicates = 1, .faulted = 1},
                                         {.raw = 1, .duplicates = 1}});
  CHECK(b.began(1) == first);
  CHECK(b.began(2) == second);
  CHECK(b.ended(2) == second + kTime);
  CHECK(b.gmmu.state().stats.replays == 3);
  CHECK(b.gmmu.state().raw_stats.interrupts == 1);
}

TEST_CASE(
    "time line: faults during a batch, batch_flush: they are dropped, and raised again if still necessary") {
  GpuBench b(spec_of("batch_flush", "serialized", 100), kDuring);
  auto const first = mapped_after(kLanded);
  auto const again = replayed_after(first) + kGpu.again;
  auto const second = mapped_after(landed_after(worked_after(begin_after(again), 1, false), 1));
  CHECK(b.done() == Times{replayed_after(first), replayed_after(second), replayed_after(first)});
  CHECK(b.times(Seen::fault) == Times{100, 20'000, 20'001, again});
  CHECK(counts(b) == std::vector<Counts>{{.raw = 1, .faulted = 1}, {.raw = 1, .faulted = 1}});
  CHECK(b.began(1) == begin_after(again));
  CHECK(b.gmmu.state().raw_stats.flushed == 2);
  CHECK(b.gmmu.state().raw_stats.interrupts == 2);
}

TEST_CASE("time line: faults during a batch, once: no replay until the buffer is found empty") {
  GpuBench b(spec_of("once", "serialized", 100), kDuring);
  auto const first = mapped_after(kLanded);
  auto const second = mapped_after(landed_after(worked_after(first, 1, false), 1));
  auto const replayed = replayed_after(read_after(second, 0));
  CHECK(b.done() == Times(3, replayed));
  CHECK(b.times(Seen::fault) == Times{100, 20'000, 20'001});
  CHECK(counts(b) ==
        std::vector<Counts>{{.raw = 1, .faulted = 1}, {.raw = 2, .duplicates = 1, .faulted = 1}});
  CHECK(b.gmmu.state().stats.replays == 1);
}

TEST_CASE("time line: faults during a batch, block: one replay per mapped block and one at the end") {
  // A batch of two blocks. 8 faults during the batch, after 7 has arrived.
  std::vector<PageAccess> const accesses{{100, 7, 0}, {101, 519, 1}, {40'000, 8, 2}};
  GpuBench b(spec_of("block", "serialized", 100), accesses);
  auto const worked = worked_after(begin_after(100), 1, true);
  auto const block = mapped_after(landed_after(worked, 1));
  auto const worked_too = worked + kFirstTouch + kBlock + kPageWork;
  auto const ended = mapped_after(landed_after(worked_too, 1));
  REQUIRE(block < 40'000);
  CHECK(b.ended(0) == ended);
  // At the first replay 519 faults again. Its new entry turns out to be a duplicate.
  auto const last = mapped_after(landed_after(worked_after(ended, 1, false), 1));
  CHECK(b.done() == Times{replayed_after(block), replayed_after(ended), replayed_after(last)});
  CHECK(b.times(Seen::fault) ==
        Times{100, 101, replayed_after(block) + kGpu.again, 40'000, replayed_after(ended) + kGpu.again});
  CHECK(counts(b) == std::vector<Counts>{{.raw = 2, .faulted = 2},
                                         {.raw = 2, .duplicates = 1, .faulted = 1},
                                         {.raw = 1, .duplicates = 1}});
  CHECK(b.batches()[0].blocks == 2);
  // Two blocks and the end of the first batch; the block and the end of the second batch; and the last one.
  CHECK(b.gmmu.state().stats.replays == 6);
}

TEST_CASE("time line: without per-block replays, the first block's accesses wait for the second block") {
  GpuBench b(spec_of("batch", "serialized", 100), {{100, 7, 0}, {101, 519, 1}});
  auto const worked = worked_after(begin_after(100), 1, true) + kFirstTouch + kBlock + kPageWork;
  CHECK(b.done() == Times(2, replayed_after(mapped_after(landed_after(worked, 1)))));
  CHECK(b.times(Seen::reads_in) == Times{worked_after(begin_after(100), 1, true) + 1, worked + 1});
}

TEST_CASE(
    "time line: an idle driver starts one interrupt latency after the interrupt and reads all faults until "
    "then") {
  // 8 faults in that time; 9 faults during the batch, after which the driver is not idle.
  constexpr std::int64_t kInterrupt = 5'000;
  auto spec = spec_of("batch", "serialized", 100);
  spec.batch.interrupt_time = kInterrupt * 1ns;
  GpuBench b(spec, {{100, 7, 0}, {4'000, 8, 1}, {20'000, 9, 2}});
  CHECK(b.began(0) == begin_after(100) + kInterrupt);
  // The third batch contains the fault of 9 at the replay after the first batch.
  CHECK(counts(b) ==
        std::vector<Counts>{{.raw = 2, .faulted = 2}, {.raw = 1, .faulted = 1}, {.raw = 1, .duplicates = 1}});
  CHECK(b.began(1) == b.ended(0));
}

TEST_CASE("time line: a prefetch covers a fault during the batch, and a later access") {
  struct Case {
    std::string prefetch;
    std::int64_t pages;
  };
  for (auto const& c : {Case{"sequential", 3}, Case{"tree", 8}}) {
    CAPTURE(c.prefetch);
    auto spec = spec_of("page", "serialized", 100);
    spec.batch.prefetched_page_time = kPrefetchedWork * 1ns;  // prefetched pages have their own time
    // The next two pages; or the surrounding 64 KiB, in which 7 to 14 are valid.
    spec.batch.prefetch = c.prefetch == "tree" ? PolicyChoice<Prefetcher>("tree")
                                               : test::chosen<Prefetcher>("sequential", {{"bytes", "8KiB"}});
    GpuBench b(spec, {{100, 7, 0}, {20'000, 9, 1}, {90'000, 8, 2}});
    auto const worked = worked_after(begin_after(100), 1, true) + (c.pages - 1) * kPrefetchedWork;
    auto const ended = landed_after(worked, c.pages);
    CHECK(b.done() == Times{landed_after(worked, 1) + 1, landed_after(worked, 3) + 1, 90'000});
    CHECK(b.times(Seen::fault) == Times{100, 20'000});
    CHECK(b.ended(0) == ended);
    CHECK(counts(b) ==
          std::vector<Counts>{{.raw = 1, .faulted = 1, .prefetched = static_cast<std::uint64_t>(c.pages - 1)},
                              {.raw = 1, .duplicates = 1}});
    CHECK(b.ended(1) == ended + kTime);  // nothing to do for the second fault
    CHECK(b.batches()[0].bytes_in == static_cast<std::uint64_t>(c.pages) * 4096);
    CHECK(b.driver.state().stats[0].prefetched_pages == static_cast<std::uint64_t>(c.pages - 1));
  }
}

TEST_CASE("time line: no page is prefetched if the batch would exceed the GPU's frames") {
  // Page 7 and the seven pages after it; then 519 with 520, with one free frame fewer.
  for (std::uint64_t const frames : {7U, 8U, 9U, 10U}) {
    CAPTURE(frames);
    auto spec = spec_of("batch", "serialized", frames);
    spec.batch.prefetch.choose("tree");
    GpuBench b(spec, {{100, 7, 0}, {101, 519, 1}});
    auto const prefetched = frames < 8 ? 1U : frames < 10 ? 7U : 8U;
    Counts const expected{.raw = 2, .faulted = 2, .prefetched = prefetched, .evicted = frames == 8 ? 1U : 0U};
    CHECK(counts(b)[0] == expected);
  }
}

TEST_CASE("time line: without a prefetch, the same faults take one batch each") {
  GpuBench b(spec_of("page", "serialized", 100), {{100, 7, 0}, {20'000, 9, 1}, {90'000, 8, 2}});
  auto const second = landed_after(worked_after(kLanded, 1, false), 1);
  auto const third = landed_after(worked_after(begin_after(90'000), 1, false), 1);
  CHECK(b.done() == Times{kLanded + 1, second + 1, third + 1});
}

}  // namespace batch_timelines_test
