// SPDX-License-Identifier: Apache-2.0
// Ping-pong: the cost of an event without batching. Pairs of components pass one ball back and
// forth over a link; the two ends are in one partition, or on two threads or ranks.
#include <CLI/CLI.hpp>

#include "measurement.hpp"

namespace {

using namespace farfault;

struct Ball {
  std::uint64_t hops;
};
struct PlayerSpec {};
struct PlayerState {
  std::uint64_t hits = 0;
};

class Player final : public Component<PlayerSpec, PlayerState> {
 public:
  using Component::Component;
  In<Ball> ball_in = in<&Player::on_ball>("in");
  Out<Ball> ball_out = out<Ball>("out");
  Self<Ball> serve = timer<&Player::on_ball>("serve");

  std::string_view kind() const override { return "player"; }
  void on_ball(Ball const& ball, Cx& cx) const {
    ++cx.state().hits;
    cx.send(ball_out, Ball{ball.hops + 1});
  }
};

// Players 2i and 2i + 1 play with each other; each pair has one ball.
void add_pairs(System& system, std::uint32_t pairs, Duration latency) {
  for (std::uint32_t i = 0; i < pairs; ++i) {
    auto& left = system.add<Player>("left" + std::to_string(i));
    auto& right = system.add<Player>("right" + std::to_string(i));
    system.connect(left.ball_out, right.ball_in, Latency{latency});
    system.connect(right.ball_out, left.ball_in, Latency{latency});
    system.post(left.serve, Ball{0}, Time{latency});
  }
}

// The two ends of each pair apart: left players in the first half of the partitions, right ones in the other.
Placement ends_apart(std::uint32_t pairs, std::uint32_t partitions) {
  Placement placement;
  placement.partitions = partitions;
  for (std::uint32_t i = 0; i < pairs; ++i) {
    auto const within = i % (partitions / 2);
    placement.partition_of.push_back(within);
    placement.partition_of.push_back(partitions / 2 + within);
  }
  return placement;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint32_t pairs = 1;
  std::uint32_t threads = 1;
  std::uint64_t hops = 1'000'000;
  double latency_ns = 100;
  bool share = false;
  bool json = false;
  CLI::App app{
      "Pairs of components that exchange one event.\n"
      "Example: ping_pong --pairs 64 --threads 2   (the components of a pair are on different threads)"};
  app.option_defaults()->always_capture_default();
  app.add_option("--pairs", pairs, "Pairs of components")->check(CLI::Range(1, 1 << 20));
  app.add_option("--hops", hops, "Events of each pair")->check(CLI::Range(1ULL, 1ULL << 40));
  app.add_option("--latency", latency_ns, "Latency of the links, in ns")->check(CLI::Range(0.001, 1e6));
  app.add_option("--threads", threads,
                 "Threads per rank. With several, the components of a pair are on different ones")
      ->check(CLI::Range(1, 1024));
  app.add_flag("--synchronize", share,
               "Synchronize at every hop, even if the engine would merge the lanes because of few events");
  app.add_flag("--json", json, "Print one JSON object");
  CLI11_PARSE(app, argc, argv);

  auto const transport = make_transport();
  Duration const latency{static_cast<std::int64_t>(latency_ns * 1000)};
  System system;
  add_pairs(system, pairs, latency);
  auto const workers = threads * transport->ranks();
  auto const placement = workers == 1 ? Placement{} : ends_apart(pairs, workers + workers % 2);
  Engine engine(system, placement, {.threads = threads, .run_sparse_merged = !share}, *transport);
  auto const until = Time{latency * static_cast<std::int64_t>(hops) + latency};
  auto m = bench::run_measured(engine, *transport, until);
  m.digest = engine.state_digest();
  bench::print(m, *transport, (std::to_string(pairs) + " pairs").c_str(), json);
  return 0;
}
