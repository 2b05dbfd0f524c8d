// SPDX-License-Identifier: Apache-2.0
// How large the pages of the applications are, and whether base pages become large ones (Mosaic, MICRO 2017).
//
// Contract. large_buffers() and rounds_up() are asked before the run: the buffers whose pages are mapped as
// large ones at once ("none", "all", or names), and whether the ends of these buffers come in large pages as
// well, with memory that nobody uses. `chosen` is what memory.large_pages says. coalesces() says whether the
// base pages of a large page are coalesced where they are, as soon as all of them are mapped to one large
// frame of a GPU, each at its place (page_table.hpp); each table does that by itself, when it knows all of
// them. Of what becomes of large pages the driver tells the policy, which counts: base pages are coalesced,
// or a large page splintered; and how many base pages are mapped then, those of large pages included.
//
// moves_to_coalesce() says whether base pages that could be coalesced but for their frames are moved to a
// large frame first, where the GPU that has all of them has one; moved() tells the policy of each such large
// page, for the count.
#pragma once

#include <cstdint>
#include <string>

#include "farfault/engine/policy.hpp"

namespace farfault {

class PageSizes {
 public:
  using Interface = PageSizes;
  struct Setup {};
  static PolicyList<PageSizes> known();

  virtual ~PageSizes() = default;
  virtual std::string large_buffers(std::string const& chosen) const {
    static_cast<void>(chosen);
    return "none";
  }
  virtual bool rounds_up() const { return false; }
  virtual bool coalesces() const { return false; }
  virtual bool moves_to_coalesce() const { return false; }

  virtual void coalesced() {}
  virtual void splintered() {}
  virtual void moved(std::uint64_t base_pages) { static_cast<void>(base_pages); }
  virtual void mapped(std::uint64_t base_pages) { static_cast<void>(base_pages); }
};

extern template class PolicyChoice<PageSizes>;

}  // namespace farfault
