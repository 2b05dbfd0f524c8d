// SPDX-License-Identifier: Apache-2.0
// Data structures of fault batches, each alone: fault-buffer entries, faults of a batch, and ordered eviction
// units.
#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <random>
#include <tuple>
#include <vector>

#include "choices.hpp"
#include "farfault/paging/fault_batch.hpp"
#include "farfault/paging/unit_list.hpp"
#include "farfault/translation/raw_faults.hpp"
#include "farfault/translation/utlb_faults.hpp"

namespace batch_records_test {

using namespace farfault;

namespace {

using Added = RawFaults::Added;
using Numbers = std::vector<std::uint64_t>;

RawFault raw(std::uint64_t page, std::uint16_t client = 0) {
  return {page, client, 0, {}};
}
Numbers drained(RawFaults& faults, std::uint32_t most) {
  Numbers pages;
  auto const taken = faults.drain(most, [&](RawFaults::Entry const& e) { pages.push_back(e.fault.page); });
  CHECK(taken == pages.size());
  return pages;
}
Numbers retried(RawFaults& faults) {
  Numbers pages;
  faults.retry([&](std::uint64_t page) { pages.push_back(page); });
  return pages;
}

FaultBatch::Entry entry(std::uint64_t page, std::int64_t raised, std::uint32_t client,
                        std::uint32_t application = 0) {
  return {page, Time{Duration{raised}}, client, application};
}

}  // namespace

TEST_CASE(
    "raw faults: the first entry raises an interrupt, and so does the first one after the buffer was found "
    "empty") {
  RawFaults faults(4);
  CHECK(faults.add(raw(7), Time{10ns}) == Added::interrupts);
  CHECK(faults.add(raw(8), Time{11ns}) == Added::written);
  CHECK(drained(faults, 4) == Numbers{7, 8});
  CHECK(faults.add(raw(9), Time{12ns}) == Added::written);  // the driver reads again
  CHECK(drained(faults, 4) == Numbers{9});
  CHECK(drained(faults, 4).empty());
  CHECK(faults.add(raw(10), Time{13ns}) == Added::interrupts);
  CHECK(faults.add(raw(11), Time{14ns}) == Added::written);
}

TEST_CASE(
    "raw faults: each reported fault has an entry; reading returns the requested number, oldest first") {
  RawFaults faults(4);
  faults.add(raw(9, 3), Time{10ns});
  faults.add(raw(7, 4), Time{11ns});
  faults.add(raw(9, 5), Time{12ns});
  CHECK(faults.size() == 3);
  std::vector<std::tuple<std::uint64_t, std::uint16_t, Time>> read;
  CHECK(faults.drain(2, [&](RawFaults::Entry const& e) {
    read.emplace_back(e.fault.page, e.fault.client, e.raised);
  }) == 2);
  CHECK(read == decltype(read){{9, 3, Time{10ns}}, {7, 4, Time{11ns}}});
  CHECK(faults.size() == 1);
  CHECK(drained(faults, 0).empty());
  CHECK(drained(faults, 2) == Numbers{9});
}

TEST_CASE(
    "raw faults: faults that find the buffer full are dropped, and each page is retried once, in order") {
  RawFaults faults(2);
  CHECK(faults.add(raw(7), Time{10ns}) == Added::interrupts);
  CHECK(faults.add(raw(8), Time{10ns}) == Added::written);
  CHECK(faults.add(raw(11), Time{10ns}) == Added::dropped);
  CHECK(faults.add(raw(7, 5), Time{10ns}) == Added::dropped);
  CHECK(faults.add(raw(11, 6), Time{10ns}) == Added::dropped);
  CHECK(faults.dropped_pages() == 2);
  CHECK(faults.size() == 2);
  CHECK(drained(faults, 1) == Numbers{7});
  CHECK(faults.add(raw(12), Time{11ns}) == Added::written);  // room for one
  CHECK(faults.add(raw(13), Time{11ns}) == Added::dropped);
  CHECK(retried(faults) == Numbers{11, 7, 13});
  CHECK(faults.dropped_pages() == 0);
  CHECK(retried(faults).empty());
}

TEST_CASE("raw faults: a page dropped again during the retries is remembered again") {
  RawFaults faults(1);
  faults.add(raw(7), Time{10ns});
  faults.add(raw(8), Time{10ns});
  faults.add(raw(9), Time{10ns});
  faults.retry([&](std::uint64_t page) { CHECK(faults.add(raw(page), Time{11ns}) == Added::dropped); });
  CHECK(retried(faults) == Numbers{8, 9});
}

TEST_CASE("raw faults: a replay of all pages discards the dropped faults and keeps all entries") {
  RawFaults faults(1);
  faults.add(raw(7), Time{10ns});
  faults.add(raw(8), Time{10ns});
  faults.replayed();
  CHECK(faults.dropped_pages() == 0);
  CHECK(retried(faults).empty());
  CHECK(drained(faults, 4) == Numbers{7});
}

TEST_CASE("raw faults: a flush empties the buffer, returns the number of entries, and arms no interrupt") {
  RawFaults faults(3);
  auto const ignored = [](RawFaults::Entry const&) {};
  faults.add(raw(7), Time{10ns});
  faults.add(raw(8), Time{11ns});
  std::vector<Time> raised;
  CHECK(faults.flush([&](RawFaults::Entry const& e) { raised.push_back(e.raised); }) == 2);
  CHECK(raised == std::vector{Time{10ns}, Time{11ns}});
  CHECK(faults.size() == 0);
  CHECK(faults.flush(ignored) == 0);
  CHECK(faults.add(raw(9), Time{11ns}) == Added::written);
  CHECK(faults.flush(ignored) == 1);
  CHECK(drained(faults, 3).empty());
  CHECK(faults.add(raw(9), Time{12ns}) == Added::interrupts);
}

TEST_CASE("raw faults: entries, dropped pages and the armed interrupt are saved") {
  RawFaults faults(2);
  for (std::uint64_t page = 7; page < 10; ++page) faults.add(raw(page), Time{10ns});
  RawFaults loaded(2);
  CHECK(test::hash_of(faults) != test::hash_of(loaded));
  test::copy_state(faults, loaded);
  CHECK(test::hash_of(faults) == test::hash_of(loaded));
  CHECK(drained(loaded, 2) == Numbers{7, 8});
  CHECK(loaded.add(raw(10), Time{11ns}) == Added::written);
  CHECK(retried(loaded) == Numbers{9});
}

TEST_CASE(
    "fault batch: the oldest entry per page, sorted by address; at equal times, the first received entry") {
  FaultBatch batch;
  batch.add(entry(9, 50, 3, 1));
  batch.add(entry(7, 60, 4, 2));
  batch.add(entry(9, 40, 5, 3));
  batch.add(entry(8, 70, 3, 4));
  batch.add(entry(8, 70, 6, 5));
  batch.add(entry(7, 61, 4, 6));
  CHECK(batch.entries() == 6);
  CHECK(batch.first_raised() == Time{Duration{40}});
  std::vector<std::tuple<std::uint64_t, std::int64_t, std::uint32_t>> pages;
  for (auto const& p : batch.pages()) pages.emplace_back(p.page, picoseconds(p.raised), p.application);
  CHECK(pages == decltype(pages){{7, 60, 2}, {8, 70, 4}, {9, 40, 3}});
}

TEST_CASE("raw faults: a fault without room elsewhere is retried like a dropped fault") {
  RawFaults faults(4);
  faults.drop(9);
  faults.drop(9);
  CHECK(faults.dropped_pages() == 1);
  CHECK(retried(faults) == Numbers{9});
  CHECK(faults.add(raw(7), Time{10ns}) == Added::interrupts);
}

TEST_CASE("uTLB faults: adjacent SMs share a limit, a scalar cache has its own, and a replay makes room") {
  UtlbFaults faults(2, 2, 5);  // SMs 0 and 1, 2 and 3, 4; scalar caches from 5 on
  CHECK(faults.takes(7, 0));
  CHECK(faults.takes(7, 1));
  CHECK_FALSE(faults.takes(8, 0));
  CHECK_FALSE(faults.takes(8, 1));
  for (std::uint32_t const client : {2U, 3U, 4U, 4U, 5U, 5U, 6U, 6U}) CHECK(faults.takes(8, client));
  for (std::uint32_t const client : {2U, 3U, 4U, 5U, 6U}) CHECK_FALSE(faults.takes(9, client));
  CHECK(faults.outstanding() == 10);
  UtlbFaults loaded;
  test::copy_state(faults, loaded);
  loaded.replayed(9);  // not faulted on
  CHECK(loaded.outstanding() == 10);
  loaded.replayed(7);  // both entries of one uTLB
  CHECK(loaded.takes(10, 1));
  CHECK(loaded.takes(10, 0));
  CHECK_FALSE(loaded.takes(10, 0));
  CHECK_FALSE(loaded.takes(10, 2));
  loaded.all_replayed();
  CHECK(loaded.outstanding() == 0);
  for (std::uint32_t const client : {0U, 2U, 4U, 5U, 6U}) CHECK(loaded.takes(11, client));
}

TEST_CASE("uTLB faults: without a limit there is always room, and no state") {
  UtlbFaults faults(0, 2, 4);
  for (std::uint32_t i = 0; i < 1000; ++i) CHECK(faults.takes(i, i % 6));
  CHECK(faults.outstanding() == 0);
}

TEST_CASE("fault batch: each SM is counted once, and a cleared batch has none") {
  FaultBatch batch;
  CHECK(batch.clients() == 0);
  CHECK(batch.pages().empty());
  for (std::uint32_t const client : {5U, 0U, 5U, 7U, 0U, 5U}) batch.add(entry(client, 1, client));
  batch.add(entry(1, 1, 7));
  CHECK(batch.clients() == 3);
  CHECK(batch.entries() == 7);
  batch.clear();
  CHECK(batch.clients() == 0);
  CHECK(batch.entries() == 0);
}

TEST_CASE(
    "fault batch: a page with a write among its entries is written, with the requester of the oldest entry") {
  FaultBatch batch;
  for (auto const access : {Access::read, Access::write, Access::read})
    batch.add({.page = 7,
               .raised = Time{Duration{5 + static_cast<int>(access)}},
               .client = 0,
               .application = access == Access::write ? 1U : 0U,
               .access = access});
  batch.add({.page = 8, .access = Access::read});
  auto const pages = batch.pages();
  REQUIRE(pages.size() == 2);
  CHECK(pages[0].access == Access::write);
  CHECK(pages[0].application == 0);
  CHECK(pages[1].access == Access::read);
}

TEST_CASE("fault batch: many entries in any order give the pages of a simple reference implementation") {
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    FaultBatch batch;
    std::vector<FaultBatch::Entry> all;
    for (auto n = random() % 300; n > 0; --n) {
      all.push_back(entry(random() % 40, static_cast<std::int64_t>(random() % 20),
                          static_cast<std::uint32_t>(random() % 9), static_cast<std::uint32_t>(all.size())));
      batch.add(all.back());
    }
    auto const pages = batch.pages();
    std::size_t at = 0;
    for (std::uint64_t page = 0; page < 40; ++page) {
      FaultBatch::Entry const* oldest = nullptr;
      for (auto const& e : all)
        if (e.page == page && (oldest == nullptr || e.raised < oldest->raised)) oldest = &e;
      if (oldest == nullptr) continue;
      REQUIRE(at < pages.size());
      CHECK(pages[at].page == page);
      CHECK(pages[at].application == oldest->application);
      ++at;
    }
    CHECK(at == pages.size());
  }
}

TEST_CASE("unit list: units are returned in the order of their last insertion, each once") {
  UnitList units(12, 1);
  auto const first = [&] { return units.first([](std::uint64_t) { return true; }); };
  CHECK(!first());
  for (std::uint64_t const unit : {64U, 0U, 32U}) units.move_to_end(unit);
  CHECK(first() == 64);
  units.move_to_end(64);
  CHECK(first() == 0);
  CHECK(units.first([](std::uint64_t unit) { return unit > 40; }) == 64);
  CHECK(!units.first([](std::uint64_t unit) { return unit > 64; }));
  units.remove(0);
  units.remove(0);
  units.remove(96);  // never resident
  CHECK(!units.holds(0));
  CHECK(!units.holds(96));
  CHECK(first() == 32);
  units.remove(32);
  units.remove(64);
  CHECK(!first());
  units.move_to_end(0);
  CHECK(units.holds(0));
  CHECK(first() == 0);
}

TEST_CASE("unit list: any mix of insertions and removals matches a simple reference, saved or not") {
  std::mt19937_64 random(5);
  UnitList units(12, 1);
  std::deque<std::uint64_t> reference;
  for (int i = 0; i < 5000; ++i) {
    auto const unit = (random() % 50) * 16;
    std::erase(reference, unit);
    if (random() % 5 < 3) {
      units.move_to_end(unit);
      reference.push_back(unit);
    } else {
      units.remove(unit);
    }
    if (i % 500 == 0) {
      UnitList loaded(12, 1);
      test::copy_state(units, loaded);
      units = loaded;
    }
    Numbers order;
    units.first([&](std::uint64_t u) {
      order.push_back(u);
      return false;
    });
    REQUIRE(order == Numbers(reference.begin(), reference.end()));
  }
}

}  // namespace batch_records_test
