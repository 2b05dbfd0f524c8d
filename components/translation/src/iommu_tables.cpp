// Where the pages of each buffer are at the end of a run, by the table of the first IOMMU.
#include <map>

#include "farfault/translation/iommu.hpp"

namespace farfault {

std::vector<TableInfo> Iommu::tables() const {
  if (spec().placed == nullptr) return {};
  return {{"page_placement",
           "buffers, by the device that has some of their pages at the end of the run; copies not counted",
           {{"application", "text", "application whose buffer it is", ColumnType::text},
            {"buffer", "text", "buffer of its workload", ColumnType::text},
            {"device", "text", "device that has the pages", ColumnType::text},
            {"pages", "count", "base pages there", ColumnType::u64}}}};
}

void Iommu::final_rows(TableRows& rows) const {
  if (spec().placed == nullptr) return;
  auto const& table = state().table;
  for (auto const& application : *spec().placed) {
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
        rows.add(0, {application.name, buffer.name, device_name(device), count});
    }
  }
}

}  // namespace farfault
