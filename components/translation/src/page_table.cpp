#include "farfault/translation/page_table.hpp"

#include "farfault/engine/error.hpp"

namespace farfault {

void PageTable::map(std::uint64_t page, PhysAddr frame) {
  std::uint64_t node = 0;
  for (unsigned level = 0; level + 1 < levels_; ++level) {
    auto const i = index(page, level);
    if (nodes_[node][i] == 0) {
      nodes_.emplace_back();
      nodes_[node][i] = nodes_.size();  // the new node's number, plus one
    }
    node = nodes_[node][i] - 1;
  }
  auto& entry = nodes_[node][index(page, levels() - 1)];
  if (entry == 0) ++mapped_;
  entry = frame + 1;
}

bool PageTable::unmap(std::uint64_t page) {
  std::uint64_t node = 0;
  for (unsigned level = 0; level + 1 < levels_; ++level) {
    auto const entry = nodes_[node][index(page, level)];
    if (entry == 0) return false;
    node = entry - 1;
  }
  auto& entry = nodes_[node][index(page, levels() - 1)];
  if (entry == 0) return false;
  entry = 0;
  --mapped_;
  return true;
}

std::optional<PhysAddr> PageTable::find(std::uint64_t page) const {
  std::uint64_t node = 0;
  for (unsigned level = 0;; ++level) {
    auto const s = step(node, level, page);
    if (!s.present) return std::nullopt;
    if (s.leaf) return s.next;
    node = s.next;
  }
}

PageTable::Step PageTable::step(std::uint64_t node, unsigned level, std::uint64_t page) const {
  FF_INVARIANT(node < nodes_.size() && level < levels_, "a page walk left its table");
  auto const i = index(page, level);
  auto const entry = nodes_[node][i];
  return {base_ + node * kNodeBytes + i * 8, entry != 0, level + 1 == levels_, entry == 0 ? 0 : entry - 1};
}

}  // namespace farfault
