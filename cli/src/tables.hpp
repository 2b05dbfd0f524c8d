// Private: the tables of a result file, one row for each thing that happened, from the records that
// components keep.
#pragma once

#include <vector>

#include "farfault/components/dispatcher.hpp"
#include "farfault/components/paging_driver.hpp"
#include "farfault/engine/engine.hpp"
#include "farfault/results/writer.hpp"
#include "model.hpp"

namespace farfault::cli {

struct Records {
  std::vector<KernelRecord> kernels;
  std::vector<MigrationRecord> migrations;
  std::vector<FirstTouchRecord> first_touches;
};

// Of all ranks, on rank 0; all ranks call it alike.
Records gather_records(Model const& model, Transport& transport);

// The tables of a run's file, in the order in which append_tables() numbers them.
std::vector<TableInfo> tables_of(Model const& model);

// `kernels_done`: how many of the kernels have ended.
void append_tables(results::ResultWriter& writer, Model const& model, Records const& records,
                   std::uint64_t kernels_done);

}  // namespace farfault::cli
