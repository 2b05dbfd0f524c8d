// SPDX-License-Identifier: Apache-2.0
#include "farfault/paging/paging_records.hpp"

#include <map>

namespace farfault {

namespace {

TableInfo table_of_relocations(PagingDriverSpec const& spec) {
  TableInfo table{
      "relocations",
      "One row per large frame that pages moved out of (compaction) or into (coalescing), in order of "
      "completion",
      {{"gpu", "text", "GPU whose memory contains the large frame", ColumnType::text},
       {"purpose", "text", "Purpose: compaction (out of the frame) or coalescing (into it)",
        ColumnType::text},
       {"began", "ps", "Simulated time at which the driver ordered the first move", ColumnType::u64},
       {"ended", "ps", "Simulated time at which the driver learned that the last page is mapped",
        ColumnType::u64},
       {"moved_pages", "count", "Base pages moved, pre-fragmented data included", ColumnType::u64}}};
  if (spec.names_applications())
    table.columns.push_back(
        {"application", "text", "Application whose page needed the large frame", ColumnType::text});
  return table;
}

TableInfo table_of_batches() {
  auto const time = [](std::string name, std::string text) {
    return ColumnInfo{std::move(name), "ps", "Simulated time at which " + std::move(text), ColumnType::u64};
  };
  auto const count = [](std::string name, std::string text) {
    return ColumnInfo{std::move(name), "count", std::move(text), ColumnType::u64};
  };
  return {"fault_batches",
          "One row per fault batch, in order of completion",
          {{"gpu", "text", "GPU that raised the faults", ColumnType::text},
           time("first_fault", "the first fault entered the fault buffer"),
           time("began", "the driver began to read the fault buffer"),
           time("first_transfer", "the first transfer to the GPU began. Without transfers: end of the batch"),
           time("ended", "all pages were mapped and all evictions had completed"),
           count("raw_faults", "Fault-buffer entries read"),
           count("duplicates", "Entries for pages already in the batch or already resident on the GPU"),
           count("pages", "Faulted pages migrated or mapped"),
           count("prefetched_pages", "Prefetched pages migrated or mapped"),
           count("evicted_pages", "Pages evicted"),
           count("dropped_pages", "Evicted pages not transferred because they were clean or had copies"),
           {"bytes_in", "bytes", "Bytes of pages transferred to the GPU", ColumnType::u64},
           {"bytes_out", "bytes", "Bytes of evicted pages transferred from the GPU", ColumnType::u64},
           count("sms", "SMs and scalar caches that raised the faults"),
           count("blocks", "VA blocks (2 MiB) with faulted pages to serve")}};
}

ColumnInfo base_pages_column() {
  return {"base_pages", "count", "Base pages of the page. Column page has the number of the first",
          ColumnType::u64};
}

TableInfo table_of_placement() {
  return {"page_placement",
          "Pages of each buffer on each device at the end of the run, copies excluded",
          {{"application", "text", "Application that owns the buffer", ColumnType::text},
           {"buffer", "text", "Buffer of the application's workload", ColumnType::text},
           {"device", "text", "Device that holds the pages", ColumnType::text},
           {"pages", "count", "Base pages of the buffer on the device", ColumnType::u64}}};
}

void add_batches(PagingDriverSpec const& spec, std::vector<BatchRecord> const& batches, std::uint32_t table,
                 TableRows& rows) {
  for (auto const& r : batches) {
    auto const first = r.first_transfer == Time::max() ? r.ended : r.first_transfer;
    rows.add(table, {name_of(spec.names, spec.devices.gpu(static_cast<std::uint32_t>(r.gpu))),
                     count_of(r.first_fault), count_of(r.began), count_of(first), count_of(r.ended),
                     r.raw_faults, r.duplicates, r.faulted_pages, r.prefetched_pages, r.evicted_pages,
                     r.dropped_pages, r.bytes_in, r.bytes_out, r.clients, r.blocks});
  }
}

}  // namespace

std::vector<TableInfo> PagingRecords::tables(PagingDriverSpec const& spec) {
  std::vector<TableInfo> tables;
  if (spec.maps_at_first_touch)
    tables.push_back({"first_touches",
                      "One row per page mapped at first touch, in the order of frame allocation",
                      {{"page", "count", "Virtual page number", ColumnType::u64},
                       {"gpu", "text", "GPU that touched the page", ColumnType::text},
                       {"device", "text", "Device on which the page was placed", ColumnType::text},
                       {"mapped", "ps", "Simulated time of the mapping", ColumnType::u64}}});
  if (spec.maps_at_first_touch && spec.large.any()) tables[0].columns.push_back(base_pages_column());
  if (spec.maps_at_first_touch && spec.names_applications())
    tables[0].columns.push_back(
        {"application", "text", "Application that touched the page", ColumnType::text});
  if (spec.pages_move)
    tables.push_back(
        {"migrations",
         "One row per page moved or copied to another device, in order of completion",
         {{"page", "count", "Virtual page number", ColumnType::u64},
          {"from", "text", "Source device", ColumnType::text},
          {"to", "text", "Destination device", ColumnType::text},
          {"started", "ps", "Simulated time at which the driver started the migration", ColumnType::u64},
          {"unmapped", "ps",
           "Simulated time at which the driver learned that no GPU can access the old frame",
           ColumnType::u64},
          {"finished", "ps", "Simulated time at which the driver learned that the copy completed",
           ColumnType::u64}}});
  if (spec.pages_move && spec.large.any()) tables.back().columns.push_back(base_pages_column());
  if (spec.pages_move && spec.names_applications())
    tables.back().columns.push_back(
        {"application", "text", "Application that accessed the page", ColumnType::text});
  if (spec.in_batches) tables.push_back(table_of_batches());
  if (spec.coalesces)
    tables.push_back(
        {"page_sizes",
         "One row per large page coalesced or splintered during the run, in the order of the "
         "driver's requests",
         {{"page", "count", "Virtual page number of the large page's first base page", ColumnType::u64},
          {"change", "text", "Change: coalesced or splintered", ColumnType::text},
          {"time", "ps", "Simulated time of the driver's request", ColumnType::u64},
          {"base_pages", "count", "Base pages of the large page", ColumnType::u64}}});
  if (spec.relocates()) tables.push_back(table_of_relocations(spec));
  if (spec.programs != nullptr) tables.push_back(table_of_placement());
  return tables;
}

void PagingRecords::take_rows(PagingDriverSpec const& spec, DriverMemory& memory, TableRows& rows) {
  auto const name = [&spec](PhysAddr frame) { return name_of(spec.names, device_of(frame)); };
  if (spec.maps_at_first_touch)
    for (auto const& r : first_touches_) {
      std::vector<Cell> cells{r.page, name_of(spec.names, static_cast<DeviceId>(r.gpu)), name(r.frame),
                              count_of(r.mapped)};
      if (spec.large.any()) cells.emplace_back(std::uint64_t{1} << r.size);
      if (spec.names_applications()) cells.emplace_back(spec.applications[r.application]);
      rows.add(0, cells);
    }
  if (spec.pages_move)
    for (auto const& r : migrations_) {
      std::vector<Cell> cells{
          r.page, name(r.from), name(r.to), count_of(r.started), count_of(r.unmapped), count_of(r.finished)};
      if (spec.large.any()) cells.emplace_back(std::uint64_t{1} << r.size);
      if (spec.names_applications()) cells.emplace_back(spec.applications[r.application]);
      rows.add(spec.maps_at_first_touch ? 1 : 0, cells);
    }
  first_touches_.clear();
  migrations_.clear();
  std::uint32_t next = (spec.maps_at_first_touch ? 1 : 0) + (spec.pages_move ? 1 : 0);
  if (spec.in_batches) add_batches(spec, batches_, next++, rows);
  batches_.clear();
  for (auto const& r : memory.size_changes())
    rows.add(next, {r.page, std::string(r.coalesced != 0 ? "coalesced" : "splintered"), count_of(r.at),
                    std::uint64_t{1} << memory.table().coalesced_size()});
  memory.size_changes().clear();
  if (spec.coalesces) ++next;
  for (auto const& r : relocations_) {
    std::vector<Cell> cells{name_of(spec.names, spec.devices.gpu(static_cast<std::uint32_t>(r.gpu))),
                            std::string(r.coalesces != 0 ? "coalescing" : "compaction"), count_of(r.began),
                            count_of(r.ended), r.pages};
    if (spec.names_applications()) cells.emplace_back(spec.applications[r.application]);
    rows.add(next, cells);
  }
  relocations_.clear();
}

void PagingRecords::add_placement(PagingDriverSpec const& spec, PageTable const& table, TableRows& rows) {
  if (spec.programs == nullptr) return;
  auto const last = static_cast<std::uint32_t>(tables(spec).size() - 1);
  for (auto const& application : *spec.programs) {
    for (auto const& buffer : application.workload->buffers()) {
      auto const first = first_address_of(application.space) | buffer.base;
      auto const end = (first + buffer.bytes - 1) >> spec.page_bits;
      std::map<DeviceId, std::uint64_t> pages;
      for (auto page = first >> spec.page_bits; buffer.bytes != 0 && page <= end;) {
        auto const found = table.find(page);
        auto const next = found ? ((page >> found->size) + 1) << found->size : page + 1;
        auto const here = std::min(next, end + 1) - page;
        if (found) pages[device_of(found->frame)] += here;
        page += here;
      }
      for (auto const& [device, count] : pages)
        rows.add(last, {application.name, buffer.name, name_of(spec.names, device), count});
    }
  }
}

}  // namespace farfault
