// SPDX-License-Identifier: Apache-2.0
#include "farfault/translation/walker.hpp"

#include "farfault/engine/error.hpp"

namespace farfault {

std::optional<Walker::Read> Walker::begin() {
  for (auto& [queue, free] : groups_) {
    if (queue.empty() || free.empty()) continue;
    auto const walker = free.back();
    free.pop_back();
    auto const next = queue.front();
    queue.pop();
    walks_[walker] = {.page = next.page, .tag = next.tag, .application = next.application};
    ++started_;
    return Read{walker, next.tag, 0, {}};
  }
  return std::nullopt;
}

std::optional<Walker::Read> Walker::start(PageTable const& table) {
  auto first = begin();
  if (!first) return std::nullopt;
  auto& w = walks_[first->walker];
  auto const from = cache_of(first->walker).start(w.page, table.levels());
  w.node = from.level == 0 ? table.root_of(w.page) : from.node;
  w.level = from.level;
  ++reads_;
  first->address = table.step(w.node, w.level, w.page).address;
  first->requester = reader_of(w, table);
  return first;
}

Walker::Step Walker::end(std::uint32_t walker, PageTable const& table) {
  FF_INVARIANT(walker < walks_.size(), "invalid walker number");
  auto const& w = walks_[walker];
  auto const found = table.find(w.page);
  free(walker);
  return {.ended = true,
          .found = found.has_value(),
          .size = found ? found->size : std::uint8_t{0},
          .tag = w.tag,
          .page = w.page,
          .address = found ? found->frame : 0};
}

Walker::Step Walker::advance(std::uint32_t walker, PageTable const& table) {
  FF_INVARIANT(walker < walks_.size(), "page-table read for an invalid walker number");
  auto& w = walks_[walker];
  auto const entry = table.step(w.node, w.level, at(w, table));
  if (entry.coalesced && !entry.leaf && stops_above_.value != 0) return end(walker, table);
  bool const splintered = w.coalesced != 0 && (!entry.present || entry.size == 0);
  if ((!entry.present || entry.leaf) && !splintered) {
    free(walker);
    return {.ended = true,
            .found = entry.present,
            .size = entry.size,
            .tag = w.tag,
            .page = w.page,
            .address = entry.next};
  }
  if (!splintered) {
    ++w.level;
    w.node = entry.next;
    cache_of(walker).remember(w.page, w.level, table.levels(), w.node);
  }
  w.coalesced = entry.coalesced && !splintered ? 1 : 0;
  ++reads_;
  return {.ended = false,
          .found = false,
          .size = 0,
          .tag = w.tag,
          .page = w.page,
          .address = table.step(w.node, w.level, at(w, table)).address,
          .requester = reader_of(w, table)};
}

}  // namespace farfault
