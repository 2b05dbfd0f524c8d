#include "farfault/components/parts/walker.hpp"

#include "farfault/engine/error.hpp"

namespace farfault {

Walker::Walker(std::uint32_t walkers, std::uint64_t queue, std::uint32_t cache)
    : queue_(queue), walks_(walkers), cache_(cache) {
  for (auto i = walkers; i > 0; --i) free_.push_back(i - 1);
}

std::optional<Walker::Read> Walker::start(PageTable const& table) {
  if (queue_.empty() || free_.empty()) return std::nullopt;
  auto const walker = free_.back();
  free_.pop_back();
  auto const next = queue_.front();
  queue_.pop();
  auto const from = cache_.start(next.page, table.levels());
  walks_[walker] = {next.page, from.node, from.level, next.tag};
  ++started_;
  ++reads_;
  return Read{walker, next.tag, table.step(from.node, from.level, next.page).address};
}

Walker::Step Walker::advance(std::uint32_t walker, PageTable const& table) {
  FF_INVARIANT(walker < walks_.size(), "an entry was read for no walker");
  auto& w = walks_[walker];
  auto const entry = table.step(w.node, w.level, w.page);
  if (!entry.present || entry.leaf) {
    free_.push_back(walker);
    return {true, entry.present, w.tag, w.page, entry.next};
  }
  ++w.level;
  w.node = entry.next;
  cache_.remember(w.page, w.level, table.levels(), w.node);
  ++reads_;
  return {false, false, w.tag, w.page, table.step(w.node, w.level, w.page).address};
}

}  // namespace farfault
