// SPDX-License-Identifier: Apache-2.0
#include "farfault/translation/coalescing.hpp"

#include <algorithm>

namespace farfault {

void Coalescing::coalesce(std::uint64_t page, PageTable const& table) {
  auto const size = table.coalesced_size();
  for (std::uint64_t i = 0; i < work_.size(); ++i)
    if (work_[i].kind == Kind::coalesce && work_[i].sent == 0 &&
        work_[i].invalidation.page >> size == page >> size)
      return;
  Invalidate of_page{};
  of_page.page = page;
  work_.push({.invalidation = of_page, .kind = Kind::coalesce});
}

// Applies to the work at the head of the queue, before its first write.
void Coalescing::drop_ineligible(PageTable const& table) {
  while (!work_.empty()) {
    auto const& w = work_.front();
    if (w.sent != 0 || w.step != 0 || w.kind != Kind::coalesce || table.can_coalesce(w.invalidation.page))
      return;
    work_.pop();
  }
}

std::optional<Coalescing::Write> Coalescing::next_write(PageTable const& table) {
  drop_ineligible(table);
  if (work_.empty()) return std::nullopt;
  auto& w = work_.front();
  bool const may_go_on = w.kind == Kind::splinter && w.sent == 0 && !table.is_coalesced(w.invalidation.page);
  if (may_go_on) return std::nullopt;
  auto const e = table.coalesced_entries(w.invalidation.page);
  bool const above = writes_above(w);
  if (w.sent == (above ? 1 : lines(e)) || w.sent - w.done == at_a_time_.value) return std::nullopt;
  auto const line = w.sent++;
  if (above) return Write{e.above, 8, w.invalidation.page, true};
  auto const bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(line_bytes_.value, e.bytes));
  return Write{e.first + std::uint64_t{line} * bytes, bytes, w.invalidation.page, false};
}

void Coalescing::written(PageTable& table, std::uint32_t writes) {
  FF_CHECK(!work_.empty() && work_.front().done + writes <= work_.front().sent,
           "page-table write without a pending coalescing or splintering");
  auto& w = work_.front();
  auto const e = table.coalesced_entries(w.invalidation.page);
  w.done += writes;
  if (w.done != (writes_above(w) ? 1 : lines(e))) return;
  w.sent = w.done = 0;
  ++w.step;
  if (w.kind == Kind::splinter) {
    if (w.step == 2) table.splinter(w.invalidation.page);
    return;
  }
  if (w.step == 2 || !table.can_coalesce(w.invalidation.page)) return work_.pop();
  table.coalesce(w.invalidation.page);
}

std::optional<Invalidate> Coalescing::next_invalidation(PageTable const& table) {
  drop_ineligible(table);
  if (work_.empty()) return std::nullopt;
  auto const w = work_.front();
  if (w.kind != Kind::splinter || w.sent != 0 || table.is_coalesced(w.invalidation.page)) return std::nullopt;
  work_.pop();
  return w.invalidation;
}

}  // namespace farfault
