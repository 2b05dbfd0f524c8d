// SPDX-License-Identifier: Apache-2.0
// A page-walk cache: the nodes of a page table that recent walks went through, so that a walk can start below
// the root (Barr et al., "Translation Caching: Skip, Don't Walk (the Page Table)", ISCA 2010).
//
// Contract. start() is called once for each walk that reads page-table entries, in a table of these
// `levels`, of which level 0 is the root; it returns a node on the page's path that was remembered, or level
// 0 (the node means nothing then). remember() is called for each node below the root that a walk reaches.
// Nodes of a table are never taken away, so that nothing has to be forgotten. Of no entries every walk starts
// at the root. What a walk costs is the reads that are left; the cache itself takes no time.
#pragma once

#include <cstdint>
#include <string_view>

#include "farfault/engine/policy.hpp"
#include "farfault/parts/set_associative.hpp"
#include "farfault/translation/page_table.hpp"

namespace farfault {

class WalkCache : public HasArrays {
 public:
  using Interface = WalkCache;
  struct Setup {
    std::uint32_t entries;
    PolicyChoice<Replacement> const& replacement;  // for its arrays
  };
  static PolicyList<WalkCache> known();

  struct Start {
    std::uint64_t node;
    unsigned level;
  };
  virtual Start start(std::uint64_t page, PageLevels const& levels) = 0;
  virtual void remember(std::uint64_t page, unsigned level, PageLevels const& levels, std::uint64_t node) = 0;
};

// What is chosen of a page-walk cache, in the section of its owner, whose `walk_cache` says the entries.
struct WalkCachePolicies {
  PolicyChoice<WalkCache> organization{"unified"};
  PolicyChoice<Replacement> replacement{"lru"};

  void describe(ParamTable& t) {
    organization.describe(t, "walk_cache_organization", "how the page-walk cache is organized",
                          "assumed; Barr et al., ISCA 2010: unified translation cache", "walk_cache_");
    replacement.describe(t, "walk_cache_replacement",
                         "which node of the page-walk cache gives way to another", "assumed", "walk_cache_");
  }
  Policy<WalkCache> make(std::uint32_t entries) const { return organization.make({entries, replacement}); }
};

extern template class PolicyChoice<WalkCache>;

}  // namespace farfault
