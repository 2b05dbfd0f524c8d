// SPDX-License-Identifier: Apache-2.0
// Private: binding of worker threads to cores, by hwloc. Without hwloc, or if the system refuses,
// the system places the threads: only speed depends on it.
#pragma once

#include <cstdint>
#include <memory>

namespace farfault {

// The cores that this process may use: each rank on a node takes the next `threads` of them.
class Affinity {
 public:
  explicit Affinity(std::uint32_t threads);
  ~Affinity();
  Affinity(Affinity const&) = delete;
  Affinity& operator=(Affinity const&) = delete;

  // Binds the calling thread, worker number `member` of this rank, to its core; second hardware threads are
  // used only after all cores. False: not bound.
  bool bind(std::uint32_t member) const;
  // Removes the binding of the calling thread.
  void release() const;

 private:
  struct Topology;
  std::unique_ptr<Topology> topology_;
  std::uint32_t first_ = 0;
};

}  // namespace farfault
