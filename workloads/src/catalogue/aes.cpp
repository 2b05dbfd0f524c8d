// SPDX-License-Identifier: Apache-2.0
// AES-256 encryption of Hetero-Mark: each thread encrypts one 16-byte block in place, with an S-box in memory
// that is read byte by byte. Text and round keys are accessed in units of 16 bytes, as in the compiled
// kernel.
//
// The S-box addresses are real: the plaintext is generated from the seed and encrypted when the workload is
// built, and the state before each round gives the sixteen indices. The plaintext repeats with a period
// (`pattern`), so that the states of one period serve all blocks.
#include <memory>
#include <vector>

#include "aes256.hpp"
#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "random.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::aes {
namespace {

struct Spec {
  ByteSize size{64ULL << 20};
  ByteSize pattern{64ULL << 10};
  std::uint32_t block = 64;

  void describe(ParamTable& t) {
    t.bytes("size", size, {ByteSize{16}, ByteSize{1ULL << 40}}, "Size of the text, encrypted in place",
            "GMMU Bypass (NPC 2020), Table 2");
    t.bytes("pattern", pattern, {ByteSize{1024}, ByteSize{64ULL << 20}},
            "Period of the generated plaintext, a power of two", "assumed; MGPUSim: random bytes throughout");
    t.count("block", block, {1, 1024}, "Threads per block", "MGPUSim, AES");
  }
};

// Addresses of the sixteen S-box entries of a round.
constexpr std::uint32_t kLookUp = 56;

// The S-box indices of one period: byte b of round r of block i is at [(r * 16 + b) * blocks + i], so that
// the lanes of a warp read consecutive bytes.
class Lookups {
 public:
  Lookups(std::uint64_t pattern_bytes, std::uint64_t seed)
      : blocks_(pattern_bytes / 16), index_(blocks_ * 16 * kAesRounds) {
    Random random(seed);
    AesKey key;
    for (auto& b : key) b = static_cast<std::uint8_t>(random.next());
    Aes256 const aes(key);
    for (std::uint64_t i = 0; i < blocks_; ++i) {
      AesBlock plain;
      for (auto& b : plain) b = static_cast<std::uint8_t>(random.next());
      auto const trace = aes.encrypt(plain);
      for (std::size_t r = 0; r < kAesRounds; ++r)
        for (std::size_t b = 0; b < 16; ++b) index_[(r * 16 + b) * blocks_ + i] = trace.lookups[r][b];
    }
  }

  std::uint8_t const* row(std::uint64_t round, std::uint64_t byte) const {
    return &index_[(round * 16 + byte) * blocks_];
  }
  std::uint64_t mask() const { return blocks_ - 1; }

 private:
  std::uint64_t blocks_;
  std::vector<std::uint8_t> index_;
};

class Encrypt final : public LinearKernel {
 public:
  Encrypt(KernelShape shape, std::uint32_t warp_width, std::uint64_t blocks, Spec const& spec,
          std::uint64_t seed, VirtAddr text, VirtAddr key, VirtAddr sbox)
      : LinearKernel(std::move(shape), warp_width, blocks),
        lookups_(spec.pattern.bytes, seed),
        text_(text),
        key_(key),
        sbox_(sbox) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    if (step-- == 0) return set_arguments(out, 5);
    auto const t = threads(block, warp);
    if (step == 0) return set_compute(out, {.vector = 6, .scalar = 19}, kWait);  // index, address, key
    if (t.lanes == 0) return set_end(out);
    if (step == 1) return set_linear(out, Op::load, 16, text_ + 16 * t.first, 16, t.lanes);
    if (step == 2) return set_scalar_load(out, key_, 16);
    if (step == 3) return set_compute(out, {.vector = 34 + kLookUp, .scalar = 2}, kWait);  // add the key
    auto const body = step - 4;
    auto const round = body / 18;
    if (round < kAesRounds) {
      auto const part = body % 18;
      if (part < 16) {
        auto const* const row = lookups_.row(round, part);
        set_access(out, Op::load, 1, low_lanes(t.lanes));
        auto const start = t.first & lookups_.mask();
        auto const until_wrap = lookups_.mask() + 1 - start;
        auto const head = static_cast<std::uint32_t>(std::min<std::uint64_t>(t.lanes, until_wrap));
        for (std::uint32_t i = 0; i < head; ++i) out.address[i] = sbox_ + row[start + i];
        for (auto i = head; i < t.lanes; ++i) out.address[i] = sbox_ + row[i - head];
        return;
      }
      if (part == 16) return set_uniform(out, Op::load, 16, key_ + 16 * (round + 1));
      // Mix columns, add the round key (170 vector, 6 scalar), and look up the bytes for the next round; the
      // last round only adds its key. Shifting rows is a renaming of registers.
      if (round + 1 == kAesRounds) return set_compute(out, {.vector = 34, .scalar = 2}, kWait);
      return set_compute(out, {.vector = 170 + kLookUp, .scalar = 6 + 2}, kWait);
    }
    if (body == std::uint64_t{18} * kAesRounds)
      return set_linear(out, Op::store, 16, text_ + 16 * t.first, 16, t.lanes);
    set_end(out);
  }

 private:
  Lookups lookups_;
  VirtAddr text_, key_, sbox_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  if ((spec.pattern.bytes & (spec.pattern.bytes - 1)) != 0)
    throw ParameterError("pattern", spec.pattern, "must be a power of two");
  auto const blocks = spec.size.bytes / 16;
  BufferLayout layout(context.buffers);
  auto const text = layout.add("text", 16 * blocks);
  auto const key = layout.add("expanded_key", 16 * (kAesRounds + 1));
  auto const sbox = layout.add("sbox", 256);
  std::vector<std::unique_ptr<Kernel const>> kernels;
  kernels.push_back(
      std::make_unique<Encrypt>(KernelShape{"encrypt", ceil_div(blocks, spec.block), spec.block, 48, 0},
                                context.warp_width, blocks, spec, context.seed, text, key, sbox));
  return {"aes", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"aes",
          "AES-256 encryption with data-dependent S-box lookups (Hetero-Mark)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"size", "128KiB"}}},
           {kMedium, {{"size", "4MiB"}}},
           {kPaper, {}, "GMMU Bypass (NPC 2020), Table 2: 64 MB"}}};
}

}  // namespace farfault::workloads::aes
