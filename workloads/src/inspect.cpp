// SPDX-License-Identifier: Apache-2.0
#include "farfault/workloads/inspect.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "farfault/workloads/graph.hpp"
#include "farfault/workloads/trace.hpp"
#include "graph_formats.hpp"
#include "trace_accelsim.hpp"

namespace farfault::workloads {
namespace {

using Json = nlohmann::ordered_json;

template <class Test>
bool sample_passes(std::string const& path, Test test) {
  try {
    TextSource source(path, InputLimits{});
    TextScanner const in(source);
    return test(in);
  } catch (UserError const&) {
    return false;
  }
}

}  // namespace

bool looks_like_graph(std::string const& path) {
  return sample_passes(path, [&](TextScanner const& in) {
    return detect_graph(in.sample(), in.sample_is_all(), path).has_value();
  });
}

std::string describe_graph_json(std::string const& path, InputLimits const& limits) {
  auto const g = read_graph(path, {GraphFormat::automatic, limits});
  return Json{{"kind", "graph"},
              {"format", to_text(g.format)},
              {"vertices", g.vertices},
              {"edges", g.file_edges},
              {"directed", g.directed}}
      .dump();
}

std::string describe_graph_text(std::string const& path, InputLimits const& limits) {
  auto const g = read_graph(path, {GraphFormat::automatic, limits});
  return "graph (" + std::string(to_text(g.format)) + "), " + (g.directed ? "directed" : "undirected") +
         "\n  vertices  " + std::to_string(g.vertices) + "\n  edges     " + std::to_string(g.file_edges) +
         "\n";
}

bool looks_like_trace(std::string const& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    auto const list = std::filesystem::path(path) / "kernelslist.g";
    return std::filesystem::is_regular_file(list, error) && looks_like_trace(list.string());
  }
  return sample_passes(path, [](TextScanner const& in) {
    return is_kernel_trace(in.sample()) || is_kernel_list(in.sample());
  });
}

std::string describe_trace_json(std::string const& path, InputLimits const& limits) {
  auto const t = summarize_trace(path, limits);
  return Json{{"kind", "trace"},
              {"format", t.format},
              {"kernels", t.kernels},
              {"blocks", t.blocks},
              {"instructions", t.instructions},
              {"memory_instructions", t.memory_instructions}}
      .dump();
}

std::string describe_trace_text(std::string const& path, InputLimits const& limits) {
  auto const t = summarize_trace(path, limits);
  return "trace (" + t.format + ")\n  kernels              " + std::to_string(t.kernels) +
         "\n  thread blocks        " + std::to_string(t.blocks) + "\n  warp instructions    " +
         std::to_string(t.instructions) + "\n  memory instructions  " +
         std::to_string(t.memory_instructions) + "\n";
}

}  // namespace farfault::workloads
