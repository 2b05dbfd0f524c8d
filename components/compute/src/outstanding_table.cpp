// SPDX-License-Identifier: Apache-2.0
// The table of the host's outstanding operations at the end of a stopped run.
#include "farfault/compute/host.hpp"
#include "farfault/compute/kernel_tables.hpp"

namespace farfault {

TableInfo Host::outstanding_table() const {
  TableInfo table{"outstanding",
                  "One row per kernel, copy or buffer operation in progress at the end of the run. Counts of "
                  "these kernels are in the statistics of their SMs, not in the table of kernels",
                  {}};
  if (rows_name_applications(*spec().applications))
    table.columns.push_back(
        {"application", "text", "Application that issued the operation", ColumnType::text});
  table.columns.insert(
      table.columns.end(),
      {{"stream", "count", "Stream of the application, from 0", ColumnType::u64},
       {"operation", "text", "kernel, to_gpus or to_host (copies), allocate or free", ColumnType::text},
       {"name", "text", "Kernel name, empty for other operations", ColumnType::text},
       {"started", "ps", "Start time at the host", ColumnType::u64},
       {"reached", "ps", "Arrival time of the operation at the GPUs or the driver", ColumnType::u64}});
  return table;
}

void Host::final_rows(TableRows& rows) const {
  auto const& applications = *spec().applications;
  auto const& s = state();
  auto const table = static_cast<std::uint32_t>(tables().size() - 1);
  for (std::uint32_t stream = 0; stream < s.streams.size(); ++stream) {
    auto const& run = s.streams[stream];
    if (run.running == 0) continue;
    auto const application = applications.application_of_stream(stream);
    auto const& o = operation(stream, s);
    std::string name;
    if (o.kind == OperationKind::kernel)
      name = applications.kernel(applications.first_kernel(application) + o.number).shape().name;
    std::vector<Cell> cells;
    if (rows_name_applications(applications)) cells.emplace_back(applications[application].name);
    cells.insert(cells.end(),
                 std::initializer_list<Cell>{std::uint64_t{stream - applications.first_stream(application)},
                                             std::string(word_of(o.kind)), name, count_of(run.began),
                                             count_of(run.began + spec().params.launch_latency)});
    rows.add(table, cells);
  }
}

}  // namespace farfault
