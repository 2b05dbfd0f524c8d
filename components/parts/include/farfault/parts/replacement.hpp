// SPDX-License-Identifier: Apache-2.0
// Which key of a full set gives way to one that comes: the replacement of every cache and TLB.
//
// Contract: victim() is called when a key comes to a set that has no empty way, and returns a way of the set;
// the key there is gone and the new one takes its place. It is shown what the array knows: the keys, and when
// each was used last, in uses of the whole array (an insertion is one; later ones are larger). What costs
// something is there only for a policy that wants it, which is asked once, before anything else:
// - insertions: when each key was put in, on the same clock;
// - uses: used() is called at each hit and inserted() when a key has been put in, into an empty way or that
//   of a victim. Each hit then costs a virtual call; a policy that does not want them costs one per eviction.
// Erasing keys is not told: a way is empty then, and is filled before any victim is asked for.
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
  struct Wants {
    bool insertions = false;
    bool uses = false;
  };
  // One set, by way.
  struct View {
    std::uint32_t set;
    std::uint64_t coming;  // the key to be put in
    std::span<std::uint64_t const> keys;
    std::span<std::uint64_t const> used;
    std::span<std::uint64_t const> inserted;  // empty, unless wanted
  };
  static PolicyList<Replacement> known();

  virtual ~Replacement() = default;
  virtual Wants wants() const { return {}; }
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

  // The way of the smallest stamp, the first of several.
  static std::uint32_t oldest(std::span<std::uint64_t const> stamps) {
    std::uint32_t way = 0;
    for (std::uint32_t w = 1; w < stamps.size(); ++w)
      if (stamps[w] < stamps[way]) way = w;
    return way;
  }
};

extern template class PolicyChoice<Replacement>;

}  // namespace farfault
