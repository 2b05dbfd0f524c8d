// The rows of the table of kernels: what each kernel did, on whole machines. Together they are what the SMs
// did.
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "run_model.hpp"

using namespace farfault;
using test::ModelRun;
using test::OneMore;

namespace {

std::string model(std::string const& workload, std::string const& more = {}) {
  return "include = [\"paper-gmmu-bypass\"]\ngpu.sms = 4\nmemory.placement = \"interleave\"\nworkload.name = "
         "\"" +
         workload + "\"\n" + more;
}
constexpr char const* kSmallBfs = "workload.bfs.rmat.scale = 10\nworkload.bfs.rmat.edge_factor = 8\n";

Application on(std::string name, std::uint32_t space, std::uint32_t repeats = 1) {
  Application a;
  a.name = std::move(name);
  a.space = space;
  a.repeats = repeats;
  return a;
}

// Each statistic of the SMs, summed over the kernels that have ended: all of them, or an application's.
std::map<std::string, std::uint64_t> rows_of(ModelRun& run, int application = -1) {
  std::map<std::string, std::uint64_t> sums;
  for (std::size_t instance = 0; instance < run.assembly().instances().size(); ++instance)
    for (auto const& r : run.assembly().host(instance).state().records)
      if (application < 0 ||
          run.applications().application_of(r.kernel) == static_cast<std::uint32_t>(application))
        for (auto const& s : SmStats::list()) sums[s.name] += s.value(r.counts);
  return sums;
}
std::map<std::string, std::uint64_t> totals_of(ModelRun& run) {
  std::map<std::string, std::uint64_t> sums;
  for (auto const& s : SmStats::list()) sums[s.name] = run.total("sm", s.name);
  return sums;
}
std::uint64_t sampled(ModelRun& run, std::string const& application, std::string const& stat) {
  std::uint64_t sum = 0;
  auto& system = run.system();
  for (ComponentId id = 0; id < system.component_count(); ++id) {
    auto const& c = system.component(id);
    if (c.kind() != "sm") continue;
    std::vector<std::uint64_t> values;
    for (auto const& g : c.stat_groups()) values.resize(values.size() + g.values());
    c.sample(values.data());
    auto const* at = values.data();
    for (auto const& g : c.stat_groups())
      for (auto const& s : g.stats) {
        if (g.application == application && s.name == stat) sum += *at;
        at += s.bins;
      }
  }
  return sum;
}

void check_adds_up(ModelRun& run) {
  run.run();
  CHECK(rows_of(run) == totals_of(run));
  auto const& applications = run.applications();
  for (std::uint32_t a = 0; applications.count() > 1 && a < applications.count(); ++a) {
    CAPTURE(applications[a].name);
    for (auto const& row : rows_of(run, static_cast<int>(a))) {
      CAPTURE(row.first);
      CHECK(row.second == sampled(run, applications[a].name, row.first));
    }
  }
  for (auto const& r : run.assembly().host().state().records) {
    auto const& did = r.counts;
    CHECK(did.blocks == applications.kernel(r.kernel).shape().blocks);
    CHECK(did.l1_tlb_hits + did.l1_tlb_misses == did.transactions);
    CHECK(did.l1_hits + did.l1_misses + did.stores == did.transactions);
    CHECK(did.faulted == did.replayed);
  }
}

}  // namespace

TEST_CASE("kernels: their counts add up to those of the SMs: one application, of one kernel and of many") {
  ModelRun one(model("relu", "workload.relu.size = \"256 KiB\"\n"));
  check_adds_up(one);
  CHECK(one.kernel(0).counts.remote_accesses > 0);
  ModelRun many(model("bfs", kSmallBfs));
  check_adds_up(many);
  CHECK(many.total("host", "kernels") == 4);
  CHECK(many.kernel(1).counts.transactions != many.kernel(2).counts.transactions);
}

TEST_CASE("kernels: their counts add up of applications and streams that share SMs, and repeat") {
  ModelRun shared(model("bfs", kSmallBfs), on("graph", 0),
                  {{"fir", "size = \"256 KiB\"", on("filter", 1, 3)},
                   {"bfs", "rmat.scale = 9\nrmat.edge_factor = 8\n", on("two streams", 2, 2), 2}});
  check_adds_up(shared);
}

TEST_CASE("kernels: each kernel makes the same accesses beside others as alone") {
  ModelRun alone(model("bfs", kSmallBfs));
  alone.run();
  ModelRun streams(model("fir", "workload.fir.size = \"256 KiB\"\n"), on("filter", 0),
                   {{"bfs", "rmat.scale = 10\nrmat.edge_factor = 8\n", on("graph", 1, 2), 2}});
  check_adds_up(streams);
  std::vector<int> seen(alone.total("host", "kernels"));
  for (auto const& r : streams.assembly().host().state().records) {
    if (streams.applications().application_of(r.kernel) != 1) continue;
    auto const k = r.kernel - streams.applications().first_kernel(1);
    ++seen[k];
    for (auto const* stat :
         {"instructions", "vector_instructions", "scalar_instructions", "memory_instructions", "scalar_loads",
          "transactions", "scalar_transactions", "stores", "blocks"})
      for (auto const& s : SmStats::list()) {
        CAPTURE(k);
        CAPTURE(stat);
        if (s.name == std::string(stat)) CHECK(s.value(r.counts) == s.value(alone.kernel(k).counts));
      }
  }
  for (auto const times : seen) CHECK(times == 2);
}

TEST_CASE("kernels: their counts add up where pages fault, move, or are large, and caches are written back") {
  auto const transpose = "workload.transpose.width = 256\nworkload.transpose.height = 256\n";
  for (auto const* more :
       {"memory.placement = \"first_touch\"\nmemory.first_touch_by = \"driver\"\n",
        "memory.placement = \"first_touch\"\nmemory.first_touch_by = \"driver\"\niommu.fault_buffer = 1\n",
        "memory.remote_touch = \"migrate\"\ngpu.l1_tlb.entries = 4\ngpu.l1_tlb.ways = 4\n",
        "gpu.l2_cache.write_back_at_kernel_end = true\n", "memory.large_pages = \"all\"\n",
        "machine.topology = \"two-gpu\"\nmachine.cluster.machines = 2\n"}) {
    CAPTURE(std::string(more));
    auto text = model("transpose", transpose);
    if (std::string_view(more).starts_with("memory.placement"))
      text.erase(text.find("memory.placement"), text.find("workload.name") - text.find("memory.placement"));
    ModelRun run(text + more);
    check_adds_up(run);
    if (std::string_view(more).find("\"driver\"") != std::string_view::npos)
      CHECK(run.total("sm", "faulted") > 0);
  }
}

TEST_CASE("kernels: each row is the same however the machine is divided into partitions") {
  auto const text = model("bfs", kSmallBfs);
  ModelRun device(text);
  device.run();
  for (auto const granularity : {topologies::Granularity::one, topologies::Granularity::split_gpu}) {
    ModelRun other(text, {}, granularity);
    other.run();
    auto const& a = device.assembly().host().state().records;
    auto const& b = other.assembly().host().state().records;
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i].counts == b[i].counts);
  }
}
