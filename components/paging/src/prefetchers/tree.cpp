// SPDX-License-Identifier: Apache-2.0
// Binary tree over the 64 KiB leaves of a block: the leaf of a faulted page is fetched whole, and with it the
// largest subtree around it with more than a threshold of its pages resident or fetched anyway.
//
// Sources: NVIDIA's driver (uvm_perf_prefetch.c: a strict threshold of 51%, over faulted and resident pages);
// UVMSmart (more than half, counting its own prefetches as it proceeds). The density tree follows Zheng et
// al., HPCA 2016; Ganguly et al., ISCA 2019, describe it.
#include "farfault/paging/prefetcher.hpp"

namespace farfault::prefetchers {
namespace {

class Tree final : public Prefetcher {
 public:
  struct Params {
    std::uint32_t threshold = 50;
    void describe(ParamTable& t) {
      t.count("threshold", threshold, {1, 100},
              "Percentage of resident or faulted pages above which a whole subtree is fetched",
              "UVMSmart: more than half; NVIDIA's driver: more than 51");
    }
  };
  Tree(Params const& p, Setup const& setup)
      : threshold_(p.threshold),
        leaf_(setup.page_bits >= kLeafBits ? 1 : std::uint64_t{1} << (kLeafBits - setup.page_bits)),
        pages_(setup.page_bits >= kBlockBits ? 1 : std::uint64_t{1} << (kBlockBits - setup.page_bits)) {}

  BlockPages choose(Block const& block) const override {
    // Pages that will be resident, starting with whole leaves.
    auto there = block.faulted | block.resident;
    for (std::size_t p = 0; p < pages_; ++p)
      if (block.faulted[p]) add(p / leaf_ * leaf_, leaf_, block, there);
    auto const counted = there;  // subtrees that earlier faults add do not count for later ones
    for (std::size_t p = 0; p < pages_; ++p) {
      if (!block.faulted[p]) continue;
      for (auto span = pages_; span > leaf_; span /= 2) {
        auto const first = p / span * span;
        if (count(counted, first, span) * 100 <= span * threshold_) continue;
        add(first, span, block, there);
        break;
      }
    }
    return there & block.candidates;
  }

  auto members() { return std::tie(threshold_, leaf_, pages_); }

 private:
  static constexpr unsigned kLeafBits = 16;

  static void add(std::size_t first, std::size_t span, Block const& block, BlockPages& there) {
    for (auto p = first; p < first + span; ++p)
      if (block.candidates[p]) there.set(p);
  }
  static std::uint64_t count(BlockPages const& pages, std::size_t first, std::size_t span) {
    std::uint64_t n = 0;
    for (auto p = first; p < first + span; ++p) n += pages[p] ? 1 : 0;
    return n;
  }

  std::uint64_t threshold_;
  std::uint64_t leaf_;   // pages
  std::uint64_t pages_;  // pages of a block
};

}  // namespace

void tree(PolicyList<Prefetcher>& list) {
  list.add<Tree>("tree",
                 "largest subtree of the VA block around a faulted page whose density exceeds the threshold");
}

}  // namespace farfault::prefetchers
