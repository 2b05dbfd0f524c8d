// SPDX-License-Identifier: Apache-2.0
// The instructions that the warps of an SM have fetched: for each warp, a window of consecutive lines of
// code.
//
// - A warp's next instruction is at an offset of its kernel's code. The window begins at the line of this
//   instruction, or at the first line before it that has not arrived. Up to `lines` lines of a warp are
//   requested ahead.
// - A step of a kernel is one instruction or a group (kernel.hpp), whose instructions follow each other. It
//   can issue when the line of its first instruction has arrived. The other lines of a group are fetched
//   meanwhile, and the warp's next step waits for them, also at the end of the warp.
// - After the last instruction of a code that repeats follows the first one; lines between an instruction
//   before and one after the end, and lines over which a warp jumps, are not awaited.
// - Limits: code of a kernel below 4 GiB; windows of up to 32 lines.
// - Source of the windows: MGPUSim 4.2 (an instruction buffer of four lines of 64 B per wavefront).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "farfault/protocols/kernel.hpp"

namespace farfault {

// The code of a kernel in virtual memory; begins with a line.
struct Code {
  VirtAddr first = 0;
  std::uint32_t bytes = 0;  // 0: none
  std::uint16_t instruction_bytes = 8;
  std::uint16_t repeats = 1;  // 0: the warp states the offsets of its instructions, and ends by itself
};

class InstructionWindows {
 public:
  static constexpr std::uint32_t kMaxLines = 32;

  InstructionWindows() = default;
  InstructionWindows(std::uint32_t contexts, std::uint32_t lines, unsigned line_bits)
      : windows_(contexts), lines_(lines), line_bits_(line_bits) {}

  // The warp begins at this offset of a code, with an empty window.
  void start(std::uint32_t context, Code const& code, std::uint32_t offset) {
    auto& w = windows_[context];
    w.code = code;
    go(w, offset);
  }
  // The warp has ended: nothing more is requested for it.
  void end(std::uint32_t context) { windows_[context].code.bytes = 0; }

  // Offset of the warp's next instruction.
  std::uint32_t at(std::uint32_t context) const { return windows_[context].at; }
  // The warp continues at this offset.
  void jump(std::uint32_t context, std::uint32_t offset) {
    auto& w = windows_[context];
    auto const line = offset >> line_bits_;
    if (line < w.head || line >= w.asked) return go(w, offset);
    w.at = offset;
    drop(w, line - w.head);
  }
  // This many instructions have issued.
  void advance(std::uint32_t context, std::uint64_t instructions) {
    auto& w = windows_[context];
    auto const next = w.at + instructions * w.code.instruction_bytes;
    if (next >= w.code.bytes && w.code.repeats != 0)
      return go(w, static_cast<std::uint32_t>(next % w.code.bytes));
    w.at = static_cast<std::uint32_t>(std::min<std::uint64_t>(next, w.code.bytes));
    pass(w);
  }
  // True if the line of the warp's next instruction has arrived.
  bool has_next(std::uint32_t context) const { return (windows_[context].arrived & 1) != 0; }
  // True if the lines of all instructions that have issued have arrived.
  bool has_issued(std::uint32_t context) const {
    auto const& w = windows_[context];
    bool const ends_line = (w.at & ((1U << line_bits_) - 1)) == 0;
    return w.head == w.at >> line_bits_ && (ends_line || (w.arrived & 1) != 0);
  }

  // A request for a line; its number, among the last ones of the warp, is that of its arrival.
  struct Request {
    VirtAddr line;
    std::uint16_t number;
  };
  // The next line that the caller must request now; nothing if the window is full. Call until then after
  // start(), jump(), advance() and arrived().
  std::optional<Request> ask(std::uint32_t context) {
    auto& w = windows_[context];
    auto const line = VirtAddr{w.asked} << line_bits_;
    if (line >= w.code.bytes || w.asked - w.head >= lines_ || w.outstanding >= lines_) return {};
    ++w.outstanding;
    auto const number = static_cast<std::uint16_t>(w.first_number + (w.asked++ - w.head));
    return Request{w.code.first + line, number};
  }
  // A requested line has arrived, possibly of an earlier window.
  void arrived(std::uint32_t context, std::uint16_t number) {
    auto& w = windows_[context];
    --w.outstanding;
    auto const place = static_cast<std::uint16_t>(number - w.first_number);
    if (place >= w.asked - w.head) return;
    w.arrived |= 1U << place;
    pass(w);
  }

  auto members() { return std::tie(windows_, lines_, line_bits_); }

 private:
  struct Window {
    Code code;
    std::uint32_t at = 0;            // offset of the next instruction
    std::uint32_t head = 0;          // first line
    std::uint32_t asked = 0;         // first line that is not requested
    std::uint32_t arrived = 0;       // bit i: line head + i
    std::uint32_t outstanding = 0;   // requests, also of earlier windows
    std::uint32_t first_number = 0;  // of the request for the first line
  };

  void go(Window& w, std::uint32_t offset) {
    w.first_number += w.asked - w.head;
    w.at = offset;
    w.head = w.asked = offset >> line_bits_;
    w.arrived = 0;
  }
  // The first lines of the window are no longer needed.
  static void drop(Window& w, std::uint32_t lines) {
    w.first_number += lines;
    w.head += lines;
    w.arrived >>= lines;
  }
  // Lines before the next instruction are no longer needed: a first line that has arrived is that of the next
  // instruction.
  void pass(Window& w) {
    while (w.head < w.at >> line_bits_ && (w.arrived & 1) != 0) drop(w, 1);
  }

  std::vector<Window> windows_;  // by context
  std::uint32_t lines_ = 0;
  unsigned line_bits_ = 0;
};

}  // namespace farfault
