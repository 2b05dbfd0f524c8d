// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "command_set.hpp"
#include "farfault/cli/exit_codes.hpp"
#include "farfault/cli/listing.hpp"
#include "farfault/cli/run_options.hpp"

namespace farfault::cli {
namespace {

struct ListingWords {
  RunOptions run;
  std::string section;
  bool json = false;
};

}  // namespace

void add_params(CommandSet& set) {
  auto const o = std::make_shared<ListingWords>();
  auto* const c =
      set.add("params", "List the parameters of a configuration, with defaults and their sources",
              "farfault params gpu.l2_tlb", [&set, o] {
                list_parameters(parameter_sections(set.extensions()), o->section, o->json, set.out());
                return kDone;
              });
  c->add_option("section", o->section, "List only the parameters below this table")->type_name("SECTION");
  add_json(c, o->json);
}

void add_workloads(CommandSet& set) {
  auto const o = std::make_shared<ListingWords>();
  auto* const c = set.add("workloads", "List the workloads", "farfault workloads", [&set, o] {
    list_workloads(set.extensions().workloads(), o->json, set.out());
    return kDone;
  });
  add_json(c, o->json);
}

void add_statistics(CommandSet& set) {
  auto const o = std::make_shared<ListingWords>();
  auto* const c =
      set.add("statistics", "List the statistics and table columns that a run records, by path in the result",
              "farfault statistics paper-gmmu-bypass", [&set, o] {
                o->run.extensions = set.extensions();
                list_statistics(o->run, o->json, set.out());
                return kDone;
              });
  c->add_option("config", o->run.config_path, "TOML file or preset")->required()->type_name("CONFIG");
  c->add_option("--set", o->run.sets, "Override a parameter")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  add_json(c, o->json);
}

}  // namespace farfault::cli
