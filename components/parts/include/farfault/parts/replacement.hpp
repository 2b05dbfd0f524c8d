// SPDX-License-Identifier: Apache-2.0
// Replacement policy of every cache and TLB: selects the victim in a full set.
//
// - victim() is called when a key is inserted into a set without an empty way, and returns a way of the set.
//   The new key replaces the key there.
// - The view has the keys of the set and the time of each one's last use, counted in uses of the whole array
//   (an insertion is a use). The times of a set differ, so they order its keys by recency. The view has no
//   current time.
// - Each array has its own object, with the same parameters: a policy that draws random numbers has the same
//   sequence in each array.
// - Two facts enable data that has a cost. insertions: the insertion time of each key, on the same clock.
//   uses: calls of used() at each hit, and of inserted() after each insertion into an empty way or a
//   victim's.
// - Cost: one virtual call per eviction; with uses, one more per hit.
// - Erased keys are not reported: their ways are empty and are filled before the next victim is selected.
#pragma once

#include <cstdint>
#include <span>

#include "farfault/engine/policy.hpp"

namespace farfault {

class Replacement {
 public:
  using Interface = Replacement;
  struct Setup {
    std::uint32_t sets = 1;
    std::uint32_t ways = 1;
  };
  struct Facts {
    bool insertions = false;
    bool uses = false;
  };
  // One set, by way.
  struct View {
    std::uint32_t set;
    std::uint64_t incoming;  // the key to insert
    std::span<std::uint64_t const> keys;
    std::span<std::uint64_t const> used;
    std::span<std::uint64_t const> inserted;  // empty without the fact `insertions`
  };
  static PolicyList<Replacement> known();

  virtual ~Replacement() = default;
  virtual std::uint32_t victim(View const& set) = 0;
  virtual void used(std::uint32_t set, std::uint32_t way) {
    static_cast<void>(set);
    static_cast<void>(way);
  }
  virtual void inserted(std::uint32_t set, std::uint32_t way, std::uint64_t key) {
    static_cast<void>(set);
    static_cast<void>(way);
    static_cast<void>(key);
  }

  // Way with the smallest stamp; the first one of equal stamps.
  static std::uint32_t oldest(std::span<std::uint64_t const> stamps) {
    std::uint32_t way = 0;
    for (std::uint32_t w = 1; w < stamps.size(); ++w)
      if (stamps[w] < stamps[way]) way = w;
    return way;
  }
};

extern template class PolicyChoice<Replacement>;

}  // namespace farfault
