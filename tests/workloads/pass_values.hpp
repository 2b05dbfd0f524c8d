// SPDX-License-Identifier: Apache-2.0
// Values in the buffers of a workload, on which its stream of addresses is executed.
#pragma once

#include <array>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "farfault/workloads/copies.hpp"
#include "warp_walk.hpp"

namespace farfault::workloads::test::passes {

// The values in a workload's buffers, of `unit` bytes each: integers and halves of integers, so that every
// sum is exact.
class Values {
 public:
  Values(Workload const& workload, std::uint64_t unit) : buffers_(workload.buffers()), unit_(unit) {
    for (auto const& b : buffers_) values_.emplace_back(b.bytes / unit);
  }

  double& at(VirtAddr a) {
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      auto const& b = buffers_[i];
      if (a < b.base || a + unit_ > b.base + b.bytes) continue;
      if ((a - b.base) % unit_ != 0) FAIL("not the address of an element");
      return values_[i][(a - b.base) / unit_];
    }
    FAIL("no buffer there");
    return values_[0][0];
  }

  std::vector<double>& of(std::string_view name) {
    for (std::size_t i = 0; i < buffers_.size(); ++i)
      if (buffers_[i].name == name) return values_[i];
    FAIL("no buffer " << std::string(name));
    return values_[0];
  }

  // Small integers that are not periodic in powers of two.
  std::vector<double> const& fill(std::string_view name, std::uint64_t factor, std::uint64_t modulus) {
    auto& list = of(name);
    for (std::size_t i = 0; i < list.size(); ++i)
      list[i] = static_cast<double>(i * factor % modulus) - static_cast<double>(modulus / 2);
    return list;
  }

 private:
  std::vector<Buffer> buffers_;
  std::uint64_t unit_;
  std::vector<std::vector<double>> values_;
};

// A program with the names of its buffers.
inline std::string program_of(Workload const& w) {
  std::string all;
  for (auto const& o : w.operations()) {
    all += (all.empty() ? "" : " ") + std::to_string(o.stream) + ":";
    if (o.kind == OperationKind::kernel) all += "kernel" + std::to_string(o.number);
    if (o.kind == OperationKind::wait) all += "wait" + std::to_string(o.number);
    if (!o.is_copy()) continue;
    all += (o.kind == OperationKind::copy_to_gpus ? "in-" : "out-") + w.buffers()[w.buffer_at(o.first)].name;
    all += "+" + std::to_string(o.bytes);
  }
  return all;
}

inline bool is(Buffer const& b, VirtAddr a) {
  return a >= b.base && a < b.base + b.bytes;
}

// Number of instructions of one kind, in all kernels or in one.
inline std::uint64_t count(Workload const& w, std::uint32_t width, Op op, std::size_t first = 0,
                           std::size_t last = ~std::size_t{0}) {
  std::uint64_t n = 0;
  for (auto k = first; k < std::min(last, w.kernel_count()); ++k)
    walk(w.kernel(k), width, [&](auto, auto, auto, WarpInstruction const& in) { n += in.op == op; });
  return n;
}

// The numbers of barriers of warps. Checks that no warp loads after its first barrier or stores before its
// last.
inline std::set<int> barriers(Kernel const& kernel, std::uint32_t width) {
  std::map<std::pair<std::uint64_t, std::uint32_t>, int> seen, at_store;
  walk(kernel, width, [&](auto block, auto warp, auto, WarpInstruction const& in) {
    auto& n = seen[{block, warp}];
    if (in.op == Op::barrier) ++n;
    if (in.op == Op::load) CHECK(n == 0);
    if (in.op == Op::store) at_store[{block, warp}] = n;
  });
  std::set<int> numbers;
  for (auto const& [warp, n] : seen) numbers.insert(n);
  for (auto const& [warp, n] : at_store) CHECK(n == seen[warp]);
  return numbers;
}

}  // namespace farfault::workloads::test::passes
