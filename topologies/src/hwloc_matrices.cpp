// SPDX-License-Identifier: Apache-2.0
// Matrices of hwloc: NVLinkBandwidth, XGMIBandwidth and XeLinkBandwidth in MB/s per direction, and XGMIHops.
// Their objects are PCI devices or the OS devices inside them; on POWER also packages, because NVLinks join
// CPUs and GPUs there. Objects of one GPU (its partitions) repeat its links and are merged.
#include <algorithm>
#include <charconv>
#include <utility>

#include "farfault/engine/error.hpp"
#include "hwloc_objects.hpp"
#include "xml_document.hpp"

namespace farfault::topologies {
namespace {

constexpr std::uint64_t kMaxMatrixObjects = 4096;
constexpr std::uint64_t kMegabyte = 1'000'000;
constexpr std::uint64_t kConstant = 100'000;  // MB/s: hwloc's RSMI backend writes this value for any two GPUs

// Calls f(word) for the words of all children with this name; the text may be split between any two words.
template <class F>
void each_word(pugi::xml_node parent, char const* element, F f) {
  for (auto child : parent.children(element)) {
    std::string_view text = child.text().get();
    while (!text.empty()) {
      auto const begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
      auto const end = std::min(text.find_first_of(" \t\r\n", begin), text.size());
      if (begin < end) f(text.substr(begin, end - begin));
      text.remove_prefix(end);
    }
  }
}

// "PCIDev:581"; a matrix of a single object type states only numbers.
std::string with_type(pugi::xml_node matrix, std::string_view word) {
  if (word.find(':') != word.npos) return std::string(word);
  return matrix.attribute("type").value() + (":" + std::string(word));
}

bool is_of_links(pugi::xml_node matrix) {
  return import_rule({FileFormat::hwloc_xml, "matrix", matrix.attribute("name").value()}).import_as !=
         ImportAs::omitted;
}

// A matrix of distinct nodes: objects of one GPU are merged, and objects without a node are removed.
struct Matrix {
  std::vector<std::uint32_t> nodes;
  std::vector<std::uint64_t> values;  // row by row

  std::uint64_t at(std::size_t i, std::size_t j) const { return values[i * nodes.size() + j]; }
};

enum class Keep { largest, smallest };

class Matrices {
 public:
  explicit Matrices(HwlocObjects& o) : o_(o) {}

  void join(pugi::xml_node topology) {
    for (auto matrix : topology.children("distances2"))
      if (name_of_matrix(matrix) == "XGMIHops") note_hops(read(matrix, Keep::smallest));
    for (char const* element : {"distances2", "distances2hetero"})
      for (auto matrix : topology.children(element)) read_bandwidths(matrix);
    if (any_ && o_.builder.machine().count(NodeKind::nvswitch) > 1)
      o_.decide("nvswitch links", {}, {}, trunks_ ? kNumber : 0U, std::string());
  }

 private:
  static std::string name_of_matrix(pugi::xml_node matrix) { return matrix.attribute("name").value(); }

  Matrix read(pugi::xml_node element, Keep keep) {
    auto const name = name_of_matrix(element);
    auto const n = xml_number(element, "nbobjs", 0, kMaxMatrixObjects, o_.where);
    std::vector<std::string> objects;
    each_word(element, "indexes", [&](std::string_view word) {
      if (objects.size() <= n) objects.emplace_back(word);
    });
    std::vector<std::uint64_t> values;
    each_word(element, "u64values", [&](std::string_view word) {
      if (values.size() <= n * n) values.push_back(value(word, name));
    });
    if (objects.size() != n || values.size() != n * n) {
      auto const count = [](std::size_t found, std::size_t needed) {
        return found > needed ? "more than " + std::to_string(needed) : std::to_string(found);
      };
      throw UserError(o_.where + ": the matrix " + name + " has " + count(objects.size(), n) +
                      " objects and " + count(values.size(), n * n) + " values, but nbobjs=" +
                      std::to_string(n) + " needs " + std::to_string(n) + " and " + std::to_string(n * n));
    }
    std::vector<std::uint32_t> nodes;
    for (auto const& word : objects) nodes.push_back(end(with_type(element, word)));
    return merged(nodes, values, keep);
  }

  static Matrix merged(std::vector<std::uint32_t> const& nodes, std::vector<std::uint64_t> const& values,
                       Keep keep) {
    Matrix m;
    std::map<std::uint32_t, std::size_t> places;
    std::vector<std::size_t> place_of;
    for (auto const node : nodes) {
      auto const place = node == kNoNode ? places.end() : places.try_emplace(node, places.size()).first;
      place_of.push_back(place == places.end() ? SIZE_MAX : place->second);
      if (node != kNoNode && place->second == m.nodes.size()) m.nodes.push_back(node);
    }
    m.values.resize(m.nodes.size() * m.nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i)
      for (std::size_t j = 0; j < nodes.size(); ++j) {
        auto const value = values[i * nodes.size() + j];
        if (place_of[i] == SIZE_MAX || place_of[j] == SIZE_MAX || value == 0) continue;
        auto& known = m.values[place_of[i] * m.nodes.size() + place_of[j]];
        known = known == 0 ? value : keep == Keep::largest ? std::max(known, value) : std::min(known, value);
      }
    return m;
  }

  std::uint32_t end(std::string const& key) {
    auto const device = o_.devices.find(key);
    auto const cpu = o_.cpus.find(key);
    auto const facts = (device != o_.devices.end() ? kThere : 0U) | (cpu != o_.cpus.end() ? kNumber : 0U);
    switch (o_.decide("matrix object", {}, {}, facts, "'" + shown(key) + "'")) {
      case ImportAs::named:
        return device->second;
      case ImportAs::cpu_above:
        return cpu->second;
      default:
        return kNoNode;
    }
  }

  template <class F>
  static void each_pair(Matrix const& m, F f) {
    for (std::size_t i = 0; i < m.nodes.size(); ++i)
      for (std::size_t j = i + 1; j < m.nodes.size(); ++j)
        if (m.at(i, j) != 0 || m.at(j, i) != 0) f(i, j);
  }

  void note_hops(Matrix matrix) {
    hops_ = std::move(matrix);
    for (std::size_t i = 0; i < hops_.nodes.size(); ++i) hops_places_[hops_.nodes[i]] = i;
  }

  bool is_far(std::uint32_t a, std::uint32_t b) const {
    auto const i = hops_places_.find(a);
    auto const j = hops_places_.find(b);
    return i != hops_places_.end() && j != hops_places_.end() && hops_.at(i->second, j->second) > 1;
  }

  void read_bandwidths(pugi::xml_node element) {
    auto const name = name_of_matrix(element);
    auto const import_as = o_.decide("matrix", name, {}, 0, std::string());
    if (import_as == ImportAs::omitted) return;
    auto const kind = link_kind(import_as);
    auto const m = read(element, Keep::largest);
    std::uint64_t pairs = 0;
    bool constant = true;
    each_pair(m, [&](std::size_t i, std::size_t j) {
      ++pairs;
      constant = constant && m.at(i, j) == kConstant && m.at(j, i) == kConstant;
    });
    o_.builder.expect_links(pairs);
    each_pair(m, [&](std::size_t i, std::size_t j) {
      auto const a = m.nodes[i];
      auto const b = m.nodes[j];
      auto const facts = (constant ? kSeveral : 0U) | (kind == LinkKind::xgmi && is_far(a, b) ? kAbsurd : 0U);
      if (o_.decide("matrix pair", name, {}, facts, [&] { return o_.quoted(a) + " and " + o_.quoted(b); }) !=
          ImportAs::omitted)
        add(a, b, kind, m.at(i, j), m.at(j, i));
    });
  }

  std::uint64_t value(std::string_view text, std::string const& name) const {
    std::uint64_t megabytes = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), megabytes);
    if (error != std::errc{} || end != text.data() + text.size() ||
        megabytes > kHighestBandwidth.bytes_per_second / kMegabyte) {
      throw UserError(o_.where + ": the matrix " + name + " has the value '" + shown(text) +
                      "', but it must be a whole number of MB/s, at most " +
                      std::to_string(kHighestBandwidth.bytes_per_second / kMegabyte));
    }
    return megabytes;
  }

  // The matrix gives the sum over parallel links, in MB/s; their number follows from the bandwidth of one
  // link.
  void add(std::uint32_t a, std::uint32_t b, LinkKind kind, std::uint64_t forward, std::uint64_t backward) {
    bool const both = forward != 0 && backward != 0;
    if (o_.decide("matrix value", {}, {}, both ? kNumber : 0U,
                  [&] { return o_.quoted(a) + " and " + o_.quoted(b); }) == ImportAs::assumed)
      forward = backward = std::max(forward, backward);
    forward *= kMegabyte;
    backward *= kMegabyte;
    auto const one = o_.defaults.bandwidth(kind).take().bytes_per_second;
    auto const count =
        std::clamp<std::uint64_t>((std::max(forward, backward) + one / 2) / one, 1, kMaxParallelLinks);
    o_.tally.no_latency(kind, count);
    o_.builder.add_link(a, b, kind, o_.defaults.latency(kind), {forward / count}, {backward / count},
                        static_cast<std::uint32_t>(count));
    any_ = true;
    trunks_ = trunks_ || (o_.node(a).kind == NodeKind::nvswitch && o_.node(b).kind == NodeKind::nvswitch);
  }

  HwlocObjects& o_;
  Matrix hops_;
  std::map<std::uint32_t, std::size_t> hops_places_;
  bool any_ = false;
  bool trunks_ = false;
};

}  // namespace

std::set<std::string> objects_of_matrices(pugi::xml_node topology) {
  std::set<std::string> objects;
  for (char const* element : {"distances2", "distances2hetero"})
    for (auto matrix : topology.children(element))
      if (is_of_links(matrix))
        each_word(matrix, "indexes", [&](std::string_view word) {
          if (objects.size() <= kMaxMatrixObjects) objects.insert(with_type(matrix, word));
        });
  return objects;
}

void join_hwloc_objects(HwlocObjects& objects, pugi::xml_node topology) {
  Matrices(objects).join(topology);
}

}  // namespace farfault::topologies
