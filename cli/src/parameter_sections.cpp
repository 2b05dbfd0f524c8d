// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <utility>

#include "application_params.hpp"
#include "farfault/cli/listing.hpp"
#include "farfault/cli/simulation.hpp"
#include "farfault/topologies/assembly.hpp"
#include "farfault/workloads/registry.hpp"

namespace farfault::cli {

ParameterSections parameter_sections(Extensions const& extensions) {
  ParameterSections sections;
  sections.add<RunParams>("run", "the run itself");
  sections.add<InputLimits>("limits", "how much an input may describe");
  auto const machine = std::make_shared<topologies::MachineConfig>();
  machine->each_section([&](std::string_view name, std::string_view text, auto& spec) {
    ParameterSections::Section section{std::string(name), std::string(text),
                                       ParamTable(&extensions.policies()), machine};
    spec.describe(section.table);
    sections.add(std::move(section));
  });
  sections.add<WorkloadChoice>("workload", "what runs");
  for (auto const& workload : extensions.workloads()) {
    std::shared_ptr<workloads::WorkloadBuilder> const builder = workload.make();
    ParameterSections::Section section{
        "workload." + std::string(workload.name), std::string(workload.text), {}, builder};
    builder->describe(section.table);
    sections.add(std::move(section));
  }
  sections.add<ApplicationParams>(
      "application",
      "one of several that run at once, in the place of [workload]: a table [[application]] for each; --set "
      "application.NAME.KEY=VALUE changes one, its workload's parameters among them");
  return sections;
}

}  // namespace farfault::cli
