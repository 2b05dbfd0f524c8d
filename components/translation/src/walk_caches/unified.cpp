// SPDX-License-Identifier: Apache-2.0
// Unified translation cache of Barr et al., ISCA 2010.
#include <vector>

#include "farfault/translation/walk_cache.hpp"

namespace farfault::walk_caches {
namespace {

class Unified final : public WalkCache {
 public:
  explicit Unified(Setup const& s)
      : array_(s.entries == 0 ? 0 : 1, s.entries, s.replacement), nodes_(s.entries) {}

  Start start(std::uint64_t page, PageLevels const& levels) override {
    if (!nodes_.empty())
      for (unsigned level = levels.count() - 1; level > 0; --level)
        if (auto const slot = array_.find(0, key(page, level, levels))) return {nodes_[*slot], level};
    return {0, 0};
  }
  void remember(std::uint64_t page, unsigned level, PageLevels const& levels, std::uint64_t node) override {
    if (nodes_.empty()) return;
    nodes_[array_.put(0, key(page, level, levels))] = node;
  }
  std::span<SetAssociative const> arrays() const override { return {&array_, 1}; }

  auto members() { return std::tie(array_, nodes_); }

 private:
  // Part of the page number that leads to the node, and the level; a table has fewer than 8 levels.
  static std::uint64_t key(std::uint64_t page, unsigned level, PageLevels const& levels) {
    return levels.path_to(page, level) << 3 | level;
  }

  SetAssociative array_;
  std::vector<std::uint64_t> nodes_;  // by slot
};

}  // namespace

void unified(PolicyList<WalkCache>& list) {
  list.add<Unified>(
      "unified",
      "one fully associative array for all levels; a walk starts at the deepest entry cached on its path");
}

}  // namespace farfault::walk_caches
