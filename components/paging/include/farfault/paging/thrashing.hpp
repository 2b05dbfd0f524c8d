// SPDX-License-Identifier: Apache-2.0
// Pages that batches of several GPUs take from each other again and again.
//
// - A page thrashes after `threshold` moves to another GPU, each at most `lapse` after the move before. It
//   then stays on its GPU for `stay` after its arrival. Faults of other GPUs leave it there, and their
//   accesses, issued again, fault again.
// - A move that is later than `lapse` ends this. If `stay` is as long, the next move does.
// - Source: NVIDIA's open driver (uvm_perf_thrashing.c), which throttles all processors except one.
// - Not modelled: the pinning of pages that thrash, after several stays or if links are fast; moves for
//   counted accesses, which count there; prefetchers that leave out pages that thrash.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>

#include "farfault/paging/page_records.hpp"

namespace farfault {

class ThrashingPages {
 public:
  struct Limits {
    std::uint32_t threshold = 0;  // 0: no page thrashes
    Duration lapse{};
    Duration stay{};
  };
  ThrashingPages() = default;
  ThrashingPages(unsigned page_bits, std::uint32_t spaces) : pages_(page_bits, spaces) {}

  // The page has moved to this GPU, by the driver's own number, for a fault.
  void moved(std::uint64_t page, std::uint64_t gpu, Time now, Limits const& limits) {
    if (limits.threshold == 0) return;
    auto& p = pages_.of(page);
    bool const is_late = now - p.moved > limits.lapse;
    if (is_late && p.events >= limits.threshold) p.events = 0;
    if (!is_late && p.moved != Time{} && p.gpu != gpu) ++p.events;
    p.moved = now;
    p.gpu = static_cast<std::uint32_t>(gpu);
  }
  // GPU on which the page stays now.
  std::optional<std::uint64_t> stays_on(std::uint64_t page, Time now, Limits const& limits) const {
    auto const* p = pages_.find(page);
    if (p == nullptr || p->events < limits.threshold || now >= p->moved + limits.stay) return std::nullopt;
    return p->gpu;
  }

  // A fault leaves the page where it is.
  void throttle() { ++throttled_; }
  std::uint64_t throttled() const { return throttled_; }

  auto members() { return std::tie(pages_, throttled_); }

 private:
  struct Page {
    Time moved{};
    std::uint32_t gpu = 0;
    std::uint32_t events = 0;
  };

  PageRecords<Page> pages_;
  std::uint64_t throttled_ = 0;
};

}  // namespace farfault
