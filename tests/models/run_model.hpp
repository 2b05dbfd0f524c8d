// SPDX-License-Identifier: Apache-2.0
// A whole machine from a configuration text, run in the test's process.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "farfault/engine/engine.hpp"
#include "farfault/topologies/assembly.hpp"
#include "farfault/topologies/load.hpp"
#include "farfault/workloads/registry.hpp"
#include "policies.hpp"

namespace farfault::test {

// Calls f(component) for each component of type C.
template <class C, class F>
void each(System& system, F&& f) {
  for (ComponentId id = 0; id < system.component_count(); ++id)
    if (auto const* c = dynamic_cast<C const*>(&system.component(id))) f(*c);
}

// A further application: settings as in Application, workload by name and parameters ("taps = 4"); kernels
// are distributed over `streams` streams.
struct OneMore {
  std::string workload;
  std::string parameters = {};
  Application application = {};
  std::uint32_t streams = 1;
};

// Runs on these SMs of every GPU; on all SMs if the list is empty.
inline Application application_on(std::string name, std::uint32_t space, std::vector<std::uint32_t> sms) {
  Application a;
  a.name = std::move(name);
  a.space = space;
  a.sms = std::move(sms);
  return a;
}

class ModelRun {
 public:
  // The configured workload as an application with the settings of `first`, and further applications.
  ModelRun(std::string const& toml, Application first, std::vector<OneMore> const& others,
           EngineOptions options = {}, topologies::Granularity granularity = topologies::Granularity::device)
      : first_(std::move(first)), others_(others) {
    build(toml, options, granularity);
  }
  // Applies `change` to each workload.
  ModelRun(std::string const& toml, std::function<void(Workload&)> change, EngineOptions options = {},
           topologies::Granularity granularity = topologies::Granularity::device)
      : change_(std::move(change)) {
    build(toml, options, granularity);
  }
  explicit ModelRun(std::string const& toml, EngineOptions options = {},
                    topologies::Granularity granularity = topologies::Granularity::device) {
    build(toml, options, granularity);
  }

 private:
  void build(std::string const& toml, EngineOptions const& options, topologies::Granularity granularity) {
    Config config(topologies::find_preset);
    topologies::MachineConfig::prepare(config);
    config.read_text(toml, "test");
    auto const name = config.take("workload.name");
    machine_config_.bind(config);
    auto const builder = workloads::make(name->value);
    bind(config, *builder, name->value);
    machine_config_.check(config);
    config.reject_errors();
    auto const& [spec, links] = std::tie(machine_config_.machine, machine_config_.links);
    machine_ = spec.topology == "generic" ? topologies::generate_generic(machine_config_.generic, links)
                                          : topologies::load_machine(spec.topology, links);
    if (machine_config_.cluster.machines > 1)
      machine_ = topologies::generate_cluster(machine_, machine_config_.cluster, links);
    machine_config_.link_scale.apply(machine_, config);
    config.reject_errors();
    add(*builder, first_);
    for (auto const& more : others_) {
      auto const other = workloads::make(more.workload);
      Config own(topologies::find_preset);
      own.read_text("[workload." + more.workload + "]\n" + more.parameters, "test");
      bind(own, *other, more.workload);
      own.reject_errors();
      add(*other, more.application, more.streams);
    }
    auto placement = machine_config_.memory.placement.make({});
    placement->open([](std::string_view, std::string const& file) { return file; });
    applications_ = Applications(all_);
    assembly_ = std::make_unique<topologies::Assembly>(machine_, machine_config_, applications_, *placement);
    engine_ = std::make_unique<Engine>(assembly_->system(), assembly_->placement(granularity, 1), options,
                                       *transport_);
  }
  static void bind(Config& config, workloads::WorkloadBuilder& builder, std::string const& name) {
    ParamTable table;
    builder.describe(table);
    config.bind("workload." + name, table);
  }
  void add(workloads::WorkloadBuilder const& builder, Application application, std::uint32_t streams = 1) {
    auto const& memory = machine_config_.memory;
    workloads_.push_back(std::make_unique<Workload>(
        builder.build({machine_config_.gpu.warp_width, memory.page_size.bytes, "", 1})));
    if (change_) change_(*workloads_.back());
    std::vector<Operation> operations;
    for (std::uint32_t k = 0; streams > 1 && k < workloads_.back()->kernel_count(); ++k)
      operations.push_back(Operation::launch(k, k % streams));
    if (streams > 1) workloads_.back()->set_operations(operations);
    application.workload = workloads_.back().get();
    if (application.name.empty()) application.name = workloads_.back()->name();
    all_.push_back(std::move(application));
  }

 public:
  ModelRun& run() {
    engine_->run_until(Time::max());
    return *this;
  }

  topologies::MachineConfig const& config() const { return machine_config_; }
  Applications const& applications() const { return applications_; }
  Engine& engine() { return *engine_; }
  System& system() { return assembly_->system(); }
  topologies::Machine const& machine() const { return machine_; }
  topologies::Assembly const& assembly() const { return *assembly_; }
  KernelRecord kernel(std::size_t i, std::size_t instance = 0) const {
    return assembly_->host(instance).state().records[i];
  }
  // From the host's launch of the first kernel to its completion at the host.
  Duration kernel_time() const { return kernel(0).finished - kernel(0).launched; }

  // The kind of components that record faults, and the statistics that count the recorded ones.
  std::string_view recorder() const {
    return machine_config_.memory.fault_path.name() == "gpu" ? "gmmu" : "iommu";
  }
  std::vector<std::string_view> recorded_faults() const {
    std::vector<std::string_view> names{"page_faults"};
    bool const ends_walks = machine_config_.gpus_end_walks();
    if (ends_walks) names.push_back("protection_faults");
    if (!ends_walks || machine_config_.router.policy.facts().asks_iommu) names.push_back("remote_faults");
    return names;
  }
  // Sum of the statistic over all components of a kind.
  std::uint64_t total(std::string_view kind, std::string_view stat) {
    std::uint64_t sum = 0;
    auto& system = assembly_->system();
    for (ComponentId id = 0; id < system.component_count(); ++id)
      sum += test::stat_of(system.component(id), kind, stat);
    return sum;
  }

 private:
  Application first_;
  std::vector<OneMore> others_;
  std::function<void(Workload&)> change_;
  std::unique_ptr<Transport> transport_ = make_single_transport();
  topologies::MachineConfig machine_config_;
  topologies::Machine machine_;
  std::vector<std::unique_ptr<Workload>> workloads_;
  std::vector<Application> all_;
  Applications applications_;
  std::unique_ptr<topologies::Assembly> assembly_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace farfault::test
