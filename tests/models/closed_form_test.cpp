// SPDX-License-Identifier: Apache-2.0
// The latency of a dependent load is the sum of the configured latencies of its stages, exact to the
// picosecond.
#include <doctest/doctest.h>

#include <string>

#include "run_model.hpp"

namespace closed_form_test {

using namespace farfault;
using test::ModelRun;

namespace {

constexpr std::uint64_t kPage = 4096;

// One GPU with a clock of 1 GHz: a cycle is 1 ns.
std::string chase(std::uint64_t stride, std::uint64_t elements, std::uint64_t hops,
                  std::string const& more = {}) {
  return "include = [\"paper-gmmu-bypass\"]\n"
         "machine.topology = \"single-gpu\"\n"
         "memory.placement = \"interleave\"\n"
         "workload.name = \"pointer_chase\"\n"
         "workload.pointer_chase.stride = \"" +
         std::to_string(stride) +
         " B\"\n"
         "workload.pointer_chase.elements = " +
         std::to_string(elements) +
         "\n"
         "workload.pointer_chase.hops = " +
         std::to_string(hops) + "\n" + more;
}

Duration time_of(std::string const& toml) {
  return ModelRun(toml).run().kernel_time();
}

// Time of one warm hop: the difference between two runs, which cancels everything before and after.
void check_hop(std::uint64_t stride, std::uint64_t elements, Duration expected,
               std::string const& more = {}) {
  auto const once = time_of(chase(stride, elements, 2 * elements, more));
  auto const twice = time_of(chase(stride, elements, 3 * elements, more));
  CHECK(picoseconds(twice - once) == picoseconds(expected) * static_cast<std::int64_t>(elements));
}

struct Stages {
  topologies::MachineConfig c = ModelRun(chase(64, 1, 1)).config();
  Duration cycles(std::uint64_t n) const { return std::chrono::nanoseconds(n); }
  Duration crossbar() const { return cycles(c.gpu.crossbar_latency); }
  Duration translation() const { return cycles(c.gpu.translation_latency); }
  Duration l1_tlb() const { return cycles(c.l1_tlb.latency); }
  Duration l1() const { return cycles(c.l1_cache.latency); }
  Duration l2() const { return cycles(c.l2_cache.latency); }
  Duration l2_read() const { return crossbar() + l2() + crossbar(); }
  Duration l2_tlb_hit() const { return l1_tlb() + translation() + cycles(c.l2_tlb.latency) + translation(); }
  // The last cycle: data that arrives at one clock edge is used at the next.
  Duration data_from_l2() const { return l1() + l2_read() + cycles(1); }
  // From the L2 TLB's miss to its response, excluding the GMMU's work.
  Duration to_gmmu_and_back() const { return 2 * translation() + cycles(c.gmmu.latency); }
};

}  // namespace

TEST_CASE("an L1 TLB hit and L1 cache hit take the two look-ups") {
  Stages const s;
  check_hop(64, 64, s.l1_tlb() + s.l1());
}

TEST_CASE("an L1 TLB hit and L1 cache miss take the path to the L2 cache and back") {
  Stages const s;
  check_hop(64, 1024, s.l1_tlb() + s.data_from_l2());
}

TEST_CASE("an L2 TLB hit takes the path to the L2 TLB and back, then the L2 cache") {
  Stages const s;
  check_hop(kPage, 128, s.l2_tlb_hit() + s.data_from_l2());
}

TEST_CASE("a walk with cached upper levels reads one entry through the L2 cache") {
  Stages const s;
  check_hop(kPage, 320, s.l2_tlb_hit() + s.to_gmmu_and_back() + s.l2_read() + s.data_from_l2(),
            "gpu.gmmu.walk_cache = 64\n");
}

TEST_CASE("a walk without a page-walk cache reads four entries") {
  Stages const s;
  check_hop(kPage, 320, s.l2_tlb_hit() + s.to_gmmu_and_back() + 4 * s.l2_read() + s.data_from_l2(),
            "gpu.gmmu.walk_cache = 0\n");
}

TEST_CASE("with pages of 2 MiB a walk has three levels") {
  Stages const s;
  // 320 pages of 2 MiB, with separate last-level sets for their lines, so that data and entries stay in the
  // L2 cache.
  check_hop(2 * 1024 * 1024 + 256, 320,
            s.l2_tlb_hit() + s.to_gmmu_and_back() + 3 * s.l2_read() + s.data_from_l2(),
            "gpu.gmmu.walk_cache = 0\nmemory.page_size = \"2MiB\"\n");
}

TEST_CASE("the very first load walks four levels of cold entries in DRAM and then reads cold data") {
  Stages const s;
  // Slices of 256 B put the table's nodes and the data into one channel.
  std::string const slices = "gpu.l2_cache.interleave = \"256B\"\n";
  ModelRun const preset(chase(64, 1, 1, slices));
  auto const& d = preset.config().dram;
  auto const burst = d.bandwidth.time_for(s.c.gpu.line_bytes);
  auto const wires = s.cycles(1) + s.cycles(1);  // slice to channel and back
  auto const closed = s.l2_read() + wires + d.t_rcd + d.t_cl + burst;
  auto const open = s.l2_read() + wires + d.t_cl + burst;
  // The four nodes of the table share a DRAM row; the data is in a row of another bank.
  auto const expected =
      s.l2_tlb_hit() + s.to_gmmu_and_back() + closed + 3 * open + s.l1() + closed + s.cycles(1);
  // A second hop to the same line is warm; subtracting it leaves the first hop.
  auto const warm = s.l1_tlb() + s.l1();
  auto const one = time_of(chase(64, 1, 1, slices));
  auto const two = time_of(chase(64, 1, 2, slices));
  CHECK(two - one == warm);
  // The rest: launch, dispatch, issue, the hop, the last instruction and the report.
  auto const idle = one - expected;
  auto const fixed = s.c.host.launch_latency + s.crossbar() + s.cycles(1) + s.cycles(1) + s.crossbar() +
                     s.c.host.done_latency;
  CHECK(picoseconds(idle) == picoseconds(fixed));
}

TEST_CASE("an IOMMU translation takes the fabric both ways and the IOMMU's TLB") {
  Stages s;
  ModelRun probe(chase(kPage, 1, 1));
  auto const machine = topologies::load_machine("single-gpu");
  topologies::Routes const routes(machine);
  auto const gpu = machine.nodes_of(topologies::NodeKind::gpu)[0];
  auto const cpu = machine.nodes_of(topologies::NodeKind::cpu)[0];
  Duration there{};
  Duration back{};
  for (auto const& hop : routes.path(gpu, cpu)) {
    auto const& link = machine.links[hop.link];
    there += link.latency + link.forward.time_for(s.c.fabric.header_bytes);
    back += link.latency + link.forward.time_for(s.c.fabric.header_bytes + s.c.fabric.translation_bytes);
  }
  auto const cpu_cycle = s.c.cpu.clock.clock().cycles(1);
  auto const iommu_cycle = s.c.iommu.clock.clock().cycles(1);
  auto const to_iommu = s.crossbar() + there + cpu_cycle;
  auto const from_iommu = cpu_cycle + back + s.crossbar();
  auto const common = s.l2_tlb_hit() + s.to_gmmu_and_back() + to_iommu + from_iommu + s.data_from_l2();

  std::string const central = "gpu.router.policy = \"centralized\"\n";
  SUBCASE("a hit in the IOMMU's TLB") {
    auto const hop = common + iommu_cycle;
    check_hop(kPage, 320, hop, central + "iommu.tlb_entries = 1024\niommu.tlb_ways = 1024\n");
  }
  SUBCASE("a walk that reads one entry from the CPU's last-level cache") {
    auto const llc = cpu_cycle + s.c.cpu.clock.clock().cycles(s.c.cpu_llc.latency) + cpu_cycle;
    auto const hop = common + iommu_cycle + llc;
    check_hop(kPage, 320, hop,
              central + "iommu.walk_cache = 64\niommu.tlb_entries = 1\niommu.tlb_ways = 1\n");
  }
}

// With trains all SMs reach a new page at the same time, and all wait for its translation.
TEST_CASE("a streaming kernel saturates DRAM to within 2% of width times rate, with trains to within 4%") {
  bool trains = false;
  SUBCASE("separate lines") {}
  SUBCASE("with trains") {
    trains = true;
  }
  ModelRun m(
      std::string("memory.train = ") + (trains ? "4" : "1") +
      "\n"
      "include = [\"paper-gmmu-bypass\"]\nmachine.topology = \"single-gpu\"\nworkload.name = \"stream\"\n"
      "memory.page_size = \"2MiB\"\nmemory.placement = \"interleave\"\nworkload.stream.bytes = "
      "\"192MiB\"\nworkload.stream.bytes_per_lane = 16\n"
      "workload.stream.accesses_per_thread = 1\n"
      // The preset's 16 lines per SM do not fill DRAM, and its slices of 4 KiB map neighbouring blocks to one
      // slice.
      "gpu.l1_cache.mshrs = 128\ngpu.l2_cache.interleave = \"256B\"\n");
  m.run();
  auto const& c = m.config();
  auto const bytes = m.total("dram", "bytes");
  CHECK(bytes >= 192 * 1024 * 1024);
  auto const channels = c.gpu_memory().channels;
  auto const ideal = picoseconds(c.dram.bandwidth.time_for(bytes / channels));
  auto const fixed = c.host.launch_latency + c.host.done_latency;
  auto const taken = picoseconds(m.kernel_time() - fixed);
  // A row has 2 KiB, i.e. 32 lines: opening it is hidden behind lines of other banks.
  MESSAGE("DRAM: ", static_cast<double>(ideal) / static_cast<double>(taken), " of width times rate");
  CHECK(taken >= ideal);
  CHECK(static_cast<double>(ideal) / static_cast<double>(taken) > (trains ? 0.96 : 0.98));
}

TEST_CASE("a streaming kernel saturates a PCIe link to within 2% of width times rate") {
  ModelRun m(
      "include = [\"paper-gmmu-bypass\"]\nmachine.topology = \"single-gpu\"\nworkload.name = \"stream\"\n"
      "memory.page_size = \"2MiB\"\nmemory.placement = \"cpu\"\nworkload.stream.bytes = \"8MiB\"\n");
  m.run();
  auto const& c = m.config();
  auto const machine = topologies::load_machine("single-gpu");
  auto const lines = m.total("cpu_port", "reads_received");
  CHECK(lines == 8 * 1024 * 1024 / 64);
  auto const ideal =
      picoseconds(machine.links[0].forward.time_for(lines * (c.fabric.header_bytes + c.gpu.line_bytes)));
  auto const taken = picoseconds(m.kernel_time() - c.host.launch_latency - c.host.done_latency);
  MESSAGE("PCIe: ", static_cast<double>(ideal) / static_cast<double>(taken), " of width times rate");
  CHECK(taken >= ideal);
  CHECK(static_cast<double>(ideal) / static_cast<double>(taken) > 0.98);
}

TEST_CASE("every preset is a machine that runs") {
  for (auto const& name : topologies::preset_names()) {
    CAPTURE(name);
    ModelRun m("include = [\"" + name +
               "\"]\nworkload.name = \"vectoradd\"\nworkload.vectoradd.elements = 65536\n");
    m.run();
    CHECK(m.kernel(0).finished > Time{});
    auto const warps = 65536 / m.config().gpu.warp_width;
    CHECK(m.total("sm", "memory_instructions") == 3 * warps);
  }
}

}  // namespace closed_form_test
