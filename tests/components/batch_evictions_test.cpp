// SPDX-License-Identifier: Apache-2.0
// Time lines of batches on a full GPU: each page needs an eviction, under each eviction schedule.
#include <doctest/doctest.h>

#include <algorithm>

#include "batch_bench.hpp"

namespace batch_evictions_test {

using namespace farfault;
using namespace farfault::batch_bench;

namespace {

// Pages 7, 8 and 9 migrate and fill the GPU; 10, 11 and 12 fault later.
std::vector<PageAccess> const kTwice{{100, 7, 0},      {101, 8, 0},      {102, 9, 0},
                                     {200'000, 10, 0}, {200'001, 11, 0}, {200'002, 12, 0}};
constexpr auto kBegan = begin_after(200'000);
constexpr auto kRead = read_after(kBegan, 3);
constexpr auto kWorked = kBegan + kTime + kBlock + 3 * kPageWork;

// From an order to its completion at the driver, for an order that takes `time` at the other end.
constexpr std::int64_t ordered(std::int64_t time) {
  return 1 + time + 1;
}

Times last_three(Times const& all) {
  REQUIRE(all.size() == 6);
  return {all.begin() + 3, all.end()};
}

void check_sums(GpuBench const& b, std::uint64_t bytes_out) {
  CHECK(b.pages(Seen::reads_in) == Pages{7, 8, 9, 10, 11, 12});
  CHECK(counts(b) == std::vector<Counts>{{.raw = 3, .faulted = 3}, {.raw = 3, .faulted = 3, .evicted = 3}});
  CHECK(b.batches()[1].bytes_in == 3 * 4096);
  CHECK(b.batches()[1].bytes_out == bytes_out);
  CHECK(b.driver.state().stats[0].evicted_pages == 3);
  for (std::uint64_t const page : {7U, 8U, 9U})
    CHECK(device_of(b.driver.state().memory.table().find(page)->frame) == kFirstCpu);
  for (std::uint64_t const page : {10U, 11U, 12U})
    CHECK(device_of(b.driver.state().memory.table().find(page)->frame) == 0);
}

}  // namespace

TEST_CASE(
    "time line: serialized: each page waits for one unmapping and eviction, and no page arrives meanwhile") {
  for (auto const& gpu : {GpuTimes{}, GpuTimes{.out = 3'000}}) {
    GpuBench b(spec_of("page", "serialized", 3), kTwice, 8, gpu);
    auto const each = ordered(gpu.unmap) + ordered(gpu.out) + ordered(gpu.in);
    CHECK(b.pages(Seen::writes_out) == Pages{7, 8, 9});
    Times leaves, comes, done;
    for (std::int64_t k = 0; k < 3; ++k) {
      leaves.push_back(kWorked + k * each + ordered(gpu.unmap) + 1);
      comes.push_back(leaves.back() - 1 + ordered(gpu.out) + 1);
      done.push_back(kWorked + (k + 1) * each + 1);
    }
    CHECK(b.times(Seen::writes_out) == leaves);
    CHECK(last_three(b.times(Seen::reads_in)) == comes);
    CHECK(last_three(b.done()) == done);
    CHECK(b.ended(1) == kWorked + 3 * each);
    CHECK(b.batches()[1].first_transfer == Time{(comes[0] - 1) * 1ns});
    check_sums(b, 3 * 4096);
  }
}

TEST_CASE(
    "time line: unobtrusive: the first page is evicted during the driver's work, further ones overlap with "
    "arrivals") {
  for (auto const& gpu : {GpuTimes{}, GpuTimes{.out = 600}, GpuTimes{.out = 3'000}}) {
    CAPTURE(gpu.out);
    GpuBench b(spec_of("page", "unobtrusive", 3), kTwice, 8, gpu);
    CHECK(b.pages(Seen::writes_out) == Pages{7, 8, 9});
    // The first eviction starts when the batch is known. The second and the third page are unmapped when the
    // first page starts to migrate, and the third waits at the copy engine.
    auto const first_out = kRead + ordered(gpu.unmap) + 1;
    auto const next_out = kWorked + ordered(gpu.unmap) + 1;
    CHECK(b.times(Seen::writes_out) == Times{first_out, next_out, next_out});
    // The second page starts to migrate when the second eviction is complete. Evictions use the other
    // direction of the link, so they overlap with the first migration.
    Times const comes{kWorked + 1, next_out + gpu.out + 1 + 1, next_out + 2 * gpu.out + 1 + 1};
    CHECK(last_three(b.times(Seen::reads_in)) == comes);
    Times done;
    for (std::int64_t free = 0; auto const at : comes) {
      free = std::max(free, at) + gpu.in;
      done.push_back(free + 1 + 1);
    }
    CHECK(last_three(b.done()) == done);
    CHECK(b.ended(1) == done.back() - 1);
    // If evictions are faster than migrations, no page has waited for a frame.
    CHECK((b.ended(1) == kWorked + 1 + 3 * gpu.in + 1) == (gpu.unmap + gpu.out + 4 < gpu.in));
    CHECK(b.batches()[1].first_transfer == Time{kWorked * 1ns});
    check_sums(b, 3 * 4096);
  }
}

TEST_CASE(
    "time line: ideal: pages are unmapped as with unobtrusive eviction, and evicted in no time without a "
    "transfer") {
  GpuTimes const gpu;
  GpuBench b(spec_of("page", "ideal", 3), kTwice, 8, gpu);
  CHECK(b.pages(Seen::writes_out).empty());
  // The first three pages; then the next three with the first victim; the other victims when the first page
  // starts to migrate.
  auto const first_read = read_after(begin_after(100), 3) + 1;
  CHECK(b.pages(Seen::unmap) == Pages{7, 8, 9, 10, 11, 12, 7, 8, 9});
  CHECK(b.times(Seen::unmap) == Times{first_read, first_read, first_read, kRead + 1, kRead + 1, kRead + 1,
                                      kRead + 1, kWorked + 1, kWorked + 1});
  CHECK(last_three(b.times(Seen::reads_in)) ==
        Times{kWorked + 1, kWorked + ordered(gpu.unmap) + 1, kWorked + ordered(gpu.unmap) + 1});
  CHECK(b.ended(1) == kWorked + 1 + 3 * gpu.in + 1);
  check_sums(b, 0);
}

TEST_CASE("time line: under any schedule, a page waits for its frame even after the driver's work is done") {
  // Unmapping takes longer than the driver's work.
  GpuTimes const gpu{.unmap = 50'000};
  for (std::string const schedule : {"unobtrusive", "ideal"}) {
    CAPTURE(schedule);
    GpuBench b(spec_of("page", schedule, 3), kTwice, 8, gpu);
    auto const unmapped = kRead + ordered(gpu.unmap);
    auto const comes = last_three(b.times(Seen::reads_in));
    CHECK(comes[0] == unmapped + (schedule == "ideal" ? 0 : ordered(gpu.out)) + 1);
    CHECK(b.done()[3] == comes[0] + gpu.in + 1 + 1);
  }
}

TEST_CASE("time line: without per-page replay, a mapped page can still be evicted for the next page") {
  GpuTimes const gpu;
  GpuBench b(spec_of("batch", "serialized", 3), kTwice, 8, gpu);
  // The next eviction begins as soon as no page is transferred.
  auto const each = ordered(gpu.unmap) + ordered(gpu.out) + ordered(gpu.in);
  CHECK(b.ended(1) == kWorked + 3 * each + ordered(gpu.map));
  CHECK(last_three(b.done()) == Times(3, b.ended(1) + kNotify + 1));
}

TEST_CASE(
    "time line: a unit is evicted as a whole, page by page, and no page arrives before its last eviction") {
  auto spec = spec_of("page", "serialized", 4);
  spec.batch.eviction_unit = ByteSize{4 * 4096};
  GpuTimes const gpu{.out = 5'000};
  // Pages 8 to 11 are a unit; 519 and 520 are in another one.
  GpuBench b(spec, {{100, 8, 0}, {101, 9, 0}, {102, 10, 0}, {103, 11, 0}, {200'000, 519, 0}}, 8, gpu);
  auto const worked = kBegan + kTime + kFirstTouch + kBlock + kPageWork;
  CHECK(b.pages(Seen::writes_out) == Pages{8, 9, 10, 11});
  CHECK(b.times(Seen::writes_out) == Times(4, worked + ordered(gpu.unmap) + 1));
  auto const free = worked + ordered(gpu.unmap) + ordered(4 * gpu.out);
  CHECK(b.times(Seen::reads_in)[4] == free + 1);
  CHECK(b.ended(1) == free + ordered(gpu.in));
  CHECK(counts(b) == std::vector<Counts>{{.raw = 4, .faulted = 4}, {.raw = 1, .faulted = 1, .evicted = 4}});
  CHECK(b.batches()[1].bytes_out == 4 * 4096);
  CHECK(b.driver.state().stats[0].evicted_pages == 4);
  CHECK(b.driver.state().memory.frames(0).available() == 3);
}

TEST_CASE("time line: unobtrusive and ideal: the first frame of a unit is used as soon as it is free") {
  for (std::string const schedule : {"unobtrusive", "ideal"}) {
    CAPTURE(schedule);
    auto spec = spec_of("page", schedule, 4);
    spec.batch.eviction_unit = ByteSize{4 * 4096};
    // Unmapping takes longer than the driver's work.
    GpuTimes const gpu{.unmap = 50'000, .out = 5'000};
    GpuBench b(spec, {{100, 8, 0}, {101, 9, 0}, {102, 10, 0}, {103, 11, 0}, {200'000, 519, 0}}, 8, gpu);
    auto const free =
        read_after(kBegan, 1) + ordered(gpu.unmap) + (schedule == "ideal" ? 0 : ordered(gpu.out));
    CHECK(b.times(Seen::reads_in)[4] == free + 1);
    // The batch ends with the last eviction of the unit, although its page arrived earlier.
    CHECK(b.done()[4] == free + ordered(gpu.in) + 1);
    CHECK(b.ended(1) == free + (schedule == "ideal" ? ordered(gpu.in) : 3 * gpu.out));
    CHECK(counts(b) == std::vector<Counts>{{.raw = 4, .faulted = 4}, {.raw = 1, .faulted = 1, .evicted = 4}});
    CHECK(b.driver.state().memory.frames(0).available() == 3);
  }
}

TEST_CASE(
    "time line: a unit with an arriving page is not evicted, even if it is first in the eviction order") {
  auto spec = spec_of("page", "serialized", 2);
  spec.batch.eviction_unit = ByteSize{4 * 4096};
  GpuBench b(spec, {{100, 8, 0}, {200'000, 519, 0}, {400'000, 9, 0}});
  CHECK(b.pages(Seen::writes_out) == Pages{519});
  CHECK(device_of(b.driver.state().memory.table().find(8)->frame) == 0);
}

TEST_CASE(
    "time line: if pages of every resident unit are arriving, one unit is evicted anyway, and no page waits "
    "forever") {
  for (std::string const schedule : {"serialized", "unobtrusive", "ideal"}) {
    CAPTURE(schedule);
    auto spec = spec_of("page", schedule, 2);
    spec.batch.eviction_unit = ByteSize{4 * 4096};
    GpuBench b(spec, {{100, 8, 0}, {101, 12, 0}, {200'000, 9, 0}, {200'001, 13, 0}});
    // When 13 needs a frame, the unit of 9 is the only one without a pending migration.
    CHECK(device_of(b.driver.state().memory.table().find(8)->frame) == kFirstCpu);
    CHECK(device_of(b.driver.state().memory.table().find(9)->frame) == kFirstCpu);
    CHECK(b.pages(Seen::reads_in) == Pages{8, 12, 9, 13});
    CHECK(counts(b) == std::vector<Counts>{{.raw = 2, .faulted = 2}, {.raw = 2, .faulted = 2, .evicted = 2}});
  }
}

TEST_CASE("time line: with 'aged_lru', the unit without a new page for the longest time is evicted") {
  auto spec = spec_of("page", "serialized", 3);
  spec.batch.eviction_unit = ByteSize{4 * 4096};
  // Order: 8, then 519, then 9 of the unit of 8. The unit of 519 is the oldest when 12 arrives.
  GpuBench b(spec, {{100, 8, 0}, {200'000, 519, 0}, {400'000, 9, 0}, {600'000, 12, 0}, {800'000, 520, 0}});
  CHECK(b.pages(Seen::writes_out) == Pages{519, 8, 9});
}

TEST_CASE(
    "time line: an access to an evicted page faults again, and the page counts as a premature eviction") {
  GpuBench b(spec_of("page", "serialized", 1), {{100, 7, 0}, {200'000, 8, 0}, {400'000, 7, 1}});
  CHECK(b.pages(Seen::reads_in) == Pages{7, 8, 7});
  CHECK(b.pages(Seen::writes_out) == Pages{7, 8});
  CHECK(b.pages(Seen::fault) == Pages{7, 8, 7});
  CHECK(b.driver.state().evictions.counts().premature == 1);
  // A lifetime is from the arrival of a page to the completed transfer of its eviction.
  auto const arrived = [&](std::size_t batch) { return b.ended(batch); };
  auto const left = [&](std::size_t k) { return b.times(Seen::writes_out)[k] + GpuTimes{}.out + 1; };
  CHECK(b.driver.state().evictions.counts().lifetime_ps ==
        static_cast<std::uint64_t>((left(0) - arrived(0) + left(1) - arrived(1)) * 1000));
}

}  // namespace batch_evictions_test
