// The PHOLD program: one measurement of the engine, as text or JSON; runs under mpirun too.
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <ctime>

#include "phold_model.hpp"
#include "yardstick.hpp"

namespace {

std::uint64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

// Of all threads of this process: on a machine that others use too, the fairer clock for one thread.
double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace farfault;
  phold::Parameters p;
  double end = 100;
  std::uint32_t threads = 1;
  std::uint32_t partitions = 0;
  bool yardstick = false;
  bool json = false;
  CLI::App app{
      "PHOLD on the Farfault engine.\nExample: phold --lps 16384 --start-events 4 --end 100 --threads 2"};
  app.add_option("--lps", p.processes, "logical processes")->check(CLI::Range(2, 1 << 24));
  app.add_option("--start-events", p.start_events, "events pending per process")->check(CLI::Range(1, 1024));
  app.add_option("--remote", p.remote, "fraction of events sent to a uniformly drawn process")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--lookahead", p.lookahead, "least delay, in us")->check(CLI::Range(1e-6, 1e6));
  app.add_option("--mean", p.mean, "mean delay, lookahead included, in us")->check(CLI::Range(1e-6, 1e6));
  app.add_option("--skew", p.skew, "fraction of remote events sent to the first 1/16 of the processes")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--end", end, "simulated time, in us")->check(CLI::Range(0.0, 1e9));
  app.add_option("--threads", threads, "threads a rank")->check(CLI::Range(1, 1024));
  app.add_option("--partitions", partitions, "partitions of the model (default: threads x ranks)");
  app.add_flag("--yardstick", yardstick, "the same model on a plain std::priority_queue instead");
  app.add_flag("--json", json, "print one JSON object");
  CLI11_PARSE(app, argc, argv);
  if (p.mean < p.lookahead) {
    std::fprintf(stderr, "phold: --mean %g is below --lookahead %g; the mean delay includes the lookahead\n",
                 p.mean, p.lookahead);
    return 2;
  }

  auto const transport = make_transport();
  auto const until = Time{Duration{static_cast<std::int64_t>(end * phold::kPicosecondsPerUnit)}};
  if (partitions == 0) partitions = std::max(1U, threads * transport->ranks());
  std::uint64_t events = 0;
  std::uint64_t digest = 0;
  double seconds = 0;
  double cpu = 0;
  EngineProfile profile;
  if (yardstick) {
    phold::Yardstick engine(p);
    auto const began = std::chrono::steady_clock::now();
    auto const cpu_began = cpu_seconds();
    events = engine.run_until(until);
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    cpu = cpu_seconds() - cpu_began;
    digest = engine.digest();
  } else {
    auto const model = std::make_unique<phold::Model>(p);
    Engine engine(model->system, model->placement(partitions), {.threads = threads}, *transport);
    transport->sum(0);  // all ranks start together
    auto const began = std::chrono::steady_clock::now();
    auto const cpu_began = cpu_seconds();
    engine.run_until(until);
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    cpu = cpu_seconds() - cpu_began;
    profile = engine.profile();
    events = transport->sum(profile.events);
    digest = transport->sum(model->digest());
  }
  auto const rss = transport->sum(peak_rss_bytes());
  if (transport->rank() != 0) return 0;
  auto const rate = static_cast<double>(events) / seconds;
  if (json)
    std::printf(
        "{\"events\": %llu, \"seconds\": %.6f, \"cpu_seconds\": %.6f, \"events_per_second\": %.0f, "
        "\"digest\": \"%016llx\", \"peak_rss_bytes\": %llu, \"rounds\": %llu, \"exchanges\": %llu, "
        "\"merges\": %llu}\n",
        static_cast<unsigned long long>(events), seconds, cpu, rate, static_cast<unsigned long long>(digest),
        static_cast<unsigned long long>(rss), static_cast<unsigned long long>(profile.rounds),
        static_cast<unsigned long long>(profile.exchanges), static_cast<unsigned long long>(profile.merges));
  else
    std::printf(
        "%u processes, %llu events in %.3f s: %.2f million events/s; digest %016llx; %llu rounds, "
        "%llu exchanges, %llu merges; %.0f MiB\n",
        p.processes, static_cast<unsigned long long>(events), seconds, rate / 1e6,
        static_cast<unsigned long long>(digest), static_cast<unsigned long long>(profile.rounds),
        static_cast<unsigned long long>(profile.exchanges), static_cast<unsigned long long>(profile.merges),
        static_cast<double>(rss) / 1048576);
  return 0;
}
