// SPDX-License-Identifier: Apache-2.0
// Tables of the driver in the results: their rows until they are written.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "farfault/engine/table_rows.hpp"
#include "farfault/paging/driver_spec.hpp"
#include "farfault/paging/transition_executor.hpp"

namespace farfault {

// Row of a table, until it is written: pages moved within a GPU's memory.
struct RelocationRecord {
  Time began{};
  Time ended{};
  std::uint64_t gpu = 0;
  std::uint64_t pages = 0;
  std::uint64_t application = 0;
  std::uint64_t coalesces = 0;
};

// Likewise: a migrated page.
struct MigrationRecord {
  std::uint64_t page = 0;
  PhysAddr from = 0;
  PhysAddr to = 0;
  Time started{};
  Time unmapped{};
  Time finished{};
  std::uint32_t application = 0;
  std::uint32_t size = 0;
};

// Likewise: a page mapped at its first touch.
struct FirstTouchRecord {
  std::uint64_t page = 0;
  PhysAddr frame = 0;
  Time mapped{};
  std::uint32_t gpu = 0;  // GPU that touched it
  std::uint16_t size = 0;
  std::uint16_t application = 0;  // application that touched it
};

class PagingRecords {
 public:
  PagingRecords() = default;
  explicit PagingRecords(PagingDriverSpec const& spec) { first_touches_.reserve(spec.unmapped_pages); }

  void first_touch(PageInFlight const& page, Time mapped) {
    first_touches_.push_back({.page = page.first_page(),
                              .frame = page.to,
                              .mapped = mapped,
                              .gpu = page.request.gpu,
                              .size = page.size,
                              .application = page.request.application});
  }
  // Also a page that is copied.
  void migrated(PageInFlight const& page, Time finished) {
    migrations_.push_back({.page = page.first_page(),
                           .from = page.from,
                           .to = page.to,
                           .started = page.started,
                           .unmapped = page.unmapped,
                           .finished = finished,
                           .application = page.request.application,
                           .size = page.size});
  }
  void relocated(RelocationRecord const& r) { relocations_.push_back(r); }
  void batch_served(BatchRecord const& r) { batches_.push_back(r); }

  std::vector<FirstTouchRecord> const& first_touches() const { return first_touches_; }
  std::vector<MigrationRecord> const& migrations() const { return migrations_; }
  std::vector<RelocationRecord> const& relocations() const { return relocations_; }
  std::vector<BatchRecord> const& batches() const { return batches_; }

  static std::vector<TableInfo> tables(PagingDriverSpec const& spec);
  // Moves all rows, and the size changes of the memory, to `rows`.
  void take_rows(PagingDriverSpec const& spec, DriverMemory& memory, TableRows& rows);
  // Page placement of each buffer, at the end of a run; in the last table.
  static void add_placement(PagingDriverSpec const& spec, PageTable const& table, TableRows& rows);

  auto members() { return std::tie(first_touches_, migrations_, relocations_, batches_); }

 private:
  std::vector<FirstTouchRecord> first_touches_;
  std::vector<MigrationRecord> migrations_;
  std::vector<RelocationRecord> relocations_;
  std::vector<BatchRecord> batches_;
};

}  // namespace farfault
