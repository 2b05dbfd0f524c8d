// SPDX-License-Identifier: Apache-2.0
// Pages that stay on a GPU while others want them: until accesses to them are replayed, and, if they thrash,
// for a time.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "batch_workers_bench.hpp"
#include "policies.hpp"

namespace batch_stays_test {

using namespace farfault;
using namespace farfault::batch_workers_bench;

TEST_CASE("stays: a page stays until accesses to it are replayed, and for the minimum time after that") {
  auto const first_transfer = [](std::string const& replay, Duration least_stay) {
    auto spec = with_workers(2, with_next_block(machine(2, 4)));
    spec.batch.replay.choose(replay);
    spec.batch.block_time = 50us;
    spec.batch.least_stay = least_stay;
    Story const b(spec, {{Time{100us}, 0, {{7, kWrite}, {520, kWrite}}}, {Time{101us}, 1, {{7, kWrite}}}});
    CHECK(gpus(b) == std::vector<std::uint64_t>{0, 1});
    CHECK(b.home(7) == 1);
    return whole_ns(b.row(1).first_transfer);
  };
  // GPU 0 maps page 7 after the first block, and page 520 after the second one. The buffer is found empty two
  // links later.
  constexpr auto kMapped = 100'000 + kWorkBegins + 50'000 + kCopy + kUnmap;
  for (Duration const stay : {Duration(1ns), Duration(10us), Duration(30us)}) {
    auto const moves = kMapped + picoseconds(stay) / 1000 + kUnmap;
    CHECK(first_transfer("block", stay) == moves);
    CHECK(first_transfer("batch", stay) == moves + 50'000);
    CHECK(first_transfer("batch_flush", stay) == moves + 50'000);
    CHECK(first_transfer("once", stay) == moves + 50'000 + 2);
  }
  // With replay by page, accesses are replayed when the page arrives. GPU 1's work ends later than the least
  // time.
  CHECK(first_transfer("page", 1ns) == 100'000 + kWorkBegins + 2 * 50'000);
  for (Duration const stay : {10us, 30us})
    CHECK(first_transfer("page", stay) == kMapped + picoseconds(stay) / 1000);
}

TEST_CASE("stays: a prefetched page does not stay") {
  auto spec = with_workers(2, with_next_block(machine(2, 8)));
  spec.batch.replay.choose("batch");
  spec.batch.prefetch.choose("sequential");
  spec.batch.block_time = 50us;
  // GPU 0 prefetches page 9. GPU 1 takes it as soon as it is mapped there.
  Story const b(spec, {{Time{100us}, 0, {{7, kWrite}, {520, kWrite}}}, {Time{101us}, 1, {{9, kWrite}}}});
  CHECK(gpus(b) == std::vector<std::uint64_t>{0, 1});
  CHECK(whole_ns(b.row(1).first_transfer) == 100'000 + kWorkBegins + 50'000 + kCopy + 2 * kUnmap);
  CHECK(b.home(9) == 1);
}

TEST_CASE("stays: a page that its GPU has evicted does not stay") {
  auto spec = with_workers(2, with_next_block(machine(2, 1)));
  spec.batch.replay.choose("batch");
  spec.batch.block_time = 50us;
  // GPU 0 evicts page 7 for page 520 of the same batch.
  Story const b(spec, {{Time{100us}, 0, {{7, kWrite}, {520, kWrite}}}, {Time{101us}, 1, {{7, kWrite}}}});
  CHECK(b.row(0).gpu == 0);
  CHECK(b.row(0).evicted_pages == 1);
  CHECK(b.row(1).first_transfer < b.row(0).ended);
  CHECK(b.home(7) == 1);
}

TEST_CASE("stays: a read that waits for a replay makes a copy after it") {
  auto spec = with_workers(2, with_next_block(with_copies(machine(2, 4))));
  spec.batch.replay.choose("batch");
  spec.batch.block_time = 50us;
  Story const b(spec, {{Time{100us}, 0, {{7, kWrite}, {520, kWrite}}}, {Time{101us}, 1, {{7}}}});
  CHECK(gpus(b) == std::vector<std::uint64_t>{0, 1});
  CHECK(b.row(1).first_transfer > b.row(0).ended + spec.batch.least_stay);
  CHECK(b.home(7) == 0);
  CHECK(b.has_copy(7, 1));
}

TEST_CASE(
    "stays: a write that waits for a replay is decided once; a read of a page with copies does not wait") {
  auto const rows = [](Access access, std::uint64_t writes) {
    auto spec = with_workers(2, with_next_block(with_copies(machine(2, 4))));
    spec.decides_alone = true;
    spec.batch.replay.choose("batch");
    spec.batch.block_time = 50us;
    Story const b(spec, {{Time{100us}, 0, {{7}, {520}}}, {Time{101us}, 1, {{7, access}}}});
    CHECK(test::stat_of(b.driver, "memory.remote_touch", "writes") == writes);
    auto of_gpus = b.rows();
    std::ranges::sort(of_gpus, {}, &BatchRecord::gpu);
    return of_gpus;
  };
  // GPU 1's block is worked on after GPU 0's.
  auto const read = rows(Access::read, 0);
  CHECK(whole_ns(read[1].first_transfer) == 100'000 + kWorkBegins + 2 * 50'000);
  auto const write = rows(kWrite, 1);
  CHECK(write[1].first_transfer > write[0].ended);
}

TEST_CASE("stays: of two GPUs that wait for each other's replays, the lower-numbered one does not wait") {
  auto spec = with_workers(2, with_next_block(machine(2, 4)));
  spec.batch.replay.choose("once");
  Story const b(spec, {{Time{100us}, 0, {{520, kWrite}}},
                       {Time{100us}, 1, {{7, kWrite}}},
                       {Time{120us}, 0, {{7, kWrite}}},
                       {Time{120us}, 1, {{520, kWrite}}}});
  // Each GPU's second batch begins before its first page's accesses are replayed.
  CHECK(gpus(b) == std::vector<std::uint64_t>{0, 1, 0, 1});
  CHECK(b.home(7) == 0);
  CHECK(b.home(520) == 1);
  CHECK(b.row(2).ended < b.row(3).first_transfer);
}

TEST_CASE(
    "stays: of three GPUs that wait for each other's replays in a circle, only the first does not wait") {
  auto spec = with_workers(3, machine(3, 4));
  spec.batch.replay.choose("once");
  Story const b(spec, {{Time{100us}, 0, {{7, kWrite}}},
                       {Time{100us}, 1, {{8, kWrite}}},
                       {Time{100us}, 2, {{9, kWrite}}},
                       {Time{120us}, 0, {{8, kWrite}}},
                       {Time{120us}, 1, {{9, kWrite}}},
                       {Time{120us}, 2, {{7, kWrite}}}});
  CHECK(gpus(b) == std::vector<std::uint64_t>{0, 1, 2, 0, 2, 1});
  CHECK(b.home(8) == 0);
  CHECK(b.home(7) == 2);
  CHECK(b.home(9) == 1);
  CHECK(b.row(3).ended < b.row(4).first_transfer);
  CHECK(b.row(4).ended < b.row(5).first_transfer);
}

TEST_CASE("stays: a page that thrashes and has been evicted goes to the next GPU that wants it") {
  auto spec = with_workers(2, machine(2, 1));
  spec.batch.replay.choose("batch");
  spec.batch.thrashing_moves = 2;
  // Page 7 thrashes on GPU 0, which evicts it for page 8.
  Story const b(spec, {{Time{100us}, 0, {{7, kWrite}}},
                       {Time{300us}, 1, {{7, kWrite}}},
                       {Time{500us}, 0, {{7, kWrite}}},
                       {Time{700us}, 0, {{8, kWrite}}},
                       {Time{900us}, 1, {{7, kWrite}}}});
  CHECK(b.row(3).evicted_pages == 1);
  CHECK(b.state().batch.thrashing().throttled() == 0);
  CHECK(b.home(7) == 1);
}

TEST_CASE("stays: pages that are copied do not thrash") {
  auto spec = with_workers(2, with_copies(machine(2, 2)));
  spec.batch.replay.choose("batch");
  spec.batch.thrashing_moves = 1;
  std::vector<Faults> story;
  for (int i = 0; i < 6; ++i)
    story.push_back({Time{(100 + 100 * i) * 1us}, static_cast<std::uint16_t>(i % 2), {{7, kWrite}}});
  Story const b(spec, story);
  CHECK(b.home(7) == 1);
  CHECK(b.state().batch.thrashing().throttled() == 0);
}

TEST_CASE("stays: a page that thrashes stays on its GPU, and batches of other GPUs leave it there") {
  auto spec = with_workers(2, machine(2, 2));
  spec.batch.replay.choose("batch");
  spec.batch.thrashing_moves = 2;
  // Page 7 moves to GPU 0, 1 and 0, each time within the lapse of 500 us. It then stays there for 500 us: GPU
  // 1 leaves it, and gets page 8.
  std::vector<Faults> story{{Time{100us}, 0, {{7, kWrite}}},
                            {Time{300us}, 1, {{7, kWrite}}},
                            {Time{500us}, 0, {{7, kWrite}}},
                            {Time{700us}, 1, {{7, kWrite}, {8, kWrite}}},
                            {Time{900us}, 1, {{7, kWrite}}}};
  Story const b(spec, story);
  CHECK(b.home(7) == 0);
  CHECK(b.home(8) == 1);
  CHECK(b.state().batch.thrashing().throttled() == 2);
  REQUIRE(b.rows().size() == 5);
  CHECK(b.row(3).faulted_pages == 1);
  // A batch that leaves its only page takes the driver's work.
  CHECK(whole_ns(b.row(4).ended) == 900'000 + kWorkBegins);
  story.push_back({Time{2ms}, 1, {{7, kWrite}}});
  CHECK(Story(spec, story).home(7) == 1);
  spec.batch.thrashing_moves = 0;
  CHECK(Story(spec, story).state().batch.thrashing().throttled() == 0);
}

}  // namespace batch_stays_test
