// SPDX-License-Identifier: Apache-2.0
// Page-table writes with which a GPU's MMU coalesces base pages in place and splinters large pages, one large
// page at a time. Source: Mosaic (MICRO 2017), sections 4.3 and 4.4, Figs. 6 and 7.
//
// - To coalesce: write the large-page bit in the entry above the node; from then on the table is coalesced
//   (page_table.hpp). Then write the disabled bits, one write per line of the node.
// - To splinter: write the lines of the node, then the entry above. Only then is the table splintered and the
//   invalidation that caused it forwarded to the TLBs.
// - Pages that can no longer be coalesced, when their turn begins or when the bit is written, are left
//   unchanged.
// - The owner sends the writes that next_write() returns, at most `at_a_time` in flight, and calls written()
//   when they complete.
// - Time: constant per call, except coalesce(), which scans the queue.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>

#include "farfault/engine/archive.hpp"
#include "farfault/parts/ring.hpp"
#include "farfault/protocols/messages.hpp"
#include "farfault/translation/page_table.hpp"

namespace farfault {

class Coalescing {
 public:
  Coalescing() = default;
  // `most`: maximum large pages that can be queued.
  Coalescing(std::size_t most, std::uint32_t at_a_time, std::uint32_t line_bytes)
      : work_(most), at_a_time_{at_a_time}, line_bytes_{line_bytes} {}

  bool idle() const { return work_.empty(); }
  std::uint64_t waiting() const { return work_.size(); }
  // Queues the base pages around `page` for coalescing. Repeated calls have no effect while the page is
  // queued.
  void coalesce(std::uint64_t page, PageTable const& table);
  // Queues the invalidation of a base page of a large page. The large page is splintered first, unless it
  // already is when its turn begins.
  void splinter(Invalidate const& invalidation) {
    work_.push({.invalidation = invalidation, .kind = Kind::splinter});
  }

  struct Write {
    PhysAddr address;
    std::uint32_t bytes;
    std::uint64_t page;
    bool above;  // writes the entry above the node
  };
  // The next write, if one can be sent now.
  std::optional<Write> next_write(PageTable const& table);
  // Completes `writes` writes. The table is coalesced or splintered when the last write of the corresponding
  // step completes.
  void written(PageTable& table, std::uint32_t writes = 1);
  // An invalidation that may be forwarded; each is returned once.
  std::optional<Invalidate> next_invalidation(PageTable const& table);

  auto members() { return std::tie(work_, at_a_time_, line_bytes_); }

 private:
  enum class Kind : std::uint32_t { coalesce, splinter };
  struct Work {
    Invalidate invalidation{};  // its page is in the large page
    std::uint32_t sent = 0;
    std::uint32_t done = 0;
    std::uint32_t step = 0;
    Kind kind = Kind::coalesce;
    std::uint64_t unused = 0;
  };
  std::uint32_t lines(PageTable::CoalescedEntries const& e) const {
    return e.bytes <= line_bytes_.value ? 1 : static_cast<std::uint32_t>(e.bytes / line_bytes_.value);
  }
  // True if the current step writes the entry above the node.
  static bool writes_above(Work const& w) { return (w.kind == Kind::coalesce) == (w.step == 0); }
  void drop_ineligible(PageTable const& table);

  Ring<Work> work_;
  Fixed<std::uint64_t> at_a_time_{1};
  Fixed<std::uint64_t> line_bytes_{64};
};

}  // namespace farfault
