// SPDX-License-Identifier: Apache-2.0
#include "farfault/cli/parameter_sections.hpp"

#include <memory>
#include <string>
#include <utility>

#include "application_params.hpp"
#include "farfault/cli/run_options.hpp"
#include "farfault/topologies/machine_config.hpp"
#include "farfault/workloads/registry.hpp"

namespace farfault::cli {

ParameterSections parameter_sections(Extensions const& extensions) {
  ParameterSections sections;
  sections.add<RunParams>("run", "Run");
  sections.add<InputLimits>("limits", "Maximum sizes of inputs");
  auto const machine = std::make_shared<topologies::MachineConfig>();
  machine->each_section([&](std::string_view name, std::string_view text, auto& spec) {
    ParameterSections::Section section{std::string(name), std::string(text),
                                       ParamTable(&extensions.policies()), machine};
    spec.describe(section.table);
    sections.add(std::move(section));
    if (name == "gpu.l2_tlb") {
      auto const level = std::make_shared<topologies::TlbLevelParams>();
      ParameterSections::Section levels{
          .name = std::string(topologies::TranslationLevels::kSection),
          .text =
              "Level of shared TLBs between the SMs and the GMMU, instead of [gpu.l2_tlb]: one table "
              "[[gpu.translation.level]] each, in the order of a miss. --set "
              "gpu.translation.level.NAME.KEY=VALUE overrides a parameter of one level",
          .table = ParamTable(&extensions.policies()),
          .spec = level,
          .most_tables = topologies::TranslationLevels::kMax};
      level->describe(levels.table);
      sections.add(std::move(levels));
    }
  });
  sections.add<WorkloadChoice>("workload", "Workload");
  for (auto const& workload : extensions.workloads()) {
    std::shared_ptr<workloads::WorkloadBuilder> const builder = workload.make();
    ParameterSections::Section section{
        "workload." + std::string(workload.name), std::string(workload.text), {}, builder};
    builder->describe(section.table);
    sections.add(std::move(section));
  }
  sections.add<ApplicationParams>(
      "application",
      "One of several concurrent applications, instead of [workload]: one table [[application]] each. --set "
      "application.NAME.KEY=VALUE overrides a parameter of one application or of its workload",
      Applications::kMax);
  return sections;
}

}  // namespace farfault::cli
