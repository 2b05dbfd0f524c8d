#include "tables.hpp"

#include <cstring>
#include <span>
#include <string>

namespace farfault::cli {

namespace {

constexpr std::size_t kKernels = 0;

template <class Record>
std::vector<Record> gather(std::vector<Record> const& mine, Transport& transport) {
  std::vector<Record> all;
  for (auto const& part : transport.gather(std::as_bytes(std::span(mine)))) {
    auto const n = all.size();
    all.resize(n + part.size() / sizeof(Record));
    if (!part.empty()) std::memcpy(static_cast<void*>(all.data() + n), part.data(), part.size());
  }
  return all;
}

// Pages that nothing has placed before the first kernel.
bool pages_wait(Model const& model) {
  auto const placement = model.machine_config.memory.placement;
  return placement == topologies::PlacementPolicy::first_touch ||
         placement == topologies::PlacementPolicy::recorded;
}

bool pages_move(Model const& model) {
  return model.machine_config.memory.remote_touch == RemoteTouch::migrate;
}

std::uint64_t ps(Time t) {
  return static_cast<std::uint64_t>(picoseconds(t));
}

std::string device_name(PhysAddr frame) {
  auto const device = device_of(frame);
  return device >= kFirstCpu ? "cpu" + std::to_string(device - kFirstCpu) : "gpu" + std::to_string(device);
}

}  // namespace

Records gather_records(Model const& model, Transport& transport) {
  auto const& host = model.assembly->host();
  auto const& driver = model.assembly->driver();
  Records records;
  records.kernels = gather(host.has_state() ? host.state().records : std::vector<KernelRecord>{}, transport);
  if (pages_wait(model))
    records.first_touches = gather(
        driver.has_state() ? driver.state().first_touches : std::vector<FirstTouchRecord>{}, transport);
  if (pages_move(model))
    records.migrations =
        gather(driver.has_state() ? driver.state().records : std::vector<MigrationRecord>{}, transport);
  return records;
}

std::vector<TableInfo> tables_of(Model const& model) {
  std::vector<TableInfo> tables{
      {"kernels",
       "one row for each kernel that ran",
       {{"kernel", "count", "number of the kernel, from 0", ColumnType::u64},
        {"name", "text", "name of the kernel", ColumnType::text},
        {"blocks", "count", "thread blocks of the grid", ColumnType::u64},
        {"launched", "ps", "simulated time of the launch by the host", ColumnType::u64},
        {"finished", "ps", "simulated time at which the host learned that it is done", ColumnType::u64}}}};
  if (pages_wait(model))
    tables.push_back(
        {"first_touches",
         "one row for each page mapped at its first touch, in the order in which the driver gave out frames",
         {{"page", "count", "virtual page number", ColumnType::u64},
          {"gpu", "text", "GPU that touched the page", ColumnType::text},
          {"device", "text", "device in whose memory it was placed", ColumnType::text},
          {"mapped", "ps", "simulated time at which the driver mapped it", ColumnType::u64}}});
  if (pages_move(model))
    tables.push_back(
        {"migrations",
         "one row for each page that migrated, in the order of completion",
         {{"page", "count", "virtual page number", ColumnType::u64},
          {"from", "text", "source device", ColumnType::text},
          {"to", "text", "destination device: the GPU that accessed the page", ColumnType::text},
          {"started", "ps", "simulated time at which the driver started the migration", ColumnType::u64},
          {"unmapped", "ps",
           "simulated time at which the driver learned that no GPU can access the old frame",
           ColumnType::u64},
          {"finished", "ps", "simulated time at which the driver learned that the page is copied",
           ColumnType::u64}}});
  return tables;
}

void append_tables(results::ResultWriter& writer, Model const& model, Records const& records,
                   std::uint64_t kernels_done) {
  std::vector<results::Cell> row;
  for (std::size_t k = 0; k < records.kernels.size() && k < kernels_done; ++k) {
    auto const& r = records.kernels[k];
    auto const& shape = model.workload->kernel(k).shape();
    row = {std::uint64_t{k}, shape.name, shape.blocks, ps(r.launched), ps(r.finished)};
    writer.append_row(kKernels, row);
  }
  auto table = kKernels + 1;
  for (auto const& r : records.first_touches) {
    row = {r.page, device_name(physical(static_cast<DeviceId>(r.gpu), 0)), device_name(r.frame),
           ps(r.mapped)};
    writer.append_row(table, row);
  }
  if (pages_wait(model)) ++table;
  for (auto const& r : records.migrations) {
    row = {r.page, device_name(r.from), device_name(r.to), ps(r.started), ps(r.unmapped), ps(r.finished)};
    writer.append_row(table, row);
  }
}

}  // namespace farfault::cli
