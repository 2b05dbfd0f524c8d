// SPDX-License-Identifier: Apache-2.0
// A DRAM channel alone: 16 banks, rows of 2 KiB, tCL = tRCD = tRP = 14 ns, tRAS = 33 ns, links of 1 ns.
#include "farfault/memory/dram_channel.hpp"

#include <doctest/doctest.h>

#include "memory_mock.hpp"
#include "policies.hpp"

namespace dram_channel_test {

using namespace farfault;
using namespace farfault::mock;

namespace {

using Times = std::vector<std::int64_t>;
using Tags = std::vector<std::uint32_t>;

constexpr std::uint64_t kRow = 2048;
constexpr std::uint64_t kSameBank = 17 * kRow;  // a row of the same bank: the permutation of 17 is 0

DramChannelSpec channel(Bandwidth bandwidth, std::string_view order = "frfcfs") {
  DramChannelSpec spec;
  spec.params.bandwidth = bandwidth;
  spec.params.scheduler.choose(order);
  spec.memory = AddressMap(1, 256);
  return spec;
}
constexpr Bandwidth kFast{32'000'000'000};  // a line in 2 ns
constexpr Bandwidth kSlow{1'000'000'000};   // a line in 64 ns

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

}  // namespace

TEST_CASE(
    "DRAM: a closed bank takes tRCD + tCL, an open row tCL, another row tRP + tRCD + tCL, and the line its "
    "bus time") {
  DramBench b(channel(kFast), {{Time{100ns}, read(0, 1)},
                               {Time{200ns}, read(kRow - 64, 2)},
                               {Time{300ns}, read(kSameBank, 3)},
                               {Time{400ns}, write(kSameBank + 64, 4)}});
  CHECK(b.responses->nanoseconds() ==
        Times{100 + 28 + 2 + 1, 200 + 14 + 2 + 1, 300 + 42 + 2 + 1, 400 + 14 + 2 + 1});
  CHECK(tags(*b.responses) == Tags{1, 2, 3, 4});
  auto const& s = b.dram.state().stats;
  CHECK(s.reads == 3);
  CHECK(s.writes == 1);
  CHECK(s.row_hits == 2);
  CHECK(s.row_misses == 2);
  CHECK(s.bytes == 256);
  CHECK(s.busy_ps == 4 * 2000);
}

TEST_CASE("DRAM: a row stays open for tRAS before another replaces it") {
  DramBench b(channel(kFast), {{Time{100ns}, read(0, 1)}, {Time{101ns}, read(kSameBank, 2)}});
  CHECK(b.responses->nanoseconds() == Times{131, 100 + 33 + 42 + 2 + 1});
}

TEST_CASE("DRAM: misses in different banks overlap") {
  DramBench b(channel(kFast),
              {{Time{100ns}, read(0, 1)}, {Time{100ns}, read(kRow, 2)}, {Time{100ns}, read(2 * kRow, 3)}});
  CHECK(b.responses->nanoseconds() == Times{131, 133, 135});
}

TEST_CASE("DRAM: slice-local addresses: the bits that select the slice are not part of a row") {
  auto spec = channel(kFast);
  spec.memory = AddressMap(4, 256);
  // A row of 2 KiB holds eight blocks of 256 bytes, every fourth block of the memory.
  DramBench b(
      spec, {{Time{100ns}, read(0, 1)}, {Time{200ns}, read(7 * 1024, 2)}, {Time{300ns}, read(8 * 1024, 3)}});
  CHECK(b.responses->nanoseconds() == Times{131, 217, 331});
}

TEST_CASE("DRAM: FR-FCFS serves a hit in an open row before an older miss, FCFS does not") {
  std::vector<Record<MemRequest>> const script{
      {Time{1000ns}, read(0, 1)}, {Time{1010ns}, read(kSameBank, 2)}, {Time{1020ns}, read(64, 3)}};
  // The bus is busy until 1092. The scheduler picks at 1050 and 1114.
  DramBench first_ready(channel(kSlow, "frfcfs"), script);
  CHECK(tags(*first_ready.responses) == Tags{1, 3, 2});
  CHECK(first_ready.responses->nanoseconds() == Times{1093, 1157, 1221});
  CHECK(first_ready.dram.state().stats.row_hits == 1);
  DramBench in_order(channel(kSlow, "fcfs"), script);
  CHECK(tags(*in_order.responses) == Tags{1, 2, 3});
  CHECK(in_order.dram.state().stats.row_hits == 0);
}

TEST_CASE(
    "DRAM: without an open row, FR-FCFS serves the bank that can deliver first, FCFS the oldest request") {
  std::vector<Record<MemRequest>> const script{
      {Time{1000ns}, read(0, 1)}, {Time{1010ns}, read(kSameBank, 2)}, {Time{1011ns}, read(kRow, 3)}};
  DramBench first_ready(channel(kSlow, "frfcfs"), script);
  CHECK(tags(*first_ready.responses) == Tags{1, 3, 2});
  DramBench in_order(channel(kSlow, "fcfs"), script);
  CHECK(tags(*in_order.responses) == Tags{1, 2, 3});
}

TEST_CASE("DRAM: without an open row and with all requests in one bank, FR-FCFS serves the oldest") {
  DramBench b(channel(kSlow), {{Time{1000ns}, read(0, 1)},
                               {Time{1010ns}, read(2 * kSameBank, 2)},
                               {Time{1011ns}, read(kSameBank, 3)}});
  CHECK(tags(*b.responses) == Tags{1, 2, 3});
}

TEST_CASE("DRAM: saturated with hits in one row, 10,000 lines take exactly 10,000 times their bus time") {
  for (auto const bandwidth : {kFast, kSlow}) {
    auto spec = channel(bandwidth);
    spec.params.row = ByteSize{1 << 20};
    Bench b;
    auto& dram = b.system.add<DramChannel>("dram", spec);
    auto& client = b.system.add<Client<MemRequest, MemResponse>>(
        "client", {10'000, 64, [](std::uint64_t n) { return read(n * 64, static_cast<std::uint32_t>(n)); }});
    b.join(client.request, dram.request);
    b.join_family(dram.response, {client.response});
    b.begin(client);
    b.run();
    CHECK(client.each_answered_once());
    auto const line = bandwidth.time_for(64);
    CHECK(client.state().last == Time{100ns + 1ns + 28ns + 10'000 * line + 1ns});
    CHECK(dram.state().stats.row_misses == 1);
    CHECK(dram.state().stats.busy_ps == static_cast<std::uint64_t>(picoseconds(10'000 * line)));
    CHECK(dram.waiting_for().empty());
  }
}

namespace {

// 10,000 lines of one row at full rate; the time of the last response.
struct Saturated : Bench {
  Saturated(DramChannelSpec spec, std::function<MemRequest(std::uint64_t)> request)
      : dram(system.add<DramChannel>("dram", std::move(spec))),
        client(system.add<Client<MemRequest, MemResponse>>("client", {10'000, 64, std::move(request)})) {
    join(client.request, dram.request);
    join_family(dram.response, {client.response});
    begin(client);
    CHECK(run() == RunState::drained);
    CHECK(client.each_answered_once());
  }
  DramChannel& dram;
  Client<MemRequest, MemResponse>& client;
};

DramChannelSpec refreshed() {
  auto spec = channel(kFast);
  spec.params.row = ByteSize{1 << 20};
  spec.params.t_refi = 3900ns;
  spec.params.t_rfc = 260ns;
  return spec;
}

DramChannelSpec turning(Bandwidth bandwidth, std::string_view order) {
  auto spec = channel(bandwidth, order);
  spec.params.row = ByteSize{1 << 20};
  spec.params.t_wtr = 6ns;
  spec.params.t_rtw = 2ns;
  return spec;
}

PolicyChoice<DramScheduler> batches(std::string const& high, std::string const& low) {
  return test::chosen<DramScheduler>("frfcfs_batched", {{"write_high", high}, {"write_low", low}});
}

MemRequest in_one_row(std::uint64_t n, Access access) {
  return {.address = n * 64, .tag = static_cast<std::uint32_t>(n), .from = 0, .access = access, .bytes = 64};
}

}  // namespace

TEST_CASE("DRAM: when saturated, each refresh costs its duration and the reopening of a row") {
  Saturated b(refreshed(), [](std::uint64_t n) { return in_one_row(n, Access::read); });
  // From 129 to the first refresh, then whole periods, then the remainder.
  auto const first = (3900 - 129) / 2;
  auto const each = (3900 - 260 - 28) / 2;
  auto const rest = 10'000 - first - 4 * each;
  CHECK(rest > 0);
  CHECK(rest < each);
  CHECK(b.client.state().last == Time{std::chrono::nanoseconds(5 * 3900 + 260 + 28 + 2 * rest + 1)});
  CHECK(b.dram.state().stats.refresh_stalls == 5);
  CHECK(b.dram.state().stats.row_misses == 6);
}

TEST_CASE("DRAM: a refresh closes the rows, and an access during a refresh waits for its end") {
  DramBench b(refreshed(), {{Time{100ns}, read(0, 1)},
                            {Time{200ns}, read(64, 2)},
                            {Time{10'000ns}, read(128, 3)},           // the second refresh is over
                            {Time{7 * 3900ns + 100ns}, read(0, 4)},   // the seventh is not
                            {Time{8 * 3900ns - 15ns}, read(0, 5)}});  // its burst would overlap the eighth
  CHECK(b.responses->nanoseconds() ==
        Times{131, 217, 10'031, 7 * 3900 + 260 + 28 + 3, 8 * 3900 + 260 + 28 + 3});
  CHECK(b.dram.state().stats.refresh_stalls == 2);
  CHECK(b.dram.state().stats.row_hits == 1);
}

TEST_CASE("DRAM: alternating reads and writes pay for every bus turn-around") {
  Saturated b(turning(kFast, "fcfs"),
              [](std::uint64_t n) { return in_one_row(n, n % 2 == 0 ? Access::read : Access::write); });
  auto const turns = 5000 * 2ns + 4999 * (6ns + 14ns);
  CHECK(b.client.state().last == Time{101ns + 28ns + 10'000 * 2ns + turns + 1ns});
  CHECK(b.dram.state().stats.turn_arounds == 9999);
}

TEST_CASE("DRAM: writes wait for a batch, and reads wait until it is written") {
  auto spec = turning(kSlow, "frfcfs_batched");
  spec.params.scheduler = batches("4", "1");
  std::vector<Record<MemRequest>> script{{Time{1000ns}, read(0, 0)}};
  for (std::uint32_t i = 1; i <= 9; ++i)
    script.push_back({Time{1000ns + i * 1ns}, in_one_row(i, i % 2 == 0 ? Access::write : Access::read)});
  DramBench b(spec, script);
  // Four writes are queued when the bus becomes free: three are served, then the five reads, then the last
  // write.
  CHECK(tags(*b.responses) == Tags{0, 2, 4, 6, 1, 3, 5, 7, 9, 8});
  CHECK(b.responses->nanoseconds().back() == 1000 + 28 + 10 * 64 + 2 + (6 + 14) + 2 + 1);
  CHECK(b.dram.state().stats.turn_arounds == 3);
}

TEST_CASE("DRAM: a batch of writes is counted in lines; a train counts all of its lines") {
  auto spec = turning(kSlow, "frfcfs_batched");
  spec.params.scheduler = batches("4", "1");
  auto writes = in_one_row(4, Access::write);
  writes.train.more = 3;
  std::vector<Record<MemRequest>> script{{Time{1000ns}, read(0, 0)}, {Time{1001ns}, writes}};
  for (std::uint32_t i = 1; i <= 3; ++i)
    script.push_back({Time{1001ns + i * 1ns}, in_one_row(i, Access::read)});
  DramBench b(spec, script);
  CHECK(tags(*b.responses) == Tags{0, 4, 1, 2, 3});
  CHECK(b.dram.state().queued_lines == 0);
  CHECK(b.dram.state().queued_writes == 0);
}

TEST_CASE("DRAM: writes fewer than a batch are served when no read waits") {
  DramBench b(turning(kFast, "frfcfs_batched"), {{Time{100ns}, write(0, 1)}});
  CHECK(b.responses->nanoseconds() == Times{131});
}

TEST_CASE("DRAM: with refresh and turn-around, every request of a random load is answered exactly once") {
  for (std::uint32_t const high : {1U, 20U, 60U}) {
    auto spec = turning(kFast, "frfcfs_batched");
    spec.params.row = ByteSize{kRow};
    spec.params.t_refi = 400ns;
    spec.params.t_rfc = 100ns;
    spec.params.scheduler = batches(std::to_string(high), std::to_string(high / 2));
    Saturated b(spec, [](std::uint64_t n) {
      auto const random = n * 0x9E3779B97F4A7C15ULL;
      return MemRequest{.address = (random >> 40) * 64,
                        .tag = static_cast<std::uint32_t>(n),
                        .from = 0,
                        .access = (random >> 39 & 1) != 0 ? Access::write : Access::read,
                        .bytes = 64};
    });
    auto const& s = b.dram.state();
    CHECK(s.stats.reads + s.stats.writes == 10'000);
    CHECK(s.queued_writes == 0);
    CHECK(s.stats.refresh_stalls > 10);
    CHECK(b.dram.waiting_for().empty());
  }
}

TEST_CASE("DRAM: under random load every request is answered exactly once and bus transfers never overlap") {
  for (std::string_view const order : {"frfcfs", "fcfs"}) {
    Bench b;
    auto& dram = b.system.add<DramChannel>("dram", channel(kFast, order));
    auto& client = b.system.add<Client<MemRequest, MemResponse>>(
        "client", {5000, 64, [](std::uint64_t n) {
                     return read((n * 0x9E3779B97F4A7C15ULL >> 40) * 64, static_cast<std::uint32_t>(n));
                   }});
    b.join(client.request, dram.request);
    b.join_family(dram.response, {client.response});
    b.begin(client);
    CHECK(b.run() == RunState::drained);
    CHECK(client.each_answered_once());
    CHECK(client.state().last >= Time{100ns + 5000 * 2ns});
    CHECK(dram.state().stats.row_hits + dram.state().stats.row_misses == 5000);
  }
}

TEST_CASE("DRAM: lines read for page walks and copied lines of either direction are counted separately") {
  std::vector<Record<MemRequest>> script;
  std::uint32_t tag = 0;
  for (auto const kind :
       {RequestKind::data, walk_read(0), walk_read(3), RequestKind::copy, RequestKind::write_back}) {
    auto m = kind == RequestKind::write_back ? write(64 * tag, tag) : read(64 * tag, tag);
    m.requester.kind = kind;
    script.push_back({Time{(100 + 100 * tag++) * 1ns}, m});
  }
  auto copy = write(64 * tag, tag);
  copy.requester.kind = RequestKind::copy;
  script.push_back({Time{900ns}, copy});
  DramBench b(channel(kFast), script);
  auto const& s = b.dram.state().stats;
  CHECK(s.reads == 4);
  CHECK(s.writes == 2);
  CHECK(b.dram.state().by_requester[0].walk_reads == 2);
  CHECK(b.dram.state().by_requester[0].data_reads == 1);
  CHECK(s.copies == 2);
}

}  // namespace dram_channel_test
