// SPDX-License-Identifier: Apache-2.0
// A workload: named buffers in one virtual address space, kernels that access them, and the operations that
// launch the kernels.
//
// - Without operations, each kernel is launched once, in order, in stream 0.
// - Const members are safe to call from all threads; set_operations() must not be called during a run.
// - Operations that break a rule of operation.hpp are the caller's error and stop the program (FF_CHECK).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "farfault/engine/error.hpp"
#include "farfault/protocols/kernel.hpp"
#include "farfault/protocols/operation.hpp"

namespace farfault {

// An input file and its hash, recorded in the results.
struct InputFile {
  std::string path;
  std::uint64_t bytes = 0;
  std::uint64_t hash = 0;  // FNV-1a of the file's bytes
};

class Workload {
 public:
  Workload(std::string name, std::vector<Buffer> buffers, std::vector<std::unique_ptr<Kernel const>> kernels,
           std::vector<InputFile> inputs = {}, std::vector<Operation> operations = {})
      : name_(std::move(name)),
        buffers_(std::move(buffers)),
        kernels_(std::move(kernels)),
        inputs_(std::move(inputs)) {
    if (operations.empty())
      for (std::size_t k = 0; k < kernels_.size(); ++k)
        operations.push_back(Operation::launch(static_cast<std::uint32_t>(k)));
    set_operations(std::move(operations));
  }

  // Replaces the operations.
  void set_operations(std::vector<Operation> operations) {
    auto const broken = why_not(operations, kernels_.size(), buffers_);
    FF_CHECK(broken.empty(), "workload '" + name_ + "': " + broken);
    operations_ = std::move(operations);
    streams_ = 1;
    for (auto const& o : operations_) streams_ = std::max(streams_, o.stream + 1);
  }

  std::string const& name() const { return name_; }
  std::vector<Buffer> const& buffers() const { return buffers_; }
  std::size_t kernel_count() const { return kernels_.size(); }
  Kernel const& kernel(std::size_t i) const { return *kernels_[i]; }
  std::vector<InputFile> const& inputs() const { return inputs_; }
  std::vector<Operation> const& operations() const { return operations_; }
  std::uint32_t streams() const { return streams_; }

  // Number of the buffer that begins at `base`, which must exist.
  std::size_t buffer_at(VirtAddr base) const {
    auto const b = std::ranges::find(buffers_, base, &Buffer::base);
    FF_CHECK(b != buffers_.end(), "workload '" + name_ + "': no buffer begins at this address");
    return static_cast<std::size_t>(b - buffers_.begin());
  }

  // Bytes of all buffers.
  std::uint64_t footprint() const {
    std::uint64_t sum = 0;
    for (auto const& b : buffers_) sum += b.bytes;
    return sum;
  }

 private:
  std::string name_;
  std::vector<Buffer> buffers_;
  std::vector<std::unique_ptr<Kernel const>> kernels_;
  std::vector<InputFile> inputs_;
  std::vector<Operation> operations_;
  std::uint32_t streams_ = 1;
};

}  // namespace farfault
