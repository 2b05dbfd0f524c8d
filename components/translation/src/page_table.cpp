#include "farfault/translation/page_table.hpp"

#include "farfault/engine/error.hpp"

namespace farfault {

void PageTable::map(std::uint64_t page, PhysAddr frame, unsigned size) {
  FF_CHECK(space_of(page) < spaces_, "a page table has no such address space");
  FF_CHECK(size % kIndexBits == 0 && size / kIndexBits < levels_, "no level of a page table maps this size");
  auto const last = levels() - 1 - size / kIndexBits;
  auto node = root_of(page);
  for (unsigned level = 0; level < last; ++level) {
    auto const i = index(page, level);
    if (nodes_[node][i] == 0) {
      nodes_.emplace_back();
      nodes_[node][i] = nodes_.size();  // the new node's number, plus one
    }
    FF_CHECK((nodes_[node][i] & kLarge) == 0, "a page is mapped inside a large one");
    node = nodes_[node][i] - 1;
  }
  auto& entry = nodes_[node][index(page, last)];
  FF_CHECK(entry == 0 || is_leaf(entry, last), "a large page is mapped in the place of smaller ones");
  if (entry == 0) mapped_ += std::uint64_t{1} << size;
  entry = size == 0 ? frame + 1 : kLarge | frame >> 1U;
}

bool PageTable::takes(std::uint64_t page, unsigned size) const {
  auto node = root_of(page);
  for (unsigned level = 0;; ++level) {
    auto const entry = nodes_[node][index(page, level)];
    bool const its_level = size_at(level) == size;
    if (entry == 0 || its_level) return entry == 0 || is_leaf(entry, level);
    if (is_leaf(entry, level)) return false;
    node = entry - 1;
  }
}

bool PageTable::unmap(std::uint64_t page) {
  auto node = root_of(page);
  for (unsigned level = 0;; ++level) {
    auto& entry = nodes_[node][index(page, level)];
    if (entry == 0) return false;
    if (is_leaf(entry, level)) {
      entry = 0;
      mapped_ -= std::uint64_t{1} << size_at(level);
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
  FF_INVARIANT(node < nodes_.size() && level < levels_, "a page walk left its table");
  auto const i = index(page, level);
  auto const entry = nodes_[node][i];
  auto const address = base_ + node * kNodeBytes + i * 8;
  if ((entry & kLarge) != 0 && level + 1 != levels_) {
    auto const large = leaf(entry, level);
    return {address, true, true, large.size, large.frame};
  }
  return {address, entry != 0, level + 1 == levels_, 0, entry == 0 ? 0 : entry - 1};
}

}  // namespace farfault
