// SPDX-License-Identifier: Apache-2.0
// What a GPU's MMU writes to its page table to coalesce base pages where they are, and to splinter the large
// page again (Mosaic, MICRO 2017, sections 4.3 and 4.4, Figs. 6 and 7), one large page after the other.
//
// To coalesce: the large-page bit, by one write of the entry above the node; from then on the table is
// coalesced (page_table.hpp); then the disabled bits, by a write of each line of the node. To splinter, the
// reverse: the lines, then the entry above; then the table is splintered, and only then may the invalidation
// for which that is done go on to the TLBs. What cannot be coalesced any more when its turn comes, or when
// the bit is written, is left as it is.
//
// A passive part: the owner sends the writes that next_write() names, up to `at_a_time` under way, and calls
// written() when one is done. Cost: constant per call, but for coalesce(), which looks at all that waits.
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
  // `most`: large pages that can wait at a time.
  Coalescing(std::size_t most, std::uint32_t at_a_time, std::uint32_t line_bytes)
      : work_(most), at_a_time_{at_a_time}, line_bytes_{line_bytes} {}

  bool idle() const { return work_.empty(); }
  std::uint64_t waiting() const { return work_.size(); }
  // The base pages around `page` can be coalesced; once more is as good as once.
  void coalesce(std::uint64_t page, PageTable const& table);
  // A base page of a large page leaves: that is splintered first, unless it has been when its turn comes.
  void splinter(Invalidate const& leaves) { work_.push({leaves, 0, 0, 0, Kind::splinter, {}}); }

  struct Write {
    PhysAddr address;
    std::uint32_t bytes;
    std::uint64_t page;
    bool above;  // of the entry above the node
  };
  // The next write, if one can be sent now.
  std::optional<Write> next_write(PageTable const& table);
  // So many are done: the table is coalesced, or splintered, when these were the last ones of a step that
  // says so.
  void written(PageTable& table, std::uint32_t writes = 1);
  // An invalidation that may go on, each once.
  std::optional<Invalidate> next_invalidation(PageTable const& table);

  auto members() { return std::tie(work_, at_a_time_, line_bytes_); }

 private:
  enum class Kind : std::uint32_t { coalesce, splinter };
  struct Work {
    Invalidate leaves{};  // its page is in the large page
    std::uint32_t sent = 0;
    std::uint32_t done = 0;
    std::uint32_t step = 0;
    Kind kind = Kind::coalesce;
    std::uint64_t unused = 0;
  };
  std::uint32_t lines(PageTable::CoalescedEntries const& e) const {
    return e.bytes <= line_bytes_.value ? 1 : static_cast<std::uint32_t>(e.bytes / line_bytes_.value);
  }
  // Whether the first of the two steps writes the entry above.
  static bool writes_above(Work const& w) { return (w.kind == Kind::coalesce) == (w.step == 0); }
  void drop_what_cannot_be(PageTable const& table);

  Ring<Work> work_;
  Fixed<std::uint64_t> at_a_time_{1};
  Fixed<std::uint64_t> line_bytes_{64};
};

}  // namespace farfault
