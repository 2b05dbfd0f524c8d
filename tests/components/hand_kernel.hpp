// SPDX-License-Identifier: Apache-2.0
// Hand-written kernels: a program for each warp.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "farfault/protocols/applications.hpp"

namespace farfault::mock {

using Program = std::vector<WarpInstruction>;

class HandKernel final : public Kernel {
 public:
  HandKernel(KernelShape shape, std::function<Program(std::uint64_t block, std::uint32_t warp)> program)
      : shape_(std::move(shape)), program_(std::move(program)) {}
  KernelShape const& shape() const override { return shape_; }
  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const program = program_(block, warp);
    out = step < program.size() ? program[step] : WarpInstruction{};
  }

 private:
  KernelShape shape_;
  std::function<Program(std::uint64_t, std::uint32_t)> program_;
};

// The workload as the only application; kept until the program ends.
inline Applications const* alone(Workload const& workload) {
  static std::deque<Applications> kept;
  return &kept.emplace_back(workload);
}

inline WarpInstruction compute(Work const& work, bool wait_loads = false) {
  WarpInstruction i{};
  i.op = Op::compute;
  i.work = work;
  i.wait_loads = wait_loads;
  return i;
}
// Vector instructions.
inline WarpInstruction compute(std::uint32_t instructions, bool wait_loads = false) {
  return compute(Work{.vector = instructions}, wait_loads);
}
inline WarpInstruction scalar_load(VirtAddr address) {
  WarpInstruction i{};
  i.op = Op::scalar_load;
  i.bytes_per_lane = 4;
  i.work.scalar = 1;
  i.address[0] = address;
  return i;
}
inline WarpInstruction barrier() {
  WarpInstruction i{};
  i.op = Op::barrier;
  return i;
}
// Lane k accesses 4 bytes at base + k * stride.
inline WarpInstruction access(Op op, VirtAddr base, std::uint64_t stride, std::uint32_t lanes,
                              bool wait_loads = false) {
  WarpInstruction i{};
  i.op = op;
  i.wait_loads = wait_loads;
  i.bytes_per_lane = 4;
  i.lanes = lanes == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << lanes) - 1;
  for (std::uint32_t k = 0; k < lanes; ++k) i.address[k] = base + k * stride;
  return i;
}
inline WarpInstruction load(VirtAddr base, std::uint64_t stride = 4, std::uint32_t lanes = 1,
                            bool wait_loads = false) {
  return access(Op::load, base, stride, lanes, wait_loads);
}
inline WarpInstruction store(VirtAddr base, std::uint64_t stride = 4, std::uint32_t lanes = 1) {
  return access(Op::store, base, stride, lanes);
}

inline Workload hand_workload(std::vector<KernelShape> const& shapes,
                              std::function<Program(std::uint64_t, std::uint32_t)> const& program) {
  std::vector<std::unique_ptr<Kernel const>> kernels;
  for (auto const& s : shapes) kernels.push_back(std::make_unique<HandKernel>(s, program));
  return Workload("by hand", {}, std::move(kernels));
}

}  // namespace farfault::mock
