// SPDX-License-Identifier: Apache-2.0
#include "model.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "farfault/engine/archive.hpp"
#include "farfault/engine/files.hpp"
#include "farfault/topologies/host_gpus.hpp"
#include "farfault/topologies/load.hpp"
#include "farfault/topologies/model_size.hpp"
#include "farfault/topologies/sm_count.hpp"

namespace farfault::cli {

namespace {

std::string known_presets(Extensions const& extensions) {
  std::string list;
  for (auto const& name : extensions.preset_names()) list += (list.empty() ? "" : ", ") + name;
  return list;
}

// Wraps a function that reads files.
template <class Read>
auto reading_files(Read read) {
  try {
    return read();
  } catch (UserError const& e) {
    throw InputFileError(e.what());
  }
}

}  // namespace

Model::Model(RunOptions const& options, std::vector<std::string> const& variable)
    : config([&](std::string_view name) { return options.extensions.find_preset(name); }),
      policies(&options.extensions.policies()),
      options_(options) {
  auto const& extensions = options.extensions;
  auto const& path = options.config_path;
  config.may_vary(variable);
  ApplicationSet::prepare(config);
  topologies::MachineConfig::prepare(config);
  auto const preset = extensions.find_preset(path);
  bool const there = exists(path);
  if (!there && !preset && path.find_first_of("./") == std::string::npos)
    throw UserError("'" + path + "' is neither a file nor a preset (" + known_presets(extensions) + ")");
  if (!there && preset)
    config.read_text(*preset, path);
  else
    config.read_file(path);
  for (auto const& s : options.study_settings) config.set(s.key, s.value, s.file, s.line);
  for (auto const& s : options.sets) config.set(s);
  for (auto const& s : options.point_settings) config.set(s.key, s.value, s.file, s.line);
  if (!config.where("run.sample_interval").empty()) run.sample_doubling = 0;
  bind("run", run);
  bind(kLimits, limits);
  machine_config.bind(config, policies);
  applications.bind(config, extensions.workloads(), policies);
  config.reject_errors();
  machine_config.check(config);
  config.reject_errors();
  load_machine();
  machine_config.fit_to(machine, config);
  share();
  config.reject_errors();
  open_placement();
  note_inputs();
}

bool Model::vary(std::vector<PlacedSetting> const& settings) {
  auto const before = std::exchange(varied_, {});
  auto const is_new = [&](std::size_t i) { return before.empty() || before[i].value != settings[i].value; };
  bool is_other_machine = before.empty(), is_other_placement = before.empty();
  try {
    for (std::size_t i = 0; i < settings.size(); ++i) {
      auto const& s = settings[i];
      if (!is_new(i) && before[i].line == s.line) continue;
      if (!config.vary(s.key, s.value, s.file, s.line)) return false;
      auto const below = [&](std::string_view section) { return s.key.starts_with(section); };
      is_other_machine = is_other_machine || below("machine.") || below("links.") || below("limits.");
      is_other_placement = is_other_placement || below("memory.");
    }
    config.choose_again();
    machine_config.exclude_unused(config);
    applications.derive(config);
    if (config.has_errors()) return false;
    machine_config.check(config);
    if (config.has_errors()) return false;
    if (is_other_machine) load_machine();
    machine_config.fit_to(machine, config);
    share();
    if (config.has_errors()) return false;
    if (is_other_placement) open_placement();
  } catch (InputFileError const&) {
    throw;
  } catch (UserError const&) {
    return false;
  }
  note_inputs();
  varied_ = settings;
  return true;
}

void Model::share() {
  applications.share(config, topologies::gpus_of_host(machine, machine_config.memory.scope.facts()),
                     topologies::sms_of_gpu(machine, machine_config.gpu.sms));
}

void Model::open_placement() {
  placement = machine_config.memory.placement.make({});
  auto const path = [this](std::string_view parameter, std::string const& name) {
    return path_of("memory." + std::string(parameter), name);
  };
  placement_inputs_ = reading_files([&] { return placement->open(path); });
}

void Model::note_inputs() {
  inputs.clear();
  if (machine_source_)
    inputs.push_back(
        {"machine.topology", machine_source_->path, machine_source_->bytes, machine_source_->hash});
  for (auto const& input : placement_inputs_)
    inputs.push_back({"memory." + input.parameter, input.file.path, input.file.bytes, input.file.hash});
}

void Model::assemble() {
  topologies::check_model_size(machine, machine_config, limits);
  assembly.emplace(machine, machine_config, applications.applications(), *placement);
}

void Model::load_machine() {
  machine_config.links.forget();
  if (machine_config.machine.topology == "generic")
    machine = topologies::generate_generic(machine_config.generic, machine_config.links);
  else
    machine = reading_files([&] {
      return topologies::load_machine(path_of("machine.topology", machine_config.machine.topology),
                                      machine_config.links, limits, options_.extensions.machine_formats());
    });
  machine_source_ = machine.source;
  if (machine_config.cluster.machines > 1)
    machine = topologies::generate_cluster(machine, machine_config.cluster, machine_config.links);
  machine_config.link_scale.apply(machine, config);
}

void Model::build_workloads() {
  workloads::BuildContext context;
  context.warp_width = machine_config.gpu.warp_width;
  context.page_bytes = machine_config.memory.page_size.bytes;
  context.seed = run.seed;
  context.limits = limits;
  applications.build(config, context, [this](std::string const& parameter) { return folder_of(parameter); });
  for (std::size_t a = 0; a < applications.all().size(); ++a)
    for (auto const& input : applications.workload(a).inputs())
      inputs.push_back({applications.all()[a].file, input.path, input.bytes, input.hash});
}

std::uint64_t Model::hash() const {
  Hasher hasher;
  std::vector<std::string> without{kLimits};
  for (auto const& input : inputs) without.push_back(input.parameter);
  auto const text = config.resolved(without);
  hasher.raw(reinterpret_cast<std::byte const*>(text.data()), text.size());
  for (auto const& input : inputs) {
    hasher.raw(reinterpret_cast<std::byte const*>(input.parameter.data()), input.parameter.size());
    hasher.mix(input.bytes);
    hasher.mix(input.hash);
  }
  return hasher.value();
}

// A relative file name in a configuration is relative to that file.
std::string Model::folder_of(std::string const& key) const {
  auto const where = config.where(key);
  auto const colon = where.rfind(':');
  if (where.empty() || colon == std::string::npos || where.starts_with("--set")) return {};
  return std::filesystem::path(where.substr(0, colon)).parent_path().string();
}

std::string Model::path_of(std::string const& key, std::string const& name) const {
  auto const names = topologies::builtin_machines();
  if (key == "machine.topology" && std::find(names.begin(), names.end(), name) != names.end()) return name;
  auto const relative = std::filesystem::path(folder_of(key)) / name;
  return exists(relative.string()) ? relative.string() : name;
}

}  // namespace farfault::cli
