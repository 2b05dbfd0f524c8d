// SPDX-License-Identifier: Apache-2.0
// The PHOLD program: one measurement of the engine, as text or JSON; runs under mpirun too.
#include <CLI/CLI.hpp>

#include "measurement.hpp"
#include "phold_model.hpp"
#include "yardstick.hpp"

int main(int argc, char** argv) {
  using namespace farfault;
  phold::Parameters p;
  double end = 100;
  std::uint32_t threads = 1;
  std::uint32_t partitions = 0;
  bool yardstick = false;
  bool json = false;
  CLI::App app{
      "PHOLD on the Farfault engine: a process that receives an event sends one new event.\n"
      "Example: phold --lps 16384 --start-events 4 --end 100 --threads 2"};
  app.option_defaults()->always_capture_default();
  app.add_option("--lps", p.processes, "Logical processes")->check(CLI::Range(2, 1 << 24));
  app.add_option("--start-events", p.start_events, "Pending events per process at the start")
      ->check(CLI::Range(1, 1024));
  app.add_option("--remote", p.remote, "Fraction of events sent to a uniformly drawn process")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--lookahead", p.lookahead, "Minimum delay, in us")->check(CLI::Range(1e-6, 1e6));
  app.add_option("--mean", p.mean, "Mean delay, including the lookahead, in us")
      ->check(CLI::Range(1e-6, 1e6));
  app.add_option("--skew", p.skew,
                 "Fraction of remote events sent to the first 1/16 of the processes instead, all in the "
                 "first partitions (load imbalance)")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--end", end, "Simulated time, in us")->check(CLI::Range(0.0, 1e9));
  app.add_option("--threads", threads, "Threads per rank")->check(CLI::Range(1, 1024));
  app.add_option("--partitions", partitions, "Partitions of the model. 0: threads x ranks");
  app.add_flag("--yardstick", yardstick, "Run the same model on a plain std::priority_queue");
  app.add_flag("--json", json, "Print one JSON object");
  CLI11_PARSE(app, argc, argv);
  if (p.mean < p.lookahead) {
    std::fprintf(stderr, "phold: --mean %g is below --lookahead %g; the mean delay includes the lookahead\n",
                 p.mean, p.lookahead);
    return 2;
  }

  auto const transport = make_transport();
  auto const until = Time{Duration{static_cast<std::int64_t>(end * phold::kPicosecondsPerUnit)}};
  auto const what = std::to_string(p.processes) + " processes";
  if (yardstick) {
    phold::Yardstick engine(p);
    auto m = bench::take_time([&](bench::Measurement& taken) { taken.events = engine.run_until(until); });
    m.digest = engine.digest();
    bench::print(m, *transport, what.c_str(), json);
    return 0;
  }
  if (partitions == 0) partitions = threads * transport->ranks();
  auto const model = std::make_unique<phold::Model>(p);
  Engine engine(model->system, model->placement(partitions), {.threads = threads}, *transport);
  auto m = bench::run_measured(engine, *transport, until);
  m.digest = transport->sum(model->digest());
  bench::print(m, *transport, what.c_str(), json);
  return 0;
}
