// SPDX-License-Identifier: Apache-2.0
#include "farfault/engine/input_limits.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace farfault {
namespace {

// Peak memory of one of each, its index included, its names excluded, rounded up.
constexpr std::uint64_t kBytesPerNode = 1024;
constexpr std::uint64_t kBytesPerLink = 256;
constexpr std::uint64_t kBytesPerVertex = 32;
constexpr std::uint64_t kBytesPerEdge = 32;

std::uint64_t chosen(std::uint64_t set, std::uint64_t share, std::uint64_t most) {
  return set != 0 ? set : std::clamp<std::uint64_t>(share, 1, most);
}

// In whole MiB, for readable messages.
std::uint64_t chosen_bytes(ByteSize set, std::uint64_t share) {
  constexpr std::uint64_t kMib = std::uint64_t{1} << 20U;
  return set.bytes != 0 ? set.bytes : std::clamp(share / kMib * kMib, kMib, InputLimits::kMaxBytes.bytes);
}

// The end of the parameter's range.
std::uint64_t highest(std::string_view name) {
  using L = InputLimits;
  return name == "nodes"      ? L::kMaxNodes
         : name == "links"    ? L::kMaxLinks
         : name == "vertices" ? L::kMaxVertices
         : name == "edges"    ? L::kMaxEdges
                              : L::kMaxBytes.bytes;
}

std::string text_of(std::string const& name, std::uint64_t value, std::string const& written) {
  auto const key = "limits." + name;
  if (value >= highest(name)) return key + ", whose maximum is " + written;
  return key + " (now " + written + "); --set " + key + "=N raises it";
}

}  // namespace

void InputLimits::describe(ParamTable& t) {
  Range<ByteSize> const bytes{ByteSize{0}, kMaxBytes};
  t.bytes("names", names, bytes,
          "Maximum size of the names in a file, with ranges and lists expanded. 0: 1/64 of the memory",
          "simulator setting");
  t.count("nodes", nodes, {0, kMaxNodes},
          "Maximum nodes in a machine file. 0: as many as fit in 1/16 of the memory, at most 1,000,000",
          "simulator setting");
  t.count("links", links, {0, kMaxLinks},
          "Maximum links in a machine file. 0: as many as fit in 1/16 of the memory, at most 4,000,000",
          "simulator setting");
  t.count("vertices", vertices, {0, kMaxVertices},
          "Maximum vertices of a graph. 0: as many as fit in 1/4 of the memory", "simulator setting");
  t.count("edges", edges, {0, kMaxEdges}, "Maximum edges of a graph. 0: as many as fit in half of the memory",
          "simulator setting");
  t.bytes("unpacked", unpacked, bytes, "Maximum size of a decompressed file. 0: the size of the memory",
          "simulator setting");
  t.bytes("model", model, bytes, "Maximum host memory for the simulated machine. 0: 3/4 of the memory",
          "simulator setting");
}

InputLimits InputLimits::of_memory(ByteSize memory) const {
  InputLimits l;
  l.names.bytes = chosen_bytes(names, memory.bytes / 64);
  l.nodes = chosen(nodes, memory.bytes / 16 / kBytesPerNode, kMaxNodes);
  l.links = chosen(links, memory.bytes / 16 / kBytesPerLink, kMaxLinks);
  l.vertices = chosen(vertices, memory.bytes / 4 / kBytesPerVertex, kMaxVertices);
  l.edges = chosen(edges, memory.bytes / 2 / kBytesPerEdge, kMaxEdges);
  l.unpacked.bytes = chosen_bytes(unpacked, memory.bytes);
  l.model.bytes = chosen_bytes(model, memory.bytes / 4 * 3);
  return l;
}

InputLimits InputLimits::of_this_machine() const {
  return of_memory(usable_memory());
}

ByteSize usable_memory() {
  auto bytes = static_cast<std::uint64_t>(std::max<long>(1, sysconf(_SC_PHYS_PAGES))) *
               static_cast<std::uint64_t>(std::max<long>(1, sysconf(_SC_PAGESIZE)));
  for (auto const resource : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit{};
    if (getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
      bytes = std::min<std::uint64_t>(bytes, limit.rlim_cur);
  }
  // The limit of a batch job; the file contains "max" if there is none.
  std::ifstream groups("/proc/self/cgroup");
  std::string const text((std::istreambuf_iterator<char>(groups)), {});
  for (auto const& file : cgroup_limit_files(text)) {
    std::uint64_t limit = 0;
    if (std::ifstream(file) >> limit && limit != 0) bytes = std::min(bytes, limit);
  }
  return {bytes};
}

std::vector<std::string> cgroup_limit_files(std::string_view groups) {
  std::vector<std::string> files;
  while (!groups.empty()) {
    auto const end = std::min(groups.find('\n'), groups.size());
    auto const line = groups.substr(0, end);
    groups.remove_prefix(std::min(end + 1, groups.size()));
    auto const first = line.find(':');
    auto const second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    auto const controllers = "," + std::string(line.substr(first + 1, second - first - 1)) + ",";
    bool const unified = controllers == ",,";
    if (!unified && controllers.find(",memory,") == std::string::npos) continue;
    std::string const root = unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    std::string const name = unified ? "/memory.max" : "/memory.limit_in_bytes";
    // A group is subject to the limits of all enclosing groups.
    std::string path(line.substr(second + 1));
    while (path.size() > 1) {
      files.push_back(root + path + name);
      path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    }
    files.push_back(root + name);
  }
  return files;
}

std::string limit_text(std::string const& name, std::uint64_t value) {
  return text_of(name, value, std::to_string(value));
}

std::string limit_text(std::string const& name, ByteSize value) {
  return text_of(name, value.bytes, to_text(value));
}

}  // namespace farfault
