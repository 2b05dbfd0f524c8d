// SPDX-License-Identifier: Apache-2.0
#include "farfault/memory/walk_reads.hpp"

namespace farfault::walk_reads {
namespace {

struct Cached final : WalkReads {
  static constexpr Facts facts() { return {.may_bypass = false}; }
  bool bypasses(std::uint32_t, std::uint64_t, Time) override { return false; }
  void bypassed(Time) override {}
  void looked_up(std::uint32_t, bool, Time) override {}
};

}  // namespace

void cached(PolicyList<WalkReads>& list) {
  list.add<Cached>("cached", "cached as all other requests");
}

}  // namespace farfault::walk_reads
