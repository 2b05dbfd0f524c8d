// SPDX-License-Identifier: Apache-2.0
#include "farfault/topologies/gpu_description.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

namespace farfault::topologies {
namespace {

using Json = nlohmann::ordered_json;

std::string count_of(std::uint64_t count, std::string const& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}
std::string cycles(std::uint64_t count) {
  return count_of(count, "cycle");
}

std::string entries(std::uint64_t count) {
  return std::to_string(count) + (count == 1 ? " entry" : " entries");
}

// A line: name, number, place and size, in columns.
struct Line {
  std::string name;
  std::uint64_t number = 0;
  std::string place;
  std::string size;
};

std::string size_of(L2TlbParams const& tlb) {
  auto const looked_up = ", " + count_of(tlb.ports, "port") + ", " + cycles(tlb.latency);
  if (tlb.entries == 0) return "no entries" + looked_up;
  return tlb.policies.organization.name() + ", " + entries(tlb.entries) + " in " + std::to_string(tlb.ways) +
         " ways" + looked_up + ", " + count_of(tlb.mshrs, "MSHR");
}

std::string for_sms(std::uint32_t sms) {
  return sms == 1 ? "for each SM" : "for every " + std::to_string(sms) + " SMs";
}

std::string place_of(TlbLevelParams const& level, std::uint32_t sms) {
  auto const groups = level.groups_of(sms);
  auto const of = groups == 1         ? std::string("for all SMs")
                  : level.sms != 0    ? for_sms(level.sms)
                  : sms % groups == 0 ? for_sms(sms / groups)
                                      : "for every " + std::to_string(sms / groups) + " or " +
                                            std::to_string(sms / groups + 1) + " SMs";
  if (level.banks == 1) return of;
  return std::to_string(level.banks) + " banks (" + level.hash.name() + ", " + to_text(level.interleave) +
         ") " + of;
}

std::string walkers_of(MachineConfig const& c) {
  auto const last = c.tlb_levels().back();
  auto const walkers = count_of(c.gmmu.walkers, "page walker");
  if (!last.may_be_several() || c.gmmu.shared_by == SharedWalkers::gpu) return walkers;
  auto const whom = c.gmmu.shared_by == SharedWalkers::group ? " for each group of '" : " for each TLB of '";
  return walkers + whom + last.name + "'";
}

std::string hash_text(std::string const& hash) {
  return hash == "turns" ? "in turns" : "hash " + hash;
}

std::vector<Line> lines_of(MachineConfig const& c, std::uint32_t sms) {
  std::vector<Line> lines;
  lines.push_back({"sm", sms, "",
                   "L1 TLB of " + entries(c.l1_tlb.entries) + ", " + c.l1_tlb.misses.name() +
                       ", L1 cache of " + to_text(c.l1_cache.size)});
  for (auto const& kind : c.read_only_caches())
    lines.push_back(
        {kind.name, kind.caches(sms), for_sms(kind.params.sms),
         "TLB of " + entries(kind.params.tlb_entries) + ", cache of " + to_text(kind.params.size)});
  for (auto const& level : c.tlb_levels())
    lines.push_back(
        {level.name, std::uint64_t{level.banks} * level.groups_of(sms),
         place_of(level, sms) + ", " + cycles(level.request_latency) + " away" +
             (level.far_latency == 0 ? "" : ", " + cycles(level.far_latency) + " more between partitions"),
         size_of(level)});
  lines.push_back(
      {"gmmu", 1, cycles(c.gpu.translation_latency) + " away",
       walkers_of(c) +
           (c.gmmu.walk_cache == 0 ? ", no walk cache" : ", walk cache of " + entries(c.gmmu.walk_cache))});
  auto const memory = c.gpu_memory();
  lines.push_back(
      {"l2_slice", memory.slices,
       hash_text(c.l2_cache.hash.name()) + ", " + cycles(c.gpu.crossbar_latency) + " away",
       to_text(c.l2_cache.size) + " in all" +
           (c.l2_cache.partitions > 1 ? ", " + count_of(c.l2_cache.partitions, "partition") : "") +
           (c.l2_cache.direct() ? ", " + cycles(c.l2_cache.partition_latency) + " apart" : "")});
  lines.push_back({"dram", memory.channels, "", to_text(c.dram.capacity) + " in all"});
  return lines;
}

}  // namespace

std::string gpu_text(MachineConfig const& config, std::uint32_t sms) {
  auto const lines = lines_of(config, sms);
  std::size_t name = 0, number = 0, place = 0;
  for (auto const& line : lines) {
    name = std::max(name, line.name.size());
    number = std::max(number, std::to_string(line.number).size());
    place = std::max(place, line.place.size());
  }
  std::string out = "inside of each GPU:\n";
  for (auto const& line : lines) {
    auto const count = std::to_string(line.number);
    out += "  " + std::string(number - count.size(), ' ') + count + " " + line.name +
           std::string(name - line.name.size(), ' ') + "  " + line.place +
           std::string(place - line.place.size(), ' ') + "  " + line.size + "\n";
  }
  return out;
}

std::string gpu_json(MachineConfig const& config, std::uint32_t sms) {
  Json levels = Json::array();
  for (auto const& level : config.tlb_levels())
    levels.push_back({{"name", level.name},
                      {"groups", level.groups_of(sms)},
                      {"banks", level.banks},
                      {"hash", level.hash.name()},
                      {"entries", level.entries},
                      {"ports", level.ports},
                      {"mshrs", level.mshrs},
                      {"latency", level.latency},
                      {"request_latency", level.request_latency},
                      {"far_latency", level.far_latency}});
  Json caches = Json::array();
  for (auto const& kind : config.read_only_caches())
    caches.push_back({{"name", kind.name},
                      {"count", kind.caches(sms)},
                      {"sms", kind.params.sms},
                      {"size", kind.params.size.bytes},
                      {"tlb_entries", kind.params.tlb_entries}});
  auto const last = config.tlb_levels().back();
  Json const gpu = {{"sms", sms},
                    {"levels", std::move(levels)},
                    {"read_only_caches", std::move(caches)},
                    {"walkers", config.gmmu.walkers},
                    {"walker_groups", config.gmmu.walker_groups(last.groups_of(sms), last.banks)},
                    {"l2_slices", config.gpu_memory().slices},
                    {"l2_partitions", config.l2_cache.partitions},
                    {"l2_hash", config.l2_cache.hash.name()},
                    {"dram_channels", config.gpu_memory().channels}};
  return gpu.dump();
}

std::string gpu_dot(MachineConfig const& config, std::uint32_t sms) {
  auto const edge = [](std::string const& from, std::string const& to, std::uint32_t latency) {
    return "  \"" + from + "\" -> \"" + to + "\" [label=\"" + cycles(latency) + "\"];\n";
  };
  // The number of the group only if there are several, as in the names of components.
  auto const node = [&](TlbLevelParams const& level, std::uint32_t group) {
    return level.name + (level.groups_of(sms) > 1 ? std::to_string(group) : "");
  };
  std::string nodes, edges;
  auto const levels = config.tlb_levels();
  auto const& first = levels.front();
  for (std::uint32_t begin = 0; begin < sms;) {
    auto end = begin + 1;
    auto const group = first.group_of(begin, sms);
    while (end < sms && first.group_of(end, sms) == group) ++end;
    auto const name = end - begin == 1 ? "SM " + std::to_string(begin)
                                       : "SMs " + std::to_string(begin) + " to " + std::to_string(end - 1);
    nodes += "  \"" + name + "\" [shape=box];\n";
    edges += edge(name, node(first, group), first.request_latency);
    begin = end;
  }
  for (std::size_t l = 0; l < levels.size(); ++l) {
    auto const& level = levels[l];
    std::uint32_t group = 0;
    for (std::uint32_t sm = 0; sm < sms; ++sm) {
      if (level.group_of(sm, sms) != group) continue;
      auto const name = node(level, group++);
      nodes += "  \"" + name + "\" [label=\"" + name +
               (level.banks > 1 ? "\\n" + count_of(level.banks, "bank") : std::string()) + "\\n" +
               entries(level.entries) + ", " + count_of(level.ports, "port") + "\"];\n";
      if (l + 1 < levels.size())
        edges +=
            edge(name, node(levels[l + 1], levels[l + 1].group_of(sm, sms)), levels[l + 1].request_latency);
      else
        edges += edge(name, "gmmu", config.gpu.translation_latency);
    }
  }
  return "digraph \"translation of a GPU\" {\n  rankdir=LR;\n" + nodes +
         "  \"gmmu\" [shape=hexagon,label=\"gmmu\\n" + walkers_of(config) + "\"];\n" + edges + "}\n";
}

}  // namespace farfault::topologies
