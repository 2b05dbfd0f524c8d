// SPDX-License-Identifier: Apache-2.0
// Policy for page sizes: which pages are large from the start, and whether base pages become large pages
// (Mosaic, MICRO 2017).
//
// - large_buffers, rounds_up: the buffers whose pages are mapped as large pages (`chosen`: the buffers in
//   memory.large_pages), and whether the ends of these buffers are large pages, too, whose excess memory is
//   unused.
// - coalesces: base pages of a large page are coalesced in place as soon as all of them are mapped to one
//   large frame of a GPU, each at its offset (page_table.hpp). Each table does this by itself when it holds
//   all of them.
// - moves_to_coalesce: base pages that one GPU holds in other frames are first moved to a large frame, if
//   that GPU has one.
// - Statistics: the driver calls coalesced() and splintered() per large page, mapped() with the number of
//   mapped base pages, including the base pages of large pages, and moved() for each large page that was
//   moved to be coalesced.
#pragma once

#include <cstdint>

#include "farfault/engine/policy.hpp"

namespace farfault {

class PageSizes {
 public:
  using Interface = PageSizes;
  struct Setup {};
  enum class LargeBuffers : std::uint8_t { none, chosen, all };
  struct Facts {
    LargeBuffers large_buffers = LargeBuffers::none;
    bool rounds_up = false;
    bool coalesces = false;
    bool moves_to_coalesce = false;  // only with `coalesces`
  };
  static PolicyList<PageSizes> known();

  virtual ~PageSizes() = default;
  virtual void coalesced() {}
  virtual void splintered() {}
  virtual void moved(std::uint64_t base_pages) { static_cast<void>(base_pages); }
  virtual void mapped(std::uint64_t base_pages) { static_cast<void>(base_pages); }
};

extern template class PolicyChoice<PageSizes>;

}  // namespace farfault
