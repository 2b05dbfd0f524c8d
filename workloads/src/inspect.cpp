#include "farfault/workloads/inspect.hpp"

#include <filesystem>

#include "farfault/workloads/graph.hpp"
#include "farfault/workloads/trace.hpp"
#include "graph_formats.hpp"
#include "trace_accelsim.hpp"

namespace farfault::workloads {
namespace {

template <class Test>
bool sample_passes(std::string const& path, Test test) {
  try {
    TextSource source(path, 1 << 20);
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

std::string describe_graph_json(std::string const& path) {
  auto const g = read_graph(path);
  return "{\"kind\":\"graph\",\"format\":\"" + std::string(to_text(g.format)) +
         "\",\"vertices\":" + std::to_string(g.vertices) + ",\"edges\":" + std::to_string(g.file_edges) +
         ",\"directed\":" + (g.directed ? "true" : "false") + "}";
}

std::string describe_graph_text(std::string const& path) {
  auto const g = read_graph(path);
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

std::string describe_trace_json(std::string const& path) {
  auto const t = summarize_trace(path);
  return "{\"kind\":\"trace\",\"format\":\"" + t.format + "\",\"kernels\":" + std::to_string(t.kernels) +
         ",\"blocks\":" + std::to_string(t.blocks) + ",\"instructions\":" + std::to_string(t.instructions) +
         ",\"memory_instructions\":" + std::to_string(t.memory_instructions) + "}";
}

std::string describe_trace_text(std::string const& path) {
  auto const t = summarize_trace(path);
  return "trace (" + t.format + ")\n  kernels              " + std::to_string(t.kernels) +
         "\n  thread blocks        " + std::to_string(t.blocks) + "\n  warp instructions    " +
         std::to_string(t.instructions) + "\n  memory instructions  " +
         std::to_string(t.memory_instructions) + "\n";
}

}  // namespace farfault::workloads
