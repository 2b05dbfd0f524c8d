// SPDX-License-Identifier: Apache-2.0
// Operations of a program on the GPUs of its host, in streams.
//
// - Operations of one stream run in program order; streams run concurrently. A wait stalls its stream until
//   an earlier operation of any stream has completed (an event of CUDA or HIP).
// - A copy moves bytes between the host's memory and the GPUs that hold the pages. Pages in CPU memory and
//   unmapped pages need no copy: the host's contents are already in place. Every page of a copy has space in
//   the host's memory.
// - A buffer is allocated for the whole run, or from the operation that allocates it to the one that frees
//   it. Its pages are placed by the page placement, or at their first touch if the placement leaves them out.
//   An access outside that time is an error of the program and never completes.
// - Rules, checked by why_not(): every kernel of the workload is launched exactly once; streams are numbered
//   from 0 without gaps; a wait names an earlier operation; a copy is within one buffer and has at least one
//   byte; only whole buffers are allocated and freed, alternately in list order, starting with an allocation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "farfault/engine/units.hpp"
#include "farfault/protocols/kernel.hpp"

namespace farfault {

enum class OperationKind : std::uint8_t { kernel, copy_to_gpus, copy_to_host, allocate, free, wait };

// Name in input files and results.
constexpr std::string_view word_of(OperationKind kind) {
  switch (kind) {
    case OperationKind::kernel:
      return "kernel";
    case OperationKind::copy_to_gpus:
      return "to_gpus";
    case OperationKind::copy_to_host:
      return "to_host";
    case OperationKind::allocate:
      return "allocate";
    case OperationKind::free:
      return "free";
    default:
      return "wait";
  }
}

struct Operation {
  OperationKind kind = OperationKind::kernel;
  std::uint32_t stream = 0;
  std::uint32_t number = 0;  // kernel launched, or operation that a wait waits for
  VirtAddr first = 0;        // of the copy or the buffer
  std::uint64_t bytes = 0;

  static Operation launch(std::uint32_t kernel, std::uint32_t stream = 0) {
    return {.kind = OperationKind::kernel, .stream = stream, .number = kernel};
  }
  static Operation copy_to_gpus(VirtAddr first, std::uint64_t bytes, std::uint32_t stream = 0) {
    return {.kind = OperationKind::copy_to_gpus, .stream = stream, .first = first, .bytes = bytes};
  }
  static Operation copy_to_host(VirtAddr first, std::uint64_t bytes, std::uint32_t stream = 0) {
    return {.kind = OperationKind::copy_to_host, .stream = stream, .first = first, .bytes = bytes};
  }
  static Operation allocate(VirtAddr first, std::uint64_t bytes, std::uint32_t stream = 0) {
    return {.kind = OperationKind::allocate, .stream = stream, .first = first, .bytes = bytes};
  }
  static Operation free(VirtAddr first, std::uint64_t bytes, std::uint32_t stream = 0) {
    return {.kind = OperationKind::free, .stream = stream, .first = first, .bytes = bytes};
  }
  static Operation wait_for(std::uint32_t operation, std::uint32_t stream) {
    return {.kind = OperationKind::wait, .stream = stream, .number = operation};
  }
  bool is_copy() const { return kind == OperationKind::copy_to_gpus || kind == OperationKind::copy_to_host; }
  bool is_allocation() const { return kind == OperationKind::allocate || kind == OperationKind::free; }
  bool is_of_driver() const { return is_copy() || is_allocation(); }
};

inline constexpr std::uint32_t kMaxStreams = 256;  // over all applications of a host

struct Buffer {
  std::string name;
  VirtAddr base = 0;
  std::uint64_t bytes = 0;
  bool host_written = true;  // the host initializes it; otherwise kernels write it before they read it
};

// The rule that the operations break; empty if they are valid.
inline std::string why_not(std::vector<Operation> const& operations, std::size_t kernels,
                           std::vector<Buffer> const& buffers) {
  std::vector<std::uint32_t> launches(kernels);
  std::vector<bool> streams(kMaxStreams);
  std::vector<bool> allocated(buffers.size());
  std::size_t last_stream = 0;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    auto const& o = operations[i];
    auto const where = "operation " + std::to_string(i);
    if (o.stream >= kMaxStreams) return where + " has a stream number beyond the limit";
    streams[o.stream] = true;
    last_stream = std::max<std::size_t>(last_stream, o.stream);
    if (o.kind == OperationKind::kernel && (o.number >= kernels || launches[o.number]++ != 0))
      return where + " launches kernel " + std::to_string(o.number) +
             ", which does not exist or is launched twice";
    if (o.kind == OperationKind::wait && o.number >= i)
      return where + " waits for operation " + std::to_string(o.number) +
             ", which is not an earlier operation";
    auto const holds = [&](Buffer const& b) {
      return o.first >= b.base && o.first - b.base < b.bytes && o.bytes <= b.bytes - (o.first - b.base);
    };
    if (o.is_copy() && (o.bytes == 0 || std::ranges::none_of(buffers, holds)))
      return where + " copies " + to_text(ByteSize{o.bytes}) +
             ", but a copy must be a nonempty part of one buffer";
    if (!o.is_allocation()) continue;
    auto const b = std::ranges::find_if(
        buffers, [&](Buffer const& x) { return x.base == o.first && x.bytes == o.bytes && x.bytes != 0; });
    auto const verb = std::string(o.kind == OperationKind::allocate ? "allocates " : "frees ");
    if (b == buffers.end()) return where + ' ' + verb + "a range that is not a whole buffer";
    auto const n = static_cast<std::size_t>(b - buffers.begin());
    if (allocated[n] == (o.kind == OperationKind::allocate))
      return where + ' ' + verb + "buffer '" + b->name + "', which is " +
             (allocated[n] ? "already allocated" : "not allocated");
    allocated[n] = !allocated[n];
  }
  if (std::ranges::find(launches, 0U) != launches.end()) return "a kernel is never launched";
  auto const used = streams.begin() + static_cast<std::ptrdiff_t>(last_stream);
  if (std::find(streams.begin(), used, false) != used) return "stream numbers have a gap";
  return {};
}

}  // namespace farfault
