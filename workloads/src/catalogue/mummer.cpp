// SPDX-License-Identifier: Apache-2.0
// MUMmerGPU (Rodinia, ISPASS-2009): finds queries in a reference sequence through its suffix tree, one thread
// per query and one kernel.
//
// From each start in its query a thread descends the tree: it reads a base, the children of its current node,
// the child, and base by base the reference along the edge, until a base differs or the query ends. A match
// that is long enough is written. For the next start the thread follows the suffix link and skips the bases
// that are known to match. The tree is built from a random sequence, and the queries are looked up in it,
// when the workload is built; this takes 4 bytes of host memory per access of each thread. Threads of a warp
// reconverge at the end of a loop.
//
// Nodes and their children are in two arrays of 16 bytes per node, as in the textures of the suite, but in
// linear order: the tiling of textures in hardware is not public. Bases take a byte; a query has one before
// it and one after it. Reverse complements and the printing of matches, which some versions do on the GPU,
// are omitted.
//
// Counts: the comparison or selection that uses the loaded value, and the next address. The registers are
// assumed.
#include <bit>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "graph_input.hpp"
#include "spec_builder.hpp"
#include "suffix_tree.hpp"

namespace farfault::workloads::mummer {
namespace {

constexpr std::uint32_t kPixel = 16;  // a node, or its children
constexpr std::uint32_t kResult = 8;  // node, and bases matched on the edge to it

struct Spec {
  std::uint64_t reference = 200'000;
  std::uint64_t queries = 50'000;
  std::uint32_t length = 25;
  std::uint32_t shortest = 20;
  double foreign = 0.73;
  std::uint32_t block = 256;

  void describe(ParamTable& t) {
    t.count("reference", reference, {64, 1ULL << 24},
            "Bases of the reference (Rodinia, NC_003997.20k: 20,000 lines, 1399930 bases)", "assumed");
    t.count("queries", queries, {1, 1ULL << 24}, "Queries, one thread each", "ISPASS-2009, MUM: 50,000");
    t.count("length", length, {1, 1024}, "Bases per query", "ISPASS-2009, MUM: 25");
    t.count("shortest", shortest, {1, 1024}, "Minimum match length, in bases", "Rodinia, mummergpu");
    t.number("foreign", foreign, {0.0, 1.0},
             "Fraction of queries that are random instead of parts of the reference",
             "ISPASS-2009, MUM: 73% of its reads do not occur in its reference");
    t.count("block", block, {32, 1024}, "Threads per block, a multiple of the warp width",
            "Rodinia, mummergpu");
  }
};

struct Buffers {
  VirtAddr nodes = 0, children = 0, reference = 0, queries = 0, addresses = 0, lengths = 0, results = 0;
};

class Match final : public LinearKernel {
 public:
  Match(KernelShape shape, std::uint32_t warp_width, Spec const& spec, std::shared_ptr<TreeWalk const> walk,
        Buffers const& at)
      : LinearKernel(std::move(shape), warp_width, spec.queries),
        query_bytes_(spec.length + 2),
        starts_(spec.length - spec.shortest + 1),
        walk_(std::move(walk)),
        at_(at) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    if (step-- == 0) return set_arguments(out, 5);
    auto const t = threads(block, warp);
    if (step-- == 0)  // index, comparison, addresses
      return set_compute(out, {.vector = t.lanes ? 7U : 3U, .special = 1, .scalar = 4}, kWait);
    if (t.lanes == 0) return set_end(out);
    if (step-- == 0) return set_linear(out, Op::load, 4, at_.lengths + 4 * t.first, 4, t.lanes);
    if (step-- == 0) return set_linear(out, Op::load, 4, at_.addresses + 4 * t.first, 4, t.lanes);
    if (step-- == 0)  // addresses of the query and its results
      return set_compute(out, {.vector = 7, .special = 1, .scalar = 1}, kWait);
    auto const number = t.first / warp_width();
    auto const index = walk_->first_step[number] + step / 2;
    if (index >= walk_->first_step[number + 1]) return set_end(out);
    auto const& s = walk_->steps[index];
    if (step % 2 == 0) return access(s, t.first, out);
    set_compute(out, work_behind(s.fetch), s.fetch != Fetch::result);
  }

 private:
  static Work work_behind(Fetch fetch) {
    switch (fetch) {
      case Fetch::base:  // end of the query or of the edge, next address
        return {.vector = 4, .scalar = 2};
      case Fetch::children:  // one of four, test for a child, next address
        return {.vector = 7, .scalar = 3};
      case Fetch::node:  // length of the edge, bases skipped, addresses
        return {.vector = 9, .scalar = 2};
      case Fetch::reference:  // comparison, both positions, address
        return {.vector = 5, .scalar = 2};
      case Fetch::result:  // test for a match that is long enough
        return {.vector = 1, .scalar = 1};
      case Fetch::suffix:  // bases still known, next start
        return {.vector = 6, .scalar = 3};
    }
    return {};
  }

  void access(TreeStep const& s, std::uint64_t first, WarpInstruction& out) const {
    auto const* value = walk_->values.data() + s.first;
    auto const all = [&](Op op, std::uint32_t bytes, auto address) {
      set_access(out, op, bytes, s.lanes);
      for (auto left = s.lanes; left != 0; left &= left - 1) {
        auto const lane = static_cast<std::uint32_t>(std::countr_zero(left));
        out.address[lane] = address(first + lane, *value++);
      }
    };
    switch (s.fetch) {
      case Fetch::base:
        return all(Op::load, 1, [&](std::uint64_t query, std::uint64_t position) {
          return at_.queries + query * query_bytes_ + position;
        });
      case Fetch::children:
        return all(Op::load, kPixel, [&](auto, std::uint64_t node) { return at_.children + kPixel * node; });
      case Fetch::node:
      case Fetch::suffix:
        return all(Op::load, kPixel, [&](auto, std::uint64_t node) { return at_.nodes + kPixel * node; });
      case Fetch::reference:
        return all(Op::load, 1, [&](auto, std::uint64_t position) { return at_.reference + position; });
      case Fetch::result:
        return all(Op::store, kResult, [&](std::uint64_t query, std::uint64_t start) {
          return at_.results + kResult * (query * starts_ + start);
        });
    }
  }

  std::uint64_t query_bytes_, starts_;
  std::shared_ptr<TreeWalk const> walk_;
  Buffers at_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  check_whole_warps(spec.block, context);
  if (spec.shortest > spec.length)
    throw ParameterError("shortest", spec.shortest, "must be at most length, " + std::to_string(spec.length));
  if (spec.length > spec.reference)
    throw ParameterError("length", spec.length,
                         "must be at most reference, " + std::to_string(spec.reference));
  auto const sequence = random_bases(spec.reference, context.seed);
  auto const tree = build_suffix_tree(sequence);
  auto const queries = make_queries(sequence, spec.queries, spec.length, spec.foreign, context.seed);
  auto walk = std::make_shared<TreeWalk const>(
      walk_tree(tree, sequence, queries, spec.length, spec.shortest, context.warp_width));
  BufferLayout layout(context.buffers);
  Buffers at;
  at.nodes = layout.add("nodes", kPixel * tree.nodes.size());
  at.children = layout.add("children", kPixel * tree.nodes.size());
  at.reference = layout.add("reference", spec.reference + 2);
  at.queries = layout.add("queries", spec.queries * (spec.length + 2ULL));
  at.addresses = layout.add("query_addresses", 4 * spec.queries);
  at.lengths = layout.add("query_lengths", 4 * spec.queries);
  at.results = layout.add_result("results", kResult * spec.queries * (spec.length - spec.shortest + 1ULL));
  std::vector<std::unique_ptr<Kernel const>> kernels;
  kernels.push_back(
      std::make_unique<Match>(KernelShape{"mummergpu", ceil_div(spec.queries, spec.block), spec.block, 24, 0},
                              context.warp_width, spec, std::move(walk), at));
  return {"mummer", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"mummer",
          "Exact matches of queries through a suffix tree (MUMmerGPU, Rodinia)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"reference", "20000"}, {"queries", "2000"}}},
           {kMedium, {{"reference", "100000"}, {"queries", "20000"}}},
           {kPaper,
            {{"reference", "1399930"}},
            "Rodinia, mummergpu, as in Mosaic (MICRO 2017): 20,000 lines, 1,399,930 bases; 50,000 queries"}}};
}

}  // namespace farfault::workloads::mummer
