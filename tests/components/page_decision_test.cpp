// SPDX-License-Identifier: Apache-2.0
// Decisions about pages: the contract of every policy, the rules of each, and the events that an IOMMU and
// the driver present.
#include "farfault/paging/page_decision.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "choices.hpp"
#include "iommu_bench.hpp"
#include "paging_driver_bench.hpp"
#include "policies.hpp"

namespace page_decision_test {

using namespace farfault;

namespace {

constexpr std::uint64_t kFirst = 7;

PageEvent request(DeviceId gpu, Access access = Access::read, std::uint64_t page = kFirst) {
  return {.kind = PageEventKind::request, .access = access, .gpu = gpu, .owner = 1, .page = page};
}
PageEvent fault(Access access, FaultKind cause, bool has_copies = false) {
  return {.kind = PageEventKind::fault,
          .access = access,
          .cause = cause,
          .has_copies = has_copies,
          .gpu = 2,
          .owner = 1,
          .page = kFirst};
}

// Every event that an IOMMU or the driver may present.
std::vector<PageEvent> all_events() {
  std::vector<PageEvent> all;
  for (auto const access : {Access::read, Access::write}) {
    all.push_back(request(2, access));
    if (access == Access::read) all.emplace_back(request(2, access)).has_copies = true;
    for (auto const cause : {FaultKind::not_mapped, FaultKind::remote, FaultKind::moving})
      for (bool const has_copies : {false, true}) all.push_back(fault(access, cause, has_copies));
  }
  all.push_back({.kind = PageEventKind::write_to_copies,
                 .access = Access::write,
                 .has_copies = true,
                 .gpu = 1,
                 .owner = 1,
                 .page = kFirst});
  for (bool const has_copies : {false, true})
    all.push_back({.kind = PageEventKind::counted,
                   .has_copies = has_copies,
                   .gpu = 2,
                   .owner = 1,
                   .accesses = 256,
                   .page = kFirst});
  return all;
}

// Keeps its events in `seen`, and copies the pages of the first buffer only.
std::vector<PageEvent> seen;

class CopiesFirstBuffer final : public PageDecision {
 public:
  static constexpr Facts facts() {
    return {
        .moves_pages = true, .makes_copies = true, .events = {PageEventKind::request, PageEventKind::fault}};
  }
  explicit CopiesFirstBuffer(Setup const& setup)
      : first_(setup.buffers[0].first), count_(setup.buffers[0].count) {}
  PageAction decide(PageEvent const& e) override {
    seen.push_back(e);
    return e.page - first_ < count_ ? PageAction::copy_here : PageAction::stay;
  }
  void forget(std::uint64_t) override {}
  auto members() { return std::tie(first_, count_); }

 private:
  std::uint64_t first_;
  std::uint64_t count_;
};

PolicyChoice<PageDecision> copies_first_buffer() {
  auto const external = policies().add<CopiesFirstBuffer>("copies_first_buffer", "of a test");
  ParamTable table(&external);
  PolicyChoice<PageDecision> choice("remote_access");
  choice.describe(table, "policy", "of a test", "assumed");
  choice.choose("copies_first_buffer");
  return choice;
}

}  // namespace

TEST_CASE("page decision: every policy acts as its facts state, and a write to copies never leaves them") {
  for (auto const& name : test::names_of_known<PageDecision>()) {
    CAPTURE(name);
    PolicyChoice<PageDecision> const choice(name);
    auto const facts = choice.facts();
    auto policy = choice.make({12});
    for (auto const& e : all_events()) {
      if (!facts.events.has(e.kind)) continue;
      auto const action = policy->decide(e);
      if (!facts.moves_pages) CHECK(action == PageAction::stay);
      if (!facts.makes_copies) CHECK(action != PageAction::copy_here);
      if (e.access == Access::write) CHECK(action != PageAction::copy_here);
      bool const writes_copies = e.access == Access::write && e.has_copies && e.cause == FaultKind::remote;
      if (facts.makes_copies && writes_copies) CHECK(action == PageAction::move_here);
      bool const of_iommu = e.kind == PageEventKind::request;
      if (facts.makes_copies && of_iommu && e.has_copies) CHECK(action != PageAction::stay);
    }
    policy->forget(kFirst);
    policy->forget(kFirst + 1);  // unknown page
  }
}

TEST_CASE("page decision: a set of events has exactly its members") {
  constexpr PageEvents kNone;
  constexpr PageEvents kTwo{PageEventKind::request, PageEventKind::fault};
  using enum PageEventKind;
  for (auto const kind : {request, write_to_copies, fault, counted}) {
    CHECK_FALSE(kNone.has(kind));
    CHECK(kTwo.has(kind) == (kind == PageEventKind::request || kind == PageEventKind::fault));
  }
}

TEST_CASE("migrate: a page moves after enough consecutive requests of a GPU, counted per page") {
  auto const choice = test::chosen<PageDecision>("migrate", {{"after", "3"}});
  auto policy = choice.make({12});
  auto const moves = [&](DeviceId gpu, std::uint64_t page) {
    return policy->decide(request(gpu, Access::read, page)) == PageAction::move_here;
  };
  CHECK(!moves(2, 7));
  CHECK(!moves(2, 7));
  CHECK(!moves(2, 8));
  CHECK(!moves(0, 7));  // another GPU has its own count
  CHECK(!moves(2, 7));
  CHECK(!moves(2, 7));
  CHECK(moves(2, 7));
  CHECK(moves(2, 7));
  policy->forget(7);
  CHECK(!moves(2, 7));
  CHECK(!moves(2, 8));
  CHECK(moves(2, 8));
}

TEST_CASE("migrate: by default a page moves at the first request, read or write, also from the CPU") {
  PolicyChoice<PageDecision> const choice("migrate");
  auto policy = choice.make({12});
  CHECK(policy->decide(request(0)) == PageAction::move_here);
  auto write = request(0, Access::write, 8);
  write.owner = kFirstCpu;
  CHECK(policy->decide(write) == PageAction::move_here);
}

TEST_CASE("migrate: a fault moves the page unless it was unmapped or in flight, and is not counted") {
  auto const choice = test::chosen<PageDecision>("migrate", {{"after", "2"}});
  auto policy = choice.make({12});
  for (auto const access : {Access::read, Access::write}) {
    CHECK(policy->decide(fault(access, FaultKind::remote)) == PageAction::move_here);
    CHECK(policy->decide(fault(access, FaultKind::moving)) == PageAction::stay);
    CHECK(policy->decide(fault(access, FaultKind::not_mapped)) == PageAction::stay);
  }
  CHECK(policy->decide(request(2)) == PageAction::stay);
  CHECK(policy->decide(request(2)) == PageAction::move_here);
}

TEST_CASE("migrate: an object that decides only faults has no records of pages") {
  PolicyChoice<PageDecision> const choice("migrate");
  auto const bytes = [&](PageEvents events) {
    auto policy = choice.make({.events = events});
    std::vector<std::byte> saved;
    Saver save(saved);
    save(policy);
    return saved.size();
  };
  CHECK(bytes({PageEventKind::fault}) < 200);
  CHECK(bytes({PageEventKind::request}) > 4000);  // root of the table of records
}

TEST_CASE("access_counters: only counted accesses move a page, which is otherwise accessed remotely") {
  PolicyChoice<PageDecision> const choice("access_counters");
  auto const events = choice.facts().events;
  for (auto const& e : all_events()) CHECK(events.has(e.kind) == (e.kind == PageEventKind::counted));
  auto policy = choice.make({12});
  for (auto const& e : all_events())
    if (events.has(e.kind)) CHECK(policy->decide(e) == PageAction::move_here);
}

TEST_CASE("access_counters: with faults at a GPU's first access, a page stays on its device at a fault") {
  auto const choice = test::chosen<PageDecision>("access_counters", {{"first_access", "faults"}});
  CHECK(choice.facts().stays_at_faults);
  CHECK(choice.facts().decides_at_driver_only());
  auto const events = choice.facts().events;
  auto policy = choice.make({12});
  for (auto const& e : all_events()) {
    bool const counted = e.kind == PageEventKind::counted;
    CHECK(events.has(e.kind) == (counted || e.kind == PageEventKind::fault));
    if (events.has(e.kind)) CHECK(policy->decide(e) == (counted ? PageAction::move_here : PageAction::stay));
  }
}

TEST_CASE(
    "access_counters: with first_access = moves, requests and faults move a page, unless it was in flight") {
  auto const choice = test::chosen<PageDecision>("access_counters", {{"first_access", "moves"}});
  auto const facts = choice.facts();
  CHECK((facts.moves_pages && !facts.makes_copies && !facts.counts_requests));
  using enum PageEventKind;
  CHECK((facts.events.has(request) && facts.events.has(fault) && facts.events.has(counted)));
  CHECK_FALSE(facts.events.has(write_to_copies));
  auto policy = choice.make({12});
  for (auto const& e : all_events()) {
    bool const waited = e.kind == fault && e.cause != FaultKind::remote;
    CHECK(policy->decide(e) == (waited ? PageAction::stay : PageAction::move_here));
  }
}

TEST_CASE("duplicate: requests to read make copies, and requests to write move the page; both are counted") {
  PolicyChoice<PageDecision> const choice("duplicate");
  auto policy = choice.make({12});
  CHECK(policy->decide(request(2)) == PageAction::copy_here);
  CHECK(policy->decide(request(0)) == PageAction::copy_here);
  CHECK(policy->decide(request(2, Access::write)) == PageAction::move_here);  // no copies: not counted
  auto write = request(2, Access::write);
  write.kind = PageEventKind::write_to_copies;
  write.has_copies = true;
  CHECK(policy->decide(write) == PageAction::move_here);
  CHECK(test::stat_of(choice, policy, "reads") == 2);
  CHECK(test::stat_of(choice, policy, "writes") == 1);
}

TEST_CASE("duplicate: after a wait for the page a read still makes a copy, and a write moves nothing") {
  PolicyChoice<PageDecision> const choice("duplicate");
  auto policy = choice.make({12});
  for (bool const has_copies : {false, true}) {
    CHECK(policy->decide(fault(Access::read, FaultKind::remote, has_copies)) == PageAction::copy_here);
    CHECK(policy->decide(fault(Access::read, FaultKind::moving, has_copies)) == PageAction::copy_here);
    CHECK(policy->decide(fault(Access::read, FaultKind::not_mapped, has_copies)) == PageAction::stay);
    CHECK(policy->decide(fault(Access::write, FaultKind::remote, has_copies)) == PageAction::move_here);
    CHECK(policy->decide(fault(Access::write, FaultKind::moving, has_copies)) == PageAction::stay);
    CHECK(policy->decide(fault(Access::write, FaultKind::not_mapped, has_copies)) == PageAction::stay);
  }
  CHECK(test::stat_of(choice, policy, "reads") == 4);
  CHECK(test::stat_of(choice, policy, "writes") == 1);
}

TEST_CASE(
    "duplicate_after: enough requests of one GPU to read a page make the first copy, and a write moves it") {
  auto const choice = test::chosen<PageDecision>("duplicate_after", {{"after", "3"}});
  auto policy = choice.make({12});
  auto const reads = [&](DeviceId gpu, std::uint64_t page = kFirst) {
    return policy->decide(request(gpu, Access::read, page));
  };
  CHECK(reads(2) == PageAction::stay);
  CHECK(reads(2) == PageAction::stay);
  CHECK(reads(0) == PageAction::stay);  // each GPU and page has its own count
  CHECK(reads(2, 8) == PageAction::stay);
  CHECK(policy->decide(request(2, Access::write)) == PageAction::move_here);
  CHECK(reads(2) == PageAction::copy_here);
  CHECK(test::stat_of(choice, policy, "remote_reads") == 4);
  policy->forget(kFirst);  // unmapped: copied
  CHECK(reads(2) == PageAction::stay);
  CHECK(reads(2, 8) == PageAction::stay);
  CHECK(reads(2, 8) == PageAction::copy_here);
}

TEST_CASE("duplicate_after: while a page has copies, every read makes one, also after a wait") {
  auto const choice = test::chosen<PageDecision>("duplicate_after", {{"after", "1000"}});
  auto policy = choice.make({12});
  auto read = request(0);
  CHECK(policy->decide(read) == PageAction::stay);
  read.has_copies = true;
  CHECK(policy->decide(read) == PageAction::copy_here);
  for (bool const has_copies : {false, true}) {
    auto const if_copies = has_copies ? PageAction::copy_here : PageAction::stay;
    CHECK(policy->decide(fault(Access::read, FaultKind::remote, has_copies)) == PageAction::copy_here);
    CHECK(policy->decide(fault(Access::read, FaultKind::moving, has_copies)) == if_copies);
    CHECK(policy->decide(fault(Access::read, FaultKind::not_mapped, has_copies)) == PageAction::stay);
    CHECK(policy->decide(fault(Access::write, FaultKind::remote, has_copies)) == PageAction::move_here);
    CHECK(policy->decide(fault(Access::write, FaultKind::moving, has_copies)) == PageAction::stay);
  }
  CHECK(test::stat_of(choice, policy, "remote_reads") == 1);
}

TEST_CASE("duplicate_after: with counted accesses, requests and faults make no first copy") {
  auto const choice = test::chosen<PageDecision>("duplicate_after", {{"counts", "accesses"}, {"after", "1"}});
  CHECK(choice.facts().events.has(PageEventKind::counted));
  CHECK_FALSE(PolicyChoice<PageDecision>("duplicate_after").facts().events.has(PageEventKind::counted));
  auto policy = choice.make({12});
  for (auto const& e : all_events()) {
    CAPTURE(static_cast<int>(e.kind));
    bool const waited = e.kind == PageEventKind::fault && e.cause != FaultKind::remote;
    bool const reads = e.access == Access::read;
    bool const copies = e.has_copies && e.cause != FaultKind::not_mapped;
    auto const expected = e.kind == PageEventKind::counted ? PageAction::copy_here
                          : reads                          ? copies ? PageAction::copy_here : PageAction::stay
                          : waited                         ? PageAction::stay
                                                           : PageAction::move_here;
    CHECK(policy->decide(e) == expected);
  }
  CHECK(test::stat_of(choice, policy, "remote_reads") == 2);  // a request, and a fault without a wait
}

TEST_CASE("duplicate_after: with one request, every decision is that of duplicate") {
  auto const one = test::chosen<PageDecision>("duplicate_after", {{"after", "1"}});
  PolicyChoice<PageDecision> const duplicate("duplicate");
  auto policy = one.make({12});
  auto reference = duplicate.make({12});
  for (int round = 0; round < 2; ++round)
    for (auto const& e : all_events())
      if (duplicate.facts().events.has(e.kind)) CHECK(policy->decide(e) == reference->decide(e));
}

TEST_CASE(
    "page decision: an IOMMU presents each request for a page on another device once, also merged ones") {
  using namespace iommu_bench;
  PageTable table(kTable, 12);
  table.map(kPage, physical(1, 5 << 12));
  table.map(kPage + 1, read_only(physical(1, 6 << 12)));
  std::array<PageRange, 2> const buffers{{{kPage + 8, 8}, {kPage, 8}}};
  auto spec = spec_of(table);
  spec.decision = copies_first_buffer();
  spec.buffers = buffers;
  auto const from = [](Time at, std::uint16_t gpu, Access access, std::uint64_t page = kPage) {
    auto m = ask(page, gpu, gpu).as<TranslateRequest>();
    m.access = access;
    auto p = Packet::of(m);
    p.route.source = static_cast<NodeId>(10 + gpu);
    return Record<Packet>{at, p};
  };
  seen.clear();
  IommuBench const b(spec, {from(Time{100ns}, 2, Access::read), from(Time{101ns}, 0, Access::write),
                            from(Time{102ns}, 1, Access::read),   // on its own GPU
                            from(Time{500ns}, 0, Access::write),  // TLB hit
                            from(Time{600ns}, 2, Access::read, kPage + 1),
                            from(Time{800ns}, 1, Access::write, kPage + 1)});  // not among its events
  CHECK(found_by(*b.responses) == Found(6, FoundBy::iommu));
  REQUIRE(seen.size() == 4);
  for (auto const& e : seen) {
    CHECK(e.kind == PageEventKind::request);
    CHECK(e.owner == 1);
    CHECK(e.page == kPage + (e.has_copies ? 1 : 0));
  }
  std::vector<DeviceId> gpus;
  std::vector<Access> accesses;
  std::vector<bool> copies;
  for (auto const& e : seen) {
    gpus.push_back(e.gpu);
    accesses.push_back(e.access);
    copies.push_back(e.has_copies);
  }
  CHECK(gpus == std::vector<DeviceId>{2, 0, 0, 2});
  CHECK(accesses == std::vector{Access::read, Access::write, Access::write, Access::read});
  CHECK(copies == std::vector{false, false, false, true});
}

TEST_CASE("page decision: the driver presents a fault of a GPU without access, and the action is taken") {
  using namespace driver_bench;
  auto const table = one_page();
  PagingDriverSpec spec;
  spec.preloaded = &table;
  spec.buffers = {{kPage, 1}, {kPage + 1, 1}};
  spec.decide_by(copies_first_buffer());
  CHECK((spec.pages_move && spec.makes_copies));
  seen.clear();
  DriverBench const b(spec, {.faults = {{Time{100ns}, remote(kPage + 1, 2, 1, 11)},
                                        {Time{200ns}, remote(kPage + 1, 1, 1, 12)},  // the page is there
                                        {Time{300ns}, remote(kPage, 2, 1, 13)}}});
  // The second buffer's page stays, and both faults are answered with its frame.
  REQUIRE(b.mapped[1]->nanoseconds() == Times{101, 201});
  for (auto const& r : b.mapped[1]->records()) CHECK(r.message.frame == kFrame + 4096);
  REQUIRE(b.moves[0]->nanoseconds() == Times{1301});
  CHECK(b.moves[0]->records()[0].message.page == kPage);
  CHECK(b.moves[0]->records()[0].message.step == MoveStep::unmap);
  REQUIRE(seen.size() == 2);
  for (auto const& e : seen) {
    CHECK(e.kind == PageEventKind::fault);
    CHECK(e.cause == FaultKind::remote);
    CHECK(e.access == Access::read);
    CHECK(e.gpu == 2);
    CHECK(e.owner == 1);
    CHECK_FALSE(e.has_copies);
  }
  CHECK(seen[0].page == kPage + 1);
  CHECK(seen[1].page == kPage);
}

TEST_CASE("page decision: if the policy does not decide at faults, pages stay where they are") {
  using namespace driver_bench;
  auto const table = one_page();
  PagingDriverSpec spec;
  spec.preloaded = &table;
  spec.decide_by(PolicyChoice<PageDecision>("migrate"));
  spec.decide_by(PolicyChoice<PageDecision>("remote_access"));
  CHECK_FALSE((spec.pages_move || spec.makes_copies));
  DriverMemory memory(spec);
  for (auto const cause : {FaultKind::not_mapped, FaultKind::remote, FaultKind::moving})
    CHECK(memory.decide(kPage, *memory.home(kPage), 2, Access::write, cause) == PageAction::stay);
}

}  // namespace page_decision_test
