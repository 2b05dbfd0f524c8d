// The table `fault_batches`.
#include "farfault/paging/paging_driver.hpp"

namespace farfault {

TableInfo PagingDriver::table_of_batches() const {
  auto const time = [](std::string name, std::string text) {
    return ColumnInfo{std::move(name), "ps", "simulated time at which " + std::move(text), ColumnType::u64};
  };
  auto const count = [](std::string name, std::string text) {
    return ColumnInfo{std::move(name), "count", std::move(text), ColumnType::u64};
  };
  return {
      "fault_batches",
      "one row for each batch of faults, in the order in which they ended",
      {{"gpu", "text", "GPU that raised the faults", ColumnType::text},
       time("first_fault", "the first of them was written to the fault buffer"),
       time("began", "the driver began to read the buffer"),
       time("first_transfer", "the first page began to come; where none was transferred, that of the end"),
       time("ended", "all pages were mapped, and all that left were gone"),
       count("raw_faults", "entries of the fault buffer"),
       count("duplicates", "of these, those of a page that had one already, or was on the GPU by then"),
       count("pages", "pages that came because they had faulted"),
       count("prefetched_pages", "pages that came beside"),
       count("evicted_pages", "pages that left for the CPU's memory"),
       count("dropped_pages",
             "of these, those that were not transferred because they had not been written, or there were "
             "copies"),
       {"bytes_in", "bytes", "bytes transferred to the GPU", ColumnType::u64},
       {"bytes_out", "bytes", "bytes transferred from it", ColumnType::u64},
       count("sms", "SMs, and scalar caches, that raised the faults"),
       count("blocks", "2 MiB blocks of which pages came")}};
}

void PagingDriver::take_batches(PagingDriverState& s, std::uint32_t table, TableRows& rows) const {
  for (auto const& r : s.batch.records) {
    auto const first = r.first_transfer == Time::max() ? r.ended : r.first_transfer;
    rows.add(table, {device_name(spec().devices.gpu(static_cast<std::uint32_t>(r.gpu))),
                     count_of(r.first_fault), count_of(r.began), count_of(first), count_of(r.ended),
                     r.raw_faults, r.duplicates, r.faulted_pages, r.prefetched_pages, r.evicted_pages,
                     r.dropped_pages, r.bytes_in, r.bytes_out, r.clients, r.blocks});
  }
  s.batch.records.clear();
}

}  // namespace farfault
