// SPDX-License-Identifier: Apache-2.0
// Graph colouring of GraphBIG, topological and thread-centric (gpu_GraphColoring/gc_topo_thread_centric.cu).
//
// One kernel per colour, one thread per vertex, which reads its vertex's colour; graph_colouring.hpp
// describes the rest. A thread that cannot colour its vertex yet writes the flag of another round.
#include "graph_colouring.hpp"

namespace farfault::workloads::gc_ttc {
namespace {

struct Run : ColouredGraph {
  VirtAddr over = 0;
};

struct Round : Colour<Run> {
  static constexpr std::uint32_t arguments = 6;
  static constexpr std::array head{load(4), compute(pieces(2, 1))};
  static constexpr std::array tail{store(4), store(1)};

  std::uint64_t items() const { return run->csr.vertices; }
  VirtAddr head_at(std::size_t, Item v) const { return run->colour_of(v.vertex); }
  VirtAddr tail_at(std::size_t i, Item v) const {
    if (coloured_now(v.vertex)) return i == 0 ? run->colour_of(v.vertex) : kNone;
    return i == 0 ? kNone : run->over;
  }
};

Workload build(PropertyGraphSpec const& spec, BuildContext const& context) {
  auto run = std::make_shared<Run>();
  PropertyGraphProgram program("gc_ttc", spec, context, *run);
  prepare(program, *run, context.seed);
  run->over = program.layout().add("over", 1);
  initialize_colours(program, *run);
  for (std::uint32_t c = 0; c < run->colouring.colours; ++c)
    program.per_thread("gc_colour" + std::to_string(c), 16, Round{{{}, run, c}});
  return program.take();
}

}  // namespace

WorkloadInfo info() {
  return {"gc_ttc",
          "Graph colouring, topological, thread-centric (GraphBIG)",
          &SpecBuilder<PropertyGraphSpec, build>::make,
          {{kSmall, {{"rmat.scale", "8"}}},
           {kMedium, {{"rmat.scale", "12"}}},
           {kPaper,
            {{"rmat.scale", "18"}},
            "Batch-aware UVM (ASPLOS 2020): 74 MB on average; assumed: one R-MAT graph for all of its "
            "workloads"}}};
}

}  // namespace farfault::workloads::gc_ttc
