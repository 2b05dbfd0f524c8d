// SPDX-License-Identifier: Apache-2.0
// A workload of empty kernels, and its operations as a line of text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "farfault/protocols/workload.hpp"

namespace farfault::workloads::test {

class Empty final : public Kernel {
 public:
  KernelShape const& shape() const override { return shape_; }
  void instruction(std::uint64_t, std::uint32_t, std::uint64_t, WarpInstruction& out) const override {
    out.op = Op::end;
  }

 private:
  KernelShape shape_{};
};

inline Workload program(std::size_t kernels, std::vector<Operation> operations,
                        std::vector<Buffer> buffers = {
                            {"in", 0, 100, true},
                            {"out", 4096, 50, false},
                            {"more", 8192, 60, true},
                        }) {
  std::vector<std::unique_ptr<Kernel const>> all;
  for (std::size_t i = 0; i < kernels; ++i) all.push_back(std::make_unique<Empty>());
  return {"w", std::move(buffers), std::move(all), {}, std::move(operations)};
}

inline std::string text(Workload const& w) {
  std::string all;
  for (auto const& o : w.operations()) {
    auto const numbers = std::to_string(o.number);
    auto const range = std::to_string(o.first) + "+" + std::to_string(o.bytes);
    all += (all.empty() ? "" : " ") + std::to_string(o.stream) + ":" +
           (o.kind == OperationKind::kernel         ? "kernel" + numbers
            : o.kind == OperationKind::wait         ? "wait" + numbers
            : o.kind == OperationKind::copy_to_gpus ? "in" + range
            : o.kind == OperationKind::copy_to_host ? "out" + range
            : o.kind == OperationKind::allocate     ? "allocate" + range
                                                    : "free" + range);
  }
  return all;
}

}  // namespace farfault::workloads::test
