// SPDX-License-Identifier: Apache-2.0
#include "farfault/cli/extensions.hpp"

#include <algorithm>

#include "application_params.hpp"
#include "farfault/cli/parameter_sections.hpp"
#include "farfault/cli/run_options.hpp"
#include "farfault/topologies/machine_config.hpp"

namespace farfault {
namespace {

// `taken`: built-in names. `given`: names of extensions of this kind, including `name`.
void check_name(std::string const& kind, std::string const& name, std::vector<std::string> const& taken,
                std::vector<std::string> const& given) {
  auto const what = kind + " '" + shown(name) + "'";
  if (!is_key(name)) throw UserError(what + ": a name may contain only letters, digits, '_' and '-'");
  if (std::ranges::find(taken, name) != taken.end())
    throw UserError(what + ": Farfault has a built-in one with this name");
  if (std::ranges::count(given, name) != 1) throw UserError(what + " is added twice");
}

template <class Range>
std::vector<std::string> names_of(Range const& range) {
  std::vector<std::string> names;
  for (auto const& one : range) names.push_back(one.name);
  return names;
}

}  // namespace

Extensions& Extensions::machine_format(topologies::MachineFormat format) {
  formats_.push_back(std::move(format));
  return *this;
}

Extensions& Extensions::preset(std::string name, std::string toml) {
  presets_.push_back({std::move(name), std::move(toml)});
  return *this;
}

void Extensions::check() const {
  policies_.check();
  // The table of a workload's parameters has other keys too.
  auto taken = names_of(workloads::all());
  auto const also = [&](auto spec) {
    ParamTable keys;
    spec.describe(keys);
    for (auto const& key : keys.all()) taken.push_back(key.name);
  };
  also(cli::WorkloadChoice());
  also(cli::ApplicationParams());
  for (auto const& w : more_workloads_) {
    check_name("workload", w.name, taken, names_of(more_workloads_));
    try {
      ParamTable table;
      auto const builder = w.make();
      builder->describe(table);
      for (auto const& size : w.sizes) workloads::set_defaults(size, table);
    } catch (UserError const& e) {
      throw UserError("workload '" + w.name + "': " + e.what());
    }
  }
  for (auto const& f : formats_) {
    check_name("machine format", f.name, {}, names_of(formats_));
    if (f.opens == nullptr || f.parse == nullptr)
      throw UserError("machine format '" + f.name +
                      "' needs a function that recognizes files and one that parses them");
  }
  for (auto const& p : presets_) check_name("preset", p.name, topologies::preset_names(), names_of(presets_));
  // Detects names that are taken in the same table: by another policy, or by a parameter.
  static_cast<void>(cli::parameter_sections(*this));
}

std::vector<workloads::WorkloadInfo> Extensions::workloads() const {
  auto all = workloads::all();
  all.insert(all.end(), more_workloads_.begin(), more_workloads_.end());
  return all;
}

std::vector<std::string> Extensions::preset_names() const {
  auto names = topologies::preset_names();
  for (auto const& p : presets_) names.push_back(p.name);
  return names;
}

std::optional<std::string> Extensions::find_preset(std::string_view name) const {
  for (auto const& p : presets_)
    if (p.name == name) return p.text;
  return topologies::find_preset(name);
}

}  // namespace farfault
