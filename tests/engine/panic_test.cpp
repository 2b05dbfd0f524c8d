#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>

#include "farfault/engine/engine.hpp"
#include "farfault/engine/error.hpp"

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

struct Death {
  std::string said;
  int signal = 0;
};

// What `f` printed to standard error in a process of its own, and what that process died of.
template <class F>
Death death_of(F const& f) {
  std::array<int, 2> pipe_ends{};
  REQUIRE(::pipe(pipe_ends.data()) == 0);
  auto const child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);
    ::dup2(pipe_ends[1], STDERR_FILENO);
    f();
    ::_exit(0);
  }
  ::close(pipe_ends[1]);
  Death death;
  std::array<char, 512> buffer{};
  for (ssize_t n = 0; (n = ::read(pipe_ends[0], buffer.data(), buffer.size())) > 0;)
    death.said.append(buffer.data(), static_cast<std::size_t>(n));
  ::close(pipe_ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  death.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return death;
}

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
  CHECK(death.said.find("farfault: internal error: counted too far (") == 0);
  CHECK(death.said.find("), in group.counter at 1007500 ps\n") != std::string::npos);
}

TEST_CASE("an internal error outside a run names the place in the source alone") {
  auto const death = death_of([] { panic("out of order", "a.cpp", 7); });
  CHECK(death.signal == SIGABRT);
  CHECK(death.said == "farfault: internal error: out of order (a.cpp:7)\n");
}
