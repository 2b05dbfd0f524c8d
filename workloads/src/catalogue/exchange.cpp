// SPDX-License-Identifier: Apache-2.0
// Link microbenchmark: GPUs read or write each other's memory, fully coalesced, every byte once.
//
// The array is divided into equal parts, one per GPU: with contiguous placement and contiguous block order,
// part p is in GPU p's memory and blocks of part p run on GPU p.
// - `pair`: the blocks of one part access another part; all other blocks end immediately.
// - `all_to_all`: every part accesses every other part; a warp's accesses cycle through them. Chunk q of a
//   part is accessed by the (q modulo others)th of the other parts.
// A first kernel, in which each part accesses the beginning of each page that it will need, fills the TLBs.
// Loads never wait: as many are in flight as the machine allows.
#include <memory>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::exchange {
namespace {

enum class Pattern : std::uint8_t { pair, all_to_all };
enum class Direction : std::uint8_t { read, write };

struct Spec {
  ByteSize bytes{64ULL << 20};
  std::uint32_t parts = 4;
  Pattern pattern = Pattern::all_to_all;
  Direction access = Direction::read;
  std::uint32_t from = 0;
  std::uint32_t to = 1;
  bool warm_up = true;
  std::uint32_t bytes_per_lane = 16;
  std::uint32_t accesses_per_thread = 4;
  std::uint32_t block = 256;

  void describe(ParamTable& t) {
    t.bytes("bytes", bytes, {ByteSize{4096}, ByteSize{1ULL << 44}},
            "Size of the array, a multiple of `parts` x memory.page_size", "assumed");
    t.count("parts", parts, {2, 65535}, "Parts of the array, one per GPU",
            "GMMU Bypass (NPC 2020), Table 1: 4");
    t.choice("pattern", pattern,
             {{"pair", Pattern::pair, "blocks of one part access another part"},
              {"all_to_all", Pattern::all_to_all, "blocks of each part access all others"}},
             "Access pattern", "assumed");
    t.choice("access", access, {{"read", Direction::read, "loads"}, {"write", Direction::write, "stores"}},
             "Direction of the accesses", "assumed");
    t.count("from", from, {0, 65534}, "Accessing part", "assumed").only_when(sibling("pattern").is("pair"));
    t.count("to", to, {0, 65534}, "Accessed part", "assumed").only_when(sibling("pattern").is("pair"));
    t.flag("warm_up", warm_up, "Run a first kernel that accesses each page once to warm up the TLBs",
           "assumed");
    t.count("bytes_per_lane", bytes_per_lane, {1, 16}, "Bytes per lane and access: 1, 2, 4, 8 or 16",
            "assumed");
    t.count("accesses_per_thread", accesses_per_thread, {1, 65536}, "Accesses per thread", "assumed");
    t.count("block", block, {64, 1024}, "Threads per block, a multiple of 64", "assumed");
  }
};

// The chunks of the array that the warps of a part access. A chunk is the size of one warp access.
struct Division {
  std::uint64_t parts;
  std::uint64_t chunks;  // chunks of a part
  Pattern pattern;
  std::uint64_t from, to;

  bool everyone;  // every other part accesses every chunk; otherwise one part does

  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  std::uint64_t accesses_of_part() const {
    if (pattern == Pattern::pair) return chunks;
    return (everyone ? chunks : ceil_div(chunks, parts - 1)) * (parts - 1);
  }
  // The chunk, counted from the array's beginning, of access n of part p.
  std::uint64_t chunk(std::uint64_t p, std::uint64_t n) const {
    if (pattern == Pattern::pair) return p == from && n < chunks ? to * chunks + n : kNone;
    auto const others = parts - 1;
    auto const other = (p + 1 + n % others) % parts;  // the next part first
    auto const rank = p < other ? p : p - 1;          // rank of p among the parts that access `other`
    auto const q = everyone ? n / others : n / others * others + rank;
    return q < chunks ? other * chunks + q : kNone;
  }
};

class Exchange final : public LinearKernel {
 public:
  // Each warp makes `accesses` accesses; the warps of a part access adjacent chunks.
  Exchange(KernelShape shape, std::uint32_t warp_width, Division division, std::uint64_t blocks_per_part,
           std::uint32_t accesses, Spec const& spec, VirtAddr base, std::uint64_t chunk_bytes)
      : LinearKernel(std::move(shape), warp_width, ~std::uint64_t{0}),
        division_(division),
        blocks_per_part_(blocks_per_part),
        warps_per_block_(spec.block / warp_width),
        accesses_(accesses),
        op_(spec.access == Direction::read ? Op::load : Op::store),
        bytes_(spec.bytes_per_lane),
        base_(base),
        chunk_bytes_(chunk_bytes) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const part = block / blocks_per_part_;
    auto const warps = blocks_per_part_ * warps_per_block_;
    auto const first = block % blocks_per_part_ * warps_per_block_ + warp;
    if (division_.pattern == Pattern::pair && part != division_.from) return set_end(out);
    if (step == 0) return set_compute(out, {.vector = 4});  // part, place in it, loop set-up
    auto const n = step - 1;
    if (n >= accesses_) return set_end(out);
    auto const chunk = division_.chunk(part, n * warps + first);
    if (chunk == Division::kNone) return set_compute(out, {.scalar = 1});  // a branch not taken by any lane
    set_linear(out, op_, bytes_, base_ + chunk * chunk_bytes_, bytes_, warp_width());
  }

 private:
  Division division_;
  std::uint64_t blocks_per_part_;
  std::uint32_t warps_per_block_;
  std::uint32_t accesses_;
  Op op_;
  std::uint32_t bytes_;
  VirtAddr base_;
  std::uint64_t chunk_bytes_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  auto const need = [](bool holds, char const* name, auto value, std::string const& rule) {
    if (!holds) throw ParameterError(name, value, rule);
  };
  need((spec.bytes_per_lane & (spec.bytes_per_lane - 1)) == 0, "bytes_per_lane", spec.bytes_per_lane,
       "must be 1, 2, 4, 8 or 16");
  need(spec.block % 64 == 0, "block", spec.block, "must be a multiple of 64");
  auto const unit = std::uint64_t{spec.parts} * context.page_bytes;
  need(spec.bytes.bytes % unit == 0, "bytes", spec.bytes,
       "must be a multiple of parts x memory.page_size, " + to_text(ByteSize{unit}));
  if (spec.pattern == Pattern::pair) {
    auto const below_parts = "must be below parts, " + std::to_string(spec.parts);
    need(spec.from < spec.parts, "from", spec.from, below_parts);
    need(spec.to < spec.parts, "to", spec.to, below_parts);
    need(spec.from != spec.to, "to", spec.to, "must differ from `from`");
  }
  BufferLayout layout(context.buffers);
  auto const base = layout.add("array", spec.bytes.bytes);
  auto const part_bytes = spec.bytes.bytes / spec.parts;
  std::vector<std::unique_ptr<Kernel const>> kernels;
  auto const add = [&](char const* name, std::uint64_t chunk_bytes, std::uint32_t accesses, bool everyone) {
    Division const division{.parts = spec.parts,
                            .chunks = part_bytes / chunk_bytes,
                            .pattern = spec.pattern,
                            .from = spec.from,
                            .to = spec.to,
                            .everyone = everyone};
    auto const warps_per_block = spec.block / context.warp_width;
    auto const per_part = ceil_div(division.accesses_of_part(), std::uint64_t{warps_per_block} * accesses);
    kernels.push_back(std::make_unique<Exchange>(KernelShape{.name = name,
                                                             .blocks = per_part * spec.parts,
                                                             .threads_per_block = spec.block,
                                                             .registers_per_thread = 24},
                                                 context.warp_width, division, per_part, accesses, spec, base,
                                                 chunk_bytes));
  };
  if (spec.warm_up) add("warm_up", context.page_bytes, 1, true);
  add("exchange", std::uint64_t{spec.bytes_per_lane} * context.warp_width, spec.accesses_per_thread, false);
  return {"exchange", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"exchange",
          "GPUs read or write each other's memory, a pair or all to all: link bandwidth",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"bytes", "4MiB"}}},
           {kMedium, {}},
           {kPaper, {}, "no published size: the average footprint of GMMU Bypass (NPC 2020), 64 MB"}}};
}

}  // namespace farfault::workloads::exchange
