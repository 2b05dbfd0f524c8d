#include "farfault/translation/page_table.hpp"

#include "farfault/engine/error.hpp"

namespace farfault {

// Appends a node, and returns its number.
std::uint64_t PageTable::new_node(unsigned level) {
  ++nodes_;
  constexpr auto kEntries = std::uint64_t{1} << kIndexBits;
  bool const small = levels_.is_last(level) && levels_.last_bits() != kIndexBits;
  if (small && next_last_ % kEntries != 0) {
    auto const number = number_at(next_last_);
    next_last_ += std::uint64_t{1} << levels_.last_bits();
    return number;
  }
  auto const first = entries_.size();
  entries_.resize(first + kEntries);
  if (small) next_last_ = first + (std::uint64_t{1} << levels_.last_bits());
  return number_at(first);
}

void PageTable::map(std::uint64_t page, PhysAddr frame, unsigned size) {
  FF_CHECK(space_of(page) < spaces_, "a page table has no such address space");
  auto const last = levels_.level_of(size);
  FF_CHECK(last.has_value(), "no level of a page table maps this size");
  auto node = root_of(page);
  for (unsigned level = 0; level < *last; ++level) {
    auto const at = entry_of(node, level, page);
    if (entries_[at] == 0) {
      auto const below = new_node(level + 1);
      entries_[at] = below + 1;
    }
    FF_CHECK((entries_[at] & kLarge) == 0, "a page is mapped inside a large one");
    node = entries_[at] - 1;
  }
  auto& entry = entries_[entry_of(node, *last, page)];
  FF_CHECK(entry == 0 || is_leaf(entry, *last), "a large page is mapped in the place of smaller ones");
  if (entry == 0) mapped_ += std::uint64_t{1} << size;
  entry = size == 0 ? frame + 1 : kLarge | frame >> 1U;
}

bool PageTable::takes(std::uint64_t page, unsigned size) const {
  auto node = root_of(page);
  for (unsigned level = 0;; ++level) {
    auto const entry = entries_[entry_of(node, level, page)];
    bool const its_level = levels_.size_at(level) == size;
    if (entry == 0 || its_level) return entry == 0 || is_leaf(entry, level);
    if (is_leaf(entry, level)) return false;
    node = entry - 1;
  }
}

bool PageTable::unmap(std::uint64_t page) {
  auto node = root_of(page);
  for (unsigned level = 0;; ++level) {
    auto& entry = entries_[entry_of(node, level, page)];
    if (entry == 0) return false;
    if (is_leaf(entry, level)) {
      entry = 0;
      mapped_ -= std::uint64_t{1} << levels_.size_at(level);
      return true;
    }
    node = entry - 1;
  }
}

std::optional<PageTranslation> PageTable::find(std::uint64_t page) const {
  auto node = root_of(page);
  for (unsigned level = 0;; ++level) {
    auto const s = step(node, level, page);
    if (!s.present) return std::nullopt;
    if (s.leaf) return PageTranslation{s.next, s.size};
    node = s.next;
  }
}

PageTable::Step PageTable::step(std::uint64_t node, unsigned level, std::uint64_t page) const {
  FF_INVARIANT(level < levels_.count() && entry_of(node, level, page) < entries_.size(),
               "a page walk left its table");
  auto const at = entry_of(node, level, page);
  auto const entry = entries_[at];
  auto const address = base_ + at * kEntryBytes;
  auto const last = levels_.is_last(level);
  if ((entry & kLarge) != 0 && !last) {
    auto const large = leaf(entry, level);
    return {address, true, true, large.size, large.frame};
  }
  return {address, entry != 0, last, 0, entry == 0 ? 0 : entry - 1};
}

}  // namespace farfault
