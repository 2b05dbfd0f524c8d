// SPDX-License-Identifier: Apache-2.0
#include "farfault/compute/runs_table.hpp"

#include "farfault/compute/kernel_tables.hpp"

namespace farfault {

TableInfo runs_table(bool names_applications, bool fetches) {
  TableInfo table{"runs",
                  "One row per completed run of an application's program, in the order of completion. "
                  "Statistics of SMs are summed over its kernels",
                  {}};
  if (names_applications)
    table.columns.push_back({"application", "text", "Application of the program", ColumnType::text});
  table.columns.insert(
      table.columns.end(),
      {{"run", "count", "Number of the application's run, from 0", ColumnType::u64},
       {"started", "ps", "Start time of its first operation at the host", ColumnType::u64},
       {"finished", "ps", "Completion time of its last operation at the host", ColumnType::u64},
       {"kernels", "count", "Kernels launched by the run", ColumnType::u64}});
  add_sm_columns(table, fetches);
  return table;
}

std::vector<Cell> cells_of(RunRecord const& run, std::string const& application, bool fetches) {
  std::vector<Cell> cells;
  if (!application.empty()) cells.emplace_back(application);
  for (auto const value :
       {std::uint64_t{run.run}, count_of(run.started), count_of(run.finished), run.kernels})
    cells.emplace_back(value);
  add_sm_cells(cells, run.counts, fetches);
  return cells;
}

}  // namespace farfault
