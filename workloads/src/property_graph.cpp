// SPDX-License-Identifier: Apache-2.0
#include "property_graph.hpp"

#include "farfault/engine/error.hpp"

namespace farfault::workloads {

void PropertyGraphSpec::describe(ParamTable& t) {
  graph.describe(t);
  t.count("block", block, {32, 1024},
          "Threads per block, a multiple of the warp width; at most the vertices that the kernel processes",
          "GraphBIG, gpu_bench: the maximum of the GPU");
}

void TraversalSpec::describe(ParamTable& t) {
  PropertyGraphSpec::describe(t);
  t.count("source", source, {0, 0xffff'ffff},
          "Start vertex, numbered from 0. If it has no edges: the next vertex that has one",
          "GraphBIG, gpu_bench: option root");
}

void ChunkSpec::describe(ParamTable& t) {
  t.count("chunk", chunk, {1, 1024}, "Vertices per warp of 32 threads", "GraphBIG, gpu_bench: CHUNK_SZ");
}

PropertyGraphProgram::PropertyGraphProgram(std::string name, PropertyGraphSpec const& spec,
                                           BuildContext const& context, PropertyGraph& graph)
    : name_(std::move(name)), width_(context.warp_width), block_(spec.block), layout_(context.buffers) {
  check_whole_warps(spec.block, context);
  graph.csr = load_graph(spec.graph, context, inputs_);
  graph.vertices = layout_.add("vertices", 8 * (graph.csr.vertices + 1));
  graph.edges = layout_.add("edges", 8 * graph.csr.targets.size());
}

void PropertyGraphProgram::needs_undirected(PropertyGraph const& graph) const {
  check_undirected(graph.csr);
}

void PropertyGraphProgram::check_kernels(std::uint64_t count) const {
  constexpr std::uint64_t kMax = 1ULL << 20;  // kernels of about 250 bytes each
  if (count > kMax)
    throw UserError(name_ + ": the graph needs " + std::to_string(count) +
                    " kernel launches, more than the maximum, " + std::to_string(kMax) +
                    "; use a smaller graph");
}

void PropertyGraphProgram::check_record(std::uint64_t bytes, std::string const& what) const {
  if (bytes > (1ULL << 30))
    throw UserError(name_ + ": " + what +
                    " need more than 1 GiB of host memory, the maximum; use a smaller graph");
}

std::uint64_t PropertyGraphProgram::worklist_entries(std::uint64_t asked, PropertyGraph const& graph) const {
  if (asked == 0) return graph.csr.vertices;
  if (asked < graph.csr.vertices)
    throw ParameterError(
        "worklist", asked,
        "must be 0 or at least the number of vertices, " + std::to_string(graph.csr.vertices));
  return asked;
}

Workload PropertyGraphProgram::take() {
  return {name_, layout_.take(), std::move(kernels_), std::move(inputs_)};
}

}  // namespace farfault::workloads
