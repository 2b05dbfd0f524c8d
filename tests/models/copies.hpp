// SPDX-License-Identifier: Apache-2.0
// Orders for the copy engine of a GPU on a whole machine.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "../components/mock.hpp"
#include "farfault/topologies/assembly.hpp"
#include "farfault/topologies/load.hpp"
#include "farfault/workloads/registry.hpp"

namespace farfault::test {

// An idle machine or cluster, and orders for the copy engine of its first GPU. The driver did not issue them;
// reports of the copy engine reach it after 1 s at the earliest.
class Copies {
 public:
  using Orders = std::vector<mock::Record<CopyOrder>>;

  // `link`: bandwidth of all links if not zero.
  Copies(std::string const& toml, Orders const& orders, Bandwidth link = {}) {
    Config file(topologies::find_preset);
    file.read_text(
        "memory.page_size = \"64KiB\"\ngpu.sms = 1\ndriver.notify_latency = \"1s\"\n"
        "driver.migrations = 1024\n" +
            toml,
        "test");
    config_.bind(file);
    config_.check(file);
    file.reject_errors();
    machine_ = topologies::load_machine(config_.machine.topology, config_.links);
    if (config_.cluster.machines > 1)
      machine_ = topologies::generate_cluster(machine_, config_.cluster, config_.links);
    config_.link_scale.apply(machine_, file);
    file.reject_errors();
    if (link.bytes_per_second != 0)
      for (auto& l : machine_.links) l.forward = l.backward = link;
    Application late;
    late.name = "late";
    late.workload = &workload_;
    late.start = Time{1s};
    applications_ = Applications({late});
    assembly_ = std::make_unique<topologies::Assembly>(machine_, config_, applications_,
                                                       *config_.memory.placement.make({}));
    auto& system = assembly_->system();
    auto& source = system.add<mock::Source<CopyOrder>>("source", mock::SourceSpec<CopyOrder>{orders});
    system.connect(source.out_port, copies().copy, Latency{1ns});
    for (std::uint64_t i = 0; i < orders.size(); ++i)
      system.post(source.next, mock::Step{i}, orders[i].at - 1ns);
    engine_ = std::make_unique<Engine>(system, Placement{}, EngineOptions{}, *transport_);
  }

  void run_until(Time t) { engine_->run_until(t); }
  CopyEngine& copies() {
    return find<CopyEngine>(machine_.nodes[machine_.nodes_of(topologies::NodeKind::gpu).front()].name +
                            ".copy_engine");
  }
  std::uint64_t events() const { return engine_->profile().events; }
  topologies::MachineConfig const& config() const { return config_; }
  template <class C>
  C& find(std::string const& path) {
    auto& system = assembly_->system();
    for (ComponentId id = 0; id < system.component_count(); ++id)
      if (system.component(id).path() == path) return dynamic_cast<C&>(system.component(id));
    throw UserError("no component " + path);
  }

 private:
  topologies::MachineConfig config_;
  topologies::Machine machine_;
  Workload workload_ = workloads::make("pointer_chase")->build({64, 4096, "", 1});
  Applications applications_;
  std::unique_ptr<topologies::Assembly> assembly_;
  std::unique_ptr<Transport> transport_ = make_single_transport();
  std::unique_ptr<Engine> engine_;
};

// Time at which the last line of the only order is acknowledged.
inline Time done_at(std::string const& toml, CopyOrder const& order) {
  Copies copies(toml, {{Time{1us}, order}});
  copies.run_until(Time{900us});
  auto const& s = copies.copies().state();
  REQUIRE(s.orders == 1);
  Time done{};
  for (auto const& lane : s.lanes)
    for (auto const& run : lane.runs) done = std::max(done, run.done);
  return done;
}

}  // namespace farfault::test
