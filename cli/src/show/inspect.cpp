// SPDX-License-Identifier: Apache-2.0
#include "farfault/cli/inspect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <sstream>
#include <string_view>

#include "farfault/engine/checkpoint.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"
#include "farfault/engine/units.hpp"
#include "farfault/results/reader.hpp"
#include "farfault/results/sweep.hpp"
#include "farfault/topologies/description.hpp"
#include "farfault/topologies/gpu_description.hpp"
#include "farfault/topologies/sm_count.hpp"
#include "farfault/workloads/inspect.hpp"
#include "model/model.hpp"
#include "process/counted.hpp"
#include "trace/recording.hpp"
#include "trace/trace_check.hpp"

namespace farfault::cli {
namespace {

namespace fs = std::filesystem;

bool is_hdf5(std::string const& file) {
  static constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
  return first_bytes(file, kSignature.size()) == kSignature;
}

std::string topology(std::string const& file, InspectForm form, InputLimits const& limits,
                     topologies::MachineFormats const& more) {
  auto const machine = topologies::load_machine(file, {}, limits, more);
  switch (form) {
    case InspectForm::json:
      return topologies::describe_json(machine);
    case InspectForm::dot:
      return topologies::describe_dot(machine);
    case InspectForm::readable:
      break;
  }
  return topologies::describe_text(machine);
}

// Its first line with content is a heading or an assignment of TOML.
bool looks_like_configuration(std::string const& file) {
  std::istringstream text(first_bytes(file, std::size_t{1} << 16U));
  for (std::string line; std::getline(text, line);) {
    auto const begin = line.find_first_not_of(" \t\r");
    if (begin == line.npos || line[begin] == '#') continue;
    auto const is_word = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
    };
    auto at = begin;
    while (at < line.size() && line[at] == '[') ++at;
    auto const brackets = at - begin;
    auto const word = at;
    while (at < line.size() && is_word(line[at])) ++at;
    auto const end = line.find_first_not_of(" \t", at);
    return brackets <= 2 && at > word && end != line.npos && line[end] == (brackets == 0 ? '=' : ']');
  }
  return false;
}

std::string configuration(std::string const& file, InspectForm form, Extensions const& extensions) {
  RunOptions options;
  options.config_path = file;
  options.extensions = extensions;
  Model const model(options);
  auto const& machine = model.machine;
  auto const sms = topologies::sms_of_gpu(machine, model.machine_config.gpu.sms);
  switch (form) {
    case InspectForm::json:
      return R"({"kind":"configuration","machine":)" + topologies::describe_json(machine) + R"(,"gpu":)" +
             topologies::gpu_json(model.machine_config, sms) + "}";
    case InspectForm::dot:
      return topologies::gpu_dot(model.machine_config, sms);
    case InspectForm::readable:
      break;
  }
  return fmt::format("configuration of machine {}: {}, {}\n", shown(machine.name),
                     counted(machine.count(topologies::NodeKind::gpu), "GPU"),
                     counted(machine.count(topologies::NodeKind::cpu), "CPU")) +
         topologies::gpu_text(model.machine_config, sms);
}

std::string checkpoint(std::string const& file, InspectForm form) {
  auto const c = read_checkpoint(file);
  std::uint64_t bytes = 0;
  for (auto const& part : c.parts) bytes += part.size();
  auto const& h = c.header;
  auto const time = to_text(h.time.time_since_epoch());
  if (form == InspectForm::json)
    return fmt::format(
        R"({{"kind":"checkpoint","time_ps":{},"config_hash":"{:016x}","components":{},"pending_events":{},)"
        R"("ranks":{},"state_bytes":{}}})",
        picoseconds(h.time), h.config_hash, h.components, h.events, c.parts.size(), bytes);
  return fmt::format(
      "checkpoint, complete\n"
      "  simulated time   {}\n"
      "  configuration    {:016x}\n"
      "  components       {}\n"
      "  pending events   {}\n"
      "  saved by         {}, {} bytes of state\n"
      "to continue: run the command that wrote it with --resume {}; its result, F.h5.partial, must exist at "
      "--output",
      time, h.config_hash, h.components, h.events, counted(c.parts.size(), "rank"), bytes, file);
}

std::string description(std::string const& file, InspectForm form, InputLimits const& limits,
                        Extensions const& extensions) {
  auto const& more = extensions.machine_formats();
  std::error_code error;
  auto const status = fs::status(file, error);
  if (!exists(file)) {
    auto names = topologies::builtin_machines();
    if (std::find(names.begin(), names.end(), file) != names.end()) return topology(file, form, limits, more);
    if (extensions.find_preset(file)) return configuration(file, form, extensions);
    auto const presets = extensions.preset_names();
    names.insert(names.end(), presets.begin(), presets.end());
    auto const near = nearest_name(file, names);
    throw UserError(fmt::format("{}: neither a file nor a built-in machine or preset ({}){}", one_line(file),
                                fmt::join(names, ", "),
                                near.empty() ? std::string() : "; did you mean '" + near + "'?"));
  }
  auto const folder = fs::is_directory(status);  // a trace may be one
  auto const why_not = why_not_readable(file);
  if (!folder && !why_not.empty()) throw UserError(one_line(file) + ": " + why_not);
  if (!folder && fs::file_size(file, error) == 0) throw UserError(one_line(file) + ": file is empty");

  auto const json = form == InspectForm::json;
  auto const result = !folder && is_hdf5(file);
  auto const saved = !folder && !result && looks_like_checkpoint(file);
  if (!folder && !result && !saved && topologies::looks_like_machine(file, more))
    return topology(file, form, limits, more);
  bool const text = !folder && !result && !saved;
  if (text && !looks_like_trace(file) && !workloads::looks_like_trace(file) &&
      !workloads::looks_like_graph(file) && looks_like_configuration(file))
    return configuration(file, form, extensions);
  if (form == InspectForm::dot)
    throw UserError(one_line(file) + ": not a machine; --dot works only for machines and configurations");
  if (saved) return checkpoint(file, form);
  if (result && results::looks_like_sweep(file)) {
    auto const summary = results::read_sweep(file);
    return json ? results::to_json(summary) : results::to_text(summary);
  }
  if (result) {
    auto const summary = results::read_summary(file);
    return json ? results::to_json(summary) : results::to_text(summary);
  }
  if (!folder && looks_like_trace(file)) {
    if (auto const damage = why_no_whole_trace(file); !damage.empty())
      throw UserError(one_line(file) + ": the Perfetto trace is damaged: " + damage +
                      "; write it again with farfault run --trace");
    auto const bytes = fs::file_size(file, error);
    return json ? fmt::format(R"({{"kind":"perfetto_trace","bytes":{}}})", bytes)
                : fmt::format("Perfetto trace of a run, {} bytes; open it at https://ui.perfetto.dev", bytes);
  }
  if (workloads::looks_like_trace(file))
    return json ? workloads::describe_trace_json(file, limits) : workloads::describe_trace_text(file, limits);
  if (!folder && workloads::looks_like_graph(file))
    return json ? workloads::describe_graph_json(file, limits) : workloads::describe_graph_text(file, limits);
  throw UserError(
      one_line(file) +
      ": not a machine, configuration, graph, trace, result or checkpoint that farfault supports");
}

}  // namespace

void inspect(std::string const& file, InspectForm form, std::ostream& out, InputLimits const& limits,
             Extensions const& extensions) {
  auto text = description(file, form, limits, extensions);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  if (form == InspectForm::readable) out << one_line(file) << ": ";
  out << text << "\n";
}

}  // namespace farfault::cli
