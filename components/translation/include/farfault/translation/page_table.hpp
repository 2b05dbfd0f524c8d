// SPDX-License-Identifier: Apache-2.0
// Radix page table with physical node addresses, as a page walker reads it: entries of 8 bytes, nodes of 512
// entries (x86-64 and AMD GPUs). Each address space has its own root.
//
// - Four levels for 4 KiB pages over 48 bits, one level less for each factor of 512 of the page size. Level 0
//   is the root.
// - A leaf at the last level maps a base page; one at a level above maps a large page of as many base pages
//   as a last node has entries, 512 times as many, and so on. Pages do not overlap: no large page can replace
//   a node.
// - Nodes are allocated in order in the physical range that starts at `base`, each aligned to its size; with
//   parts of the memory (NodePlaces), in order within the part of each node. The table is sparse: a node
//   exists once a page below it was mapped, and is never removed.
// - Coalescing in place: Mosaic (MICRO 2017), sections 4.3 and 4.4, Fig. 7.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "farfault/engine/archive.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/parts/address_map.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

// Levels of a table of pages of 2^page_bits bytes over an address space.
// Nodes of the last level take the bits that remain: for 64 KiB pages they have 32 entries, 2 MiB of address
// space, so that the levels above equal the levels of 4 KiB pages, and a 2 MiB large page is a leaf one level
// up. These are NVIDIA's big pages: Linux driver (open-gpu-kernel-modules), uvm_pascal_mmu.c, page directory
// 0 with 2 MiB per entry and page tables of 256 bytes.
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
  // log2 of the entries of a last-level node; nodes above have 512.
  constexpr unsigned last_bits() const { return static_cast<unsigned>(last_bits_); }
  // log2 of the base pages that an entry at this level covers: the size of the page that a leaf there maps.
  constexpr unsigned size_at(unsigned level) const {
    return is_last(level) ? 0 : last_bits() + (count() - 2 - level) * kIndexBits;
  }
  // Level at which leaves map pages of this size, if any.
  constexpr std::optional<unsigned> level_of(unsigned size) const {
    for (unsigned level = 0; level < count(); ++level)
      if (size_at(level) == size) return level;
    return std::nullopt;
  }
  // Index of the page's entry in its node at this level.
  constexpr std::uint64_t index(std::uint64_t page, unsigned level) const {
    auto const bits = is_last(level) ? last_bits() : kIndexBits;
    return page >> size_at(level) & ((std::uint64_t{1} << bits) - 1);
  }
  // Identifies the node on the page's path among the nodes of this level: the address space and the indices
  // above.
  constexpr std::uint64_t path_to(std::uint64_t page, unsigned level) const {
    return level == 0 ? page >> size_at(0) >> kIndexBits : page >> size_at(level - 1);
  }

  auto members() { return std::tie(count_, last_bits_); }

 private:
  std::uint64_t count_ = 4;
  std::uint64_t last_bits_ = kIndexBits;
};

// The parts of the memory (address_map.hpp) that a table is distributed over, and the part of a node, from
// the page whose mapping creates it: that of the frame, or that of its bank of TLBs.
struct NodePlaces {
  std::uint64_t parts = 1;     // 1: nodes are allocated in order
  std::uint64_t block = 4096;  // bytes, a multiple of PageTable::kNodeBytes; `base` is a multiple of both
  bool with_frame = false;
  std::uint64_t banks = 1;  // a multiple of the parts: blocks of `pages` pages take turns over them
  std::uint64_t pages = 1;

  std::uint64_t part_of(std::uint64_t page, PhysAddr frame) const {
    return with_frame ? offset_of(frame) / block % parts : page / pages % banks * parts / banks;
  }
};

class PageTable {
 public:
  static constexpr std::uint64_t kNodeBytes = 4096;  // of the levels above the last one

  PageTable() = default;
  PageTable(PhysAddr base, unsigned page_bits, std::uint32_t spaces = 1, NodePlaces const& places = {});

  // Moves the table to another physical range.
  void relocate(PhysAddr base) { base_ = base; }
  PageLevels const& levels() const { return levels_; }
  std::uint64_t nodes() const { return nodes_; }
  std::uint64_t bytes() const { return entries_.size() * kEntryBytes; }  // of all nodes
  // Address space: the bits of a page number above the indices of all levels.
  std::uint64_t space_of(std::uint64_t page) const { return levels_.path_to(page, 0); }
  // Node at which walks for the page begin.
  std::uint64_t root_of(std::uint64_t page) const { return number_at(space_of(page) << kIndexBits); }
  std::uint64_t mapped_pages() const { return mapped_; }  // in base pages

  // Maps or remaps the page of 2^size base pages that holds base page `page`. Some level must map this size.
  // The frame of a large page is aligned to its size, any other frame to 8 bytes. Requires takes().
  void map(std::uint64_t page, PhysAddr frame, unsigned size = 0);
  // True if a page of this size can be mapped there: no large page contains it, and no node exists below it.
  bool takes(std::uint64_t page, unsigned size) const;
  // Unmaps the page that holds base page `page`: clears its entry or, if it is coalesced, marks it as
  // unmapped; it then keeps its frame, as part of the large page, until it is splintered. False if no page is
  // mapped there. Nodes remain.
  bool unmap(std::uint64_t page);
  // Page that holds base page `page`, as a walk finds it: the large page, if it is coalesced.
  std::optional<PageTranslation> find(std::uint64_t page) const;
  // Like find(), but returns base page `page` itself if it is coalesced.
  std::optional<PageTranslation> find_mapped(std::uint64_t page) const;

  // log2 of the base pages that are coalesced together: the entries of a last-level node.
  unsigned coalesced_size() const { return levels_.last_bits(); }
  bool is_coalesced(std::uint64_t page) const;
  // True if the base pages around `page` can be coalesced: all are mapped as base pages, to contiguous frames
  // aligned to the large page, and all are writable or all are read-only.
  bool can_coalesce(std::uint64_t page) const;
  // True if the base pages around `page` are all mapped, not coalesced, and in frames of one device.
  bool is_full_on_one_device(std::uint64_t page) const;
  // The base pages of one last node become a large page in place, with the large-page bit in the entry above
  // the node and the disabled bit in each base entry. A walk takes the large page's frame from the node's
  // first entry. Requires can_coalesce().
  void coalesce(std::uint64_t page);
  // Clears these bits. Requires is_coalesced(). Calls unmapped(base page, frame) for base pages that were
  // unmapped while coalesced.
  template <class F>
  void splinter(std::uint64_t page, F&& unmapped) {
    auto const first = page >> coalesced_size() << coalesced_size();
    auto* const entry = entry_above(page);
    FF_CHECK(entry != nullptr && (*entry & kCoalesced) != 0, "splintered page is not coalesced");
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
  // Entries that coalescing writes: the one above the node, and the first one of the node.
  struct CoalescedEntries {
    PhysAddr above;
    PhysAddr first;
    std::uint32_t bytes;  // of the node
  };
  CoalescedEntries coalesced_entries(std::uint64_t page) const;

  // Result of reading one entry.
  struct Step {
    PhysAddr address;    // of the entry
    bool present;        // false: the walk ends here, the page is unmapped
    bool leaf;           // the entry has the frame
    std::uint8_t size;   // of the page that a leaf maps; if it is coalesced, of the large page
    std::uint64_t next;  // number of the next node, or the frame of a leaf
    bool coalesced;      // large-page bit is set: next, read the first entry of the node
  };
  Step step(std::uint64_t node, unsigned level, std::uint64_t page) const;

  // Calls f(page, translation) for every mapped page, with its first base page, in order of pages. Coalesced
  // pages are reported as base pages.
  template <class F>
  void each_page(F&& f) const {
    for (std::uint64_t space = 0; space < spaces_; ++space)
      each_below(number_at(space << kIndexBits), 0, space, f);
  }

  auto members() {
    return std::tie(base_, levels_, spaces_, mapped_, nodes_, next_last_, places_, next_, blocks_, entries_);
  }

 private:
  static constexpr unsigned kIndexBits = PageLevels::kIndexBits;
  static constexpr std::uint64_t kEntryBytes = 8;
  static constexpr std::uint64_t kEntries = std::uint64_t{1} << kIndexBits;  // of a node above the last level
  // Entry above the last level. 0: not present; kLarge and half of the frame: a large page; otherwise the
  // number of a node plus one, with kCoalesced if its pages are coalesced.
  static constexpr std::uint64_t kLarge = std::uint64_t{1} << 63;
  static constexpr std::uint64_t kCoalesced = std::uint64_t{1} << 62;
  // Entry of the last level: bits that a frame does not use. For coalesced pages: disabled; unmapped while
  // coalesced.
  static constexpr std::uint64_t kPresent = 1;
  static constexpr std::uint64_t kDisabled = 2;
  static constexpr std::uint64_t kUnmapped = 4;
  static constexpr std::uint64_t kBits = kPresent | kDisabled | kUnmapped;

  // Number of a node: its position, in units of last-level nodes.
  std::uint64_t number_at(std::uint64_t entry) const { return entry >> levels_.last_bits(); }
  std::uint64_t entry_of(std::uint64_t node, unsigned level, std::uint64_t page) const {
    return (node << levels_.last_bits()) + levels_.index(page, level);
  }
  // Small nodes are packed, as NVIDIA's driver does; otherwise only 1/16 of the memory would hold entries,
  // and these would map to a few cache slices only.
  std::uint64_t new_node(unsigned level, std::uint64_t part);
  // Parts of the memory, in entries.
  MemoryParts parts_of_entries() const {
    return {static_cast<std::uint32_t>(places_->parts), places_->block / kEntryBytes};
  }
  std::uint64_t new_block(std::uint64_t part);  // first entry of a node of the levels above the last
  PhysAddr address_of(std::uint64_t entry) const {
    auto const at = blocks_.empty() ? entry : blocks_[entry / kEntries] + entry % kEntries;
    return base_ + at * kEntryBytes;
  }
  bool is_leaf(std::uint64_t entry, unsigned level) const {
    return levels_.is_last(level) || (entry & kLarge) != 0;
  }
  PageTranslation leaf(std::uint64_t entry, unsigned level) const {
    if (levels_.is_last(level)) return {entry & ~kBits, 0};
    return {entry << 1U, static_cast<std::uint8_t>(levels_.size_at(level))};
  }
  static std::uint64_t node_below(std::uint64_t entry) { return (entry & ~kCoalesced) - 1; }
  // Entry above the last node on the page's path; null if that node does not exist.
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
  // By part: entry index of the next small node; 0 modulo 512: allocate a new block.
  std::vector<std::uint64_t> next_last_;
  Fixed<NodePlaces> places_;
  // If there are several parts: by part, the entries allocated there; by block of 512 entries, its place in
  // the memory, as the number of an entry.
  std::vector<std::uint64_t> next_;
  std::vector<std::uint64_t> blocks_;
  std::vector<std::uint64_t> entries_;
};

}  // namespace farfault
