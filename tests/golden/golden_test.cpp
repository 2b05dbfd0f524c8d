// SPDX-License-Identifier: Apache-2.0
// Times and counts of small runs, compared with results.txt. They change only with the model, so a commit
// that changes them explains why. tests/golden/update rewrites the file.
#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "../models/run_model.hpp"

using namespace farfault;
using test::ModelRun;

namespace {

constexpr char const* kFile = FARFAULT_SOURCE_DIR "/tests/golden/results.txt";

struct Setting {
  char const* name;
  char const* toml;
};
struct MachineSetting {
  char const* name;
  char const* toml;
  std::size_t first = 0;  // first workload that runs on it
};

// The machines. The first one sets L1 TLBs, caches and L2 interleaving to the defaults, which the others
// have. The second one covers what the first one omits: two CPUs, pages mapped by the driver,
// consecutive blocks per SM, merged requests, page-walk caches and a TLB in the IOMMU. The next two enable
// everything on the memory side: partitions with hardware or software coherence, caches in front of memory,
// refresh, turn-around, write-back at the end of a kernel. The last one is a cluster with unified memory.
#define FARFAULT_MEMORY_SIDE                                                               \
  "machine.topology = \"two-gpu\"\ngpu.sms = 4\nmemory.page_size = \"4KiB\"\n"             \
  "gpu.l2_cache.size = \"128KiB\"\ngpu.l2_cache.write_back_at_kernel_end = true\n"         \
  "gpu.memory_cache.size = \"512KiB\"\ngpu.dram.channels = 8\ngpu.dram.t_refi = \"1us\"\n" \
  "gpu.dram.t_rfc = \"100ns\"\ngpu.dram.t_wtr = \"8ns\"\ngpu.dram.t_rtw = \"2ns\"\n"       \
  "gpu.dram.scheduler = \"frfcfs_batched\"\n"
constexpr std::array<MachineSetting, 5> kMachines{{
    {"paper-gmmu-bypass",
     "include = [\"paper-gmmu-bypass\"]\ngpu.sms = 4\ngpu.router.policy = "
     "\"gmmu_bypass\"\ngpu.router.gmmu_bypass.epoch "
     "= \"2us\"\n"
     "gpu.l1_tlb.mshrs = 64\ngpu.l1_cache.latency = 1\ngpu.l1_cache.mshrs = 128\n"
     "gpu.scalar_cache.mshrs = 32\ngpu.scalar_cache.tlb_mshrs = 16\n"
     "gpu.scalar_cache.sms = 4\ngpu.scalar_cache.tlb_entries = 64\ngpu.l2_cache.interleave = \"256B\"\n"},
    {"dgx1",
     "include = [\"dgx1\"]\ngpu.sms = 2\nmemory.page_size = \"4KiB\"\nmemory.placement = \"first_touch\"\n"
     "host.block_order = \"contiguous_per_sm\"\niommu.tlb_entries = 64\niommu.tlb_ways = "
     "64\niommu.walk_cache = "
     "16\n"
     "gpu.gmmu.walk_cache = 16\n"},
    {"two halves", FARFAULT_MEMORY_SIDE "gpu.l2_cache.partitions = 2\n", 8},
    {"an L2 cache for every SM",
     FARFAULT_MEMORY_SIDE "gpu.l2_cache.partitions = 4\ngpu.l2_cache.miss_path = \"memory\"\n", 8},
    {"two machines, one memory",
     "machine.topology = \"two-gpu\"\nmachine.cluster.machines = 2\nmemory.scope = \"cluster\"\n"
     "gpu.sms = 4\nmemory.page_size = \"4KiB\"\nmemory.placement = \"first_touch\"\n",
     8},
}};

constexpr std::array<Setting, 10> kWorkloads{{
    {"relu", "workload.relu.size = \"256KiB\"\n"},
    {"fir", "workload.fir.size = \"256KiB\"\n"},
    {"maxpool", "workload.maxpool.size = \"256KiB\"\n"},
    {"aes", "workload.aes.size = \"64KiB\"\n"},
    {"pagerank", "workload.pagerank.rmat.scale = 9\nworkload.pagerank.rmat.edge_factor = 8\n"},
    {"transpose", "workload.transpose.width = 256\nworkload.transpose.height = 128\n"},
    {"fft", "workload.fft.size = \"128KiB\"\n"},
    {"kmeans", "workload.kmeans.size = \"64KiB\"\n"},
    {"stencil2d", "workload.stencil2d.rows = 128\nworkload.stencil2d.cols = 128\n"},
    {"transpose",
     "workload.transpose.width = 256\nworkload.transpose.height = 512\nmemory.remote_touch = \"migrate\"\n"
     "gpu.l1_tlb.entries = 4\ngpu.l1_tlb.ways = 4\ngpu.l2_tlb.entries = 16\ngpu.l2_tlb.ways = 4\n"},
}};

std::string title(std::size_t machine, std::size_t workload) {
  auto const moves = workload + 1 == kWorkloads.size();
  return std::string(kMachines[machine].name) + ", " + kWorkloads[workload].name +
         (moves ? ", migration" : "");
}

// Every nonzero counter, summed over the components of a kind; kinds in the order of the components.
std::string counts(ModelRun& run) {
  std::vector<std::string> kinds;
  std::map<std::string, std::string> lines;
  for (ComponentId id = 0; id < run.system().component_count(); ++id) {
    for (auto const& group : run.system().component(id).stat_groups()) {
      if (lines.count(group.kind) != 0) continue;
      auto& line = lines[group.kind];
      for (auto const& stat : group.stats) {
        if (stat.kind != StatKind::counter) continue;
        auto const value = run.total(group.kind, stat.name);
        if (value != 0)
          line += (line.empty() ? " " : ", ") + std::string(stat.name) + " " + std::to_string(value);
      }
      kinds.push_back(group.kind);
    }
  }
  std::string text;
  for (auto const& kind : kinds)
    if (!lines[kind].empty()) text += kind + ":" + lines[kind] + "\n";
  return text;
}

std::string result(std::size_t machine, std::size_t workload) {
  auto const& [name, settings] = kWorkloads[workload];
  ModelRun run(std::string(kMachines[machine].toml) + "workload.name = \"" + name + "\"\n" + settings);
  run.run();
  std::string text;
  auto const kernels = run.total("host", "kernels");
  for (std::size_t k = 0; k < kernels; ++k) {
    auto const record = run.kernel(k);
    text += "kernel " + std::to_string(k) + ": " + std::to_string(picoseconds(record.launched)) + " to " +
            std::to_string(picoseconds(record.finished)) + " ps\n";
  }
  return text + counts(run);
}

// Title -> text under it.
std::map<std::string, std::string> read_results() {
  std::map<std::string, std::string> results;
  std::ifstream in(kFile);
  std::string current;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("[") && line.ends_with("]"))
      current = line.substr(1, line.size() - 2);
    else if (!line.empty() && !line.starts_with("#"))
      results[current] += line + "\n";
  }
  return results;
}

std::vector<std::string> lines_of(std::string const& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("small runs of every workload have the recorded times and counts") {
  std::map<std::string, std::string> found;
  std::string file =
      "# Times and counts of small runs (golden_test.cpp). Written by tests/golden/update: do not edit.\n";
  for (std::size_t m = 0; m < kMachines.size(); ++m)
    for (std::size_t w = kMachines[m].first; w < kWorkloads.size(); ++w) {
      auto const text = result(m, w);
      found[title(m, w)] = text;
      file += "\n[" + title(m, w) + "]\n" + text;
    }
  if (std::getenv("FARFAULT_UPDATE_GOLDEN") != nullptr) {
    std::ofstream out(kFile);
    out << file;
    REQUIRE(out.flush().good());
    return;
  }
  auto const expected = read_results();
  CHECK(expected.size() == found.size());
  for (auto const& run : found) {
    auto const& name = run.first;
    CAPTURE(name);
    REQUIRE(expected.count(name) == 1);
    CHECK(lines_of(run.second) == lines_of(expected.at(name)));
  }
}
