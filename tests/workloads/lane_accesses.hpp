// SPDX-License-Identifier: Apache-2.0
// The accesses of a kernel's lanes, block by block, and values in memory for their replay.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <queue>

#include "../../workloads/src/random.hpp"
#include "farfault/workloads/graph.hpp"
#include "warp_walk.hpp"

namespace farfault::workloads::test::lanes {

// One lane's part of an access.
struct Access {
  Op op = Op::end;
  std::string_view buffer;  // of the workload, or a literal
  std::uint64_t element = 0;
  std::uint32_t thread = 0;  // in its block
  bool operator==(Access const&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, Access const& a) {
  return out << (a.op == Op::load ? "load " : "store ") << a.buffer << '[' << a.element << "] by "
             << a.thread;
}

// Calls use(block, accesses) for each block of a kernel, warp by warp; elements are of the access's size.
template <class Use>
void each_block(Workload const& w, std::size_t kernel, std::uint32_t width, Use use) {
  auto const& k = w.kernel(kernel);
  std::vector<std::vector<Access>> blocks(k.shape().blocks);
  bool aligned = true;
  walk(k, width, [&](std::uint64_t block, std::uint32_t warp, auto, WarpInstruction const& in) {
    if (in.op != Op::load && in.op != Op::store) return;
    each_lane(in, [&](std::uint32_t lane, VirtAddr a) {
      for (auto const& b : w.buffers())
        if (a >= b.base && a + in.bytes_per_lane <= b.base + b.bytes) {
          aligned = aligned && (a - b.base) % in.bytes_per_lane == 0;
          blocks[block].push_back({in.op, b.name, (a - b.base) / in.bytes_per_lane, warp * width + lane});
          return;
        }
      FAIL("an address outside all buffers");
    });
  });
  CHECK(aligned);
  for (std::uint64_t block = 0; block < blocks.size(); ++block) use(block, blocks[block]);
}

using Values = std::vector<double>;

// The values behind the buffers.
struct Memory {
  std::map<std::string, Values> buffers;

  explicit Memory(Workload const& w) {
    for (auto const& b : w.buffers()) buffers[b.name].assign(b.bytes / 4, -1e9);
  }
  double& at(Access const& a) { return buffers.at(std::string(a.buffer)).at(a.element); }
  Values& operator[](std::string const& name) { return buffers.at(name); }
};

struct Lanes {
  std::uint64_t loads = 0, stores = 0, barriers = 0;
  bool operator==(Lanes const&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, Lanes const& l) {
  return out << l.loads << " loads, " << l.stores << " stores, " << l.barriers << " barriers";
}

// Counts over all lanes of a kernel; barriers once per warp.
inline Lanes lanes_of(Workload const& w, std::size_t kernel, std::uint32_t width) {
  Lanes sum;
  walk(w.kernel(kernel), width, [&](auto, auto, auto, WarpInstruction const& in) {
    if (in.op == Op::barrier) ++sum.barriers;
    if (in.op == Op::load) sum.loads += static_cast<std::uint64_t>(std::popcount(in.lanes));
    if (in.op == Op::store) sum.stores += static_cast<std::uint64_t>(std::popcount(in.lanes));
  });
  return sum;
}

// Accesses to shared memory of all warps of a kernel.
inline std::uint64_t shared_of(Workload const& w, std::size_t kernel, std::uint32_t width) {
  std::uint64_t sum = 0;
  walk(w.kernel(kernel), width, [&](auto, auto, auto, WarpInstruction const& in) {
    if (in.op == Op::compute) sum += in.work.shared;
  });
  return sum;
}

inline std::vector<Access> of_op(std::vector<Access> const& all, Op op) {
  std::vector<Access> list;
  for (auto const& a : all)
    if (a.op == op) list.push_back(a);
  return list;
}

// All warps of a block reach equal numbers of barriers.
inline bool barriers_agree(Workload const& w, std::size_t kernel, std::uint32_t width) {
  std::map<std::uint64_t, std::map<std::uint32_t, int>> reached;
  auto const& k = w.kernel(kernel);
  walk(k, width, [&](auto block, auto warp, auto, WarpInstruction const& in) {
    reached[block][warp] += in.op == Op::barrier;
  });
  for (auto const& [block, warps] : reached) {
    if (warps.size() != warps_of(k, width)) return false;
    for (auto const& [warp, count] : warps)
      if (count != warps.begin()->second) return false;
  }
  return true;
}

using Cells = std::map<std::pair<std::uint64_t, std::uint64_t>, double>;  // by row and column

inline bool near(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max(1.0, std::abs(b));
}

inline bool near(Values const& a, Values const& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](double x, double y) { return near(x, y); });
}

}  // namespace farfault::workloads::test::lanes
