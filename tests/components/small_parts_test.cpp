// SPDX-License-Identifier: Apache-2.0
// Coalescer, DRAM banks, link egress and warp orders.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "farfault/compute/coalescer.hpp"
#include "farfault/compute/execution_units.hpp"
#include "farfault/compute/warp_order.hpp"
#include "farfault/fabric/egress.hpp"
#include "farfault/memory/dram_bank.hpp"

namespace small_parts_test {

using namespace farfault;

namespace {

WarpInstruction load(std::uint32_t lanes, std::uint16_t bytes) {
  WarpInstruction i{};
  i.op = Op::load;
  i.bytes_per_lane = bytes;
  i.lanes = lanes == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << lanes) - 1;
  return i;
}

std::vector<VirtAddr> lines(WarpInstruction const& i, std::uint32_t line_bytes) {
  Transactions t;
  auto const n = coalesce(i, line_bytes, t);
  std::vector<VirtAddr> out;
  for (std::uint32_t k = 0; k < n; ++k) out.push_back(t[k].line);
  return out;
}

constexpr PacketFormat kFormat{8, 1};

template <class M>
Packet packet(std::uint32_t number, std::uint32_t bytes) {
  M m{};
  if constexpr (requires { m.tag; })
    m.tag = number;
  else
    m.from = number;
  auto p = Packet::of(m);
  p.route.payload = static_cast<std::uint16_t>(bytes - kFormat.header);
  return p;
}
std::uint32_t number_of(Packet const& p) {
  if (p.is<RemoteRequest>()) return p.as<RemoteRequest>().tag;
  if (p.is<RemoteResponse>()) return p.as<RemoteResponse>().tag;
  return p.is<TranslateRequest>() ? p.as<TranslateRequest>().from : p.as<IommuResponse>().tag;
}

// Packets sent, and the time of each one's last byte.
using Gone = std::vector<std::pair<std::uint32_t, std::int64_t>>;
Gone transmit(Egress& egress, Time now) {
  Gone gone;
  egress.transmit(now, [&](Packet const& p, Passage const& done) {
    gone.push_back({number_of(p), picoseconds(done.last)});
  });
  return gone;
}

}  // namespace

TEST_CASE("consecutive lanes share lines: 32 or 64 lanes of 4 bytes take 2 or 4 lines of 64 bytes") {
  for (std::uint32_t const n : {32U, 64U}) {
    auto i = load(n, 4);
    for (std::uint32_t k = 0; k < n; ++k) i.address[k] = 0x10000 + 4 * k;
    Transactions t;
    CHECK(coalesce(i, 64, t) == n / 16);
    for (std::uint32_t k = 0; k < n / 16; ++k) {
      CHECK(t[k].line == 0x10000 + 64 * k);
      CHECK(t[k].bytes == 64);
    }
    CHECK(coalesce(i, 128, t) == n / 32);
  }
}

TEST_CASE("lanes one line apart take one transaction each, in lane order") {
  auto i = load(64, 4);
  for (std::uint32_t k = 0; k < 64; ++k) i.address[k] = 0x80000 - 64 * k + 8;
  auto const got = lines(i, 64);
  REQUIRE(got.size() == 64);
  for (std::uint32_t k = 0; k < 64; ++k) CHECK(got[k] == 0x80000 - 64 * k);
}

TEST_CASE("an access across a line boundary touches both lines") {
  auto i = load(1, 8);
  i.address[0] = 0x1000 - 3;
  Transactions t;
  REQUIRE(coalesce(i, 64, t) == 2);
  CHECK(t[0].line == 0xFC0);
  CHECK(t[0].bytes == 3);
  CHECK(t[1].line == 0x1000);
  CHECK(t[1].bytes == 5);
  i.address[0] = 0x1000 - 8;  // up to the end of the line
  CHECK(lines(i, 64) == std::vector<VirtAddr>{0xFC0});
}

TEST_CASE("64 lanes that all cross a boundary take 128 transactions") {
  auto i = load(64, 16);
  for (std::uint32_t k = 0; k < 64; ++k) i.address[k] = 0x40000 + 256 * k + 56;
  CHECK(lines(i, 64).size() == 128);
}

TEST_CASE("inactive lanes touch nothing, and no lane means no transaction") {
  auto i = load(64, 4);
  for (std::uint32_t k = 0; k < 64; ++k) i.address[k] = 64 * k;
  i.lanes = (std::uint64_t{1} << 63) | 2;
  CHECK(lines(i, 64) == std::vector<VirtAddr>{64, 63 * 64});
  i.lanes = 0;
  CHECK(lines(i, 64).empty());
}

TEST_CASE("the coalescer agrees with a set of lines for random and consecutive addresses") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 5000; ++round) {
    auto const line_bytes = 32U << random() % 3;
    auto i = load(random() % 2 == 0 ? 32 : 64, static_cast<std::uint16_t>(1U << random() % 5));
    // Random addresses of some lanes; consecutive ones; consecutive ones except for one lane; increasing ones
    // except for one or two lanes; random ones of all lanes, mostly aligned.
    auto const shape = random() % 5;
    bool const aligned = random() % 4 != 0;
    auto const moved = random() % 64;
    if (shape == 0) i.lanes &= random() | random();
    auto const spread = std::uint64_t{1} << (6 + random() % 10);
    auto const base = random() % (std::uint64_t{1} << 40);
    std::set<VirtAddr> reference;
    std::map<VirtAddr, std::uint32_t> bytes;
    std::vector<VirtAddr> order;
    for (std::uint32_t k = 0; k < 64; ++k) {
      i.address[k] = base + (shape == 0 ? random() % spread : k * std::uint64_t{i.bytes_per_lane});
      if (shape == 2 && k == moved) i.address[k] += 1 + random() % 100;
      if (shape == 4) {
        i.address[k] = base + random() % spread;
        if (aligned) i.address[k] &= ~std::uint64_t{i.bytes_per_lane - 1U};
      }
      if (shape == 3)
        i.address[k] = base + (k == moved || k == moved + 9 ? random() % 4096 : k * (spread / 64));
      if ((i.lanes >> k & 1) == 0) continue;
      for (std::uint32_t b = 0; b < i.bytes_per_lane; ++b) {
        auto const line = (i.address[k] + b) / line_bytes * line_bytes;
        ++bytes[line];
        if (reference.insert(line).second) order.push_back(line);
      }
    }
    REQUIRE(lines(i, line_bytes) == order);
    Transactions t;
    auto const n = coalesce(i, line_bytes, t);
    for (std::uint32_t k = 0; k < n; ++k) REQUIRE(t[k].bytes == std::min(line_bytes, bytes[t[k].line]));
  }
}

TEST_CASE("DRAM banks: closed, open and other rows take the times of the data sheet") {
  DramTiming const t{14ns, 15ns, 16ns, 40ns};
  DramBanks banks(4);
  CHECK(banks.idle(1));
  CHECK_FALSE(banks.row_open(1, 0));
  CHECK(banks.earliest_data(1, 7, Time{100ns}, t) == Time{129ns});  // tRCD + tCL
  banks.access(1, 7, Time{129ns}, t);
  CHECK(banks.row_open(1, 7));
  CHECK(banks.idle(0));
  CHECK(banks.earliest_data(1, 7, Time{300ns}, t) == Time{314ns});  // tCL
  CHECK(banks.earliest_data(1, 8, Time{300ns}, t) == Time{345ns});  // tRP + tRCD + tCL
  // Activated at 100: no precharge before 140.
  CHECK(banks.earliest_data(1, 8, Time{120ns}, t) == Time{140ns + 45ns});
  CHECK(banks.earliest_data(1, 8, Time{140ns}, t) == Time{140ns + 45ns});
  CHECK(banks.earliest_data(1, 8, Time{141ns}, t) == Time{141ns + 45ns});
}

TEST_CASE("DRAM banks: a column command waits for the previous one, not for its data") {
  DramTiming const t{14ns, 15ns, 16ns, 40ns};
  DramBanks banks(1);
  banks.access(0, 7, Time{129ns}, t);
  CHECK(banks.earliest_data(0, 7, Time{101ns}, t) == Time{129ns});
  banks.access(0, 7, Time{200ns}, t);  // late, because the bus was busy
  CHECK(banks.earliest_data(0, 7, Time{150ns}, t) == Time{200ns});
}

TEST_CASE(
    "exclusive or of bit groups: 16 consecutive rows map to 16 banks, and so do 16 rows a power of two "
    "apart") {
  PolicyChoice<AddressHash> const choice{"xor"};
  BankHash const hash{choice.facts().mask, 16, 1};
  AddressMap const map(16, 1, &hash);
  for (std::uint64_t const stride : {1U, 16U, 256U, 4096U}) {
    for (std::uint64_t first = 0; first < 64 * stride; first += 16 * stride) {
      std::set<std::uint32_t> banks;
      for (std::uint64_t k = 0; k < 16; ++k) banks.insert(map.slice(first + k * stride));
      CHECK(banks.size() == 16);
      CHECK(*banks.rbegin() == 15);
    }
  }
  BankHash const one{choice.facts().mask, 1, 1};
  CHECK(AddressMap(1, 1, &one).slice(12345) == 0);
}

TEST_CASE("egress: packets are sent one after the other at the bandwidth of the link") {
  Egress egress(Bandwidth{16'000'000'000}, kFormat, 1000, 8);  // 16 bytes per nanosecond
  egress.enqueue(packet<RemoteRequest>(1, 24));
  egress.enqueue(packet<RemoteRequest>(2, 88));
  CHECK(transmit(egress, Time{10ns}) == Gone{{1, 11'500}, {2, 17'000}});
  egress.enqueue(packet<RemoteRequest>(3, 24));
  CHECK(transmit(egress, Time{12ns}) == Gone{{3, 18'500}});  // after the packet on the wire
  egress.enqueue(packet<RemoteRequest>(4, 24));
  CHECK(transmit(egress, Time{100ns}) == Gone{{4, 101'500}});
  CHECK(egress.stats().packets == 4);
  CHECK(egress.stats().bytes == 24 * 3 + 88);
  CHECK(egress.stats().busy_ps == 1500 * 3 + 5500);
}

TEST_CASE(
    "egress: idle time of a link with a packet waiting for credits is counted, up to the time of the query") {
  Egress egress(Bandwidth{16'000'000'000}, kFormat, 24, 8);
  auto const nothing = [](Packet&, Passage const&) {};
  egress.send(packet<RemoteRequest>(1, 24), 0, Time{10ns}, nothing);  // until 11.5
  egress.send(packet<RemoteRequest>(2, 24), 0, Time{11ns}, nothing);  // without credits
  CHECK(egress.settle(Time{11ns}));
  CHECK(egress.stats().credit_wait_ps == 0);
  CHECK(egress.stats().busy_so_far() == 1000);
  CHECK(egress.settle(Time{20ns}));
  CHECK(egress.stats().credit_wait_ps == 8'500);
  CHECK(egress.stats().busy_so_far() == 1500);
  egress.send(packet<RemoteResponse>(3, 24), 0, Time{21ns}, nothing);  // until 22.5
  egress.add_credits(Channel::request, 24);
  egress.transmit(Time{30ns}, nothing);
  CHECK(egress.stats().credit_wait_ps == 9'500 + 7'500);
  CHECK(egress.settle(Time{31ns}));
  CHECK_FALSE(egress.settle(Time{40ns}));
  CHECK(egress.stats().credit_wait_ps == 17'000);
  CHECK(egress.stats().busy_so_far() == 4500);
}

TEST_CASE("egress: without credits packets wait, separately per channel") {
  Egress egress(Bandwidth{1'000'000'000'000}, kFormat, 20, 8);  // 1 byte per picosecond
  for (std::uint32_t i = 0; i < 4; ++i) egress.enqueue(packet<RemoteRequest>(i, 10));
  CHECK(transmit(egress, Time{}) == Gone{{0, 10}, {1, 20}});
  CHECK(egress.queued() == 2);
  CHECK(transmit(egress, Time{1ns}).empty());
  egress.enqueue(packet<RemoteResponse>(9, 10));
  CHECK(transmit(egress, Time{2ns}) == Gone{{9, 2010}});  // requests do not block responses
  egress.add_credits(Channel::response, 50);
  CHECK(transmit(egress, Time{3ns}).empty());
  egress.add_credits(Channel::request, 10);
  CHECK(transmit(egress, Time{4ns}) == Gone{{2, 4010}});
  CHECK(egress.queued() == 1);
}

TEST_CASE("egress: credits are bytes; a packet waits for all of its credits and keeps its position") {
  Egress egress(Bandwidth{1'000'000'000'000}, kFormat, 100, 8);
  egress.enqueue(packet<RemoteRequest>(1, 88), 0);
  egress.enqueue(packet<RemoteRequest>(2, 88), 0);
  egress.enqueue(packet<TranslateRequest>(3, 8), 1);
  egress.enqueue(packet<TranslateRequest>(4, 8), 1);
  CHECK(transmit(egress, Time{}) == Gone{{1, 88}, {3, 96}});
  egress.add_credits(Channel::request, 83);  // 87 in total
  CHECK(transmit(egress, Time{1ns}).empty());
  egress.add_credits(Channel::request, 1);
  CHECK(transmit(egress, Time{2ns}) == Gone{{2, 2088}});
  egress.add_credits(Channel::request, 8);
  CHECK(transmit(egress, Time{3ns}) == Gone{{4, 3008}});
}

TEST_CASE("egress: two clients take turns, and a single one does not wait") {
  Egress egress(Bandwidth{1'000'000'000'000}, kFormat, 50, 8);
  for (std::uint32_t i = 0; i < 5; ++i) egress.enqueue(packet<RemoteRequest>(i, 10), 0);
  for (std::uint32_t i = 10; i < 12; ++i) egress.enqueue(packet<TranslateRequest>(i, 10), 1);
  CHECK(transmit(egress, Time{}) == Gone{{0, 10}, {10, 20}, {1, 30}, {11, 40}, {2, 50}});
  CHECK(egress.queued() == 2);
  egress.add_credits(Channel::request, 80);
  CHECK(transmit(egress, Time{1ns}) == Gone{{3, 1010}, {4, 1020}});
}

TEST_CASE("egress: among waiting packets, responses are sent first") {
  Egress egress(Bandwidth{1'000'000'000'000}, kFormat, 80, 8);
  egress.enqueue(packet<RemoteRequest>(1, 10));
  egress.enqueue(packet<TranslateRequest>(2, 10));
  egress.enqueue(packet<RemoteResponse>(3, 10));
  egress.enqueue(packet<IommuResponse>(4, 10));
  CHECK(transmit(egress, Time{}) == Gone{{3, 10}, {4, 20}, {1, 30}, {2, 40}});
}

namespace {

// Selects a warp and issues its instruction.
std::uint32_t issue(WarpOrder& s, std::uint64_t ready) {
  auto const slot = s.pick(ready);
  s.issued(slot);
  return slot;
}

Policy<WarpOrder> warp_order(std::string_view name) {
  static PolicyChoice<WarpOrder> const gto("greedy_then_oldest");
  static PolicyChoice<WarpOrder> const rr("round_robin");
  return (name == "round_robin" ? rr : gto).make({});
}

}  // namespace

TEST_CASE("greedy then oldest: a selected warp that cannot issue is not the last one") {
  auto order = warp_order("greedy_then_oldest");
  auto& s = *order;
  for (std::uint32_t const slot : {0U, 1U, 2U}) s.admit(slot);
  CHECK(issue(s, 0b111) == 0);
  CHECK(s.pick(0b110) == 1);
  CHECK(s.pick(0b111) == 0);
}

TEST_CASE("greedy then oldest: the same warp while it is ready, else the oldest") {
  auto order = warp_order("greedy_then_oldest");
  auto& s = *order;
  for (std::uint32_t const slot : {4U, 2U, 7U}) s.admit(slot);  // 4 is the oldest
  CHECK(issue(s, 0b1001'0100) == 4);
  CHECK(issue(s, 0b1001'0100) == 4);
  CHECK(issue(s, 0b1000'0100) == 2);
  CHECK(issue(s, 0b1001'0100) == 2);
  CHECK(issue(s, 0b1001'0000) == 4);
  CHECK(issue(s, 0b1000'0000) == 7);
  s.admit(4);  // the slot has a new warp, the youngest one
  CHECK(issue(s, 0b0001'0100) == 2);
}

TEST_CASE("greedy then oldest: a new warp in the slot that issued last is the youngest, not the greedy one") {
  auto order = warp_order("greedy_then_oldest");
  auto& s = *order;
  for (std::uint32_t const slot : {0U, 1U}) s.admit(slot);
  CHECK(issue(s, 0b11) == 0);
  s.admit(0);
  CHECK(issue(s, 0b11) == 1);
}

TEST_CASE("round robin: the next ready slot after the last one, with wrap-around") {
  auto order = warp_order("round_robin");
  auto& s = *order;
  CHECK(issue(s, 0b1011'0000) == 4);
  CHECK(issue(s, 0b1011'0000) == 5);
  CHECK(issue(s, 0b1011'0000) == 7);
  CHECK(issue(s, 0b1011'0000) == 4);
  CHECK(issue(s, std::uint64_t{1} << 63 | 1) == 63);
  CHECK(issue(s, std::uint64_t{1} << 63 | 1) == 0);
  CHECK(issue(s, 1) == 0);
}

TEST_CASE("execution units: warps of one SIMD take turns, warps of different SIMDs do not") {
  ExecutionUnits u;
  ExecutionRates const gcn{.simds = 4,
                           .vector_cycles = 4,
                           .special_cycles = 16,
                           .scalar_rate = 1,
                           .shared_bytes_per_cycle = 128,
                           .dependent_latency = 4,
                           .shared_latency = 0,
                           .warp_width = 64};
  CHECK(u.execute(gcn, 0, {.vector = 10}, 100) == 140);
  CHECK(u.execute(gcn, 1, {.vector = 10}, 100) == 140);
  CHECK(u.execute(gcn, 4, {.vector = 10}, 100) == 180);
  CHECK(u.execute(gcn, 8, {.vector = 1, .special = 1}, 110) == 200);
  CHECK(u.execute(gcn, 0, {.vector = 1}, 500) == 504);  // idle since 200
  CHECK(u.simd_cycles() == 3 * 40 + 20 + 4);
}

TEST_CASE(
    "execution units: a unit of several instructions or bytes per cycle needs no whole cycle for each") {
  ExecutionUnits u;
  ExecutionRates const rates{.simds = 4,
                             .vector_cycles = 1,
                             .special_cycles = 1,
                             .scalar_rate = 4,
                             .shared_bytes_per_cycle = 128,
                             .dependent_latency = 1,
                             .shared_latency = 0,
                             .warp_width = 32};
  for (std::uint64_t n = 1; n <= 9; ++n) CHECK(u.execute(rates, 0, {.scalar = 1}, 10) == 10 + (n + 3) / 4);
  ExecutionUnits v;
  for (std::uint64_t n = 1; n <= 9; ++n)
    CHECK(v.execute(rates, 0, {.shared = 1, .shared_bytes_per_lane = 1}, 10) == 10 + (n + 3) / 4);
}

TEST_CASE(
    "execution units: a scheduler with one instruction per cycle does not issue two kinds at the same time") {
  ExecutionRates volta{.simds = 4,
                       .vector_cycles = 2,
                       .special_cycles = 8,
                       .scalar_rate = 4,
                       .shared_bytes_per_cycle = 128,
                       .dependent_latency = 1,
                       .shared_latency = 0,
                       .warp_width = 32};
  Work const mixed{.vector = 10, .scalar = 15, .shared = 5, .shared_bytes_per_lane = 1};
  CHECK(ExecutionUnits().execute(volta, 0, mixed, 100) == 100 + 30);  // dependent latency
  ExecutionUnits u;
  for (std::uint64_t n = 1; n <= 4; ++n)  // bound by the SIMD: 20 cycles each
    CHECK(u.execute(volta, 0, mixed, 100) == 100 + std::max<std::uint64_t>(30, n * 20));
  volta.single_issue = true;
  ExecutionUnits v;
  for (std::uint64_t n = 1; n <= 4; ++n) CHECK(v.execute(volta, 0, mixed, 100) == 100 + n * 30);
  CHECK(v.execute(volta, 1, mixed, 100) == 130);  // another scheduler
  v.take_issue_slot(volta, 1, 110);
  CHECK(v.execute(volta, 1, {.scalar = 1}, 110) == 132);
  // The SIMD needs two cycles per instruction: its rate is the bound, not the issue slots.
  CHECK(v.execute(volta, 2, {.vector = 10}, 100) == 120);
}

TEST_CASE("execution units: a memory instruction takes no cycle of a computing SIMD") {
  ExecutionUnits u;
  ExecutionRates const gcn{.simds = 4,
                           .vector_cycles = 4,
                           .special_cycles = 16,
                           .scalar_rate = 1,
                           .shared_bytes_per_cycle = 128,
                           .dependent_latency = 4,
                           .shared_latency = 0,
                           .warp_width = 64};
  CHECK(u.execute(gcn, 0, {.vector = 10}, 100) == 140);
  u.take_issue_slot(gcn, 4, 105);
  CHECK(u.execute(gcn, 0, {.vector = 10}, 140) == 180);
  CHECK(u.simd_cycles() == 80);
}

}  // namespace small_parts_test
