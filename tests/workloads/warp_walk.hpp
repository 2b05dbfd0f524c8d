// SPDX-License-Identifier: Apache-2.0
// Traverses a workload's instruction streams for the tests.
#pragma once

#include <doctest/doctest.h>

#include <bit>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "farfault/workloads/registry.hpp"

namespace farfault::workloads::test {

using Settings = std::initializer_list<std::pair<std::string_view, std::string_view>>;

inline Workload build(std::string_view name, Settings settings, BuildContext const& context = {}) {
  auto const builder = make(name);
  ParamTable table;
  builder->describe(table);
  for (auto const& setting : settings) {
    auto const key = setting.first;
    auto const* const param = table.find(key);
    REQUIRE_MESSAGE(param != nullptr, "no parameter " << std::string(key));
    param->set(setting.second);
  }
  return builder->build(context);
}

inline BuildContext of_width(std::uint32_t width, std::uint64_t seed = 1) {
  BuildContext context;
  context.warp_width = width;
  context.seed = seed;
  return context;
}

inline std::uint32_t warps_of(Kernel const& kernel, std::uint32_t width) {
  return (kernel.shape().threads_per_block + width - 1) / width;
}

using Visit =
    std::function<void(std::uint64_t block, std::uint32_t warp, std::uint64_t step, WarpInstruction const&)>;

// Calls visit for every instruction of a kernel up to `end`, warp by warp.
inline void walk(Kernel const& kernel, std::uint32_t width, Visit const& visit) {
  WarpInstruction in;
  for (std::uint64_t block = 0; block < kernel.shape().blocks; ++block)
    for (std::uint32_t warp = 0; warp < warps_of(kernel, width); ++warp) {
      for (std::uint64_t step = 0;; ++step) {
        in.op = Op::end;
        in.address.fill(0xdead);
        kernel.instruction(block, warp, step, in);
        if (in.op == Op::end) break;
        if (in.op == Op::compute) CHECK((in.work.instructions() >= 1 || in.wait_loads));
        if (in.op == Op::load || in.op == Op::store) {
          REQUIRE_NE(in.lanes, 0U);
          REQUIRE_GE(in.bytes_per_lane, 1);
        }
        visit(block, warp, step, in);
      }
      kernel.instruction(block, warp, 1'000'000'000, in);
      CHECK(in.op == Op::end);
    }
}

// A scalar load has one address.
template <class Use>
void each_lane(WarpInstruction const& in, Use use) {
  for (auto left = in.op == Op::scalar_load ? 1 : in.lanes; left != 0; left &= left - 1) {
    auto const lane = static_cast<std::uint32_t>(std::countr_zero(left));
    use(lane, in.address[lane]);
  }
}

// All addresses of one kind of access, in the order of the traversal.
inline std::vector<VirtAddr> addresses(Kernel const& kernel, std::uint32_t width, Op op) {
  std::vector<VirtAddr> list;
  walk(kernel, width, [&](auto, auto, auto, WarpInstruction const& in) {
    if (in.op == op) each_lane(in, [&](auto, VirtAddr a) { list.push_back(a); });
  });
  return list;
}

inline Buffer const& buffer(Workload const& workload, std::string_view name) {
  for (auto const& b : workload.buffers())
    if (b.name == name) return b;
  FAIL("no buffer " << std::string(name));
  return workload.buffers().front();
}

inline bool reads_data(WarpInstruction const& in) {
  return in.op == Op::load || (in.op == Op::scalar_load && in.address[0] < kKernelArguments);
}

// Number of accesses of kind `op` to each `unit`-byte element of `b` over the kernels from `first` to `last`;
// scalar loads count as loads.
inline std::vector<std::uint32_t> touches(Workload const& workload, Buffer const& b, Op op,
                                          std::uint32_t width, std::uint32_t unit, std::size_t first = 0,
                                          std::size_t last = ~std::size_t{0}) {
  std::vector<std::uint32_t> count(b.bytes / unit, 0);
  for (auto k = first; k < std::min(last, workload.kernel_count()); ++k)
    walk(workload.kernel(k), width, [&](auto, auto, auto, WarpInstruction const& in) {
      if (op == Op::load ? !reads_data(in) : in.op != op) return;
      each_lane(in, [&](auto, VirtAddr a) {
        if (a < b.base || a >= b.base + b.bytes) return;
        REQUIRE_LE(a + in.bytes_per_lane, b.base + b.bytes);
        for (std::uint64_t i = 0; i < in.bytes_per_lane; i += unit) ++count[(a - b.base + i) / unit];
      });
    });
  return count;
}

inline bool all_equal(std::vector<std::uint32_t> const& counts, std::uint32_t value) {
  for (auto const c : counts)
    if (c != value) return false;
  return !counts.empty();
}

// True if every access of every kernel is within one buffer.
inline bool inside_buffers(Workload const& workload, std::uint32_t width) {
  bool inside = true;
  for (std::size_t k = 0; k < workload.kernel_count(); ++k)
    walk(workload.kernel(k), width, [&](auto, auto, auto, WarpInstruction const& in) {
      if (!reads_data(in) && in.op != Op::store) return;
      each_lane(in, [&](auto, VirtAddr a) {
        bool found = false;
        for (auto const& b : workload.buffers())
          found = found || (a >= b.base && a + in.bytes_per_lane <= b.base + b.bytes);
        inside = inside && found;
      });
    });
  return inside;
}

inline std::string error_of(std::function<void()> const& action) {
  try {
    action();
  } catch (UserError const& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace farfault::workloads::test
