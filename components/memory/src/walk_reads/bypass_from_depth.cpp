// SPDX-License-Identifier: Apache-2.0
// Reads from a given depth of the page table on bypass the cache, regardless of their hit rate: the static
// scheme that MASK (ASPLOS 2018, section 5.3) rejects.
#include <array>

#include "farfault/memory/walk_reads.hpp"

namespace farfault::walk_reads {
namespace {

class BypassFromDepth final : public WalkReads {
 public:
  struct Params {
    std::uint32_t depth = 4;
    void describe(ParamTable& t) {
      t.count("depth", depth, {1, kDepths - 1},
              "First depth of the page table whose page-walk reads bypass the cache. 1: the root",
              "assumed: the last of four levels; MASK (ASPLOS 2018, section 4.3) measured 1% hits there");
    }
  };

  static constexpr Facts facts() { return {.may_bypass = true}; }

  BypassFromDepth(Params const& p, Setup const& s) : depth_{p.depth} {
    if (p.depth > s.levels)
      throw UserError("depth = " + std::to_string(p.depth) + " must be at most " + std::to_string(s.levels) +
                      ", the levels of a page table");
  }

  bool bypasses(std::uint32_t depth, std::uint64_t, Time) override { return depth >= depth_.value; }
  void bypassed(Time) override { ++bypassed_; }
  void looked_up(std::uint32_t, bool, Time) override {}

  auto members() { return std::tie(depth_, bypassed_); }
  static auto stats() {
    return std::array<Stat<BypassFromDepth>, 1>{
        {{"bypassed_reads", "count",
          "Page-walk reads that bypassed the L2 cache. Not counted as hits or misses", StatKind::counter,
          [](BypassFromDepth const& b) { return b.bypassed_; }}}};
  }

 private:
  Fixed<std::uint64_t> depth_;
  std::uint64_t bypassed_ = 0;
};

}  // namespace

void bypass_from_depth(PolicyList<WalkReads>& list) {
  list.add<BypassFromDepth>(
      "bypass_from_depth", "reads at depth gpu.l2_cache.bypass_from_depth.depth and deeper bypass the cache");
}

}  // namespace farfault::walk_reads
