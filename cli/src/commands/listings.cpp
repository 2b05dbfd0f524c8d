// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "command_set.hpp"
#include "farfault/cli/exit_codes.hpp"
#include "farfault/cli/listing.hpp"
#include "farfault/cli/run_options.hpp"
#include "show/listing_layout.hpp"

namespace farfault::cli {
namespace {

struct ListingArguments {
  RunOptions run;
  ListingOptions list;
  bool schema = false;
};

std::shared_ptr<ListingArguments> listing_words() {
  auto words = std::make_shared<ListingArguments>();
  words->list.columns = listing_columns();
  return words;
}

CLI::Option* add_search(CLI::App* command, ListingOptions& list, std::string const& text) {
  return command->add_option("--search", list.search, text)->type_name("WORD");
}

}  // namespace

void add_params(CommandSet& set) {
  auto const o = listing_words();
  auto* const c = set.add(
      "params", "List the parameters of a configuration, with defaults and their sources",
      "farfault params gpu.l2_tlb\n"
      "  farfault params --search mshrs l2\n"
      "  farfault params --schema > farfault.schema.json\n"
      "\n"
      "Editors with Taplo (VS Code: Even Better TOML) complete and check a configuration whose first\n"
      "line is `#:schema ./farfault.schema.json`.",
      [&set, o] {
        auto const sections = parameter_sections(set.extensions());
        if (o->schema)
          print_schema(sections, set.extensions().preset_names(), set.out());
        else
          list_parameters(sections, o->list, set.out());
        return kDone;
      });
  auto* const section = c->add_option("section", o->list.section, "List only the parameters below this table")
                            ->type_name("SECTION");
  auto* const search =
      add_search(c, o->list, "List only parameters with all of these words in key, text, choices or source");
  auto* const json = c->add_flag("--json", o->list.json, "Print one JSON object");
  c->add_flag("--schema", o->schema,
              "Print a JSON Schema of configuration files, for completion and checks in editors")
      ->excludes(section)
      ->excludes(search)
      ->excludes(json);
}

void add_workloads(CommandSet& set) {
  auto const o = listing_words();
  auto* const c = set.add("workloads", "List the workloads, or the sizes of one with footprint and time",
                          "farfault workloads\n"
                          "  farfault workloads bfs",
                          [&set, o] {
                            list_workloads(set.extensions().workloads(), o->list, set.out());
                            return kDone;
                          });
  c->add_option("workload", o->list.workload, "List the sizes of this workload")->type_name("WORKLOAD");
  c->add_flag(
      "--json", o->list.json,
      "Print one JSON object, with the sizes of all listed workloads (all workloads: about a minute)");
}

void add_statistics(CommandSet& set) {
  auto const o = listing_words();
  auto* const c =
      set.add("statistics", "List the statistics and table columns that a run records, by path in the result",
              "farfault statistics paper-gmmu-bypass\n"
              "  farfault statistics paper-gmmu-bypass --search l2_tlb latency",
              [&set, o] {
                o->run.extensions = set.extensions();
                list_statistics(o->run, o->list, set.out());
                return kDone;
              });
  c->add_option("config", o->run.config_path, "TOML file or preset")->required()->type_name("CONFIG");
  add_search(c, o->list, "List only statistics with all of these words in path, unit, kind or text");
  c->add_option("--set", o->run.sets, "Override a parameter")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  add_json(c, o->list.json);
}

}  // namespace farfault::cli
