// SPDX-License-Identifier: Apache-2.0
// Rows of the table of kernels on whole machines: the counts of each kernel add up to the SMs' statistics.
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "run_model.hpp"

namespace kernel_counts_test {

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

bool exists(Stat<SmStats> const& s, ModelRun& run) {
  bool there = false;
  test::each<Sm>(run.system(), [&](Sm const& sm) { there = s.exists(sm.spec()); });
  return there;
}

// Each statistic of the SMs, summed over all ended kernels or over the ended kernels of one application.
std::map<std::string, std::uint64_t> rows_of(ModelRun& run, int application = -1) {
  std::map<std::string, std::uint64_t> sums;
  for (std::size_t instance = 0; instance < run.assembly().instances().size(); ++instance)
    for (auto const& r : run.assembly().host(instance).state().records)
      if (application < 0 ||
          run.applications().application_of(r.kernel) == static_cast<std::uint32_t>(application))
        for (auto const& s : SmStats::list())
          if (exists(s, run)) sums[std::string(s.name)] += s.value(r.counts);
  return sums;
}
std::map<std::string, std::uint64_t> totals_of(ModelRun& run) {
  std::map<std::string, std::uint64_t> sums;
  for (auto const& s : SmStats::list())
    if (exists(s, run)) sums[std::string(s.name)] = run.total("sm", s.name);
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

using Launched = std::pair<std::uint32_t, std::uint32_t>;  // kernel and launch

// The parts of the first host's kernels on each of its GPUs.
std::map<Launched, std::vector<KernelOnGpu>> parts_by_gpu(ModelRun& run) {
  auto const instances = run.assembly().instances();
  auto const machine = instances.size() > 1 ? instances[0].machine + "." : std::string();
  std::map<Launched, std::vector<KernelOnGpu>> parts;
  auto& system = run.system();
  for (ComponentId id = 0; id < system.component_count(); ++id) {
    auto const* const d = dynamic_cast<Dispatcher const*>(&system.component(id));
    if (d == nullptr || !d->path().starts_with(machine)) continue;
    for (auto const& r : d->state().records) parts[{r.kernel, r.launch}].push_back(r);
  }
  return parts;
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
  auto const gpus = run.assembly().gpus() / run.assembly().instances().size();
  auto const by_gpu = parts_by_gpu(run);  // on one GPU, the host's records are the parts
  CHECK(by_gpu.size() == (gpus == 1 ? 0 : run.assembly().host().state().records.size()));
  for (auto const& r : run.assembly().host().state().records) {
    auto const& did = r.counts;
    if (gpus > 1) {
      auto const& parts = by_gpu.at({r.kernel, r.launch});
      CHECK(parts.size() == gpus);
      SmStats sum;
      Time last{};
      for (auto const& part : parts) {
        add_counts(sum, part.counts);
        last = std::max(last, part.left);
      }
      CHECK(sum == did);
      CHECK(last == r.left_gpus);
    }
    CHECK(did.blocks == applications.kernel(r.kernel).shape().blocks);
    CHECK(did.l1_tlb_hits + did.l1_tlb_misses == did.transactions);
    CHECK(did.l1_hits + did.l1_misses + did.stores == did.transactions);
    CHECK(did.faulted == did.replayed);
    CHECK(did.l2_tlb_hits + did.gmmu_translations + did.iommu_translations + did.fault_translations ==
          did.l1_tlb_misses);
    CHECK(did.fault_translations <= did.l1_tlb_misses);
    CHECK(did.remote_l2_hits + did.remote_l2_misses == did.remote_accesses);
    CHECK(did.l2_hits + did.l2_misses + did.remote_accesses <= did.l1_misses + did.stores);
    CHECK(did.scalar_hits <= did.scalar_transactions);
  }
  // Counts of the shared devices, excluding requests of read-only caches.
  auto const sum = [&](auto... stats) { return (run.total("sm", stats) + ...); };
  auto const caches = [&](std::string const& stat) {
    return run.total("l2_slice", stat) + run.total("llc_slice", stat);
  };
  std::uint64_t read_only_misses = 0;
  test::each<ReadOnlyCache>(run.system(), [&](ReadOnlyCache const& cache) {
    read_only_misses += cache.state().stats.total(&ReadOnlyCacheStats::misses);
  });
  CHECK(sum("scalar_hits") == run.total("scalar_cache", "hits"));
  auto const requests = sum("l2_hits", "l2_misses", "remote_l2_hits", "remote_l2_misses");
  CHECK(requests <= caches("data_requests"));
  CHECK(caches("data_requests") - requests <= read_only_misses);
  auto const hits = sum("l2_hits", "remote_l2_hits");
  CHECK(hits <= caches("data_hits"));
  CHECK(caches("data_hits") - hits <= read_only_misses);
}

// Lines of relu, which accesses whole lines of its buffers, each line once.
std::uint64_t lines_of(std::uint64_t bytes) {
  return bytes / 64;
}

}  // namespace

TEST_CASE("kernels: counts sum to those of the SMs, for one application with one kernel and with many") {
  ModelRun one(model("relu", "workload.relu.size = \"256 KiB\"\n"));
  check_adds_up(one);
  CHECK(one.kernel(0).counts.remote_accesses > 0);
  ModelRun many(model("bfs", kSmallBfs));
  check_adds_up(many);
  CHECK(many.total("host", "kernels") == 4);
  CHECK(many.kernel(1).counts.transactions != many.kernel(2).counts.transactions);
}

TEST_CASE("kernels: counts sum to those of the SMs, for applications and streams that share SMs and repeat") {
  ModelRun shared(model("bfs", kSmallBfs), on("graph", 0),
                  {{"fir", "size = \"256 KiB\"", on("filter", 1, 3)},
                   {"bfs", "rmat.scale = 9\nrmat.edge_factor = 8\n", on("two streams", 2, 2), 2}});
  check_adds_up(shared);
}

TEST_CASE("kernels: each kernel makes the same accesses concurrently with others as alone") {
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

TEST_CASE("kernels: counts of two applications sum to the SMs' counts, if SMs fetch instructions") {
  std::string const fetch =
      "gpu.instruction_cache.size = \"1KiB\"\ngpu.instruction_cache.latency = "
      "20\ngpu.instruction_cache.lines_ahead = 1\n";
  ModelRun one(model("bfs", kSmallBfs + fetch));
  check_adds_up(one);
  CHECK(one.total("sm", "fetch_stall_time") > 0);
  CHECK(one.total("sm", "resident_fetch_stall_time") == one.total("sm", "fetch_stall_time"));
  ModelRun two(model("fir", "workload.fir.size = \"64 KiB\"\n" + fetch), on("filter", 0),
               {{"bfs", "rmat.scale = 10\n", on("graph", 1)}});
  check_adds_up(two);
  CHECK(two.total("sm", "resident_fetch_stall_time") > 0);
}

TEST_CASE("kernels: counts sum to those of the SMs, with faults, migrations, large pages and write-back") {
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

TEST_CASE("kernels: lines and translations of one kernel are hits in the caches and TLBs for the next one") {
  ModelRun run(model("relu", "workload.relu.size = \"256 KiB\"\n"), on("relu", 0, 3), {});
  check_adds_up(run);
  auto const lines = lines_of(256 << 10);
  auto const& records = run.assembly().host().state().records;
  REQUIRE(records.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CAPTURE(i);
    auto const& did = records[i].counts;
    // Pages of four blocks are interleaved over the four GPUs, and so are blocks.
    CHECK(did.transactions == lines);
    CHECK(did.l2_hits == (i == 0 ? 0 : lines / 4));
    CHECK(did.l2_misses == (i == 0 ? lines / 4 : 0));
    CHECK(did.remote_l2_hits == (i == 0 ? 0 : 3 * lines / 4));
    CHECK(did.remote_l2_misses == (i == 0 ? 3 * lines / 4 : 0));
    CHECK((did.gmmu_translations > 0) == (i == 0));
    CHECK((did.iommu_translations > 0) == (i == 0));
    CHECK(did.fault_translations == 0);
    if (i > 0) CHECK(did.l2_tlb_hits == did.l1_tlb_misses);
  }
  CHECK(records[0].counts.iommu_translations > records[0].counts.gmmu_translations);
}

TEST_CASE("kernels: applications that share SMs and caches count their own requests") {
  ModelRun run(model("relu", "workload.relu.size = \"256 KiB\"\n"), on("large", 0, 2),
               {{"relu", "size = \"128 KiB\"", on("small", 1, 2)}});
  check_adds_up(run);
  std::map<std::uint32_t, int> seen;
  for (auto const& r : run.assembly().host().state().records) {
    auto const lines = lines_of(r.kernel == 0 ? 256 << 10 : 128 << 10);
    auto const again = seen[r.kernel]++ != 0;
    CHECK(r.counts.l2_hits == (again ? lines / 4 : 0));
    CHECK(r.counts.l2_misses == (again ? 0 : lines / 4));
    CHECK(r.counts.remote_l2_hits == (again ? 3 * lines / 4 : 0));
    CHECK(r.counts.remote_l2_misses == (again ? 0 : 3 * lines / 4));
  }
  CHECK(seen == std::map<std::uint32_t, int>{{0, 2}, {1, 2}});
}

TEST_CASE(
    "kernels: on one GPU, a page's first translation is from its fault, later ones are from the L2 TLB") {
  auto const text =
      "machine.topology = \"generic\"\nmachine.generic.gpus = 1\ngpu.sms = 1\nmemory.placement = "
      "\"first_touch\"\nworkload.name = \"relu\"\n"
      "workload.relu.size = \"256 KiB\"\nmemory.page_size = \"4KiB\"\n";
  for (bool const by_driver : {false, true}) {
    CAPTURE(by_driver);
    ModelRun run(text + std::string("memory.first_touch_by = \"") + (by_driver ? "driver\"\n" : "iommu\"\n"),
                 on("relu", 0, 2), {});
    check_adds_up(run);
    auto const& records = run.assembly().host().state().records;
    REQUIRE(records.size() == 2);
    auto const& first = records[0].counts;
    CHECK(first.fault_translations >= (256 << 10) / 4096);
    CHECK((first.faulted > 0) == by_driver);
    if (by_driver) CHECK(first.fault_translations == first.faulted);
    CHECK(first.iommu_translations == 0);
    if (!by_driver) CHECK(first.gmmu_translations == 0);
    auto const& second = records[1].counts;
    CHECK(second.fault_translations == 0);
    CHECK(second.l2_tlb_hits == second.l1_tlb_misses);
    CHECK(second.l2_hits == lines_of(256 << 10));
    CHECK(second.remote_accesses == 0);
  }
}

TEST_CASE("kernels: each row is the same for any partition of the machine") {
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

}  // namespace kernel_counts_test
