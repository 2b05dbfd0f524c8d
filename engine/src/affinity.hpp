// SPDX-License-Identifier: Apache-2.0
// Private: binding of worker threads to cores, by hwloc. Where hwloc is not built in, or the system refuses,
// threads stay where the system puts them: nothing but speed depends on it.
#pragma once

#include <cstdint>
#include <memory>

namespace farfault {

// The cores that this process may use: of the ranks on one node, each takes the next `threads` of them.
class Affinity {
 public:
  explicit Affinity(std::uint32_t threads);
  ~Affinity();
  Affinity(Affinity const&) = delete;
  Affinity& operator=(Affinity const&) = delete;

  // Binds the calling thread, worker number `member` of this rank, to its core; whole cores are used up
  // before their second hardware threads are. False: not bound.
  bool bind(std::uint32_t member) const;
  // Lets the calling thread run anywhere again.
  void release() const;

 private:
  struct Topology;
  std::unique_ptr<Topology> topology_;
  std::uint32_t first_ = 0;
};

}  // namespace farfault
