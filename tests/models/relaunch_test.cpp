// SPDX-License-Identifier: Apache-2.0
// An application that is relaunched until the others have ended, on a whole machine.
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "run_model.hpp"

namespace relaunch_test {

using namespace farfault;
using test::ModelRun;

namespace {

Application on(std::string name, std::uint32_t space) {
  Application a;
  a.name = std::move(name);
  a.space = space;
  return a;
}
constexpr char const* kFir =
    "include = [\"paper-gmmu-bypass\"]\ngpu.sms = 8\nworkload.name = \"fir\"\nworkload.fir.size = \"256 "
    "KiB\"\nmemory.placement = \"interleave\"\n";
constexpr char const* kBfs = "rmat.scale = 11\nrmat.edge_factor = 8\n";

// A short FIR that is relaunched while a BFS of several kernels runs on the same SMs.
struct Relaunching {
  explicit Relaunching(bool relaunch = true, EngineOptions options = {},
                       topologies::Granularity granularity = topologies::Granularity::device)
      : run(kFir, first(relaunch), {{"bfs", kBfs, on("graph", 1)}}, options, granularity) {}
  static Application first(bool relaunch) {
    auto a = on("filter", 0);
    a.relaunch = relaunch;
    return a;
  }
  HostState const& host() const { return run.assembly().host().state(); }
  std::vector<KernelRecord> kernels_of(std::uint32_t application) const {
    std::vector<KernelRecord> all;
    for (auto const& r : host().records)
      if (run.applications().application_of(r.kernel) == application) all.push_back(r);
    return all;
  }
  ModelRun run;
};

}  // namespace

TEST_CASE("an application is relaunched on a machine until the last other one has ended, not longer") {
  Relaunching both;
  both.run.run();
  auto const filter = both.kernels_of(0), graph = both.kernels_of(1);
  auto const end = graph.back().finished;
  REQUIRE(filter.size() > 3);
  for (std::size_t i = 0; i < filter.size(); ++i) {
    CHECK(filter[i].launch == i);
    CHECK(filter[i].launched == (i == 0 ? Time{} : filter[i - 1].finished));
    CHECK(filter[i].launched < end);
  }
  CHECK(filter.back().finished >= end);
  auto const& system = both.run.system();
  for (ComponentId id = 0; id < system.component_count(); ++id)
    CHECK(system.component(id).waiting_for() == "");
  // Each run of the filter is one kernel; the graph's run has all of its kernels.
  REQUIRE(both.host().ended_runs.size() == filter.size() + 1);
  std::uint32_t number = 0;
  for (auto const& r : both.host().ended_runs) {
    CHECK(r.kernels == (r.application == 0 ? 1 : graph.size()));
    CHECK(r.run == (r.application == 0 ? number : 0));
    if (r.application == 0) {
      CHECK(r.counts == filter[number].counts);
      CHECK(r.started == filter[number].launched);
      CHECK(r.finished == filter[number].finished);
      ++number;
      continue;
    }
    SmStats sum;
    for (auto const& k : graph) add_counts(sum, k.counts);
    CHECK(r.counts == sum);
    CHECK(r.started == graph.front().launched);
    CHECK(r.finished == end);
  }
}

TEST_CASE("relaunched applications give the same result on any partitions and threads") {
  EngineOptions two;
  two.threads = 2;
  Relaunching one(true, {}, topologies::Granularity::one);
  Relaunching device(true, two);
  Relaunching split(true, two, topologies::Granularity::split_gpu);
  one.run.run();
  device.run.run();
  split.run.run();
  CHECK(one.run.engine().state_digest() == device.run.engine().state_digest());
  CHECK(one.run.engine().state_digest() == split.run.engine().state_digest());
}

TEST_CASE("relaunched applications do not change the first run of others") {
  Relaunching with(true), without(false);
  with.run.run();
  without.run.run();
  auto const once = without.kernels_of(0);
  REQUIRE(once.size() == 1);
  CHECK(with.kernels_of(0)[0].finished == once[0].finished);
  CHECK(with.kernels_of(0)[0].counts == once[0].counts);
  CHECK(without.host().ended_runs.empty());
  // A single application does not wait for others.
  ModelRun plain(kFir, on("filter", 0), {});
  ModelRun alone(kFir, Relaunching::first(true), {});
  plain.run();
  alone.run();
  CHECK(alone.assembly().host().state().records.size() == 1);
  CHECK(alone.kernel(0).finished == plain.kernel(0).finished);
  CHECK(alone.kernel(0).counts == plain.kernel(0).counts);
}

}  // namespace relaunch_test
