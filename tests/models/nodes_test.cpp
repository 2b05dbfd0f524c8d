// SPDX-License-Identifier: Apache-2.0
// Machines of a cluster: without communication each behaves as a single machine; with shared memory they are
// one machine.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "run_model.hpp"

namespace nodes_test {

using namespace farfault;
using test::ModelRun;

namespace {

// Values of all statistics of each component of a machine, and the times of its kernels.
using Figures = std::map<std::string, std::vector<std::uint64_t>>;

Figures figures_of(ModelRun& run, std::size_t instance) {
  Figures figures;
  auto& system = run.system();
  for (ComponentId id = 0; id < system.component_count(); ++id) {
    std::size_t size = 0;
    for (auto const& group : system.component(id).stat_groups()) size += group.values();
    auto& values = figures[system.component(id).path()];
    values.resize(size);
    system.component(id).sample(values.data());
  }
  auto const& records = run.assembly().host(instance).state().records;
  for (auto const& r : records) {
    figures["kernels"].push_back(count_of(r.launched));
    figures["kernels"].push_back(count_of(r.finished));
  }
  return figures;
}

// Name in machine `m` of a component of the single machine.
std::string name_in(std::string const& alone, std::string const& m) {
  return alone == "kernels" ? alone : m + "." + alone;
}

// Checks that machine `machine` of `cluster` has the figures of `alone`. Returns the number of values
// compared.
std::size_t check_equal(ModelRun& alone, ModelRun& cluster, std::uint32_t machine) {
  auto const expected = figures_of(alone, 0);
  auto const found = figures_of(cluster, machine);
  std::size_t compared = 0;
  for (auto const& component : expected) {
    auto const& path = component.first;
    auto const& values = component.second;
    auto const name = name_in(path, "m" + std::to_string(machine));
    INFO(path, " as ", name);
    REQUIRE(found.contains(name));
    CHECK(found.at(name) == values);
    compared += values.size();
  }
  return compared;
}

std::uint64_t network_packets(ModelRun& run) {
  return run.total("network_switch", "packets");
}

struct Setting {
  char const* name;
  char const* toml;
};

// Machines with NICs, so that the single machine equals the ones in the cluster.
constexpr char const* kFourGpus =
    "include = [\"paper-gmmu-bypass\"]\nmachine.topology = \"generic\"\nmachine.generic.nics_per_switch = 1\n"
    "gpu.sms = 4\n";
constexpr char const* kTwoCpus =
    "include = [\"dgx1\"]\ngpu.sms = 2\nmemory.page_size = \"4KiB\"\nhost.block_order = "
    "\"contiguous_per_sm\"\n";
constexpr Setting kModels[] = {
    {"first touch", "workload.name = \"fir\"\nworkload.fir.size = \"64KiB\"\n"},
    {"first touch with contents, mapped by the driver",
     "workload.name = \"fir\"\nworkload.fir.size = \"64KiB\"\nmemory.first_touch_by = \"driver\"\n"
     "memory.first_touch_copy = true\n"},
    {"interleaved, several kernels",
     "workload.name = \"fft\"\nworkload.fft.size = \"32KiB\"\nmemory.placement = \"interleave\"\n"},
    {"in parts, written back at the end of a kernel",
     "workload.name = \"transpose\"\nworkload.transpose.width = 128\nworkload.transpose.height = 128\n"
     "memory.placement = \"contiguous\"\ngpu.l2_cache.write_back_at_kernel_end = true\n"},
    {"pages moving",
     "workload.name = \"transpose\"\nworkload.transpose.width = 128\nworkload.transpose.height = 256\n"
     "memory.remote_touch = \"migrate\"\ngpu.l1_tlb.entries = 4\ngpu.l1_tlb.ways = 4\n"
     "gpu.l2_tlb.entries = 16\ngpu.l2_tlb.ways = 4\n"},
    {"pages moving from the CPU",
     "workload.name = \"transpose\"\nworkload.transpose.width = 128\nworkload.transpose.height = 128\n"
     "memory.placement = \"cpu\"\nmemory.remote_touch = \"migrate\"\n"},
    {"a GPU's memory full",
     "workload.name = \"stream\"\nworkload.stream.bytes = \"4MiB\"\nmemory.placement = \"first_touch\"\n"
     "gpu.dram.capacity = \"1MiB\"\n"},
};

// A file that is removed with its test.
class MachineFile {
 public:
  explicit MachineFile(std::string const& text)
      : path_((std::filesystem::path(FARFAULT_BINARY_DIR) / "nodes_test.toml").string()) {
    std::ofstream(path_) << text;
  }
  ~MachineFile() { std::filesystem::remove(path_); }
  std::string setting() const { return "machine.topology = \"" + path_ + "\"\n"; }

 private:
  std::string path_;
};

std::string node(std::string const& name, std::string const& kind, int machine) {
  return "[[node]]\nname = \"" + name + "\"\nkind = \"" + kind + "\"\nmachine = " + std::to_string(machine) +
         "\n";
}
std::string link(std::string const& a, std::string const& b, std::string const& kind) {
  return "[[link]]\na = \"" + a + "\"\nb = \"" + b + "\"\nkind = \"" + kind + "\"\n";
}
// A machine of a CPU, a NIC, and `gpus` GPUs numbered from `first`.
std::string machine(std::string const& m, int number, int gpus, int first, bool cpu = true) {
  auto const root = cpu ? m + "cpu" : m + "root";
  auto text = node(root, cpu ? "cpu" : "pcie_switch", number) + node(m + "nic", "nic", number) +
              link(root, m + "nic", "pcie");
  for (int g = first; g < first + gpus; ++g)
    text += node("g" + std::to_string(g), "gpu", number) + link(root, "g" + std::to_string(g), "pcie");
  return text;
}

constexpr char const* kSmall =
    "include = [\"paper-gmmu-bypass\"]\ngpu.sms = 2\nmemory.placement = \"first_touch\"\n"
    "workload.name = \"transpose\"\nworkload.transpose.width = 256\n";
constexpr char const* kTransposed = "workload.transpose.height = 128\n";

std::string refusal(std::string const& toml) {
  try {
    ModelRun run(toml);
  } catch (UserError const& e) {
    return e.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE(
    "each machine of a cluster has the values of a single machine, and no traffic crosses the network") {
  for (auto const* base : {kFourGpus, kTwoCpus})
    for (auto const& model : kModels) {
      INFO(model.name);
      auto const toml = std::string(base) + model.toml;
      ModelRun alone(toml);
      ModelRun cluster(toml + "machine.cluster.machines = 3\n");
      alone.run();
      cluster.run();
      std::size_t compared = 0;
      for (std::uint32_t m = 0; m < 3; ++m) compared += check_equal(alone, cluster, m);
      CHECK(compared > 1000);
      CHECK(network_packets(cluster) == 0);
      CHECK(cluster.total("sm", "instructions") == 3 * alone.total("sm", "instructions"));
    }
}

TEST_CASE("the models of the preceding test have the events that they are named for") {
  auto const total = [](int model, char const* kind, char const* stat) {
    return ModelRun(std::string(kFourGpus) + kModels[model].toml).run().total(kind, stat);
  };
  CHECK(total(0, "driver", "pages_mapped") > 0);
  CHECK(total(1, "copy_engine", "lines_in") > 0);
  CHECK(total(2, "host", "kernels") > 1);
  CHECK(total(4, "driver", "migrations") > 0);
  CHECK(total(5, "driver", "migrations") > 0);
  CHECK(total(6, "driver", "pages_spilled") > 0);
}

TEST_CASE(
    "by default a cluster of two machines has two hosts and two drivers, and no page leaves its machine") {
  for (auto const* size : {kTransposed, "workload.transpose.height = 2048\ngpu.dram.capacity = \"1MiB\"\n"}) {
    ModelRun run(std::string(kSmall) + size + "machine.cluster.machines = 2\n");
    run.run();
    CHECK((run.total("driver", "pages_spilled") > 0) == (size != kTransposed));
    auto const instances = run.assembly().instances();
    REQUIRE(instances.size() == 2);
    CHECK(instances[0].host->path() == "m0.host");
    CHECK(instances[1].host->path() == "m1.host");
    CHECK(instances[1].driver->path() == "m1.driver");
    CHECK(run.total("host", "kernels") == 2);
    for (std::uint32_t m = 0; m < 2; ++m) {
      std::uint64_t pages = 0;
      instances[m].driver->state().memory.table().each_page([&](std::uint64_t, PageTranslation const& to) {
        auto const device = device_of(to.frame);
        CHECK((device < kFirstCpu ? device / 4U : device - kFirstCpu) == m);
        ++pages;
      });
      CHECK(pages > 0);
    }
  }
}

TEST_CASE("page tables are in the memory of the devices that walk them") {
  ModelRun run(std::string(kSmall) + kTransposed + "machine.cluster.machines = 2\n");
  std::size_t tables = 0;
  auto const check = [&](PageTable const& table, DeviceId device) {
    CHECK(device_of(table.step(0, 0, 0).address) == device);
    ++tables;
  };
  DeviceId cpus = kFirstCpu;
  for (ComponentId id = 0; id < run.system().component_count(); ++id) {
    auto const* component = &run.system().component(id);
    if (auto const* gmmu = dynamic_cast<Gmmu const*>(component))
      check(gmmu->state().table, gmmu->spec().device);
    if (auto const* iommu = dynamic_cast<Iommu const*>(component)) check(iommu->state().table, cpus++);
  }
  for (auto const& instance : run.assembly().instances())
    check(instance.driver->state().memory.table(), instance.driver->spec().devices.cpu());
  CHECK(tables == 8 + 2 + 2);
}

TEST_CASE(
    "with memory.scope = cluster, one host and one driver serve all machines, and pages can be anywhere") {
  ModelRun run(std::string(kSmall) + kTransposed +
               "machine.cluster.machines = 2\nmemory.scope = \"cluster\"\ngpu.l1_tlb.mshrs = 64\n");
  run.run();
  auto const instances = run.assembly().instances();
  REQUIRE(instances.size() == 1);
  CHECK(instances[0].machine == "");
  CHECK(instances[0].host->path() == "host");
  CHECK(instances[0].driver->path() == "driver");
  CHECK(run.total("host", "kernels") == 1);
  std::vector<std::uint64_t> pages(8);
  instances[0].driver->state().memory.table().each_page(
      [&](std::uint64_t, PageTranslation const& to) { ++pages.at(device_of(to.frame)); });
  CHECK(pages[0] > 0);
  CHECK(pages[4] > 0);
  CHECK(network_packets(run) > 0);
}

TEST_CASE("/topology has the host and the driver of each GPU and CPU") {
  ModelRun run(std::string(kSmall) + kTransposed + "machine.cluster.machines = 2\n");
  auto const of = run.assembly().instances_of_nodes();
  auto const& nodes = run.machine().nodes;
  REQUIRE(of.size() == nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    bool const device =
        nodes[i].kind == topologies::NodeKind::gpu || nodes[i].kind == topologies::NodeKind::cpu;
    CHECK(of[i] == (device ? static_cast<std::uint32_t>(nodes[i].machine) : topologies::Assembly::kNone));
  }
}

TEST_CASE("machines of a file may have different numbers of GPUs, each with the values of a single machine") {
  // The second machine's GPUs precede the last one of the first machine: device numbers are not consecutive.
  MachineFile const both(machine("a", 0, 1, 0) + machine("b", 1, 2, 1) + node("g3", "gpu", 0) +
                         link("acpu", "g3", "pcie") + node("net", "network_switch", -1) +
                         link("anic", "net", "network") + link("bnic", "net", "network"));
  ModelRun cluster(std::string(kSmall) + kTransposed + both.setting());
  cluster.run();
  auto const gpus_of = [&](std::uint32_t m) {
    std::vector<DeviceId> gpus;
    auto const& devices = cluster.assembly().instances()[m].driver->spec().devices;
    for (std::uint32_t g = 0; g < devices.gpus(); ++g) gpus.push_back(devices.gpu(g));
    return gpus;
  };
  CHECK(gpus_of(0) == std::vector<DeviceId>{0, 3});
  CHECK(gpus_of(1) == std::vector<DeviceId>{1, 2});
  CHECK(cluster.assembly().instances()[1].driver->spec().devices.cpu() == kFirstCpu + 1);
  auto const pages_on = [&](std::uint32_t m) {
    std::map<int, int> pages;
    cluster.assembly().instances()[m].driver->state().memory.table().each_page(
        [&](std::uint64_t, PageTranslation const& to) { ++pages[device_of(to.frame)]; });
    return pages;
  };
  for (auto const& [gpu, pages] : pages_on(0)) CHECK((gpu == 0 || gpu == 3));
  for (auto const& [gpu, pages] : pages_on(1)) CHECK((gpu == 1 || gpu == 2));
  CHECK(pages_on(0).size() == 2);
  CHECK(pages_on(0)[0] == pages_on(1)[1]);
  CHECK(pages_on(0)[3] == pages_on(1)[2]);
  CHECK(network_packets(cluster) == 0);
  CHECK(cluster.kernel(0, 0).finished == cluster.kernel(0, 1).finished);
}

TEST_CASE("a GPU is served by an IOMMU of its machine, even if another machine's is nearer") {
  MachineFile const file(node("acpu", "cpu", 0) + node("g0", "gpu", 0) + link("acpu", "g0", "pcie") +
                         node("bcpu", "cpu", 1) + node("g1", "gpu", 1) + link("acpu", "g1", "pcie") +
                         link("acpu", "bcpu", "cpu_interconnect") + "latency = \"5us\"\n");
  for (std::string const scope : {"node", "cluster"}) {
    ModelRun run(std::string(kSmall) + kTransposed + file.setting() + "memory.scope = \"" + scope + "\"\n");
    run.run();
    auto const requests = [&](std::string const& iommu) {
      for (ComponentId id = 0; id < run.system().component_count(); ++id)
        if (run.system().component(id).path() == iommu)
          return test::stat_of(run.system().component(id), "iommu", "requests");
      return ~std::uint64_t{0};
    };
    CHECK(requests("acpu.iommu") > 0);
    CHECK((requests("bcpu.iommu") > 0) == (scope == "node"));
  }
}

TEST_CASE("a machine without a GPU or a CPU cannot run a workload alone, but as a part of the cluster") {
  auto const net =
      node("net", "network_switch", -1) + link("anic", "net", "network") + link("bnic", "net", "network");
  {
    MachineFile const file(machine("a", 0, 2, 0) + machine("b", 1, 0, 0) + net);
    CHECK(refusal(std::string(kSmall) + kTransposed + file.setting())
              .find("m1 has no GPU, but with memory.scope = \"node\" each machine runs the workload "
                    "separately") != std::string::npos);
    CHECK(refusal(std::string(kSmall) + kTransposed + file.setting() + "memory.scope = \"cluster\"\n") ==
          "accepted");
  }
  MachineFile const file(machine("a", 0, 2, 0) + machine("b", 1, 2, 2, false) + net);
  CHECK(refusal(std::string(kSmall) + kTransposed + file.setting())
            .find("m1 has no CPU, but with memory.scope = \"node\" each machine needs one for its IOMMU and "
                  "driver") != std::string::npos);
  CHECK(refusal(std::string(kSmall) + kTransposed + file.setting() + "memory.scope = \"cluster\"\n") ==
        "accepted");
}

TEST_CASE("an unknown scope is rejected with the list of scopes") {
  CHECK(refusal(std::string(kSmall) + kTransposed + "memory.scope = \"rack\"\n")
            .find("memory.scope: 'rack' is not one of: cluster, node") != std::string::npos);
}

}  // namespace nodes_test
