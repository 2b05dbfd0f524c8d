// SPDX-License-Identifier: Apache-2.0
// Configurations. A TOML text, in which a line "--set KEY=VALUE" is that option, is bound to all parameters
// and to the applications on four GPUs with 36 SMs. The resolved text of an accepted configuration must parse
// to the same configuration.
#include <memory>
#include <vector>

#include "farfault/engine/config.hpp"
#include "farfault/topologies/machine_config.hpp"
#include "farfault/workloads/registry.hpp"
#include "harness.hpp"
#include "model/application_set.hpp"

using namespace farfault;

namespace {

struct Input {
  std::string toml;
  std::vector<std::string> sets;
};

Input input_of(std::string_view text) {
  constexpr std::string_view kSet = "--set ";
  Input input;
  while (!text.empty()) {
    auto const end = std::min(text.find('\n'), text.size() - 1) + 1;
    auto const line = text.substr(0, end);
    if (line.starts_with(kSet))
      input.sets.emplace_back(line.substr(kSet.size(), line.size() - kSet.size() - (line.back() == '\n')));
    else
      input.toml += line;
    text.remove_prefix(end);
  }
  return input;
}

std::string resolved(Input const& input) {
  Config config(topologies::find_preset);
  cli::ApplicationSet::prepare(config);
  topologies::MachineConfig::prepare(config);
  config.read_text(input.toml, "f");
  for (auto const& assignment : input.sets) config.set(assignment);
  topologies::MachineConfig machine;
  machine.bind(config);
  config.take_strings("names");
  cli::ApplicationSet applications;
  applications.bind(config, workloads::all(), nullptr);
  config.reject_errors();
  machine.check(config);
  config.reject_errors();
  machine.translation.fit_to(36, machine.l2_cache.parts().count, config);
  applications.share(config, 4, 36);
  config.reject_errors();
  return config.resolved();
}

}  // namespace

void fuzz_one(fuzz::Bytes bytes) {
  auto const input = input_of(fuzz::text_of(bytes));
  std::string first;
  if (!fuzz::accepts([&] { first = resolved(input); })) return;
  std::string second;
  bool const again = fuzz::accepts([&] { second = resolved({first, {}}); });
  fuzz::expect(again && second == first, "a resolved configuration reads back unchanged", first);
}
