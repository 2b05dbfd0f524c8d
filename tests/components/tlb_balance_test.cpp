// SPDX-License-Identifier: Apache-2.0
// Balance of the TLB banks of several chiplets: MGvm's rule, the counts of a bank, and the balancer. Clock
// 1 GHz, links of 1 ns.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "choices.hpp"
#include "farfault/translation/l2_tlb.hpp"
#include "farfault/translation/tlb_balancer.hpp"
#include "mock.hpp"
#include "policies.hpp"

namespace tlb_balance_test {

using namespace farfault;
using namespace farfault::mock;

namespace {

using Times = std::vector<std::int64_t>;
using Counts = std::vector<TlbBalance::Counts>;

// One bank receives `share` of 1000 far requests, and `hits` of 1000 requests hit.
Counts counts(std::uint64_t hits, std::uint64_t share) {
  return {{hits / 2, 500 - hits / 2, 1000 - share}, {hits - hits / 2, 500 - hits + hits / 2, share}};
}

}  // namespace

TEST_CASE("mgvm: single pages after two collections in a row with hits above 90% and a share above 80%") {
  auto policy = PolicyChoice<TlbBalance>("mgvm").make({});
  CHECK(policy->epoch() == 5000);
  auto const after = [&](std::uint64_t hits, std::uint64_t share) {
    return policy->counted(counts(hits, share));
  };
  CHECK(after(901, 801) == 0);
  CHECK(after(900, 801) == 0);  // not above the hit rate
  CHECK(after(901, 801) == 0);
  CHECK(after(901, 800) == 0);  // not above the share
  CHECK(after(1000, 1000) == 0);
  CHECK(after(901, 801) == 1);
  CHECK(after(0, 500) == 1);  // until the next kernel
  auto copy = PolicyChoice<TlbBalance>("mgvm").make({});
  test::copy_state(policy, copy);
  CHECK(copy->counted(counts(0, 500)) == 1);
  CHECK(policy->kernel_started() == 0);
  CHECK(after(901, 801) == 0);
  CHECK(policy->kernel_started() == 0);
  CHECK(after(901, 801) == 1);  // the second in a row, of two kernels
  CHECK(policy->counted(Counts{{}, {}}) == 1);
}

TEST_CASE(
    "balanced bank: asks once per epoch of far requests, and reports the counts since the last report") {
  L2TlbSpec spec;
  spec.params.entries = 8;
  spec.params.ways = 4;
  spec.requesters = {3, {}};
  spec.to_requester = {Duration::zero(), 40ns, 40ns};
  spec.bank = 1;
  spec.balance_epoch = 3;
  Bench b;
  auto& tlb = b.system.add<L2Tlb>("bank", spec);
  std::vector<Record<TranslateRequest>> requests;
  for (int i = 0; i < 10; ++i)
    requests.push_back({Time{100ns + i * 10ns}, {.page = 7, .from = static_cast<std::uint32_t>(i % 3)}});
  b.feed(tlb.request, requests);
  b.feed(tlb.filled, {{Time{122ns}, {.page = 7, .frame = 9 << 12}}});
  b.feed<Tick>(tlb.collect, {{Time{300ns}, {}}, {Time{400ns}, {}}});
  b.idle(tlb.invalidate);
  b.idle(tlb.invalidated);
  auto const answers = b.sinks(tlb.response, 3);
  auto& reports = b.sink(tlb.counts);
  b.sinks(tlb.miss, 1);
  b.sinks(tlb.forwarded, 3);
  b.sinks(tlb.acknowledge, 1);
  b.run();
  REQUIRE(reports.count() == 4);
  // Far: the second, third, fifth, sixth, ... request.
  CHECK(reports.nanoseconds() == Times{141, 181, 301, 401});
  auto const& first = reports.records()[0].message;
  CHECK(first.asks == 1);
  CHECK(reports.records()[1].message.asks == 1);  // it may have been collected just before the first wish
  auto const& report = reports.records()[2].message;
  CHECK(report.asks == 0);
  CHECK(report.bank == 1);
  CHECK(report.far == 6);
  CHECK(report.misses == 1);  // merged ones count neither as hits nor as misses
  CHECK(report.hits == 7);
  CHECK(reports.records()[3].message.far == 0);
  CHECK(answers[0]->count() == 4);
}

TEST_CASE("balancer: one wish collects the counts of all banks, and a change is sent to all clients") {
  Bench b;
  auto& balancer = b.system.add<TlbBalancer>(
      "balancer", {.policy = PolicyChoice<TlbBalance>("mgvm"), .section = "x", .banks = 2, .clients = 3});
  TlbCounts const wish{.bank = 0, .asks = 1};
  auto const report = [](std::uint32_t bank, std::uint64_t far) {
    return TlbCounts{.hits = 100, .misses = 0, .far = far, .bank = bank};
  };
  b.feed<TlbCounts>(balancer.counted, {{Time{100ns}, wish},
                                       {Time{101ns}, wish},  // while the counts are collected
                                       {Time{110ns}, report(1, 90)},
                                       {Time{120ns}, report(0, 1)},
                                       {Time{200ns}, wish},
                                       {Time{210ns}, report(0, 1)},
                                       {Time{211ns}, report(1, 90)},
                                       // Balanced counts, in another kernel.
                                       {Time{700ns}, wish},
                                       {Time{710ns}, report(1, 60)},
                                       {Time{720ns}, report(0, 40)},
                                       {Time{800ns}, wish},
                                       {Time{810ns}, report(1, 60)},
                                       {Time{820ns}, report(0, 40)}});
  b.feed<Tick>(balancer.launched, {{Time{10ns}, {}}, {Time{500ns}, {}}, {Time{600ns}, {}}});
  auto const banks = b.sinks(balancer.collect, 2);
  auto const clients = b.sinks(balancer.distribute, 3);
  b.run();
  for (auto* bank : banks) CHECK(bank->nanoseconds() == Times{101, 201, 701, 801});
  for (auto* client : clients) {
    CHECK(client->nanoseconds() == Times{212, 501});
    CHECK(client->records()[0].message.number == 1);
    CHECK(client->records()[1].message.number == 0);
  }
  CHECK(balancer.state().collections == 4);
  CHECK(balancer.state().switches == 2);
}

}  // namespace tlb_balance_test
