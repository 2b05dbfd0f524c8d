// A workload: named buffers in one virtual address space, and kernels that run one after the other over them.
// Immutable once built; safe to read from all threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "farfault/protocols/kernel.hpp"

namespace farfault {

struct Buffer {
  std::string name;
  VirtAddr base = 0;
  std::uint64_t bytes = 0;
  bool host_written = true;  // its contents come from the host; else kernels write it before they read it
};

// An input file as it was read, for the record in the results.
struct InputFile {
  std::string path;
  std::uint64_t bytes = 0;
  std::uint64_t hash = 0;  // FNV-1a of the file's bytes
};

class Workload {
 public:
  Workload(std::string name, std::vector<Buffer> buffers, std::vector<std::unique_ptr<Kernel const>> kernels,
           std::vector<InputFile> inputs = {})
      : name_(std::move(name)),
        buffers_(std::move(buffers)),
        kernels_(std::move(kernels)),
        inputs_(std::move(inputs)) {}

  std::string const& name() const { return name_; }
  std::vector<Buffer> const& buffers() const { return buffers_; }
  std::size_t kernel_count() const { return kernels_.size(); }
  Kernel const& kernel(std::size_t i) const { return *kernels_[i]; }
  std::vector<InputFile> const& inputs() const { return inputs_; }

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
};

}  // namespace farfault
