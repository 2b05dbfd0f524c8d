// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <csignal>
#include <string>

#include "death.hpp"
#include "farfault/engine/engine.hpp"
#include "farfault/engine/error.hpp"

namespace panic_test {

using namespace farfault;

namespace {

struct Step {
  std::uint64_t left;
};
struct CounterSpec {};
struct CounterState {
  std::uint64_t steps = 0;
};

class Counter final : public Component<CounterSpec, CounterState> {
 public:
  using Component::Component;
  Self<Step> step = timer<&Counter::on_step>("step");
  std::string_view kind() const override { return "counter"; }
  void on_step(Step const& m, Cx& cx) const {
    ++cx.state().steps;
    FF_CHECK(m.left != 0, "counted too far");
    cx.wake_at(step, Step{m.left - 1}, cx.now() + Duration{2500});
  }
};

void count_too_far() {
  System system;
  system.add<Counter>("elsewhere");
  auto& counter = system.add<Counter>("group.counter");
  system.post(counter.step, Step{3}, Time{1us});
  auto const transport = make_single_transport();
  Engine engine(system, {}, {}, *transport);
  engine.run_until(Time{1ms});
}

}  // namespace

TEST_CASE("an internal error in a handler names the component and the simulated time, and aborts") {
  auto const death = death_of(count_too_far);
  CHECK(death.signal == SIGABRT);
  CHECK(death.printed.find("farfault: internal error: counted too far (") == 0);
  CHECK(death.printed.find("), in group.counter at 1007500 ps\n") != std::string::npos);
}

TEST_CASE("a first event before time zero is an internal error that names its receiver") {
  auto const death = death_of([] {
    System system;
    auto& counter = system.add<Counter>("group.counter");
    system.post(counter.step, Step{3}, Time{Duration{-1}});
  });
  CHECK(death.signal == SIGABRT);
  CHECK(death.printed.find("group.counter: the first event has a negative time") != std::string::npos);
}

TEST_CASE("an internal error outside a run names only the source location") {
  auto const death = death_of([] { panic("out of order", "a.cpp", 7); });
  CHECK(death.signal == SIGABRT);
  CHECK(death.printed == "farfault: internal error: out of order (a.cpp:7)\n");
}

}  // namespace panic_test
