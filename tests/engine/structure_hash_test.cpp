// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>

#include "farfault/engine/system.hpp"

namespace structure_hash_test {

using namespace farfault;

namespace {

struct Ball {
  std::uint64_t number;
};
struct PlayerSpec {};
struct PlayerState {
  std::uint64_t caught = 0;
};

class Player final : public Component<PlayerSpec, PlayerState> {
 public:
  using Component::Component;
  In<Ball> ball_in = in<&Player::on_ball>("in");
  Out<Ball> ball_out = out<Ball>("out");
  Self<Ball> begin = timer<&Player::on_ball>("begin");
  std::string_view kind() const override { return "player"; }
  void on_ball(Ball const&, Cx& cx) const { ++cx.state().caught; }
};

struct Game {
  std::string name = "a";
  Duration latency = 10ns;
  bool crossed = true;  // each sends to the other, not to itself
  bool family = false;  // the first may send to both
  std::uint64_t ball = 1;
  Time begin{};
};

std::uint64_t hash_of(Game const& game) {
  System system;
  auto& a = system.add<Player>(game.name);
  auto& b = system.add<Player>("b");
  if (game.family)
    system.connect(a.ball_out, system.family(std::vector{a.ball_in, b.ball_in}), Latency{game.latency});
  else
    system.connect(a.ball_out, game.crossed ? b.ball_in : a.ball_in, Latency{game.latency});
  system.connect(b.ball_out, game.crossed ? a.ball_in : b.ball_in, Latency{10ns});
  system.post(a.begin, Ball{game.ball}, game.begin);
  return system.structure_hash();
}

}  // namespace

TEST_CASE("the hash of a system depends only on its paths, links, latencies and first events") {
  auto const hash = hash_of({});
  CHECK(hash_of({}) == hash);
  CHECK(hash_of({.name = "c"}) != hash);
  CHECK(hash_of({.latency = 11ns}) != hash);
  CHECK(hash_of({.crossed = false}) != hash);
  CHECK(hash_of({.family = true}) != hash);
  CHECK(hash_of({.ball = 2}) != hash);
  CHECK(hash_of({.begin = Time{1ns}}) != hash);
}

}  // namespace structure_hash_test
