// SPDX-License-Identifier: Apache-2.0
// A custom component that needs only the engine: two relays pass a token back and forth, 10 ns per direction.
#include <array>
#include <farfault/engine/engine.hpp>
#include <iostream>

namespace {

using namespace farfault;

struct Token {
  std::uint64_t hops;
};
struct RelaySpec {
  Duration held = 5ns;
};
struct RelayState {
  std::uint64_t passed = 0;
  static std::span<Stat<RelayState> const> list() {
    static constexpr std::array<Stat<RelayState>, 1> all{
        {{"passed", "count", "Forwarded tokens", StatKind::counter,
          [](RelayState const& s) { return s.passed; }}}};
    return all;
  }
};

class Relay final : public Component<RelaySpec, RelayState> {
 public:
  using Component::Component;
  In<Token> in_port = in<&Relay::on_token>("in");
  Self<Token> start = timer<&Relay::on_token>("start");
  Out<Token> out_port = out<Token>("out");

  std::string_view kind() const override { return "relay"; }
  void on_token(Token const& token, Cx& cx) const {
    ++cx.state().passed;
    cx.send(out_port, Token{token.hops + 1}, spec().held);
  }
};

}  // namespace

int main() {
  System system;
  auto& a = system.add<Relay>("a");
  auto& b = system.add<Relay>("b");
  system.connect(a.out_port, b.in_port, Latency{10ns});
  system.connect(b.out_port, a.in_port, Latency{10ns});
  system.post(a.start, Token{0}, Time{});
  auto const transport = make_single_transport();
  Engine engine(system, {.partition_of = {0, 1}, .partitions = 2}, {.threads = 2}, *transport);
  engine.run_until(Time{1us});  // a hop every 15 ns, the first at 0
  std::cout << a.state().passed << " " << b.state().passed << "\n";
}
