// SPDX-License-Identifier: Apache-2.0
// Batches of several GPUs that are served side by side (driver.batch.workers): times of batches that overlap,
// locks of VA blocks, pages and frames that workers wait for.
#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "batch_workers_bench.hpp"
#include "choices.hpp"
#include "policies.hpp"

namespace batch_workers_test {

using namespace farfault;
using namespace farfault::batch_workers_bench;

namespace {

// All pages are in one VA block, which the driver works on for 5 us per batch.
PagingDriverSpec with_block_time(PagingDriverSpec spec) {
  spec.batch.block_time = 4us;
  spec.batch.page_time = 1us;
  return spec;
}

}  // namespace

TEST_CASE("workers: batches of two GPUs that fault at once overlap with two workers, and not with one") {
  std::vector<Faults> const story{{Time{100us}, 0, {{7}}}, {Time{100us}, 1, {{8}}}};
  auto const took = kWorkBegins + kCopy - kBegins;
  Story const two(with_workers(2, machine(2, 2)), story);
  CHECK(began(two) == Times{100'000 + kBegins, 100'000 + kBegins});
  CHECK(ended(two) == Times{100'000 + kBegins + took, 100'000 + kBegins + took});
  CHECK(two.state().work.busy_ps() == static_cast<std::uint64_t>(2 * took) * 1000);
  CHECK(gpus(two) == std::vector<std::uint64_t>{0, 1});
  Story const one(with_workers(1, machine(2, 2)), story);
  CHECK(began(one) == Times{100'000 + kBegins, 100'000 + kBegins + took});
  CHECK(ended(one) == Times{100'000 + kBegins + took, 100'000 + kBegins + 2 * took});
  CHECK(one.state().work.busy_ps() == two.state().work.busy_ps());
}

TEST_CASE("workers: the third GPU gets the lowest-numbered worker that becomes idle") {
  std::vector<Faults> const story{
      {Time{100us}, 2, {{9}}}, {Time{101us}, 1, {{8}}}, {Time{102us}, 0, {{7}}}, {Time{102us}, 2, {{10}}}};
  Story const b(with_workers(2, machine(3, 2)), story);
  auto const took = kWorkBegins + kCopy - kBegins;
  // GPU 2's buffer is read again after GPU 0's, because GPU 0 has interrupted.
  CHECK(gpus(b) == std::vector<std::uint64_t>{2, 1, 0, 2});
  CHECK(began(b) == Times{100'001, 101'001, 100'001 + took, 101'001 + took});
  CHECK(ended(b) == Times{100'001 + took, 101'001 + took, 100'001 + 2 * took, 101'001 + 2 * took});
}

TEST_CASE("workers: the driver reports what each worker waits for") {
  auto const spec = with_workers(3, machine(3, 1));
  PagingDriverState s;
  s.memory = DriverMemory(spec);
  s.batch = BatchClient(spec);
  s.evictions = EvictionClient(spec);
  CHECK(s.batch.waiting_for(spec, s).empty());
  auto const set = [&](std::size_t worker, BatchPhase to, std::uint64_t of) {
    auto [interrupts, prefetch, workers, of_gpu, thrashing, done] = s.batch.members();
    auto [phase, gpu, expected, faults, begins, timer, pages, record] = workers[worker].members();
    phase = to;
    gpu = of;
  };
  set(0, BatchPhase::reading, 1);
  set(1, BatchPhase::interrupted, 0);
  set(2, BatchPhase::serving, 2);
  CHECK(s.batch.waiting_for(spec, s) ==
        ", the fault buffer of gpu1 being read, an interrupt of gpu0, a batch of gpu2: 0 of 0 pages mapped, "
        "0 in "
        "transfer, 1 frames free, 0 units being evicted");
}

TEST_CASE("block locks: of two GPUs that want a block at the same time, the lower-numbered one is first") {
  for (bool const listed_first : {false, true}) {
    CAPTURE(listed_first);
    // The messages of the GPU that is listed first arrive first.
    std::vector<Faults> story{{Time{100us}, 0, {{7}}}, {Time{100us}, 1, {{8}}}};
    if (!listed_first) std::swap(story[0], story[1]);
    Story const b(with_workers(2, with_block_time(machine(2, 2))), story);
    auto const worked = 100'000 + kWorkBegins + 5'000;
    CHECK(gpus(b) == std::vector<std::uint64_t>{0, 1});
    CHECK(ended(b) == Times{worked + kCopy, worked + 5'000 + kCopy});
    CHECK(lock_wait(b) == 5'000);
  }
}

TEST_CASE("block locks: the worker that wants a block first gets it, and no other block waits") {
  // GPU 1 wants the block 1 us before GPU 0.
  Story const b(with_workers(2, with_block_time(machine(2, 2))),
                {{Time{100us}, 0, {{7}}}, {Time{99us}, 1, {{8}}}});
  auto const worked = 99'000 + kWorkBegins + 5'000;
  CHECK(gpus(b) == std::vector<std::uint64_t>{1, 0});
  CHECK(ended(b) == Times{worked + kCopy, worked + 5'000 + kCopy});
  CHECK(lock_wait(b) == 4'000);
  // GPU 1's page is in the next block.
  auto const spec = with_workers(2, with_block_time(with_next_block(machine(2, 2))));
  Story const apart(spec, {{Time{100us}, 0, {{7}}}, {Time{99us}, 1, {{520}}}});
  CHECK(ended(apart) == Times{worked + kCopy, worked + 1'000 + kCopy});
  CHECK(lock_wait(apart) == 0);
}

TEST_CASE(
    "block locks: a batch that is planned just after another one has ended waits for the end of its work") {
  auto spec = with_workers(2, with_copies(machine(2, 2)));
  spec.batch.time = Duration::zero();
  spec.batch.block_time = 10us;
  spec.batch.page_time = 1us;
  // GPU 0 writes its copy of page 7 in place, so its batch ends with the driver's work. GPU 1's buffer is
  // read from 1 ns before that until 1 ns after it.
  constexpr std::int64_t kEnd = 1'000'001 + 11'000;
  Story const b(spec, {{Time{100us}, 0, {{7}}},
                       {Time{1000us}, 0, {{7, kWrite}}},
                       {Time{(kEnd - 2) * 1ns}, 1, {{8, kWrite}}}});
  CHECK(gpus(b) == std::vector<std::uint64_t>{0, 0, 1});
  CHECK(began(b)[2] == kEnd - 1);
  CHECK(ended(b)[1] == kEnd);
  CHECK(ended(b)[2] == kEnd + 11'000 + kCopy);
  CHECK(lock_wait(b) == 1);
}

TEST_CASE("workers: a page in flight to one GPU moves to the next one after it has arrived") {
  Story const b(with_workers(2, machine(2, 1)), {{Time{100us}, 0, {{7}}}, {Time{100us}, 1, {{7}}}});
  auto const first = 100'000 + kWorkBegins + kCopy;
  CHECK(gpus(b) == std::vector<std::uint64_t>{0, 1});
  CHECK(began(b) == Times{100'001, 100'001});
  CHECK(ended(b) == Times{first, first + 10'000 + kUnmap + kCopy});  // least_stay
  CHECK(b.home(7) == 1);
  CHECK(b.state().memory.frames(0).available() == 1);
}

TEST_CASE("workers: a page that a higher-numbered worker maps at once is taken at the same time") {
  auto spec = with_workers(2, with_copies(with_next_block(machine(2, 3))));
  spec.batch.block_time = 50us;
  // GPU 1 has a copy of page 520. It begins to write it in place, after page 8, before GPU 0's second batch
  // wants it; but GPU 0 is the first to lock its block.
  Story const b(spec, {{Time{100us}, 1, {{520}}},
                       {Time{1000us}, 0, {{7}}},
                       {Time{1050us}, 0, {{520, kWrite}}},
                       {Time{1095us}, 1, {{8}, {520, kWrite}}}});
  auto const first = 1'000'000 + kWorkBegins + 50'000 + kCopy;
  auto const locked = first + 10'000 + 50'000;
  CHECK(gpus(b) == std::vector<std::uint64_t>{1, 0, 1, 0});
  CHECK(ended(b)[1] == first);
  CHECK(ended(b)[2] == locked + 50'000);
  CHECK(ended(b)[3] == locked + 50'000 + kUnmap + kCopy);
  CHECK(b.home(520) == 0);
}

TEST_CASE("workers: a prefetched page that has gone to another GPU meanwhile stays there") {
  auto spec = with_workers(2, machine(2, 6));
  spec.batch.prefetch.choose("sequential");
  spec.params.migrations = 3;  // two pages at a time, and one for an eviction
  // GPU 0 faults on page 7 and GPU 1 on page 8, and both prefetch all pages that follow.
  Story const b(spec, {{Time{100us}, 0, {{7}}}, {Time{100us}, 1, {{8}}}});
  for (std::uint64_t p = 7; p <= 12; ++p) CHECK(b.home(p) == (p == 8 ? 1 : 0));
  CHECK(b.state().stats[0].migrations == 7);
  REQUIRE(b.rows().size() == 2);
  auto const of_gpu = [&](std::uint64_t gpu) { return *std::ranges::find(b.rows(), gpu, &BatchRecord::gpu); };
  CHECK(of_gpu(0).prefetched_pages == 5);
  CHECK(of_gpu(1).prefetched_pages == 0);
  CHECK(of_gpu(1).faulted_pages == 1);
}

TEST_CASE(
    "workers: two full GPUs that want each other's pages end; the higher-numbered one gives its page back") {
  for (auto const& replay : test::names_of_known<FaultReplay>()) {
    if (!PolicyChoice<FaultReplay>(replay).facts().in_batches) continue;
    CAPTURE(replay);
    auto spec = with_workers(2, machine(2, 1));
    spec.batch.replay.choose(replay);
    // The least that a configuration may have: all pages except one full GPU's, and a unit.
    spec.frames_of_cpu = kPages;
    Story const b(
        spec,
        {{Time{100us}, 0, {{7}}}, {Time{100us}, 1, {{8}}}, {Time{500us}, 0, {{8}}}, {Time{500us}, 1, {{7}}}});
    REQUIRE(b.rows().size() == 4);
    // Both pages are unmapped when the driver's work is done. GPU 1's batch ends at once. GPU 0 evicts page 7
    // and gets page 8.
    auto const worked = 500'000 + kWorkBegins;
    auto const confirm = spec.batch.replay.facts().by_page ? 0 : kUnmap;
    CHECK(b.row(2).gpu == 1);
    CHECK(whole_ns(b.row(2).ended) == worked);
    CHECK(b.row(2).faulted_pages == 0);
    CHECK(b.row(3).gpu == 0);
    CHECK(whole_ns(b.row(3).ended) == worked + kUnmap + 2 * kCopy + confirm);
    CHECK(b.row(3).evicted_pages == 1);
    CHECK(b.home(7) == kFirstCpu);
    CHECK(b.home(8) == 0);
    CHECK(b.state().memory.frames(1).available() == 1);
    // The access to page 7 is answered with its place, or issued again.
    auto const& answers = b.responses->records();
    bool const is_answered = std::ranges::any_of(answers, [&](auto const& r) {
      return r.at > Time{worked * 1ns} && r.message.page == 7 && r.message.gpu == 1 &&
             device_of(r.message.frame) == 0;
    });
    CHECK(is_answered == spec.batch.replay.facts().by_page);
  }
}

TEST_CASE(
    "workers: of two full GPUs that want each other's pages, one gives back only the page of the other") {
  Story const b(with_workers(2, machine(2, 1)), {{Time{100us}, 0, {{7}}},
                                                 {Time{100us}, 1, {{8}}},
                                                 {Time{500us}, 0, {{8}}},
                                                 {Time{500us}, 1, {{7}, {9}}}});
  auto const worked = 500'000 + kWorkBegins;
  // GPU 0 evicts page 7 and gets page 8. Page 9 then moves from the CPU to GPU 1.
  CHECK(gpus(b) == std::vector<std::uint64_t>{0, 1, 0, 1});
  CHECK(ended(b)[2] == worked + kUnmap + 2 * kCopy);
  CHECK(ended(b)[3] == worked + kUnmap + 3 * kCopy);
  CHECK(b.row(3).faulted_pages == 1);
  CHECK(b.home(7) == kFirstCpu);
  CHECK(b.home(8) == 0);
  CHECK(b.home(9) == 1);
}

TEST_CASE("workers: a full GPU goes on when the work on a page that it writes in place is done") {
  auto const spec = with_workers(1, with_block_time(with_copies(with_next_block(machine(1, 1)))));
  // The GPU's only frame has a copy of page 520, in the second block.
  Story const b(spec, {{Time{100us}, 0, {{520}}}, {Time{500us}, 0, {{7}, {520, kWrite}}}});
  auto const worked = 500'000 + kWorkBegins + 2 * 5'000;
  CHECK(ended(b)[1] == worked + kUnmap + 2 * kCopy);
  CHECK(b.row(1).evicted_pages == 1);
  CHECK(b.home(520) == kFirstCpu);
}

TEST_CASE("workers: a GPU that will write a page in place has a victim soon, so no page is given back") {
  auto const spec = with_workers(2, with_block_time(with_copies(with_next_block(machine(3, 2)))));
  // GPU 0 has page 7 and, in the second block, page 520, whose copy GPU 2 has. GPU 1 has pages 8 and 9.
  Story const b(spec, {{Time{100us}, 0, {{520, kWrite}}},
                       {Time{100us}, 1, {{8, kWrite}, {9, kWrite}}},
                       {Time{250us}, 2, {{520}}},
                       {Time{400us}, 0, {{7, kWrite}}},
                       {Time{599us}, 1, {{7, kWrite}}},
                       {Time{600us}, 0, {{8, kWrite}, {9, kWrite}, {520, kWrite}}}});
  // GPU 1 works on the first block, then GPU 0 on both. Meanwhile, pages 7 to 9 wait for frames of each
  // other. GPU 0 evicts page 520 and gets page 8, then GPU 1 page 7. GPU 0 evicts page 8 for page 9.
  auto const worked = 599'000 + kWorkBegins + 5'000 + 6'000 + 5'000;
  CHECK(gpus(b) == std::vector<std::uint64_t>{0, 1, 2, 0, 1, 0});
  CHECK(ended(b)[4] == worked + kUnmap + 3 * kCopy);
  CHECK(ended(b)[5] == worked + 2 * kUnmap + 4 * kCopy);
  CHECK(b.row(5).evicted_pages == 2);
  CHECK(b.home(520) == kFirstCpu);
  CHECK(b.home(7) == 1);
  CHECK(b.home(8) == kFirstCpu);
  CHECK(b.home(9) == 0);
}

TEST_CASE("workers: no page is given back if a third GPU frees the frames") {
  // GPU 0 waits for page 7 to go to GPU 1, which waits for page 8 to go to GPU 2.
  Story const b(with_workers(3, machine(3, 1)), {{Time{100us}, 0, {{7}}},
                                                 {Time{100us}, 1, {{8}}},
                                                 {Time{500us}, 2, {{8}}},
                                                 {Time{500us}, 1, {{7}}},
                                                 {Time{500us}, 0, {{9}}}});
  auto const worked = 500'000 + kWorkBegins;
  CHECK(gpus(b) == std::vector<std::uint64_t>{0, 1, 2, 1, 0});
  CHECK(ended(b)[2] == worked + kCopy);
  CHECK(ended(b)[3] == worked + 2 * kCopy);
  CHECK(ended(b)[4] == worked + 3 * kCopy);
  for (auto const& r : b.rows()) CHECK(r.evicted_pages == 0);
  CHECK(b.home(7) == 1);
  CHECK(b.home(8) == 2);
  CHECK(b.home(9) == 0);
}

TEST_CASE("workers: random faults of full GPUs on few pages are all served, whatever the workers wait for") {
  std::mt19937 draw(51);
  auto const any = [&](std::uint64_t n) { return static_cast<std::uint64_t>(draw() % n); };
  for (int i = 0; i < 3000; ++i) {
    CAPTURE(i);
    auto const gpus = static_cast<std::uint32_t>(2 + any(3));
    auto const unit = any(2);
    auto spec = with_workers(static_cast<std::uint32_t>(1 + any(gpus)), machine(gpus, (1 + any(3)) << unit));
    auto& batch = spec.batch;
    std::vector<std::string> const replays{"page", "block", "batch", "batch_flush", "once"};
    std::vector<std::string> const schedules{"serialized", "unobtrusive", "ideal"};
    std::vector<std::string> const decisions{"migrate", "duplicate"};
    batch.replay.choose(replays[any(replays.size())]);
    batch.eviction_schedule.choose(schedules[any(schedules.size())]);
    batch.prefetch.choose(any(2) == 0 ? "none" : "sequential");
    batch.eviction_unit = ByteSize{std::uint64_t{4096} << unit};
    batch.block_time = static_cast<std::int64_t>(any(3)) * 10us;
    batch.least_stay = static_cast<std::int64_t>(any(2)) * 10us;
    spec.decide_by(PolicyChoice<PageDecision>(decisions[any(decisions.size())]));
    // A page that may be coalesced is not in the driver's table while it is in flight.
    spec.coalesces = !spec.makes_copies && any(2) == 0;
    spec.params.migrations = static_cast<std::uint32_t>((2U << unit) + 2 + any(8));
    spec.frames_of_cpu = kPages;
    spec.buffers = {{7, kPages}};
    std::vector<Faults> story;
    for (std::uint64_t n = 0; n < 40; ++n) {
      Faults f{
          Time{static_cast<std::int64_t>(1 + any(800)) * 1us}, static_cast<std::uint16_t>(any(gpus)), {}};
      for (auto k = 1 + any(4); k > 0; --k)
        f.faults.push_back({7 + any(kPages), any(3) == 0 ? Access::write : Access::read});
      story.push_back(f);
    }
    Story const b(spec, story);
    auto const& s = b.state();
    CHECK(s.transitions.in_flight() == 0);
    CHECK_FALSE(s.batch.is_serving());
    std::uint64_t homes = 0;
    for (std::uint64_t p = 7; p < 7 + kPages; ++p) homes += s.memory.home(p) ? 1 : 0;
    CHECK(homes == kPages);
    for (std::uint32_t g = 0; g < gpus; ++g) {
      std::uint64_t used = 0;
      for (std::uint64_t p = 7; p < 7 + kPages; ++p)
        used += s.memory.is_on(p, static_cast<DeviceId>(g)) ? 1 : 0;
      CHECK(used + s.memory.frames(g).available() == spec.frames_per_gpu);
    }
  }
}

}  // namespace batch_workers_test
