// SPDX-License-Identifier: Apache-2.0
// Walk cache: page-table nodes of recent walks, so that a walk can start below the root. Source: Barr et al.,
// "Translation Caching: Skip, Don't Walk (the Page Table)", ISCA 2010.
//
// - start() is called once for each walk that reads page-table entries, in a table of these `levels`, with
//   the root at level 0. It returns a cached node on the page's path, or level 0 and an undefined node.
// - remember() is called for each node below the root that a walk reaches.
// - Nodes of a table are never removed, so nothing is invalidated. With 0 entries every walk starts at the
//   root.
// - A walk costs its remaining reads; the cache itself takes no time.
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

// Choices of policies of a walk cache, in the section of its owner, whose `walk_cache` sets the entries.
struct WalkCachePolicies {
  PolicyChoice<WalkCache> organization{"unified"};
  PolicyChoice<Replacement> replacement{"lru"};

  // Next to the parameters walk_cache, its entries, and walk_latency, which is not 0 if walks read nothing.
  void describe(ParamTable& t) {
    auto const if_reads = t.only_when(sibling("walk_latency").is(0));
    auto const if_present = t.only_when(sibling("walk_cache").is_above(0));
    organization.describe(t, "walk_cache_organization", "Organization of the walk cache",
                          "assumed; Barr et al., ISCA 2010: unified translation cache", "walk_cache_");
    replacement.describe(t, "walk_cache_replacement", "Replacement policy of the walk cache", "assumed",
                         "walk_cache_");
  }
  Policy<WalkCache> make(std::uint32_t entries) const { return organization.make({entries, replacement}); }
};

extern template class PolicyChoice<WalkCache>;

}  // namespace farfault
