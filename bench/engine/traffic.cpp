// SPDX-License-Identifier: Apache-2.0
// The traffic program: a cluster of GPUs that read each other's memories; runs under mpirun too.
#include <CLI/CLI.hpp>

#include "measurement.hpp"
#include "traffic_model.hpp"

int main(int argc, char** argv) {
  using namespace farfault;
  traffic::Parameters p;
  double end = 50;
  std::uint32_t threads = 1;
  std::uint32_t partitions = 0;
  bool json = false;
  CLI::App app{
      "64-byte reads between the GPUs of a cluster, with NVLink and InfiniBand latencies.\n"
      "Example: traffic --gpus 1024 --in-flight 4 --end 50 --threads 2"};
  app.option_defaults()->always_capture_default();
  app.add_option("--gpus", p.gpus, "GPUs of the cluster")->check(CLI::Range(2, 1 << 16));
  app.add_option("--gpus-per-node", p.gpus_per_node, "GPUs connected by NVLink")
      ->check(CLI::Range(1, 1 << 16));
  app.add_option("--sources", p.sources, "SM-like sources per GPU")->check(CLI::Range(1, 1024));
  app.add_option("--in-flight", p.in_flight, "Outstanding reads per source")->check(CLI::Range(1, 1024));
  app.add_option("--local", p.local,
                 "Fraction of reads to a GPU of the same node. Other reads access any GPU")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--end", end, "Simulated time, in us")->check(CLI::Range(0.0, 1e9));
  app.add_option("--threads", threads, "Threads per rank")->check(CLI::Range(1, 1024));
  app.add_option("--partitions", partitions, "Partitions of the model. 0: one per node")
      ->check(CLI::Range(0, 1 << 16));
  app.add_flag("--json", json, "Print one JSON object");
  CLI11_PARSE(app, argc, argv);

  auto const transport = make_transport();
  if (partitions == 0)
    partitions = std::max((p.gpus + p.gpus_per_node - 1) / p.gpus_per_node, threads * transport->ranks());
  auto const model = std::make_unique<traffic::Model>(p);
  Engine engine(model->system, model->placement(partitions), {.threads = threads}, *transport);
  auto m = bench::run_measured(engine, *transport, Time{Duration{static_cast<std::int64_t>(end * 1e6)}});
  auto const sums = model->sums();
  m.digest = transport->sum(sums.digest);
  auto const reads = transport->sum(sums.reads);
  auto const waited = static_cast<double>(transport->sum(sums.waited_ns));
  char what[96];
  std::snprintf(what, sizeof what, "%u GPUs, %llu reads of %.2f us", p.gpus,
                static_cast<unsigned long long>(reads),
                reads > 0 ? waited / static_cast<double>(reads) / 1000 : 0);
  bench::print(m, *transport, what, json);
  return 0;
}
