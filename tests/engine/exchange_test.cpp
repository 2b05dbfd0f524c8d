// SPDX-License-Identifier: Apache-2.0
// Exchange between ranks: sufficient for one digest, and limited to the links between them.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "ring_model.hpp"
#include "thread_ranks.hpp"
#include "uneven_model.hpp"

namespace exchange_test {

using namespace farfault;

namespace {

struct Ran {
  std::uint64_t digest = 0;
  std::uint64_t events = 0;
  std::uint64_t exchanges = 0;
  std::uint64_t summaries = 0;
  std::uint64_t messages = 0;
};

Ran run_ring(ring::Options const& options, std::uint32_t ranks, Time end, EngineOptions engine_options = {}) {
  Ran ran;
  run_on_ranks(ranks, [&](Transport& transport) {
    ring::Model model(options);
    Engine engine(model.system, model.placement(options.places), engine_options, transport);
    engine.run_until(Time{picoseconds(end) / 3 * Duration{1}});
    engine.run_until(end);
    auto const profile = engine.profile();
    auto const digest = engine.state_digest();
    auto const events = transport.sum(profile.events);
    auto const messages = transport.sum(profile.messages_sent);
    auto const most = transport.max(profile.exchanges);
    auto const least = ~transport.max(~profile.exchanges);
    if (transport.rank() != 0) return;
    CHECK(most == least);
    ran = {.digest = digest,
           .events = events,
           .exchanges = most,
           .summaries = profile.summaries,
           .messages = messages};
  });
  return ran;
}

}  // namespace

TEST_CASE("a ring of unequal links has one digest on every number of ranks, with and without merged lanes") {
  ring::Options const options{.places = 12, .longer = Duration{7'001}};
  auto const reference = run_ring(options, 1, Time{40us});
  CHECK(reference.events > 30'000);
  for (std::uint32_t const ranks : {2U, 3U, 5U, 8U, 12U, 14U})  // two of 14 ranks have no places
    for (bool const merge : {false, true}) {
      CAPTURE(ranks);
      CAPTURE(merge);
      auto const ran =
          run_ring(options, ranks, Time{40us}, {.merge_lanes = merge, .run_sparse_merged = merge});
      CHECK(ran.digest == reference.digest);
      CHECK(ran.events == reference.events);
    }
}

TEST_CASE("links with different latencies per pair and direction give one digest on every number of ranks") {
  auto const reference = uneven::digest(1, {}, Time{60us}, *make_single_transport());
  for (std::uint32_t const ranks : {2U, 3U, 4U, 8U})
    run_on_ranks(ranks, [&](Transport& transport) {
      auto const digest = uneven::digest(8, {.threads = 1, .merge_lanes = false}, Time{60us}, transport);
      if (transport.rank() == 0) CHECK(digest == reference);
    });
}

TEST_CASE("an exchange on a ring takes two messages per rank") {
  for (std::uint32_t const ranks : {8U, 16U, 32U}) {
    auto const ran = run_ring({.places = ranks}, ranks, Time{5us});
    CHECK(ran.messages == 2 * ranks * ran.exchanges);
    CHECK(ran.exchanges > 40);
  }
}

TEST_CASE("if all ranks are busy, exchanges follow simulated time over the link, and few need a summary") {
  auto const ran = run_ring({.places = 8}, 8, Time{60us});  // 600 link latencies
  CHECK(ran.exchanges < 700);
  CHECK(ran.summaries < 100);
}

TEST_CASE("one active rank of a ring of eight needs no more exchanges than eight active ranks") {
  auto const ran = run_ring({.places = 8, .every = 8}, 8, Time{60us});
  CHECK(ran.events > 5'000);
  CHECK(ran.exchanges < 700);
}

TEST_CASE("ranks skip idle time: exchanges follow events, not simulated time over the link") {
  // Two of eight places work every 100 us, i.e. every 1000 link latencies.
  auto const ran = run_ring({.places = 8, .every = 4, .pause = Duration{100'000'000}}, 8, Time{20ms});
  CHECK(ran.events > 400);
  CHECK(ran.exchanges < 4 * ran.events);
}

TEST_CASE("an idle period does not affect the later number of exchanges") {
  // 10,000 idle link latencies, then 600 busy ones.
  auto const ran = run_ring({.places = 8, .start = 1ms}, 8, Time{1060us});
  CHECK(ran.exchanges < 750);
  CHECK(ran.summaries < 150);
}

TEST_CASE("a stop request of one rank stops all ranks of a ring, and they continue to the same end") {
  ring::Options const options{.places = 8};
  auto const reference = run_ring(options, 1, Time{30us});
  run_on_ranks(8, [&](Transport& transport) {
    ring::Model model(options);
    Engine engine(model.system, model.placement(8), {}, transport);
    engine.run_until(Time{10us});
    if (transport.rank() == 5) engine.request_stop();
    CHECK(engine.run_until(Time{30us}) == RunState::stopped);
    CHECK(engine.run_until(Time{30us}) == RunState::reached);
    auto const digest = engine.state_digest();
    if (transport.rank() == 0) CHECK(digest == reference.digest);
  });
}

TEST_CASE("the state of stopped ranks of a ring is loaded on another number of ranks") {
  ring::Options const options{.places = 8, .longer = Duration{3'000}};
  auto const reference = run_ring(options, 1, Time{30us});
  std::vector<std::vector<std::byte>> parts;
  run_on_ranks(8, [&](Transport& transport) {
    ring::Model model(options);
    Engine engine(model.system, model.placement(8), {}, transport);
    engine.run_until(Time{11us});
    auto const saved = engine.save();
    auto gathered = transport.gather(saved);
    if (transport.rank() == 0) parts = gathered;
  });
  run_on_ranks(3, [&](Transport& transport) {
    ring::Model model(options);
    Engine engine(model.system, model.placement(4), {}, transport);
    engine.run_until(Time{2us});  // earlier knowledge about other ranks must be discarded
    engine.load(parts);
    engine.run_until(Time{30us});
    auto const digest = engine.state_digest();
    if (transport.rank() == 0) CHECK(digest == reference.digest);
  });
}

TEST_CASE("exchanges are observed equally on all ranks, and an observer may sum over them") {
  for (std::uint32_t const ranks : {2U, 8U}) {  // all ranks are neighbours, or only some
    ring::Options const options{.places = 8};
    auto const reference = run_ring(options, 1, Time{60us});
    run_on_ranks(ranks, [&](Transport& transport) {
      ring::Model model(options);
      Engine engine(model.system, model.placement(8), {}, transport);
      std::vector<std::uint64_t> exchanges, events;
      engine.watch_exchanges(50, [&] {
        exchanges.push_back(engine.profile().exchanges);
        events.push_back(transport.sum(engine.profile().events));
      });
      engine.run_until(Time{60us});
      auto const profile = engine.profile();
      auto const all = transport.sum(profile.events);
      auto const digest = engine.state_digest();
      auto const looks = std::uint64_t{exchanges.size()};
      auto const most = transport.max(looks), least = ~transport.max(~looks);
      if (transport.rank() != 0) return;
      CHECK(most == least);
      CHECK(looks == profile.exchanges / 50);
      CHECK(looks > 2);
      for (std::size_t i = 0; i < exchanges.size(); ++i) CHECK(exchanges[i] == 50 * (i + 1));
      CHECK(std::is_sorted(events.begin(), events.end()));
      CHECK(events.back() <= all);
      CHECK(digest == reference.digest);
    });
  }
}

TEST_CASE("one rank has no exchange to observe") {
  ring::Model model({.places = 4});
  auto const transport = make_single_transport();
  Engine engine(model.system, model.placement(4), {}, *transport);
  bool polled = false;
  engine.watch_exchanges(1, [&] { polled = true; });
  engine.run_until(Time{5us});
  CHECK_FALSE(polled);
}

}  // namespace exchange_test
