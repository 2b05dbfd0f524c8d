// SPDX-License-Identifier: Apache-2.0
#include "farfault/topologies/load.hpp"

#include <algorithm>
#include <filesystem>

#include "farfault/engine/config.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"
#include "formats.hpp"
#include "preset_texts.hpp"

namespace farfault::topologies {

bool opens_line(std::string_view text, std::initializer_list<std::string_view> beginnings, Indent indent) {
  while (!text.empty()) {
    auto const end = std::min(text.find('\n'), text.size());
    auto line = text.substr(0, end);
    if (indent == Indent::any) line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    for (auto const beginning : beginnings)
      if (line.starts_with(beginning)) return true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

namespace {

constexpr std::uint64_t kLargestFile = std::uint64_t{64} << 20;
constexpr std::size_t kSniffed = 64U << 10U;

// The first format that recognizes the text, formats of extensions first.
MachineFormat const* format_of(std::string_view text, MachineFormats const& more) {
  for (auto const* formats : {&more, &machine_formats()})
    for (auto const& format : *formats)
      if (format.opens(text)) return &format;
  return nullptr;
}

MachineBuilder parse(std::string_view text, std::string const& where, LinkDefaults const& defaults,
                     InputLimits const& limits, MachineFormats const& more) {
  if (auto const* const format = format_of(text, more)) return format->parse(text, where, defaults, limits);
  std::string known;
  for (auto const* formats : {&machine_formats(), &more})
    for (auto const& format : *formats) known += (known.empty() ? "" : ", ") + format.text;
  throw UserError(where + ": not a machine: expected one of: " + known);
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
  if (!exists(file_or_name)) {
    auto const names = builtin_machines();
    auto const near = nearest_name(file_or_name, names);
    std::string list;
    for (auto const& name : names) list += (list.empty() ? "" : ", ") + name;
    throw UserError(shown(file_or_name) + ": neither a file nor a built-in machine (" + list + ")" +
                    (near.empty() ? std::string() : "; did you mean '" + near + "'?"));
  }
  auto const where = one_line(file_or_name);
  auto const text = farfault::read_text_file(file_or_name, kLargestFile);
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
  return format_of(first_bytes(path, kSniffed), more) != nullptr;
}

}  // namespace farfault::topologies
