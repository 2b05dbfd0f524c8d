// SPDX-License-Identifier: Apache-2.0
// MASK's DRAM scheduler: exact quotas, and the exact order and time of hand-written request sequences. 16
// banks, rows of 2 KiB, tCL = tRCD = tRP = 14 ns, a line in 64 ns, links of 1 ns.
#include <doctest/doctest.h>

#include "choices.hpp"
#include "farfault/memory/dram_channel.hpp"
#include "memory_mock.hpp"
#include "policies.hpp"

namespace address_space_aware_test {

using namespace farfault;
using namespace farfault::mock;

namespace {

using Times = std::vector<std::int64_t>;
using Tags = std::vector<std::uint32_t>;
using Settings = std::vector<test::Setting>;

constexpr std::uint64_t kRow = 2048;
constexpr std::uint64_t kSameBank = 17 * kRow;  // a row of the same bank: the permutation of 17 is 0

MemRequest of(std::uint8_t application, PhysAddr address, std::uint32_t tag,
              RequestKind kind = RequestKind::data) {
  auto m = read(address, tag);
  m.requester = {0, application, kind};
  return m;
}
MemRequest walk(PhysAddr address, std::uint32_t tag, std::uint8_t application = 0) {
  return of(application, address, tag, walk_read(3));
}

// The scheduler alone, behind a channel that always has one request.
class Scheduler {
 public:
  Scheduler(std::uint32_t applications, Settings const& settings)
      : choice_(test::chosen<DramScheduler>("address_space_aware", settings)),
        scheduler_(choice_.make({512, applications})) {}

  void pressure(std::uint32_t first, std::vector<std::uint16_t> const& of) {
    WalkPressure m{first, {}};
    std::ranges::copy(of, m.of.begin());
    scheduler_->pressure(m);
  }
  // Number of lines, out of n of the application, that enter the silver queue.
  std::uint64_t silver(std::uint8_t application, std::uint32_t n, std::uint32_t lines = 1) {
    auto const before = test::stat_of(choice_, scheduler_, "silver_lines");
    for (std::uint32_t i = 0; i < n; ++i) {
      auto m = of(application, 0, i);
      m.train.more = lines - 1;
      std::vector<DramPending> const queue{{.request = m, .row = 0, .bank = 0}};
      CHECK(scheduler_->pick({.queue = queue,
                              .lines = lines,
                              .writes = 0,
                              .banks = banks_,
                              .timing = timing_,
                              .now = Time{1ns},
                              .last = Access::read}) == 0);
    }
    return test::stat_of(choice_, scheduler_, "silver_lines") - before;
  }
  DramScheduler const& operator*() const { return *scheduler_; }

 private:
  PolicyChoice<DramScheduler> choice_;
  Policy<DramScheduler> scheduler_;
  DramBanks banks_{16};
  DramTiming timing_{14ns, 14ns, 14ns, 33ns};
};

DramChannelSpec channel(Settings const& settings, std::uint32_t applications = 2) {
  DramChannelSpec spec;
  spec.params.bandwidth = Bandwidth{1'000'000'000};
  spec.params.scheduler = test::chosen<DramScheduler>("address_space_aware", settings);
  spec.memory = AddressMap(1, 256);
  for (std::uint32_t a = 0; a < applications; ++a) spec.applications.push_back("a" + std::to_string(a));
  return spec;
}

struct DramBench : Bench {
  DramBench(DramChannelSpec spec, std::vector<Record<MemRequest>> script)
      : dram(system.add<DramChannel>("dram", std::move(spec))) {
    feed(dram.request, std::move(script));
    responses = sinks(dram.response, 1)[0];
    run();
  }
  DramChannel& dram;
  Sink<MemResponse>* responses = nullptr;
};

// A read that occupies the bus from 1028 to 1092; the others arrive from 1001 ns on, one per nanosecond. The
// scheduler picks at 1050, 1114, ...
std::vector<Record<MemRequest>> behind_one(std::vector<MemRequest> const& others) {
  std::vector<Record<MemRequest>> script{{Time{1000ns}, of(0, 0, 0, RequestKind::copy)}};
  for (auto const& m : others)
    script.push_back({Time{1000ns + static_cast<std::int64_t>(script.size()) * 1ns}, m});
  return script;
}

// Behind a copy of row 0 that occupies the bus until 1156. The next pick is at 1114, when another row of bank
// 0 can deliver at 1180, and a row of bank 1 in time.
DramBench behind_a_row(std::vector<MemRequest> const& others, Settings const& settings) {
  auto spec = channel(settings);
  spec.params.bandwidth = Bandwidth{16'000'000'000};  // a line in 4 ns
  auto script = behind_one(others);
  script[0].message.train.more = 31;
  return DramBench(std::move(spec), script);
}
constexpr std::uint64_t kNextBank = kRow;

}  // namespace

TEST_CASE(
    "address-space-aware DRAM: quotas are thresh_max weighted by walks times stalled warps, rounded down; a "
    "full quota ends the turn") {
  Scheduler s(2, {});
  // Equal shares initially: 250 each; application 0 has the first turn.
  CHECK(s.silver(1, 10) == 0);
  CHECK(s.silver(0, 300) == 250);
  CHECK(s.silver(1, 300) == 250);
  CHECK(s.silver(0, 10) == 10);
  // 500 x 60 / 70 and 500 x 10 / 70. The turn passes to application 1.
  s.pressure(0, {60, 10});
  CHECK(s.silver(0, 10) == 0);
  CHECK(s.silver(1, 100) == 71);
  CHECK(s.silver(0, 500) == 428);
  CHECK(s.silver(1, 100) == 71);
}

TEST_CASE(
    "address-space-aware DRAM: an application without a quota is skipped; without any walks the shares are "
    "equal") {
  Scheduler s(3, {{"thresh_max", "100"}});
  s.pressure(0, {0, 5, 3969});  // 0, floor(0.12), 99
  CHECK(s.silver(0, 10) == 0);
  CHECK(s.silver(1, 10) == 0);
  CHECK(s.silver(2, 250) == 250);  // keeps its turn
  s.pressure(0, {0, 0, 0});
  CHECK(s.silver(2, 10) == 0);
  CHECK(s.silver(0, 50) == 33);
  CHECK(s.silver(1, 50) == 33);
  CHECK(s.silver(2, 50) == 33);
}

TEST_CASE(
    "address-space-aware DRAM: quotas count lines; a train counts all of its lines, and the last train may "
    "exceed the quota") {
  Scheduler s(2, {{"thresh_max", "20"}});
  CHECK(s.silver(0, 5, 4) == 12);
  CHECK(s.silver(1, 5, 3) == 12);
}

TEST_CASE("address-space-aware DRAM: more than sixteen applications take several messages") {
  Scheduler s(20, {{"thresh_max", "100"}});
  std::vector<std::uint16_t> first(16, 0);
  first[3] = 10;
  s.pressure(0, first);
  s.pressure(16, {0, 0, 30});
  CHECK(s.silver(3, 100) == 25);
  CHECK(s.silver(18, 100) == 75);
  CHECK(s.silver(3, 100) == 25);
}

TEST_CASE("address-space-aware DRAM: without a silver queue, walk pressure is not requested") {
  auto const pressure_epoch = [](std::vector<test::Setting> const& settings) {
    return test::chosen<DramScheduler>("address_space_aware", settings).facts().pressure_epoch;
  };
  CHECK(pressure_epoch({{"epoch", "777"}}) == 777);
  CHECK(pressure_epoch({{"queues", "2"}}) == 0);
  CHECK(pressure_epoch({{"queues", "1"}}) == 0);
}

TEST_CASE(
    "address-space-aware DRAM: golden before silver before normal; only the golden queue is first come, "
    "first served") {
  // Application 0 has the silver queue. Tags 1 to 8.
  std::vector<MemRequest> const queued{of(1, 64, 1),            // normal, its row is open
                                       of(0, kSameBank, 2),     // silver
                                       of(0, 128, 3),           // silver, its row is open
                                       walk(2 * kSameBank, 4),  // golden
                                       of(1, 192, 5),           // normal
                                       walk(64, 6, 1),  // golden, its row is open: after 4 nevertheless
                                       of(0, kSameBank, 7, RequestKind::write_back),        // normal
                                       of(0, 3 * kSameBank, 8, RequestKind::table_write)};  // normal
  DramBench b(channel({}), behind_one(queued));
  // The walks are picked at 1050 and 1114. The second one opens row 0: 3, then 2, which opens row 17. Among
  // the normal requests 7 is in row 17; then the banks are equal, so the oldest is picked, and then the
  // requests in its row.
  CHECK(tags(*b.responses) == Tags{0, 4, 6, 3, 2, 7, 1, 5, 8});
  // 42 ns pass from the pick to the data of another row of the same bank; the bus hides them for all but the
  // first.
  CHECK(b.responses->nanoseconds() == Times{1093, 1157, 1221, 1285, 1349, 1413, 1477, 1541, 1605});
  // Arrivals at 1001, 1002, ...; picks at 1050, 1114, ...: walks 4 and 6; warps' reads 3, 2, 1 and 5.
  auto const& d = b.dram;
  CHECK(test::stat_of(d.spec().params.scheduler, d.state().scheduler, "walk_wait") == (46 + 108) * 1000);
  CHECK(test::stat_of(d.spec().params.scheduler, d.state().scheduler, "data_wait") ==
        (175 + 240 + 369 + 429) * 1000);
}

TEST_CASE(
    "address-space-aware DRAM: a stalled higher-priority request reserves its bank, and requests for other "
    "banks use the bus") {
  auto const silver = of(0, kSameBank, 1);
  for (auto const& first : {silver, walk(kSameBank, 1)}) {
    auto const other = behind_a_row({first, of(1, kNextBank, 2)}, {});
    CHECK(tags(*other.responses) == Tags{0, 2, 1});
    CHECK(other.responses->nanoseconds() == Times{1033, 1161, 1185});
    auto const same = behind_a_row({first, of(1, 0, 2)}, {});
    CHECK(tags(*same.responses) == Tags{0, 1, 2});
    CHECK(same.responses->nanoseconds() == Times{1033, 1185, 1232});
    CHECK(tags(*behind_a_row({of(1, 0, 2), first}, {}).responses) == Tags{0, 1, 2});
  }
  // Among the three queues, the silver request is the next one that can be in time.
  auto const three = behind_a_row({walk(kSameBank, 1), of(1, kNextBank, 2), of(0, 2 * kNextBank, 3)}, {});
  CHECK(tags(*three.responses) == Tags{0, 3, 2, 1});
  CHECK(three.responses->nanoseconds() == Times{1033, 1161, 1165, 1185});
  // The golden queue is ordered by arrival alone.
  auto const golden = behind_a_row({walk(kSameBank, 1), walk(kNextBank, 2)}, {});
  CHECK(tags(*golden.responses) == Tags{0, 1, 2});
  CHECK(golden.responses->nanoseconds() == Times{1033, 1185, 1189});
  // Its second request has not opened its bank yet.
  auto const fifo = behind_a_row({walk(kSameBank, 1), walk(kNextBank, 2), of(1, kNextBank, 3)}, {});
  CHECK(tags(*fifo.responses) == Tags{0, 3, 1, 2});
}

TEST_CASE(
    "address-space-aware DRAM: among requests ready in time for the bus, the higher queue is served first") {
  // At 1118 another row of bank 1 can deliver at 1160, when the bus becomes free; the closed bank 2 at 1146.
  auto spec = channel({});
  spec.params.bandwidth = Bandwidth{16'000'000'000};
  auto script = behind_one({of(0, 0, 1, RequestKind::copy), of(1, 2 * kNextBank, 2), of(0, 16 * kRow, 3)});
  script[0].message.address = kNextBank;
  script[1].message.train.more = 31;
  DramBench const b(spec, script);
  CHECK(tags(*b.responses) == Tags{0, 1, 3, 2});
  CHECK(b.responses->nanoseconds() == Times{1033, 1037, 1165, 1169});
}

TEST_CASE("address-space-aware DRAM: with channel priority, the bus waits for the higher-priority request") {
  for (auto const& first : {of(0, kSameBank, 1), walk(kSameBank, 1)}) {
    auto const b = behind_a_row({first, of(1, kNextBank, 2)}, {{"priority", "channel"}});
    CHECK(tags(*b.responses) == Tags{0, 1, 2});
    CHECK(b.responses->nanoseconds() == Times{1033, 1185, 1189});
  }
}

TEST_CASE("address-space-aware DRAM: two queues have no silver queue; a single queue is FR-FCFS") {
  std::vector<MemRequest> const queued{of(1, 2 * kSameBank, 1), of(0, 3 * kSameBank, 2), walk(kSameBank, 3),
                                       of(1, 64, 4)};
  CHECK(tags(*DramBench(channel({{"queues", "3"}}), behind_one(queued)).responses) == Tags{0, 3, 2, 1, 4});
  CHECK(tags(*DramBench(channel({{"queues", "2"}}), behind_one(queued)).responses) == Tags{0, 3, 1, 2, 4});
  CHECK(tags(*DramBench(channel({{"queues", "1"}}), behind_one(queued)).responses) == Tags{0, 4, 1, 2, 3});
  auto frfcfs = channel({});
  frfcfs.params.scheduler.choose("frfcfs");
  CHECK(tags(*DramBench(frfcfs, behind_one(queued)).responses) == Tags{0, 4, 1, 2, 3});
}

TEST_CASE("address-space-aware DRAM: the queueing time of reads is counted in every queue, without writes") {
  auto stored = of(1, 2 * kSameBank, 2);
  stored.access = Access::write;
  for (std::string const queues : {"1", "2"}) {
    CAPTURE(queues);
    DramBench const b(channel({{"queues", queues}}),
                      behind_one({walk(kSameBank, 1), stored, of(1, 2 * kSameBank + 64, 3)}));
    // Picked at 1050, 1114 and 1178; arrived at 1001, 1002 and 1003.
    CHECK(tags(*b.responses) == Tags{0, 1, 2, 3});
    auto const& d = b.dram;
    CHECK(test::stat_of(d.spec().params.scheduler, d.state().scheduler, "walk_wait") == 49'000);
    CHECK(test::stat_of(d.spec().params.scheduler, d.state().scheduler, "data_wait") == 175'000);
  }
}

TEST_CASE("address-space-aware DRAM: a walk does not wait for earlier data requests whose queue is full") {
  // 1 is silver, 2 normal because the silver queue is full, and 3 waits for a queue entry. The walk is still
  // picked first.
  std::vector<MemRequest> const queued{of(0, kSameBank, 1), of(0, 2 * kSameBank, 2), of(1, 64, 3),
                                       walk(128, 4)};
  DramBench b(channel({{"golden", "1"}, {"silver", "1"}, {"normal", "1"}}), behind_one(queued));
  CHECK(tags(*b.responses) == Tags{0, 4, 1, 2, 3});
  CHECK(b.responses->nanoseconds() == Times{1093, 1157, 1221, 1285, 1349});
}

TEST_CASE(
    "address-space-aware DRAM: with a full silver queue, a request uses the normal queue or stalls, and "
    "stalls only silver requests") {
  // 1 is silver, and 2 finds the silver queue full; 3 is in the row that 1 opened.
  std::vector<MemRequest> const queued{of(0, kSameBank, 1), of(0, 2 * kSameBank, 2),
                                       of(1, kSameBank + 64, 3)};
  Settings settings{{"silver", "1"}, {"normal", "8"}};
  CHECK(tags(*DramBench(channel(settings), behind_one(queued)).responses) == Tags{0, 1, 3, 2});
  settings.push_back({"overflow", "normal"});
  CHECK(tags(*DramBench(channel(settings), behind_one(queued)).responses) == Tags{0, 1, 3, 2});
  settings.back() = {"overflow", "waits"};
  CHECK(tags(*DramBench(channel(settings), behind_one(queued)).responses) == Tags{0, 1, 2, 3});
  // In order. The walk and the other application's request do not wait behind it.
  std::vector<MemRequest> const more{of(0, kSameBank, 1), of(0, 2 * kSameBank, 2), of(0, kSameBank + 64, 3),
                                     walk(3 * kSameBank, 4), of(1, 4 * kSameBank, 5)};
  CHECK(tags(*DramBench(channel(settings), behind_one(more)).responses) == Tags{0, 4, 1, 2, 3, 5});
}

TEST_CASE(
    "address-space-aware DRAM: requests of the application with the turn do not wait for the others' queue") {
  std::vector<MemRequest> const queued{of(1, kSameBank, 1), of(1, 2 * kSameBank, 2), of(0, 3 * kSameBank, 3)};
  DramBench b(channel({{"silver", "1"}, {"normal", "1"}}), behind_one(queued));
  CHECK(tags(*b.responses) == Tags{0, 3, 1, 2});
}

TEST_CASE("address-space-aware DRAM: a walk waits for the golden queue, even if the data queues have room") {
  std::vector<MemRequest> const queued{of(1, kSameBank, 1), walk(2 * kSameBank, 2), walk(3 * kSameBank, 3)};
  CHECK(tags(*DramBench(channel({{"golden", "1"}}), behind_one(queued)).responses) == Tags{0, 2, 3, 1});
}

TEST_CASE("address-space-aware DRAM: requests stalled by a full queue enter it in order when it has room") {
  // The walks open row 0, which contains 2: it precedes 1 only if both are in the normal queue.
  std::vector<MemRequest> const queued{of(1, kSameBank, 1), of(1, 64, 2), walk(2 * kSameBank, 3),
                                       walk(128, 4)};
  DramBench one(channel({{"golden", "1"}, {"normal", "1"}}), behind_one(queued));
  CHECK(tags(*one.responses) == Tags{0, 3, 4, 1, 2});
  DramBench two(channel({{"golden", "1"}, {"normal", "2"}}), behind_one(queued));
  CHECK(tags(*two.responses) == Tags{0, 3, 4, 2, 1});
  // A single line does not overtake a train that waits for the same queue.
  auto train = of(1, 2 * kSameBank, 2);
  train.train.more = 1;
  DramBench behind(channel({{"normal", "2"}}),
                   behind_one({of(1, kSameBank, 1), train, of(1, kSameBank + 64, 3)}));
  CHECK(tags(*behind.responses) == Tags{0, 1, 2, 3});
}

TEST_CASE("address-space-aware DRAM: a train larger than its queue occupies it alone") {
  auto train = of(1, 0, 1);
  train.train.more = 3;
  DramBench b(channel({{"silver", "2"}, {"normal", "2"}}),
              behind_one({of(1, kSameBank, 2), train, of(1, 512, 3)}));
  CHECK(b.responses->count() == 4);
  CHECK(tags(*b.responses) == Tags{0, 2, 1, 3});
  CHECK(b.dram.state().queued_lines == 0);
}

TEST_CASE("address-space-aware DRAM: an idle application loses the turn at the next count") {
  Scheduler s(2, {});
  CHECK(s.silver(1, 10) == 0);
  s.pressure(0, {1, 1});
  CHECK(s.silver(1, 10) == 10);
  s.pressure(0, {1, 1});
  CHECK(s.silver(1, 10) == 0);
  s.pressure(0, {0, 1});
  CHECK(s.silver(1, 10) == 10);
}

TEST_CASE(
    "address-space-aware DRAM: each of 20,000 random requests of three applications is answered once, for "
    "any queue sizes") {
  for (char const* size : {"1", "3", "16"}) {
    Bench b;
    auto spec = channel({{"golden", size},
                         {"silver", size},
                         {"normal", size},
                         {"thresh_max", "7"},
                         {"priority", size[0] == '3' ? "channel" : "bank"}},
                        3);
    spec.params.bandwidth = Bandwidth{32'000'000'000};
    spec.receives_pressure = true;
    auto& dram = b.system.add<DramChannel>("dram", spec);
    auto& client = b.system.add<Client<MemRequest, MemResponse>>(
        "client", {20'000, 64, [](std::uint64_t n) {
                     auto const random = n * 0x9E3779B97F4A7C15ULL;
                     auto const kind = (random >> 20) % 4 == 0   ? walk_read(2)
                                       : (random >> 20) % 4 == 1 ? RequestKind::write_back
                                                                 : RequestKind::data;
                     auto m = of(static_cast<std::uint8_t>((random >> 30) % 3), (random >> 40) * 64,
                                 static_cast<std::uint32_t>(n), kind);
                     if (kind == RequestKind::write_back) m.access = Access::write;
                     return m;
                   }});
    std::vector<Record<WalkPressure>> counts;
    for (std::uint16_t i = 1; i < 100; ++i)
      counts.push_back({Time{i * 300ns}, {0, {i, static_cast<std::uint16_t>(100 - i), 7}}});
    b.feed(dram.pressure, counts);
    b.join(client.request, dram.request);
    b.join_family(dram.response, {client.response});
    b.begin(client);
    CHECK(b.run() == RunState::drained);
    CHECK(client.each_answered_once());
    CHECK(dram.waiting_for().empty());
  }
}

}  // namespace address_space_aware_test
