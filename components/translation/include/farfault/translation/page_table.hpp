// SPDX-License-Identifier: Apache-2.0
// A radix page table with real node addresses, as a walker reads it: entries of 8 bytes in nodes of 512
// (x86-64 and AMD GPUs; four levels for 4 KiB pages over 48 bits, one less for each factor of 512 of the page
// size). What is left of a page number below whole nodes is the last level's: of 64 KiB pages it has nodes of
// 32 entries, 2 MiB of address space, so that the levels above are those of 4 KiB pages, and a large page of
// 2 MiB is a leaf one level up. These are NVIDIA's big pages: Linux driver (open-gpu-kernel-modules),
// uvm_pascal_mmu.c, page directory 0 of 2 MiB an entry, below it a page table of 256 bytes.
//
// Nodes follow each other in the physical range that starts at `base`, each aligned to its size: small ones
// side by side, as the driver packs them, else only one in sixteen of a node's places would hold entries, and
// a few of the slices of a cache have all of them. The table is sparse: a node exists
// once a page below it was mapped. Level 0 is the root, of which each address space has its own: a page
// number names its space in the bits above those that the levels need. A leaf at the last level maps a base
// page, one at a level above a large page: as many base pages as a last node has entries, or 512 times as
// many, and so on. Pages do not overlap: where base pages were mapped once, their node stays, and no large
// page can take its place.
//
// The base pages of one last node can be coalesced into a large page where they are (Mosaic, MICRO 2017,
// sections 4.3 and 4.4, Fig. 7): the entry above their node says so by its large-page bit, and each of their
// own entries by its disabled bit. Their frames are those of the large page, so a walk takes the large page's
// frame from the node's first entry. Splintering clears the bits. A base page that is unmapped while it is
// coalesced keeps its frame until then: it is part of the large page.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "farfault/engine/error.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

// The levels of a table of pages of 2^page_bits bytes over an address space.
class PageLevels {
 public:
  static constexpr unsigned kIndexBits = 9;

  PageLevels() = default;
  constexpr explicit PageLevels(unsigned page_bits)
      : count_((kVirtualBits - page_bits + kIndexBits - 1) / kIndexBits),
        last_bits_(kVirtualBits - page_bits - (count_ - 1) * kIndexBits) {}

  constexpr unsigned count() const { return static_cast<unsigned>(count_); }
  // log2 of the base pages of an address space.
  constexpr unsigned bits() const { return static_cast<unsigned>((count_ - 1) * kIndexBits + last_bits_); }
  constexpr bool is_last(unsigned level) const { return level + 1 == count_; }
  // log2 of a node's entries at the last level; those above have 512.
  constexpr unsigned last_bits() const { return static_cast<unsigned>(last_bits_); }
  // log2 of the base pages that an entry at this level covers: the size of the page that a leaf there maps.
  constexpr unsigned size_at(unsigned level) const {
    return is_last(level) ? 0 : last_bits() + (count() - 2 - level) * kIndexBits;
  }
  // At which leaves map pages of this size, if there is one.
  constexpr std::optional<unsigned> level_of(unsigned size) const {
    for (unsigned level = 0; level < count(); ++level)
      if (size_at(level) == size) return level;
    return std::nullopt;
  }
  // Of the page's entry in its node at this level.
  constexpr std::uint64_t index(std::uint64_t page, unsigned level) const {
    auto const bits = is_last(level) ? last_bits() : kIndexBits;
    return page >> size_at(level) & ((std::uint64_t{1} << bits) - 1);
  }
  // What names the node on the page's path at this level among those of the level: the address space, and
  // the indices above.
  constexpr std::uint64_t path_to(std::uint64_t page, unsigned level) const {
    return level == 0 ? page >> size_at(0) >> kIndexBits : page >> size_at(level - 1);
  }

  auto members() { return std::tie(count_, last_bits_); }

 private:
  std::uint64_t count_ = 4;
  std::uint64_t last_bits_ = kIndexBits;
};

class PageTable {
 public:
  static constexpr std::uint64_t kNodeBytes = 4096;  // of the levels above the last one

  PageTable() = default;
  PageTable(PhysAddr base, unsigned page_bits, std::uint32_t spaces = 1)
      : base_(base),
        levels_(page_bits),
        spaces_(spaces),
        nodes_(spaces),
        entries_(std::uint64_t{spaces} << PageLevels::kIndexBits) {}

  // Moves the table to another physical range.
  void relocate(PhysAddr base) { base_ = base; }
  PageLevels const& levels() const { return levels_; }
  std::uint64_t nodes() const { return nodes_; }
  std::uint64_t bytes() const { return entries_.size() * kEntryBytes; }  // from the base
  std::uint64_t space_of(std::uint64_t page) const { return levels_.path_to(page, 0); }
  // The node at which walks for the page begin.
  std::uint64_t root_of(std::uint64_t page) const { return number_at(space_of(page) << kIndexBits); }
  std::uint64_t mapped_pages() const { return mapped_; }  // in base pages

  // Maps the page of 2^size base pages that holds base page `page`, anew where it was mapped already. The
  // size is that of a level; the frame of a large page is aligned to it, and any frame to 8. Requires
  // takes().
  void map(std::uint64_t page, PhysAddr frame, unsigned size = 0);
  // Whether a page of this size can be mapped there: no large page is around it, and no node below it.
  bool takes(std::uint64_t page, unsigned size) const;
  // Clears the entry of the page that holds base page `page`, or, where that is coalesced, says that it is
  // unmapped; false when there is none. Nodes stay.
  bool unmap(std::uint64_t page);
  // The page that holds base page `page`, as a walk finds it: the large one, where it is coalesced.
  std::optional<PageTranslation> find(std::uint64_t page) const;
  // The same but for coalesced pages: base page `page` by itself.
  std::optional<PageTranslation> find_mapped(std::uint64_t page) const;

  // log2 of the base pages that are coalesced together: of a last node.
  unsigned coalesced_size() const { return levels_.last_bits(); }
  bool is_coalesced(std::uint64_t page) const;
  // Whether the base pages around `page` can be: all are mapped, by base pages, to frames side by side, of
  // which the first is aligned to the large page, and that can all be written or only be read.
  bool can_coalesce(std::uint64_t page) const;
  // Whether the base pages around `page` are all mapped, as such, to whatever frames of one device.
  bool is_full_on_one_device(std::uint64_t page) const;
  // Requires can_coalesce().
  void coalesce(std::uint64_t page);
  // Requires is_coalesced(). Calls unmapped(base page, frame) for those that were unmapped meanwhile.
  template <class F>
  void splinter(std::uint64_t page, F&& unmapped) {
    auto const first = page >> coalesced_size() << coalesced_size();
    auto* const entry = entry_above(page);
    FF_CHECK(entry != nullptr && (*entry & kCoalesced) != 0, "a page is splintered that is not coalesced");
    *entry &= ~kCoalesced;
    for (std::uint64_t i = 0; i < std::uint64_t{1} << levels_.last_bits(); ++i) {
      auto& below = entries_[((*entry - 1) << levels_.last_bits()) + i];
      auto const frame = below & ~kBits;
      bool const was_unmapped = (below & kUnmapped) != 0;
      below = was_unmapped ? 0 : frame | kPresent;
      if (was_unmapped) unmapped(first + i, frame);
    }
  }
  void splinter(std::uint64_t page) {
    splinter(page, [](std::uint64_t, PhysAddr) {});
  }
  // Where the entries are that coalescing writes: the one above the node, and the node's first one.
  struct CoalescedEntries {
    PhysAddr above;
    PhysAddr first;
    std::uint32_t bytes;  // of the node
  };
  CoalescedEntries coalesced_entries(std::uint64_t page) const;

  // What a walker finds in one entry.
  struct Step {
    PhysAddr address;    // of the entry
    bool present;        // false: the walk ends here, the page is not mapped
    bool leaf;           // the entry holds the frame
    std::uint8_t size;   // of the page that a leaf maps; of one that is coalesced the large page
    std::uint64_t next;  // the next node's number, or the frame of a leaf
    bool coalesced;      // the entry has the large-page bit: the next one to read is the node's first
  };
  Step step(std::uint64_t node, unsigned level, std::uint64_t page) const;

  // Calls f(page, translation) for every mapped page, with its first base page, in order of pages; of those
  // that are coalesced for each base page.
  template <class F>
  void each_page(F&& f) const {
    for (std::uint64_t space = 0; space < spaces_; ++space)
      each_below(number_at(space << kIndexBits), 0, space, f);
  }

  auto members() { return std::tie(base_, levels_, spaces_, mapped_, nodes_, next_last_, entries_); }

 private:
  static constexpr unsigned kIndexBits = PageLevels::kIndexBits;
  static constexpr std::uint64_t kEntryBytes = 8;
  // Of an entry above the last level. 0: not present; kLarge and half the frame: a large page; else a node's
  // number plus one, and whether its pages are coalesced.
  static constexpr std::uint64_t kLarge = std::uint64_t{1} << 63;
  static constexpr std::uint64_t kCoalesced = std::uint64_t{1} << 62;
  // Of one at the last level: bits below those of a frame. Those of a page that is coalesced: disabled, and
  // whether it has been unmapped since.
  static constexpr std::uint64_t kPresent = 1;
  static constexpr std::uint64_t kDisabled = 2;
  static constexpr std::uint64_t kUnmapped = 4;
  static constexpr std::uint64_t kBits = kPresent | kDisabled | kUnmapped;

  // A node's number is its place, counted in nodes of the last level.
  std::uint64_t number_at(std::uint64_t entry) const { return entry >> levels_.last_bits(); }
  std::uint64_t entry_of(std::uint64_t node, unsigned level, std::uint64_t page) const {
    return (node << levels_.last_bits()) + levels_.index(page, level);
  }
  std::uint64_t new_node(unsigned level);
  bool is_leaf(std::uint64_t entry, unsigned level) const {
    return levels_.is_last(level) || (entry & kLarge) != 0;
  }
  PageTranslation leaf(std::uint64_t entry, unsigned level) const {
    if (levels_.is_last(level)) return {entry & ~kBits, 0};
    return {entry << 1U, static_cast<std::uint8_t>(levels_.size_at(level))};
  }
  static std::uint64_t node_below(std::uint64_t entry) { return (entry & ~kCoalesced) - 1; }
  // The entry above the last node on the page's path; null where there is no node.
  std::uint64_t const* entry_above(std::uint64_t page) const;
  std::uint64_t* entry_above(std::uint64_t page) {
    return const_cast<std::uint64_t*>(std::as_const(*this).entry_above(page));
  }

  template <class F>
  void each_below(std::uint64_t node, unsigned level, std::uint64_t path, F& f) const {
    auto const bits = levels_.is_last(level) ? levels_.last_bits() : kIndexBits;
    for (std::uint64_t i = 0; i < std::uint64_t{1} << bits; ++i) {
      auto const entry = entries_[(node << levels_.last_bits()) + i];
      if (entry == 0 || (levels_.is_last(level) && (entry & kUnmapped) != 0)) continue;
      auto const below = path << bits | i;
      if (is_leaf(entry, level))
        f(below << levels_.size_at(level), leaf(entry, level));
      else
        each_below(node_below(entry), level + 1, below, f);
    }
  }

  PhysAddr base_ = 0;
  PageLevels levels_;
  std::uint64_t spaces_ = 0;
  std::uint64_t mapped_ = 0;
  std::uint64_t nodes_ = 0;
  std::uint64_t next_last_ =
      0;  // where the next small node goes, among entries; none at a node's first place
  std::vector<std::uint64_t> entries_;
};

}  // namespace farfault
