// SPDX-License-Identifier: Apache-2.0
// The instruction cache of a few SMs: a read-only cache (read_only_cache.hpp) from which warps fetch lines of
// code (instruction_windows.hpp), through a TLB of its own. Without one, instructions are there when a warp
// needs them.
//
// Not modelled: L0 caches of schedulers, instructions in constant memory, prefetching beyond a warp's window.
#pragma once

#include "farfault/compute/code_layout.hpp"
#include "farfault/compute/instruction_windows.hpp"
#include "farfault/compute/read_only_cache.hpp"

namespace farfault {

struct InstructionCacheParams : ReadOnlyCacheParams {
  CodeParams code;

  InstructionCacheParams() { size = ByteSize{0}; }
  void describe(ParamTable& t) {
    t.bytes(
        "size", size, {ByteSize{0}, ByteSize{1 << 24}},
        "Capacity of an instruction cache. 0: no cache, and instructions are there when a warp needs them",
        "assumed: none; GCN3: 32 KiB; Volta: 128 KiB (Jia et al., arXiv:1804.06826)");
    auto const if_present = t.only_when(sibling("size").is_above(0));
    t.count("sms", sms, {1, 64}, "SMs that share an instruction cache",
            "GCN3: up to 4; CDNA 3 white paper: 2; Volta: 1 (Jia et al., arXiv:1804.06826)");
    t.count("ways", ways, {1, 1024}, "Ways of an instruction cache", "GCN3: 4");
    replacement.describe(t, "replacement", "Replacement policy",
                         "Akita 4.9 (mem/cache): least recently used");
    t.count("latency", latency, {1, 1000}, "Cycles from look-up to data",
            "MGPUSim 4.2 (shader array builder): 1");
    t.count("mshrs", mshrs, {1, 4096}, "Maximum lines with an outstanding miss", "assumed (MGPUSim 4.2: 16)");
    t.count("tlb_entries", tlb_entries, {1, 4096}, "Entries of the cache's TLB, fully associative",
            "MGPUSim 4.2 (shader array builder): 64");
    t.count("tlb_mshrs", tlb_mshrs, {1, 4096}, "Maximum pages with an outstanding miss of the cache's TLB",
            "assumed (MGPUSim 4.2: 64)");
    tlb.replacement.describe(t, "tlb_replacement", "Replacement policy of the TLB",
                             "Akita 4.9 (mem/vm/tlb): least recently used", "tlb_");
    t.count("lines_ahead", code.lines_ahead, {1, InstructionWindows::kMaxLines},
            "Lines of code that a warp requests ahead, including that of its next instruction",
            "MGPUSim 4.2: an instruction buffer of 4 lines of 64 B");
    t.count("instruction_bytes", code.instruction_bytes, {4, 16}, "Bytes of an instruction",
            "GCN3: 4 or 8; NVIDIA: 8 until Pascal, 16 from Volta on");
    t.bytes(
        "code", code.kernel, {ByteSize{64}, ByteSize{1 << 30}},
        "Size of a kernel's code, except in traces, whose instructions state their offsets. After its last "
        "instruction follows the first one",
        "assumed");
  }
  bool present() const { return size.bytes != 0; }
};

}  // namespace farfault
