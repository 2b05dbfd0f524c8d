// SPDX-License-Identifier: Apache-2.0
// Locks of VA blocks between batches that are served side by side: the plan of the driver's work alone.
#include "farfault/paging/block_locks.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace block_locks_test {

using namespace farfault;

namespace {

using Times = std::vector<std::int64_t>;

// The blocks' work of two batches that begin at the given times, planned in this order; ends of the work, by
// batch and block.
struct Planned {
  struct Work {
    std::uint64_t gpu;
    std::int64_t begins;
    std::vector<IncomingBlock> blocks;
  };
  explicit Planned(std::vector<Work> const& all, std::int64_t now = 0) : workers(all.size()) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      auto [phase, gpu, expected, faults, begins, timer, pages, record] = workers[i].members();
      phase = BatchPhase::serving;
      gpu = all[i].gpu;
      begins = Time{all[i].begins * 1us};
      for (auto const& block : all[i].blocks) pages.end_block(block);
      lock_blocks(workers, {}, Time{now * 1us});
    }
  }
  std::vector<Times> ends() const {
    std::vector<Times> all;
    for (auto const& w : workers) {
      all.emplace_back();
      for (auto const& block : w.incoming().blocks())
        all.back().push_back(picoseconds(block.worked) / 1'000'000);
    }
    return all;
  }
  std::vector<BatchWorker> workers;
};
IncomingBlock block(std::uint64_t first, std::int64_t us) {
  return {.first = first, .takes = us * 1us};
}

}  // namespace

TEST_CASE("block locks: a batch's later blocks follow the one that it waited for") {
  Planned const p({{0, 10, {block(512, 5), block(1024, 3)}}, {1, 12, {block(512, 4), block(1024, 2)}}});
  CHECK(p.ends() == std::vector<Times>{{15, 18}, {19, 21}});
  CHECK(lock_wait(p.workers[0]) == 0us);
  CHECK(lock_wait(p.workers[1]) == 3us);
}

TEST_CASE("block locks: a new batch changes the plan of work that has not begun") {
  // GPU 3 wants block 1024 at 20 us, and so does GPU 0, which is planned later.
  std::vector<Planned::Work> const all{{3, 10, {block(512, 10), block(1024, 6)}}, {0, 20, {block(1024, 5)}}};
  CHECK(Planned(all).ends() == std::vector<Times>{{20, 31}, {25}});
  CHECK(Planned(all, 20).ends() == std::vector<Times>{{20, 31}, {25}});
  // At 22 us, GPU 3's work on the block has begun.
  CHECK(Planned(all, 22).ends() == std::vector<Times>{{20, 26}, {31}});
}

TEST_CASE("block locks: work that has begun keeps its time") {
  std::vector<BatchWorker> workers(2);
  auto const plan = [&](std::size_t i, std::uint64_t of, std::int64_t at, Time now) {
    auto [phase, gpu, expected, faults, begins, timer, pages, record] = workers[i].members();
    phase = BatchPhase::serving;
    gpu = of;
    begins = Time{at * 1us};
    pages.end_block(block(512, 10));
    lock_blocks(workers, {}, now);
  };
  plan(0, 7, 10, Time{5us});
  plan(1, 2, 8, Time{11us});  // its buffer was read slowly
  CHECK(workers[0].work_ends() == Time{20us});
  CHECK(workers[1].work_ends() == Time{30us});
  CHECK(lock_wait(workers[1]) == 12us);
}

TEST_CASE("block locks: work of a batch that has ended keeps its time") {
  std::vector<BatchWorker> workers(1);
  auto [phase, gpu, expected, faults, begins, timer, pages, record] = workers[0].members();
  phase = BatchPhase::serving;
  begins = Time{95us};  // its buffer was read slowly, until 101 us
  pages.end_block(block(512, 4));
  pages.end_block(block(1024, 2));
  std::vector<IncomingBlock> done{block(512, 10), block(1024, 1), block(1536, 2)};
  done[0].worked = Time{100us};
  done[1].worked = Time{105us};
  done[2].worked = Time{103us};  // on another block
  lock_blocks(workers, done, Time{101us});
  CHECK(pages.blocks()[0].worked == Time{104us});
  CHECK(pages.blocks()[1].worked == Time{107us});
  CHECK(lock_wait(workers[0]) == 6us);
}

TEST_CASE("block locks: work without a time needs no lock") {
  Planned const p({{0, 10, {block(512, 0)}}, {1, 10, {block(512, 4)}}, {2, 12, {block(512, 0)}}});
  CHECK(p.ends() == std::vector<Times>{{10}, {14}, {14}});
  // GPU 2's buffer is read slowly, until 13 us.
  Planned const late({{7, 12, {block(512, 0)}}, {2, 10, {block(512, 4)}}}, 13);
  CHECK(late.ends() == std::vector<Times>{{12}, {14}});
}

}  // namespace block_locks_test
