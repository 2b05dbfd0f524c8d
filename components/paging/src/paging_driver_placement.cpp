// SPDX-License-Identifier: Apache-2.0
// Page placement of each buffer at the end of a run.
#include <map>

#include "farfault/paging/paging_driver.hpp"

namespace farfault {

TableInfo PagingDriver::table_of_placement() {
  return {"page_placement",
          "Pages of each buffer on each device at the end of the run, copies excluded",
          {{"application", "text", "Application that owns the buffer", ColumnType::text},
           {"buffer", "text", "Buffer of the application's workload", ColumnType::text},
           {"device", "text", "Device that holds the pages", ColumnType::text},
           {"pages", "count", "Base pages of the buffer on the device", ColumnType::u64}}};
}

// The placement table is the last one.
void PagingDriver::final_rows(TableRows& rows) const {
  if (spec().programs == nullptr) return;
  auto const last = static_cast<std::uint32_t>(tables().size() - 1);
  auto const& table = state().table;
  for (auto const& application : *spec().programs) {
    for (auto const& buffer : application.workload->buffers()) {
      auto const first = first_address_of(application.space) | buffer.base;
      auto const end = (first + buffer.bytes - 1) >> spec().page_bits;
      std::map<DeviceId, std::uint64_t> pages;
      for (auto page = first >> spec().page_bits; buffer.bytes != 0 && page <= end;) {
        auto const found = table.find(page);
        auto const next = found ? ((page >> found->size) + 1) << found->size : page + 1;
        auto const here = std::min(next, end + 1) - page;
        if (found) pages[device_of(found->frame)] += here;
        page += here;
      }
      for (auto const& [device, count] : pages)
        rows.add(last, {application.name, buffer.name, name_of(spec().names, device), count});
    }
  }
}

}  // namespace farfault
