// SPDX-License-Identifier: Apache-2.0
// The fault buffer alone: records, merging, refusals, and the order of notifications.
#include "farfault/translation/fault_buffer.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace fault_buffer_test {

using namespace farfault;

namespace {

using Outcome = FaultBuffer::Outcome;
using Gpus = std::vector<std::uint16_t>;
using Notified = std::vector<std::pair<std::uint64_t, std::uint16_t>>;

FaultBuffer::Requester gpu(std::uint16_t number) {
  return {static_cast<NodeId>(10 + number), number};
}
Gpus release(FaultBuffer& f, std::uint64_t page) {
  Gpus gpus;
  f.release(f.record_of(page), [&](FaultBuffer::Requester const& r) { gpus.push_back(r.gpu); });
  return gpus;
}
Notified retry(FaultBuffer& f, std::set<std::uint64_t> const& mapped) {
  Notified notified;
  f.retry([&](std::uint64_t page, FaultBuffer::Requester const& r) {
    notified.emplace_back(page, r.gpu);
    return mapped.count(page) != 0;
  });
  return notified;
}

}  // namespace

TEST_CASE(
    "fault buffer: the first fault on a page is recorded, others are merged, and each GPU is notified once") {
  FaultBuffer f(2, 3);
  CHECK(f.add(7, gpu(1)) == Outcome::recorded);
  CHECK(f.page_of(f.record_of(7)) == 7);
  CHECK(f.add(7, gpu(0)) == Outcome::merged);
  CHECK(f.add(7, gpu(1)) == Outcome::merged);
  CHECK(f.add(8, gpu(1)) == Outcome::recorded);
  CHECK(f.in_use() == 2);
  CHECK(release(f, 7) == Gpus{1, 0});
  CHECK(release(f, 8) == Gpus{1});
  CHECK(f.in_use() == 0);
  CHECK(f.add(7, gpu(2)) == Outcome::recorded);
  CHECK(release(f, 7) == Gpus{2});
}

TEST_CASE(
    "fault buffer: a full buffer still merges; rejected requesters are asked to retry as entries become "
    "free") {
  FaultBuffer f(2, 3);
  f.add(1, gpu(0));
  f.add(2, gpu(0));
  CHECK(f.add(3, gpu(0)) == Outcome::refused);
  CHECK(f.add(4, gpu(1)) == Outcome::refused);
  CHECK(f.add(3, gpu(0)) == Outcome::refused);  // recorded once
  CHECK(f.add(1, gpu(2)) == Outcome::merged);
  CHECK(f.refused() == 2);
  release(f, 1);
  CHECK(retry(f, {1}) == Notified{{3, 0}});  // one free record, for one page
  CHECK(f.add(3, gpu(0)) == Outcome::recorded);
  release(f, 2);
  CHECK(retry(f, {1, 2}) == Notified{{4, 1}});
  CHECK(f.refused() == 0);
}

TEST_CASE(
    "fault buffer: rejected requesters of mapped pages are notified too, requesters of recorded pages "
    "later") {
  FaultBuffer f(2, 3);
  f.add(1, gpu(0));
  f.add(2, gpu(0));
  f.add(3, gpu(0));
  f.add(4, gpu(0));
  f.add(3, gpu(1));
  f.add(5, gpu(0));
  release(f, 1);
  CHECK(f.add(3, gpu(2)) == Outcome::recorded);  // from another GPU, in between
  // 3 has a record now, 4 is mapped, 3 again, 5 needs a record.
  CHECK(retry(f, {1, 4}) == Notified{{4, 0}, {5, 0}});
  CHECK(release(f, 3) == Gpus{2, 0, 1});
}

TEST_CASE("fault buffer: without any entry in use, all rejected requesters are notified") {
  FaultBuffer f(1, 2);
  f.add(1, gpu(0));
  f.add(2, gpu(0));
  f.add(3, gpu(1));
  f.add(4, gpu(1));
  release(f, 1);
  CHECK(retry(f, {1}) == Notified{{2, 0}, {3, 1}, {4, 1}});
  CHECK(f.refused() == 0);
}

TEST_CASE(
    "fault buffer: for any size and number of pages, every requester is notified when its page is mapped") {
  for (std::uint32_t const records : {1U, 2U, 7U, 64U}) {
    FaultBuffer f(records, 4);
    std::mt19937 random(records);
    std::set<std::uint64_t> mapped;
    std::set<std::pair<std::uint64_t, std::uint16_t>> waiting;
    std::deque<std::pair<std::uint64_t, std::uint16_t>> asks;
    std::deque<std::uint64_t> faults;
    for (std::uint64_t page = 0; page < 40; ++page)
      for (std::uint16_t g = 0; g < 4; ++g)
        if (random() % 2 == 0) asks.emplace_back(page, g);
    auto const replay = [&](std::uint64_t page, FaultBuffer::Requester const& r) {
      CHECK(waiting.erase({page, r.gpu}) == 1);
      if (mapped.count(page) == 0) asks.emplace_back(page, r.gpu);
      return mapped.count(page) != 0;
    };
    std::uint64_t steps = 0;
    for (; !asks.empty() || !faults.empty(); ++steps) {
      REQUIRE(steps < 100'000);
      if (!asks.empty() && (faults.empty() || random() % 2 == 0)) {
        auto const [page, g] = asks.front();
        asks.pop_front();
        if (mapped.count(page) != 0) continue;
        waiting.insert({page, g});
        if (f.add(page, gpu(g)) == Outcome::recorded) faults.push_back(page);
        CHECK(f.in_use() <= records);
        continue;
      }
      auto const page = faults.front();
      faults.pop_front();
      mapped.insert(page);
      f.release(f.record_of(page), [&](FaultBuffer::Requester const& r) { replay(page, r); });
      f.retry(replay);
    }
    CHECK(waiting.empty());
    CHECK(f.refused() == 0);
    CHECK(mapped.size() > 30);
  }
}

}  // namespace fault_buffer_test
