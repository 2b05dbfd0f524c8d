// SPDX-License-Identifier: Apache-2.0
// Private: the tables of a result file, collected from the rows of components.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "farfault/engine/engine.hpp"
#include "farfault/engine/probes.hpp"
#include "farfault/results/writer.hpp"
#include "farfault/topologies/assembly.hpp"

namespace farfault::cli {

// With several instances of the workload, the first column of every table identifies the machine.
void add_machine_column(TableInfo& table);

class Tables {
 public:
  Tables(topologies::Assembly& assembly, Engine const& engine, Transport& transport);

  std::vector<TableInfo> const& infos() const { return infos_; }

  // All ranks call these alike. take() collects on rank 0 the rows since the last call; append() then writes
  // them on rank 0, component by component, each in order of time.
  void take();
  // The same at the end of the run, including the rows of final states.
  void take_final();
  void append(results::ResultWriter& writer);

 private:
  template <class Take>
  void gather(Take take_from);

  System& system_;
  std::vector<std::string> machine_of_;  // by component; empty: one instance
  Engine const& engine_;
  Transport& transport_;
  std::vector<TableInfo> infos_;
  std::vector<std::vector<std::size_t>> number_of_;  // by component and its own table number
  std::vector<ComponentId> filling_;                 // components that have tables
  std::vector<std::vector<std::byte>> taken_;        // by rank
};

}  // namespace farfault::cli
