// SPDX-License-Identifier: Apache-2.0
#include "farfault/translation/page_table.hpp"

#include <algorithm>

#include "farfault/engine/error.hpp"

namespace farfault {

PageTable::PageTable(PhysAddr base, unsigned page_bits, std::uint32_t spaces, NodePlaces const& places)
    : base_(base),
      levels_(page_bits),
      spaces_(spaces),
      nodes_(spaces),
      next_last_(places.parts),
      places_{places},
      entries_(std::uint64_t{spaces} << kIndexBits) {
  if (places.parts == 1) return;
  // The roots are at the start, in order.
  auto const roots = entries_.size();
  for (std::uint64_t part = 0; part < places.parts; ++part)
    next_.push_back(parts_of_entries().bytes_of(part, roots));
  for (std::uint64_t first = 0; first < roots; first += kEntries) blocks_.push_back(first);
}

// Appends a node and returns its number.
std::uint64_t PageTable::new_node(unsigned level, std::uint64_t part) {
  ++nodes_;
  bool const small = levels_.is_last(level) && levels_.last_bits() != kIndexBits;
  auto& next_last = next_last_[part];
  if (small && next_last % kEntries != 0) {
    auto const number = number_at(next_last);
    next_last += std::uint64_t{1} << levels_.last_bits();
    return number;
  }
  auto const first = new_block(part);
  if (small) next_last = first + (std::uint64_t{1} << levels_.last_bits());
  return number_at(first);
}

std::uint64_t PageTable::new_block(std::uint64_t part) {
  auto const first = entries_.size();
  entries_.resize(first + kEntries);
  if (places_->parts > 1) {
    blocks_.push_back(parts_of_entries().offset(static_cast<std::uint32_t>(part), next_[part]));
    next_[part] += kEntries;
  }
  return first;
}

void PageTable::map(std::uint64_t page, PhysAddr frame, unsigned size) {
  FF_CHECK(space_of(page) < spaces_, "the page table does not have this address space");
  auto const last = levels_.level_of(size);
  FF_CHECK(last.has_value(), "no level of the page table maps pages of this size");
  auto node = root_of(page);
  for (unsigned level = 0; level < *last; ++level) {
    auto const at = entry_of(node, level, page);
    if (entries_[at] == 0) {
      auto const below = new_node(level + 1, places_->parts == 1 ? 0 : places_->part_of(page, frame));
      entries_[at] = below + 1;
    }
    FF_CHECK((entries_[at] & kLarge) == 0, "page is already mapped by a large page");
    node = node_below(entries_[at]);
  }
  auto& entry = entries_[entry_of(node, *last, page)];
  FF_CHECK(entry == 0 || is_leaf(entry, *last), "large page overlaps smaller pages");
  if (size != 0) {
    if (entry == 0) mapped_ += std::uint64_t{1} << size;
    entry = kLarge | frame >> 1U;
    return;
  }
  FF_CHECK((frame & kBits) == 0, "frame is not aligned");
  bool const disabled = (entry & kDisabled) != 0;
  FF_CHECK(!disabled || (entry & ~kBits) == frame,
           "base page of a coalesced page is mapped to another frame");
  if (entry == 0 || (entry & kUnmapped) != 0) ++mapped_;
  entry = frame | kPresent | (disabled ? kDisabled : 0);
}

bool PageTable::takes(std::uint64_t page, unsigned size) const {
  auto node = root_of(page);
  for (unsigned level = 0;; ++level) {
    auto const entry = entries_[entry_of(node, level, page)];
    bool const its_level = levels_.size_at(level) == size;
    if (entry == 0 || its_level) return entry == 0 || is_leaf(entry, level);
    if (is_leaf(entry, level)) return false;
    node = node_below(entry);
  }
}

bool PageTable::unmap(std::uint64_t page) {
  auto node = root_of(page);
  for (unsigned level = 0;; ++level) {
    auto& entry = entries_[entry_of(node, level, page)];
    if (entry == 0) return false;
    if (is_leaf(entry, level)) {
      bool const base = levels_.is_last(level);
      if (base && (entry & kUnmapped) != 0) return false;
      entry = base && (entry & kDisabled) != 0 ? entry | kUnmapped : 0;
      mapped_ -= std::uint64_t{1} << levels_.size_at(level);
      return true;
    }
    node = node_below(entry);
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

std::optional<PageTranslation> PageTable::find_mapped(std::uint64_t page) const {
  auto node = root_of(page);
  for (unsigned level = 0;; ++level) {
    auto const entry = entries_[entry_of(node, level, page)];
    if (entry == 0) return std::nullopt;
    if (is_leaf(entry, level)) {
      if (levels_.is_last(level) && (entry & kUnmapped) != 0) return std::nullopt;
      return leaf(entry, level);
    }
    node = node_below(entry);
  }
}

std::uint64_t const* PageTable::entry_above(std::uint64_t page) const {
  auto node = root_of(page);
  for (unsigned level = 0;; ++level) {
    auto const& entry = entries_[entry_of(node, level, page)];
    if (entry == 0 || is_leaf(entry, level)) return nullptr;
    if (levels_.is_last(level + 1)) return &entry;
    node = node_below(entry);
  }
}

bool PageTable::is_coalesced(std::uint64_t page) const {
  auto const* above = entry_above(page);
  return above != nullptr && (*above & kCoalesced) != 0;
}

bool PageTable::can_coalesce(std::uint64_t page) const {
  auto const* above = entry_above(page);
  if (above == nullptr || (*above & kCoalesced) != 0) return false;
  auto const node = node_below(*above) << levels_.last_bits();
  auto const frame_bits = kVirtualBits - levels_.bits();
  auto const first = entries_[node];
  auto const pages = std::uint64_t{1} << levels_.last_bits();
  if (first == 0 || (offset_of(first & ~kBits & ~kReadOnly) & ((pages << frame_bits) - 1)) != 0) return false;
  for (std::uint64_t i = 1; i < pages; ++i)
    if (entries_[node + i] != first + (i << frame_bits)) return false;
  return true;
}

bool PageTable::is_full_on_one_device(std::uint64_t page) const {
  auto const* above = entry_above(page);
  if (above == nullptr || (*above & kCoalesced) != 0) return false;
  auto const node = node_below(*above) << levels_.last_bits();
  for (std::uint64_t i = 0; i < std::uint64_t{1} << levels_.last_bits(); ++i)
    if (entries_[node + i] == 0 || device_of(entries_[node + i]) != device_of(entries_[node])) return false;
  return true;
}

void PageTable::coalesce(std::uint64_t page) {
  FF_CHECK(can_coalesce(page), "base pages cannot be coalesced");
  auto* const above = entry_above(page);
  auto const node = node_below(*above) << levels_.last_bits();
  *above |= kCoalesced;
  for (std::uint64_t i = 0; i < std::uint64_t{1} << levels_.last_bits(); ++i) entries_[node + i] |= kDisabled;
}

PageTable::CoalescedEntries PageTable::coalesced_entries(std::uint64_t page) const {
  auto const* above = entry_above(page);
  FF_CHECK(above != nullptr, "the page table has no entries for this page");
  auto const node = node_below(*above) << levels_.last_bits();
  auto const at = static_cast<std::uint64_t>(above - entries_.data());
  return {address_of(at), address_of(node), static_cast<std::uint32_t>(kEntryBytes << levels_.last_bits())};
}

PageTable::Step PageTable::step(std::uint64_t node, unsigned level, std::uint64_t page) const {
  FF_INVARIANT(level < levels_.count() && entry_of(node, level, page) < entries_.size(),
               "page walk left its page table");
  auto const at = entry_of(node, level, page);
  auto const entry = entries_[at];
  auto const address = address_of(at);
  auto const last = levels_.is_last(level);
  if ((entry & kLarge) != 0 && !last) {
    auto const large = leaf(entry, level);
    return {.address = address,
            .present = true,
            .leaf = true,
            .size = large.size,
            .next = large.frame,
            .coalesced = false};
  }
  if (entry == 0)
    return {.address = address, .present = false, .leaf = last, .size = 0, .next = 0, .coalesced = false};
  if (!last)
    return {.address = address,
            .present = true,
            .leaf = false,
            .size = 0,
            .next = node_below(entry),
            .coalesced = (entry & kCoalesced) != 0};
  auto const frame = entry & ~kBits;
  if ((entry & kDisabled) == 0)
    return {.address = address, .present = true, .leaf = true, .size = 0, .next = frame, .coalesced = false};
  auto const offset = levels_.index(page, level) << (kVirtualBits - levels_.bits());
  return {.address = address,
          .present = true,
          .leaf = true,
          .size = static_cast<std::uint8_t>(levels_.last_bits()),
          .next = frame - offset,
          .coalesced = true};
}

}  // namespace farfault
