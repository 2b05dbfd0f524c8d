// SPDX-License-Identifier: Apache-2.0
// Graph colouring of GraphBIG, data-driven and thread-centric (gpu_GraphColoring/gc_data_thread_centric.cu).
//
// One kernel per colour. The uncoloured vertices are a work list in memory, of 64 bits per vertex, initially
// all vertices in order. A thread reads the list's length, its entry, and the vertex's colour;
// graph_colouring.hpp describes the rest. A thread that cannot colour its vertex yet reserves space in the
// next list by an atomic on the list's end, and writes the vertex there; here lists keep the order of
// vertices.
#include "graph_colouring.hpp"

namespace farfault::workloads::gc_dtc {
namespace {

struct Spec : PropertyGraphSpec {
  std::uint64_t worklist = 0;

  void describe(ParamTable& t) {
    PropertyGraphSpec::describe(t);
    t.count("worklist", worklist, {0, 1ULL << 32},
            "8-byte entries of each of the two work lists (GraphBIG: 8777216). 0: one per vertex", "assumed");
  }
};

struct Run : ColouredGraph {
  std::vector<std::vector<std::uint32_t>> lists;  // per round: uncoloured vertices
  std::array<VirtAddr, 2> items{}, ends{};
};

struct Round : Colour<Run> {
  static constexpr std::uint32_t arguments = 7;
  static constexpr std::array begin{load(4), compute(pieces(0, 1))};
  static constexpr std::array head{load(8), compute(pieces(1, 0)), load(4), compute(pieces(2, 1))};
  static constexpr std::array tail{store(4), atomic_load(4), compute(pieces(1, 0, 0, 1)), store(8)};

  std::uint64_t items() const { return run->lists[round].size(); }
  std::uint64_t vertex(std::uint64_t at) const { return run->lists[round][at]; }
  VirtAddr begin_at(std::size_t) const { return run->ends[round % 2]; }
  VirtAddr head_at(std::size_t i, Item v) const {
    return i == 0 ? run->items[round % 2] + 8 * v.at : run->colour_of(v.vertex);
  }
  VirtAddr tail_at(std::size_t i, Item v) const {
    if (coloured_now(v.vertex)) return i == 0 ? run->colour_of(v.vertex) : kNone;
    if (i == 0) return kNone;
    if (i == 1) return run->ends[1 - round % 2];
    auto const& next = run->lists[round + std::size_t{1}];
    auto const at = std::ranges::lower_bound(next, static_cast<std::uint32_t>(v.vertex)) - next.begin();
    return run->items[1 - round % 2] + 8 * static_cast<std::uint64_t>(at);
  }
};

Workload build(Spec const& spec, BuildContext const& context) {
  auto run = std::make_shared<Run>();
  PropertyGraphProgram program("gc_dtc", spec, context, *run);
  prepare(program, *run, context.seed);
  auto const n = run->csr.vertices;
  auto const& colour = run->colouring.colour;
  std::uint64_t entries_of_all = 0;
  for (auto const c : colour) entries_of_all += c + std::uint64_t{1};
  program.check_record(4 * entries_of_all, std::to_string(entries_of_all) + " entries of work lists");
  run->lists.resize(run->colouring.colours);
  for (std::uint32_t v = 0; v < n; ++v)
    for (std::uint32_t c = 0; c <= colour[v]; ++c) run->lists[c].push_back(v);
  auto const entries = program.worklist_entries(spec.worklist, *run);
  run->items[0] = program.layout().add("worklist1", 8 * entries);
  run->ends[0] = program.layout().add("worklist1_end", 4);
  run->items[1] = program.layout().add_result("worklist2", 8 * entries);
  run->ends[1] = program.layout().add("worklist2_end", 4);
  initialize_colours(program, *run);
  for (std::uint32_t c = 0; c < run->colouring.colours; ++c)
    program.per_thread("gc_colour" + std::to_string(c), 17, Round{{{}, run, c}});
  return program.take();
}

}  // namespace

WorkloadInfo info() {
  return {"gc_dtc",
          "Graph colouring, data-driven, thread-centric (GraphBIG)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"rmat.scale", "8"}}},
           {kMedium, {{"rmat.scale", "12"}}},
           {kPaper,
            {{"rmat.scale", "18"}},
            "Batch-aware UVM (ASPLOS 2020): 74 MB on average; assumed: one R-MAT graph for all of its "
            "workloads"}}};
}

}  // namespace farfault::workloads::gc_dtc
