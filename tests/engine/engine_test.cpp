// SPDX-License-Identifier: Apache-2.0
#include "farfault/engine/engine.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "phold_model.hpp"

namespace engine_test {

using namespace farfault;

namespace {

struct Ball {
  std::uint64_t hits;
};
struct PlayerSpec {
  bool serves = false;
};
struct PlayerState {
  std::uint64_t hits = 0;
  Time last{};
};

class Player final : public Component<PlayerSpec, PlayerState> {
 public:
  using Component::Component;
  In<Ball> ball_in = in<&Player::on_ball>("in");
  Out<Ball> ball_out = out<Ball>("out");
  Self<Ball> serve = timer<&Player::on_ball>("serve");
  std::string_view kind() const override { return "player"; }
  std::string waiting_for() const override { return state().hits < 3 ? "the ball" : ""; }
  void on_ball(Ball const& b, Cx& cx) const {
    ++cx.state().hits;
    cx.state().last = cx.now();
    if (b.hits < 100) cx.send(ball_out, Ball{b.hits + 1}, 5ns);
  }
};

struct Match {
  System system;
  Player* a;
  Player* b;
  Match() {
    a = &system.add<Player>("a", {true});
    b = &system.add<Player>("b");
    system.connect(a->ball_out, b->ball_in, Latency{100ns});
    system.connect(b->ball_out, a->ball_in, Latency{200ns});
    system.post(a->serve, Ball{0}, Time{1us});
  }
};

struct LargeState {
  std::array<std::uint64_t, 256> values{};
};
class Large final : public Component<PlayerSpec, LargeState> {
 public:
  using Component::Component;
  In<Ball> ball_in = in<&Large::on_ball>("in");
  Out<Ball> ball_out = out<Ball>("out");
  std::string_view kind() const override { return "large"; }
  void on_ball(Ball const& b, Cx& cx) const { cx.state().values[b.hits % 256] += b.hits; }
};

std::uint64_t phold_digest(phold::Parameters const& p, std::uint32_t partitions, EngineOptions options,
                           Time end, std::uint64_t* events = nullptr) {
  phold::Model model(p);
  auto const transport = make_single_transport();
  Engine engine(model.system, model.placement(partitions), options, *transport);
  engine.run_until(Time{picoseconds(end) / 3 * Duration{1}});  // intermediate stops must not change the
                                                               // result
  engine.run_until(end);
  if (events != nullptr) *events = engine.profile().events;
  return engine.state_digest();
}

}  // namespace

TEST_CASE("a component without its state takes little memory, at any size of the state") {
  CHECK(sizeof(Large) < sizeof(LargeState) / 4);
  System system;
  auto& large = system.add<Large>("large");
  CHECK_FALSE(large.has_state());
  large.create_state();
  CHECK(large.has_state());
  CHECK(large.state().values[255] == 0);
}

TEST_CASE("the state and the ports of a small component are in the two prefetched cache lines") {
  System system;
  for (auto const* const path : {"a", "b", "c"}) {
    auto& player = system.add<Player>(path);
    auto const begin = reinterpret_cast<std::uintptr_t>(static_cast<AnyComponent const*>(&player));
    CHECK(begin % 64 == 0);
    CHECK(reinterpret_cast<std::uintptr_t>(&player.ball_out + 1) <= begin + 128);
    player.create_state();
    CHECK(reinterpret_cast<std::uintptr_t>(&player.state() + 1) <= begin + 64);
  }
}

TEST_CASE("components with events since the last query are listed once each, and no others") {
  for (std::uint32_t const partitions : {1U, 2U}) {
    Match m;
    auto& c = m.system.add<Player>("c");
    m.system.connect(c.ball_out, c.ball_in, Latency{1ns});
    auto const transport = make_single_transport();
    Engine engine(m.system, {{0, partitions - 1, 0}, partitions, {}}, {.threads = 1, .merge_lanes = false},
                  *transport);
    auto const worked_until = [&](Time end) {
      engine.run_until(end);
      std::vector<ComponentId> ids;
      engine.take_worked(ids);
      std::ranges::sort(ids);
      return ids;
    };
    CHECK(worked_until(Time{1us}).empty());
    CHECK(worked_until(Time{1us + 1ns}) == std::vector<ComponentId>{0});
    CHECK(worked_until(Time{1us + 106ns}) == std::vector<ComponentId>{1});
    CHECK(worked_until(Time{5us}) == std::vector<ComponentId>{0, 1});
    CHECK(worked_until(Time::max()) == std::vector<ComponentId>{0, 1});
    CHECK(worked_until(Time::max()).empty());
  }
}

TEST_CASE("a message arrives after exactly the link's latency plus the extra delay") {
  for (std::uint32_t const partitions : {1U, 2U}) {
    Match m;
    auto const transport = make_single_transport();
    Engine engine(m.system, {{0, partitions - 1}, partitions, {}}, {.threads = 1, .merge_lanes = false},
                  *transport);
    CHECK(engine.run_until(Time::max()) == RunState::drained);
    CHECK(engine.last_event() == Time{1us + 50 * (100ns + 5ns) + 50 * (200ns + 5ns)});
    CHECK(m.a->state().hits == 51);
    CHECK(m.b->state().hits == 50);
  }
}

TEST_CASE("run_until stops before its end and continues from there") {
  Match m;
  auto const transport = make_single_transport();
  Engine engine(m.system, {}, {}, *transport);
  CHECK(engine.run_until(Time{1us}) == RunState::reached);
  CHECK(m.a->state().hits == 0);
  CHECK(engine.run_until(Time{1us + Duration{1}}) == RunState::reached);
  CHECK(m.a->state().hits == 1);
  CHECK(engine.next_event() == Time{1us + 105ns});
}

TEST_CASE("a stop request ends the run, and the run can be resumed") {
  Match m;
  auto const transport = make_single_transport();
  Engine engine(m.system, {}, {}, *transport);
  engine.request_stop();
  CHECK(engine.run_until(Time::max()) == RunState::stopped);
  CHECK(engine.run_until(Time::max()) == RunState::drained);
  CHECK(m.a->state().hits == 51);
}

TEST_CASE("an unconnected port is rejected with its full path") {
  System system;
  system.add<Player>("gpu0.player");
  auto const transport = make_single_transport();
  CHECK_THROWS_WITH_AS(Engine(system, {}, {}, *transport),
                       "unconnected ports: gpu0.player.out, gpu0.player.in", UserError);
}

TEST_CASE("a port cannot be connected twice, and a path cannot be used twice") {
  Match m;
  CHECK_THROWS_AS(m.system.connect(m.a->ball_out, m.b->ball_in, Latency{1ns}), UserError);
  CHECK_THROWS_AS(m.system.add<Player>("a"), UserError);
}

TEST_CASE("PHOLD has one digest for every number of partitions and threads") {
  phold::Parameters const p{.processes = 96, .start_events = 3, .remote = 0.5, .lookahead = 0.1};
  auto const reference = phold_digest(p, 1, {}, Time{60us});
  std::uint64_t events = 0;
  for (std::uint32_t const partitions : {1U, 2U, 3U, 7U})
    for (std::uint32_t const threads : {1U, 2U, 4U, 8U})
      for (bool const merge : {false, true})
        for (bool const sparse : {false, true})
          CHECK(phold_digest(p, partitions, {threads, merge, sparse}, Time{60us}, &events) == reference);
  CHECK(events > 15000);
}

TEST_CASE("sparse rounds are run as one lane without an effect on the result") {
  phold::Parameters const p{.processes = 64, .start_events = 1, .remote = 0.25, .lookahead = 0.01};
  auto const reference = phold_digest(p, 1, {}, Time{800us});
  phold::Model model(p);
  auto const transport = make_single_transport();
  Engine engine(model.system, model.placement(2), {.threads = 2}, *transport);
  engine.run_until(Time{800us});
  CHECK(engine.profile().merges >= 2);
  CHECK(engine.state_digest() == reference);
}

TEST_CASE("idle time is skipped: synchronizations follow events, not time over lookahead") {
  // Two players 100 ns apart with rallies every 20 us: without jumps, each rally would take at least 200
  // rounds.
  Match m;
  for (int i = 1; i <= 20; ++i) m.system.post(m.a->serve, Ball{99}, Time{i * 20us});
  auto const transport = make_single_transport();
  Engine engine(m.system, {{0, 1}, 2, {}}, {.threads = 1, .merge_lanes = false, .run_sparse_merged = false},
                *transport);
  engine.run_until(Time::max());
  CHECK(engine.profile().events == 101 + 40);
  CHECK(engine.profile().rounds <= 101 + 2 * 40);
}

TEST_CASE("lanes with equal load have equal work in each round and do not take turns being ahead") {
  // A window has about 50 events on each of two lanes, so the lane with more events has slightly more than
  // half.
  phold::Parameters const p{.processes = 256, .start_events = 4, .remote = 0.25, .lookahead = 0.1};
  phold::Model model(p);
  auto const transport = make_single_transport();
  Engine engine(model.system, model.placement(2),
                {.threads = 1, .merge_lanes = false, .run_sparse_merged = false}, *transport);
  engine.run_until(Time{1200us});
  auto const profile = engine.profile();
  CHECK(profile.events > 1'000'000);
  CHECK(static_cast<double>(profile.longest_lanes) < 0.6 * static_cast<double>(profile.events));
}

TEST_CASE("the critical path of one rally is the whole rally, and of two rallies half") {
  for (bool const twice : {false, true}) {
    Match m;
    if (twice) {
      auto* other = &m.system.add<Player>("c", {true});
      auto& d = m.system.add<Player>("d");
      m.system.connect(other->ball_out, d.ball_in, Latency{100ns});
      m.system.connect(d.ball_out, other->ball_in, Latency{200ns});
      m.system.post(other->serve, Ball{0}, Time{1us});
    }
    auto const transport = make_single_transport();
    Placement const placement = twice ? Placement{{0, 1, 2, 3}, 4, {}} : Placement{{0, 1}, 2, {}};
    Engine engine(m.system, placement, {.record_path = true}, *transport);
    engine.run_until(Time::max());
    auto const path = engine.critical_path();
    REQUIRE(path.has_value());
    CHECK(path->events == (twice ? 202 : 101));
    CHECK(path->path == 101);
    CHECK(path->component_path == 101);
    CHECK(path->list_schedule[0] == 101);  // two cores run two rallies in parallel
    CHECK(path->busiest == 51);
  }
}

}  // namespace engine_test
