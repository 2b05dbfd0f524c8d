// SPDX-License-Identifier: Apache-2.0
// Prefetches the bytes that follow a faulted page, within its block (Zheng et al., HPCA 2016: prefetch in
// address order; the distance is assumed).
#include "farfault/engine/units.hpp"
#include "farfault/paging/prefetcher.hpp"

namespace farfault::prefetchers {
namespace {

class Sequential final : public Prefetcher {
 public:
  struct Params {
    ByteSize bytes{std::uint64_t{512} << 10};
    void describe(ParamTable& t) {
      t.bytes("bytes", bytes, {ByteSize{4096}, ByteSize{std::uint64_t{2} << 20}},
              "Bytes prefetched after a faulted page, within its VA block (2 MiB)",
              "assumed; Zheng et al., HPCA 2016, give no distance");
    }
  };
  Sequential(Params const& p, Setup const& setup)
      : pages_((p.bytes.bytes + (std::uint64_t{1} << setup.page_bits) - 1) >> setup.page_bits) {}

  BlockPages choose(Block const& block) const override {
    BlockPages chosen;
    std::uint64_t left = 0;  // pages still to prefetch after the last faulted page
    for (std::size_t p = 0; p < chosen.size(); ++p) {
      if (left != 0) {
        --left;
        chosen[p] = block.candidates[p];
      }
      if (block.faulted[p]) left = pages_;
    }
    return chosen;
  }

  auto members() { return std::tie(pages_); }

 private:
  std::uint64_t pages_;
};

}  // namespace

void sequential(PolicyList<Prefetcher>& list) {
  list.add<Sequential>("sequential", "pages that follow a faulted page");
}

}  // namespace farfault::prefetchers
