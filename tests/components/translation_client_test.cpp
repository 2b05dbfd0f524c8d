// SPDX-License-Identifier: Apache-2.0
// The front end of translation alone: where accesses wait, what a response does to them, when an invalidation
// is acknowledged.
#include "farfault/translation/translation_client.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace translation_client_test {

using namespace farfault;

namespace {

struct Use {
  std::uint32_t number = 0;
  std::uint32_t from = 0;
  Access access = Access::read;
};
// An access of a client that only reads.
struct Read {
  std::uint32_t number = 0;
};

template <class Op>
using Client = TranslationClient<Op>;

template <class Op>
Client<Op> client(typename Client<Op>::Limits const& limits, PageUseRule uses = {}) {
  return {TlbPolicies{}.make(8, 8, 12, 1, nullptr), limits, uses};
}
constexpr Client<Use>::Limits kRoomy{.mshrs = 4,
                                     .waiters = 8,
                                     .faulted_pages = 4,
                                     .faulted_accesses = 8,
                                     .late_pages = 4,
                                     .late_accesses = 8,
                                     .translated = 16,
                                     .invalidations = 4};

// Records the calls for accesses, as "t1 f2 s3 a4": translated, faulted, settled, again.
template <class Op>
struct Log {
  Client<Op>& c;
  std::uint64_t page;
  std::string text{};

  void translated(Op const& op) { add('t', op); }
  void faulted(Op const& op) {
    add('f', op);
    c.park(page, op);
  }
  void settled(Op const& op) { add('s', op); }
  void again(Op& op) { add('a', op); }
  static std::uint32_t requester(Op const& op) {
    if constexpr (requires { op.from; })
      return op.from;
    else
      return 0;
  }
  void add(char what, Op const& op) {
    text += (text.empty() ? "" : " ") + std::string(1, what) + std::to_string(op.number);
  }
};

// The log of a response, or "-" if it concerned no access.
template <class Op>
std::string respond(Client<Op>& c, std::uint64_t page, FoundBy found_by, PhysAddr frame = 0x5000) {
  Log<Op> log{c, page};
  bool const any = c.respond(TranslateResponse{.page = page, .frame = frame, .found_by = found_by}, log);
  return any ? log.text : "-";
}
// An access that misses, and must find a place.
template <class Op>
MissPlace miss(Client<Op>& c, std::uint64_t page, Op const& op, bool again = false) {
  std::optional<std::uint32_t> entry;
  auto const place = c.place(page, again, entry);
  if (entry) c.wait(*entry) = op;
  if (place == MissPlace::replay) c.park(page, op);
  return place;
}
std::vector<std::uint32_t> take_again(Client<Use>& c) {
  std::vector<std::uint32_t> all;
  for (; !c.again().empty(); c.again().pop()) all.push_back(c.again().front().number);
  return all;
}
Invalidate invalidation(std::uint64_t page, std::uint32_t move) {
  Invalidate m{};
  m.page = page;
  m.move = move;
  return m;
}
std::vector<std::uint32_t> acknowledged(Client<Use>& c) {
  std::vector<std::uint32_t> moves;
  c.acknowledge([&](Invalidate const& m) { moves.push_back(m.move); });
  return moves;
}

}  // namespace

TEST_CASE("translation client: misses of a page share an MSHR, and its answer fills the TLB") {
  auto c = client<Use>(kRoomy);
  CHECK_FALSE(c.lookup(7));
  CHECK(miss(c, 7, Use{1}) == MissPlace::new_mshr);
  CHECK(miss(c, 7, Use{2, 0, Access::write}) == MissPlace::mshr);
  CHECK(miss(c, 8, Use{3}) == MissPlace::new_mshr);
  CHECK(c.mshrs().in_use() == 2);
  CHECK(respond(c, 7, FoundBy::gmmu) == "t1 t2");
  CHECK(c.mshrs().in_use() == 1);
  REQUIRE(c.lookup(7));
  CHECK(c.lookup(7)->frame == 0x5000);
  CHECK_FALSE(c.lookup(8));
}

TEST_CASE("translation client: a known MSHR is not looked for again") {
  auto c = client<Use>(kRoomy);
  CHECK(miss(c, 7, Use{1}) == MissPlace::new_mshr);
  auto entry = c.mshrs().find(7);
  c.park(7, Use{2});
  CHECK(c.place(7, false, entry) == MissPlace::mshr);  // the page's fault is newer than the caller's MSHR
}

TEST_CASE("translation client: without an MSHR or room for waiters, an access must be looked up later") {
  auto limits = kRoomy;
  limits.mshrs = 1;
  limits.waiters = 2;
  auto c = client<Use>(limits);
  CHECK(miss(c, 7, Use{1}) == MissPlace::new_mshr);
  CHECK(miss(c, 8, Use{2}) == MissPlace::no_mshr);
  CHECK(miss(c, 7, Use{2}) == MissPlace::mshr);
  CHECK(miss(c, 7, Use{3}) == MissPlace::no_mshr);
  std::optional<std::uint32_t> entry = c.mshrs().find(7);
  CHECK(c.place(7, false, entry) == MissPlace::no_mshr);
  CHECK(c.mshrs().waiting() == 2);
}

TEST_CASE("translation client: one that stops at a miss looks nothing up until the answer") {
  for (bool const stops : {false, true}) {
    auto limits = kRoomy;
    limits.stops_at_miss = stops;
    auto c = client<Use>(limits);
    CHECK(c.may_look_up());
    miss(c, 7, Use{1});
    CHECK(c.may_look_up() == !stops);
    respond(c, 7, FoundBy::nothing);  // a faulted page stops nothing
    CHECK(c.may_look_up());
  }
}

TEST_CASE(
    "translation client: at the limit of faulted accesses, an access has room only if it is looked up "
    "again") {
  auto limits = kRoomy;
  limits.faulted_accesses = 1;
  auto c = client<Use>(limits);
  CHECK(miss(c, 7, Use{1}) == MissPlace::new_mshr);
  CHECK(respond(c, 7, FoundBy::nothing) == "f1");
  CHECK_FALSE(c.lookup(7));
  CHECK(miss(c, 8, Use{2}) == MissPlace::no_room);
  CHECK(miss(c, 7, Use{2}) == MissPlace::no_room);
  CHECK(miss(c, 7, Use{3}, true) == MissPlace::replay);
  CHECK(respond(c, 7, FoundBy::replay) == "a1 a3");
  CHECK(take_again(c) == std::vector<std::uint32_t>{1, 3});
  CHECK(miss(c, 8, Use{2}) == MissPlace::new_mshr);
}

TEST_CASE("translation client: a replay of a page without accesses concerns none; one of all pages always") {
  auto c = client<Use>(kRoomy);
  CHECK(respond(c, 7, FoundBy::replay) == "-");
  CHECK(respond(c, 7, FoundBy::settled) == "-");
  CHECK_FALSE(c.lookup(7));
  CHECK(respond(c, kEveryPage, FoundBy::replay).empty());
}

TEST_CASE("translation client: a replay of all pages takes turns over requesters") {
  auto c = client<Use>(kRoomy);
  for (auto const& [page, use] : std::vector<std::pair<std::uint64_t, Use>>{
           {7, {1, 5}}, {7, {2, 5}}, {8, {3, 4}}, {9, {4, 5}}, {9, {5, 4}}})
    c.park(page, use);
  CHECK(respond(c, kEveryPage, FoundBy::replay) == "a1 a3 a2 a5 a4");
  CHECK(c.faulted().pages() == 0);
}

TEST_CASE("translation client: a settled page fills the TLB, and its accesses go on with its frame") {
  auto c = client<Use>(kRoomy);
  c.park(7, {1, 0, Access::write});
  c.park(8, {2});
  CHECK(respond(c, 7, FoundBy::settled) == "s1");
  CHECK(c.lookup(7)->frame == 0x5000);
  CHECK(c.faulted().pages() == 1);
  CHECK(take_again(c).empty());
}

TEST_CASE("translation client: accesses to a settled read-only page are looked up again if one may write") {
  auto c = client<Use>(kRoomy);
  c.park(7, {1});
  CHECK(respond(c, 7, FoundBy::settled, read_only(0x5000)) == "a1");
  CHECK(c.lookup(7)->frame == read_only(0x5000));
  auto reads = client<Read>({.faulted_pages = 4, .faulted_accesses = 4});
  reads.park(7, {1});
  CHECK(respond(reads, 7, FoundBy::settled, read_only(0x5000)) == "s1");
}

TEST_CASE("translation client: a write merged with a read faults if the page is read-only, and is replayed") {
  auto c = client<Use>(kRoomy);
  for (auto const& use : std::vector<Use>{{1}, {2, 0, Access::write}, {3}, {4, 0, Access::write}})
    miss(c, 7, use);
  // The fault has no record, so no message would replay the access.
  CHECK(respond(c, 7, FoundBy::gmmu, read_only(0x5000)) == "t1 f2 t3 f4 a2 a4");
  CHECK(take_again(c) == std::vector<std::uint32_t>{2, 4});
  CHECK(c.faulted().pages() == 0);
  // Without a translation all wait for a replay.
  miss(c, 8, Use{5});
  CHECK(respond(c, 8, FoundBy::nothing) == "f5");
  CHECK(c.faulted().pages() == 1);
}

TEST_CASE(
    "translation client: an invalidation is acknowledged when all accesses translated before are done") {
  auto c = client<Use>(kRoomy);
  miss(c, 7, Use{1});
  respond(c, 7, FoundBy::gmmu);
  auto const sent = c.send();
  c.translated().push({2});  // not sent yet
  CHECK(c.invalidate(invalidation(7, 30)) == 1);
  CHECK_FALSE(c.lookup(7));
  CHECK(c.is_invalidating());
  CHECK(acknowledged(c).empty());
  CHECK(c.invalidate(invalidation(7, 31)) == 0);
  auto const second = c.send();
  CHECK(second == sent);  // of the generation before
  c.pop_translated();
  auto const later = c.send();
  CHECK(later != sent);
  c.responded(sent);
  CHECK(acknowledged(c).empty());
  c.responded(second);
  CHECK(acknowledged(c) == std::vector<std::uint32_t>{30});
  CHECK(c.is_invalidating());
  c.responded(later);
  CHECK(acknowledged(c) == std::vector<std::uint32_t>{31});
  CHECK_FALSE(c.is_invalidating());
}

TEST_CASE("translation client: an invalidation of everything empties the TLB") {
  auto c = client<Use>(kRoomy);
  for (std::uint64_t page = 1; page <= 3; ++page) {
    miss(c, page, Use{1});
    respond(c, page, FoundBy::gmmu);
  }
  auto all = invalidation(2, 30);
  all.all = 1;
  CHECK(c.invalidate(all) == 3);
  CHECK_FALSE(c.lookup(1));
}

TEST_CASE(
    "translation client: the first use of a page is reported, and the first one after an invalidation") {
  auto c = client<Use>(kRoomy, {.enabled = true});
  CHECK(c.must_report(7, Access::read, Time{}));
  CHECK_FALSE(c.must_report(7, Access::read, Time{}));
  CHECK(c.must_report(7, Access::write, Time{}));
  c.invalidate(invalidation(7, 30));
  CHECK(c.must_report(7, Access::read, Time{}));
  auto silent = client<Use>(kRoomy);
  CHECK_FALSE(silent.must_report(7, Access::read, Time{}));
}

}  // namespace translation_client_test
