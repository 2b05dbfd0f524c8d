// A whole machine from a configuration text, run in the test's own process.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "farfault/engine/engine.hpp"
#include "farfault/topologies/assembly.hpp"
#include "farfault/topologies/load.hpp"
#include "farfault/workloads/registry.hpp"
#include "policies.hpp"

namespace farfault::test {

class ModelRun {
 public:
  explicit ModelRun(std::string const& toml, EngineOptions options = {},
                    topologies::Granularity granularity = topologies::Granularity::device)
      : transport_(make_single_transport()) {
    Config config(topologies::find_preset);
    config.read_text(toml, "test");
    auto const name = config.take("workload.name");
    machine_config_.bind(config);
    auto const builder = workloads::make(name->value);
    ParamTable table;
    builder->describe(table);
    config.bind("workload." + name->value, table);
    machine_config_.check(config);
    config.reject_mistakes();
    auto const& [spec, links] = std::tie(machine_config_.machine, machine_config_.links);
    machine_ = spec.topology == "generic" ? topologies::generate_generic(machine_config_.generic, links)
                                          : topologies::load_machine(spec.topology, links);
    if (machine_config_.cluster.machines > 1)
      machine_ = topologies::generate_cluster(machine_, machine_config_.cluster, links);
    workload_ = std::make_unique<Workload>(
        builder->build({machine_config_.gpu.warp_width, machine_config_.memory.page_size.bytes, "", 1}));
    auto placement = machine_config_.memory.placement.make({});
    placement->open([](std::string_view, std::string const& file) { return file; });
    assembly_ = std::make_unique<topologies::Assembly>(machine_, machine_config_, *workload_, *placement);
    engine_ = std::make_unique<Engine>(assembly_->system(), assembly_->placement(granularity, 1), options,
                                       *transport_);
  }

  ModelRun& run() {
    engine_->run_until(Time::max());
    return *this;
  }

  topologies::MachineConfig const& config() const { return machine_config_; }
  Engine& engine() { return *engine_; }
  System& system() { return assembly_->system(); }
  topologies::Machine const& machine() const { return machine_; }
  topologies::Assembly const& assembly() const { return *assembly_; }
  KernelRecord kernel(std::size_t i, std::size_t instance = 0) const {
    return assembly_->host(instance).state().records[i];
  }
  // From the host's launch of the first kernel to its knowing that it is done.
  Duration kernel_time() const { return kernel(0).finished - kernel(0).launched; }

  // The statistic of all components of a kind, summed.
  std::uint64_t total(std::string_view kind, std::string_view stat) {
    std::uint64_t sum = 0;
    auto& system = assembly_->system();
    for (ComponentId id = 0; id < system.component_count(); ++id)
      sum += test::stat_of(system.component(id), kind, stat);
    return sum;
  }

 private:
  std::unique_ptr<Transport> transport_;
  topologies::MachineConfig machine_config_;
  topologies::Machine machine_;
  std::unique_ptr<Workload> workload_;
  std::unique_ptr<topologies::Assembly> assembly_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace farfault::test
