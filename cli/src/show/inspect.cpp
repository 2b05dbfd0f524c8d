// SPDX-License-Identifier: Apache-2.0
#include "farfault/cli/inspect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <string_view>

#include "farfault/engine/checkpoint.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"
#include "farfault/engine/units.hpp"
#include "farfault/results/reader.hpp"
#include "farfault/results/sweep.hpp"
#include "farfault/topologies/description.hpp"
#include "farfault/workloads/inspect.hpp"
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
                        topologies::MachineFormats const& more) {
  std::error_code error;
  auto const status = fs::status(file, error);
  if (!exists(file)) {
    auto const names = topologies::builtin_machines();
    if (std::find(names.begin(), names.end(), file) != names.end()) return topology(file, form, limits, more);
    auto const near = nearest_name(file, names);
    throw UserError(fmt::format("{}: neither a file nor a built-in machine ({}){}", one_line(file),
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
  if (form == InspectForm::dot)
    throw UserError(one_line(file) + ": not a machine; --dot works only for machines");
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
  throw UserError(one_line(file) +
                  ": not a machine, graph, trace, result or checkpoint that farfault supports");
}

}  // namespace

void inspect(std::string const& file, InspectForm form, std::ostream& out, InputLimits const& limits,
             topologies::MachineFormats const& more) {
  auto text = description(file, form, limits, more);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  if (form == InspectForm::readable) out << one_line(file) << ": ";
  out << text << "\n";
}

}  // namespace farfault::cli
