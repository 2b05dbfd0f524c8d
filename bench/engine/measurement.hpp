// SPDX-License-Identifier: Apache-2.0
// Measurements common to all benchmarks of the engine, and their output.
//
// Time covers run_until() alone, without building the model and joining the ranks. Events, memory
// and the digest are sums over ranks, the time is rank 0's. run_measured() and print() are collective.
#pragma once

#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>

#include "farfault/engine/engine.hpp"

namespace farfault::bench {

struct Measurement {
  std::uint64_t events = 0;
  double seconds = 0;
  double cpu_seconds = 0;  // of all threads of rank 0
  std::uint64_t digest = 0;
  EngineProfile profile;  // of rank 0
};

// CPU time of all threads of this process: with other load on the machine, the fairer clock for one thread.
inline double cpu_clock() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// Calls run() and measures its time.
template <class F>
Measurement take_time(F&& run) {
  Measurement m;
  auto const began = std::chrono::steady_clock::now();
  auto const cpu_began = cpu_clock();
  run(m);
  m.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  m.cpu_seconds = cpu_clock() - cpu_began;
  return m;
}

inline Measurement run_measured(Engine& engine, Transport& transport, Time until) {
  transport.sum(0);  // all ranks start together
  auto m = take_time([&](Measurement&) { engine.run_until(until); });
  m.profile = engine.profile();
  m.events = transport.sum(m.profile.events);
  return m;
}

inline std::uint64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

// One line, or one JSON object, from rank 0. `what` describes the run.
inline void print(Measurement const& m, Transport& transport, char const* what, bool json) {
  auto const rss = static_cast<unsigned long long>(transport.sum(peak_rss_bytes()));
  if (transport.rank() != 0) return;
  auto const events = static_cast<unsigned long long>(m.events);
  auto const digest = static_cast<unsigned long long>(m.digest);
  auto const rounds = static_cast<unsigned long long>(m.profile.rounds);
  auto const exchanges = static_cast<unsigned long long>(m.profile.exchanges);
  auto const merges = static_cast<unsigned long long>(m.profile.merges);
  auto const rate = m.seconds > 0 ? static_cast<double>(m.events) / m.seconds : 0;
  if (json)
    std::printf(
        "{\"events\": %llu, \"seconds\": %.6f, \"cpu_seconds\": %.6f, \"events_per_second\": %.0f, "
        "\"digest\": \"%016llx\", \"peak_rss_bytes\": %llu, \"rounds\": %llu, \"exchanges\": %llu, "
        "\"merges\": %llu}\n",
        events, m.seconds, m.cpu_seconds, rate, digest, rss, rounds, exchanges, merges);
  else
    std::printf(
        "%s, %llu events in %.3f s: %.2f million events/s, %.1f ns per event; digest %016llx; %llu rounds, "
        "%llu exchanges, %llu merges; %.0f MiB\n",
        what, events, m.seconds, rate / 1e6, rate > 0 ? 1e9 / rate : 0, digest, rounds, exchanges, merges,
        static_cast<double>(rss) / 1048576);
}

}  // namespace farfault::bench
