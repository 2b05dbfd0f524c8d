// Private: the tables of a result file, from the rows that components fill.
#pragma once

#include <cstdint>
#include <vector>

#include "farfault/engine/engine.hpp"
#include "farfault/engine/probes.hpp"
#include "farfault/results/writer.hpp"

namespace farfault::cli {

class Tables {
 public:
  Tables(System& system, Engine const& engine, Transport& transport);

  std::vector<TableInfo> const& infos() const { return infos_; }

  // All ranks call them alike. take() collects on rank 0 what has happened since the last time; append() then
  // writes it, on rank 0: component by component, each in its order of time.
  void take();
  void append(results::ResultWriter& writer);

 private:
  System& system_;
  Engine const& engine_;
  Transport& transport_;
  std::vector<TableInfo> infos_;
  std::vector<std::vector<std::size_t>> number_of_;  // by component and its own number of a table
  std::vector<ComponentId> filling_;                 // components that have tables
  std::vector<std::vector<std::byte>> taken_;        // by rank
};

}  // namespace farfault::cli
