// SPDX-License-Identifier: Apache-2.0
#include "farfault/compute/kernel_tables.hpp"

namespace farfault {
namespace {

template <class Use>
void each_counter(bool fetches, std::string_view without, Use use) {
  for (auto const& counter : SmStats::list()) {
    bool const exists = fetches || counter.condition == nullptr;
    if (exists && counter.kind == StatKind::counter && std::string_view(counter.name) != without)
      use(counter);
  }
}

}  // namespace

bool rows_name_applications(Applications const& applications) {
  return applications.count() > 1 || applications[0].repeats > 1;
}

bool rows_name_streams(Applications const& applications) {
  return applications.streams() > applications.count();
}

void add_owner_columns(TableInfo& table, Applications const& applications) {
  if (rows_name_streams(applications))
    table.columns.push_back({"stream", "count", "Stream of the application, from 0", ColumnType::u64});
  if (!rows_name_applications(applications)) return;
  table.columns.push_back({"application", "text", "Application that launched the kernel", ColumnType::text});
  table.columns.push_back(
      {"launch", "count", "Number of kernels launched earlier by the application", ColumnType::u64});
}

void add_owner_cells(std::vector<Cell>& cells, Applications const& applications, std::uint32_t kernel,
                     std::uint32_t launch) {
  auto const application = applications.application_of(kernel);
  if (rows_name_streams(applications))
    cells.emplace_back(
        std::uint64_t{applications.stream_of(kernel) - applications.first_stream(application)});
  if (!rows_name_applications(applications)) return;
  cells.emplace_back(applications[application].name);
  cells.emplace_back(std::uint64_t{launch});
}

void add_sm_columns(TableInfo& table, bool fetches, std::string_view without) {
  each_counter(fetches, without, [&](Stat<SmStats> const& counter) {
    table.columns.push_back(
        {std::string(counter.name), std::string(counter.unit), std::string(counter.text), ColumnType::u64});
  });
}

void add_sm_cells(std::vector<Cell>& cells, SmStats const& counts, bool fetches, std::string_view without) {
  each_counter(fetches, without,
               [&](Stat<SmStats> const& counter) { cells.emplace_back(counter.value(counts)); });
}

TableInfo kernels_by_gpu_table(Applications const& applications, bool fetches) {
  TableInfo table{
      "kernels_by_gpu",
      "One row per completed kernel and GPU, with several GPUs. Statistics of SMs are summed over the SMs of "
      "the GPU",
      {{"kernel", "count", "Kernel number, as in the table of kernels", ColumnType::u64},
       {"name", "text", "Kernel name", ColumnType::text},
       {"gpu", "text", "GPU", ColumnType::text},
       {"left_gpu", "ps",
        "Completion time of the kernel's last thread block on this GPU. A GPU without thread blocks: arrival "
        "time of the launch",
        ColumnType::u64}}};
  add_owner_columns(table, applications);
  add_sm_columns(table, fetches);
  return table;
}

std::vector<Cell> cells_of(KernelOnGpu const& record, std::string const& gpu,
                           Applications const& applications, bool fetches) {
  std::vector<Cell> cells{std::uint64_t{record.kernel}, applications.kernel(record.kernel).shape().name, gpu,
                          count_of(record.left)};
  add_owner_cells(cells, applications, record.kernel, record.launch);
  add_sm_cells(cells, record.counts, fetches);
  return cells;
}

}  // namespace farfault
