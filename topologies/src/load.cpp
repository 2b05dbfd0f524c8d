#include "farfault/topologies/load.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"
#include "importers.hpp"
#include "preset_texts.hpp"
#include "text_file.hpp"
#include "xml_document.hpp"

namespace farfault::topologies {
namespace {

constexpr std::size_t kSniffed = 64U << 10U;

enum class Format { unknown, toml, nccl_xml, hwloc_xml, graphml, ibnetdiscover, topograph_yaml };

// The first format of which a line opens so, spaces aside.
Format format_of_lines(std::string_view text) {
  auto const has_switches = text.find("switches:") != text.npos;
  for (auto rest = text; !rest.empty();) {
    auto const end = std::min(rest.find('\n'), rest.size());
    auto line = rest.substr(0, end);
    if (line.starts_with("Switch\t") || line.starts_with("Ca\t")) return Format::ibnetdiscover;
    if (line.starts_with("blocks:") && has_switches) return Format::topograph_yaml;
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (line.starts_with("[[node]]") || line.starts_with("[[link]]")) return Format::toml;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return Format::unknown;
}

Format format_of(std::string_view text) {
  auto const root = xml_root_name(text.substr(0, kSniffed));
  if (root == "system") return Format::nccl_xml;
  if (root == "topology") return Format::hwloc_xml;
  if (root == "graphml") return Format::graphml;
  return root.empty() ? format_of_lines(text) : Format::unknown;
}

std::string names_of(MachineFormats const& formats) {
  std::string names;
  for (auto const& format : formats) names += format.text + " (" + format.name + "), ";
  return names;
}

MachineFormat const* format_from_outside(std::string_view text, MachineFormats const& more) {
  auto const head = text.substr(0, kSniffed);
  auto const it = std::ranges::find_if(more, [&](auto const& format) { return format.opens(head); });
  return it == more.end() ? nullptr : &*it;
}

MachineBuilder parse(std::string_view text, std::string const& where, LinkDefaults const& defaults,
                     InputLimits const& limits, MachineFormats const& more) {
  if (auto const* const outside = format_from_outside(text, more))
    return outside->parse(text, where, defaults, limits);
  switch (format_of(text)) {
    case Format::toml:
      return parse_toml_machine(text, where, defaults, limits);
    case Format::nccl_xml:
      return parse_nccl_xml(text, where, defaults, limits);
    case Format::hwloc_xml:
      return parse_hwloc_xml(text, where, defaults, limits);
    case Format::graphml:
      return parse_graphml(text, where, defaults, limits);
    case Format::ibnetdiscover:
      return parse_ibnetdiscover(text, where, defaults, limits);
    case Format::topograph_yaml:
      return parse_topograph_yaml(text, where, defaults, limits);
    case Format::unknown:
      break;
  }
  throw UserError(where +
                  ": not a machine: expected NCCL/RCCL topology XML (<system>), hwloc XML (<topology>), " +
                  "GraphML (<graphml>), ibnetdiscover output, a topograph model, " + names_of(more) +
                  "or TOML with [[node]]");
}

}  // namespace

Machine parse_machine(std::string_view text, std::string const& name, LinkDefaults const& defaults,
                      InputLimits const& limits, MachineFormats const& more) {
  return parse(text, name, defaults, limits, more).finish(name);
}

Machine load_machine(std::string const& file_or_name, LinkDefaults const& defaults, InputLimits const& limits,
                     MachineFormats const& more) {
  for (auto const& builtin : machine_texts()) {
    if (builtin.name != file_or_name) continue;
    auto machine = parse_machine(builtin.text, "machine '" + file_or_name + "'", defaults, limits);
    machine.name = file_or_name;
    machine.format = "builtin";
    return machine;
  }
  if (!is_there(file_or_name)) {
    auto const names = builtin_machines();
    auto const near = nearest_name(file_or_name, names);
    std::string list;
    for (auto const& name : names) list += (list.empty() ? "" : ", ") + name;
    throw UserError(shown(file_or_name) + ": neither a file nor a built-in machine (" + list + ")" +
                    (near.empty() ? std::string() : "; did you mean '" + near + "'?"));
  }
  auto const where = one_line(file_or_name);
  auto const text = read_text_file(file_or_name, "a machine file");
  auto machine = parse_machine(text, where, defaults, limits, more);
  machine.source = MachineSource{file_or_name, text.size(), fnv1a(text)};
  if (machine.name == where) machine.name = std::filesystem::path(file_or_name).stem().string();
  return machine;
}

std::vector<std::string> builtin_machines() {
  std::vector<std::string> names;
  for (auto const& builtin : machine_texts()) names.emplace_back(builtin.name);
  std::ranges::sort(names);
  return names;
}

bool looks_like_machine(std::string const& path, MachineFormats const& more) {
  if (!why_not_readable(path).empty()) return false;
  std::ifstream in(path, std::ios::binary);
  std::string head(kSniffed, '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  return format_from_outside(head, more) != nullptr || format_of(head) != Format::unknown;
}

}  // namespace farfault::topologies
