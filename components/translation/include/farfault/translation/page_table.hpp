// A radix page table with real node addresses, as a walker reads it: nodes of 512 entries of 8 bytes (x86-64
// and AMD GPUs; four levels for 4 KiB pages over 48 bits, one less for each factor of 512 of the page size).
//
// Nodes follow each other in the physical range that starts at `base`. The table is sparse: a node exists
// once a page below it was mapped. Level 0 is the root, of which each address space has its own: a page
// number names its space in the bits above those that the levels need. A leaf at the last level maps a base
// page, one at a level above a large page: 512 base pages, or 512 x 512, and so on. Pages do not overlap:
// where base pages were mapped once, their node stays, and no large page can take its place.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "farfault/protocols/messages.hpp"

namespace farfault {

class PageTable {
 public:
  static constexpr unsigned kIndexBits = 9;
  static constexpr std::uint64_t kNodeBytes = 4096;

  PageTable() = default;
  PageTable(PhysAddr base, unsigned page_bits, std::uint32_t spaces = 1)
      : base_(base),
        levels_((kVirtualBits - page_bits + kIndexBits - 1) / kIndexBits),
        spaces_(spaces),
        nodes_(spaces) {}

  // Moves the table to another physical range.
  void relocate(PhysAddr base) { base_ = base; }
  unsigned levels() const { return static_cast<unsigned>(levels_); }
  std::uint64_t nodes() const { return nodes_.size(); }
  std::uint64_t space_of(std::uint64_t page) const { return page >> (levels_ * kIndexBits); }
  // The node at which walks for the page begin.
  std::uint64_t root_of(std::uint64_t page) const { return space_of(page); }
  std::uint64_t mapped_pages() const { return mapped_; }  // in base pages

  // Maps the page of 2^size base pages that holds base page `page`, anew where it was mapped already. The
  // size is that of a level; the frame of a large page is aligned to it. Requires takes().
  void map(std::uint64_t page, PhysAddr frame, unsigned size = 0);
  // Whether a page of this size can be mapped there: no large page is around it, and no node below it.
  bool takes(std::uint64_t page, unsigned size) const;
  // Clears the entry of the page that holds base page `page`; false when there is none. Nodes stay.
  bool unmap(std::uint64_t page);
  // The page that holds base page `page`.
  std::optional<PageTranslation> find(std::uint64_t page) const;

  // What a walker finds in one entry.
  struct Step {
    PhysAddr address;    // of the entry
    bool present;        // false: the walk ends here, the page is not mapped
    bool leaf;           // the entry holds the frame
    std::uint8_t size;   // of the page that a leaf maps
    std::uint64_t next;  // the next node's number, or the frame of a leaf
  };
  Step step(std::uint64_t node, unsigned level, std::uint64_t page) const;

  // Calls f(page, translation) for every mapped page, with its first base page, in order of pages.
  template <class F>
  void each_page(F&& f) const {
    for (std::uint64_t space = 0; space < spaces_; ++space) each_below(space, 0, space, f);
  }

  auto members() { return std::tie(base_, levels_, spaces_, mapped_, nodes_); }

 private:
  // 0: not present; kLarge and half the frame: a large page; else node number or frame, plus one.
  using Node = std::array<std::uint64_t, 512>;
  static constexpr std::uint64_t kLarge = std::uint64_t{1} << 63;

  std::uint64_t index(std::uint64_t page, unsigned level) const { return (page >> size_at(level)) & 511; }
  // Of a page that a leaf at this level maps.
  unsigned size_at(unsigned level) const { return (levels() - 1 - level) * kIndexBits; }
  bool is_leaf(std::uint64_t entry, unsigned level) const {
    return level + 1 == levels_ || (entry & kLarge) != 0;
  }
  PageTranslation leaf(std::uint64_t entry, unsigned level) const {
    if (level + 1 == levels_) return {entry - 1, 0};
    return {entry << 1U, static_cast<std::uint8_t>(size_at(level))};
  }

  template <class F>
  void each_below(std::uint64_t node, unsigned level, std::uint64_t prefix, F& f) const {
    for (std::uint64_t i = 0; i < nodes_[node].size(); ++i) {
      auto const entry = nodes_[node][i];
      if (entry == 0) continue;
      auto const page = prefix << kIndexBits | i;
      if (is_leaf(entry, level))
        f(page << size_at(level), leaf(entry, level));
      else
        each_below(entry - 1, level + 1, page, f);
    }
  }

  PhysAddr base_ = 0;
  std::uint64_t levels_ = 4;
  std::uint64_t spaces_ = 0;
  std::uint64_t mapped_ = 0;
  std::vector<Node> nodes_;
};

}  // namespace farfault
