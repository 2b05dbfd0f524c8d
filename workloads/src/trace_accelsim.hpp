// SPDX-License-Identifier: Apache-2.0
// The reader of Accel-Sim's trace text. Calls a sink for each element.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "farfault/protocols/kernel.hpp"
#include "text_scanner.hpp"

namespace farfault::workloads {

inline constexpr std::uint32_t kTraceLanes = 32;

struct TraceKernelHeader {
  std::string name;
  std::uint64_t grid_blocks = 0;
  std::uint32_t block_threads = 0;
  std::uint32_t registers = 0;
  std::uint64_t shared_bytes = 0;
  std::uint64_t stream = 0;  // CUDA's stream number; 0: default stream
};

enum class TraceKind : std::uint8_t { other, load, store, barrier };

struct TraceInstruction {
  TraceKind kind = TraceKind::other;
  std::uint64_t offset = 0;  // program counter
  std::uint32_t lanes = 0;
  std::uint32_t bytes = 0;
  std::uint32_t active = 0;                     // number of lanes, and of addresses
  std::array<VirtAddr, kTraceLanes> address{};  // addresses of the active lanes, in lane order
  std::uint32_t sources = 0, destinations = 0;  // register counts
  std::array<std::uint16_t, 16> source{};       // register numbers
  std::array<std::uint16_t, 16> destination{};
};

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void begin_kernel(TraceKernelHeader const& header) = 0;
  virtual void begin_block(TextScanner const& in) = 0;
  virtual void begin_warp(TextScanner const& in, std::uint32_t warp) = 0;
  virtual void instruction(TextScanner const& in, TraceInstruction const& instruction) = 0;
  virtual void end_kernel() = 0;
};

void read_kernel_trace(TextScanner& in, TraceSink& sink);

struct TraceList {
  struct Copy {
    VirtAddr base;
    std::uint64_t bytes;
    std::size_t kernels_before;  // position in the list
    bool to_host;
  };
  std::vector<Copy> copies;          // in order
  std::vector<std::string> kernels;  // paths of trace files, in order
  std::vector<InputFile> inputs;     // the list itself, if there is one
};

// Reads the kernels of a list, of a folder with a list, or of a single trace file.
TraceList read_kernel_list(std::string const& path, InputLimits const& limits);

bool is_kernel_trace(std::string_view sample);
bool is_kernel_list(std::string_view sample);

}  // namespace farfault::workloads
